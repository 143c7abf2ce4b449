/* computations.h - numbers the computations of workers where the run is recorded, with the
 * worker, the batch and the version of every chunk of each.
 *
 * A batch is no computation: a worker may be lost in the middle of its push, and another compute
 * the batch from other versions, each for a part of the chunks. Numbers begin at 1, go on over
 * generations and sessions, and are given once. Those since the last written snapshot are here:
 * when a worker dies they are needed; when a server does, all go back to that snapshot.
 *
 *     LEASE(announces) --> announce: numbered, in order --> WORK(computation)
 *                                 |                               ^
 *                                 '-- repeated: the same number --'
 *
 * Memory: at most COMPUTATIONS_MAX, of 40 bytes and about one a chunk, which together have at
 * most COMPUTATIONS_BASES_MAX bytes. Where more come, because no snapshot can be written, none
 * are remembered any more. Numbers are given all the same, so that training goes on.
 *
 * Threads: the coordinator's. */

#ifndef PS_WORK_COMPUTATIONS_H
#define PS_WORK_COMPUTATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/frame.h"
#include "common/base/status.h"
#include "common/job/job.h"
#include "common/wire/message.h"

/* Batches after which the record is written at a snapshot, by itself if need be. */
#define RECORD_BATCHES_MAX 65536
/* Between two snapshots. A batch has one computation, and one more for each worker lost in it. */
#define COMPUTATIONS_MAX       (4 * RECORD_BATCHES_MAX)
#define COMPUTATIONS_BASES_MAX ((size_t)1 << 30)

struct computed {
    uint64_t number; /* 0: none; the worker has gone. */
    uint64_t batch;
    uint64_t clock; /* Where workers have clocks: that of this one. */
    uint32_t worker;
    uint32_t bases_bytes; /* Of all chunks in order, see common/job/bases.h. */
};

/* The latest LEASE of a worker with an announcement. */
struct announced {
    uint64_t ticket, request, number;
};

struct computations {
    bool records;
    bool over; /* Too many came; until all go back. */
    uint32_t chunk_count;
    uint64_t version_max;
    uint64_t next;        /* Number. */
    struct computed *all; /* [count] in order. Owned. */
    uint32_t count;
    size_t capacity;
    uint8_t *bases; /* [bases_bytes] of all of them. Owned. */
    size_t bases_bytes, bases_capacity;
    struct announced *latest; /* [worker_count] Owned. */
    uint32_t worker_count;
};

/* The first number is `next`, at least 1. STATUS_MEMORY, or that the job's chunks cannot be
 * counted. */
enum status computations_init(struct computations *computations, const struct job *job,
                              bool records, uint64_t next);
void computations_free(struct computations *computations);

/* A worker of this ticket announces in its LEASE with this request that it computes the batch
 * from these bases. STATUS_OK: it has its number. STATUS_AGAIN: it has announced something else
 * since; STATUS_INVALID: they are no bases; STATUS_MEMORY. Then nothing has changed. */
enum status computations_announce(struct computations *computations, const struct message *lease,
                                  uint64_t clock, const uint8_t *bases, size_t bytes);

/* The number of the announcement in the LEASE with this request, of a worker of this ticket; 0:
 * there is none. */
uint64_t computations_answer(const struct computations *computations, uint32_t worker,
                             uint64_t ticket, uint64_t request);

/* The worker is lost, or has left: another takes its place. STATUS_MEMORY. */
enum status computations_gone(struct computations *computations, uint32_t worker);

/* All go back: announcements since the last snapshot are void. */
void computations_go_back(struct computations *computations);

/* All announcements before a moment. */
struct computations_mark {
    uint64_t next;
    uint32_t count;
    size_t bases_bytes;
};
struct computations_mark computations_mark(const struct computations *computations);
/* All of it in one frame: a struct computations_list and its contents. NULL without memory. */
struct computations_list {
    uint32_t count; /* Of struct computed behind this; and then their bases. */
    uint32_t bases_bytes;
};
struct frame *computations_pack(const struct computations *computations);
/* The record has them. */
void computations_drop(struct computations *computations, struct computations_mark before);

/* See common/base/invariant.h. */
void computations_check(const struct computations *computations);

#endif
