/* throttle.h - when a gradient may be sent. Under controlled time (compute_time.h): after the
 * sum of its leaves' times since values and work were there. Slowed down: after `slow` times the
 * real time. Before either comes the computation's pause, if it has one.
 *
 *     throttle_begin(&throttle, clock_now_ns());      values and work are here
 *     node_gradient_compute(gradient, ...);
 *     throttle_node(&throttle, &shape, node, gradient->leaf_ns, clock_now_ns());
 *     wait until throttle.due_ns; send
 *
 * It also counts the leaves whose computing took longer than given. If there are many, the times
 * are the processor's, and not the requested ones.
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
    uint64_t due_ns; /* When the gradient since throttle_begin may be sent. */
    bool fresh;      /* Nothing has been computed since throttle_begin. */
    /* Of the last node, under controlled time. */
    uint32_t leaves, longer;
};

void throttle_begin(struct throttle *throttle, uint64_t now_ns);

/* The next node of the step or batch has been computed; took_ns: [node.leaf_count] */
void throttle_node(struct throttle *throttle, const struct step_shape *shape, struct node node,
                   const uint64_t *took_ns, uint64_t now_ns);

#endif
