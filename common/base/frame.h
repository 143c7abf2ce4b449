/* frame.h - a counted reference to bytes that several threads may hold and none then writes.
 *
 * A frame is filled by its maker while it holds the only reference, and is read-only as soon
 * as it is shared. Payloads travel as frames from ZeroMQ's receive buffer to the update kernel, and
 * from a chunk's values to the socket, without a copy.
 *
 * Threads: references may be taken by a holder and dropped by anyone on any thread. Dropping is a
 *   release, and the one that drops the last reference acquires before it frees, so everything a
 *   reader did happens before the memory is used again; frame_is_unique acquires for the same
 *   reason, so an owner that sees only its own reference may write.
 * Ownership: create, wrap and slice return one reference, the caller's. */

#ifndef COMMON_BASE_FRAME_H
#define COMMON_BASE_FRAME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct frame {
    void *data; /* 64-byte aligned when made by frame_create. */
    size_t bytes;
    atomic_uint references;
    bool exclusive; /* The bytes belong to this frame alone: not a slice of others'. */
    bool stays;     /* Received in memory that its sender leaves alone until our next exchange. */
    /* Frees what context stands for, on whatever thread dropped the last reference. */
    void (*release)(void *context);
    void *context;
};

/* NULL when out of memory. */
struct frame *frame_create(size_t bytes);

/* data stays its owner's until release(context) is called. exclusive: no other thread looks at it. */
struct frame *frame_wrap(void *data, size_t bytes, bool exclusive, void (*release)(void *context),
                         void *context);

/* A part of parent, which lives at least as long. */
struct frame *frame_slice(struct frame *parent, size_t offset, size_t bytes);

struct frame *frame_retain(struct frame *frame);

/* Drop a reference; NULL is allowed. */
void frame_release(struct frame *frame);

bool frame_is_unique(struct frame *frame);

/* Whether the holder of a reference may write: it is the only one, and no other has the bytes
 * under another frame. */
bool frame_is_writable(struct frame *frame);

#endif
