/* included.h - checks a record against ssp's guarantee about the values that workers compute from:
 *
 *     a computation of a worker at clock c begins from values that have, in every chunk, every
 *     update
 *     of the present workers of clock <= c - S - 1, and all its own
 *
 * (Ho et al. 2013, section 3; a worker's clock is the number of its finished batches.) A worker is
 * present when it has computed and not left since. Without a bound, MODE_UNBOUNDED, only the
 * worker's own remain.
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
    uint64_t held;     /* Computations that satisfied it. */
    uint64_t required; /* Required updates of other workers, summed over computations. */
};

void included_begin(struct included *included, uint64_t bound, uint32_t chunk_count);
void included_free(struct included *included);

/* STATUS_MISMATCH: a line names the first computation that lacks an update, and the update.
 * STATUS_MEMORY. */
enum status included_interval(struct included *included, const struct run_record_interval *interval,
                              struct error *error);

#endif
