/* sync.h - a chunk in synchronous training: for sync.c, and for modes that aggregate as it does.
 *
 * The functions are members of a shard_mode (shard_mode.h). A mode whose block begins with a
 * struct sync_shard may use them.
 *
 * Threads: the owner's. */

#ifndef PS_MODE_SYNC_H
#define PS_MODE_SYNC_H

#include "ps/mode/shard_mode.h"
#include "ps/shard/aggregator.h"

struct sync_shard {
    struct aggregator aggregator; /* Of step chunk.version. */
    bool complete;                /* Its root is there. */
};

void sync_open(struct shard *shard);
void sync_forget(struct shard *shard);
void sync_close(struct shard *shard);
const char *sync_fault(const struct job *job, const struct message_exchange *exchange);
enum verdict sync_judge(const struct shard *shard, const struct message_exchange *exchange);
enum status sync_take(struct shard *shard, const struct message *message, struct frame *gradient,
                      enum verdict *verdict);
enum push_status sync_sent_before(const struct shard *shard,
                                  const struct message_exchange *exchange);
bool sync_next_update(struct shard *shard, struct update *update);
enum release sync_answer(const struct shard *shard, const struct read_request *wanted,
                         struct read_result *read);
void sync_check(const struct shard *shard);

#endif
