/* assignment.h - deals the work over the workers.
 *
 * The workers that are here, and those that the job waits for, stand in a row in the order of
 * their indexes. Leaves and the test set are dealt along it. A worker that joins or leaves
 * changes the row, and so the assignment's number; START gives every worker its place. A push by
 * an older assignment is as good as one by the newest, because nodes are the same from any
 * worker.
 *
 * Threads: the coordinator's. Time arrives as an argument. */

#ifndef PS_WORK_ASSIGNMENT_H
#define PS_WORK_ASSIGNMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/tree.h"
#include "common/wire/envelope.h"
#include "ps/work/membership.h"

struct assignment {
    uint32_t number; /* 0 before the first. */
    uint32_t members;
};

/* A new number; workers that were done may have work again. */
void assignment_deal(struct assignment *assignment, struct membership *membership, uint64_t now_us);

/* START for one worker. `from`: step and stop_step. sets: those of the closed steps, or NULL;
 * its reference is taken over. */
void assignment_send(const struct assignment *assignment, struct member *worker,
                     const struct envelope *envelope, const struct message_start *from,
                     struct frame *sets, struct outbox *outbox);

/* Whether the worker's DONE can be for this assignment and no older one. */
bool assignment_is_followed(const struct assignment *assignment, const struct member *worker);

#endif
