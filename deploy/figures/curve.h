/* curve.h - one quantity over another for one group of runs: the mean over its seeds, and the
 * range.
 *
 * Each run's points are thinned to at most CURVE_POINTS_MAX by averaging neighbours. Of several
 * runs with equally many points, as of scores after every epoch, the k-th of all are one point, at
 * the mean of their x. Others are interpolated at the first run's x, as far as all of them reach.
 * Pairs that are not finite are left out.
 *
 * Ownership: curve_free. Threads: plain values. Errors: out of memory gives an empty curve. */

#ifndef DEPLOY_FIGURES_CURVE_H
#define DEPLOY_FIGURES_CURVE_H

#include <stddef.h>

#include "deploy/conclusion/comparison.h"

#define CURVE_POINTS_MAX 120

struct curve {
    double *x, *mean, *low, *high; /* [count], owned; x ascending, low and high over the runs. */
    size_t count;
    size_t runs; /* The number of its runs. */
};

/* The source of a curve's pairs: pair number index of a run, 0 when there are no more. */
typedef int curve_pair_fn(const struct record *record, const void *context, size_t index, double *x,
                          double *y);

void curve_make(struct curve *curve, const struct group *group, curve_pair_fn *pair,
                const void *context);
void curve_free(struct curve *curve);

#endif
