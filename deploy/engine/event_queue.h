/* event_queue.h - the future events in virtual time, soonest first.
 *
 * Events of equal time keep their order of insertion: a history depends on its seed alone.
 *
 * Units: virtual nanoseconds. Threads: one. Ownership: the receiver of an event owns its item and
 *        parcel; event_queue_free frees the remaining ones. */

#ifndef DEPLOY_ENGINE_EVENT_QUEUE_H
#define DEPLOY_ENGINE_EVENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire/outbox.h"

enum due_kind {
    DUE_TICK,    /* A process's tick. */
    DUE_WIRE,    /* A parcel arrives; see simulated_network_arrive for where. */
    DUE_INBOX,   /* An item for a server's router thread, or from a trainer to its session. */
    DUE_ACTOR,   /* An item for an owner or checkpointer, or from a session to its trainer. */
    DUE_COMPUTE, /* A trainer has computed a gradient. */
    DUE_READY,   /* A trainer has computed a part of a gradient. */
    /* A trainer has begun with the returned part of its parameters; `number` counts that. */
    DUE_BEGUN,
    DUE_DISK,   /* A checkpointer's writes are durable. */
    DUE_STOP,   /* A request for a clean stop to a host: `process`. */
    DUE_LEAVE,  /* A request to leave to a worker. */
    DUE_START,  /* A process is started at a place: `process` is the host. */
    DUE_FAULT,  /* Of faults.h, identified by `number`. */
    DUE_WORKED, /* Thread `number` of a process has done its work (simulated_thread.h). */
};

/* A message on a wire, as bytes. */
struct parcel {
    struct parcel *next;    /* While it is held up. */
    uint32_t from;          /* Process. */
    uint32_t wire;          /* See simulated_network.h. */
    uint32_t connection;    /* It was sent over this one. */
    bool up;                /* To the server. */
    bool again;             /* A copy. */
    bool was_held;          /* It has been held up. */
    uint64_t sequence;      /* Among those of its wire and way. */
    struct frame *payload;  /* One reference, or NULL. */
    uint64_t payload_check; /* Checksum of the payload when it was sent. */
    size_t carried_bytes;   /* Of the header, as channels count it: without texts for people. */
    struct message message; /* Of the header. */
    size_t header_bytes;
    uint8_t header[]; /* [header_bytes] */
};

struct due {
    uint64_t time_ns;
    uint64_t order; /* Set by the queue. */
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

/* Out of memory ends the process: a simulation that loses an event would be worthless. */
void event_queue_add(struct event_queue *queue, const struct due *event);
bool event_queue_take(struct event_queue *queue, struct due *event);
void event_queue_free(struct event_queue *queue);

void event_free(struct due *event);
void parcel_free(struct parcel *parcel);

#endif
