/* flood.h - a process of peers that send as fast as TCP takes it: members that ignore their window
 * and their turn (rogue.h), or strangers that are none. Every second one never reads an answer.
 *
 * Threads: the functions from one, before it has others (it forks). */

#ifndef TESTS_BENCH_LIB_FLOOD_H
#define TESTS_BENCH_LIB_FLOOD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/job/job.h"

struct flood_shared {
    atomic_uint here;    /* Members that have joined, or strangers that are connected. */
    atomic_bool pouring; /* Else they are as quiet as members may be. */
    atomic_uint_fast64_t messages, bytes;
};

struct flood {
    const struct job *job; /* Outlives it. */
    bool members;          /* Workers [first, first + count); else strangers. */
    uint32_t first, count;
    uint64_t chunk_bytes; /* Of chunk 0, which all of them want. */
    struct flood_shared *shared;
    pid_t process;
};

/* Fill in all but the last two. Ends the program when it cannot. */
void flood_start(struct flood *flood);
void flood_pour(struct flood *flood, bool pouring);
void flood_end(struct flood *flood);

#endif
