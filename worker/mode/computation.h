/* computation.h - announces to the coordinator what this worker computes, where the run is
 * recorded: a batch, and the version of every chunk that it is computed from.
 *
 *     begun ----LEASE(announces)----> said ----WORK(computation)----> numbered --> sent
 *                   ^                  |
 *                   '---no answer------'
 *
 * The next LEASE announces it, mostly the one that says that the batch before is finished. None
 * of its gradient goes to a server before it has its number.
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
    bool announces; /* START says so. */
    bool open;      /* There is one, of `batch`. */
    uint64_t batch;
    uint64_t number;    /* From the coordinator; 0: none yet. */
    uint64_t request;   /* Of the LEASE that announced it; 0: none has. */
    uint64_t said_us;   /* When it was announced last. */
    uint64_t *versions; /* [chunk_count] to be filled in before computation_begin. Owned. */
    uint32_t chunk_count;
    uint8_t *bases; /* [bases_bytes of bases_capacity] see common/job/bases.h. Owned. */
    size_t bases_bytes, bases_capacity;
};

/* For so many chunks; STATUS_MEMORY. */
enum status computation_init(struct computation *computation, uint32_t chunk_count);
void computation_free(struct computation *computation);

/* A batch is begun, from `versions`. Does nothing in a job without record. */
void computation_begin(struct computation *computation, uint64_t batch);

/* Whether a LEASE of this number announces it: any new one, if none has; else the same one
 * again. A repeated LEASE repeats its content, because its first copy may have been heard. */
bool computation_goes_with(const struct computation *computation, uint64_t request, bool repeated);
/* Whether it needs a LEASE of its own, if there is no other. */
bool computation_is_due(const struct computation *computation, uint64_t now_us);

void computation_announce(struct computation *computation, struct packet *lease, uint64_t now_us);

/* WORK answers a LEASE. */
void computation_heard(struct computation *computation, uint64_t request, uint64_t number);

/* Whether a gradient of this batch may leave; *number is the computation that it is sent under. */
bool computation_may_leave(const struct computation *computation, uint64_t batch, uint64_t *number);

/* A generation ends or work is taken back. A computation with a number keeps it: another worker
 * may need its gradient. */
void computation_forget(struct computation *computation);

/* See common/base/invariant.h. */
void computation_check(const struct computation *computation);

#endif
