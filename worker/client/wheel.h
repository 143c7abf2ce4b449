/* wheel.h - who drives a client: the trainer's thread, which comes first, or a second one while that
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

#ifndef WORKER_CLIENT_WHEEL_H
#define WORKER_CLIENT_WHEEL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct wheel {
    pthread_mutex_t lock; /* Held by whoever drives. */
    pthread_cond_t given; /* The trainer has let go of it. */
    atomic_bool wanted;   /* The trainer wants it, or has it. */
    atomic_bool waits;    /* The second thread waits with it in its hand. */
    bool helps;           /* The trainer computes, and messages go to and fro. */
    bool second;          /* The second thread has it, or had it and is about to have it back. */
    int doorbell;         /* Borrowed: an eventfd. */
};

void wheel_init(struct wheel *wheel, int doorbell);
void wheel_free(struct wheel *wheel);

/* The trainer: take it, whoever has it; and let go of it, to compute with or without messages to wait
 * for meanwhile. */
void wheel_take(struct wheel *wheel);
void wheel_give(struct wheel *wheel);
void wheel_hand_over(struct wheel *wheel);

/* The second thread: take it if nobody has it. */
bool wheel_try(struct wheel *wheel);

/* With the wheel in its hand: whether to wait for messages now, and drive. If so wheel_waited follows
 * the wait. The trainer is given the wheel in here, and had again when it lets go. */
bool wheel_helps(struct wheel *wheel);
void wheel_waited(struct wheel *wheel);
void wheel_let_go(struct wheel *wheel);

#endif
