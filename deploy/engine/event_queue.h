/* event_queue.h - what is going to happen in virtual time, soonest first.
 *
 * Events of the same time come out in the order they went in, so a history depends on its seed
 * alone.
 *
 * Units: virtual nanoseconds. Threads: one. Ownership: an event's item and parcel are whoever's takes
 * it; event_queue_free frees those that nobody took. */

#ifndef DEPLOY_ENGINE_EVENT_QUEUE_H
#define DEPLOY_ENGINE_EVENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire/outbox.h"

enum due_kind {
    DUE_TICK,    /* A process looks at the clock. */
    DUE_WIRE,    /* A parcel arrives; see simulated_network_arrive for where. */
    DUE_INBOX,   /* An item for a server's router thread, or from a trainer to its session. */
    DUE_ACTOR,   /* An item for an owner or checkpointer, or from a session to its trainer. */
    DUE_COMPUTE, /* A trainer has computed a gradient. */
    DUE_READY,   /* A trainer has computed a part of a gradient. */
    DUE_BEGUN,  /* A trainer has begun with what is back of its parameters; `number` counts that. */
    DUE_DISK,   /* What a checkpointer wrote is durable. */
    DUE_STOP,   /* Somebody asks a host for a clean stop: `process`. */
    DUE_LEAVE,  /* Somebody asks a worker to leave. */
    DUE_START,  /* A process is started at a place: `process` is the host. */
    DUE_FAULT,  /* What whoever makes faults (faults.h) calls by `number`. */
    DUE_WORKED, /* Thread `number` of a process has done its work (simulated_thread.h). */
};

/* A message on a wire, as bytes. */
struct parcel {
    struct parcel *next;    /* While it is held up. */
    uint32_t from;          /* Process. */
    uint32_t wire;          /* See simulated_network.h. */
    uint32_t connection;    /* That it was sent over. */
    bool up;                /* To the server. */
    bool again;             /* A repetition. */
    bool was_held;          /* It has been held up. */
    uint64_t sequence;      /* Among those of its wire and way. */
    struct frame *payload;  /* One reference, or NULL. */
    uint64_t payload_check; /* Checksum of the payload when it was sent. */
    size_t carried_bytes;   /* Of the header, as carriers count it: without texts for people. */
    size_t header_bytes;
    uint8_t header[]; /* [header_bytes] */
};

struct due {
    uint64_t time_ns;
    uint64_t order; /* Filled in by the queue. */
    enum due_kind kind;
    uint32_t process;
    uint64_t number;
    struct parcel *parcel; /* DUE_WIRE. */
    struct outgoing *item; /* DUE_INBOX, DUE_ACTOR. */
};

struct event_queue {
    struct due *events; /* [capacity] a binary heap. */
    size_t count, capacity;
    uint64_t added;
};

/* Out of memory ends the process: a simulation without an event would prove nothing. */
void event_queue_add(struct event_queue *queue, const struct due *event);
bool event_queue_take(struct event_queue *queue, struct due *event);
void event_queue_free(struct event_queue *queue);

void event_free(struct due *event);
void parcel_free(struct parcel *parcel);

#endif
