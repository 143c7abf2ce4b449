/* plan.h - what is to be compared, whoever said it: options that are the same for all, axes, and arms by
 * name.
 *
 * Named arms and axes cross: every arm meets every combination of what is varied. What is an axis of several
 * values no arm says for itself; of a single value it is common, and an arm's own stands over it.
 *
 * Ownership: a plan owns its texts; plan_free. Threads: plain values. */

#ifndef DEPLOY_COMPARE_PLAN_H
#define DEPLOY_COMPARE_PLAN_H

#include "deploy/compare/axes.h"
#include "deploy/compare/named_configs.h"
#include "deploy/compare/settings.h"

#define PLAN_ABOUT_MAX 256

struct plan {
    char about[PLAN_ABOUT_MAX]; /* A line for people; "". */
    struct settings common;
    struct axes axes;
    struct named_configs configs;
};

/* From a command that options_parse has taken. STATUS_INVALID: error says what cannot be. plan_free in any
 * case. */
enum status plan_take(struct plan *plan, const struct options *options, int argc, char **argv,
                      struct error *error);
void plan_free(struct plan *plan);

#endif
