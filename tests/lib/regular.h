/* regular.h - steps that have a batch of their own, for those who ask by step. */

#ifndef TESTS_LIB_REGULAR_H
#define TESTS_LIB_REGULAR_H

#include "common/compute/compute_time.h"
#include "common/steps/step_shape.h"
#include "worker/throttle.h"

static inline uint64_t leaf_ns(const struct compute_time *time, const struct job *job,
                               uint32_t worker, uint64_t step, uint32_t leaf)
{
    const struct step_shape shape = step_shape_of(job, step, NULL);
    return compute_time_leaf_ns(time, job, worker, &shape, leaf);
}

static inline uint64_t pause_ns(const struct compute_time *time, uint64_t seed, uint32_t worker,
                                uint64_t step)
{
    return compute_time_pause_ns(time, seed, worker, &(struct step_shape){.step = step});
}

static inline void throttle_step(struct throttle *throttle, uint64_t step, struct node node,
                                 const uint64_t *took_ns, uint64_t now_ns)
{
    const struct step_shape shape = step_shape_of(throttle->job, step, NULL);
    throttle_node(throttle, &shape, node, took_ns, now_ns);
}

#endif
