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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/origin.h"
#include "common/job/tree.h"
#include "common/job/verdict.h"
#include "common/process/log_line.h"

enum event_kind {
#define EVENT(kind, name, sentence)                          EVENT_##kind,
#define RECORDED(kind, name, sentence, level, line, members) EVENT_##kind,
#define SPECIAL(kind, when, sentence)
#include "common/events/event_rows.inc"
    EVENT_KIND_COUNT
};

struct event {
    enum event_kind kind;
    struct origin origin;
    struct node node;
    enum verdict verdict;
    int64_t loss_sum; /* In the job's unit of loss. */
#define COUNT(name) uint64_t name;
#define REAL(name)  double name;
#define TEXT(name)  const char *name;
#include "common/events/event_fields.inc"
};

struct listener {
    uint64_t kinds; /* Bit by bit: those that `take` is given. */
    void (*take)(void *context, const struct event *event);
    void *context;
};

static inline bool event_is_heard(const struct listener *listener, enum event_kind kind)
{
    return listener != NULL && (listener->kinds >> kind & 1) != 0;
}

static inline void event_pass(const struct listener *listener, const struct event *event)
{
    if (event_is_heard(listener, event->kind))
        listener->take(listener->context, event);
}

#define event(listener, kind_, ...)                                                                \
    (event_is_heard(listener, kind_)                                                               \
         ? event_pass(listener, &(struct event){.kind = (kind_), .origin = HERE, __VA_ARGS__})     \
         : (void)0)

struct event_row {
    const char *
        name; /* "cut"; of what is recorded the name in events.jsonl, which several kinds may have. */
    const char *sentence; /* Of `run --explain`; NULL: it says nothing of it. */
    enum log_level level; /* Of ... */
    const char *line;     /* ... a line of the log, with fields in braces; NULL: none. */
    const char *members;  /* Of a line of events.jsonl, in order: "step epoch.4 why". NULL: none. */
};
extern const struct event_row event_rows[EVENT_KIND_COUNT];

/* A line for people (MESSAGE_TEXT_MAX) fits. */
#define EVENT_MEMBERS_MAX 448

/* The members' JSON without braces; "" when there are none, and for those that have no room or find no memory: half of
 * it would be no JSON, and an event has a name too. */
void event_members(const struct event *event, char *text, size_t size);

/* The line. What does not fit is cut. */
void event_line(const struct event *event, char *text, size_t size);

#endif
