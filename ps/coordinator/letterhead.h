/* letterhead.h - what server 0 puts on everything it sends: the run and its generation.
 *
 * Both are known only when the keeper has opened the run; before that they are 0.
 *
 * Threads: the coordinator's. Ownership: packets are the outbox's, see outbox_add. */

#ifndef PS_COORDINATOR_LETTERHEAD_H
#define PS_COORDINATOR_LETTERHEAD_H

#include <stdint.h>

#include "common/wire/outbox.h"

struct letterhead {
    uint64_t run_id, generation;
};

/* A message to a member, or (letter_answer) to whoever sent `to`, as the answer to that. */
struct packet *letter_to_peer(const struct letterhead *head, uint64_t peer, enum message_kind kind,
                              struct outbox *outbox);
struct packet *letter_answer(const struct letterhead *head, const struct packet *to,
                             enum message_kind kind, struct outbox *outbox);
struct packet *letter_to_keeper(const struct letterhead *head, enum message_kind kind,
                                struct outbox *outbox);

/* One line for events.jsonl: name and further members as JSON text. */
void letter_event(const struct letterhead *head, struct outbox *outbox, const char *name,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Answers of one line. */
void letter_refused(const struct letterhead *head, const struct packet *to, enum refusal reason,
                    struct outbox *outbox, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void letter_waiting(const struct letterhead *head, const struct packet *to, const char *text,
                    struct outbox *outbox);

#endif
