/* owner_state.h - the fields of an owner, for owner.c, owner_check.c and tests that spoil them.
 *
 * Threads: the owner's. */

#ifndef PS_OWNER_OWNER_STATE_H
#define PS_OWNER_OWNER_STATE_H

#include "ps/mode/shard_mode.h"
#include "ps/owner/owner.h"
#include "ps/shard/update_log.h"

/* The result of a gradient. */
struct outcome {
    enum verdict verdict;
    uint64_t staleness; /* Of one that was applied. */
};

/* A worker's read request that waits for a version. */
struct waiting_read {
    bool waiting;
    uint64_t peer, request, since_us;
    struct read_request wanted;
    struct outcome outcome;
};

struct owned {
    struct shard shard;
    struct waiting_read *waiting_read; /* [waiting_read_count] by worker index; grows as needed. */
    uint32_t waiting_read_count;
    uint64_t snapshot_step; /* Snapshot after so many batches; UINT64_MAX for none. */
    uint32_t arrays_loaded; /* Bits: arrays that have come from a checkpoint. */
    struct update_log log;  /* Since the last recorded snapshot. */
};

struct owner {
    bool unchecked; /* No checks of itself. */
    struct {
        const struct chunk_listener *rules;
        void *state; /* Owned. */
    } listeners[LISTENERS_MAX];
    uint32_t listener_count;
    const struct plan *plan;
    const struct shard_mode *rules; /* The mode's table. */
    uint32_t index;
    uint64_t generation;
    bool records;        /* Chunks log their batches. */
    bool filled;         /* The chunks have had values, which may have readers. */
    uint64_t load_step;  /* Of the checkpoint to load. */
    struct owned *owned; /* [owned_count] in order of chunk index. */
    uint32_t owned_count;
    uint32_t to_load;               /* Chunks not loaded yet. */
    uint32_t to_snapshot;           /* Chunks without their snapshot yet. */
    struct verdict_counts verdicts; /* Of this generation. */
};

/* Tell each listener that hears it; `state` is the listener's. */
#define EACH_LISTENER(owner, function, ...)                                                        \
    do {                                                                                           \
        for (uint32_t i_ = 0; i_ < (owner)->listener_count; i_++) {                                \
            void *state = (owner)->listeners[i_].state;                                            \
            if ((owner)->listeners[i_].rules->function != NULL)                                    \
                (owner)->listeners[i_].rules->function(__VA_ARGS__);                               \
        }                                                                                          \
    } while (0)

/* See common/base/invariant.h. */
void owner_check(const struct owner *owner);

#endif
