/* kept.h - the versions of chunks that some computation yet to be made begins from. How often each is
 * needed is known beforehand, from the record: so a version is kept from when it is made until the
 * last that begins from it has it.
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
    uint64_t uses; /* That are yet to come. */
};

/* Needed in a stretch behind the one in which it is made. */
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
    uint64_t *near; /* [chunk_count][near_span] uses in this stretch, of versions made in it. */
    uint64_t near_from, near_span;
    uint64_t bytes, versions_max; /* Of what is kept now; the most of one chunk so far. */
};

enum status kept_init(struct kept *kept, uint32_t chunk_count);
void kept_free(struct kept *kept);

/* Beforehand, every stretch of the segment in turn. needed: [computation_count] whether it will be
 * made. Then, once, that this was all. STATUS_MEMORY. */
enum status kept_foresee(struct kept *kept, const struct run_record_interval *interval,
                         const uint32_t *needed);
void kept_foreseen(struct kept *kept);

/* The stretch begins. STATUS_MEMORY. */
enum status kept_interval(struct kept *kept, const struct run_record_interval *interval,
                          const uint32_t *needed);

/* A version has been made, or is there when the segment begins. STATUS_MEMORY. */
enum status kept_made(struct kept *kept, uint32_t chunk, uint64_t version, struct frame *values);

/* One that was made and is needed: its values, until it is used; one use less. */
const struct frame *kept_look(const struct kept *kept, uint32_t chunk, uint64_t version);
void kept_use(struct kept *kept, uint32_t chunk, uint64_t version);

#endif
