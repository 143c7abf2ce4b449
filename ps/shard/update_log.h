/* update_log.h - what a chunk has had since the cut that is in the record: of each batch, in the order in
 * which it had them, the computation that its gradient came from.
 *
 *     entry: the lowest 30 bits of the number | closes | skipped
 *
 * Of all numbers between two cuts there are far fewer, so whoever knows about where they are knows
 * all of them.
 *
 * Memory: 4 bytes a batch, of at most UPDATE_LOG_MAX. Where more come, because no cut is written, server 0
 * has ended the record already (computations.h), and none are kept from then on.
 *
 * Threads: the owner's. */

#ifndef PS_SHARD_UPDATE_LOG_H
#define PS_SHARD_UPDATE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/frame.h"
#include "common/base/status.h"

#define LOGGED_SKIPPED     1u /* The batch is had without an update. */
#define LOGGED_CLOSES      2u /* One version more. */
#define LOGGED_FLAGS       2
#define LOGGED_NUMBER_BITS 30

/* Of the stretch before the last cut, which an owner is told of with the next one, and of that since. */
#define UPDATE_LOG_MAX (2 * 4 * 65536)

struct update_log {
    bool over;      /* There were too many. */
    uint64_t from;  /* Batches that the chunk had before the first entry. */
    uint32_t *list; /* [count] Owned. */
    size_t count, capacity;
};

void update_log_free(struct update_log *log);

/* The chunk has had so many batches, and nothing is to be recorded of them. */
void update_log_begin(struct update_log *log, uint64_t batches);

/* Room for one batch more, so that no batch is had that cannot be noted. STATUS_MEMORY. */
enum status update_log_reserve(struct update_log *log);
/* It has been had, and there is room; and it has not been, after all. */
void update_log_add(struct update_log *log, uint64_t computation, unsigned flags);
void update_log_take_back(struct update_log *log);
/* The last one has made a version, with those that waited for others. */
void update_log_close(struct update_log *log);

/* All before this many batches is in the record. */
void update_log_drop(struct update_log *log, uint64_t batches);

/* How many there are and the entries, in one frame; NULL without memory. */
struct frame *update_log_pack(const struct update_log *log);
/* The same back: false when the frame is none of these. */
bool update_log_unpack(const struct frame *frame, const uint32_t **log, uint32_t *count);

/* The number of an entry, of those from `base` on. */
uint64_t update_log_number(uint32_t entry, uint64_t base);

#endif
