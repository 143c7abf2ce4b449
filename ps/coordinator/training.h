/* training.h - the work: leases, shares, and DONE or a stop at its end.
 *
 *     the row of workers:  run.deal_due --[deal_when_due], [training_send_start] to each--> dealt
 *     a batch (leases):    LEASE --[training_hear_lease], [training_answer_lease]--> WORK
 *                          news for others --[training_top_up_all]--> WORK
 *     the end:             DONE --[training_hear_done]--> all: [training_is_done]
 *                          STOP --[training_stop]--> no batch more, or the router says which
 *                          version is the last --[training_stop_at]
 *
 * What can be trusted: only in RUNNING, and not while run.deal_due, every worker in the row knows
 * its place. `asks`, `done` and leases are of RUNNING alone.
 *
 * Threads: the coordinator's. Time arrives as an argument. */

#ifndef PS_COORDINATOR_TRAINING_H
#define PS_COORDINATOR_TRAINING_H

#include "ps/coordinator/run.h"

struct training {
    uint32_t gate_last; /* One more than the worker that came to the gate last; 0: none. */
    bool stop_named;    /* Our router has said which version is the last. */
    uint64_t bad;       /* Gradients that were not finite. */
};

/* --- shares -------------------------------------------------------------------------------- */

/* `sets`: of the steps that are closed, or NULL. */
void training_send_start(const struct run *run, struct member *worker, struct frame *sets);
/* --- leases -------------------------------------------------------------------------------- */

/* Whether the batch that the worker has finished lets others have more. */
bool training_hear_lease(struct run *run, const struct packet *packet);
/* Always answered, so that a worker whose question or answer was lost asks again. `frees`: as
 * training_hear_lease says. */
void training_answer_lease(const struct training *t, struct run *run, const struct packet *packet,
                           bool frees);
/* Give a worker the batches that there are. `request`: of the LEASE that this answers, 0 for
 * none. Whether anything was sent. */
bool training_top_up(const struct training *t, struct run *run, uint32_t index, uint64_t request);
/* The same for every worker that has asked. */
void training_top_up_all(const struct training *t, struct run *run);
/* A gradient that was not finite was left out. */
struct effect training_count_bad(struct training *t, const struct run *run,
                                 const struct message *message);

/* --- the record ---------------------------------------------------------------------------- */

/* A worker goes, and its work will be another's. Bounds do not count what it may still do. */
void training_note_gone(struct run *run, uint32_t index);

/* --- the end ------------------------------------------------------------------------------- */

/* Whether the worker is done now. */
bool training_hear_done(const struct training *t, struct run *run, struct member *worker,
                        const struct packet *packet);
/* Whether every worker has said DONE by the current assignment, and none with work is waited for;
 * and no batch is left anywhere. */
bool training_is_done(const struct run *run);
/* Name the last step, if a stop was asked for. */
void training_stop(const struct training *t, struct run *run);
/* Only the router here knows the versions it has let out. */
void training_stop_at(struct training *t, struct run *run, uint64_t step);

#endif
