/* coordinator.h - the core that only server 0 has: who belongs to the job, when it starts, where
 * checkpoints are cut, what happens when somebody is lost, when it ends, and what it did.
 *
 *   WAITING     nobody has declared a job
 *   OPENING     the checkpointer claims the run directory and looks for a checkpoint
 *   GATHERING   until every server is ready and every worker has joined
 *   RUNNING     workers train  <-------------------------.
 *   CLOSING     all workers are done: last cut, summary   | until every server is ready again
 *        '-- a server has come back without its chunks -- RECOVERING
 *   FINISHING   everybody is told, and says BYE or runs into a deadline
 *   OVER
 *
 * A lost worker's work is dealt to the others (or as --on-worker-loss says). A server that was lost
 * comes back as it was, or as another process without its chunks; then the generation is raised and
 * everybody goes back to the last checkpoint. Nothing else is ever repaired: doing it again changes
 * nothing. What cannot be done again within a deadline ends the job for everybody, with one reason
 * and one exit code. Every state has a deadline.
 *
 * Time in which this core was not driven (its process was stopped) does not exist for it: only
 * silence that was watched counts.
 *
 * It has an envelope of its own, beside its router's, which may not have heard yet of the run or of
 * a new generation.
 *
 * Threads: server 0's router thread. Time and random numbers come in. */

#ifndef PS_COORDINATOR_COORDINATOR_H
#define PS_COORDINATOR_COORDINATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/deadlines.h"
#include "common/wire/outbox.h"
#include "ps/work/membership.h"

/* What becomes of a job that has lost a worker. */
enum worker_loss {
    LOSS_CONTINUE, /* The others do its work. */
    LOSS_WAIT,     /* Until it is back. */
    LOSS_FAIL,     /* It ends. */
};

struct coordinator_options {
    uint64_t incarnation; /* Its server's. */
    uint64_t run_id; /* Random and not 0; the run's, unless the run directory has a run already. */
    uint8_t secret[HASH_BYTES]; /* Random: see proof.h. */
    char out[MESSAGE_TEXT_MAX];
    char job_id[JOB_ID_BYTES]; /* What an engine calls the job, as its server says; "": none. */
    char address[ADDRESS_MAX]; /* By which others know its server. */
    struct deadlines deadlines;
    uint64_t began_us; /* From when deadlines.start counts; 0: now. */
    enum worker_loss on_worker_loss;
    uint32_t max_bad_gradients; /* Async: more end the job. */
    bool allow_mixed;
    bool unchecked;      /* It does not look at itself (common/base/invariant.h). */
    uint32_t processors; /* Of this host, for run.json; 0: not known. */
};

struct coordinator;

enum status coordinator_create(struct coordinator **coordinator,
                               const struct coordinator_options *options, uint64_t now_us);
void coordinator_destroy(struct coordinator **coordinator);

/* From any process of the job (packet->peer); or from this server's checkpointer, or an order of
 * any of its cores. Takes over the payload. A REPORT comes from the router of this server, which
 * has checked that its EXCHANGE is in order, and has the worker for its sender. */
void coordinator_handle(struct coordinator *coordinator, struct packet *packet, uint64_t now_us,
                        struct outbox *outbox);
void coordinator_handle_inside(struct coordinator *coordinator, struct packet *packet,
                               uint64_t now_us, struct outbox *outbox);

/* Several times a second. */
void coordinator_tick(struct coordinator *coordinator, uint64_t now_us, struct outbox *outbox);

/* Whoever started this process is gone, or the connection to it is: see coordinator_watch_leashes. */
void coordinator_abandon(struct coordinator *coordinator);

/* The run directory is this process's, and it is not about to leave it. */
bool coordinator_holds_run(const struct coordinator *coordinator);

/* Training has started; or it goes back to a checkpoint, or is at its end. */
bool coordinator_has_started(const struct coordinator *coordinator);

bool coordinator_is_over(const struct coordinator *coordinator);

/* What the job is doing, for whoever asks. */
void coordinator_describe(const struct coordinator *c, struct message_status_answer *answer,
                          uint64_t now_us);

/* Its own time, in which nobody is silent while this process does not run, as of when it was driven
 * last: what now_us is for coordinator_describe, and members were heard in. */
uint64_t coordinator_time(const struct coordinator *coordinator);

/* How stale the gradients of all were so far, a struct histogram; NULL of nothing, and without
 * memory. The caller's reference. */
struct frame *coordinator_staleness(const struct coordinator *coordinator);

/* Who is in it; no members before a job is declared. */
const struct membership *coordinator_members(const struct coordinator *coordinator);

#endif
