/* talk.h - what the driver of talks (talk.c) and the cores under test know of each other.
 *
 * talk.c has the language. Each core has an adapter: it opens the core as its header says, stamps
 * messages as their senders would, and has words and figures of its own.
 *
 * Threads: one. */

#ifndef TESTS_TALKS_TALK_H
#define TESTS_TALKS_TALK_H

#include "tests/talks/talk_fields.h"

/* A row of a struct of an adapter's own; its table ends with {.kind = FIELD_END}. */
#define TALK_ROW(type, name, member, kind)        TALK_ROW_OF(type, name, member, kind, UINT64_MAX, NULL)
#define TALK_WORD(type, name, member, most, word) TALK_ROW_OF(type, name, member, WORD, most, word)

#define TALK_SECOND  1000000u
#define TALK_WORKERS (1ull << 32) /* Peers: worker i is TALK_WORKERS + i, ... */
#define TALK_SERVERS (2ull << 32) /* ... server i TALK_SERVERS + i; others have small numbers. */

/* "worker/1", "trainer". */
struct party {
    char name[16];
    uint32_t index;
};

/* A line, cut into words. */
struct words {
    unsigned count;
    char *word[32];
    const char *rest[32]; /* The line from there on. */
};

struct talk_core {
    const char *name;
    const char *quiet;               /* Kinds that may come unsaid: " PONG EVENT ". */
    const char *quiet_in_time;       /* More of them, where time has passed; may be NULL. */
    void (*prepare)(enum mode mode); /* talk_job, and options, before a talk changes them. */
    void (*open)(void);
    void (*close)(void); /* Also of what was prepared and not opened. */
    /* From there, with the fields that are said; the others are zero, and to be stamped. Takes
     * over the payload. */
    void (*give)(struct party from, struct packet *packet, const struct words *said);
    void (*tick)(void); /* It is talk_now_us. */
    /* A line that is this core's own; false: it has no such word. */
    bool (*say)(const struct words *words);
    /* A figure in words; false: it has none of this name. */
    bool (*figure)(const char *name, char *text, size_t size);
    void (*hear)(const struct outgoing *item); /* Whatever comes out; may be NULL. */
};

extern const struct talk_core talk_coordinator, talk_session, talk_router, talk_owner;

extern struct job talk_job;
extern uint64_t talk_now_us;
extern struct outbox talk_outbox;

/* The core has its options: make it, if it is not yet. */
void talk_open(void);

/* Time in which the core is driven ten times a second; each may be NULL. */
void talk_pass(double seconds, void (*beat)(void));

/* What the core wants sent has come; and it is of no interest. */
void talk_take(void);
void talk_forget(void);

/* The talk fails here. */
__attribute__((noreturn, format(printf, 1, 2))) void talk_fail(const char *format, ...);

struct party talk_party(const char *text);

/* A number that is written there. */
double talk_number(const char *text);

/* Whether the line gives this field; and "name=value" of all behind the first words into a struct of
 * one's own. */
bool talk_says(const struct words *said, const char *field);
void talk_set(const struct message_field *rows, void *of, const struct words *said, unsigned first);
void talk_set_job(const struct words *said);

#endif
