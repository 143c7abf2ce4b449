/* event.h - what happens inside a process, said once: a core says it, and listeners make of it what they need.
 *
 *     event(outbox->listener, EVENT_CUT, .chunk = 3, .step = 100);
 *
 * event_rows.inc has a row for each kind. An event without a listener is not even put together: it costs a look
 * at `kinds`. An event says the function that it comes from.
 *
 * Threads: values; `take` is called on the thread that says the event, and may be called from several. */

#ifndef COMMON_EVENTS_EVENT_H
#define COMMON_EVENTS_EVENT_H

#include <stdint.h>

#include "common/base/origin.h"
#include "common/job/tree.h"
#include "common/job/verdict.h"

enum event_kind {
#define EVENT(kind, name, sentence) EVENT_##kind,
#define SPECIAL(kind, when, sentence)
#include "common/events/event_rows.inc"
    EVENT_KIND_COUNT
};

struct event {
    enum event_kind kind;
    struct origin origin;
    uint32_t chunk;
    uint32_t index;   /* A worker's or server's. */
    uint32_t members; /* Batches in an update. */
    struct node node;
    uint64_t step, version;
    uint64_t examples, correct, staleness, bytes, us;
    int64_t loss; /* 2^-24 nats, summed. */
    enum verdict verdict;
};

struct listener {
    uint64_t kinds; /* Bit by bit: those that `take` is given. */
    void (*take)(void *context, const struct event *event);
    void *context;
};

#define event(listener_, kind_, ...)                                                               \
    do {                                                                                           \
        const struct listener *event_to = (listener_);                                             \
        const enum event_kind event_kind = (kind_);                                                \
        if (event_to != NULL && (event_to->kinds >> event_kind & 1) != 0)                          \
            event_to->take(event_to->context,                                                      \
                           &(struct event){.kind = event_kind, .origin = HERE, __VA_ARGS__});      \
    } while (0)

/* "cut" */
const char *event_name(enum event_kind kind);

#endif
