/* included.h - what ssp promises of the values that workers compute from, held against a record:
 *
 *     a computation of a worker at clock c begins from values that have, in every chunk, every update
 *     of the workers that are present of clock <= c - S - 1, and all its own
 *
 * (Ho et al. 2013, section 3; a worker's clock is how many batches it had finished.) Present is who has
 * computed something and not gone since. A bound of none, MODE_UNBOUNDED, leaves the worker's own.
 *
 * Threads: one owner. */

#ifndef DEPLOY_REPLAY_INCLUDED_H
#define DEPLOY_REPLAY_INCLUDED_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/store/run_record.h"

struct included {
    uint64_t bound;
    uint32_t chunk_count;
    struct included_worker *workers; /* [worker_count], by index. Owned. */
    uint32_t worker_count;
    uint64_t held;     /* Computations that had what was promised. */
    uint64_t required; /* Of others' updates: how often one had to be there. */
};

/* A segment begins. */
void included_begin(struct included *included, uint64_t bound, uint32_t chunk_count);
void included_free(struct included *included);

/* STATUS_MISMATCH: a line that names the first computation that lacks something, and what.
 * STATUS_MEMORY. */
enum status included_interval(struct included *included, const struct run_record_interval *interval,
                              struct error *error);

#endif
