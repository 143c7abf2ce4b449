/* job_score.h - what a job says of its scores: the shares of the test set, the unit that losses are
 * counted in, and means.
 *
 * Losses are summed as whole numbers of a unit, so that a sum has the same bits in any order. A source may
 * round once for several test examples; then its score depends on which ones are computed together. So a
 * share is of whole pieces of job.score_piece examples, whatever the number of workers.
 *
 * Threads: pure. */

#ifndef COMMON_JOB_JOB_SCORE_H
#define COMMON_JOB_JOB_SCORE_H

#include "common/job/job.h"

/* Examples [first, first + count) of the test set. */
struct test_share {
    uint64_t first, count;
};

/* Share number `share` of `shares`, in whole pieces; the last piece may have fewer examples. */
struct test_share job_test_share(const struct job *job, uint32_t shares, uint32_t share);

/* The shares for so many workers: none is empty. 0 without a test set. */
uint32_t job_test_shares(const struct job *job, uint32_t workers);

#define LOSS_UNIT_DEFAULT 0x1p-24
/* The most units that an example counts for: the sum over 2^22 examples still fits. */
#define LOSS_UNITS_MOST 0x1p40

/* A power of two. */
double job_loss_unit(const struct job *job);

/* The sum of the losses of so many examples, rounded once. STATUS_INVALID: their mean is out of the range of
 * the job's unit, or not a number; the error says what to do. */
enum status job_loss_units(const struct job *job, double loss, uint64_t examples, int64_t *units,
                           struct error *error);

/* Means over the examples. NaN: there are none, or the job has no such score. */
double job_mean_loss(const struct job *job, int64_t units, uint64_t examples);
double job_accuracy(const struct job *job, uint64_t correct, uint64_t examples);

#endif
