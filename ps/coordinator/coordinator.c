/* coordinator.c - dispatch: gives each message and tick to the machine that it is for, and acts
 * on what comes of it.
 *
 *     WAITING --> OPENING --> GATHERING --> RUNNING --> CLOSING --> FINISHING --> OVER
 *      a job      the run     all members    ^   |         |        all members
 *      comes      is ours     are here       |   v         |        know the end
 *                                          RECOVERING <----'
 *     a failure, or a stop before training: any of them --> FINISHING, or OVER without members
 *
 * Machines do not call each other (run.h). What one of them says to the others is an effect, and
 * [act] is the one place where effects are acted on; what becomes of a lost worker is in
 * [lose]. STATUS, JOIN and JOB_PAGE are taken from any peer, the rest from members; others
 * are answered that they are none. */

#include "ps/coordinator/coordinator.h"

#include <stdlib.h>

#include "ps/coordinator/coordinator_state.h"

#define WATCHED_US 1000000u /* A longer gap between two calls was not watched. */

/* --- life ---------------------------------------------------------------------------------- */

enum status coordinator_create(struct coordinator **coordinator,
                               const struct coordinator_options *options, uint64_t now_us)
{
    struct coordinator *c = calloc(1, sizeof *c);
    *coordinator = c;
    if (c == NULL)
        return STATUS_MEMORY;
    c->run.now_us = c->run.entered_us = c->members.waited_us = now_us;
    c->run.options = *options;
    c->run.envelope = (struct envelope){.role = ROLE_PS, .incarnation = options->incarnation};
    c->run.job = &c->run.declaration.job;
    c->run.members = &c->run.work.membership;
    c->run.work.policy = options->policy;
    c->run.whole = c->snapshot.due = NO_STEP;
    c->sets.said = EVENT_SPARES;
    c->gathering.began_us = options->began_us != 0 ? options->began_us : now_us;
    reporter_init(&c->reporter, now_us);
    return STATUS_OK;
}

void coordinator_destroy(struct coordinator **coordinator)
{
    struct coordinator *c = *coordinator;
    if (c == NULL)
        return;
    work_free(&c->run.work);
    frame_release(c->scorer.kept);
    staleness_totals_free(&c->reporter.staleness);
    gathering_free(&c->run);
    free(c);
    *coordinator = NULL;
}

void coordinator_abandon(struct coordinator *coordinator)
{
    coordinator->run.unleashed = true;
}

static void enter(struct coordinator *c, enum state state)
{
    c->run.state = state;
    c->run.entered_us = c->run.now_us;
}

/* The reporter sees what has changed. */
static void look(struct coordinator *c)
{
    reporter_look(&c->reporter, &c->run, &c->snapshot, &c->training, &c->scorer);
}

/* --- effects ------------------------------------------------------------------------------- */

static void act(struct coordinator *c, struct effect effect);

static void finish(struct coordinator *c, int exit_code, const char *reason)
{
    struct message_status_answer answer = {.text = ""};
    if (c->run.state >= FINISHING)
        return;
    look(c);
    finishing_finish(&c->finishing, &c->run, exit_code, reason);
    enter(c, FINISHING);
    finishing_tell_members(&c->finishing, &c->run);
    coordinator_describe(c, &answer, c->run.now_us);
    finishing_tell_watchers(&c->finishing, &c->run, &answer);
}

static bool write_summary(struct coordinator *c, enum run_state state, int exit_code,
                          const char *reason)
{
    look(c);
    return reporter_write(&c->reporter, &c->run, state, exit_code, reason);
}

static void fail(struct coordinator *c, int exit_code, const char *reason)
{
    if (c->run.state >= GATHERING && c->run.state < FINISHING)
        write_summary(c, RUN_FAILED, exit_code, reason);
    finish(c, exit_code, reason);
}

/* Its batches, leaves and share of the score are for others. */
static void deal_without(struct coordinator *c, uint32_t index)
{
    c->run.work.rules->lost(&c->run.work, index);
    c->run.deal_due = true;
}

/* All that becomes of a lost member. A server keeps its place; after training all work of a
 * worker is done. */
static void lose(struct coordinator *c, const struct effect *lost)
{
    enum worker_loss policy = c->run.options.on_worker_loss;
    struct run_faults *faults = &c->reporter.summary.faults;
    members_lose(&c->run, lost);
    if (lost->kind == EFFECT_SERVER_LOST) {
        faults->servers_lost++;
        return;
    }
    faults->workers_lost++;
    evaluation_lost(&c->scorer.evaluation, lost->index);
    if (c->run.state == CLOSING)
        return;
    training_note_gone(&c->run, lost->index);
    if (policy == LOSS_FAIL)
        fail(c, EXIT_CLUSTER_LOST, lost->text);
    else if (policy == LOSS_WAIT && c->run.state != GATHERING)
        c->run.members->workers[lost->index].missed = true;
    else
        deal_without(c, lost->index);
}

/* A worker that leaves is not lost. */
static void leave(struct coordinator *c, uint32_t index)
{
    evaluation_lost(&c->scorer.evaluation, index);
    training_note_gone(&c->run, index);
    if (c->run.state != CLOSING)
        deal_without(c, index);
}

/* The model file has a deadline of its own. */
static void close_run(struct coordinator *c)
{
    bool done = c->run.whole == c->run.job->steps;
    c->run.closed = true;
    enter(c, CLOSING);
    if (done) /* The stop came too late. */
        c->finishing.exit_code = EXIT_DONE;
    if (!write_summary(c, done ? RUN_DONE : RUN_STOPPED, c->finishing.exit_code, ""))
        act(c, effect_no_memory("the run's summary; its last checkpoint is written"));
}

/* The run says so, too, if it is open: a run that says it is running has lost its server 0. */
static void stop_before_start(struct coordinator *c, const struct effect *stopped)
{
    if (c->run.state == GATHERING) {
        run_phases_enter(&c->reporter.summary.phases, RUN_PHASE_MODEL_FILE, run_wall(&c->run));
        if (!write_summary(c, RUN_STOPPED, stopped->exit_code, stopped->text))
            outbox_warn(c->run.outbox,
                        "out of memory: run.json does not say that the run was stopped");
    }
    finish(c, stopped->exit_code, stopped->text);
}

/* `last`: one more than the worker that came to its gate last; 0: none. */
static void begin_snapshot(struct coordinator *c, uint64_t step, uint32_t last, bool final)
{
    if (!final)
        c->training.gate_last = last;
    snapshot_begin(&c->snapshot, &c->run, step, final);
}

static void open_gate(struct coordinator *c)
{
    if (snapshot_open_gate(&c->snapshot, &c->run))
        training_top_up_all(&c->training, &c->run);
}

/* The gate is opened, if there is one, and the next checkpoint named. */
static void go_on(struct coordinator *c)
{
    open_gate(c);
    act(c, snapshot_schedule(&c->snapshot, &c->run, true));
}

static void take_whole_snapshot(struct coordinator *c)
{
    if (run_quorum(&c->run) != NULL)
        quorum_forget(run_quorum(&c->run), c->run.whole);
    reporter_mark_whole(&c->reporter, &c->run);
    if (c->run.state >= FINISHING) /* It came too late, and all have heard of another end. */
        return;
    if (c->snapshot.final)
        close_run(c);
    else
        go_on(c);
}

/* EFFECT_OPENED and EFFECT_WENT_BACK: see handle_run_opened. */
static void act(struct coordinator *c, struct effect effect)
{
    struct run *run = &c->run;
    enum effect_kind kind = effect.kind;
    if (kind == EFFECT_FAILED)
        fail(c, effect.exit_code, effect.text);
    else if (kind == EFFECT_WORKER_LOST || kind == EFFECT_SERVER_LOST)
        lose(c, &effect);
    else if (kind == EFFECT_LEFT)
        leave(c, effect.index);
    else if (kind == EFFECT_ABANDONED)
        act(c, finishing_stop(&c->finishing, run, effect.exit_code, effect.text));
    else if (kind == EFFECT_DECLARED)
        enter(c, OPENING);
    else if (kind == EFFECT_SNAPSHOT_DUE)
        begin_snapshot(c, effect.step, effect.index, false);
    else if (kind == EFFECT_GATE_OPEN)
        open_gate(c);
    else if (kind == EFFECT_SNAPSHOT_OVER)
        go_on(c);
    else if (kind == EFFECT_SNAPSHOT_WHOLE)
        take_whole_snapshot(c);
    else if (kind == EFFECT_SNAPSHOT_REFUSED)
        act(c, finishing_deserted(&c->finishing, run));
    else if (kind == EFFECT_STOPPED)
        stop_before_start(c, &effect);
    else if (kind == EFFECT_STOPPING && run->state == RUNNING) /* Else as soon as it is. */
        training_stop(&c->training, run);
    else if (kind == EFFECT_OVER)
        enter(c, OVER);
}

/* --- starting ------------------------------------------------------------------------------ */

static void send_start(struct coordinator *c, struct member *worker)
{
    training_send_start(&c->run, worker, sets_of_start(&c->run));
}

/* Deal the work anew if a member came or went, and send it to all workers. */
static void deal_when_due(struct coordinator *c)
{
    struct work *work = &c->run.work;
    struct assignment *assignment = &work->assignment;
    if (!c->run.deal_due || c->run.state != RUNNING)
        return;
    c->run.deal_due = false;
    assignment_deal(assignment, &work->membership, c->run.now_us);
    sets_deal(&c->sets, &c->run);
    order_event(c->run.outbox, assignment->number > 1 ? EVENT_ASSIGNMENT_ANEW : EVENT_ASSIGNMENT,
                .text = wording_counted(assignment->members, "worker", "workers").text,
                .number = assignment->number, .members = assignment->members);
    for (uint32_t i = 0; i < work->membership.worker_count; i++)
        if (work->membership.workers[i].present)
            send_start(c, &work->membership.workers[i]);
    for (uint32_t i = 0; i < work->membership.worker_count && work->rules->has_spare(work); i++)
        training_top_up(&c->training, &c->run, i, 0);
}

static void start_when_gathered(struct coordinator *c)
{
    bool first = c->run.state == GATHERING;
    if (!gathering_is_gathered(&c->run, c->members.has_survivors))
        return;
    enter(c, RUNNING);
    gathering_send_chunks(&c->run, ORDER_EVERYBODY);
    if (first) {
        c->snapshot.over_us = c->run.now_us;
        reporter_start(&c->reporter, &c->run);
    }
    act(c, snapshot_schedule(&c->snapshot, &c->run, false));
    c->run.deal_due = true;
    training_stop(&c->training, &c->run);
    deal_when_due(c);
}

static void open_run(struct coordinator *c, const struct order_run_opened *opened)
{
    struct run *run = &c->run;
    c->snapshot.due = run->whole;
    scorer_open(&c->scorer, run);
    if (work_begin(&run->work, run->job, run->first_step, &opened->so_far) != STATUS_OK ||
        reporter_open(&c->reporter, run) != STATUS_OK)
        act(c, effect_no_memory("the job"));
    else
        enter(c, GATHERING);
}

static void go_back(struct coordinator *c, const struct tally_so_far *so_far)
{
    struct run *run = &c->run;
    uint64_t again = run->work.rules->go_back(&run->work, run->first_step, so_far);
    c->snapshot.due = run->whole;
    scorer_go_back(&c->scorer, run);
    reporter_go_back(&c->reporter, run, again);
    gathering_begin(&c->gathering, run, again);
}

static void handle_run_opened(struct coordinator *c, const struct order_run_opened *opened)
{
    const struct effect effect = gathering_opened(&c->run, opened);
    if (effect.kind == EFFECT_OPENED)
        open_run(c, opened);
    else if (effect.kind == EFFECT_WENT_BACK)
        go_back(c, &opened->so_far);
    else
        act(c, effect);
}

/* --- joining ------------------------------------------------------------------------------- */

/* A server in the place of another starts a new generation even before training has started: the
 * other may be alive, and ready to serve the one before. */
static void raise_generation(struct coordinator *c)
{
    snapshot_drop(&c->snapshot, &c->run);
    gathering_raise(&c->run);
    if (c->run.state != GATHERING)
        enter(c, RECOVERING);
}

/* Whether the sender is a member now; if not, it has its answer. */
static bool admit(struct coordinator *c, const struct packet *packet)
{
    const struct message *message = &packet->message;
    bool worker = message->role == ROLE_WORKER;
    struct effect lost = {.kind = worker ? EFFECT_WORKER_LOST : EFFECT_SERVER_LOST,
                          .index = message->index,
                          .why = "replaced"};
    enum admission admission = members_judge(&c->members, &c->run, packet, lost.text);
    if (admission != ADMISSION_FREE && admission != ADMISSION_REPLACE)
        return admission == ADMISSION_REPEAT;
    if (admission == ADMISSION_REPLACE && !membership_place(c->run.members, message)->lost)
        act(c, lost);
    if (c->run.state >= FINISHING)
        finishing_answer(&c->finishing, &c->run, packet);
    else if (!members_take(&c->members, &c->run, packet))
        act(c, effect_no_memory("another worker"));
    else if (worker)
        c->run.deal_due = true;
    else if (admission == ADMISSION_REPLACE && c->run.raising == 0)
        raise_generation(c);
    return c->run.state < FINISHING;
}

static void handle_join(struct coordinator *c, const struct packet *packet)
{
    struct run *run = &c->run;
    const struct message *message = &packet->message;
    if (run_refuse_other(run, packet) || gathering_handle_join(run, packet) ||
        members_refuse_departed(run, packet) || finishing_turn_away(&c->finishing, run, packet) ||
        !admit(c, packet))
        return;
    if (run->raising != 0) { /* Its WELCOME comes with the new generation. */
        run_ask_to_wait(run, packet, "the job goes back to its last checkpoint");
        return;
    }
    if (message->role == ROLE_PS)
        gathering_send_job(run, packet->peer);
    gathering_welcome(run, membership_place(run->members, message), message->role);
    start_when_gathered(c);
}

/* --- training ------------------------------------------------------------------------------ */

/* When training is over: the last checkpoint. */
static void finish_when_done(struct coordinator *c)
{
    struct run *run = &c->run;
    const struct work_mode *rules = run->work.rules;
    if (run->state != RUNNING)
        return;
    /* All workers have left, and no further step is wanted: the model is kept. */
    run->deserted = run->stopping && membership_is_deserted(run->members);
    if (!run->deserted &&
        (!training_is_done(run) ||
         evaluation_is_awaited(&c->scorer.evaluation, rules->end(&run->work, false))))
        return;
    uint64_t step = rules->end(&run->work, run->deserted);
    enter(c, CLOSING);
    if (step == run->whole && !c->snapshot.under_way)
        close_run(c); /* Resumed where it had ended: nothing new to keep. */
    else
        begin_snapshot(c, step, 0, true);
}

static void handle_lease(struct coordinator *c, const struct packet *packet)
{
    const struct message *message = &packet->message;
    bool frees = training_hear_lease(&c->run, packet);
    if (message->lease.finished && c->run.state == RUNNING)
        act(c, snapshot_at_gate(&c->snapshot, &c->run, message->index + 1));
    training_answer_lease(&c->training, &c->run, packet, frees);
}

/* Whether the report counts: of a step that waits for others, whether it is counted with it. */
static bool count_report(struct coordinator *c, const struct packet *packet, double seconds)
{
    const struct message_report *report = &packet->message.report;
    struct membership *all = c->run.members;
    const struct quorum *quorum = run_quorum(&c->run);
    if (quorum == NULL) {
        bool counts = statistics_report(&c->run.work.statistics, report);
        if (counts)
            reporter_add_report(membership_place(all, &packet->message), report);
        return counts;
    }
    enum quorum_result result = sets_report(&c->run, packet, seconds);
    if (result == QUORUM_MEMORY)
        act(c, effect_no_memory("what steps are made of"));
    for (size_t i = 0; result == QUORUM_COUNTED && i < quorum->report_count; i++)
        if (quorum->reports[i].counts)
            reporter_add_report(&all->workers[quorum->reports[i].worker],
                                &quorum->reports[i].report);
    if (result == QUORUM_COUNTED)
        sets_count_step(&c->run);
    return result == QUORUM_COUNTED;
}

/* The score of a gradient that server 0 has taken. It counts even if its sender has been given
 * up meanwhile: a second computation of it will be a duplicate. */
static void handle_report(struct coordinator *c, const struct packet *packet)
{
    struct run *run = &c->run;
    const struct message *message = &packet->message;
    const struct message_report *report = &message->report;
    struct member *worker = membership_place(run->members, message);
    if ((run->state != RUNNING && run->state != CLOSING) || message->role != ROLE_WORKER ||
        worker == NULL || message->run_id != run->envelope.run_id)
        return;
    double seconds = reporter_take_times(run, message, &report->times);
    if (message->generation != run->envelope.generation) {
        c->reporter.summary.faults.fenced++;
        return;
    }
    if (membership_find(run->members, message) != NULL) {
        membership_hear(worker, run->now_us);
        stragglers_moved(worker, run->now_us);
    }
    if (report->refused || !count_report(c, packet, seconds))
        return;
    reporter_report(&c->reporter, run, report);
    if (report->bad) /* It took no part, which no mode of steps allows. */
        act(c, training_count_bad(&c->training, run, message));
    act(c, snapshot_collect(&c->snapshot, run));
    reporter_say_progress(&c->reporter, run);
}

static void handle_done(struct coordinator *c, struct member *worker, const struct packet *packet)
{
    reporter_take_times(&c->run, &packet->message, &packet->message.done.times);
    if (training_hear_done(&c->training, &c->run, worker, packet))
        finish_when_done(c);
}

static void handle_evaluation(struct coordinator *c, const struct packet *packet)
{
    uint64_t held_up_us;
    struct evaluation *evaluation = &c->scorer.evaluation;
    reporter_take_times(&c->run, &packet->message, &packet->message.evaluation.times);
    if (!scorer_add(&c->scorer, &c->run, packet, &held_up_us))
        return;
    run_phases_hold_up(&c->reporter.summary.phases, held_up_us, run_wall(&c->run));
    if (evaluation_is_whole(evaluation)) {
        reporter_score(&c->reporter, &c->run, evaluation, scorer_held_up_us(&c->scorer));
        evaluation_settle(evaluation);
    }
    scorer_go_on(&c->scorer, &c->run);
    finish_when_done(c);
}

/* --- from members -------------------------------------------------------------------------- */

/* Whether a worker must hear how work is dealt. */
static bool is_behind(const struct run *run, const struct message *message)
{
    return (run->state == RUNNING || (run->state == CLOSING && !run->closed)) && !run->deal_due &&
           (message->generation < run->envelope.generation ||
            message->ping.assignment < run->work.assignment.number);
}

/* While a new generation is being recorded servers are ready for the old one. */
static void handle_ready(struct coordinator *c, struct member *server, const struct packet *packet)
{
    const struct message_ready *ready = &packet->message.ready;
    staleness_totals_hear(&c->reporter.staleness, packet->message.index, packet->payload);
    if (c->run.raising != 0)
        return;
    server->kept.scored = ready->scored;
    server->kept.scored_lost = ready->scored_lost;
    scorer_go_on(&c->scorer, &c->run);
    if (gathering_ready(&c->run, server, packet))
        start_when_gathered(c);
    act(c, sets_repeat(&c->run, server));
}

/* A sign of life, from a member of this generation or an older one; and a chance to bring it up
 * to date. */
static void handle_heartbeat(struct coordinator *c, struct member *member,
                             const struct packet *packet)
{
    struct run *run = &c->run;
    const struct message *message = &packet->message;
    bool current = message->generation == run->envelope.generation;
    char text[MESSAGE_TEXT_MAX];
    member->leash = message->kind == MESSAGE_READY ? message->ready.leash : message->ping.leash;
    if (message->role == ROLE_WORKER) {
        stragglers_heard(member, &message->ping, current, run->now_us);
        if (is_behind(run, message))
            send_start(c, member);
        else
            scorer_deal_share(&c->scorer, run, message->index);
    } else if (message->role == ROLE_PS && !current) {
        gathering_welcome_again(run, member);
    }
    coordinator_describe_wait(c, message, text);
    struct message *pong = &run_answer(run, packet, MESSAGE_PONG)->message;
    snprintf(pong->waiting.text, MESSAGE_TEXT_MAX, "%s", text);
    pong->waiting.leave = message->role == ROLE_WORKER && member->absence.dismissed;
    if (message->role == ROLE_PS && current && run->raising == 0)
        pong->waiting.scored = c->scorer.evaluation.settled;
    if (message->kind == MESSAGE_READY && current)
        handle_ready(c, member, packet);
}

static void handle_cut_taken(struct coordinator *c, struct member *server,
                             const struct packet *packet)
{
    uint32_t index = packet->message.index;
    unsigned before = server->kept.snapshot;
    server->counts.verdicts = packet->message.cut_taken.verdicts;
    staleness_totals_hear(&c->reporter.staleness, index, packet->payload);
    const struct effect effect = snapshot_hear_taken(&c->snapshot, &c->run, server, packet);
    if ((server->kept.snapshot & ~before & SNAPSHOT_TAKEN) != 0)
        staleness_totals_snapshot(&c->reporter.staleness, index);
    act(c, effect);
}

/* A chunk of a server that does not see our disk, or of a scored model. */
static void handle_chunk_state(struct coordinator *c, struct packet *packet)
{
    const struct message_chunk_state *state = &packet->message.chunk_state;
    if (state->array == CHECKPOINT_SCORED
            ? !scorer_keep(&c->scorer, &c->run, packet)
            : !c->snapshot.under_way || state->step != c->snapshot.step)
        return;
    *outbox_add(c->run.outbox, TO_CHECKPOINTER, MESSAGE_CHUNK_STATE) = *packet;
    packet->payload = NULL;
}

/* Of a message that the other role alone sends nothing comes. */
static void handle_role(struct coordinator *c, struct member *member, struct packet *packet)
{
    enum message_kind kind = packet->message.kind;
    bool worker = packet->message.role == ROLE_WORKER;
    if (worker && kind == MESSAGE_LEASE)
        handle_lease(c, packet);
    else if (worker && kind == MESSAGE_EVALUATION)
        handle_evaluation(c, packet);
    else if (worker && kind == MESSAGE_DONE)
        handle_done(c, member, packet);
    else if (!worker && kind == MESSAGE_CUT_TAKEN)
        handle_cut_taken(c, member, packet);
    else if (!worker && kind == MESSAGE_PART_WRITTEN)
        act(c, snapshot_hear_part(&c->snapshot, &c->run, packet));
    else if (!worker && kind == MESSAGE_CHUNK_STATE)
        handle_chunk_state(c, packet);
}

#define BIT(kind) ((uint64_t)1 << MESSAGE_##kind)
static const uint64_t from_members = BIT(PING) | BIT(READY) | BIT(STOP) | BIT(BYE) |
                                     BIT(CUT_TAKEN) | BIT(PART_WRITTEN) | BIT(CHUNK_STATE) |
                                     BIT(LEASE) | BIT(EVALUATION) | BIT(DONE) | BIT(LEAVE);

static void handle_member(struct coordinator *c, struct member *member, struct packet *packet)
{
    const struct message *message = &packet->message;
    uint64_t generation = c->run.envelope.generation;
    members_hear(&c->run, member, packet);
    member->has_job = true; /* A member has been welcomed, and had it before that. */
    if ((from_members >> message->kind & 1) == 0)
        run_refuse(&c->run, packet, REFUSAL_MALFORMED, "%s is not for a server",
                   message_kind_name(message->kind));
    else if (message->kind == MESSAGE_STOP) /* These three are about the process alone. */
        act(c, finishing_hear_stop(&c->finishing, &c->run, packet));
    else if (message->kind == MESSAGE_BYE)
        member->bye = true;
    else if (message->kind == MESSAGE_LEAVE && message->role == ROLE_WORKER)
        act(c, members_leave(&c->run, packet));
    else if (message->generation > generation)
        c->reporter.summary.faults.fenced++;
    else if (message->kind == MESSAGE_PING ||
             (message->kind == MESSAGE_READY && message->role == ROLE_PS))
        handle_heartbeat(c, member, packet);
    else if (message->generation < generation)
        c->reporter.summary.faults.fenced++;
    else
        handle_role(c, member, packet);
}

/* --- dispatch ------------------------------------------------------------------------------ */

static void handle_status(struct coordinator *c, const struct packet *packet)
{
    act(c, finishing_note_watcher(&c->finishing, &c->run, packet));
    struct packet *answer = run_answer(&c->run, packet, MESSAGE_STATUS_ANSWER);
    coordinator_describe(c, &answer->message.status_answer, c->run.now_us);
}

static void handle(struct coordinator *c, struct packet *packet)
{
    struct run *run = &c->run;
    enum message_kind kind = packet->message.kind;
    struct member *member = members_find(run, packet);
    packet->member = member != NULL && membership_has_key(member, packet);
    c->finishing.known =
        c->finishing.known || (packet->message.run_id != 0 && packet->peer != PEER_LOCAL);
    if (kind == MESSAGE_STATUS)
        handle_status(c, packet);
    else if (kind == MESSAGE_DISMISS)
        members_dismiss(run, packet, c->finishing.reason);
    else if (kind == MESSAGE_JOIN && members_refuse_join(&c->members, run, packet))
        ; /* In every state: it has nothing to do with this job. */
    else if (run->state >= FINISHING)
        act(c, finishing_hear(&c->finishing, run, packet, member));
    else if (kind == MESSAGE_JOIN)
        handle_join(c, packet);
    else if (kind == MESSAGE_JOB_PAGE)
        act(c, gathering_add_page(run, packet));
    else if (kind == MESSAGE_REPORT)
        handle_report(c, packet);
    else if (member != NULL && !packet->member)
        run_refuse(run, packet, REFUSAL_KEY, "%s/%u has another key",
                   role_name(packet->message.role), packet->message.index);
    else if (member != NULL)
        handle_member(c, member, packet);
    else if (kind == MESSAGE_STOP && members_server_waits(run, packet))
        act(c, finishing_hear_stop(&c->finishing, run, packet));
    else
        c->reporter.summary.faults.fenced += members_answer_outsider(run, packet);
}

/* This core's own time stands still while it is not driven: if our process is stopped for
 * minutes, no member has been silent that long as far as we know. */
static void begin_call(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    uint64_t driven_us = run_wall(&c->run), since_us = now_us > driven_us ? now_us - driven_us : 0;
    *(since_us > WATCHED_US ? &c->run.unwatched_us : &c->run.now_us) += since_us;
    c->run.outbox = outbox;
}

static void end_call(struct coordinator *c, struct packet *packet)
{
    if (packet != NULL) {
        frame_release(packet->payload);
        packet->payload = NULL;
    }
    look(c);
    c->run.outbox = NULL;
    if (CHECKED && !c->run.options.unchecked)
        coordinator_check(c);
}

void coordinator_handle(struct coordinator *coordinator, struct packet *packet, uint64_t now_us,
                        struct outbox *outbox)
{
    begin_call(coordinator, now_us, outbox);
    handle(coordinator, packet);
    end_call(coordinator, packet);
}

/* --- from inside --------------------------------------------------------------------------- */

static void handle_summary_written(struct coordinator *c, const struct order_written *written)
{
    if (c->run.state != CLOSING || !c->run.closed)
        return;
    if (written->status != STATUS_OK)
        finish(c, EXIT_CANNOT_OPEN, written->text);
    else
        finish(c, c->finishing.exit_code, c->run.whole == c->run.job->steps ? "" : "stopped");
}

static void obey(struct coordinator *c, const struct order *order)
{
    if (order->kind == ORDER_RUN_OPENED)
        handle_run_opened(c, &order->run_opened);
    else if (order->kind == ORDER_SUMMARY_WRITTEN)
        handle_summary_written(c, &order->written);
    else if (order->generation != c->run.envelope.generation)
        ; /* It was in flight when the generation was raised. */
    else if (order->kind == ORDER_MANIFEST_WRITTEN)
        act(c, snapshot_hear_manifest(&c->snapshot, &c->run, &order->written));
    else if (order->kind == ORDER_STOP_AT)
        training_stop_at(&c->training, &c->run, order->stop_at.step);
}

static void handle_checkpointer(struct coordinator *c, struct packet *packet)
{
    const struct message *message = &packet->message;
    /* It was in flight when the generation was raised. */
    if (message->generation != c->run.envelope.generation)
        return;
    if (message->kind == MESSAGE_PART_WRITTEN)
        act(c, snapshot_hear_part(&c->snapshot, &c->run, packet));
    else if (message->kind == MESSAGE_CHUNK_STATE)
        gathering_pass_chunk(&c->run, packet);
}

void coordinator_handle_inside(struct coordinator *coordinator, struct packet *packet,
                               uint64_t now_us, struct outbox *outbox)
{
    const struct order *order = order_of(packet);
    begin_call(coordinator, now_us, outbox);
    if (order != NULL)
        obey(coordinator, order);
    else
        handle_checkpointer(coordinator, packet);
    end_call(coordinator, packet);
}

/* --- time ---------------------------------------------------------------------------------- */

static bool owes(const struct coordinator *c, uint32_t index)
{
    const struct member *worker = &c->run.members->workers[index];
    return worker->present && worker->dealt.first_assignment != 0 &&
           (c->run.work.rules->owes(&c->run.work, index) ||
            evaluation_holds(&c->scorer.evaluation, index));
}

/* The silent, then the slow and the stuck. */
static void watch_members(struct coordinator *c)
{
    struct run *run = &c->run;
    struct effect lost;
    enum role role;
    uint32_t away;
    if (run->state < GATHERING || run->state > CLOSING)
        return;
    while (run->state < FINISHING && (lost = members_find_silent(run)).kind != EFFECT_NONE)
        act(c, lost);
    if (run->state != RUNNING || run->deal_due)
        return;
    bool hindered = membership_awaited(run->members, &role, &away) != NULL && role == ROLE_PS;
    for (uint32_t i = 0; i < run->members->worker_count && run->state == RUNNING; i++)
        act(c, members_watch_worker(run, i, !hindered && owes(c, i)));
}

static void tick(struct coordinator *c)
{
    struct run *run = &c->run;
    act(c, members_watch_leashes(&c->members, run));
    watch_members(c);
    act(c, members_watch_awaited(&c->members, run));
    act(c, snapshot_by_clock(&c->snapshot, run));
    act(c, snapshot_tick(&c->snapshot, run));
    if (run->state == CLOSING && !run->closed && !membership_is_served(run->members))
        enter(c, CLOSING); /* While a server is away its own deadline counts. */
    act(c, finishing_watch(&c->finishing, run, snapshot_is_taken(run)));
    if (run->state <= RECOVERING) {
        act(c, gathering_tick(&c->gathering, run));
        start_when_gathered(c);
    } else if (run->state == RUNNING) {
        deal_when_due(c);
        scorer_go_on(&c->scorer, run);
        finish_when_done(c);
    } else if (run->state == FINISHING) {
        act(c, finishing_tick(&c->finishing, run));
    }
    members_say_waiting(&c->members, run);
    stragglers_note(&c->awaited, run->members, run->state == RUNNING, run->now_us, run->outbox);
    look(c);
    reporter_note_faults(&c->reporter, run);
}

void coordinator_tick(struct coordinator *coordinator, uint64_t now_us, struct outbox *outbox)
{
    begin_call(coordinator, now_us, outbox);
    tick(coordinator);
    end_call(coordinator, NULL);
}
