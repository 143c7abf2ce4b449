/* staleness_counters.h - an owner's counts of staleness (common/job/staleness.h), and their way
 * to the coordinator:
 *
 *     counters of a chunk: (worker) -> count, sum, max, last, made, renewed \
 *     the owner's histogram over all its chunks                              > tally -> frame
 *
 * Counters begin anew when the chunk is loaded, and are of the updates since. A tally adds up
 * counters of an owner, a server or a run; tallies add up, too. Its bytes are at most
 * STALENESS_BYTES_MAX: numbers of 8 bytes, little-endian:
 *
 *     count  sum  max  squares (a double)  expected  renewed  buckets  workers
 *     buckets x number    workers x (count, sum, max)
 *
 * Threads: one owner each. Ownership: counters and tallies own their workers. */

#ifndef PS_EXTENSION_STALENESS_COUNTERS_H
#define PS_EXTENSION_STALENESS_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/frame.h"
#include "common/base/status.h"
#include "common/job/job.h"
#include "common/job/staleness.h"

#define STALENESS_WORDS     8
#define STALENESS_BYTES_MAX (8 * (STALENESS_WORDS + HISTOGRAM_BUCKETS + 3 * JOB_WORKERS_MAX))

/* One worker in one chunk. */
struct staleness_entry {
    struct staleness_share share;
    uint64_t last;    /* The version that its last gradient made, when count > 0. */
    uint64_t made;    /* Updates made by its gradients: all, unless they waited for others. */
    uint64_t renewed; /* See staleness.h. */
};

struct staleness_counters {
    uint64_t first;                  /* The chunk's version when they begin. */
    struct staleness_entry *entries; /* [worker_count], owned; grows as needed. */
    uint32_t worker_count;
};

void staleness_counters_free(struct staleness_counters *counters);

/* The worker's gradient, of version `base`, met version `met`. It made the next version, or
 * waits for others to make it with. STATUS_MEMORY: not counted. */
enum status staleness_counters_add(struct staleness_counters *counters, struct histogram *shape,
                                   uint32_t worker, uint64_t base, uint64_t met, bool made);

struct staleness_tally {
    struct staleness all;
    struct staleness_share *workers; /* [worker_count], owned. */
    uint32_t worker_count;
};

void staleness_tally_free(struct staleness_tally *tally); /* And empty it. */

/* Add counters without the histogram, which is the owner's. STATUS_MEMORY: the workers are
 * missing. */
enum status staleness_tally_add_counters(struct staleness_tally *tally,
                                         const struct staleness_counters *counters);
enum status staleness_tally_add(struct staleness_tally *to, const struct staleness_tally *from);

/* NULL without memory. */
struct frame *staleness_tally_frame(const struct staleness_tally *tally);

/* Add the tally in a frame. STATUS_INVALID: it is none, and nothing is added. STATUS_MEMORY. */
enum status staleness_tally_read(struct staleness_tally *tally, const struct frame *frame);

#endif
