/* replica.h - a worker's own copy of the optimizer slots, and its own updates. All-reduce has it
 * beside the parameters of the exchange.
 *
 *     chunk     |  0  |  1  |  2  |     each has the slots of its values' version, or of none:
 *     values    | t+1 |  t  |  t  |     a worker that has joined, or has missed a version,
 *     slots of  | t+1 |  t  |  -  |     asks for both
 *
 * Sums are applied as they come, chunk by chunk, by the owner's function. So a version has the
 * same bits here and there, by any way.
 *
 * Threads: the session's; the values lie where the trainer reads them (session.h).
 * Ownership: borrows job, partition and values. Memory: the job's slots, and 16 bytes a chunk. */

#ifndef WORKER_CLIENT_REPLICA_H
#define WORKER_CLIENT_REPLICA_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/job/job.h"
#include "common/job/partition.h"

struct replica {
    const struct job *job;
    const struct partition *partition;
    float *values;           /* [elements] the exchange's parameters. */
    float *slots[SLOTS_MAX]; /* [slot_count][elements], owned. */
    uint32_t slot_count;
    uint64_t *offsets; /* [variable_count] where variables begin. Owned. */
    struct replica_chunk {
        uint64_t held; /* The slots are of this version + 1; 0: of none. */
        /* Bits: arrays that have come in this exchange, of a version that comes whole. */
        uint32_t arrays;
    } * chunks; /* [chunk_count], owned. */
};

/* It is empty. STATUS_MEMORY. */
enum status replica_init(struct replica *replica, const struct job *job,
                         const struct partition *partition, float *values);
void replica_free(struct replica *replica);

/* Its content is void. */
void replica_forget(struct replica *replica);

/* An exchange begins: nothing more comes of the one before, and its memory may be overwritten. */
void replica_begin(struct replica *replica);

/* Whether it has the slots of that version of a chunk. */
bool replica_has(const struct replica *replica, uint32_t chunk, uint64_t version);

/* The chunk is at `version`, and this is the sum of its step: make the next version. */
void replica_apply(struct replica *replica, uint32_t chunk, uint64_t version, const float *sum);

/* An array of the chunk at that version, 0 the values: whether all of them are here now. */
bool replica_put(struct replica *replica, uint32_t chunk, uint32_t array, uint64_t version,
                 const float *data);

/* See common/job/replica_hash.h. */
uint64_t replica_hash_of(const struct replica *replica, uint32_t chunk);

#endif
