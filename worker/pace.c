/* pace.c - adds up what leaves are to take. */

#include "worker/pace.h"

void pace_begin(struct pace *pace, uint64_t now_ns)
{
    pace->due_ns = now_ns;
    pace->fresh = true;
}

static uint64_t take_pause(struct pace *pace, const struct step_shape *shape)
{
    bool fresh = pace->fresh;
    pace->fresh = false;
    return fresh ? compute_time_pause_ns(&pace->time, pace->job->seed, pace->worker, shape) : 0;
}

/* What took so long takes `slow` times as long. */
static void slow_down(struct pace *pace, struct node node, const uint64_t *took_ns, uint64_t now_ns,
                      uint64_t pause_ns)
{
    uint64_t took = 0;
    for (uint32_t i = 0; i < node.leaf_count; i++)
        took += took_ns[i];
    pace->due_ns = now_ns + pause_ns + (uint64_t)((pace->time.slow - 1) * (double)took);
}

void pace_node(struct pace *pace, const struct step_shape *shape, struct node node,
               const uint64_t *took_ns, uint64_t now_ns)
{
    uint64_t pause_ns = take_pause(pace, shape);
    pace->leaves = pace->longer = 0;
    if (!pace->time.controlled) {
        slow_down(pace, node, took_ns, now_ns, pause_ns);
        return;
    }
    pace->due_ns += pause_ns;
    for (uint32_t i = 0; i < node.leaf_count; i++) {
        uint64_t wanted =
            compute_time_leaf_ns(&pace->time, pace->job, pace->worker, shape, node.first_leaf + i);
        pace->due_ns += wanted;
        pace->leaves++;
        pace->longer += took_ns[i] > wanted;
    }
}
