/* async.c - asynchronous training at the worker: whole batches as they are leased, each from
 * whatever values there are. */

#include "worker/mode/follow_mode.h"
#include "worker/mode/lease_book.h"

static struct lease_book *book_of(const struct follow *follow)
{
    return follow->state;
}

static void async_init(struct follow *follow)
{
    lease_book_init(book_of(follow), follow->job);
}

static void async_forget(struct follow *follow)
{
    lease_book_forget(book_of(follow));
}

static enum next async_next(struct follow *follow, uint64_t *step)
{
    *step = follow->stop_step;
    if (lease_book_next(book_of(follow), step))
        return NEXT_COMPUTE;
    return book_of(follow)->enough ? NEXT_ENOUGH : NEXT_WAIT;
}

static uint32_t async_nodes(const struct job *job, uint64_t step, uint32_t members,
                            uint32_t position, struct node nodes[TREE_COVER_MAX])
{
    (void)members;
    (void)position;
    nodes[0] = tree_root(job_batch(job, step).leaves);
    return 1;
}

static void async_push(struct follow *follow, struct message_exchange *what)
{
    (void)follow;
    (void)what; /* Each chunk is of a version of its own. */
}

static void async_complete(struct follow *follow, uint64_t version, struct envelope *envelope,
                           uint64_t now_us, struct outbox *outbox)
{
    (void)version;
    if (book_of(follow)->current != UINT64_MAX)
        lease_book_finish(book_of(follow), envelope, now_us, outbox);
}

static uint64_t async_done_step(const struct follow *follow)
{
    return follow->stop_step;
}

static void async_begin(struct follow *follow, struct envelope *envelope, uint64_t now_us,
                        struct outbox *outbox)
{
    lease_book_ask(book_of(follow), envelope, now_us, outbox);
}

static void async_work(struct follow *follow, struct envelope *envelope,
                       const struct message *message, uint64_t now_us, struct outbox *outbox)
{
    if (message->work.enough && message->work.batch < follow->stop_step)
        follow->stop_step = message->work.batch;
    lease_book_work(book_of(follow), envelope, message, now_us, outbox);
}

static void async_tick(struct follow *follow, struct envelope *envelope, bool idle, uint64_t now_us,
                       struct outbox *outbox)
{
    lease_book_tick(book_of(follow), envelope, idle, now_us, outbox);
}

static bool async_has_more(const struct follow *follow)
{
    return book_of(follow)->held_count > 0;
}

static bool async_knows_end(const struct follow *follow)
{
    return book_of(follow)->enough;
}

const struct follow_mode follow_async = {
    .state_bytes = sizeof(struct lease_book),
    .init = async_init,
    .forget = async_forget,
    .next = async_next,
    .nodes = async_nodes,
    .push = async_push,
    .complete = async_complete,
    .done_step = async_done_step,
    .begin = async_begin,
    .work = async_work,
    .tick = async_tick,
    .has_more = async_has_more,
    .knows_end = async_knows_end,
};
