/* driver_lock.h - which thread drives a client: the trainer's, which comes first, or a second
 * one while that computes.
 *
 *     trainer   take ...... hand_over | computes | take ...... give | computes ... | take
 *     second                waits for messages, drives |  (looks in every 100 ms)
 *
 * The second thread may wait for messages with the lock held. The doorbell ends its wait as soon
 * as the trainer wants the lock. After hand_over it goes on until there is nothing to wait for.
 * After give it is not called, and looks in by itself.
 *
 * Threads: take, give and hand_over for the trainer; try, wants_back and let_go for the second
 * one. `wanted` is read after `waits` is set, and set before `waits` is read, both sequentially
 * consistent. One of the two sees the other, so that no wait goes without its ring. */

#ifndef WORKER_CLIENT_DRIVER_LOCK_H
#define WORKER_CLIENT_DRIVER_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "common/wire/mailbox.h"

struct driver_lock {
    pthread_mutex_t lock;     /* Held by the driver. */
    pthread_cond_t given;     /* The trainer has released it. */
    atomic_bool wanted;       /* The trainer wants it, or has it. */
    atomic_bool waits;        /* The second thread holds it and waits. */
    bool helps;               /* The trainer computes, and messages are urgent. */
    bool second;              /* The second thread has it, or had it and gets it back. */
    struct mailbox *doorbell; /* Borrowed. */
};

void driver_lock_init(struct driver_lock *driver_lock, struct mailbox *doorbell);
void driver_lock_free(struct driver_lock *driver_lock);

/* The trainer: take it from any holder; and release it, to compute with or without messages to
 * wait for. */
void driver_lock_take(struct driver_lock *driver_lock);
void driver_lock_give(struct driver_lock *driver_lock);
void driver_lock_hand_over(struct driver_lock *driver_lock);

/* The second thread: take it if it is free. */
bool driver_lock_try(struct driver_lock *driver_lock);

/* With the lock held: whether to wait for messages now, and drive. If so driver_lock_waited
 * follows the wait. Gives way to the trainer, and takes the lock back when it is free. */
bool driver_lock_helps(struct driver_lock *driver_lock);
void driver_lock_waited(struct driver_lock *driver_lock);
void driver_lock_let_go(struct driver_lock *driver_lock);

#endif
