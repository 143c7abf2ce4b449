/* storage.h - where the servers of a cluster keep what must survive, and how long that takes in virtual
 * time: disks in memory that fail as they are told (simulated_storage.h), or a folder of this machine.
 *
 *     begin(process)              calls of its checkpointer to its disk from here on ...
 *     checkpointer_handle(...)
 *     end(process)                ... to here; what it says of its files is heard that much later
 *
 * All members but `ended` are required; engine_init asserts it.
 *
 * Units: virtual microseconds. Threads: the engine's. */

#ifndef DEPLOY_ENGINE_STORAGE_H
#define DEPLOY_ENGINE_STORAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/file/disk.h"

struct simulated_process;

/* Of what a checkpointer did between begin and end. */
struct stored {
    uint64_t took_us; /* Until all of it is durable. */
    bool wrote;       /* It changed something, or tried to. */
};

struct storage {
    void *context;
    const char *out; /* The run directory, on every disk. */

    /* The disk that a server's process sees; outlives the engine. */
    const struct disk *(*disk)(void *context, const struct simulated_process *process);
    void (*begin)(void *context, const struct simulated_process *process, uint64_t now_us);
    struct stored (*end)(void *context, const struct simulated_process *process, uint64_t now_us);

    /* A server has ended by itself (PROCESS_OVER), or was killed and what it wrote last may be lost.
     * Its cores are still there. */
    void (*ended)(void *context, const struct simulated_process *process, uint64_t now_us);
};

#endif
