/* evaluation.h - one epoch's test score, put together from the shares of the workers.
 *
 * Each worker scores its own share of the test set on the parameters it holds: in sync mode those
 * are the epoch's last version for everybody; in async mode each worker's are as uncoordinated as
 * any read. Which share is whose follows from the assignment; when that changes before an epoch is
 * complete its score starts anew, so that no example counts twice. Sums are integers. A share is
 * counted once, however often it comes.
 *
 * Threads: the coordinator's. */

#ifndef PS_WORK_EVALUATION_H
#define PS_WORK_EVALUATION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/message.h"
#include "ps/work/statistics.h"

struct scoring {
    uint64_t epoch; /* From 1; 0 for none. */
    uint32_t assignment;
    struct tally tally;
    uint64_t took_sum_us, took_max_us;
    uint32_t share_count;
    bool complete;                           /* As many examples as the test set has. */
    uint64_t reported[JOB_WORKERS_MAX / 64]; /* Bits: workers. */
};

struct evaluation {
    uint64_t test_examples;
    uint64_t scored;          /* The latest epoch whose score is complete. */
    struct scoring epochs[2]; /* By epoch % 2: async workers may be one apart. */
};

/* `scored` epochs have been scored in earlier sessions. */
void evaluation_init(struct evaluation *evaluation, uint64_t test_examples, uint64_t scored);

/* Count a worker's share. NULL when it is a repeat or comes too late, else its epoch. */
const struct scoring *evaluation_add(struct evaluation *evaluation, uint32_t worker,
                                     const struct message_evaluation *share);

/* Forget all epochs after this one. */
void evaluation_go_back(struct evaluation *evaluation, uint64_t epoch);

/* See common/base/invariant.h. */
void evaluation_check(const struct evaluation *evaluation);

#endif
