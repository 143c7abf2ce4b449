/* throttle.c - adds up the times that leaves have to take. */

#include "worker/throttle.h"

void throttle_begin(struct throttle *throttle, uint64_t now_ns)
{
    throttle->due_ns = now_ns;
    throttle->fresh = true;
}

static uint64_t take_pause(struct throttle *throttle, const struct step_shape *shape)
{
    bool fresh = throttle->fresh;
    throttle->fresh = false;
    return fresh ? compute_time_pause_ns(&throttle->time, throttle->job->seed, throttle->worker,
                                         shape)
                 : 0;
}

/* The time is to be `slow` times as long. */
static void slow_down(struct throttle *throttle, struct node node, const uint64_t *took_ns,
                      uint64_t now_ns, uint64_t pause_ns)
{
    uint64_t took = 0;
    for (uint32_t i = 0; i < node.leaf_count; i++)
        took += took_ns[i];
    throttle->due_ns = now_ns + pause_ns + (uint64_t)((throttle->time.slow - 1) * (double)took);
}

void throttle_node(struct throttle *throttle, const struct step_shape *shape, struct node node,
                   const uint64_t *took_ns, uint64_t now_ns)
{
    uint64_t pause_ns = take_pause(throttle, shape);
    throttle->leaves = throttle->longer = 0;
    if (!throttle->time.controlled) {
        slow_down(throttle, node, took_ns, now_ns, pause_ns);
        return;
    }
    throttle->due_ns += pause_ns;
    for (uint32_t i = 0; i < node.leaf_count; i++) {
        uint64_t wanted = compute_time_leaf_ns(&throttle->time, throttle->job, throttle->worker,
                                               shape, node.first_leaf + i);
        throttle->due_ns += wanted;
        throttle->leaves++;
        throttle->longer += took_ns[i] > wanted;
    }
}
