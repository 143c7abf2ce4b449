/* coordinator.h - the core that only server 0 has: who belongs to the job, when it starts, where
 * checkpoints are cut, when it ends, and what it did.
 *
 *   WAITING     nobody has declared a job
 *   OPENING     the keeper claims the run directory and looks for a checkpoint
 *   GATHERING   until every server is ready and every worker has joined
 *   RUNNING     workers train
 *   CLOSING     all workers are done: last cut, manifest, summary, model
 *   FINISHING   everybody is told, and says BYE or runs into a deadline
 *   OVER
 *
 * A process that fails or falls silent ends the job for everybody, with one reason and one exit
 * code. Every state has a deadline.
 *
 * Threads: server 0's router thread. Time and random numbers come in. */

#ifndef PS_COORDINATOR_H
#define PS_COORDINATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/outbox.h"
#include "ps/membership.h"

struct coordinator_options {
    uint64_t run_id; /* Random and not 0. */
    char out[MESSAGE_TEXT_MAX];
    double start_timeout, worker_timeout, stop_timeout; /* Seconds. */
    bool allow_mixed;
};

struct coordinator;

enum status coordinator_create(struct coordinator **coordinator,
                               const struct coordinator_options *options, uint64_t now_us);
void coordinator_destroy(struct coordinator **coordinator);

/* From any process of the job (packet->peer), or the keeper. Takes over the payload. */
void coordinator_handle(struct coordinator *coordinator, struct packet *packet, uint64_t now_us,
                        struct outbox *outbox);
void coordinator_handle_keeper(struct coordinator *coordinator, struct packet *packet,
                               uint64_t now_us, struct outbox *outbox);
void coordinator_tick(struct coordinator *coordinator, uint64_t now_us, struct outbox *outbox);

bool coordinator_is_over(const struct coordinator *coordinator);

#endif
