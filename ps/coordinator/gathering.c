/* gathering.c - the begin, and every new begin: the declaration, the run directory, WELCOME and
 * READY. */

#include "ps/coordinator/gathering.h"

#include <stdlib.h>
#include <string.h>

#include "common/job/compensation.h"

#define UPLOAD_US 5000000u /* A declaration that stops coming is forgotten. */

/* --- the declaration ----------------------------------------------------------------------- */

static void forget_upload(struct declaration *declaration)
{
    pages_free(&declaration->upload);
    declaration->uploader = 0;
}

void gathering_free(struct run *run)
{
    forget_upload(&run->declaration);
    job_free(&run->declaration.job);
    free(run->declaration.bytes);
}

/* Ask the sender of a JOIN for its declaration, or have it wait for its turn. */
static void ask_for_job(struct run *run, const struct packet *join)
{
    struct declaration *declaration = &run->declaration;
    bool another = declaration->uploader != 0 && declaration->uploader != join->peer;
    if (another && run->now_us - declaration->uploaded_us < UPLOAD_US) {
        run_ask_to_wait(run, join, "another worker is declaring the job");
        return;
    }
    if (another)
        forget_upload(declaration);
    declaration->uploader = join->peer;
    declaration->uploaded_us = run->now_us;
    declaration->known_run_id = join->message.run_id;
    run_answer(run, join, MESSAGE_WANT_JOB);
}

/* STATUS_AGAIN when there is more to come or it was not asked for, STATUS_OK with the uploaded job
 * when it is whole, STATUS_INVALID when it is none. */
static enum status add_page(struct run *run, const struct packet *page, struct job *job,
                            struct error *error)
{
    struct pages *upload = &run->declaration.upload;
    if (run->declaration.uploader != page->peer)
        return STATUS_AGAIN; /* Not asked for, or not any more. */
    run->declaration.uploaded_us = run->now_us;
    if (pages_add(upload, &page->message.job_page) != STATUS_OK)
        return STATUS_AGAIN;
    enum status status = job_decode(upload->bytes, upload->total, job, error);
    if (status == STATUS_MEMORY) { /* It is asked for again. */
        forget_upload(&run->declaration);
        return STATUS_AGAIN;
    }
    return status == STATUS_OK ? STATUS_OK : STATUS_INVALID;
}

void gathering_send_job(const struct run *run, uint64_t peer)
{
    struct message_job_page page;
    for (uint32_t i = 0; pages_cut(run->declaration.bytes, run->declaration.size, i, &page); i++)
        run_send(run, peer, MESSAGE_JOB_PAGE)->message.job_page = page;
}

bool gathering_handle_join(struct run *run, const struct packet *packet)
{
    const struct message *message = &packet->message;
    bool worker = message->role == ROLE_WORKER;
    if (run->state == WAITING && !worker)
        run_ask_to_wait(run, packet, "no worker has declared a job yet");
    else if (run->state == WAITING || /* Else to name the difference. */
             (worker &&
              memcmp(message->join.job_digest, run->declaration.digest, DIGEST_BYTES) != 0))
        ask_for_job(run, packet);
    else if (run->state == OPENING)
        run_ask_to_wait(run, packet, "the run directory is being opened");
    else
        return false;
    return true;
}

static struct effect accept_job(struct run *run, struct job *job)
{
    struct declaration *declaration = &run->declaration;
    declaration->job = *job;
    declaration->bytes = declaration->upload.bytes;
    declaration->size = declaration->upload.total;
    declaration->upload.bytes = NULL;
    forget_upload(declaration);
    enum status status = job_digest(&declaration->job, declaration->digest);
    if (status == STATUS_OK)
        status = membership_init(run->members, job->server_count, job->worker_count,
                                 run->options.secret);
    struct frame *copy = frame_create(declaration->size);
    if (copy == NULL || status != STATUS_OK) {
        frame_release(copy);
        return effect_no_memory("the job");
    }
    memcpy(copy->data, declaration->bytes, declaration->size);
    const struct order open = {
        .kind = ORDER_OPEN_RUN,
        .run_id = run->options.run_id,
        .open_run = {declaration->known_run_id,
                     run->job->record == RECORDING_ON && !run->options.allow_mixed}};
    order_add(run->outbox, TO_CHECKPOINTER, 0, &open)->payload = copy;
    outbox_log(run->outbox, "job declared mode=%s workers=%u servers=%u steps=%" PRIu64 " out=%s",
               job_mode_text(job).text, job->worker_count, job->server_count, job->steps,
               run->options.out);
    if (compensation_meets_momentum(job))
        outbox_warn(run->outbox,
                    "delay compensation moves each gradient as it comes; %s goes on with earlier "
                    "ones too, which nothing moves: compare with a run without it",
                    job->optimizer.name);
    return (struct effect){.kind = EFFECT_DECLARED};
}

struct effect gathering_add_page(struct run *run, const struct packet *packet)
{
    char who[64];
    struct job job;
    struct error error;
    enum status status = add_page(run, packet, &job, &error);
    if (status == STATUS_AGAIN)
        return NO_EFFECT;
    snprintf(who, sizeof who, "worker/%u", packet->message.index);
    if (status != STATUS_OK) {
        run_refuse(run, packet, REFUSAL_MALFORMED, "%s", error.text);
    } else if (run->state != WAITING) {
        if (job_compare(run->job, "the running job", &job, who, JOB_SCOPE_ALL, &error) == STATUS_OK)
            snprintf(error.text, sizeof error.text, "the declaration is encoded differently");
        run_refuse(run, packet, REFUSAL_JOB, "%s", error.text);
        job_free(&job);
    } else if (job.server_count == 0) {
        run_refuse(run, packet, REFUSAL_JOB, "the job names no servers");
        job_free(&job);
    } else {
        return accept_job(run, &job);
    }
    forget_upload(&run->declaration);
    return NO_EFFECT;
}

/* --- the run is open ----------------------------------------------------------------------- */

static void say_opened(const struct run *run)
{
    bool recorded = run->job->record == RECORDING_ON;
    if (run->restore && run->first_step > 0)
        outbox_log(run->outbox, "resuming from the checkpoint at step %" PRIu64, run->first_step);
    else if (run->restore)
        outbox_log(run->outbox, "beginning with given values");
    if (job_mode(run->job)->sets && !recorded)
        outbox_log(run->outbox,
                   "which leaves steps are made of is not recorded (--record off): the run "
                   "cannot be made again");
    if (recorded && run->options.allow_mixed)
        outbox_log(run->outbox,
                   "nothing is recorded: with --allow-mixed processes may compute other "
                   "bits, and the run could not be made again");
}

struct effect gathering_opened(struct run *run, const struct order_run_opened *opened)
{
    bool first = run->state == OPENING;
    if (!first && run->raising == 0)
        return NO_EFFECT;
    if (first) {
        run->ended_run_id = opened->ended_run_id;
        run->ended_code = opened->exit_code;
    }
    if (opened->status != STATUS_OK)
        return effect_failed(opened->status == STATUS_MISMATCH ? EXIT_MISMATCH : EXIT_CANNOT_OPEN,
                             "%s", opened->text);
    if (!first && opened->generation < run->raising)
        return NO_EFFECT;
    if (first)
        run->envelope.run_id = opened->run_id;
    run->raising = 0;
    run->envelope.generation = opened->generation;
    run->restore = opened->restore;
    run->first_step = opened->restore ? opened->restore_step : 0;
    run->whole = opened->restore ? run->first_step : NO_STEP;
    if (opened->ended)
        return (struct effect){.kind = EFFECT_STOPPED,
                               .exit_code = (int)opened->exit_code,
                               .text = "the run had ended"};
    if (run->first_step > run->job->steps)
        return effect_failed(EXIT_MISMATCH,
                             "the checkpoint is at step %" PRIu64 ", beyond the %" PRIu64
                             " steps of this job",
                             run->first_step, run->job->steps);
    if (first)
        say_opened(run);
    return (struct effect){.kind = first ? EFFECT_OPENED : EFFECT_WENT_BACK};
}

/* --- servers ------------------------------------------------------------------------------- */

void gathering_welcome(const struct run *run, const struct member *member, enum role role)
{
    struct message *message = &run_send(run, member->peer, MESSAGE_WELCOME)->message;
    message->welcome.ticket = member->ticket;
    message->welcome.proof = member->proof;
    if (role == ROLE_PS)
        memcpy(message->welcome.secret, run->options.secret, HASH_BYTES);
    message->welcome.records = run_records(run);
    message->welcome.restore = run->restore;
    message->welcome.restore_step = run->first_step;
    snprintf(message->welcome.out, sizeof message->welcome.out, "%s", run->options.out);
}

void gathering_welcome_again(const struct run *run, const struct member *server)
{
    if (!server->present || run->raising != 0)
        return;
    if (!server->has_job)
        gathering_send_job(run, server->peer);
    gathering_welcome(run, server, ROLE_PS);
}

/* To servers that are not ready. */
static void welcome_all(struct gathering *g, const struct run *run)
{
    g->welcomed_us = run->now_us;
    for (uint32_t i = 0; i < run->members->server_count; i++)
        if (!run->members->servers[i].ready)
            gathering_welcome_again(run, &run->members->servers[i]);
}

void gathering_begin(struct gathering *g, const struct run *run, uint64_t again)
{
    order_event(
        run->outbox, EVENT_GENERATION, .text = wording_counted(again, "batch", "batches").text,
        .generation = run->envelope.generation, .step = run->first_step, .recomputed = again);
    welcome_all(g, run);
}

void gathering_send_chunks(const struct run *run, uint32_t server)
{
    order_add(run->outbox, TO_CHECKPOINTER, 0,
              &(struct order){.kind = ORDER_SEND_CHUNKS, .send_chunks.server = server});
}

void gathering_pass_chunk(const struct run *run, struct packet *packet)
{
    const struct membership *all = run->members;
    uint32_t server = packet->message.chunk_state.server;
    if (server >= all->server_count || !all->servers[server].present)
        return;
    struct packet *out = run_send(run, all->servers[server].peer, MESSAGE_CHUNK_STATE);
    out->message.chunk_state = packet->message.chunk_state;
    out->payload = packet->payload;
    packet->payload = NULL;
}

bool gathering_ready(const struct run *run, struct member *server, const struct packet *packet)
{
    if (run->state != GATHERING && run->state != RECOVERING)
        return false;
    if (packet->message.ready.needs_chunks) {
        if (!server->ready)
            gathering_send_chunks(run, packet->message.index);
        return false;
    }
    server->ready = true;
    return true;
}

void gathering_raise(struct run *run)
{
    membership_begin_generation(run->members);
    run->raising = run->envelope.generation + 1;
    order_add(run->outbox, TO_CHECKPOINTER, 0,
              &(struct order){.kind = ORDER_GO_BACK, .generation = run->raising});
}

/* --- starting ------------------------------------------------------------------------------ */

/* The first start wants all declared workers. A run that goes on after server 0 was killed does
 * not wait for those that were lost with it. */
bool gathering_is_gathered(const struct run *run, bool survivors)
{
    const struct membership *members = run->members;
    if ((run->state != GATHERING && run->state != RECOVERING) || run->raising != 0 ||
        !membership_is_served(members))
        return false;
    if (run->state == RECOVERING || membership_is_complete(members))
        return true;
    return run_goes_on(run) && survivors && run->options.on_worker_loss == LOSS_CONTINUE &&
           run_since(run, run->entered_us) > run->options.deadlines.silence &&
           membership_workers(members) > 0;
}

/* Until training starts there is one deadline, for all reasons of waiting. */
static struct effect start_timed_out(const struct run *run)
{
    char missing[MESSAGE_TEXT_MAX / 2];
    struct wording waited = wording_duration(run->options.deadlines.start);
    if (run->state == WAITING)
        return effect_failed(EXIT_START_TIMEOUT,
                             "start timed out after %s: no worker has declared a job", waited.text);
    if (run->state == OPENING)
        return effect_failed(EXIT_START_TIMEOUT, "the run directory %s does not open",
                             run->options.out);
    membership_list_missing(run->members, true, missing, sizeof missing);
    return effect_failed(EXIT_START_TIMEOUT, "start timed out after %s waiting for %s", waited.text,
                         missing);
}

/* Loading may take as long as at the start; a lost member has a deadline of its own. */
static struct effect recovery_timed_out(const struct run *run, double waited)
{
    char missing[MESSAGE_TEXT_MAX / 2];
    membership_list_missing(run->members, false, missing, sizeof missing);
    return effect_failed(EXIT_CLUSTER_LOST,
                         "going back to the last checkpoint took longer than %s: %s",
                         wording_duration(waited).text,
                         run->raising != 0 ? "the run directory does not answer" : missing);
}

struct effect gathering_tick(struct gathering *g, const struct run *run)
{
    const struct deadlines *deadlines = &run->options.deadlines;
    double waited = run_since(run, run->entered_us);
    if (run->state <= GATHERING && run_since(run, g->began_us) > deadlines->start)
        return start_timed_out(run);
    if (run->state == RECOVERING && waited > deadlines->recovery && waited > deadlines->start)
        return recovery_timed_out(run, waited);
    if ((run->state == GATHERING || run->state == RECOVERING) &&
        run->now_us - g->welcomed_us >= WELCOME_REPEAT_US)
        welcome_all(g, run);
    return NO_EFFECT;
}
