/* lease_book.h - async: the batches that this worker has to compute, and its LEASEs about them.
 *
 * A batch is taken once, however often WORK brings it: repeats can come long after it is done. A
 * LEASE is repeated under its number until a WORK with that number comes. A worker without work
 * asks again and again. News are noted first and sent by lease_book_speak.
 *
 * Threads: the session's. Time arrives as an argument. */

#ifndef WORKER_MODE_LEASE_BOOK_H
#define WORKER_MODE_LEASE_BOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/job.h"
#include "common/wire/envelope.h"
#include "common/wire/message.h"

#define LEASES_HELD_MAX  4    /* More than the coordinator gives. */
#define LEASES_SAID_MAX  8    /* Without an answer; the oldest is forgotten for a ninth. */
#define LEASES_TAKEN_MAX 4096 /* Batches under way in the whole job are fewer. */

struct lease_said {
    uint64_t request, batch, said_us;
    bool finished;
    bool said; /* Sent, at said_us. */
};

struct lease_book {
    const struct job *job;
    uint64_t held[LEASES_HELD_MAX +
                  1]; /* To compute, in order; one more place for a batch that is done again. */
    uint32_t held_count;
    uint64_t current;                      /* Being computed or exchanged; UINT64_MAX for none. */
    bool enough;                           /* There will be no more. */
    uint64_t clock;                        /* Batches that are finished, from WORK's on. */
    uint64_t taken[LEASES_TAKEN_MAX / 64]; /* Bits: of batches below taken_end, those ever taken. */
    uint64_t taken_end;
    struct lease_said said[LEASES_SAID_MAX]; /* Oldest first. */
    uint32_t said_count;
    uint64_t answered_us; /* When a LEASE was last answered. */
};

/* Without a batch; job outlives it. */
void lease_book_init(struct lease_book *book, const struct job *job);

/* Ask for work. */
void lease_book_ask(struct lease_book *book, struct envelope *envelope);

/* The current batch is done: every chunk has answered. */
void lease_book_finish(struct lease_book *book, struct envelope *envelope);

/* The current batch has to be computed again before any other, because a chunk refused it. It
 * stays on lease. */
void lease_book_again(struct lease_book *book);

/* WORK has come; the batch of `enough` is the caller's. */
void lease_book_work(struct lease_book *book, struct envelope *envelope,
                     const struct message *message, uint64_t now_us);

/* The next batch becomes the current one; false when there is none. */
bool lease_book_next(struct lease_book *book, uint64_t *batch);

/* Send what is new, or has had no answer for a while. idle: there is nothing to do, so ask again. */
void lease_book_speak(struct lease_book *book, struct envelope *envelope, bool idle,
                      uint64_t now_us, struct outbox *outbox);

/* See common/base/invariant.h. */
void lease_book_check(const struct lease_book *book);

#endif
