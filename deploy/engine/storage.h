/* storage.h - the storage of a cluster's servers, and its duration in virtual time: disks in memory
 * that fail on demand (simulated_storage.h), or a folder of this machine.
 *
 *     begin(process)              calls of its checkpointer to its disk from here on ...
 *     checkpointer_handle(...)
 *     end(process)                ... to here; its messages about files are that much later
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

/* The changes of a checkpointer between begin and end. */
struct stored {
    uint64_t took_us; /* Until all of it is durable. */
    bool wrote;       /* There was a change, or an attempt. */
};

struct storage {
    void *context;
    const char *out; /* The run directory, on every disk. */

    /* The disk of a server's process; outlives the engine. */
    const struct disk *(*disk)(void *context, const struct simulated_process *process);
    void (*begin)(void *context, const struct simulated_process *process, uint64_t now_us);
    struct stored (*end)(void *context, const struct simulated_process *process, uint64_t now_us);

    /* A server has ended by itself (PROCESS_OVER), or was killed and may lose its last writes. Its
     * state machines still exist. */
    void (*ended)(void *context, const struct simulated_process *process, uint64_t now_us);
};

#endif
