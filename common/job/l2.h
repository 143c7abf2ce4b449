/* l2.h - the loss term of --l2, as Keras' regularizers.l2 on every kernel: F x the sum of w^2.
 * It is reported beside the loss of a model, never in it; update.h adds its gradient.
 *
 * In double, squares being exact, in the order of the parameter space: the same bits everywhere.
 *
 * Threads: pure. */

#ifndef COMMON_JOB_L2_H
#define COMMON_JOB_L2_H

#include "common/job/job.h"

/* parameters: [elements] the whole space. NaN in a job without it. */
double l2_loss(const struct job *job, const float *parameters);

#endif
