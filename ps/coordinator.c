#include "ps/coordinator.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/complaint.h"
#include "common/pages.h"
#include "ps/leases.h"
#include "ps/ledger.h"
#include "ps/membership.h"
#include "ps/scoreboard.h"

#define WAITING_LINE_US    5000000u /* Between lines that say who is waited for. */
#define FINISHED_REPEAT_US 500000u
#define LINGER_US          2000000u /* Those who are no members yet ask again within this time. */
#define UPLOAD_US          5000000u /* A declaration that stops coming is forgotten. */
#define WINDOWS_AN_EPOCH   40       /* Progress events. */
#define CUT_MARGIN         2        /* Versions between naming a cut and reaching it. */
#define NO_STEP            UINT64_MAX
#define IMPOSTORS_A_LINE   1000

enum state { WAITING, OPENING, GATHERING, RUNNING, CLOSING, FINISHING, OVER };

struct cut {
    bool under_way, final;
    uint64_t step, started_us;
};

struct coordinator {
    struct coordinator_options options;
    enum state state;
    uint64_t entered_us; /* The state. */
    struct job job;
    uint8_t *job_bytes; /* [job_size] */
    uint32_t job_size;
    uint8_t job_digest[DIGEST_BYTES];
    struct pages upload;  /* A declaration on its way in ... */
    uint64_t uploader;    /* ... from this peer, 0 for none ... */
    uint64_t uploaded_us; /* ... and when its last page came. */
    struct membership membership;
    bool restore;
    uint64_t first_step, stop_step;
    bool stopping;
    uint64_t stop_us;
    struct ledger ledger;
    struct leases leases; /* Async. */
    struct cut cut;
    uint64_t last_cut; /* Step of the newest whole checkpoint; NO_STEP for none. */
    uint64_t last_due; /* The same, counting those that were given up. */
    uint64_t cuts_skipped;
    struct complaint complaint; /* Of checkpoints that cannot be written. */
    struct scoreboard scoreboard;
    struct run_summary summary;
    uint64_t training_us; /* When training started. */
    uint64_t window_us, evaluation_us, drain_us;
    uint64_t waited_us, told_us;
    bool own_router_left; /* Although it had never become a member. */
    uint64_t impostors;   /* Messages in a member's name that came with another key. */
    int exit_code;
    char reason[MESSAGE_TEXT_MAX];
};

/* --- life ---------------------------------------------------------------------------------- */

enum status coordinator_create(struct coordinator **coordinator,
                               const struct coordinator_options *options, uint64_t now_us)
{
    struct coordinator *c = calloc(1, sizeof *c);
    *coordinator = c;
    if (c == NULL)
        return STATUS_MEMORY;
    c->options = *options;
    c->entered_us = c->waited_us = now_us;
    c->last_cut = c->last_due = NO_STEP;
    c->summary.test_accuracy = c->summary.test_loss = (double)NAN;
    return STATUS_OK;
}

static void upload_clear(struct coordinator *c)
{
    pages_free(&c->upload);
    c->uploader = 0;
}

void coordinator_destroy(struct coordinator **coordinator)
{
    struct coordinator *c = *coordinator;
    if (c == NULL)
        return;
    upload_clear(c);
    leases_free(&c->leases);
    job_free(&c->job);
    free(c->job_bytes);
    membership_free(&c->membership);
    free(c);
    *coordinator = NULL;
}

bool coordinator_is_over(const struct coordinator *coordinator)
{
    return coordinator->state == OVER;
}

static void enter(struct coordinator *c, enum state state, uint64_t now_us)
{
    c->state = state;
    c->entered_us = now_us;
}

static double seconds_since(uint64_t then_us, uint64_t now_us)
{
    return (double)(now_us - then_us) * 1e-6;
}

/* --- sending ------------------------------------------------------------------------------- */

static struct packet *send_peer(uint64_t peer, enum message_kind kind, struct outbox *outbox)
{
    struct packet *packet = outbox_add(outbox, TO_PEER, kind);
    packet->peer = peer;
    return packet;
}

/* Answer whoever sent `to`. */
static struct packet *answer(const struct packet *to, enum message_kind kind, struct outbox *outbox)
{
    struct packet *packet = send_peer(to->peer, kind, outbox);
    packet->message.request = to->message.request;
    return packet;
}

static void event(struct outbox *outbox, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void event(struct outbox *outbox, const char *name, const char *format, ...)
{
    struct packet *packet = outbox_add(outbox, TO_KEEPER, MESSAGE_EVENT);
    snprintf(packet->message.event.name, sizeof packet->message.event.name, "%s", name);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(packet->message.event.members, MESSAGE_TEXT_MAX, format, arguments);
    va_end(arguments);
}

static void refuse(const struct packet *packet, enum refusal reason, struct outbox *outbox,
                   const char *format, ...) __attribute__((format(printf, 4, 5)));
static void refuse(const struct packet *packet, enum refusal reason, struct outbox *outbox,
                   const char *format, ...)
{
    struct packet *out = answer(packet, MESSAGE_REFUSED, outbox);
    out->message.refused.reason = reason;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out->message.refused.text, MESSAGE_TEXT_MAX, format, arguments);
    va_end(arguments);
    outbox_log(outbox, "refused %s/%u: %s", role_name(packet->message.role), packet->message.index,
               out->message.refused.text);
}

/* It may repeat itself as often as it likes, but not in our log. */
static void refuse_impostor(struct coordinator *c, const struct packet *packet,
                            struct outbox *outbox)
{
    struct packet *out = answer(packet, MESSAGE_REFUSED, outbox);
    out->message.refused.reason = REFUSAL_KEY;
    snprintf(out->message.refused.text, MESSAGE_TEXT_MAX, "%s/%u has another key",
             role_name(packet->message.role), packet->message.index);
    if (c->impostors++ % IMPOSTORS_A_LINE == 0)
        outbox_log(outbox, "refused an impostor count=%" PRIu64 ": %s", c->impostors,
                   out->message.refused.text);
}

static void tell_waiting(const struct packet *packet, struct outbox *outbox, const char *text)
{
    snprintf(answer(packet, MESSAGE_WAITING, outbox)->message.waiting.text, MESSAGE_TEXT_MAX, "%s",
             text);
}

/* --- the end ------------------------------------------------------------------------------- */

static double training_seconds(const struct coordinator *c, uint64_t now_us)
{
    if (c->training_us == 0)
        return 0;
    double all = seconds_since(c->training_us, now_us);
    return all - (double)(c->evaluation_us + c->drain_us) * 1e-6;
}

static void write_summary(struct coordinator *c, enum run_state state, uint64_t now_us,
                          struct outbox *outbox)
{
    struct run_summary *summary = &c->summary;
    struct tally epoch = ledger_last_epoch(&c->ledger);
    summary->state = state;
    snprintf(summary->reason, sizeof summary->reason, "%s", c->reason);
    summary->evaluation_seconds = (double)c->evaluation_us * 1e-6;
    summary->checkpoint_seconds = (double)c->drain_us * 1e-6;
    summary->train_loss = tally_loss(&epoch);
    summary->train_accuracy = tally_accuracy(&epoch);
    if (summary->seconds == 0) /* Training has not ended by itself. */
        summary->seconds = training_seconds(c, now_us);
    summary->worker_count = c->job.worker_count;
    summary->verdicts = (struct verdict_counts){0};
    for (uint32_t i = 0; i < c->job.server_count; i++)
        verdict_counts_add(&summary->verdicts, &c->membership.servers[i].verdicts);
    memset(&summary->staleness, 0, sizeof summary->staleness);
    uint64_t examples = 0;
    for (uint32_t i = 0; i < c->job.worker_count; i++) {
        staleness_merge(&summary->staleness, &c->membership.workers[i].summary.staleness);
        examples += c->membership.workers[i].summary.examples;
    }
    summary->images_per_second = summary->seconds > 0 ? (double)examples / summary->seconds : 0;

    size_t worker_bytes = c->job.worker_count * sizeof(struct worker_summary);
    struct frame *frame = frame_create(sizeof *summary + worker_bytes);
    if (frame == NULL)
        return;
    memcpy(frame->data, summary, sizeof *summary);
    struct worker_summary *workers =
        (struct worker_summary *)(void *)((char *)frame->data + sizeof *summary);
    for (uint32_t i = 0; i < c->job.worker_count; i++)
        workers[i] = c->membership.workers[i].summary;
    struct packet *packet = outbox_add(outbox, TO_KEEPER, MESSAGE_SUMMARY);
    packet->message.run_id = c->options.run_id;
    packet->payload = frame;
}

static void tell_finished(const struct coordinator *c, uint64_t peer, struct outbox *outbox)
{
    struct packet *packet = send_peer(peer, MESSAGE_FINISHED, outbox);
    packet->message.stop.exit_code = (uint32_t)c->exit_code;
    snprintf(packet->message.stop.reason, MESSAGE_TEXT_MAX, "%s", c->reason);
}

static void tell_everybody(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    c->told_us = now_us;
    for (uint32_t i = 0; i < c->job.worker_count; i++)
        if (c->membership.workers[i].present && !c->membership.workers[i].bye)
            tell_finished(c, c->membership.workers[i].peer, outbox);
    for (uint32_t i = 0; i < c->job.server_count; i++)
        if (c->membership.servers[i].present && !c->membership.servers[i].bye)
            tell_finished(c, c->membership.servers[i].peer, outbox);
    if (c->membership.servers == NULL) /* No job yet: only our own router. */
        tell_finished(c, PEER_LOCAL, outbox);
}

static void finish(struct coordinator *c, int exit_code, const char *reason, uint64_t now_us,
                   struct outbox *outbox)
{
    if (c->state >= FINISHING)
        return;
    c->exit_code = exit_code;
    snprintf(c->reason, sizeof c->reason, "%s", reason);
    bool clean =
        exit_code == EXIT_DONE || exit_code == EXIT_INTERRUPTED || exit_code == EXIT_TERMINATED;
    outbox_log(outbox, "job %s exit=%d%s%s", clean ? "finished" : "ends", exit_code,
               reason[0] != '\0' ? " reason: " : "", reason);
    enter(c, FINISHING, now_us);
    tell_everybody(c, now_us, outbox);
}

static void fail(struct coordinator *c, int exit_code, uint64_t now_us, struct outbox *outbox,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));
static void fail(struct coordinator *c, int exit_code, uint64_t now_us, struct outbox *outbox,
                 const char *format, ...)
{
    char text[MESSAGE_TEXT_MAX];
    if (c->state >= FINISHING)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(c->reason, sizeof c->reason, "%s", text);
    if (c->state >= GATHERING)
        write_summary(c, RUN_FAILED, now_us, outbox);
    finish(c, exit_code, text, now_us, outbox);
}

/* --- joining ------------------------------------------------------------------------------- */

static void send_job(const struct coordinator *c, uint64_t peer, struct outbox *outbox)
{
    struct message_job_page page;
    for (uint32_t i = 0; pages_cut(c->job_bytes, c->job_size, i, &page); i++)
        send_peer(peer, MESSAGE_JOB_PAGE, outbox)->message.job_page = page;
}

static void welcome(const struct coordinator *c, uint64_t peer, struct outbox *outbox)
{
    struct message *message = &send_peer(peer, MESSAGE_WELCOME, outbox)->message;
    message->welcome.restore = c->restore;
    message->welcome.restore_step = c->first_step;
    snprintf(message->welcome.out, sizeof message->welcome.out, "%s", c->options.out);
}

/* Take the sender in; false when it was refused. */
static bool admit(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                  struct outbox *outbox)
{
    char text[MESSAGE_TEXT_MAX];
    const struct message *message = &packet->message;
    bool known = membership_find(&c->membership, message) != NULL;
    /* Sync promises equal bits; async does not. */
    bool exact = c->job.mode == MODE_SYNC && !c->options.allow_mixed;
    enum refusal refusal = membership_admit(&c->membership, packet, exact, now_us, text);
    if (refusal != REFUSAL_NONE) {
        refuse(packet, refusal, outbox, "%s", text);
        return false;
    }
    if (!known)
        outbox_log(outbox, "%s/%u joined from %s (%s)", role_name(message->role), message->index,
                   message->join.host, message->join.arithmetic);
    return true;
}

static void want_job(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                     struct outbox *outbox)
{
    if (c->uploader != 0 && c->uploader != packet->peer && now_us - c->uploaded_us < UPLOAD_US) {
        tell_waiting(packet, outbox, "another worker is declaring the job");
        return;
    }
    if (c->uploader != packet->peer)
        upload_clear(c);
    c->uploader = packet->peer;
    c->uploaded_us = now_us;
    answer(packet, MESSAGE_WANT_JOB, outbox);
}

static void start_when_gathered(struct coordinator *c, uint64_t now_us, struct outbox *outbox);

static void handle_join(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                        struct outbox *outbox)
{
    const struct message *message = &packet->message;
    if (message->join.version_max < PROTOCOL_VERSION_MIN ||
        message->join.version_min > PROTOCOL_VERSION_MAX) {
        refuse(packet, REFUSAL_VERSION, outbox,
               "protocol versions %u to %u are spoken here, %u to %u there", PROTOCOL_VERSION_MIN,
               PROTOCOL_VERSION_MAX, message->join.version_min, message->join.version_max);
        return;
    }
    bool worker = message->role == ROLE_WORKER;
    if (c->state == WAITING && worker) {
        want_job(c, packet, now_us, outbox);
    } else if (c->state == WAITING) {
        tell_waiting(packet, outbox, "no worker has declared a job yet");
    } else if (worker && memcmp(message->join.job_digest, c->job_digest, DIGEST_BYTES) != 0) {
        want_job(c, packet, now_us, outbox); /* To name what differs. */
    } else if (c->state == OPENING) {
        tell_waiting(packet, outbox, "the run directory is being opened");
    } else if (admit(c, packet, now_us, outbox)) {
        if (!worker)
            send_job(c, packet->peer, outbox);
        welcome(c, packet->peer, outbox);
        start_when_gathered(c, now_us, outbox);
    }
}

static void accept_job(struct coordinator *c, struct job *job, uint64_t now_us,
                       struct outbox *outbox)
{
    c->job = *job;
    c->job_bytes = c->upload.bytes;
    c->job_size = c->upload.total;
    c->upload.bytes = NULL;
    struct frame *copy = frame_create(c->job_size);
    if (copy == NULL || job_digest(&c->job, c->job_digest) != STATUS_OK ||
        membership_init(&c->membership, job->server_count, job->worker_count) != STATUS_OK) {
        frame_release(copy);
        fail(c, EXIT_TRAINING_FAILED, now_us, outbox, "out of memory for the job");
        return;
    }
    memcpy(copy->data, c->job_bytes, c->job_size);
    struct packet *packet = outbox_add(outbox, TO_KEEPER, MESSAGE_OPEN_RUN);
    packet->message.run_id = c->options.run_id;
    packet->payload = copy;
    outbox_log(outbox, "job declared mode=%s workers=%u servers=%u steps=%" PRIu64 " out=%s",
               mode_name(job->mode), job->worker_count, job->server_count, job->steps,
               c->options.out);
    enter(c, OPENING, now_us);
}

/* The declaration is all here: the job's, or one to be told from it. */
static void handle_upload(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                          struct outbox *outbox)
{
    char who[64];
    struct job job;
    struct error error;
    snprintf(who, sizeof who, "worker/%u", packet->message.index);
    if (job_decode(c->upload.bytes, c->upload.total, &job, &error) != STATUS_OK) {
        refuse(packet, REFUSAL_MALFORMED, outbox, "%s", error.text);
    } else if (c->state != WAITING) {
        if (job_compare(&c->job, "the running job", &job, who, JOB_SCOPE_ALL, &error) == STATUS_OK)
            snprintf(error.text, sizeof error.text, "the declaration is encoded differently");
        refuse(packet, REFUSAL_JOB, outbox, "%s", error.text);
        job_free(&job);
    } else if (job.server_count == 0) {
        refuse(packet, REFUSAL_JOB, outbox, "the job names no servers");
        job_free(&job);
    } else {
        accept_job(c, &job, now_us, outbox);
    }
    upload_clear(c);
}

static void handle_job_page(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                            struct outbox *outbox)
{
    if (c->uploader != packet->peer)
        return; /* Not asked for, or not any more. */
    c->uploaded_us = now_us;
    if (pages_add(&c->upload, &packet->message.job_page) == STATUS_OK)
        handle_upload(c, packet, now_us, outbox);
}

static void handle_run_opened(struct coordinator *c, const struct message_run_opened *opened,
                              uint64_t now_us, struct outbox *outbox)
{
    if (opened->status != STATUS_OK) {
        fail(c, opened->status == STATUS_MISMATCH ? EXIT_MISMATCH : EXIT_CANNOT_OPEN, now_us,
             outbox, "%s", opened->text);
        return;
    }
    c->restore = opened->restore;
    c->first_step = opened->restore ? opened->restore_step : 0;
    if (c->restore) {
        outbox_log(outbox, "resuming from the checkpoint at step %" PRIu64, c->first_step);
        c->last_cut = c->last_due = c->first_step;
    }
    if (c->first_step > c->job.steps) {
        fail(c, EXIT_MISMATCH, now_us, outbox,
             "the checkpoint is at step %" PRIu64 ", beyond the %" PRIu64 " steps of this job",
             c->first_step, c->job.steps);
        return;
    }
    c->stop_step = c->job.steps;
    ledger_init(&c->ledger, &c->job, c->first_step);
    if (leases_init(&c->leases, c->job.worker_count, c->first_step, c->job.steps) != STATUS_OK) {
        fail(c, EXIT_TRAINING_FAILED, now_us, outbox, "out of memory for the job");
        return;
    }
    enter(c, GATHERING, now_us);
}

/* --- gathering ----------------------------------------------------------------------------- */

static void schedule_cut(struct coordinator *c, uint64_t now_us, struct outbox *outbox);

static void start_when_gathered(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    if (c->state != GATHERING || !membership_is_gathered(&c->membership))
        return;

    enter(c, RUNNING, now_us);
    c->training_us = c->window_us = now_us;
    outbox_add(outbox, TO_KEEPER, MESSAGE_SEND_CHUNKS)->message.send_chunks.server = UINT32_MAX;
    event(outbox, "start",
          "\"mode\": \"%s\", \"workers\": %u, \"servers\": %u, \"step\": %" PRIu64
          ", \"steps\": %" PRIu64 ", \"steps_per_epoch\": %" PRIu64
          ", \"update_examples\": %u, \"examples\": %" PRIu64,
          mode_name(c->job.mode), c->job.worker_count, c->job.server_count, c->first_step,
          c->job.steps, job_steps_per_epoch(&c->job), c->job.batch, c->job.examples);
    outbox_log(outbox, "training starts step=%" PRIu64 " of=%" PRIu64, c->first_step, c->job.steps);
    schedule_cut(c, now_us, outbox);
    for (uint32_t i = 0; i < c->job.worker_count; i++) {
        struct message *message =
            &send_peer(c->membership.workers[i].peer, MESSAGE_START, outbox)->message;
        message->start.step = c->first_step;
        message->start.assignment = 1;
        message->start.members = c->job.worker_count;
        message->start.position = i;
        message->start.stop_step = c->stop_step;
    }
}

static void handle_ready(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                         struct outbox *outbox)
{
    struct member *server = &c->membership.servers[packet->message.index];
    if (packet->message.ready.needs_chunks) {
        outbox_add(outbox, TO_KEEPER, MESSAGE_SEND_CHUNKS)->message.send_chunks.server =
            packet->message.index;
        return;
    }
    server->ready = true;
    start_when_gathered(c, now_us, outbox);
}

/* --- cutting ------------------------------------------------------------------------------- */

static void begin_cut(struct coordinator *c, uint64_t step, bool final, uint64_t now_us,
                      struct outbox *outbox)
{
    c->cut = (struct cut){.under_way = true, .final = final, .step = step, .started_us = now_us};
    for (uint32_t i = 0; i < c->job.server_count; i++) {
        c->membership.servers[i].cut_taken = c->membership.servers[i].part_written = false;
        struct packet *packet = send_peer(c->membership.servers[i].peer, MESSAGE_CUT, outbox);
        packet->message.cut.step = step;
        packet->message.cut.final = final;
    }
}

/* Name the next multiple of checkpoint_every that nobody can have reached yet. */
static void schedule_cut(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    uint64_t every = c->job.checkpoint_every;
    if (every == 0 || c->stopping || c->state != RUNNING)
        return;
    bool async = c->job.mode == MODE_ASYNC;
    uint64_t reached = async ? c->leases.next : c->ledger.step + CUT_MARGIN;
    if (!async && c->ledger.updates == 0)
        reached = c->first_step + 1; /* Nobody has started. */
    uint64_t due = (c->last_due == NO_STEP ? c->first_step : c->last_due) / every * every + every;
    while (due < reached && due < c->job.steps) {
        due += every;
        c->cuts_skipped++;
    }
    if (due >= c->job.steps)
        return; /* The last one is cut when training has ended. */
    if (async)
        c->leases.gate = due;
    else
        begin_cut(c, due, false, now_us, outbox);
}

static bool all_servers(const struct coordinator *c, bool (*has)(const struct member *))
{
    for (uint32_t i = 0; i < c->job.server_count; i++)
        if (!has(&c->membership.servers[i]))
            return false;
    return true;
}

static bool member_cut_taken(const struct member *member)
{
    return member->cut_taken;
}

static bool member_part_written(const struct member *member)
{
    return member->part_written;
}

static void open_gate(struct coordinator *c, uint64_t now_us, struct outbox *outbox);

static void abandon_cut(struct coordinator *c, const char *why, uint64_t now_us,
                        struct outbox *outbox)
{
    bool final = c->cut.final;
    c->summary.faults.checkpoints_failed++;
    if (complaint_add(&c->complaint, why))
        outbox_warn(outbox, "checkpoint at step %" PRIu64 " not written: %s", c->cut.step, why);
    c->cut.under_way = false;
    c->cuts_skipped++;
    if (final) {
        fail(c, EXIT_CANNOT_OPEN, now_us, outbox, "the last checkpoint was not written: %s", why);
        return;
    }
    event(outbox, "checkpoint_failed", "\"step\": %" PRIu64, c->cut.step);
    c->last_due = c->cut.step;
    if (c->job.mode == MODE_ASYNC && c->leases.gate == c->cut.step)
        open_gate(c, now_us, outbox); /* Nobody else would: some server has not taken its cut. */
    schedule_cut(c, now_us, outbox);
}

static void handle_cut_taken(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                             struct outbox *outbox)
{
    const struct message_cut_taken *taken = &packet->message.cut_taken;
    struct member *server = &c->membership.servers[packet->message.index];
    server->verdicts = taken->verdicts;
    if (!c->cut.under_way || taken->step != c->cut.step)
        return;
    if (!taken->taken) {
        abandon_cut(c, "training had passed that step", now_us, outbox);
        return;
    }
    server->cut_taken = true;
    if (all_servers(c, member_cut_taken) && c->job.mode == MODE_ASYNC && !c->cut.final)
        open_gate(c, now_us, outbox);
}

static void handle_part_written(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                                struct outbox *outbox)
{
    const struct message_part_written *written = &packet->message.part_written;
    if (!c->cut.under_way || written->step != c->cut.step || written->server >= c->job.server_count)
        return;
    if (!written->written) {
        abandon_cut(c, written->text, now_us, outbox);
        return;
    }
    c->membership.servers[written->server].part = written->part;
    c->membership.servers[written->server].part_written = true;
    if (!all_servers(c, member_part_written))
        return;
    struct frame *parts = frame_create(c->job.server_count * sizeof(struct checkpoint_part));
    if (parts == NULL) {
        abandon_cut(c, "out of memory", now_us, outbox);
        return;
    }
    struct checkpoint_part *to = parts->data;
    for (uint32_t i = 0; i < c->job.server_count; i++)
        to[i] = c->membership.servers[i].part;
    struct packet *out = outbox_add(outbox, TO_KEEPER, MESSAGE_MANIFEST);
    out->message.run_id = c->options.run_id;
    out->message.cut.step = c->cut.step;
    out->payload = parts;
}

static void close_run(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    c->summary.step = c->last_cut;
    write_summary(c, c->last_cut == c->job.steps ? RUN_DONE : RUN_STOPPED, now_us, outbox);
}

static void handle_manifest_written(struct coordinator *c, const struct message_run_opened *written,
                                    uint64_t now_us, struct outbox *outbox)
{
    if (!c->cut.under_way || written->restore_step != c->cut.step)
        return;
    if (written->status != STATUS_OK) {
        abandon_cut(c, written->text, now_us, outbox);
        return;
    }
    c->cut.under_way = false;
    c->last_cut = c->last_due = c->cut.step;
    uint64_t failed = complaint_end(&c->complaint);
    if (failed > 0)
        outbox_log(outbox, "checkpoints are written again; %" PRIu64 " were not", failed);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < c->job.server_count; i++)
        bytes += c->membership.servers[i].part.bytes;
    event(outbox, "checkpoint", "\"step\": %" PRIu64 ", \"seconds\": %.6f, \"bytes\": %" PRIu64,
          c->cut.step, seconds_since(c->cut.started_us, now_us), bytes);
    if (c->cut.final) {
        close_run(c, now_us, outbox);
        return;
    }
    if (c->job.mode == MODE_ASYNC && c->leases.gate == c->cut.step)
        open_gate(c, now_us, outbox); /* What was written was taken, though we were not told yet. */
    schedule_cut(c, now_us, outbox);
}

/* --- async: leases ------------------------------------------------------------------------- */

static void top_up(struct coordinator *c, uint32_t index, struct outbox *outbox)
{
    uint64_t batch;
    struct member *worker = &c->membership.workers[index];
    while (leases_take(&c->leases, index, &batch))
        send_peer(worker->peer, MESSAGE_WORK, outbox)->message.work.batch = batch;
    /* "Enough" must not overtake a batch, nor DONE the news that one is done. */
    if (leases_exhausted(&c->leases) && leases_idle(&c->leases, index)) {
        struct packet *packet = send_peer(worker->peer, MESSAGE_WORK, outbox);
        packet->message.work.enough = true;
        packet->message.work.batch = c->leases.limit;
    }
}

static void open_gate(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    c->drain_us += now_us - c->cut.started_us;
    c->leases.gate = c->job.steps;
    for (uint32_t i = 0; i < c->job.worker_count; i++)
        top_up(c, i, outbox);
}

static void handle_lease(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                         struct outbox *outbox)
{
    const struct message *message = &packet->message;
    if (c->state != RUNNING || c->job.mode != MODE_ASYNC)
        return;
    if (message->lease.finished)
        leases_finish(&c->leases, message->index, message->lease.batch);
    bool at_gate = c->leases.next == c->leases.gate && c->leases.gate < c->job.steps;
    if (at_gate && leases_drained(&c->leases) && !c->cut.under_way && !c->stopping)
        begin_cut(c, c->leases.gate, false, now_us, outbox);
    top_up(c, message->index, outbox);
}

/* --- scores -------------------------------------------------------------------------------- */

static void progress(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    uint64_t epoch_steps = job_steps_per_epoch(&c->job);
    uint64_t wanted = epoch_steps / WINDOWS_AN_EPOCH;
    /* What is left at the end counts when it is enough to mean something. */
    if (c->first_step + c->ledger.updates == c->stop_step)
        wanted /= 2;
    if (c->ledger.window.updates == 0 || c->ledger.window.updates < wanted)
        return;
    struct tally window = ledger_take_window(&c->ledger);
    struct staleness all = {0};
    for (uint32_t i = 0; i < c->job.worker_count; i++)
        staleness_merge(&all, &c->membership.workers[i].summary.staleness);
    double seconds = seconds_since(c->window_us, now_us);
    c->window_us = now_us;
    event(outbox, "progress",
          "\"step\": %" PRIu64 ", \"epoch\": %.4f, \"loss\": %.6f, \"accuracy\": %.6f, "
          "\"images_per_second\": %.1f, \"staleness_mean\": %.4f, \"staleness_max\": %" PRIu64,
          c->ledger.step, (double)c->ledger.step / (double)epoch_steps, tally_loss(&window),
          tally_accuracy(&window), seconds > 0 ? (double)window.examples / seconds : 0.0,
          all.count > 0 ? (double)all.sum / (double)all.count : 0.0, all.max);
}

static void handle_report(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                          struct outbox *outbox)
{
    const struct message_report *report = &packet->message.report;
    struct worker_summary *worker = &c->membership.workers[packet->message.index].summary;
    if (c->state != RUNNING || !ledger_report(&c->ledger, report))
        return;
    worker->updates++;
    worker->examples += report->examples;
    worker->compute_seconds += (double)report->compute_us * 1e-6;
    worker->exchange_seconds += (double)report->exchange_us * 1e-6;
    worker->wait_seconds += (double)report->wait_us * 1e-6;
    if (report->has_staleness)
        staleness_add(&worker->staleness, report->staleness);
    progress(c, now_us, outbox);
}

static void handle_evaluation(struct coordinator *c, const struct packet *packet,
                              struct outbox *outbox)
{
    const struct message_evaluation *share = &packet->message.evaluation;
    if (c->state != RUNNING)
        return;
    const struct scoring *scoring = scoreboard_add(&c->scoreboard, packet->message.index, share);
    if (scoring == NULL)
        return;
    c->membership.workers[packet->message.index].summary.evaluate_seconds +=
        (double)share->took_us * 1e-6;
    if (scoring->tally.examples < c->job.test_examples)
        return;

    /* Sync: all stood still until the slowest was through. Async: each only for its own share. */
    uint64_t stood = c->job.mode == MODE_SYNC ? scoring->took_max_us
                                              : scoring->took_sum_us / c->job.worker_count;
    c->evaluation_us += stood;
    c->summary.test_loss = tally_loss(&scoring->tally);
    c->summary.test_accuracy = tally_accuracy(&scoring->tally);
    event(outbox, "evaluation",
          "\"epoch\": %" PRIu64 ", \"step\": %" PRIu64
          ", \"test_loss\": %.6f, \"test_accuracy\": %.6f, \"seconds\": %.6f",
          scoring->epoch, scoring->step, c->summary.test_loss, c->summary.test_accuracy,
          (double)stood * 1e-6);
}

/* --- stopping and finishing ---------------------------------------------------------------- */

static void finish_training(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    uint64_t step = c->job.mode == MODE_SYNC ? c->stop_step : c->leases.done.low;
    c->summary.seconds = training_seconds(c, now_us);
    enter(c, CLOSING, now_us);
    if (step == c->last_cut && !c->cut.under_way)
        close_run(c, now_us, outbox); /* Resumed where it had ended: nothing new to keep. */
    else
        begin_cut(c, step, true, now_us, outbox);
}

static void handle_done(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                        struct outbox *outbox)
{
    const struct message_done *done = &packet->message.done;
    struct member *worker = &c->membership.workers[packet->message.index];
    if (c->state != RUNNING || worker->done)
        return;
    worker->done = true;
    worker->summary.exchange_seconds += (double)done->exchange_us * 1e-6;
    worker->summary.wait_seconds += (double)done->wait_us * 1e-6;
    if (done->has_staleness)
        staleness_add(&worker->summary.staleness, done->staleness);
    for (uint32_t i = 0; i < c->job.worker_count; i++)
        if (!c->membership.workers[i].done)
            return;
    finish_training(c, now_us, outbox);
}

/* Somebody was asked to stop (a signal), or failed. */
static void handle_stop(struct coordinator *c, const struct packet *packet, uint64_t now_us,
                        struct outbox *outbox)
{
    const struct message *message = &packet->message;
    int code = (int)message->stop.exit_code;
    if (code != EXIT_INTERRUPTED && code != EXIT_TERMINATED) {
        fail(c, code, now_us, outbox, "%s/%u: %s", role_name(message->role), message->index,
             message->stop.reason);
        return;
    }
    if (c->stopping || c->state >= CLOSING)
        return;
    c->stopping = true;
    c->stop_us = now_us;
    c->exit_code = code;
    if (c->state < RUNNING) {
        finish(c, code, "stopped before training started", now_us, outbox);
        return;
    }
    outbox_log(outbox, "stopping: %s", message->stop.reason);
    event(outbox, "stop", "\"exit_code\": %d", code);
    if (c->job.mode == MODE_SYNC) {
        send_peer(PEER_LOCAL, MESSAGE_STOP, outbox);
        return;
    }
    leases_stop(&c->leases);
    for (uint32_t i = 0; i < c->job.worker_count; i++)
        top_up(c, i, outbox);
}

static void handle_bye(struct coordinator *c, struct member *member, uint64_t now_us)
{
    member->bye = true;
    if (c->state == FINISHING && membership_has_left(&c->membership))
        enter(c, OVER, now_us);
}

static void handle_status(const struct coordinator *c, const struct packet *packet,
                          struct outbox *outbox)
{
    static const char *const names[] = {"waiting for a job", "opening",   "gathering", "running",
                                        "closing",           "finishing", "over"};
    char missing[MESSAGE_TEXT_MAX / 2] = "";
    uint32_t present = 0;
    for (uint32_t i = 0; i < c->job.worker_count; i++)
        present += c->membership.workers[i].present;
    if (c->state == GATHERING)
        membership_list_missing(&c->membership, missing, sizeof missing);
    struct tally epoch = ledger_last_epoch(&c->ledger);
    struct packet *out = answer(packet, MESSAGE_STATUS_ANSWER, outbox);
    snprintf(out->message.waiting.text, MESSAGE_TEXT_MAX,
             "state: %s, mode: %s, step: %" PRIu64 " of %" PRIu64
             ", workers: %u of %u, servers: %u, loss: %.4f, test accuracy: %.4f"
             ", checkpoints skipped: %" PRIu64 ", out: %s%s%s",
             names[c->state], mode_name(c->job.mode), c->ledger.step, c->job.steps, present,
             c->job.worker_count, c->job.server_count, tally_loss(&epoch), c->summary.test_accuracy,
             c->cuts_skipped, c->options.out, missing[0] ? ", waiting for: " : "", missing);
}

/* --- dispatch ------------------------------------------------------------------------------ */

static void handle_member(struct coordinator *c, struct member *member, struct packet *packet,
                          uint64_t now_us, struct outbox *outbox)
{
    bool server = packet->message.role == ROLE_PS;
    member->heard_us = now_us;
    member->peer = packet->peer;
    switch (packet->message.kind) {
    case MESSAGE_PING:
        answer(packet, MESSAGE_PONG, outbox);
        break;
    case MESSAGE_STOP:
        handle_stop(c, packet, now_us, outbox);
        break;
    case MESSAGE_BYE:
        handle_bye(c, member, now_us);
        break;
    case MESSAGE_READY:
        if (server)
            handle_ready(c, packet, now_us, outbox);
        break;
    case MESSAGE_CUT_TAKEN:
        if (server)
            handle_cut_taken(c, packet, now_us, outbox);
        break;
    case MESSAGE_PART_WRITTEN:
        if (server)
            handle_part_written(c, packet, now_us, outbox);
        break;
    case MESSAGE_CHUNK_STATE: /* A server that does not see our disk. */
        if (server) {
            *outbox_add(outbox, TO_KEEPER, MESSAGE_CHUNK_STATE) = *packet;
            packet->payload = NULL;
        }
        break;
    case MESSAGE_STOP_AT:
        if (server && packet->peer == PEER_LOCAL)
            c->stop_step = packet->message.stop_at.step;
        break;
    case MESSAGE_LEASE:
        if (!server)
            handle_lease(c, packet, now_us, outbox);
        break;
    case MESSAGE_REPORT:
        if (!server)
            handle_report(c, packet, now_us, outbox);
        break;
    case MESSAGE_EVALUATION:
        if (!server)
            handle_evaluation(c, packet, outbox);
        break;
    case MESSAGE_DONE:
        if (!server)
            handle_done(c, packet, now_us, outbox);
        break;
    default:
        refuse(packet, REFUSAL_MALFORMED, outbox, "%s is not for a server",
               message_kind_name(packet->message.kind));
    }
}

/* Before it is welcomed a server knows no run; whoever knows another one has no say in this. */
static bool is_server_that_waits(const struct coordinator *c, const struct packet *packet)
{
    uint64_t run_id = packet->message.run_id;
    return packet->message.role == ROLE_PS && (run_id == 0 || run_id == c->options.run_id);
}

/* It was no member, so the job ended before anybody was. Whoever waits to be one has asked before,
 * and will ask again and hear why. */
static void own_router_left(struct coordinator *c, uint64_t now_us)
{
    c->own_router_left = true;
    if (c->membership.servers == NULL && c->uploader == 0)
        enter(c, OVER, now_us); /* Nobody else ever came. */
}

static void handle(struct coordinator *c, struct packet *packet, uint64_t now_us,
                   struct outbox *outbox)
{
    enum message_kind kind = packet->message.kind;
    struct member *member = packet->message.run_id == c->options.run_id
                                ? membership_find(&c->membership, &packet->message)
                                : NULL;
    if (kind == MESSAGE_STATUS)
        handle_status(c, packet, outbox);
    else if (c->state >= FINISHING && kind != MESSAGE_BYE)
        tell_finished(c, packet->peer, outbox);
    else if (kind == MESSAGE_JOIN)
        handle_join(c, packet, now_us, outbox);
    else if (kind == MESSAGE_JOB_PAGE)
        handle_job_page(c, packet, now_us, outbox);
    else if (kind == MESSAGE_STOP && c->state < GATHERING && is_server_that_waits(c, packet))
        handle_stop(c, packet, now_us, outbox);
    else if (member != NULL && !membership_has_key(member, packet))
        refuse_impostor(c, packet, outbox);
    else if (member != NULL)
        handle_member(c, member, packet, now_us, outbox);
    else if (kind != MESSAGE_BYE)
        refuse(packet, REFUSAL_RUN, outbox, "not a process of the run served here");
    else if (packet->peer == PEER_LOCAL && c->state == FINISHING)
        own_router_left(c, now_us);
}

void coordinator_handle(struct coordinator *coordinator, struct packet *packet, uint64_t now_us,
                        struct outbox *outbox)
{
    handle(coordinator, packet, now_us, outbox);
    frame_release(packet->payload);
    packet->payload = NULL;
}

void coordinator_handle_keeper(struct coordinator *coordinator, struct packet *packet,
                               uint64_t now_us, struct outbox *outbox)
{
    struct coordinator *c = coordinator;
    const struct message *message = &packet->message;
    switch (message->kind) {
    case MESSAGE_RUN_OPENED:
        if (c->state == OPENING)
            handle_run_opened(c, &message->run_opened, now_us, outbox);
        break;
    case MESSAGE_PART_WRITTEN:
        handle_part_written(c, packet, now_us, outbox);
        break;
    case MESSAGE_CHUNK_STATE: /* Out of a checkpoint, for another server. */
        if (message->chunk_state.server < c->job.server_count) {
            struct packet *out = outbox_add(outbox, TO_PEER, MESSAGE_CHUNK_STATE);
            *out = *packet;
            out->peer = c->membership.servers[message->chunk_state.server].peer;
            packet->payload = NULL;
        }
        break;
    case MESSAGE_MANIFEST_WRITTEN:
        handle_manifest_written(c, &message->run_opened, now_us, outbox);
        break;
    case MESSAGE_SUMMARY_WRITTEN:
        if (c->state != CLOSING)
            break;
        if (message->run_opened.status != STATUS_OK)
            finish(c, EXIT_CANNOT_OPEN, message->run_opened.text, now_us, outbox);
        else
            finish(c, c->stopping ? c->exit_code : EXIT_DONE, c->stopping ? "stopped" : "", now_us,
                   outbox);
        break;
    default:
        break;
    }
    frame_release(packet->payload);
    packet->payload = NULL;
}

/* --- time ---------------------------------------------------------------------------------- */

/* Those who are here wait too, and say so. */
static void tell_members(const struct coordinator *c, const char *text, struct outbox *outbox)
{
    const struct membership *all = &c->membership;
    for (uint32_t i = 0; i < all->server_count + all->worker_count; i++) {
        const struct member *member =
            i < all->server_count ? &all->servers[i] : &all->workers[i - all->server_count];
        if (member->present && member->peer != PEER_LOCAL)
            snprintf(send_peer(member->peer, MESSAGE_WAITING, outbox)->message.waiting.text,
                     MESSAGE_TEXT_MAX, "%s", text);
    }
}

static void say_who_is_missing(struct coordinator *c, uint64_t now_us, struct outbox *outbox)
{
    char text[MESSAGE_TEXT_MAX];
    char missing[MESSAGE_TEXT_MAX / 2] = "";
    double waited = seconds_since(c->entered_us, now_us);
    membership_list_missing(&c->membership, missing, sizeof missing);
    if (waited > c->options.start_timeout) {
        fail(c, EXIT_START_TIMEOUT, now_us, outbox, "start timed out after %.0f s waiting for %s",
             waited, missing);
    } else if (now_us - c->waited_us >= WAITING_LINE_US) {
        c->waited_us = now_us;
        snprintf(text, sizeof text, "waiting %.0f s for %s", waited, missing);
        outbox_log(outbox, "%s", text);
        tell_members(c, text, outbox);
        event(outbox, "waiting", "\"text\": \"%.0f s for %s\"", waited, missing);
    }
}

void coordinator_tick(struct coordinator *coordinator, uint64_t now_us, struct outbox *outbox)
{
    struct coordinator *c = coordinator;
    char silent[MESSAGE_TEXT_MAX];
    if (c->state >= GATHERING && c->state <= CLOSING &&
        membership_has_silent(&c->membership, c->options.worker_timeout, now_us, silent,
                              sizeof silent))
        fail(c, EXIT_CLUSTER_LOST, now_us, outbox, "%s", silent);
    switch (c->state) {
    case WAITING:
        if (seconds_since(c->entered_us, now_us) > c->options.start_timeout) {
            finish(c, EXIT_START_TIMEOUT, "start timed out: no worker has declared a job", now_us,
                   outbox);
        } else if (now_us - c->waited_us >= WAITING_LINE_US) {
            c->waited_us = now_us;
            outbox_log(outbox, "waiting %.0f s for a worker to declare a job",
                       seconds_since(c->entered_us, now_us));
        }
        break;
    case OPENING:
        if (seconds_since(c->entered_us, now_us) > c->options.start_timeout)
            fail(c, EXIT_START_TIMEOUT, now_us, outbox, "the run directory %s does not open",
                 c->options.out);
        break;
    case GATHERING:
        say_who_is_missing(c, now_us, outbox);
        break;
    case RUNNING:
        if (c->stopping && seconds_since(c->stop_us, now_us) > c->options.stop_timeout) {
            char text[64] = "there is no checkpoint";
            if (c->last_cut != NO_STEP)
                snprintf(text, sizeof text, "the checkpoint at step %" PRIu64 " stands",
                         c->last_cut);
            fail(c, c->exit_code, now_us, outbox, "stopping took longer than %.0f s; %s",
                 c->options.stop_timeout, text);
        }
        break;
    case CLOSING:
        if (seconds_since(c->entered_us, now_us) > c->options.stop_timeout)
            fail(c, EXIT_CANNOT_OPEN, now_us, outbox,
                 "the last checkpoint was not written within %.0f s", c->options.stop_timeout);
        break;
    case FINISHING:
        if (seconds_since(c->entered_us, now_us) > c->options.worker_timeout ||
            (c->own_router_left && now_us - c->entered_us >= LINGER_US))
            enter(c, OVER, now_us);
        else if (now_us - c->told_us >= FINISHED_REPEAT_US)
            tell_everybody(c, now_us, outbox);
        break;
    case OVER:
        break;
    }
}
