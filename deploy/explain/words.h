/* words.h - every message, and every event between messages, in plain words. The tables are words.c and
 * common/events/event_rows.inc: a row for each kind, or several, the last of a kind without a
 * condition. A text has in braces what it takes from the moment:
 *
 *     {chunk}           a field of the message (common/wire/message_rows.inc) or of the event
 *     {report.correct}  of the report inside an EXCHANGE
 *     {@leaves}         made of several of them, or of the job
 *     {mode.gives}      the words of the job's mode (ps/mode, worker/mode), with braces of their own
 *
 * A new message needs a row here, or words_write asserts; tests/unit/explain/test_words.c looks at all
 * of them.
 *
 * Threads: pure. */

#ifndef DEPLOY_EXPLAIN_WORDS_H
#define DEPLOY_EXPLAIN_WORDS_H

#include "common/job/partition.h"
#include "common/wire/process_log.h"

#define WORDS_TEXT_MAX 2048
#define WORDS_NO_CHUNK UINT32_MAX

/* Something that was said or done, and what one has to know to tell it. */
struct moment {
    const struct process_log_entry *entry;
    const struct job *job;
    const struct partition *partition; /* Without chunks when there are no servers. */
    enum message_kind question;        /* That it answers; MESSAGE_NONE when it answers none. */
};

struct words {
    char text[WORDS_TEXT_MAX];
    char like[WORDS_TEXT_MAX]; /* The same without what differs from chunk to chunk, or from time to
                                * time: of two moments that are alike, this is the same. */
    uint32_t chunk;            /* That it is about, or WORDS_NO_CHUNK. */
};

void words_write(struct words *words, const struct moment *moment);

/* The rows, for the tests that check them. */
struct words_row {
    unsigned kind;                             /* enum message_kind or enum event_kind. */
    bool (*when)(const struct moment *moment); /* NULL: always. */
    const char *text;
};

extern const struct words_row words_of_messages[], words_of_events[];
extern const size_t words_of_messages_count, words_of_events_count;

/* What is in {mode.NAME}; NULL: the mode has no such words. */
const char *words_of_mode(const struct job *job, const char *name);

/* Whether braces around this name mean something in a text about that kind. */
bool words_knows(bool event, unsigned kind, const char *name);

#endif
