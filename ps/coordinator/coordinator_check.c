/* coordinator_check.c - the invariants of a coordinator between two messages: which fields go
 * with which state, and how those of several machines relate. */

#include "ps/coordinator/coordinator_state.h"

#define RULE(number, condition, rule) INVARIANT("coordinator", condition, rule " (C" #number ")")

/* --- who is here --------------------------------------------------------------------------- */

/* Of the workers, and their row: in RUNNING, unless it is about to be dealt anew. */
static void check_workers(const struct coordinator *c)
{
    const struct run *run = &c->run;
    const struct membership *all = run->members;
    bool trains = run->state == RUNNING || run->state == CLOSING;
    bool dealt = run->state == RUNNING && !run->deal_due;
    uint32_t row = 0;
    uint64_t batches[WORK_HELD_MAX];
    for (uint32_t i = 0; i < all->worker_count; i++) {
        const struct member *worker = &all->workers[i];
        RULE(1, worker->dealt.first_assignment <= run->work.assignment.number,
             "a worker knows only assignments that were made");
        RULE(2, IMPLIES(worker->dealt.done || worker->dealt.asks, trains),
             "no worker trains before or after");
        if (!worker->present && !worker->missed)
            RULE(3, run->state == CLOSING || run->work.rules->held(&run->work, i, batches) == 0,
                 "who is gone holds no batch");
        if (!dealt || (!worker->present && !worker->missed))
            continue;
        RULE(4, worker->dealt.position == row++, "workers stand in the order of their indexes");
        RULE(5, worker->missed || worker->dealt.first_assignment != 0,
             "a worker in the row has heard of it");
    }
    RULE(6, !dealt || row == run->work.assignment.members,
         "the row has all who are here or missed");
    RULE(7, IMPLIES(c->members.lonely_us != 0, membership_workers(all) == 0),
         "who is lonely has no worker");
}

static void check_servers(const struct coordinator *c)
{
    const struct run *run = &c->run;
    const struct membership *all = run->members;
    for (uint32_t i = 0; i < all->server_count; i++) {
        const struct member *server = &all->servers[i];
        RULE(8, run->state == GATHERING || run->state == RECOVERING || server->ready,
             "in training every server has its chunks");
        RULE(9, IMPLIES(run->raising != 0, !server->ready),
             "no server is ready for a generation that is not recorded");
    }
    RULE(10, all->server_count == run->job->server_count,
         "there is a place for every server of the job");
    RULE(11, all->declared_count == run->job->worker_count,
         "the start waits for all declared workers");
}

/* --- states -------------------------------------------------------------------------------- */

/* From GATHERING to CLOSING. */
static void check_run(const struct coordinator *c)
{
    const struct run *run = &c->run;
    RULE(12, run->envelope.run_id != 0, "the run is known");
    RULE(13, run->work.rules != NULL && run->work.job == run->job, "the work is the job's");
    RULE(14, run->raising == 0 || run->raising == run->envelope.generation + 1,
         "one generation is recorded after the other");
    RULE(15, IMPLIES(run->raising != 0, run->state == GATHERING || run->state == RECOVERING),
         "no worker trains while a generation is recorded");
    RULE(16, (c->snapshot.over_us != 0) == (run->state != GATHERING),
         "training begins when all are gathered");
    RULE(17, run->first_step <= run->job->steps, "the run begins before its end");
    RULE(18, c->scorer.evaluation.job == run->job, "what is scored is the job's model");
    RULE(19, c->scorer.evaluation.dropped == 0, "scores that were dropped are counted");
    work_check(&run->work);
    evaluation_check(&c->scorer.evaluation);
    check_workers(c);
    check_servers(c);
    RULE(20, IMPLIES(run->state == CLOSING, run->closed || c->snapshot.under_way),
         "after training there is the last snapshot, or the summary");
    RULE(21,
         IMPLIES(run->closed,
                 run->state == CLOSING && !c->snapshot.under_way && run->whole != NO_STEP),
         "the summary comes when the last checkpoint is whole");
    snapshot_check(&c->snapshot, run);
}

static void check_stop(const struct coordinator *c)
{
    const struct run *run = &c->run;
    RULE(22, IMPLIES(run->stopping, run->state >= RECOVERING), "before training a stop is the end");
    RULE(23,
         !run->stopping || c->finishing.exit_code == EXIT_DONE ||
             c->finishing.exit_code == EXIT_INTERRUPTED ||
             c->finishing.exit_code == EXIT_TERMINATED,
         "a clean stop has its exit code");
    RULE(24, run->stopping || (c->finishing.exit_code == EXIT_DONE && c->finishing.stop_us == 0),
         "without a stop nothing has ended");
    RULE(25, IMPLIES(run->deserted, run->stopping), "who is deserted was asked to stop");
    RULE(26, c->finishing.reason[0] == '\0', "the reason comes with the end");
}

/* This core's own time: see coordinator_time. */
static void check_times(const struct coordinator *c)
{
    uint64_t now_us = c->run.now_us;
    RULE(28,
         c->run.entered_us <= now_us && c->members.waited_us <= now_us &&
             c->finishing.sent_us <= now_us && c->finishing.stop_us <= now_us &&
             c->members.lonely_us <= now_us && c->snapshot.sent_us <= now_us &&
             c->snapshot.reached_us <= now_us && c->snapshot.over_us <= now_us,
         "nothing has been in the future");
    reporter_check(&c->reporter, run_wall(&c->run));
}

void coordinator_check(const struct coordinator *c)
{
    const struct run *run = &c->run;
    const struct declaration *declaration = &run->declaration;
    RULE(29, run->job == &declaration->job, "the job is the one that was declared");
    RULE(30, (declaration->bytes == NULL) == (declaration->size == 0),
         "a declaration is there or not");
    RULE(31, declaration->uploader != 0 || declaration->upload.bytes == NULL,
         "a declaration under way has a sender");
    check_times(c);
    /* What ended it may be half done. */
    if (run->state >= FINISHING)
        return;
    RULE(32, (run->state == WAITING) == (declaration->size == 0),
         "until a job is declared it waits");
    RULE(33, (run->state == WAITING) == (run->members->servers == NULL),
         "places come with the job");
    RULE(34, !c->finishing.own_router_left, "its own router leaves after the end");
    check_stop(c);
    membership_check(run->members);
    if (run->state >= GATHERING)
        check_run(c);
    else
        RULE(35, run->work.rules == NULL && run->envelope.run_id == 0,
             "a run comes with its directory");
}
