/* scoreboard.h - one epoch's test score, put together from the shares of the workers.
 *
 * Each worker scores its own share of the test set on the parameters it holds: in sync mode those
 * are the epoch's last version for everybody; in async mode each worker's are as uncoordinated as
 * any read. Sums are integers. A share is counted once, however often it comes.
 *
 * Threads: the coordinator's. */

#ifndef PS_SCOREBOARD_H
#define PS_SCOREBOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/message.h"
#include "ps/ledger.h"

struct scoring {
    uint64_t epoch, step;
    struct tally tally;
    uint64_t took_sum_us, took_max_us;
    uint64_t reported[JOB_WORKERS_MAX / 64]; /* Bits: workers. */
};

struct scoreboard {
    struct scoring epochs[2]; /* By epoch % 2: async workers may be one apart. */
};

/* Count a worker's share. NULL when it is a repeat, else its epoch; that is complete when its tally
 * has as many examples as the test set. */
const struct scoring *scoreboard_add(struct scoreboard *scoreboard, uint32_t worker,
                                     const struct message_evaluation *share);

#endif
