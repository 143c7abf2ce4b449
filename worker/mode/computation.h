/* computation.h - what this worker computes a gradient from, where the run is recorded: the batch,
 * and the version of every chunk. GRADIENT describes it to each server, before the first EXCHANGE
 * there and before each that is repeated. A gradient has the worker's own count, from 1 on.
 *
 * Threads: the session's. */

#ifndef WORKER_MODE_COMPUTATION_H
#define WORKER_MODE_COMPUTATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/wire/envelope.h"

struct computation {
    bool records;    /* START says so. */
    uint64_t count;  /* Of the latest one; 0: there was none. */
    uint64_t ticket; /* Of this worker when its last START came. */
    uint64_t batch;
    uint64_t clock; /* Where workers have clocks: batches that this one had finished; else 0. */
    uint32_t chunk_count;
    uint8_t *bases; /* [bases_bytes] of every chunk, see common/job/bases.h. Owned. */
    size_t bases_bytes;
};

/* A zeroed one, for so many chunks; STATUS_MEMORY. */
enum status computation_init(struct computation *computation, uint32_t chunk_count);
void computation_free(struct computation *computation);

/* A batch is begun, from versions[chunk_count], by the worker of this ticket. Does nothing in a job
 * without record. */
void computation_begin(struct computation *computation, uint64_t batch, uint64_t ticket,
                       const uint64_t *versions);

/* GRADIENT to a server, page by page. */
void computation_describe(const struct computation *computation, const struct envelope *envelope,
                          uint32_t server, struct outbox *outbox);

/* See common/base/invariant.h. */
void computation_check(const struct computation *computation);

#endif
