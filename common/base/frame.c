/* frame.c - the reference count, whose memory order is argued where it changes, and what is freed
 * when it gets to 0. */

#include "common/base/frame.h"

#include <assert.h>
#include <stdlib.h>

#define FRAME_ALIGNMENT 64

static struct frame *frame_new(void *data, size_t bytes, bool exclusive, void (*release)(void *),
                               void *context)
{
    struct frame *frame = malloc(sizeof *frame);
    if (frame == NULL)
        return NULL;
    frame->data = data;
    frame->bytes = bytes;
    atomic_init(&frame->references, 1);
    frame->exclusive = exclusive;
    frame->stays = false;
    frame->release = release;
    frame->context = context;
    return frame;
}

struct frame *frame_create(size_t bytes)
{
    size_t rounded = (bytes + FRAME_ALIGNMENT - 1) / FRAME_ALIGNMENT * FRAME_ALIGNMENT;
    void *data = aligned_alloc(FRAME_ALIGNMENT, rounded == 0 ? FRAME_ALIGNMENT : rounded);
    if (data == NULL)
        return NULL;
    struct frame *frame = frame_new(data, bytes, true, free, data);
    if (frame == NULL)
        free(data);
    return frame;
}

struct frame *frame_wrap(void *data, size_t bytes, bool exclusive, void (*release)(void *context),
                         void *context)
{
    return frame_new(data, bytes, exclusive, release, context);
}

static void slice_release(void *parent)
{
    frame_release(parent);
}

struct frame *frame_slice(struct frame *parent, size_t offset, size_t bytes)
{
    assert(offset <= parent->bytes && bytes <= parent->bytes - offset);
    struct frame *slice =
        frame_new((char *)parent->data + offset, bytes, false, slice_release, parent);
    if (slice != NULL)
        frame_retain(parent);
    return slice;
}

struct frame *frame_retain(struct frame *frame)
{
    /* Relaxed: the taker of a reference already holds one. */
    unsigned before = atomic_fetch_add_explicit(&frame->references, 1, memory_order_relaxed);
    assert(before > 0);
    return frame;
}

void frame_release(struct frame *frame)
{
    if (frame == NULL)
        return;
    /* One read-modify-write does both halves: release what this thread did with the bytes, acquire
     * what the others did before the memory goes back. (A fence would do too, but ThreadSanitizer
     * does not see fences.) */
    unsigned before = atomic_fetch_sub_explicit(&frame->references, 1, memory_order_acq_rel);
    assert(before > 0);
    if (before > 1)
        return;
    if (frame->release != NULL)
        frame->release(frame->context);
    free(frame);
}

bool frame_is_unique(struct frame *frame)
{
    return atomic_load_explicit(&frame->references, memory_order_acquire) == 1;
}

bool frame_is_writable(struct frame *frame)
{
    return frame->exclusive && frame_is_unique(frame);
}
