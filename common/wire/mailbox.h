/* mailbox.h - a queue of packets between the threads of one process.
 *
 * Any number of writers, one reader. The reader sleeps on a file descriptor, which it can hand
 * to a transport's wait, or in mailbox_wait. Packets of one writer stay in order.
 *
 * Threads: post from any; take, wait and free from the reader only. The lock is held for the
 * copy of one packet, and never while anything is computed.
 * Ownership: a posted packet's payload reference moves to the reader. */

#ifndef COMMON_WIRE_MAILBOX_H
#define COMMON_WIRE_MAILBOX_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/status.h"
#include "common/wire/outbox.h"

struct mailbox {
    pthread_mutex_t lock;
    struct outbox items;
    int event;        /* eventfd; readable while something may be there. */
    atomic_bool rung; /* Since it was last read. */
};

enum status mailbox_init(struct mailbox *mailbox);
void mailbox_free(struct mailbox *mailbox);

/* Out of memory for a few packets the process ends, as in outbox.h: a thread would wait without
 * end for a lost order. */
void mailbox_post(struct mailbox *mailbox, const struct outgoing *item);

/* Wake the reader without a packet. */
void mailbox_ring(struct mailbox *mailbox);

/* False when empty. */
bool mailbox_take(struct mailbox *mailbox, struct outgoing *item);

/* Sleep until something may be there or timeout_ms passes. */
void mailbox_wait(struct mailbox *mailbox, int timeout_ms);

#endif
