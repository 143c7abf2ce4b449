/* group.h - applies the gradients of a chunk: each is compensated for the updates since its base
 * (compensation.h). Where the job accumulates, several make one update:
 *
 *     batch  1  2  3  | 4  5  6  | 7 |        G = 3, a snapshot or the end of an epoch after 7
 *     version         1          2   3
 *
 * A group is summed in order of arrival, and divided as update_sum.h says. A batch that is left
 * out takes up its place. The rate is the last batch's, at the group's greatest staleness. An
 * open group makes no version, so each member's staleness stays what it was on arrival.
 *
 * From the order of the gradients and the values of each base the updates can be made again,
 * without asking an owner.
 *
 * Threads: the chunk's. */

#ifndef PS_SHARD_GROUP_H
#define PS_SHARD_GROUP_H

#include "ps/shard/chunk.h"

/* Add a batch. STATUS_MEMORY: training cannot go on. */
enum status group_add(struct chunk *chunk, const struct chunk_gradient *gradient);

/* Whether the next batch will make a version. */
bool group_closes(const struct chunk *chunk);

/* Before a snapshot: apply the open group as it is. STATUS_MEMORY as in group_add. */
enum status group_close(struct chunk *chunk);

/* Whether gradients of this staleness need their base. */
bool group_needs_base(const struct chunk *chunk, uint64_t staleness);

#endif
