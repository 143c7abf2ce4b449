/* promises_async.h - the promises of every mode that leases batches.
 *
 * Threads: the witness's. */

#ifndef DEPLOY_VERIFY_PROMISES_ASYNC_H
#define DEPLOY_VERIFY_PROMISES_ASYNC_H

#include "deploy/verify/promises.h"

enum verdict async_take(struct witness *w, struct witness_server *server, uint32_t index,
                        const struct packet *packet, uint32_t sender);
void async_retry(struct witness *w, const struct witness_chunk *chunk,
                 const struct message_exchange *exchange);
void async_cut(struct witness *w, const struct witness_server *server, uint32_t index,
               const struct packet *packet);
void async_given(struct witness *w, struct witness_worker *worker, uint64_t step);
void async_sent(struct witness *w, const struct witness_worker *worker,
                const struct message *message);
void async_said(struct witness *w, uint32_t server_0, const struct outgoing *item, uint32_t to);
void async_finish(struct witness *w, const struct witness_chunk *chunk, uint32_t index,
                  uint64_t step);

#endif
