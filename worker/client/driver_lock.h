/* driver_lock.h - who drives a client: the trainer's thread, which comes first, or a second one while that
 * computes.
 *
 *     trainer   take ...... hand_over | computes | take ...... give | computes ... | take
 *     second                waits for messages, drives |  (looks in every 100 ms)
 *
 * The second thread may wait for messages with the wheel in its hand: what it waits with hears the
 * doorbell, which rings as soon as the trainer wants the wheel. After hand_over it goes on doing so until
 * there is no more to wait for; after give it is not called, and looks in by itself.
 *
 * Threads: take, give and hand_over for the trainer, try, wants_back and let_go for the second one.
 * What `wanted` says is looked at after `waits` is set and set before that is looked at, both
 * sequentially consistent: one of the two sees the other, so that no wait is left without its ring. */

#ifndef WORKER_CLIENT_DRIVER_LOCK_H
#define WORKER_CLIENT_DRIVER_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct driver_lock {
    pthread_mutex_t lock; /* Held by whoever drives. */
    pthread_cond_t given; /* The trainer has let go of it. */
    atomic_bool wanted;   /* The trainer wants it, or has it. */
    atomic_bool waits;    /* The second thread waits with it in its hand. */
    bool helps;           /* The trainer computes, and messages go to and fro. */
    bool second;          /* The second thread has it, or had it and is about to have it back. */
    int doorbell;         /* Borrowed: an eventfd. */
};

void driver_lock_init(struct driver_lock *driver_lock, int doorbell);
void driver_lock_free(struct driver_lock *driver_lock);

/* The trainer: take it, whoever has it; and let go of it, to compute with or without messages to wait
 * for meanwhile. */
void driver_lock_take(struct driver_lock *driver_lock);
void driver_lock_give(struct driver_lock *driver_lock);
void driver_lock_hand_over(struct driver_lock *driver_lock);

/* The second thread: take it if nobody has it. */
bool driver_lock_try(struct driver_lock *driver_lock);

/* With the wheel in its hand: whether to wait for messages now, and drive. If so driver_lock_waited follows
 * the wait. The trainer is given the wheel in here, and had again when it lets go. */
bool driver_lock_helps(struct driver_lock *driver_lock);
void driver_lock_waited(struct driver_lock *driver_lock);
void driver_lock_let_go(struct driver_lock *driver_lock);

#endif
