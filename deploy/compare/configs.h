/* configs.h - the arms of a comparison: for each named arm, if there are any, and each combination of what is
 * varied the options of its runs, and a name.
 *
 * An option that is for some modes or optimizers is left out of the arms that have no use for it; where two
 * combinations are then the same there is one arm. (What a named arm says itself, mode or optimizer
 * included, is not left out, but has to make sense; and two arms that were given two names are two.) Every
 * arm has been checked as a command of its own.
 *
 * The name of an arm is that of its folders: "sync-w2", "sync-w2-learning-rate-0.1"; "slow-start" for a
 * named one, with what is varied behind it: "slow-start-async-w4-learning-rate-0.1". A named one is called so
 * everywhere ("slow-start, async, 4 workers, learning-rate 0.1"), unless its name is what it would be
 * called without one.
 *
 * Ownership: arms own the texts that their options point to; configs_free. Threads: plain values. */

#ifndef DEPLOY_COMPARE_CONFIGS_H
#define DEPLOY_COMPARE_CONFIGS_H

#include "deploy/compare/plan.h"
#include "deploy/conclusion/comparison.h"
#include "deploy/launcher/arguments.h"

struct config_plan {
    struct config config;
    struct options options; /* Of run; without `out`, and with the first of the seeds. */
    struct arguments words; /* "--learning-rate=0.1" */
    struct settings own; /* Of these what may be otherwise in other arms; mode and workers first. */
};

struct configs {
    struct config_plan *list; /* Owned. */
    size_t count;
};

/* From a plan, and the options of the command that it was taken from. STATUS_INVALID: error says which arm
 * cannot be. configs_free in any case. */
enum status configs_make(struct configs *configs, const struct plan *plan,
                         const struct options *options, struct error *error);
void configs_free(struct configs *configs);

#endif
