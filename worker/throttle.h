/* throttle.h - when what a worker computes may be sent: of controlled time (compute_time.h) the sum of
 * what its leaves are to take since it had values and work, of slowed-down time what they took,
 * `slow` times; and before it the pause that this computation has, if it has one.
 *
 *     throttle_begin(&pace, clock_now_ns());          values and work are here
 *     node_gradient_compute(gradient, ...);
 *     throttle_node(&pace, &shape, node, gradient->leaf_ns, clock_now_ns());
 *     wait until pace.due_ns; send
 *
 * It also counts the leaves whose computing took longer than it should: many, and the times are the
 * processor's, not those that were asked for.
 *
 * Threads: one owner. Units: nanoseconds of clock_now_ns. */

#ifndef WORKER_THROTTLE_H
#define WORKER_THROTTLE_H

#include "common/compute/compute_time.h"
#include "common/job/tree.h"

struct throttle {
    struct compute_time time;
    const struct job *job;
    uint32_t worker;
    uint64_t due_ns; /* From when on what has been computed since throttle_begin may be sent. */
    bool fresh;      /* Nothing has been computed since throttle_begin. */
    /* Of the node computed last, where time is controlled. */
    uint32_t leaves, longer;
};

void throttle_begin(struct throttle *throttle, uint64_t now_ns);

/* The next node of the step or batch has been computed; took_ns: [node.leaf_count] */
void throttle_node(struct throttle *throttle, const struct step_shape *shape, struct node node,
                   const uint64_t *took_ns, uint64_t now_ns);

#endif
