/* computing_cost.h - what this processor takes for a leaf's gradient, and for applying gradients.
 *
 * And for scoring an example. Threads: one. Units: nanoseconds; nanoseconds a byte of a gradient. */

#ifndef DEPLOY_CALIBRATE_COMPUTING_COST_H
#define DEPLOY_CALIBRATE_COMPUTING_COST_H

#include "common/base/status.h"
#include "deploy/calibrate/quartiles.h"
#include "worker/workload.h"

/* A step of the workload is one leaf. Leaves are computed for so many seconds, eight at least. */
enum status computing_cost_leaf(struct workload *workload, double seconds,
                                struct quartiles *leaf_ns, struct error *error);

/* Of scoring an example, where the test set is scored again and again for so many seconds. */
enum status computing_cost_score(struct workload *workload, double seconds,
                                 struct quartiles *example_ns, struct error *error);

/* Of the rule of this name, in place, on as many bytes as a chunk may have. */
enum status computing_cost_apply(const char *optimizer, struct quartiles *byte_ns,
                                 struct error *error);

#endif
