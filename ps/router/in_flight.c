/* in_flight.c - a counter with references of its own, because frames may be dropped long after
 * their session is gone. */

#include "ps/router/in_flight.h"

#include <stdatomic.h>
#include <stdlib.h>

struct in_flight {
    atomic_uint references;
    atomic_uint_least64_t bytes;
};

struct watched {
    struct in_flight *in_flight;
    struct frame *payload;
};

struct in_flight *in_flight_create(void)
{
    struct in_flight *in_flight = malloc(sizeof *in_flight);
    if (in_flight == NULL)
        return NULL;
    atomic_init(&in_flight->references, 1);
    atomic_init(&in_flight->bytes, 0);
    return in_flight;
}

static void unreference(struct in_flight *in_flight)
{
    /* Release what this thread did, acquire what the others did, as in frame_release. */
    if (atomic_fetch_sub_explicit(&in_flight->references, 1, memory_order_acq_rel) == 1)
        free(in_flight);
}

void in_flight_drop(struct in_flight **in_flight)
{
    if (*in_flight != NULL)
        unreference(*in_flight);
    *in_flight = NULL;
}

uint64_t in_flight_bytes(const struct in_flight *in_flight)
{
    return atomic_load_explicit(&in_flight->bytes, memory_order_relaxed);
}

static void arrived(void *context)
{
    struct watched *watched = context;
    /* Acquires what in_flight_watch released: the payload is freed after the other thread's last
     * look. */
    atomic_fetch_sub_explicit(&watched->in_flight->bytes, watched->payload->bytes,
                              memory_order_acq_rel);
    unreference(watched->in_flight);
    frame_release(watched->payload);
    free(watched);
}

struct frame *in_flight_watch(struct in_flight *in_flight, struct frame *payload)
{
    struct watched *watched = malloc(sizeof *watched);
    struct frame *frame =
        watched != NULL ? frame_wrap(payload->data, payload->bytes, false, arrived, watched) : NULL;
    if (frame == NULL) {
        free(watched);
        frame_release(payload);
        return NULL;
    }
    *watched = (struct watched){in_flight, payload};
    atomic_fetch_add_explicit(&in_flight->references, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&in_flight->bytes, payload->bytes, memory_order_release);
    return frame;
}
