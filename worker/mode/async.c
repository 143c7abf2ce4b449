/* async.c - asynchronous training at the worker: whole batches as they are leased, each from the
 * newest values. */

#include "worker/mode/async.h"

static struct lease_book *book_of(const struct follow *follow)
{
    return follow->state;
}

void follow_async_forget(struct follow *follow)
{
    lease_book_init(book_of(follow), follow->job);
    follow->refusals = 0;
}

enum next follow_async_next(struct follow *follow, uint64_t *step)
{
    *step = follow->stop_step;
    if (lease_book_next(book_of(follow), step))
        return NEXT_COMPUTE;
    return book_of(follow)->enough ? NEXT_ENOUGH : NEXT_WAIT;
}

/* Unless the batch under way is refused by a server: then it comes first again. */
bool follow_async_expects(const struct follow *follow, uint64_t *step)
{
    const struct lease_book *book = book_of(follow);
    *step = book->held[0];
    return book->held_count > 0;
}

uint32_t follow_async_nodes(uint32_t leaves, uint32_t members, uint32_t position,
                            struct node nodes[TREE_COVER_MAX])
{
    (void)members;
    (void)position;
    nodes[0] = tree_root(leaves);
    return 1;
}

void follow_async_push(struct follow *follow, struct message_exchange *what)
{
    (void)follow;
    (void)what; /* Each chunk has its own version. */
}

void follow_async_complete(struct follow *follow, uint64_t version, struct envelope *envelope)
{
    (void)version;
    if (book_of(follow)->current == UINT64_MAX)
        return;
    bool again = follow->refused && !follow->job->staleness_loses;
    follow->refusals = again ? follow->refusals + 1 : 0;
    if (again)
        lease_book_again(book_of(follow));
    else
        lease_book_finish(book_of(follow), envelope);
}

void follow_async_begin(struct follow *follow, struct envelope *envelope)
{
    lease_book_ask(book_of(follow), envelope);
}

void follow_async_work(struct follow *follow, struct envelope *envelope,
                       const struct message *message, uint64_t now_us)
{
    if (message->work.enough && message->work.batch < follow->stop_step)
        follow->stop_step = message->work.batch;
    lease_book_work(book_of(follow), envelope, message, now_us);
}

void follow_async_speak(struct follow *follow, struct envelope *envelope, bool idle,
                        uint64_t now_us, struct outbox *outbox)
{
    lease_book_speak(book_of(follow), envelope, idle, now_us, outbox);
}

bool follow_async_has_more(const struct follow *follow)
{
    return book_of(follow)->held_count > 0;
}

bool follow_async_knows_end(const struct follow *follow)
{
    return book_of(follow)->enough;
}

void follow_async_check(const struct follow *follow)
{
    lease_book_check(book_of(follow));
}

const struct follow_mode follow_async = {ASYNC_FOLLOW};
