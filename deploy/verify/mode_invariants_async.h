/* mode_invariants_async.h - the promises of every mode that leases batches.
 *
 * Threads: the witness's. */

#ifndef DEPLOY_VERIFY_MODE_INVARIANTS_ASYNC_H
#define DEPLOY_VERIFY_MODE_INVARIANTS_ASYNC_H

#include "deploy/verify/mode_invariants.h"

enum verdict async_takes(struct oracle *w, struct oracle_server *server, uint32_t index,
                         const struct packet *packet, uint32_t sender);
void async_retry(struct oracle *w, const struct oracle_chunk *chunk,
                 const struct message_exchange *exchange);
void async_snapshot(struct oracle *w, const struct oracle_server *server, uint32_t index,
                    const struct packet *packet);
void async_given(struct oracle *w, struct oracle_worker *worker, uint64_t step);
void async_sent(struct oracle *w, const struct oracle_worker *worker,
                const struct message *message);
void async_said(struct oracle *w, uint32_t server_0, const struct outgoing *item, uint32_t to);
void async_finish(struct oracle *w, const struct oracle_chunk *chunk, uint32_t index,
                  uint64_t step);

#endif
