/* event_member.h - what a line of events.jsonl says beside its time and its name, in order:
 *
 *     EVENT_MEMBERS(event_text("role", "worker"), event_count("index", 3))
 *
 * Threads: values. */

#ifndef COMMON_STORE_EVENT_MEMBER_H
#define COMMON_STORE_EVENT_MEMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum event_value { EVENT_NOTHING, EVENT_TEXT, EVENT_COUNT, EVENT_REAL };

struct event_member {
    const char *name;
    enum event_value kind;
    const char *text; /* Any; it is quoted as JSON wants it. */
    uint64_t count;
    double real;  /* Null when it is not finite ... */
    int decimals; /* ... and so many of them, or JSON_EXACT. */
};

#define EVENT_MEMBERS(...) ((const struct event_member[]){__VA_ARGS__, {.kind = EVENT_NOTHING}})

static inline struct event_member event_text(const char *name, const char *text)
{
    return (struct event_member){.name = name, .kind = EVENT_TEXT, .text = text};
}

static inline struct event_member event_count(const char *name, uint64_t count)
{
    return (struct event_member){.name = name, .kind = EVENT_COUNT, .count = count};
}

static inline struct event_member event_real(const char *name, double real, int decimals)
{
    return (struct event_member){
        .name = name, .kind = EVENT_REAL, .real = real, .decimals = decimals};
}

/* When, by stopwatch.h: the last of whatever tells how far training is, or how good. */
static inline struct event_member event_training_seconds(double seconds)
{
    return event_real("training_seconds", seconds, 6);
}

/* A line for people (MESSAGE_TEXT_MAX) fits. */
#define EVENT_MEMBERS_MAX 448

/* Their JSON without the braces into text[size]; "" when there are none, and for those that have no
 * room or find no memory: half of it would be no JSON, and an event has a name too. */
void event_members_write(char *text, size_t size, const struct event_member *members);

#endif
