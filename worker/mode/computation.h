/* computation.h - what this worker computes, as server 0 comes to know it where the run is recorded:
 * a batch, and the version of every chunk that it is computed from.
 *
 *     begun ----LEASE(announces)----> said ----WORK(computation)----> numbered --> sent
 *                   ^                  |
 *                   '---no answer------'
 *
 * It is announced with whatever LEASE goes out next, mostly the one that says that the batch before
 * is finished; nothing of it is sent to any server before it has its number.
 *
 * Threads: the session's. Time arrives as an argument. */

#ifndef WORKER_MODE_COMPUTATION_H
#define WORKER_MODE_COMPUTATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/wire/message.h"

struct computation {
    bool announces; /* As START says. */
    bool open;      /* There is one: `batch`. */
    uint64_t batch;
    uint64_t number;    /* Of server 0; 0: none yet. */
    uint64_t request;   /* Of the LEASE that it was announced with; 0: it was not yet ... */
    uint64_t said_us;   /* ... the last time then. */
    uint64_t *versions; /* [chunk_count] to be filled in before one is begun. Owned. */
    uint32_t chunk_count;
    uint8_t *bases; /* [bases_bytes of bases_capacity] see common/job/bases.h. Owned. */
    size_t bases_bytes, bases_capacity;
};

/* For so many chunks; STATUS_MEMORY. */
enum status computation_init(struct computation *computation, uint32_t chunk_count);
void computation_free(struct computation *computation);

/* A batch is begun, from `versions`. Of a job without record nothing is. */
void computation_begin(struct computation *computation, uint64_t batch);

/* Whether a LEASE of this number is to announce it: any that is new, when none has; else the same again.
 * One that is repeated says what it said: whoever has heard it does not listen to it any more. */
bool computation_goes_with(const struct computation *computation, uint64_t request, bool repeated);
/* Whether it is to be announced, with a LEASE of its own if there is no other. */
bool computation_is_due(const struct computation *computation, uint64_t now_us);

void computation_announce(struct computation *computation, struct packet *lease, uint64_t now_us);

/* WORK answers a LEASE. */
void computation_heard(struct computation *computation, uint64_t request, uint64_t number);

/* Whether a gradient of this batch may leave; *number is what it is sent under. */
bool computation_may_leave(const struct computation *computation, uint64_t batch, uint64_t *number);

/* Work that was given counts no more. What has its number keeps it: somebody may profit from what
 * comes of it. */
void computation_forget(struct computation *computation);

/* See common/base/invariant.h. */
void computation_check(const struct computation *computation);

#endif
