/* keeper.h - which steps of a run of any length are worth keeping: the first, the last, and those that
 * took longest. It hears of each as it ends, and knows of no more than it keeps.
 *
 *     |1 2 3 4 5 6 7| 8 9 10 ...   [57] ...  [1204] ... | ... 2811 2812 2813 2814|
 *        the first               the slowest                   the last
 *
 * What several workers say of the same step is one step, from the first beginning to the last end. A
 * step in which something was scored is as long as that, and is none of the slowest.
 *
 * Each process has a keeper of its own, and they agree without asking each other, because they see
 * nearly the same times: so it keeps twice as many of the slowest as are wanted.
 *
 * Threads: one owner. Ownership: the arrays. Units: nanoseconds. */

#ifndef COMMON_TRACE_KEEPER_H
#define COMMON_TRACE_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"

/* A step of one worker, or a batch. */
struct turn {
    uint64_t step;
    uint64_t from_ns, to_ns;
    bool scored;
};

/* How many of so many steps are which; none are two of them. */
struct shares {
    uint32_t first, last, slowest;
};
struct shares shares_of(uint32_t steps);

struct keeper {
    struct shares most;
    struct turn *first;   /* [most.first] in order. */
    struct turn *last;    /* [most.last] a ring; the newest is at last_next - 1. */
    struct turn *slowest; /* [most.slowest] in no order. */
    uint32_t first_count, last_count, last_next, slowest_count;
};

/* steps: that are wanted in all. STATUS_MEMORY. */
enum status keeper_init(struct keeper *keeper, uint32_t steps);
void keeper_free(struct keeper *keeper);

void keeper_add(struct keeper *keeper, const struct turn *turn);

/* Whether anything of this time is of a step that it keeps. */
bool keeper_wants(const struct keeper *keeper, uint64_t from_ns, uint64_t to_ns);

/* There is no room for all: it gives up the least slow of the slowest. False: there is none. */
bool keeper_give_up(struct keeper *keeper);

#endif
