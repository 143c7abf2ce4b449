/* update_sum.h - one update of an interval of the parameter space by a sum of gradients: the
 * job's rate at that place of its schedule, less for staleness, and the divisor of the sum. All
 * updates go through here: an owner's, those of a process without servers, a replay's.
 *
 * The divisor (--loss-scale) is the examples in the sum, or for each gradient in it the job's
 * batch, as where TensorFlow's tutorials write compute_average_loss(..., global_batch_size).
 * Then a ragged batch, which has fewer examples, moves the model less.
 *
 * Threads: pure, but for the arrays. */

#ifndef COMMON_JOB_UPDATE_SUM_H
#define COMMON_JOB_UPDATE_SUM_H

#include "common/job/job.h"

struct update_sum {
    uint64_t version;       /* Of the interval, before the update. */
    uint64_t batches;       /* Batches before the last one in the sum: its place in the schedule. */
    uint64_t staleness;     /* The greatest of the gradients in it. */
    uint32_t examples;      /* In the sum. */
    uint32_t gradients;     /* Batches' gradients in the sum, at least 1. */
    float rate;             /* Factor of the learning rate; 0: none. */
    uint64_t first, count;  /* The elements [first, first + count) of the space. */
    const float *sum;       /* [count] */
    const float *values_in; /* [count] */
    float *values_out;      /* [count]; may be values_in itself. */
    float *const *slots;    /* [the rule's][count] */
};

/* offsets: variables_layout's of the job. */
void update_by_sum(const struct job *job, const uint64_t *offsets, const struct update_sum *what);

/* The factor that makes a mean of such a sum: 1 / its divisor. */
float update_scale(const struct job *job, uint32_t examples, uint32_t gradients);

#endif
