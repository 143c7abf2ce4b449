/* rate_sweep.h - configurations that differ only in their learning rate, and the configuration of
 * such a grid that reaches the target first: the best.
 *
 * The best has the smallest median of seconds to the target. Where no configuration has half of its
 * runs at the target, the best has the smallest median end (target.h). The best was selected by its
 * result, so it compares fairly only with a selection from as many. Therefore the size of the grid
 * is printed with it, the result of the default rate, and a note when the budgets of two grids
 * (rates and runs) differ.
 *
 * Source: AlgoPerf (Dahl and others, 2023): tuned rates at an equal budget, and the default beside
 *         them.
 * Threads: plain values. */

#ifndef DEPLOY_CONCLUSION_RATE_SWEEP_H
#define DEPLOY_CONCLUSION_RATE_SWEEP_H

#include "deploy/conclusion/conclusion.h"

struct rate_sweep {
    size_t members[COMPARISON_GROUPS_MAX]; /* [count], numbers of groups in their order. */
    size_t count;                          /* At least 2. */
    size_t runs;                           /* Of all of them. */
    size_t first_count, first_runs;        /* Of the first grid, which this one is compared with. */
    size_t best;                           /* Number of a group. */
    bool has_default;                      /* Whether a member has its optimizer's default rate: */
    size_t default_rate;                   /* the number of its group. */
    struct estimate
        time; /* The best relative to the best of the first grid; unknown for the first grid
               * itself. */
};

/* Grid number `index`, in the order of their first configurations; false after the last one. */
bool rate_sweep_at(const struct conclusion *conclusion, size_t index, struct rate_sweep *grid);

#endif
