/* ring.c - a single-writer, single-reader queue in shared memory. Its memory order:
 *
 * Bytes: the writer fills a record and then stores tail (release); the reader loads tail
 * (acquire) and then reads it. The reader copies a record out and then stores head (release);
 * the writer loads head (acquire) before it fills the place again. So between sides that keep to
 * this, bytes are never read and written at once. A side that does not can spoil the other's
 * copy, but not its place.
 *
 * Sleep: every access to asleep is a read-modify-write (acquire and release), so all of them are
 * in one order and each sees the one before. Take a writer's [store tail; exchange asleep] and a
 * reader's [exchange asleep; load tail]:
 *   writer's exchange first: the reader's comes after it, so the writer's store of tail happened
 *     before the reader's load of it: the reader sees the record and stays awake.
 *   reader's exchange first: the writer finds the announcement, unless another of its own exchanges
 *     has taken it (and then wakes the reader) or the reader has taken it back (and is awake).
 * No sequentially consistent order is needed, and none of it falls on ring_put. A plain load
 * first, with an exchange only when asleep is set, would lose wake-ups: the load may overtake
 * the store of tail, on x86 too. */

#include "common/transport/shm/ring.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#define LINE 64u

struct ring_shared {
    /* A cache line for each, so that neither side waits for a line that the other keeps writing. */
    _Alignas(LINE) _Atomic uint64_t head;   /* The reader has done with everything before it. */
    _Alignas(LINE) _Atomic uint64_t tail;   /* The writer has filled everything before it. */
    _Alignas(LINE) _Atomic uint32_t asleep; /* Not 0: the reader sleeps, or is about to. */
    _Alignas(LINE) unsigned char bytes[];   /* [capacity] */
};

/* Ahead of each record. Records start at multiples of RECORD_ALIGNMENT, so the end of the ring
 * never splits it. Atomic, because it must be read once: a compiler may read a plain variable
 * twice, and a hostile writer change it in between. */
typedef _Atomic uint32_t record_length;

#define RECORD_ALIGNMENT 8u

/* Locks hidden in one process would mean nothing to another. */
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_LONG_LOCK_FREE == 2 &&
                   ATOMIC_INT_LOCK_FREE == 2,
               "atomics between processes must be lock-free");
_Static_assert(sizeof(_Atomic uint64_t) == sizeof(uint64_t) &&
                   sizeof(record_length) == sizeof(uint32_t),
               "the layout must be the same for all");
_Static_assert(RECORD_ALIGNMENT % sizeof(record_length) == 0 &&
                   RING_CAPACITY_MIN >= RING_RECORD_MAX + 2 * RECORD_ALIGNMENT,
               "the longest record fits");

size_t ring_bytes(uint32_t capacity)
{
    return sizeof(struct ring_shared) + capacity;
}

void ring_attach(struct ring *ring, void *memory, uint32_t capacity)
{
    assert(capacity >= RING_CAPACITY_MIN && (capacity & (capacity - 1)) == 0);
    assert((uintptr_t)memory % LINE == 0);
    *ring = (struct ring){.shared = memory, .capacity = capacity};
}

/* The bytes of a record with its length. Never overflows: length is any 32 bits. */
static uint64_t footprint(uint64_t length)
{
    uint64_t bytes = sizeof(record_length) + length;
    return (bytes + RECORD_ALIGNMENT - 1) / RECORD_ALIGNMENT * RECORD_ALIGNMENT;
}

static size_t place_of(const struct ring *ring, uint64_t position)
{
    return position & (ring->capacity - 1);
}

static record_length *length_at(const struct ring *ring, uint64_t position)
{
    return (record_length *)(void *)&ring->shared->bytes[place_of(ring, position)];
}

/* Returns the position behind the copy. */
static uint64_t copy_in(struct ring *ring, uint64_t position, const void *from, size_t bytes)
{
    size_t place = place_of(ring, position), to_end = ring->capacity - place;
    size_t first = bytes < to_end ? bytes : to_end;
    if (first > 0)
        memcpy(ring->shared->bytes + place, from, first);
    if (bytes > first)
        memcpy(ring->shared->bytes, (const unsigned char *)from + first, bytes - first);
    return position + bytes;
}

static void copy_out(const struct ring *ring, uint64_t position, void *to, size_t bytes)
{
    size_t place = place_of(ring, position), to_end = ring->capacity - place;
    size_t first = bytes < to_end ? bytes : to_end;
    memcpy(to, ring->shared->bytes + place, first);
    memcpy((unsigned char *)to + first, ring->shared->bytes, bytes - first);
}

/* Look at the reader's position only when there seems to be no room: its line stays with the
 * reader. */
static enum status make_room(struct ring *ring, uint64_t needed)
{
    if (ring->capacity - (ring->own - ring->other) >= needed)
        return STATUS_OK;
    uint64_t head = atomic_load_explicit(&ring->shared->head, memory_order_acquire);
    if (head - ring->other > ring->own - ring->other) /* Back, or ahead of us. */
        return STATUS_INVALID;
    ring->other = head;
    return ring->capacity - (ring->own - head) >= needed ? STATUS_OK : STATUS_AGAIN;
}

enum status ring_put(struct ring *ring, const void *a, size_t a_bytes, const void *b,
                     size_t b_bytes)
{
    assert(a_bytes <= RING_RECORD_MAX && b_bytes <= RING_RECORD_MAX - a_bytes);
    size_t length = a_bytes + b_bytes;
    assert(length > 0);
    enum status status = make_room(ring, footprint(length));
    if (status != STATUS_OK)
        return status;
    atomic_store_explicit(length_at(ring, ring->own), (uint32_t)length, memory_order_relaxed);
    uint64_t position = ring->own + sizeof(record_length);
    position = copy_in(ring, position, a, a_bytes);
    copy_in(ring, position, b, b_bytes);
    ring->own += footprint(length);
    atomic_store_explicit(&ring->shared->tail, ring->own, memory_order_release);
    return STATUS_OK;
}

bool ring_wants_wake(struct ring *ring)
{
    return atomic_exchange_explicit(&ring->shared->asleep, 0, memory_order_acq_rel) != 0;
}

/* Look at the writer's position only when everything before the last one seen has been taken. */
static enum status find_record(struct ring *ring)
{
    if (ring->other != ring->own)
        return STATUS_OK;
    uint64_t tail = atomic_load_explicit(&ring->shared->tail, memory_order_acquire);
    if (tail == ring->own)
        return STATUS_AGAIN;
    if (tail - ring->own > ring->capacity)
        return STATUS_INVALID;
    ring->other = tail;
    return STATUS_OK;
}

enum status ring_take(struct ring *ring, void *record, size_t size, size_t *bytes)
{
    enum status status = find_record(ring);
    if (status != STATUS_OK)
        return status;
    uint32_t length = atomic_load_explicit(length_at(ring, ring->own), memory_order_relaxed);
    if (length == 0 || length > size || footprint(length) > ring->other - ring->own)
        return STATUS_INVALID;
    copy_out(ring, ring->own + sizeof(record_length), record, length);
    *bytes = length;
    ring->own += footprint(length);
    atomic_store_explicit(&ring->shared->head, ring->own, memory_order_release);
    return STATUS_OK;
}

bool ring_has_some(const struct ring *ring)
{
    return ring->other != ring->own ||
           atomic_load_explicit(&ring->shared->tail, memory_order_relaxed) != ring->own;
}

bool ring_sleep(struct ring *ring)
{
    if (ring->other == ring->own) {
        atomic_exchange_explicit(&ring->shared->asleep, 1, memory_order_acq_rel);
        if (atomic_load_explicit(&ring->shared->tail, memory_order_acquire) == ring->own)
            return true;
        ring_awake(ring);
    }
    return false;
}

void ring_awake(struct ring *ring)
{
    atomic_exchange_explicit(&ring->shared->asleep, 0, memory_order_acq_rel);
}
