/* update_log.h - the batches that a chunk has had since the last recorded snapshot, in the
 * chunk's order, each with the description of its gradient (descriptions.h).
 *
 *     entry: the lowest 30 bits of the number | closes | skipped
 *
 * Between two snapshots there are far fewer descriptions than 2^30, so a number near them
 * completes each.
 *
 * Memory: 4 bytes a batch, of at most UPDATE_LOG_MAX. Where more come, because no snapshot is
 * written, the record has ended already (descriptions.h), and no more are kept.
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

/* Batches after which the record is written at a snapshot, by itself if need be. */
#define RECORD_BATCHES_MAX 65536
/* For the interval before the last snapshot, which the next one confirms, and the one since. */
#define UPDATE_LOG_MAX (2 * 4 * RECORD_BATCHES_MAX)

struct update_log {
    bool over;      /* There were more than fit. */
    uint64_t from;  /* Batches that the chunk had before the first entry. */
    uint32_t *list; /* [count] of entries, owned. */
    size_t count, capacity;
};

void update_log_free(struct update_log *log);

/* The chunk has had so many batches, and none is to be recorded. */
void update_log_begin(struct update_log *log, uint64_t batches);

/* Room for one batch, before it is applied. STATUS_MEMORY. */
enum status update_log_reserve(struct update_log *log);
/* The batch was applied, into reserved room; take_back: it was not, after all. */
void update_log_add(struct update_log *log, uint64_t described, unsigned flags);
void update_log_take_back(struct update_log *log);
/* The last batch has made a version, with those that waited for it. */
void update_log_close(struct update_log *log);

/* The record has all before this many batches. */
void update_log_drop(struct update_log *log, uint64_t batches);

/* The number of entries and the entries, in one frame; NULL without memory. */
struct frame *update_log_pack(const struct update_log *log);
/* Read such a frame; false when it is none. */
bool update_log_unpack(const struct frame *frame, const uint32_t **log, uint32_t *count);

/* The number of an entry; all are from `base` on. */
uint64_t update_log_number(uint32_t entry, uint64_t base);

#endif
