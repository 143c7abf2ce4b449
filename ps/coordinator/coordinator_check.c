/* coordinator_check.c - the invariants of a coordinator between two messages: which fields go
 * with which state, and how they relate. */

#include "common/base/invariant.h"
#include "ps/coordinator/coordinator_state.h"

#define RULE(condition, rule) INVARIANT("coordinator", condition, rule)

/* --- who is here --------------------------------------------------------------------------- */

/* Of the workers, and their row: in RUNNING, unless it is about to be dealt anew. */
static void check_workers(const struct coordinator *c)
{
    const struct membership *all = &c->work.membership;
    bool trains = c->state == RUNNING || c->state == CLOSING;
    bool dealt = c->state == RUNNING && !c->deal_due;
    uint32_t row = 0;
    for (uint32_t i = 0; i < all->worker_count; i++) {
        const struct member *worker = &all->workers[i];
        RULE(worker->first_assignment <= c->work.assignment.number,
             "a worker knows only assignments that were made");
        RULE(IMPLIES(worker->done || worker->asks, trains), "no worker trains before or after");
        if (!dealt || (!worker->present && !worker->missed))
            continue;
        RULE(worker->position == row++, "workers stand in the order of their indexes");
        RULE(worker->missed || worker->first_assignment != 0,
             "a worker in the row has heard of it");
    }
    RULE(!dealt || row == c->work.assignment.members, "the row has all who are here or missed");
    RULE(IMPLIES(c->lonely_us != 0, membership_workers(all) == 0), "who is lonely has no worker");
}

static void check_leases(const struct coordinator *c)
{
    uint64_t batches[WORK_HELD_MAX];
    for (uint32_t i = 0; i < c->work.membership.worker_count; i++) {
        const struct member *worker = &c->work.membership.workers[i];
        RULE(worker->present || worker->missed || c->work.rules->held(&c->work, i, batches) == 0,
             "who is gone holds no batch");
    }
}

static void check_servers(const struct coordinator *c)
{
    const struct membership *all = &c->work.membership;
    for (uint32_t i = 0; i < all->server_count; i++) {
        const struct member *server = &all->servers[i];
        RULE(c->state == GATHERING || c->state == RECOVERING || server->ready,
             "in training every server has its chunks");
        RULE(IMPLIES(c->raising != 0, !server->ready),
             "no server is ready for a generation that is not recorded");
    }
    RULE(all->server_count == c->job->server_count, "there is a place for every server of the job");
    RULE(all->declared_count == c->job->worker_count, "the start waits for all declared workers");
}

/* --- checkpoints --------------------------------------------------------------------------- */

static void check_marks(const struct coordinator *c)
{
    const struct snapshot *snapshot = &c->snapshot;
    bool any = false, all_written = true;
    for (uint32_t i = 0; i < c->work.membership.server_count; i++) {
        const struct member *server = &c->work.membership.servers[i];
        any = any || server->cut_taken || server->part_written;
        all_written = all_written && server->part_written;
    }
    RULE(IMPLIES(snapshot->collected, all_written), "no manifest is written before the last part");
    RULE(IMPLIES(all_written &&
                     (snapshot->final || c->work.rules->has_reached(&c->work, snapshot->step)),
                 snapshot->collected),
         "with the last part, and all scores before it, the manifest is written");
    RULE(IMPLIES(any, snapshot->reached_us != 0), "what is taken or written was reached");
    uint64_t gate = c->work.rules->gate(&c->work);
    RULE(snapshot->final || gate == UINT64_MAX || snapshot_is_taken(&c->work.membership) ||
             gate == snapshot->step,
         "the gate is closed until all have taken the cut");
}

static void check_snapshot(const struct coordinator *c)
{
    const struct snapshot *snapshot = &c->snapshot;
    RULE(IMPLIES(c->last_due == NO_STEP, c->last_snapshot == NO_STEP), "what is whole was due");
    RULE(c->last_snapshot == NO_STEP ||
             (c->last_snapshot <= c->last_due && c->last_due <= c->job->steps),
         "checkpoints are whole or given up in their order");
    RULE(IMPLIES(snapshot->under_way, c->state == (snapshot->final ? CLOSING : RUNNING)),
         "a cut is under way in training, the last one after it");
    RULE(IMPLIES(c->state == CLOSING, c->closed || snapshot->under_way),
         "after training there is the last cut, or the summary");
    RULE(IMPLIES(c->closed,
                 c->state == CLOSING && !snapshot->under_way && c->last_snapshot != NO_STEP),
         "the summary comes when the last checkpoint is whole");
    RULE(snapshot->given_up_us == 0 || (!snapshot->under_way && job_accumulates(c->job) &&
                                        c->work.rules->gate(&c->work) == snapshot->step),
         "the gate is closed until all servers have had the cut of sums that was given up");
    if (!snapshot->under_way)
        return;
    RULE(snapshot->step <= c->job->steps, "no cut is after the last step");
    RULE(snapshot->final || c->last_due == NO_STEP || snapshot->step > c->last_due,
         "cuts go forward");
    RULE(snapshot->named_us <= snapshot->sent_us, "a snapshot is sent when it is named");
    RULE(snapshot->reached_us == 0 || snapshot->reached_us >= snapshot->named_us,
         "a cut is named before it comes");
    check_marks(c);
}

/* --- states -------------------------------------------------------------------------------- */

/* From GATHERING to CLOSING. */
static void check_run(const struct coordinator *c)
{
    RULE(c->envelope.run_id != 0, "the run is known");
    RULE(c->work.rules != NULL && c->work.job == c->job, "the work is the job's");
    RULE(c->raising == 0 || c->raising == c->envelope.generation + 1,
         "one generation is recorded after the other");
    RULE(IMPLIES(c->raising != 0, c->state == GATHERING || c->state == RECOVERING),
         "no worker trains while a generation is recorded");
    RULE((c->snapshot_us != 0) == (c->state != GATHERING), "training begins when all are gathered");
    RULE(c->first_step <= c->job->steps, "the run begins before its end");
    RULE(c->evaluation.job == c->job, "what is scored is the job's model");
    RULE(c->evaluation.dropped == 0, "scores that were dropped are counted");
    work_check(&c->work);
    evaluation_check(&c->evaluation);
    computations_check(&c->computations);
    check_workers(c);
    check_servers(c);
    check_snapshot(c);
    if (c->state != CLOSING)
        check_leases(c);
}

static void check_stop(const struct coordinator *c)
{
    RULE(IMPLIES(c->stopping, c->state >= RECOVERING), "before training a stop is the end");
    RULE(!c->stopping || c->exit_code == EXIT_DONE || c->exit_code == EXIT_INTERRUPTED ||
             c->exit_code == EXIT_TERMINATED,
         "a clean stop has its exit code");
    RULE(c->stopping || (c->exit_code == EXIT_DONE && c->stop_us == 0),
         "without a stop nothing has ended");
    RULE(IMPLIES(c->deserted, c->stopping), "who is deserted was asked to stop");
    RULE(c->reason[0] == '\0', "the reason comes with the end");
}

/* This core's own time: see own_time. */
static void check_times(const struct coordinator *c)
{
    uint64_t now_us = c->driven_us - c->unwatched_us;
    RULE(c->unwatched_us <= c->driven_us, "it was away no longer than it has been here");
    RULE(c->entered_us <= now_us && c->waited_us <= now_us && c->sent_us <= now_us &&
             c->stop_us <= now_us && c->lonely_us <= now_us && c->snapshot.sent_us <= now_us &&
             c->snapshot.reached_us <= now_us && c->snapshot_us <= now_us,
         "nothing has been in the future");
    RULE(c->summary.phases.since_us <= c->driven_us &&
             c->summary.phases.beside_since_us <= c->driven_us,
         "no clock is ahead of what has passed");
    uint64_t parts_us = c->summary.phases.began_us;
    for (enum run_phase i = 0; i < RUN_PHASE_COUNT; i++)
        parts_us += c->summary.phases.us[i];
    RULE(parts_us == c->summary.phases.since_us, "the parts of its life add up");
}

void coordinator_check(const struct coordinator *c)
{
    const struct declaration *declaration = &c->declaration;
    RULE(c->job == &declaration->job, "the job is the one that was declared");
    RULE((declaration->bytes == NULL) == (declaration->size == 0), "a declaration is there or not");
    RULE(declaration->uploader != 0 || declaration->upload.bytes == NULL,
         "a declaration under way has a sender");
    check_times(c);
    /* What ended it may be half done. */
    if (c->state >= FINISHING)
        return;
    RULE((c->state == WAITING) == (declaration->size == 0), "until a job is declared it waits");
    RULE((c->state == WAITING) == (c->work.membership.servers == NULL), "places come with the job");
    RULE(!c->own_router_left, "its own router leaves after the end");
    check_stop(c);
    membership_check(&c->work.membership);
    if (c->state >= GATHERING)
        check_run(c);
    else
        RULE(c->work.rules == NULL && c->envelope.run_id == 0, "a run comes with its directory");
}
