/* letterhead.h - what the coordinator says to the keeper, under its run and generation.
 *
 * Threads: the coordinator's. Ownership: packets are the outbox's, see outbox_add. */

#ifndef PS_COORDINATOR_LETTERHEAD_H
#define PS_COORDINATOR_LETTERHEAD_H

#include "common/wire/envelope.h"

struct packet *letter_to_keeper(const struct envelope *from, enum message_kind kind,
                                struct outbox *outbox);

/* One line for events.jsonl: name and further members as JSON text. */
void letter_event(const struct envelope *from, struct outbox *outbox, const char *name,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
