/* ring.h - a queue of records in memory that two processes share and neither trusts.
 *
 *       head (reader's)    tail (writer's)
 *            v                  v
 *     |......[len|bytes..][len|b]..............|    positions only grow;
 *                                                   place = position % capacity
 *
 * One writer, one reader. Whatever the other side writes into the memory, nothing here reads or
 * writes outside the ring, asserts, or runs on for ever. Each side keeps its own position and
 * the capacity to itself. It takes the other's position only when that lies within the ring,
 * reads a record's length once, and copies the record out before it is looked at. An impossible
 * position or length is STATUS_INVALID, and the caller drops the connection.
 *
 * A reader that finds nothing says so before it sleeps; only then does a writer need a system
 * call:
 *
 *     writer                                reader
 *     ring_put                              while (ring_take(...) == STATUS_OK) ...
 *     if (ring_wants_wake)                  if (ring_sleep) {
 *         write to the descriptor               poll on the descriptor
 *                                               ring_awake
 *                                           }
 *
 * No wake-up is lost (ring.c has the argument); now and then there is one too many. Several puts
 * may share one ring_wants_wake.
 *
 * Units: bytes. Threads: a handle belongs to one thread at a time. Memory: ring_bytes(capacity),
 * all zero when it was made, aligned to 64; it must outlive the handles, which need no freeing. */

#ifndef COMMON_TRANSPORT_SHM_RING_H
#define COMMON_TRANSPORT_SHM_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"

#define RING_RECORD_MAX   4200u
#define RING_CAPACITY_MIN 8192u

struct ring {
    struct ring_shared *shared; /* Not owned. */
    uint32_t capacity;
    uint64_t own;   /* This side's position, as only it knows it. */
    uint64_t other; /* The other's, as last seen and checked; at most capacity away. */
};

/* The memory of a ring of this capacity, a multiple of 64. capacity: a power of two, at least
 * RING_CAPACITY_MIN. */
size_t ring_bytes(uint32_t capacity);

/* A handle for the writer or for the reader of a new ring. Each side attaches once in the
 * memory's life: both begin at position 0, whatever the memory says. */
void ring_attach(struct ring *ring, void *memory, uint32_t capacity);

/* Writer: append one record made of two pieces, either of which may be empty, 1..RING_RECORD_MAX
 * bytes together. STATUS_AGAIN when there is no room, STATUS_INVALID. */
enum status ring_put(struct ring *ring, const void *a, size_t a_bytes, const void *b,
                     size_t b_bytes);

/* Writer, after ring_put: true when the reader must be woken; asks and forgets in one. */
bool ring_wants_wake(struct ring *ring);

/* Reader: copy the oldest record out and drop it. STATUS_AGAIN when there is none; STATUS_INVALID,
 * also for a record longer than size. */
enum status ring_take(struct ring *ring, void *record, size_t size, size_t *bytes);

/* Reader: whether there is a record, or nonsense. */
bool ring_has_some(const struct ring *ring);

/* Reader: announce that it will sleep. False when there is a record after all; then the
 * announcement is taken back. */
bool ring_sleep(struct ring *ring);

/* Reader: take the announcement back, after sleeping. */
void ring_awake(struct ring *ring);

#endif
