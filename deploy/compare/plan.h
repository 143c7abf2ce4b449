/* plan.h - the plan of a comparison: options shared by all configurations, axes, and named
 * configurations.
 *
 * Named configurations and axes are combined: each name with each combination of varied options. An
 * axis of several values excludes the option from named configurations. An axis of one value is a
 * shared option, which a named configuration may override.
 *
 * Ownership: a plan owns its texts; plan_free. Threads: plain values. */

#ifndef DEPLOY_COMPARE_PLAN_H
#define DEPLOY_COMPARE_PLAN_H

#include "deploy/compare/axes.h"
#include "deploy/compare/named_configs.h"
#include "deploy/compare/settings.h"

#define PLAN_ABOUT_MAX 256

struct plan {
    char about[PLAN_ABOUT_MAX]; /* A line for people, or "". */
    struct settings common;
    struct axes axes;
    struct named_configs configs;
};

/* From a command that options_parse has taken. STATUS_INVALID: error has the fault. Call plan_free
 * in any case. */
enum status plan_take(struct plan *plan, const struct options *options, int argc, char **argv,
                      struct error *error);
void plan_free(struct plan *plan);

#endif
