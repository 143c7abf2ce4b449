/* learning.h - the workers of a cluster in virtual time compute real gradients: of the job's own
 * model on its own data, at the parameters that they have.
 *
 * All share one model, one set of data and one scratch memory: they compute one after the other,
 * each at the moment when its gradient is done. Therefore a gradient has the same bits as in a
 * process of its own (node_gradient.h).
 *
 * Threads: the engine's. Ownership: borrows the workload, which has been read. */

#ifndef DEPLOY_SIMULATE_LEARNING_H
#define DEPLOY_SIMULATE_LEARNING_H

#include "deploy/engine/computing.h"
#include "worker/workload.h"

struct learning {
    struct workload *workload;
    uint64_t gradients, real_ns; /* Computed nodes, and their time on this processor. */
    uint64_t score_ns;           /* The same for scoring. */
};

struct computing learning(struct learning *learning);

#endif
