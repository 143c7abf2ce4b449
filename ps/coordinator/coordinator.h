/* coordinator.h - the state machine of server 0 alone: members, start, checkpoints, losses, the
 * end, and the summary.
 *
 *   WAITING     no job is declared
 *   OPENING     the checkpointer claims the run directory and looks for a checkpoint
 *   GATHERING   until every server is ready and every worker has joined
 *   RUNNING     workers train  <-------------------------.
 *   CLOSING     all workers are done: last snapshot,      | until every server is ready again
 *        |      summary                                   |
 *        '-- a server has come back without its chunks -- RECOVERING
 *   FINISHING   all members hear of it, and say BYE or run into a deadline
 *   OVER
 *
 * A lost worker's work is dealt to the others (or as --on-worker-loss says). A lost server comes
 * back as it was, or as another process without its chunks; then the generation is raised and
 * all members go back to the last checkpoint. Nothing else is ever repaired: doing it again
 * changes nothing. If that is not possible within a deadline the job ends for all members, with
 * one reason and one exit code. Every state has a deadline.
 *
 * Time in which this core was not driven (its process was stopped) does not exist for it: only
 * watched silence counts.
 *
 * It has an envelope of its own, beside its router's, which may not have heard yet of the run or
 * of a new generation.
 *
 * It is made of machines that do not call each other: see run.h.
 *
 * Threads: server 0's router thread. Time and random numbers come in. */

#ifndef PS_COORDINATOR_COORDINATOR_H
#define PS_COORDINATOR_COORDINATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/deadlines.h"
#include "common/wire/outbox.h"
#include "ps/work/membership.h"

/* What to do when a worker is lost. */
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
    char job_id[JOB_ID_BYTES]; /* An engine's name for the job, as its server has it; "": none. */
    char address[ADDRESS_MAX]; /* Its server's, as others know it. */
    struct deadlines deadlines;
    uint64_t began_us; /* The begin of deadlines.start; 0: now. */
    enum worker_loss on_worker_loss;
    uint32_t max_bad_gradients; /* Async: more end the job. */
    bool allow_mixed;
    const struct policy *policy; /* NULL: the mode decides. Borrowed. */
    bool unchecked;              /* No checks of itself (common/base/invariant.h). */
    uint32_t processors;         /* Of this host, for run.json; 0: not known. */
};

struct coordinator;

enum status coordinator_create(struct coordinator **coordinator,
                               const struct coordinator_options *options, uint64_t now_us);
void coordinator_destroy(struct coordinator **coordinator);

/* From any process of the job (packet->peer); or from this server's checkpointer, or an order of
 * any of its cores. Takes over the payload. A REPORT comes from the router of this server, which
 * has checked that its EXCHANGE is in order, and names the worker as its sender. */
void coordinator_handle(struct coordinator *coordinator, struct packet *packet, uint64_t now_us,
                        struct outbox *outbox);
void coordinator_handle_inside(struct coordinator *coordinator, struct packet *packet,
                               uint64_t now_us, struct outbox *outbox);

/* Several times a second. */
void coordinator_tick(struct coordinator *coordinator, uint64_t now_us, struct outbox *outbox);

/* The launcher of this process is gone, or the connection to it is: see
 * ps/coordinator/members.h. */
void coordinator_abandon(struct coordinator *coordinator);

/* The run directory is this process's, and it is not about to leave it. */
bool coordinator_holds_run(const struct coordinator *coordinator);

/* Training has started; or it goes back to a checkpoint, or is at its end. */
bool coordinator_has_started(const struct coordinator *coordinator);

bool coordinator_is_over(const struct coordinator *coordinator);

/* The job's state, for observers. */
void coordinator_describe(const struct coordinator *c, struct message_status_answer *answer,
                          uint64_t now_us);

/* Its own time, which does not pass while this process is not driven, as of the last call: the
 * now_us of coordinator_describe, and the time of members' signs of life. */
uint64_t coordinator_time(const struct coordinator *coordinator);

/* The staleness of all gradients so far, a struct histogram; NULL of none, and without memory.
 * The caller's reference. */
struct frame *coordinator_staleness(const struct coordinator *coordinator);

/* The members; none before a job is declared. */
const struct membership *coordinator_members(const struct coordinator *coordinator);

#endif
