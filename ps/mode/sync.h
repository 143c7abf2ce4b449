/* sync.h - synchronous training, for modes that inherit from it: of a chunk whose block begins with
 * struct sync_shard (SYNC_SHARD), and of the coordinator's work (SYNC_WORK).
 *
 * Threads: the owner's; of what SYNC_WORK names, the coordinator's. */

#ifndef PS_MODE_SYNC_H
#define PS_MODE_SYNC_H

#include "ps/mode/shard_mode.h"
#include "ps/mode/work_mode.h"
#include "ps/shard/aggregator.h"

struct sync_shard {
    struct aggregator aggregator; /* Of step chunk.version. */
    bool complete;                /* Its root is there. */
};

#define SYNC_SHARD                                                                                 \
    SHARD_DEFAULTS,                                                                                \
        .state_bytes = sizeof(struct sync_shard), .open = sync_open, .forget = sync_forget,        \
        .free = sync_free, .fault = sync_fault, .judge = sync_judge, .take = sync_take,            \
        .sent_before = sync_sent_before, .next_update = sync_next_update, .applied = sync_applied, \
        .answer = sync_answer, .taken = SYNC_TAKEN, .updated = SYNC_UPDATED, .waits = SYNC_WAITS,  \
        .check = sync_check

#define SYNC_TAKEN                                                                                 \
    "adds it to what is here of the step, always left + right along the step's tree, so that "     \
    "the sum has the same bits in any order of arrival. Nothing more comes of it until all "       \
    "leaves are in"
#define SYNC_UPDATED                                                                               \
    "all leaves of the step are in: that was the barrier. Their sum is divided by the "            \
    "{examples} examples of the step, and makes one update"
#define SYNC_WAITS                                                                                 \
    "until version {version} is made: this is the barrier. It is released when the last "          \
    "leaf of the step is in"

void sync_open(struct shard *shard);
void sync_forget(struct shard *shard);
void sync_free(struct shard *shard);
const char *sync_fault(const struct job *job, const struct message_exchange *exchange);
/* The same; whole: it is of all examples of the node, and not of some. */
const char *sync_node_fault(const struct job *job, const struct message_exchange *exchange,
                            bool whole);
enum verdict sync_judge(struct shard *shard, const struct message *message);
enum status sync_take(struct shard *shard, const struct message *message, struct frame *gradient,
                      enum verdict *verdict);
enum push_status sync_sent_before(const struct shard *shard,
                                  const struct message_exchange *exchange);
bool sync_next_update(struct shard *shard, struct update *update);
void sync_applied(struct shard *shard, const struct update *update);
enum release sync_answer(const struct shard *shard, const struct read_request *wanted,
                         struct read_result *read);
void sync_check(const struct shard *shard);

/* --- the work ------------------------------------------------------------------------------ */

#define SYNC_WORK                                                                                  \
    WORK_DEFAULTS, .init = sync_init, .step = sync_step, .end = sync_end, .go_back = sync_go_back, \
                   .stop = sync_stop, .owes = sync_owes, .may_be_done = sync_may_be_done,          \
                   .is_drained = sync_is_drained, .next_snapshot = sync_next_snapshot,             \
                   .has_reached = sync_has_reached, .unit = "step", .starts = SYNC_STARTS,         \
                   .check = sync_check_work

#define SYNC_STARTS "That decides which leaves of every step are yours: no worker asks for work"

enum status sync_init(struct work *work, uint64_t first);
uint64_t sync_step(const struct work *work);
uint64_t sync_end(const struct work *work, bool deserted);
uint64_t sync_go_back(struct work *work, uint64_t step, const struct tally_so_far *so_far);
bool sync_stop(struct work *work);
bool sync_owes(const struct work *work, uint32_t worker);
bool sync_may_be_done(const struct work *work, uint32_t worker, const struct message_done *done);
bool sync_is_drained(const struct work *work);
uint64_t sync_next_snapshot(const struct work *work, bool started);
bool sync_has_reached(const struct work *work, uint64_t step);
void sync_check_work(const struct work *work);

#endif
