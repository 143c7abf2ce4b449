/* compensation.h - delay compensation (Zheng et al., ICML 2017, "Asynchronous Stochastic
 * Gradient Descent with Delay Compensation"): a gradient g of values that others have moved
 * since is moved after them,
 *
 *     g' = g + L g g (now - then)         DC-ASGD-c: g g stands for the diagonal of the Hessian
 *     L  = L0 / sqrt(ms + 1e-7), at most 1         DC-ASGD-a, "adaptive:L0", ms being the mean
 *     ms = 0.95 ms + 0.05 g g                      square of the gradients that came, this one too
 *
 * where g is the mean over its examples. A gradient of staleness 0 stays as it is, so one worker
 * alone trains as without; the mean square counts it all the same. The paper derives it for
 * plain descent: accumulated momentum is not compensated.
 *
 * Threads: plain values and pure functions. */

#ifndef COMMON_JOB_COMPENSATION_H
#define COMMON_JOB_COMPENSATION_H

#include "common/job/job.h"
#include "common/kernels/kernels_compensate.h"

#define COMPENSATION_MAX   1000000
#define COMPENSATION_WORDS "a number from 0 to 1000000, or adaptive:L0 with L0 above 0"

/* "0.04", "adaptive:2", "0" for none. */
#define COMPENSATION_TEXT_MAX 32
struct compensation_text {
    char text[COMPENSATION_TEXT_MAX];
};
struct compensation_text compensation_text(const struct job *job);
enum status compensation_read(const char *text, struct job *job);

/* Whether the job's rule adds up gradients, so that compensation misses most of it. */
bool compensation_meets_momentum(const struct job *job);

/* One gradient of an interval: its sum, moved, goes to what->into. what->base NULL: its
 * staleness is 0, and only the mean square is counted. */
void compensation_apply(const struct job *job, const struct kernels_compensation *what);

#endif
