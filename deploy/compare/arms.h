/* arms.h - the arms of a comparison: for each combination of what is varied the options of its runs, and
 * a name.
 *
 * An option that is for some modes or optimizers is left out of the arms that have no use for it; where two
 * combinations are then the same there is one arm. Every arm has been checked as a command of its own.
 *
 * Ownership: arms own the texts that their options point to; arms_free. Threads: plain values. */

#ifndef DEPLOY_COMPARE_ARMS_H
#define DEPLOY_COMPARE_ARMS_H

#include "deploy/answer/comparison.h"
#include "deploy/compare/axes.h"

struct arm_plan {
    struct arm arm;         /* "sync-w2", "ssp-3-w2", "sync-w2-learning-rate-0.1" */
    struct options options; /* Of run; without `out`, and with the first of the seeds. */
    char **words;           /* [count], "--learning-rate=0.1"; owned. */
    size_t count;
};

struct arms {
    struct arm_plan *list; /* Owned. */
    size_t count;
};

/* From a command that options_parse has taken into options. STATUS_INVALID: error says which arm cannot
 * be. arms_free in any case. */
enum status arms_make(struct arms *arms, const struct options *options, int argc, char **argv,
                      struct error *error);
void arms_free(struct arms *arms);

#endif
