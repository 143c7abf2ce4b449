/* kept.h - the versions of chunks that are the base of a later computation. The record gives the
 * number of uses in advance: a version is kept from its creation until its last use.
 *
 * Threads: one owner. */

#ifndef DEPLOY_REPLAY_KEPT_H
#define DEPLOY_REPLAY_KEPT_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/frame.h"
#include "common/base/status.h"
#include "common/store/run_record.h"

struct kept_version {
    uint64_t version;
    struct frame *values;
    uint64_t uses; /* Remaining ones. */
};

/* Needed in a later interval than the one that makes it. */
struct kept_need {
    uint32_t chunk;
    uint64_t version, uses;
};

struct kept {
    uint32_t chunk_count;
    struct kept_chunk {
        struct kept_version *versions; /* [count] */
        size_t count, capacity;
    } * chunks;              /* [chunk_count] */
    struct kept_need *later; /* [later_count] by chunk and version. */
    size_t later_count, later_capacity;
    uint64_t *near; /* [chunk_count][near_span] uses in this interval, of versions made in it. */
    uint64_t near_from, near_span;
    /* Bytes kept now; the maximum number of versions of one chunk so far. */
    uint64_t bytes, versions_max;
};

enum status kept_init(struct kept *kept, uint32_t chunk_count);
void kept_free(struct kept *kept);

/* In advance, every interval of the segment in turn. needed: [computation_count] whether it will be
 * made. Then once kept_foreseen. STATUS_MEMORY. */
enum status kept_foresee(struct kept *kept, const struct run_record_interval *interval,
                         const uint32_t *needed);
void kept_foreseen(struct kept *kept);

/* The interval begins. STATUS_MEMORY. */
enum status kept_interval(struct kept *kept, const struct run_record_interval *interval,
                          const uint32_t *needed);

/* A version was made, or exists when the segment begins. STATUS_MEMORY. */
enum status kept_made(struct kept *kept, uint32_t chunk, uint64_t version, struct frame *values);

/* The values of a version that was made and is needed, valid until kept_use; it has one use less
 * afterwards. */
const struct frame *kept_look(const struct kept *kept, uint32_t chunk, uint64_t version);
void kept_use(struct kept *kept, uint32_t chunk, uint64_t version);

#endif
