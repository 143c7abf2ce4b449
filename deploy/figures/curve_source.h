/* curve_source.h - the numbers of a run that a curve shows: a result against an effort.
 *
 * Training losses are those of progress, or with --report-every those of its windows; others are
 * those of scores. A batch is an update, but with --accumulate G a G-th of one.
 *
 * Threads: plain values. */

#ifndef DEPLOY_FIGURES_CURVE_SOURCE_H
#define DEPLOY_FIGURES_CURVE_SOURCE_H

#include "deploy/conclusion/comparison.h"

enum curve_y { CURVE_LOSS, CURVE_ACCURACY, CURVE_TEST_LOSS, CURVE_Y_COUNT };
enum curve_x { CURVE_SECONDS, CURVE_UPDATES, CURVE_EXAMPLES, CURVE_BYTES, CURVE_X_COUNT };

/* "loss", "accuracy", "test-loss"; "seconds", "updates", "examples", "bytes". */
const char *curve_y_name(enum curve_y y);
const char *curve_x_name(enum curve_x x);

struct curve_source {
    enum curve_x x;
    enum curve_y y;
    double unit;        /* The divisor of x, */
    char unit_name[40]; /* "seconds of training", "million examples", "MiB". */
};

/* Chooses a unit that keeps numbers short. */
void curve_source_set(struct curve_source *source, const struct comparison *comparison,
                      enum curve_x x, enum curve_y y);

/* A curve_pair_fn; context is a struct curve_source. */
int curve_source_pair(const struct record *record, const void *context, size_t index, double *x,
                      double *y);

/* The scope of one training loss. */
const char *curve_source_of_losses(const struct comparison *comparison);

#endif
