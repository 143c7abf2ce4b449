/* gauge.c - a counter with references of its own, because frames may be dropped when the session
 * that they were counted for is long gone. */

#include "ps/router/gauge.h"

#include <stdatomic.h>
#include <stdlib.h>

struct gauge {
    atomic_uint references;
    atomic_uint_least64_t bytes;
};

struct watched {
    struct gauge *gauge;
    struct frame *payload;
};

struct gauge *gauge_create(void)
{
    struct gauge *gauge = malloc(sizeof *gauge);
    if (gauge == NULL)
        return NULL;
    atomic_init(&gauge->references, 1);
    atomic_init(&gauge->bytes, 0);
    return gauge;
}

static void unreference(struct gauge *gauge)
{
    /* Release what this thread did, acquire what the others did, as in frame_release. */
    if (atomic_fetch_sub_explicit(&gauge->references, 1, memory_order_acq_rel) == 1)
        free(gauge);
}

void gauge_drop(struct gauge **gauge)
{
    if (*gauge != NULL)
        unreference(*gauge);
    *gauge = NULL;
}

uint64_t gauge_bytes(const struct gauge *gauge)
{
    return atomic_load_explicit(&gauge->bytes, memory_order_relaxed);
}

static void arrived(void *context)
{
    struct watched *watched = context;
    atomic_fetch_sub_explicit(&watched->gauge->bytes, watched->payload->bytes,
                              memory_order_relaxed);
    unreference(watched->gauge);
    frame_release(watched->payload);
    free(watched);
}

struct frame *gauge_watch(struct gauge *gauge, struct frame *payload)
{
    struct watched *watched = malloc(sizeof *watched);
    struct frame *frame =
        watched != NULL ? frame_wrap(payload->data, payload->bytes, false, arrived, watched) : NULL;
    if (frame == NULL) {
        free(watched);
        frame_release(payload);
        return NULL;
    }
    *watched = (struct watched){gauge, payload};
    atomic_fetch_add_explicit(&gauge->references, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&gauge->bytes, payload->bytes, memory_order_relaxed);
    return frame;
}
