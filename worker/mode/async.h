/* async.h - leases at the worker, shared by the modes that give out batches. Their block begins
 * with struct lease_book, and their table with ASYNC_FOLLOW.
 *
 * Threads: the session's. */

#ifndef WORKER_MODE_ASYNC_H
#define WORKER_MODE_ASYNC_H

#include "worker/mode/follow_mode.h"
#include "worker/mode/lease_book.h"

#define ASYNC_FOLLOW                                                                               \
    FOLLOW_DEFAULTS,                                                                               \
        .state_bytes = sizeof(struct lease_book), .forget = follow_async_forget,                   \
        .next = follow_async_next, .expects = follow_async_expects, .nodes = follow_async_nodes,   \
        .push = follow_async_push, .complete = follow_async_complete, .begin = follow_async_begin, \
        .work = follow_async_work, .speak = follow_async_speak, .has_more = follow_async_has_more, \
        .knows_end = follow_async_knows_end, .check = follow_async_check, .given = ASYNC_GIVEN

#define ASYNC_GIVEN                                                                                \
    "All chunks are here, each of whichever version it was at. Batch {step}, which it holds on "   \
    "lease, is computed from them"

void follow_async_forget(struct follow *follow);
enum next follow_async_next(struct follow *follow, uint64_t *step);
bool follow_async_expects(const struct follow *follow, uint64_t *step);
uint32_t follow_async_nodes(uint32_t leaves, uint32_t members, uint32_t position,
                            struct node nodes[TREE_COVER_MAX]);
void follow_async_push(struct follow *follow, struct message_exchange *what);
void follow_async_complete(struct follow *follow, uint64_t version, struct envelope *envelope);
void follow_async_begin(struct follow *follow, struct envelope *envelope);
void follow_async_work(struct follow *follow, struct envelope *envelope,
                       const struct message *message, uint64_t now_us);
void follow_async_speak(struct follow *follow, struct envelope *envelope, bool idle,
                        uint64_t now_us, struct outbox *outbox);
bool follow_async_has_more(const struct follow *follow);
bool follow_async_knows_end(const struct follow *follow);
void follow_async_check(const struct follow *follow);

#endif
