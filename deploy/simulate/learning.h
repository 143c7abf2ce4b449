/* learning.h - the workers of a cluster in virtual time compute what real ones would: the gradients of
 * the job's own model on its own data, at the parameters that they have.
 *
 * There is one model, one set of data and one scratch memory for all of them: they compute one after the
 * other, each in the moment in which its gradient is done. So a gradient has the bits that it has in a
 * process of its own (node_gradient.h).
 *
 * Threads: the engine's. Ownership: borrows the workload, which has been read. */

#ifndef DEPLOY_SIMULATE_LEARNING_H
#define DEPLOY_SIMULATE_LEARNING_H

#include "deploy/engine/computing.h"
#include "worker/workload.h"

struct learning {
    struct workload *workload;
    uint64_t gradients, real_ns; /* Nodes computed, and what that took of this processor. */
    uint64_t score_ns;           /* The same for scoring. */
};

struct computing learning(struct learning *learning);

#endif
