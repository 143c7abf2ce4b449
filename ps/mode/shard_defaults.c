/* shard_defaults.c - a chunk's part of a mode, where it does not differ. */

#include "ps/mode/shard_mode.h"

bool shard_too_stale(const struct job *job, uint64_t staleness)
{
    return job->max_staleness > 0 && staleness > job->max_staleness;
}

#pragma GCC diagnostic ignored "-Wunused-parameter"

void shard_as_it_is(struct shard *shard)
{
}

void shard_waits_for_all(struct shard *shard, const struct message_close *close,
                         const struct leaf_set *set)
{
}

bool shard_leaves_none_out(const struct shard *shard, uint32_t worker)
{
    return false;
}

bool shard_gives(struct shard *shard, const struct message *message, const struct read_result *read)
{
    return true;
}

bool shard_doubts_none(struct shard *shard, const struct message_exchange *exchange)
{
    return false;
}
