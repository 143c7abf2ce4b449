/* computing_cost.h - measures on this processor the time of a leaf's gradient, of applying
 * gradients, and of scoring an example.
 *
 * Threads: one. Units: nanoseconds; nanoseconds a byte of a gradient. */

#ifndef DEPLOY_CALIBRATE_COMPUTING_COST_H
#define DEPLOY_CALIBRATE_COMPUTING_COST_H

#include "common/base/status.h"
#include "deploy/calibrate/quartiles.h"
#include "worker/workload.h"

/* A step of the workload is one leaf. Leaves are computed for so many seconds, at least eight
 * leaves. */
enum status computing_cost_leaf(struct workload *workload, double seconds,
                                struct quartiles *leaf_ns, struct error *error);

/* Scores the test set repeatedly for so many seconds; the time of one example. */
enum status computing_cost_score(struct workload *workload, double seconds,
                                 struct quartiles *example_ns, struct error *error);

/* Of the rule of this name, in place, on the largest chunk. */
enum status computing_cost_apply(const char *optimizer, struct quartiles *byte_ns,
                                 struct error *error);

#endif
