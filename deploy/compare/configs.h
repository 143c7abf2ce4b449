/* configs.h - the configurations of a comparison: the options and the name of each combination of
 * named configurations (--arm), if there are any, and varied options.
 *
 * An option for some modes or optimizers is left out of the configurations that do not use it. Two
 * combinations that are then equal are one configuration. A named configuration's own options, mode
 * or optimizer included, are not left out but have to be valid, and two names are two
 * configurations. Every one has been checked as a command of its own.
 *
 * The name is that of its folders: "sync-w2", "sync-w2-learning-rate-0.1"; "slow-start" for a named
 * configuration, followed by its varied options: "slow-start-async-w4-learning-rate-0.1". People
 * see "slow-start, async, 4 workers, learning-rate 0.1", unless the name equals the derived one.
 *
 * Ownership: configs own the texts that their options point to; configs_free. Threads: plain
 *            values. */

#ifndef DEPLOY_COMPARE_CONFIGS_H
#define DEPLOY_COMPARE_CONFIGS_H

#include "deploy/compare/plan.h"
#include "deploy/conclusion/comparison.h"
#include "deploy/launcher/arguments.h"

struct config_plan {
    struct config config;
    struct options options; /* Of run; without `out`, and with the first of the seeds. */
    struct arguments words; /* "--learning-rate=0.1" */
    /* Those of them that other configurations may have otherwise; mode and workers first. */
    struct settings own;
};

struct configs {
    struct config_plan *list; /* Owned. */
    size_t count;
};

/* From a plan, and the options of the command that it was taken from. STATUS_INVALID: error names
 * the impossible configuration. Call configs_free in any case. */
enum status configs_make(struct configs *configs, const struct plan *plan,
                         const struct options *options, struct error *error);
void configs_free(struct configs *configs);

#endif
