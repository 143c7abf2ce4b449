/* lease_book.c - a short list of batches held, and numbered LEASEs that are repeated until their
 * WORK comes. */

#include "worker/mode/lease_book.h"

#include <string.h>

#include "common/base/invariant.h"

#define REPEAT_US 500000u

void lease_book_init(struct lease_book *book, const struct job *job)
{
    memset(book, 0, sizeof *book);
    book->job = job;
    book->current = UINT64_MAX;
}

/* --- saying -------------------------------------------------------------------------------- */

static void note(struct lease_book *book, struct envelope *envelope, bool finished, uint64_t batch)
{
    for (uint32_t i = 0; i < book->said_count; i++)
        /* It is repeated until it has an answer. */
        if (book->said[i].finished == finished && book->said[i].batch == batch)
            return;
    /* The batch of a forgotten LEASE stays on lease, so WORK brings it again. */
    if (book->said_count == LEASES_SAID_MAX)
        memmove(book->said, book->said + 1, --book->said_count * sizeof *book->said);
    book->said[book->said_count++] = (struct lease_said){
        .request = ++envelope->last_request, .batch = batch, .finished = finished};
}

void lease_book_ask(struct lease_book *book, struct envelope *envelope)
{
    note(book, envelope, false, 0);
}

void lease_book_finish(struct lease_book *book, struct envelope *envelope)
{
    note(book, envelope, true, book->current);
    book->current = UINT64_MAX;
    book->clock++;
}

void lease_book_again(struct lease_book *book)
{
    memmove(book->held + 1, book->held, book->held_count++ * sizeof *book->held);
    book->held[0] = book->current;
    book->current = UINT64_MAX;
}

void lease_book_speak(struct lease_book *book, struct envelope *envelope, bool idle,
                      uint64_t now_us, struct outbox *outbox)
{
    if (idle && !book->enough && book->said_count == 0 && now_us - book->answered_us >= REPEAT_US)
        lease_book_ask(book, envelope);
    for (uint32_t i = 0; i < book->said_count; i++) {
        struct lease_said *said = &book->said[i];
        if (said->said && now_us - said->said_us < REPEAT_US)
            continue;
        envelope_to_server_as(envelope, 0, MESSAGE_LEASE, said->request, outbox)->message.lease =
            (struct message_lease){.finished = said->finished, .batch = said->batch};
        said->said = true;
        said->said_us = now_us;
    }
}

static void heard(struct lease_book *book, uint64_t request)
{
    for (uint32_t i = 0; i < book->said_count; i++)
        if (book->said[i].request == request) {
            memmove(&book->said[i], &book->said[i + 1],
                    (--book->said_count - i) * sizeof *book->said);
            return;
        }
}

/* --- taking -------------------------------------------------------------------------------- */

/* Note that this worker has taken the batch; false when it had before. */
static bool take_once(struct lease_book *book, uint64_t batch)
{
    if (batch + LEASES_TAKEN_MAX < book->taken_end)
        return false;
    if (batch >= book->taken_end + LEASES_TAKEN_MAX) {
        memset(book->taken, 0, sizeof book->taken);
        book->taken_end = batch;
    }
    for (; book->taken_end <= batch; book->taken_end++)
        book->taken[book->taken_end % LEASES_TAKEN_MAX / 64] &=
            ~((uint64_t)1 << (book->taken_end % 64));
    uint64_t *word = &book->taken[batch % LEASES_TAKEN_MAX / 64], bit = (uint64_t)1 << (batch % 64);
    bool fresh = (*word & bit) == 0;
    *word |= bit;
    return fresh;
}

static bool holds(const struct lease_book *book, uint64_t batch)
{
    bool found = book->current == batch;
    for (uint32_t i = 0; i < book->held_count; i++)
        found = found || book->held[i] == batch;
    return found;
}

void lease_book_work(struct lease_book *book, struct envelope *envelope,
                     const struct message *message, uint64_t now_us)
{
    uint64_t batch = message->work.batch;
    heard(book, message->request);
    book->answered_us = now_us;
    book->clock = message->work.clock > book->clock ? message->work.clock : book->clock;
    if (message->work.enough)
        book->enough = true;
    if (message->work.enough || message->work.none || batch >= book->job->steps ||
        holds(book, batch) || book->held_count >= LEASES_HELD_MAX)
        return;
    if (take_once(book, batch))
        book->held[book->held_count++] = batch;
    else /* Done long ago and still on lease: the coordinator must hear of it. */
        note(book, envelope, true, batch);
}

bool lease_book_next(struct lease_book *book, uint64_t *batch)
{
    if (book->held_count == 0)
        return false;
    *batch = book->current = book->held[0];
    memmove(book->held, book->held + 1, --book->held_count * sizeof *book->held);
    return true;
}

/* --- what is always true ------------------------------------------------------------------- */

#define RULE(condition, rule) INVARIANT("lease book", condition, rule)

static bool was_taken(const struct lease_book *book, uint64_t batch)
{
    bool marked = book->taken[batch % LEASES_TAKEN_MAX / 64] >> (batch % 64) & 1;
    return batch < book->taken_end && (marked || batch + LEASES_TAKEN_MAX < book->taken_end);
}

void lease_book_check(const struct lease_book *book)
{
    RULE(book->held_count <= LEASES_HELD_MAX + 1, "there is room for every batch");
    RULE(book->held_count <= LEASES_HELD_MAX || book->current == UINT64_MAX,
         "a batch more than fit is one that is done again");
    RULE(book->current == UINT64_MAX || was_taken(book, book->current),
         "what is computed has been taken");
    for (uint32_t i = 0; i < book->held_count; i++) {
        RULE(book->held[i] < book->job->steps, "every batch is one of the job's");
        RULE(was_taken(book, book->held[i]), "what is held has been taken");
        RULE(book->held[i] != book->current, "what is computed is not to be computed again");
        for (uint32_t j = 0; j < i; j++)
            RULE(book->held[i] != book->held[j], "no batch is held twice");
    }
    RULE(book->said_count <= LEASES_SAID_MAX, "there is room for every LEASE");
    for (uint32_t i = 0; i < book->said_count; i++) {
        RULE(book->said[i].request > (i == 0 ? 0 : book->said[i - 1].request),
             "LEASEs are in the order of their numbers");
        RULE(book->said[i].finished || book->said[i].batch == 0, "who asks names no batch");
    }
}
