#include "worker/session.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/pages.h"

#define JOIN_FIRST_US    2000u  /* Until JOIN is repeated; doubled each time ... */
#define JOIN_INTERVAL_US 64000u /* ... up to this. */
#define PATIENCE_MS      100
#define PING_INTERVAL_US 1000000u
#define HELD_MAX         4    /* Batches held on lease; more than the coordinator gives. */
#define TAKEN_WINDOW     4096 /* Batches under way in the whole job are fewer. */

enum state {
    JOINING,   /* Until WELCOME. */
    GATHERED,  /* Until START. */
    PULLING,   /* Chunks are on their way; the parameters are the session's. */
    COMPUTING, /* The parameters are the trainer's. */
    LEAVING,   /* DONE is said. */
    OVER,
};

struct wanted {
    uint64_t request;    /* 0: nothing is under way. */
    uint64_t version;    /* Held. */
    struct frame *stays; /* Its values where the server wrote them, or NULL: they were copied. */
};

struct session {
    struct session_options options;
    enum state state;
    uint8_t *job_bytes; /* [job_size] the declaration. */
    uint32_t job_size;
    uint8_t job_digest[DIGEST_BYTES];
    uint64_t run_id, generation, next_request;
    uint64_t *shard_elements; /* [server_count] */
    struct wanted *chunks;    /* [chunk_count] */
    uint32_t under_way;       /* Chunks whose values are on their way. */
    uint32_t pushed;          /* Gradients of this step so far. */
    const float *view;        /* [elements] the parameters held. */
    uint64_t step;            /* Sync: version held or being pulled. */
    uint64_t stop_step;
    uint64_t held[HELD_MAX]; /* Async: batches to compute, in order. */
    uint32_t held_count;
    uint64_t taken[TAKEN_WINDOW / 64]; /* Async: bits of batches below taken_end ever taken. */
    uint64_t taken_end;
    uint64_t batch; /* Async: the one being computed or exchanged; UINT64_MAX for none. */
    bool enough;
    uint64_t staleness; /* Of the gradient under way: its stalest chunk. */
    bool has_staleness;
    uint32_t held_us; /* Longest wait at a barrier among the answers of this exchange. */
    uint64_t exchange_us, wait_us; /* Of the last exchange, for the next report. */
    bool exchanged;                /* The exchange under way pushed a gradient. */
    uint64_t started_us, state_us, heard_us, joined_us, pinged_us, exchange_began_us, waited_us;
    uint64_t join_interval_us;      /* 0: JOIN has not been sent. */
    char waiting[MESSAGE_TEXT_MAX]; /* What server 0 is waiting for. */
    int exit_code;
    char reason[MESSAGE_TEXT_MAX];
};

/* --- life ---------------------------------------------------------------------------------- */

enum status session_create(struct session **session, const struct session_options *options,
                           uint64_t now_us)
{
    struct session *s = calloc(1, sizeof *s);
    *session = s;
    if (s == NULL)
        return STATUS_MEMORY;
    s->options = *options;
    s->batch = UINT64_MAX;
    s->stop_step = options->job->steps;
    s->view = options->parameters;
    s->started_us = s->state_us = s->heard_us = s->waited_us = now_us;
    s->chunks = calloc(options->partition->chunk_count, sizeof *s->chunks);
    s->shard_elements = calloc(options->job->server_count, sizeof *s->shard_elements);
    for (uint32_t i = 0; s->shard_elements != NULL && i < options->job->server_count; i++)
        s->shard_elements[i] = partition_server_bytes(options->partition, i) / sizeof(float);
    enum status status = job_encode(options->job, &s->job_bytes, &s->job_size);
    if (status == STATUS_OK)
        status = job_digest(options->job, s->job_digest);
    if (s->chunks == NULL || s->shard_elements == NULL || status != STATUS_OK) {
        session_destroy(session);
        return STATUS_MEMORY;
    }
    return STATUS_OK;
}

void session_destroy(struct session **session)
{
    if (*session == NULL)
        return;
    for (uint32_t i = 0; (*session)->chunks && i < (*session)->options.partition->chunk_count; i++)
        frame_release((*session)->chunks[i].stays);
    free((*session)->job_bytes);
    free((*session)->chunks);
    free((*session)->shard_elements);
    free(*session);
    *session = NULL;
}

const char *session_waiting(const struct session *session, double *seconds, uint64_t now_us)
{
    *seconds = (double)(now_us - session->started_us) * 1e-6;
    return session->state == JOINING || session->state == GATHERED ? session->waiting : NULL;
}

const float *session_parameters(const struct session *session)
{
    return session->view;
}

bool session_is_over(const struct session *session)
{
    return session->state == OVER;
}

int session_exit_code(const struct session *session)
{
    return session->exit_code;
}

const char *session_exit_reason(const struct session *session)
{
    return session->reason;
}

static void enter(struct session *s, enum state state, uint64_t now_us)
{
    s->state = state;
    s->state_us = now_us;
}

static struct packet *send_to(struct session *s, uint32_t server, enum message_kind kind,
                              struct outbox *outbox)
{
    struct packet *packet = outbox_add_to(outbox, TO_SERVER, server, kind);
    struct message *message = &packet->message;
    message->role = ROLE_WORKER;
    message->index = s->options.worker;
    message->incarnation = s->options.incarnation;
    message->run_id = s->run_id;
    message->generation = s->generation;
    message->request = ++s->next_request;
    return packet;
}

/* Over for this worker; the trainer is told so that it lets go. */
static void end(struct session *s, int exit_code, const char *reason, uint64_t now_us,
                struct outbox *outbox)
{
    if (s->state == OVER)
        return;
    enter(s, OVER, now_us);
    s->exit_code = exit_code;
    snprintf(s->reason, sizeof s->reason, "%s", reason);
    struct packet *packet = outbox_add(outbox, TO_TRAINER, MESSAGE_FINISHED);
    packet->message.stop.exit_code = (uint32_t)exit_code;
    snprintf(packet->message.stop.reason, MESSAGE_TEXT_MAX, "%s", reason);
}

/* This worker failed: everybody should know why. */
static void fail(struct session *s, int exit_code, const char *reason, uint64_t now_us,
                 struct outbox *outbox)
{
    if (s->state == OVER)
        return;
    struct packet *packet = send_to(s, 0, MESSAGE_STOP, outbox);
    packet->message.stop.exit_code = (uint32_t)exit_code;
    snprintf(packet->message.stop.reason, MESSAGE_TEXT_MAX, "%s", reason);
    end(s, exit_code, reason, now_us, outbox);
}

/* --- joining ------------------------------------------------------------------------------- */

static void join(struct session *s, uint64_t now_us, struct outbox *outbox)
{
    uint64_t next_us = s->join_interval_us == 0 ? JOIN_FIRST_US : 2 * s->join_interval_us;
    s->join_interval_us = next_us < JOIN_INTERVAL_US ? next_us : JOIN_INTERVAL_US;
    s->joined_us = now_us;
    struct message_join *message = &send_to(s, 0, MESSAGE_JOIN, outbox)->message.join;
    message->version_min = PROTOCOL_VERSION_MIN;
    message->version_max = PROTOCOL_VERSION_MAX;
    memcpy(message->job_digest, s->job_digest, DIGEST_BYTES);
    memcpy(message->probe_digest, s->options.probe_digest, DIGEST_BYTES);
    snprintf(message->host, sizeof message->host, "%s", s->options.host);
    snprintf(message->arithmetic, sizeof message->arithmetic, "%s", s->options.arithmetic);
}

static void send_declaration(struct session *s, struct outbox *outbox)
{
    struct message_job_page page;
    for (uint32_t i = 0; pages_cut(s->job_bytes, s->job_size, i, &page); i++)
        send_to(s, 0, MESSAGE_JOB_PAGE, outbox)->message.job_page = page;
}

/* --- exchanging ---------------------------------------------------------------------------- */

/* Ask every chunk's server, with this node's gradient or without. */
static void exchange_all(struct session *s, const struct message_exchange *what,
                         struct frame *gradient, uint64_t now_us, struct outbox *outbox)
{
    const struct partition *partition = s->options.partition;
    for (uint32_t i = 0; i < partition->chunk_count; i++) {
        const struct chunk_range *range = &partition->chunks[i];
        struct frame *slice = NULL;
        if (gradient != NULL) {
            slice =
                frame_slice(gradient, range->first * sizeof(float), range->count * sizeof(float));
            if (slice == NULL) {
                fail(s, EXIT_TRAINING_FAILED, "out of memory for a gradient", now_us, outbox);
                return;
            }
        }
        struct packet *packet = send_to(s, range->server, MESSAGE_EXCHANGE, outbox);
        packet->message.exchange = *what;
        packet->message.exchange.chunk = i;
        if (s->options.job->mode == MODE_ASYNC)
            packet->message.exchange.base_version = s->chunks[i].version;
        packet->payload = slice;
        /* Gradients of one step lie beside each other until all are used. */
        packet->place =
            (s->pushed * s->shard_elements[range->server] + range->place) * sizeof(float);
        if (what->want) {
            s->chunks[i].request = packet->message.request;
            frame_release(s->chunks[i].stays);
            s->chunks[i].stays = NULL;
        }
    }
    s->pushed++;
    if (!what->want)
        return;
    s->pushed = 0;
    s->under_way = partition->chunk_count;
    s->exchange_began_us = now_us;
    s->held_us = 0;
    s->staleness = 0;
    s->exchanged = gradient != NULL;
    enter(s, PULLING, now_us);
}

static void lease(struct session *s, bool finished, uint64_t batch, struct outbox *outbox)
{
    struct message *message = &send_to(s, 0, MESSAGE_LEASE, outbox)->message;
    message->lease.finished = finished;
    message->lease.batch = batch;
}

static void hand_to_trainer(struct session *s, uint64_t step, bool enough, uint64_t now_us,
                            struct outbox *outbox)
{
    struct packet *packet = outbox_add(outbox, TO_TRAINER, MESSAGE_WORK);
    packet->message.work.enough = enough;
    packet->message.work.batch = step;
    enter(s, COMPUTING, now_us);
}

/* All parameters are here: go on with the next step or batch, if there is one. */
static void go_on(struct session *s, uint64_t now_us, struct outbox *outbox)
{
    if (s->state != PULLING || s->under_way > 0)
        return;
    if (s->options.job->mode == MODE_SYNC) {
        hand_to_trainer(s, s->step, s->step >= s->stop_step, now_us, outbox);
    } else if (s->held_count > 0) {
        s->batch = s->held[0];
        memmove(s->held, s->held + 1, --s->held_count * sizeof *s->held);
        hand_to_trainer(s, s->batch, false, now_us, outbox);
    } else if (s->enough) {
        hand_to_trainer(s, s->stop_step, true, now_us, outbox);
    } /* Else WORK will come. */
}

static void handle_welcome(struct session *s, const struct message *message, uint64_t now_us)
{
    if (s->state != JOINING)
        return;
    s->run_id = message->run_id;
    s->generation = message->generation;
    snprintf(s->waiting, sizeof s->waiting, "waiting for others to join");
    enter(s, GATHERED, now_us);
}

/* All values are here. Those of one server with shared memory lie there as the parameter space
 * does, and are used where they are; else what was left in place is copied together. */
static void settle_values(struct session *s)
{
    const struct partition *partition = s->options.partition;
    const float *base = s->chunks[0].stays != NULL ? s->chunks[0].stays->data : NULL;
    bool whole = base != NULL;
    for (uint32_t i = 0; i < partition->chunk_count && whole; i++)
        whole = s->chunks[i].stays != NULL &&
                (const float *)s->chunks[i].stays->data == base + partition->chunks[i].first;
    s->view = whole ? base : s->options.parameters;
    for (uint32_t i = 0; i < partition->chunk_count && !whole; i++)
        if (s->chunks[i].stays != NULL)
            memcpy(s->options.parameters + partition->chunks[i].first, s->chunks[i].stays->data,
                   s->chunks[i].stays->bytes);
}

static void exchange_complete(struct session *s, uint64_t now_us, struct outbox *outbox)
{
    uint64_t took = now_us - s->exchange_began_us;
    s->wait_us = s->held_us < took ? s->held_us : took;
    s->exchange_us = took - s->wait_us;
    s->has_staleness = s->exchanged; /* 0 in sync mode. */
    settle_values(s);
    if (s->options.job->mode == MODE_ASYNC && s->batch != UINT64_MAX) {
        lease(s, true, s->batch, outbox);
        s->batch = UINT64_MAX;
    }
    go_on(s, now_us, outbox);
}

/* Whoever is started has been welcomed, even if the WELCOME is late. */
static void handle_start(struct session *s, const struct message *message, uint64_t now_us,
                         struct outbox *outbox)
{
    const struct message_start *start = &message->start;
    if (s->state == JOINING)
        handle_welcome(s, message, now_us);
    if (s->state != GATHERED)
        return;
    s->step = start->step;
    if (start->stop_step < s->stop_step) /* Else WORK has come before and named an earlier one. */
        s->stop_step = start->stop_step;
    outbox_add(outbox, TO_TRAINER, MESSAGE_START)->message.start = *start;
    if (s->options.job->mode == MODE_ASYNC)
        lease(s, false, 0, outbox);
    struct message_exchange pull = {.step = start->step,
                                    .base_version = start->step,
                                    .want = true,
                                    .want_version = start->step};
    exchange_all(s, &pull, NULL, now_us, outbox);
}

/* --- answers ------------------------------------------------------------------------------- */

static void take_values(struct session *s, const struct packet *packet)
{
    const struct message_result *result = &packet->message.result;
    const struct chunk_range *range = &s->options.partition->chunks[result->chunk];
    struct wanted *wanted = &s->chunks[result->chunk];
    if (packet->payload->stays)
        wanted->stays = frame_retain(packet->payload);
    else
        memcpy(s->options.parameters + range->first, packet->payload->data, packet->payload->bytes);
    wanted->version = result->version;
}

static void handle_result(struct session *s, uint32_t server, const struct packet *packet,
                          uint64_t now_us, struct outbox *outbox)
{
    const struct message_result *result = &packet->message.result;
    const struct partition *partition = s->options.partition;
    if (result->verdict == VERDICT_REJECTED) {
        fail(s, EXIT_TRAINING_FAILED, "a server rejected a gradient as not finite or out of place",
             now_us, outbox);
        return;
    }
    if (result->chunk >= partition->chunk_count ||
        partition->chunks[result->chunk].server != server || !result->parameters ||
        packet->payload == NULL ||
        packet->payload->bytes != partition->chunks[result->chunk].count * sizeof(float))
        return; /* A receipt for a push, or nothing we asked for. */
    struct wanted *wanted = &s->chunks[result->chunk];
    if (s->state != PULLING || wanted->request == 0 || wanted->request != packet->message.request)
        return; /* Repeated, or of an exchange that is over. */
    if (s->options.job->mode == MODE_SYNC && result->version != s->step)
        return;
    wanted->request = 0;
    take_values(s, packet);
    if (server == 0 && result->stop_step < s->stop_step)
        s->stop_step = result->stop_step;
    if (result->held_us > s->held_us)
        s->held_us = result->held_us;
    if (result->staleness > s->staleness)
        s->staleness = result->staleness;
    if (--s->under_way == 0)
        exchange_complete(s, now_us, outbox);
}

/* The version asked for is gone. Steps are made without this worker only while it has no leaves in
 * them, so it has missed nothing that it owes: it goes on from where the others are. */
static void handle_moved_on(struct session *s, const struct message *message, uint64_t now_us,
                            struct outbox *outbox)
{
    uint32_t chunk = message->moved_on.chunk;
    if (s->state != PULLING || chunk >= s->options.partition->chunk_count ||
        s->chunks[chunk].request == 0 || s->chunks[chunk].request != message->request ||
        message->moved_on.version <= s->step)
        return; /* An answer to a repeated request, or to one of an exchange that is over. */
    s->step = message->moved_on.version;
    struct message_exchange pull = {
        .step = s->step, .base_version = s->step, .want = true, .want_version = s->step};
    exchange_all(s, &pull, NULL, now_us, outbox);
}

static int refusal_exit_code(enum refusal reason)
{
    switch (reason) {
    case REFUSAL_RUN:
        return EXIT_CLUSTER_LOST;
    case REFUSAL_MALFORMED:
        return EXIT_TRAINING_FAILED;
    case REFUSAL_KEY:
        return EXIT_UNAUTHENTICATED;
    default:
        return EXIT_MISMATCH;
    }
}

/* Note that this worker has taken the batch; false when it had before. A repeated WORK can come
 * long after its batch is done, and would take the place of one that is not. */
static bool take_once(struct session *s, uint64_t batch)
{
    if (batch + TAKEN_WINDOW < s->taken_end)
        return false;
    if (batch >= s->taken_end + TAKEN_WINDOW) {
        memset(s->taken, 0, sizeof s->taken);
        s->taken_end = batch;
    }
    for (; s->taken_end <= batch; s->taken_end++)
        s->taken[s->taken_end % TAKEN_WINDOW / 64] &= ~((uint64_t)1 << (s->taken_end % 64));
    uint64_t *word = &s->taken[batch % TAKEN_WINDOW / 64], bit = (uint64_t)1 << (batch % 64);
    bool fresh = (*word & bit) == 0;
    *word |= bit;
    return fresh;
}

static void handle_work(struct session *s, const struct message *message, uint64_t now_us,
                        struct outbox *outbox)
{
    uint64_t batch = message->work.batch;
    if (message->work.enough) {
        s->enough = true;
        if (batch < s->stop_step)
            s->stop_step = batch;
    } else if (s->held_count < HELD_MAX && batch < s->options.job->steps && take_once(s, batch)) {
        s->held[s->held_count++] = batch;
    }
    go_on(s, now_us, outbox);
}

void session_handle_server(struct session *session, uint32_t server, struct packet *packet,
                           uint64_t now_us, struct outbox *outbox)
{
    struct session *s = session;
    const struct message *message = &packet->message;
    if (s->state == OVER) {
        frame_release(packet->payload);
        packet->payload = NULL;
        return;
    }
    if (server == 0)
        s->heard_us = now_us;
    switch (message->kind) {
    case MESSAGE_WANT_JOB:
        if (s->state == JOINING)
            send_declaration(s, outbox);
        break;
    case MESSAGE_WELCOME:
        handle_welcome(s, message, now_us);
        break;
    case MESSAGE_START:
        handle_start(s, message, now_us, outbox);
        break;
    case MESSAGE_RESULT:
        handle_result(s, server, packet, now_us, outbox);
        break;
    case MESSAGE_WORK:
        handle_work(s, message, now_us, outbox);
        break;
    case MESSAGE_WAITING:
        snprintf(s->waiting, sizeof s->waiting, "%s", message->waiting.text);
        break;
    case MESSAGE_MOVED_ON:
        handle_moved_on(s, message, now_us, outbox);
        break;
    case MESSAGE_REFUSED:
        /* Server 0 knows why it refused; what another refused it cannot know. */
        if (server == 0)
            end(s, refusal_exit_code(message->refused.reason), message->refused.text, now_us,
                outbox);
        else
            fail(s, refusal_exit_code(message->refused.reason), message->refused.text, now_us,
                 outbox);
        break;
    case MESSAGE_FINISHED:
        send_to(s, 0, MESSAGE_BYE, outbox);
        end(s, (int)message->stop.exit_code, message->stop.reason, now_us, outbox);
        break;
    default: /* PONG: hearing it was all. */
        break;
    }
    frame_release(packet->payload);
    packet->payload = NULL;
}

/* --- from the trainer ---------------------------------------------------------------------- */

static void trainer_exchange(struct session *s, const struct packet *packet, uint64_t now_us,
                             struct outbox *outbox)
{
    struct message_exchange what = packet->message.exchange;
    assert(s->state == COMPUTING);
    if (s->options.job->mode == MODE_SYNC) {
        what.base_version = what.step;
        what.want_version = what.step + 1;
        if (what.want)
            s->step = what.step + 1;
    }
    exchange_all(s, &what, packet->payload, now_us, outbox);
}

static void trainer_report(struct session *s, const struct packet *packet, struct outbox *outbox)
{
    struct packet *out = send_to(s, 0, MESSAGE_REPORT, outbox);
    out->message.report = packet->message.report;
    out->message.report.exchange_us = s->exchange_us;
    out->message.report.wait_us = s->wait_us;
    out->message.report.has_staleness = s->has_staleness;
    out->message.report.staleness = s->staleness;
    s->exchange_us = s->wait_us = 0;
    s->has_staleness = false;
}

static void trainer_done(struct session *s, uint64_t now_us, struct outbox *outbox)
{
    struct packet *out = send_to(s, 0, MESSAGE_DONE, outbox);
    out->message.done = (struct message_done){
        .step = s->step,
        .exchange_us = s->exchange_us,
        .wait_us = s->wait_us,
        .has_staleness = s->has_staleness,
        .staleness = s->staleness,
    };
    enter(s, LEAVING, now_us);
}

void session_handle_trainer(struct session *session, struct packet *packet, uint64_t now_us,
                            struct outbox *outbox)
{
    struct session *s = session;
    const struct message *message = &packet->message;
    if (s->state != OVER)
        switch (message->kind) {
        case MESSAGE_EXCHANGE:
            trainer_exchange(s, packet, now_us, outbox);
            break;
        case MESSAGE_REPORT:
            trainer_report(s, packet, outbox);
            break;
        case MESSAGE_EVALUATION:
            send_to(s, 0, MESSAGE_EVALUATION, outbox)->message.evaluation = message->evaluation;
            break;
        case MESSAGE_DONE:
            trainer_done(s, now_us, outbox);
            break;
        case MESSAGE_STOP:
            if (s->state == JOINING) {
                /* Server 0 may have let it in already, and then must tell the others. */
                send_to(s, 0, MESSAGE_STOP, outbox)->message.stop = message->stop;
                end(s, (int)message->stop.exit_code, "stopped before training started", now_us,
                    outbox);
            } else if (message->stop.exit_code == EXIT_INTERRUPTED ||
                       message->stop.exit_code == EXIT_TERMINATED) {
                send_to(s, 0, MESSAGE_STOP, outbox)->message.stop = message->stop;
            } else {
                fail(s, (int)message->stop.exit_code, message->stop.reason, now_us, outbox);
            }
            break;
        default:
            assert(!"a message that sessions do not take");
        }
    frame_release(packet->payload);
    packet->payload = NULL;
}

/* --- time ---------------------------------------------------------------------------------- */

static double seconds_since(uint64_t then_us, uint64_t now_us)
{
    return (double)(now_us - then_us) * 1e-6;
}

/* The servers whose answers are missing, for the message. */
static void list_silent(const struct session *s, char *text, size_t size)
{
    size_t used = 0;
    uint32_t last = UINT32_MAX;
    text[0] = '\0';
    for (uint32_t i = 0; i < s->options.partition->chunk_count && used + 16 < size; i++) {
        uint32_t server = s->options.partition->chunks[i].server;
        if (s->chunks[i].request == 0 || server == last)
            continue;
        used += (size_t)snprintf(text + used, size - used, "%sps/%u", used ? ", " : "", server);
        last = server;
        if (used > 64)
            break;
    }
}

static void check_deadlines(struct session *s, uint64_t now_us, struct outbox *outbox)
{
    char text[MESSAGE_TEXT_MAX], silent[100];
    double in_state = seconds_since(s->state_us, now_us);
    double unheard = seconds_since(s->heard_us, now_us);
    if ((s->state == JOINING || s->state == GATHERED) &&
        seconds_since(s->started_us, now_us) > s->options.start_timeout + 5) {
        /* Server 0 gives up first, and tells why; this is for when there is no server 0. */
        snprintf(text, sizeof text, "start timed out after %.0f s: %s",
                 seconds_since(s->started_us, now_us),
                 s->waiting[0] != '\0' ? s->waiting : "nothing heard from ps/0");
        end(s, EXIT_START_TIMEOUT, text, now_us, outbox);
    } else if (s->state == JOINING) {
        return;
    } else if (unheard > s->options.worker_timeout) {
        snprintf(text, sizeof text, "lost ps/0: nothing heard for %.1f s", unheard);
        end(s, EXIT_CLUSTER_LOST, text, now_us, outbox);
    } else if (s->state == PULLING && in_state > s->options.progress_timeout) {
        list_silent(s, silent, sizeof silent);
        snprintf(text, sizeof text, "no answer from %s for %.0f s",
                 silent[0] != '\0' ? silent : "ps/0", in_state);
        fail(s, EXIT_CLUSTER_LOST, text, now_us, outbox);
    } else if (s->state == COMPUTING && in_state > s->options.progress_timeout) {
        snprintf(text, sizeof text, "stuck: computing one gradient for %.0f s", in_state);
        fail(s, EXIT_TRAINING_FAILED, text, now_us, outbox);
    } else if (s->state == LEAVING && in_state > s->options.progress_timeout) {
        end(s, EXIT_CLUSTER_LOST, "ps/0 does not end the job", now_us, outbox);
    }
}

int session_patience_ms(const struct session *session)
{
    return session->state == JOINING ? (int)(session->join_interval_us / 1000) : PATIENCE_MS;
}

void session_tick(struct session *session, uint64_t now_us, struct outbox *outbox)
{
    struct session *s = session;
    if (s->state == OVER)
        return;
    if (s->state == JOINING && now_us - s->joined_us >= s->join_interval_us)
        join(s, now_us, outbox);
    if (s->state != JOINING && now_us - s->pinged_us >= PING_INTERVAL_US) {
        s->pinged_us = now_us;
        send_to(s, 0, MESSAGE_PING, outbox)->message.ping.step = s->step;
    }
    check_deadlines(s, now_us, outbox);
}
