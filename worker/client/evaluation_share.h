/* evaluation_share.h - which epochs a worker scores, and on which share of the test set, when it is
 * given work.
 *
 * An epoch is scored on the first version after it. In sync mode that is exactly one version, so a
 * worker that is given another has nothing to score; in async mode parameters are uncoordinated
 * anyway, and a worker so slow that it had no batch in a whole epoch owes more than one.
 * When members change or the job goes back, START says how many epochs are scored completely; the
 * shares of all others are asked for again.
 *
 *     evaluation_share_start(&duty, &start, generation);              with each START
 *     last = evaluation_share_due(&duty, step, enough, &after);       with each WORK
 *     for (epoch = after + 1; epoch <= last; epoch++) ...       before anything else
 *
 * Threads: the trainer's. */

#ifndef WORKER_CLIENT_EVALUATION_SHARE_H
#define WORKER_CLIENT_EVALUATION_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/job.h"
#include "common/wire/message.h"

struct evaluation_share {
    const struct job *job;
    bool started;
    uint64_t generation;
    uint64_t scored; /* Epochs that this worker has nothing to do for any more. */
};

void evaluation_share_init(struct evaluation_share *duty, const struct job *job);
void evaluation_share_start(struct evaluation_share *duty, const struct message_start *start,
                            uint64_t generation);

/* Epochs after *after up to the one returned are to be scored now; none when they are equal. */
uint64_t evaluation_share_due(struct evaluation_share *duty, uint64_t step, bool enough,
                              uint64_t *after);

/* Among how many the test set is shared, and which share is this member's. In sync mode those who
 * never have a leaf may lag behind the epoch's last version, so only the others score; false for a
 * worker that does not. */
bool evaluation_share_share(const struct job *job, uint32_t members, uint32_t position,
                            uint32_t *shares, uint32_t *share);

#endif
