/* rate_sweep.h - arms that are alike in all but their learning rate, and which of them comes to the target
 * first: the best of its grid.
 *
 * The best is the one of the least median of seconds to the target; where fewer than half of the runs of
 * each got there, the one of the least median end (target.h). It was chosen by what it came to, so that
 * it is only fair beside another that was chosen from as many: the size of the grid is told with it, what the
 * default rate came to, and where the budgets of two grids, their rates and runs, are not the same.
 *
 * Source: AlgoPerf (Dahl and others, 2023): tuned rates at an equal budget, and the default beside them.
 * Threads: plain values. */

#ifndef DEPLOY_CONCLUSION_RATE_SWEEP_H
#define DEPLOY_CONCLUSION_RATE_SWEEP_H

#include "deploy/conclusion/conclusion.h"

struct rate_sweep {
    size_t members[COMPARISON_GROUPS_MAX]; /* [count], numbers of groups; in their order. */
    size_t count;                          /* At least 2. */
    size_t runs;                           /* Of all of them. */
    size_t first_count, first_runs;        /* Of the first grid, beside which this is told. */
    size_t best;                           /* A number of a group. */
    bool has_default;                      /* Whether one has its optimizer's default rate: */
    size_t default_rate;                   /* a number of a group. */
    struct estimate
        time; /* Of the best beside the best of the first grid; unknown in that itself. */
};

/* Grid number index, in the order of their first arms; false when there are no more. */
bool rate_sweep_at(const struct conclusion *conclusion, size_t index, struct rate_sweep *grid);

#endif
