/* coordinator_gathering.c - the begin, and every new begin: JOIN, the declaration, the run
 * directory, WELCOME, READY, and START when all are there. */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/wording.h"
#include "common/job/compensation.h"
#include "ps/coordinator/coordinator_state.h"

#define WELCOME_REPEAT_US 1000000u
#define REFUSALS_NAMED    100  /* With a line each. */
#define REFUSALS_A_LINE   1000 /* Refusals a line, after those. */

/* --- joining ------------------------------------------------------------------------------- */

bool coordinator_records(const struct coordinator *c)
{
    return !job_mode(c->job)->steps && c->job->record == RECORDING_ON && !c->options.allow_mixed;
}

static void welcome(const struct coordinator *c, const struct member *member, enum role role,
                    struct outbox *outbox)
{
    struct message *message =
        &envelope_to_peer(&c->envelope, member->peer, MESSAGE_WELCOME, outbox)->message;
    message->welcome.ticket = member->ticket;
    message->welcome.proof = member->proof;
    if (role == ROLE_PS)
        memcpy(message->welcome.secret, c->options.secret, HASH_BYTES);
    message->welcome.records = coordinator_records(c);
    message->welcome.restore = c->restore;
    message->welcome.restore_step = c->first_step;
    snprintf(message->welcome.out, sizeof message->welcome.out, "%s", c->options.out);
}

/* The holder of the place has fallen silent, and the sender is there. False when that ended the
 * job. */
static bool replace_holder(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                           struct outbox *outbox)
{
    char line[MESSAGE_TEXT_MAX];
    const struct message *message = &packet->message;
    const struct member *holder = membership_place(&c->work.membership, message);
    snprintf(line, sizeof line,
             "lost %s/%u (on %s): nothing heard for %s, and another process is there (on %s)",
             role_name(message->role), message->index, holder->host,
             wording_duration(seconds_since(holder->heard_us, now_us)).text, message->join.host);
    if (message->role == ROLE_WORKER)
        coordinator_lose_worker(c, message->index, DEPARTURE_NONE, "replaced", line, now_us,
                                outbox);
    else if (!holder->lost)
        coordinator_lose_server(c, message->index, "replaced", line, now_us, outbox);
    return c->state < FINISHING;
}

/* A server in the place of another starts a new generation even before training has started: the
 * other may be alive, and ready to serve the one before. */
static void take_in(struct coordinator *c, const struct packet *packet, bool replaces,
                    uint64_t now_us, struct outbox *outbox)
{
    const struct message *message = &packet->message;
    bool worker = message->role == ROLE_WORKER;
    if (membership_take(&c->work.membership, packet, now_us) == NULL ||
        c->work.rules->grow(&c->work, c->work.membership.worker_count) != STATUS_OK) {
        coordinator_fail(c, EXIT_TRAINING_FAILED, now_us, outbox,
                         "out of memory for another worker");
        return;
    }
    order_event(outbox, EVENT_JOINED, .host = message->join.host,
                .arithmetic = message->join.arithmetic, .role = role_name(message->role),
                .index = message->index);
    if (worker) {
        c->has_survivors = c->has_survivors || message->run_id == c->envelope.run_id;
        c->deal_due = true;
        c->lonely_us = 0;
    } else if (replaces && c->raising == 0) {
        coordinator_raise_generation(c, now_us, outbox);
    }
}

/* A refused process may ask again and again, but not in our log. */
static void log_refused(struct coordinator *c, const struct packet *packet, const char *text,
                        struct outbox *outbox)
{
    const char *role = role_name(packet->message.role);
    const char *host = packet->message.join.host;
    uint64_t count = ++c->refused;
    if (count <= REFUSALS_NAMED)
        outbox_log(outbox, "refused %s/%u on %s: %s", role, packet->message.index, host, text);
    else if (count % REFUSALS_A_LINE == 0)
        outbox_log(outbox, "refused %s/%u on %s: %s (count=%" PRIu64 ")", role,
                   packet->message.index, host, text, count);
}

/* Whether the sender is a member now; if not, it has its answer. */
static bool admit(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                  struct outbox *outbox)
{
    char text[MESSAGE_TEXT_MAX];
    enum refusal refusal;
    bool replaces = false;
    /* Members that must have the same bits, now or in a replay, must compute alike. */
    bool exact = (job_mode(c->job)->steps || coordinator_records(c)) && !c->options.allow_mixed;
    const struct job *alike = exact ? c->job : NULL;
    switch (membership_judge(&c->work.membership, packet, alike, now_us, &refusal, text)) {
    case ADMISSION_REPEAT:
        coordinator_hear(membership_place(&c->work.membership, &packet->message), packet, now_us,
                         outbox);
        return true;
    case ADMISSION_WAIT:
        envelope_ask_to_wait(&c->envelope, packet, text, outbox);
        return false;
    case ADMISSION_REFUSE:
        envelope_refuse(&c->envelope, packet, refusal, outbox, "%s", text);
        log_refused(c, packet, text, outbox);
        return false;
    case ADMISSION_REPLACE:
        if (!replace_holder(c, packet, now_us, outbox)) {
            coordinator_answer_finished(c, packet, outbox);
            return false;
        }
        replaces = true;
        break;
    case ADMISSION_FREE:
        break;
    }
    take_in(c, packet, replaces, now_us, outbox);
    return c->state < FINISHING;
}

/* A process of this job, or one that would join it. */
static void join_job(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                     struct outbox *outbox)
{
    const struct message *message = &packet->message;
    const struct member *place = membership_place(&c->work.membership, message);
    bool is_member = place != NULL && place->present && place->incarnation == message->incarnation;
    if (membership_departure(&c->work.membership, message) != DEPARTURE_NONE) {
        coordinator_answer_departed(c, packet, outbox);
        return;
    }
    if (c->state == CLOSING && !is_member && (message->role == ROLE_WORKER || c->closed)) {
        c->turned_away = true;
        envelope_ask_to_wait(&c->envelope, packet, "training is over; the job is being closed",
                             outbox);
        return;
    }
    if (!admit(c, packet, now_us, outbox))
        return;
    if (c->raising != 0) { /* Its WELCOME comes with the new generation. */
        envelope_ask_to_wait(&c->envelope, packet, "the job goes back to its last checkpoint",
                             outbox);
        return;
    }
    if (message->role == ROLE_PS)
        declaration_send(&c->declaration, &c->envelope, packet->peer, outbox);
    welcome(c, membership_place(&c->work.membership, message), message->role, outbox);
    coordinator_start_when_gathered(c, now_us, outbox);
}

/* In a version that the sender understands. */
static void refuse_version(const struct coordinator *c, const struct packet *packet,
                           struct outbox *outbox)
{
    const struct message_join *join = &packet->message.join;
    struct packet *out = envelope_answer(&c->envelope, packet, MESSAGE_REFUSED, outbox);
    out->message.refused.reason = REFUSAL_VERSION;
    out->message.refused.version =
        join->version_max < PROTOCOL_VERSION_MIN ? join->version_max : join->version_min;
    snprintf(out->message.refused.text, MESSAGE_TEXT_MAX,
             "ps/0 speaks protocol versions %u to %u, %s/%u %u to %u: start the same version of "
             "Syncopate everywhere",
             PROTOCOL_VERSION_MIN, PROTOCOL_VERSION_MAX, role_name(packet->message.role),
             packet->message.index, join->version_min, join->version_max);
}

/* Why two jobs have the same port: ports follow from the numbers of Slurm's jobs (deploy/place). */
static void explain_port(const char *one, const char *other, char *text, size_t size)
{
    uint64_t numbers[2];
    text[0] = '\0';
    if (sscanf(one, "Slurm job %" SCNu64, &numbers[0]) == 1 &&
        sscanf(other, "Slurm job %" SCNu64, &numbers[1]) == 1) {
        uint64_t apart =
            numbers[0] > numbers[1] ? numbers[0] - numbers[1] : numbers[1] - numbers[0];
        if (apart % JOB_PORTS == 0)
            snprintf(text, size,
                     " (their ports are the same, for their numbers are %" PRIu64 " apart)", apart);
    }
}

static void refuse_other_job(struct coordinator *c, const struct packet *packet,
                             struct outbox *outbox)
{
    const char *own = c->options.job_id, *other = packet->message.join.job_id;
    char text[MESSAGE_TEXT_MAX];
    explain_port(own, other, text, sizeof text);
    envelope_refuse(&c->envelope, packet, REFUSAL_JOB, outbox,
                    "the server at %s is of %s, this task is of %s%s: give one of them "
                    "--port-base P",
                    c->options.address, own, other, text);
    snprintf(text, sizeof text, "of %s, this is %s", other, own);
    log_refused(c, packet, text, outbox);
}

bool coordinator_refuses_join(struct coordinator *c, const struct packet *packet,
                              struct outbox *outbox)
{
    const struct message_join *join = &packet->message.join;
    if (join->version_max < PROTOCOL_VERSION_MIN || join->version_min > PROTOCOL_VERSION_MAX)
        refuse_version(c, packet, outbox);
    else if (c->options.job_id[0] != '\0' && join->job_id[0] != '\0' &&
             strcmp(c->options.job_id, join->job_id) != 0)
        refuse_other_job(c, packet, outbox);
    else
        return false;
    return true;
}

void coordinator_handle_join(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                             struct outbox *outbox)
{
    const struct message *message = &packet->message;
    bool worker = message->role == ROLE_WORKER;
    if (coordinator_is_of_another_run(c, message))
        coordinator_answer_other_run(c, packet, outbox);
    else if (c->state == WAITING && worker)
        declaration_ask(&c->declaration, &c->envelope, packet, now_us, outbox);
    else if (c->state == WAITING)
        envelope_ask_to_wait(&c->envelope, packet, "no worker has declared a job yet", outbox);
    else if (worker && memcmp(message->join.job_digest, c->declaration.digest, DIGEST_BYTES) != 0)
        declaration_ask(&c->declaration, &c->envelope, packet, now_us,
                        outbox); /* To name the difference. */
    else if (c->state == OPENING)
        envelope_ask_to_wait(&c->envelope, packet, "the run directory is being opened", outbox);
    else
        join_job(c, packet, now_us, outbox);
}

/* --- the declaration ----------------------------------------------------------------------- */

static void accept_job(struct coordinator *c, struct job *job, uint64_t now_us,
                       struct outbox *outbox)
{
    enum status status = declaration_accept(&c->declaration, job);
    if (status == STATUS_OK)
        status = membership_init(&c->work.membership, job->server_count, job->worker_count,
                                 c->options.secret);
    struct frame *copy = frame_create(c->declaration.size);
    if (copy == NULL || status != STATUS_OK) {
        frame_release(copy);
        coordinator_fail(c, EXIT_TRAINING_FAILED, now_us, outbox, "out of memory for the job");
        return;
    }
    memcpy(copy->data, c->declaration.bytes, c->declaration.size);
    const struct order open = {
        .kind = ORDER_OPEN_RUN,
        .run_id = c->options.run_id,
        .open_run = {c->declaration.known_run_id,
                     c->job->record == RECORDING_ON && !c->options.allow_mixed}};
    order_add(outbox, TO_CHECKPOINTER, 0, &open)->payload = copy;
    outbox_log(outbox, "job declared mode=%s workers=%u servers=%u steps=%" PRIu64 " out=%s",
               job_mode_text(job).text, job->worker_count, job->server_count, job->steps,
               c->options.out);
    if (compensation_meets_momentum(job))
        outbox_warn(outbox,
                    "delay compensation moves each gradient as it comes; %s goes on with earlier "
                    "ones too, which nothing moves: compare with a run without it",
                    job->optimizer.name);
    coordinator_enter(c, OPENING, now_us);
    run_phases_enter(&c->summary.phases, RUN_PHASE_OPENING, coordinator_wall(c, now_us));
}

/* The declaration is all here: the job's, or one to compare with it. */
void coordinator_handle_job_page(struct coordinator *c, const struct packet *packet,
                                 uint64_t now_us, struct outbox *outbox)
{
    char who[64];
    struct job job;
    struct error error;
    enum status status = declaration_add(&c->declaration, packet, now_us, &job, &error);
    if (status == STATUS_AGAIN)
        return;
    snprintf(who, sizeof who, "worker/%u", packet->message.index);
    if (status != STATUS_OK) {
        envelope_refuse(&c->envelope, packet, REFUSAL_MALFORMED, outbox, "%s", error.text);
    } else if (c->state != WAITING) {
        if (job_compare(c->job, "the running job", &job, who, JOB_SCOPE_ALL, &error) == STATUS_OK)
            snprintf(error.text, sizeof error.text, "the declaration is encoded differently");
        envelope_refuse(&c->envelope, packet, REFUSAL_JOB, outbox, "%s", error.text);
        job_free(&job);
    } else if (job.server_count == 0) {
        envelope_refuse(&c->envelope, packet, REFUSAL_JOB, outbox, "the job names no servers");
        job_free(&job);
    } else {
        accept_job(c, &job, now_us, outbox);
        return;
    }
    declaration_forget_upload(&c->declaration);
}

/* --- the run is open ----------------------------------------------------------------------- */

/* Where this generation starts from. */
static void adopt_start(struct coordinator *c, const struct order_run_opened *opened)
{
    c->envelope.generation = opened->generation;
    c->restore = opened->restore;
    c->first_step = opened->restore ? opened->restore_step : 0;
    c->last_snapshot = c->last_due = opened->restore ? c->first_step : NO_STEP;
}

bool coordinator_goes_on(const struct coordinator *c)
{
    return c->envelope.run_id != c->options.run_id;
}

/* Batches up to which scores need not be made again. If server 0 was killed, the score of an
 * epoch that ended just where it goes on may have been lost with it. */
static uint64_t scored_before(const struct coordinator *c)
{
    bool lost = coordinator_goes_on(c) && c->first_step > 0;
    return c->first_step - lost;
}

static void open_first(struct coordinator *c, const struct order_run_opened *opened,
                       const struct frame *sets, uint64_t now_us, struct outbox *outbox)
{
    if (c->restore && c->first_step > 0)
        outbox_log(outbox, "resuming from the checkpoint at step %" PRIu64, c->first_step);
    else if (c->restore)
        outbox_log(outbox, "beginning with given values");
    if (job_mode(c->job)->sets && c->job->record != RECORDING_ON)
        outbox_log(outbox, "which leaves steps are made of is not recorded (--record off): the run "
                           "cannot be made again, and a server that is killed changes what it "
                           "comes to");
    if (c->job->record == RECORDING_ON && c->options.allow_mixed)
        outbox_log(outbox, "nothing is recorded: with --allow-mixed processes may compute other "
                           "bits, and the run could not be made again");
    c->whole_step = c->summary.counted_from = c->first_step;
    evaluation_init(&c->evaluation, c->job, scored_before(c));
    if (work_begin(&c->work, c->job, c->first_step, &opened->so_far) != STATUS_OK ||
        coordinator_begin_quorum(c, sets) != STATUS_OK ||
        staleness_totals_init(&c->staleness, c->work.membership.server_count, c->first_step) !=
            STATUS_OK ||
        computations_init(&c->computations, c->job, coordinator_records(c), opened->computation) !=
            STATUS_OK)
        coordinator_fail(c, EXIT_TRAINING_FAILED, now_us, outbox, "out of memory for the job");
    else
        coordinator_enter(c, GATHERING, now_us);
}

/* The newest checkpoint is damaged, and all go back to an older one. Rather than count what is
 * undone, or lose what stands, begin anew and say from where. */
static void count_anew(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    membership_forget_marks(&c->work.membership);
    c->spread_whole = (struct run_spread){0};
    c->whole_step = c->summary.counted_from = c->first_step;
    c->counted_seconds = run_phases_trained(&c->summary.phases, coordinator_wall(c, now_us));
    outbox_log(outbox,
               "what was counted up to step %" PRIu64
               " is not known any more: updates, verdicts and staleness are counted from there on",
               c->first_step);
}

static void go_back(struct coordinator *c, const struct frame *sets, uint64_t now_us,
                    struct outbox *outbox)
{
    if (c->first_step != c->whole_step)
        count_anew(c, now_us, outbox);
    uint64_t again = c->work.rules->go_back(&c->work, c->first_step);
    if (coordinator_begin_quorum(c, sets) != STATUS_OK) {
        coordinator_fail(c, EXIT_TRAINING_FAILED, now_us, outbox,
                         "out of memory for what steps are made of");
        return;
    }
    evaluation_go_back(&c->evaluation, c->first_step);
    c->kept_at = 0;
    staleness_totals_go_back(&c->staleness, c->first_step);
    membership_go_back(&c->work.membership);
    c->summary.spread = c->spread_whole;
    c->windows_from = (double)NAN;
    if (c->summary.window.end > c->first_step)
        c->summary.window = (struct run_window){0};
    if (c->summary.test_step > c->first_step &&
        !job_mode(c->job)->steps) { /* Of an undone model. */
        figures_read(score_figures_rows(), NULL, &c->summary.test);
        c->summary.test_step = 0;
    }
    c->summary.faults.recomputed += again;
    order_event(outbox, EVENT_GENERATION, .text = wording_counted(again, "batch", "batches").text,
                .generation = c->envelope.generation, .step = c->first_step, .recomputed = again);
    computations_go_back(&c->computations);
    c->welcomed_us = now_us;
    for (uint32_t i = 0; i < c->work.membership.server_count; i++)
        coordinator_welcome_again(c, &c->work.membership.servers[i], outbox);
}

void coordinator_handle_run_opened(struct coordinator *c, const struct order_run_opened *opened,
                                   const struct frame *sets, uint64_t now_us, struct outbox *outbox)
{
    bool first = c->state == OPENING;
    if (!first && c->raising == 0)
        return;
    if (first) {
        c->ended_run_id = opened->ended_run_id;
        c->ended_code = opened->exit_code;
    }
    if (opened->status != STATUS_OK) {
        coordinator_fail(c, opened->status == STATUS_MISMATCH ? EXIT_MISMATCH : EXIT_CANNOT_OPEN,
                         now_us, outbox, "%s", opened->text);
        return;
    }
    if (!first && opened->generation < c->raising)
        return;
    if (first)
        c->envelope.run_id = opened->run_id;
    c->raising = 0;
    adopt_start(c, opened);
    if (opened->ended)
        coordinator_finish(c, (int)opened->exit_code, "the run had ended", now_us, outbox);
    else if (c->first_step > c->job->steps)
        coordinator_fail(c, EXIT_MISMATCH, now_us, outbox,
                         "the checkpoint is at step %" PRIu64 ", beyond the %" PRIu64
                         " steps of this job",
                         c->first_step, c->job->steps);
    else if (first)
        open_first(c, opened, sets, now_us, outbox);
    else
        go_back(c, sets, now_us, outbox);
}

/* --- servers ------------------------------------------------------------------------------- */

void coordinator_welcome_again(struct coordinator *c, struct member *server, struct outbox *outbox)
{
    if (!server->present || c->raising != 0)
        return;
    if (!server->has_job)
        declaration_send(&c->declaration, &c->envelope, server->peer, outbox);
    welcome(c, server, ROLE_PS, outbox);
}

void coordinator_repeat_welcomes(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    if (now_us - c->welcomed_us < WELCOME_REPEAT_US)
        return;
    c->welcomed_us = now_us;
    for (uint32_t i = 0; i < c->work.membership.server_count; i++)
        if (!c->work.membership.servers[i].ready)
            coordinator_welcome_again(c, &c->work.membership.servers[i], outbox);
}

static void send_chunks(uint32_t server, struct outbox *outbox)
{
    order_add(outbox, TO_CHECKPOINTER, 0,
              &(struct order){.kind = ORDER_SEND_CHUNKS, .send_chunks.server = server});
}

void coordinator_handle_ready(struct coordinator *c, struct member *server,
                              const struct packet *packet, uint64_t now_us, struct outbox *outbox)
{
    const struct message_ready *ready = &packet->message.ready;
    /* While a new generation is being recorded they are ready for the old one. */
    if (c->raising != 0)
        return;
    server->scored = ready->scored;
    server->scored_lost = ready->scored_lost;
    coordinator_score(c, outbox);
    if (c->state != GATHERING && c->state != RECOVERING)
        return;
    if (ready->needs_chunks) {
        if (!server->ready)
            send_chunks(packet->message.index, outbox);
        return;
    }
    server->ready = true;
    coordinator_start_when_gathered(c, now_us, outbox);
}

void coordinator_raise_generation(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    c->snapshot.given_up_us = 0;
    if (c->snapshot.under_way) {
        c->snapshot.under_way = false;
        c->summary.faults.checkpoints_failed++;
        order_event(outbox, EVENT_CHECKPOINT_GIVEN_UP, .step = c->snapshot.step);
    }
    for (uint32_t i = 0; i < c->work.membership.server_count; i++) {
        struct member *server = &c->work.membership.servers[i];
        server->ready = server->scored_lost = false;
        server->scored = 0;
    }
    for (uint32_t i = 0; i < c->work.membership.worker_count; i++) {
        struct member *worker = &c->work.membership.workers[i];
        worker->done = worker->owes = worker->asks = false;
        worker->first_assignment = worker->assignment = 0;
    }
    run_phases_beside(&c->summary.phases, false, coordinator_wall(c, now_us));
    c->raising = c->envelope.generation + 1;
    order_add(outbox, TO_CHECKPOINTER, 0,
              &(struct order){.kind = ORDER_GO_BACK, .generation = c->raising});
    if (c->state == GATHERING)
        return;
    coordinator_enter(c, RECOVERING, now_us);
    run_phases_enter(&c->summary.phases, RUN_PHASE_RECOVERING, coordinator_wall(c, now_us));
}

/* --- starting ------------------------------------------------------------------------------ */

/* The first start wants all declared workers. A run that goes on after server 0 was killed does
 * not wait for those that were lost with it. */
static bool is_gathered(const struct coordinator *c, uint64_t now_us)
{
    if (c->raising != 0 || !membership_is_served(&c->work.membership))
        return false;
    if (c->state == RECOVERING || membership_is_complete(&c->work.membership))
        return true;
    return coordinator_goes_on(c) && c->has_survivors &&
           c->options.on_worker_loss == LOSS_CONTINUE &&
           seconds_since(c->entered_us, now_us) > c->options.deadlines.silence &&
           membership_workers(&c->work.membership) > 0;
}

static void say_started(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    c->snapshot_us = now_us;
    c->windows_from = windows_begin_at(c->job, c->first_step) ? 0 : (double)NAN;
    order_event(outbox, EVENT_START, .mode = job_mode_text(c->job).text,
                .workers = c->job->worker_count, .servers = c->job->server_count,
                .step = c->first_step, .steps = c->job->steps,
                .steps_per_epoch = job_steps_per_epoch(c->job), .update_examples = c->job->batch,
                .examples = c->job->examples);
}

void coordinator_send_start(struct coordinator *c, struct member *worker, struct outbox *outbox)
{
    const struct message_start from = {
        .step = c->work.rules->step(&c->work),
        .stop_step = c->work.stop_step,
        .records = coordinator_records(c),
    };
    struct frame *sets = coordinator_quorum(c) != NULL ? coordinator_start_sets(c) : NULL;
    assignment_send(&c->work.assignment, worker, &c->envelope, &from, sets, outbox);
}

void coordinator_deal_when_due(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    if (!c->deal_due || c->state != RUNNING)
        return;
    c->deal_due = false;
    assignment_deal(&c->work.assignment, &c->work.membership, now_us);
    coordinator_deal_quorum(c, outbox);
    order_event(outbox, c->work.assignment.number > 1 ? EVENT_ASSIGNMENT_ANEW : EVENT_ASSIGNMENT,
                .text = wording_counted(c->work.assignment.members, "worker", "workers").text,
                .number = c->work.assignment.number, .members = c->work.assignment.members);
    for (uint32_t i = 0; i < c->work.membership.worker_count; i++)
        if (c->work.membership.workers[i].present)
            coordinator_send_start(c, &c->work.membership.workers[i], outbox);
    for (uint32_t i = 0; i < c->work.membership.worker_count && c->work.rules->has_spare(&c->work);
         i++)
        coordinator_top_up(c, i, 0, outbox);
}

void coordinator_start_when_gathered(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    if (c->state != GATHERING && c->state != RECOVERING)
        return;
    bool first = c->state == GATHERING;
    if (first && c->raising == 0 && membership_is_served(&c->work.membership))
        run_phases_enter(&c->summary.phases, RUN_PHASE_GATHERING, coordinator_wall(c, now_us));
    if (!is_gathered(c, now_us))
        return;
    coordinator_enter(c, RUNNING, now_us);
    run_phases_train(&c->summary.phases, coordinator_wall(c, now_us));
    send_chunks(ORDER_EVERYBODY, outbox);
    if (first)
        say_started(c, now_us, outbox);
    coordinator_schedule_snapshot(c, c->work.rules->next_snapshot(&c->work, false), now_us, outbox);
    c->deal_due = true;
    coordinator_stop_training(c, outbox);
    coordinator_deal_when_due(c, now_us, outbox);
    coordinator_tell_quorum(c, now_us, outbox);
}
