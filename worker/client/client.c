/* client.c - sockets and threads around session.h. The thread that has the driver lock moves the
 * messages: the trainer's while it waits, a second one while it computes. Messages that a
 * connection cannot take yet are kept in order. */

#include "worker/client/client.h"

#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/wording.h"
#include "common/job/partition.h"
#include "common/kernels/kernels.h"
#include "common/process/headroom.h"
#include "common/process/log.h"
#include "common/transport/shm/rendezvous.h"
#include "common/wire/outbox.h"
#include "worker/client/driver_lock.h"
#include "worker/client/exchange.h"
#include "worker/client/session.h"

#define TICK_MS          100
#define POLL_NS          1000000u /* The finest wait of a poll. */
#define RECEIVES_A_ROUND 64
#define LAST_WORDS_MS    2000 /* For the last messages to leave. */
#define GIVE_UP_MS       200  /* The same when the start timed out. */
#define WAITING_LINE_US  5000000u
#define SHARING_MS       10 /* Between looks for memory that servers hand over. */
#define GRADIENTS_MAX    (TREE_COVER_MAX + 2)
#define STUCK_US         10000000u /* For the trainer to notice that the job has ended. */
/* Of messages that a connection could not take yet; beyond this they are dropped. All are
 * repeated. */
#define PENDING_BYTES (2u * WINDOW_BYTES)
#define PENDING_MAX   (16u << 10)

/* Messages that a connection could not take yet, in order. */
struct pending {
    struct outbox items;
    uint64_t bytes; /* Of payloads. */
};

struct client {
    struct client_options options;
    struct traffic traffic;
    struct partition partition;
    float *parameters; /* [elements] where the session copies them. */

    struct driver_lock driver_lock; /* Guards everything down to `heeded_us`. */
    struct session *session;
    struct endpoint **servers; /* [server_count] */
    struct pending *pending;   /* [server_count] */
    uint64_t *asked;           /* [server_count] incarnation that was asked to share memory. */
    enum status *sharing;      /* [server_count] the result of asking it. */
    struct outbox outbox;
    struct outbox for_trainer; /* What client_next has yet to hear. */
    bool stop_sent, leave_sent, abandoned_noted;
    bool unanswered;  /* Server 0 has never been heard. */
    uint64_t over_us; /* When the session was over; 0: it is not. */
    uint64_t said_us, heeded_us;

    pthread_t thread; /* Drives while the trainer computes. */
    bool started;
    int doorbell; /* eventfd: the driver should look at the flags. */
    atomic_bool close;
    atomic_bool leave, abandoned;
    atomic_int stop_code;                   /* 0: go on. */
    struct trainer trainer;                 /* On the caller's thread, as is all below. */
    struct outbox said;                     /* By it. */
    const float *view;                      /* [elements] the parameters. */
    const float *scored;                    /* [elements] those to be scored. */
    uint32_t refusals;                      /* Of the given batch; see step_shape.h. */
    bool apart;                             /* Gradients must be in memory that no server sees. */
    struct frame *gradients[GRADIENTS_MAX]; /* Made when needed. */
    uint32_t gradient_count;
    /* Element up to which the next step's values are needed to begin early; 0: all. */
    uint64_t begins_at;
    /* The step that is begun early, and the element up to which its values are here. */
    uint64_t early_step, front;
    uint64_t serial;        /* The number of those values; 0: it has not begun. */
    bool goes_on;           /* The values are those that it began with. */
    uint32_t gradients_out; /* Gradients of this step that were pushed. */
    bool gradients_shared;
    uint64_t gradients_of; /* In whose memory: server 0's incarnation. */
    bool shares;           /* All servers share memory with this process. */
};

/* --- driving: the lock is held ------------------------------------------------------------- */

static bool try_send(struct client *client, struct outgoing *item)
{
    if (item->packet.payload != NULL)
        frame_retain(item->packet.payload); /* A send takes a reference over even when it fails. */
    if (traffic_send(&client->traffic, client->options.transport, client->servers[item->index],
                     item) == STATUS_AGAIN)
        return false;
    frame_release(item->packet.payload);
    return true;
}

/* Whether to keep a message: not those that are repeated by themselves and often, nor any when
 * the connection has taken nothing for long. */
static bool is_kept(const struct pending *pending, const struct packet *packet)
{
    enum message_kind kind = packet->message.kind;
    uint64_t bytes = packet->payload != NULL ? packet->payload->bytes : 0;
    if (kind == MESSAGE_JOIN || kind == MESSAGE_PING ||
        (kind == MESSAGE_EXCHANGE && packet->message.exchange.retry))
        return false;
    return pending->items.count < PENDING_MAX &&
           (pending->bytes == 0 || pending->bytes + bytes <= PENDING_BYTES);
}

static void keep(struct pending *pending, const struct outgoing *item)
{
    if (item->packet.payload != NULL)
        pending->bytes += item->packet.payload->bytes;
    outbox_append(&pending->items, item);
}

static bool is_newest(const struct packet *packet)
{
    return packet->message.kind == MESSAGE_EXCHANGE && packet->message.exchange.newest;
}

/* The session begins anew: its earlier requests are void. */
static void forget_older(struct pending *pending, const struct packet *newest)
{
    struct outgoing item;
    size_t count = pending->items.count;
    pending->bytes = 0;
    while (count-- > 0 && outbox_take(&pending->items, &item)) {
        const struct message *message = &item.packet.message;
        bool current =
            is_newest(&item.packet) && message->exchange.chunk != newest->message.exchange.chunk;
        if (message->kind == MESSAGE_EXCHANGE && !current)
            frame_release(item.packet.payload);
        else
            keep(pending, &item);
    }
}

/* Keep what cannot be sent yet, in order. */
static void send_or_keep(struct client *client, struct outgoing *item)
{
    struct pending *pending = &client->pending[item->index];
    if (is_newest(&item->packet))
        forget_older(pending, &item->packet);
    if (pending->items.count == 0 && try_send(client, item))
        return;
    if (is_kept(pending, &item->packet))
        keep(pending, item);
    else
        frame_release(item->packet.payload);
}

static void send_pending(struct client *client)
{
    for (uint32_t i = 0; i < client->options.job->server_count; i++) {
        struct pending *pending = &client->pending[i];
        struct outbox *items = &pending->items;
        while (items->count > 0) {
            struct outgoing *item = &items->items[items->first];
            uint64_t bytes = item->packet.payload != NULL ? item->packet.payload->bytes : 0;
            if (!try_send(client, item))
                break;
            pending->bytes -= bytes;
            items->first = (items->first + 1) % items->capacity;
            items->count--;
        }
    }
}

/* Why server 0 does not answer. */
static void explain_silence(const struct client *client, char *why, size_t size)
{
    transport_explain_silence(client->options.transport, client->servers[0],
                              client->options.job->servers[0], why, size);
}

/* A worker that never reached server 0 ends with the reason why. */
static void explain_end(const struct client *client, struct message *finished)
{
    char why[MESSAGE_TEXT_MAX], *reason = finished->stop.reason;
    if (finished->stop.exit_code != EXIT_START_TIMEOUT || !client->unanswered)
        return;
    size_t used = strlen(reason);
    explain_silence(client, why, sizeof why);
    snprintf(reason + used, MESSAGE_TEXT_MAX - used, ": %s", why);
}

static void flush(struct client *client)
{
    struct outgoing item;
    while (outbox_take(&client->outbox, &item)) {
        if (item.packet.message.kind == MESSAGE_FINISHED)
            explain_end(client, &item.packet.message);
        if (item.to == TO_SERVER)
            send_or_keep(client, &item);
        else if (item.to == TO_TRAINER)
            outbox_append(&client->for_trainer, &item);
        else if (item.index == 1)
            log_warning("%s", item.packet.message.waiting.text);
        else
            log_info("%s", item.packet.message.waiting.text);
    }
}

/* A server is on this host if its incarnation is found here, once it has values. STATUS_AGAIN:
 * too many ask it now. A successor at the same place is asked as soon as the connection to the
 * old one has ended. */
static void ask_to_share(struct client *client, uint32_t server, const struct message *message)
{
    const struct transport_operations *operations = client->options.transport->operations;
    bool answered =
        client->asked[server] == message->incarnation && client->sharing[server] != STATUS_AGAIN;
    if (message->kind != MESSAGE_RESULT || answered || operations->attach == NULL)
        return;
    enum status status =
        operations->attach(client->servers[server], rendezvous_name(message->incarnation));
    if (status == STATUS_EXISTS)
        return;
    client->asked[server] = message->incarnation;
    client->sharing[server] = status;
    log_debug("sharing memory with ps/%u: %s", server, status_name(status));
}

/* An address may lead to another server than the list's: its name stands for something else on
 * this host, or other processes have another list. */
static bool is_somebody_else(struct client *client, uint32_t server, const struct message *message)
{
    char who[32];
    const struct transport_operations *operations = client->options.transport->operations;
    if (message_is_from_server(message, server))
        return false;
    message_describe_sender(message, server, who);
    if (operations->shun != NULL)
        operations->shun(client->servers[server], who);
    return true;
}

static void receive(struct client *client, uint32_t server)
{
    struct received received;
    struct error error;
    for (int i = 0; i < RECEIVES_A_ROUND; i++) {
        if (client->options.transport->operations->receive(client->servers[server], &received) !=
            STATUS_OK)
            return;
        struct packet packet = {.payload = received.payload};
        if (message_decode(received.header, received.header_bytes, &packet.message, &error) !=
            STATUS_OK) {
            log_warning("malformed message from ps/%u: %s", server, error.text);
            frame_release(packet.payload);
            continue;
        }
        if (is_somebody_else(client, server, &packet.message)) {
            frame_release(packet.payload);
            continue;
        }
        struct span span = traffic_taken(&client->traffic, &packet, true);
        ask_to_share(client, server, &packet.message);
        session_handle_server(client->session, server, &packet, clock_now_us(), &client->outbox);
        flush(client);
        recorder_ends(client->options.recorder, &span);
    }
}

/* A server that does not take this process's key cannot say so: the session hears it as a
 * refusal. Looked at now and then, because connections are few. */
static void heed_refusals(struct client *client)
{
    const struct transport_operations *operations = client->options.transport->operations;
    uint64_t now_us = clock_now_us();
    if (operations->refusal == NULL || now_us - client->heeded_us < TICK_MS * 1000u)
        return;
    client->heeded_us = now_us;
    for (uint32_t i = 0; i < client->options.job->server_count; i++) {
        struct packet packet = {.message = {.kind = MESSAGE_REFUSED, .role = ROLE_PS, .index = i}};
        char why[MESSAGE_TEXT_MAX - ADDRESS_MAX / 2];
        if (operations->refusal(client->servers[i], why, sizeof why) != STATUS_REFUSED)
            continue;
        packet.message.refused.reason = REFUSAL_KEY;
        snprintf(packet.message.refused.text, MESSAGE_TEXT_MAX, "ps/%u at %.100s: %s", i,
                 client->options.job->servers[i], why);
        session_handle_server(client->session, i, &packet, now_us, &client->outbox);
    }
    flush(client);
}

static void say_why_waiting(struct client *client)
{
    char why[MESSAGE_TEXT_MAX];
    double seconds;
    uint64_t now_us = clock_now_us();
    const char *what = session_waiting(client->session, &seconds, now_us);
    client->unanswered = what != NULL && what[0] == '\0';
    if (what == NULL)
        return;
    if (now_us - client->said_us < WAITING_LINE_US || seconds * 1e6 < WAITING_LINE_US)
        return;
    if (client->unanswered)
        explain_silence(client, why, sizeof why);
    log_info("waiting %s%s: %s", wording_waited(seconds).text,
             client->unanswered ? " for ps/0" : ", ps/0 says", client->unanswered ? why : what);
    client->said_us = clock_now_us();
}

/* What it waits for, or what it is doing. */
static void beat(struct client *client)
{
    char text[NOTIFY_STATUS_MAX];
    double seconds;
    struct notify *notify = client->options.notify;
    uint64_t now_us = clock_now_us();
    if (notify == NULL)
        return;
    const char *what = session_waiting(client->session, &seconds, now_us);
    if (what == NULL)
        snprintf(text, sizeof text, "training");
    else
        snprintf(text, sizeof text, "waiting %s for ps/0%s%.300s", wording_waited(seconds).text,
                 what[0] != '\0' ? ", which says: " : "", what);
    notify_beat(notify, text, now_us);
}

/* A person or the launcher asks, with this exit code; 0: not yet. */
static void pass_on_request(struct client *client, enum message_kind kind, int exit_code,
                            bool *sent)
{
    struct packet packet = {.message.kind = kind};
    if (exit_code == 0 || *sent)
        return;
    *sent = true;
    packet.message.stop.exit_code = (uint32_t)exit_code;
    snprintf(packet.message.stop.reason, MESSAGE_TEXT_MAX, "worker/%u was asked to",
             client->options.worker);
    session_handle_trainer(client->session, &packet, clock_now_us(), &client->outbox);
}

static void pass_on_requests(struct client *client)
{
    if (atomic_load(&client->abandoned) && !client->abandoned_noted) {
        client->abandoned_noted = true;
        joining_abandon(session_joining(client->session));
    }
    pass_on_request(client, MESSAGE_STOP, atomic_load(&client->stop_code), &client->stop_sent);
    pass_on_request(client, MESSAGE_LEAVE, atomic_load(&client->leave) ? EXIT_TERMINATED : 0,
                    &client->leave_sent);
}

/* Until there may be a message, the doorbell rings, or a tick is due; at most most_ms. */
static void await(const struct client *client, uint64_t most_ms)
{
    const struct client_options *options = &client->options;
    uint64_t patience_ms = (uint64_t)session_patience_ms(client->session);
    options->transport->operations->wait(options->transport, client->servers,
                                         options->job->server_count, &client->doorbell, 1,
                                         (int)(most_ms < patience_ms ? most_ms : patience_ms));
}

/* Do all that can be done now, without waiting. */
static void drive(struct client *client)
{
    eventfd_t ignored;
    eventfd_read(client->doorbell, &ignored);
    send_pending(client);
    for (uint32_t i = 0; i < client->options.job->server_count; i++)
        receive(client, i);
    heed_refusals(client);
    pass_on_requests(client);
    session_tick(client->session, clock_now_us(), &client->outbox);
    flush(client);
    say_why_waiting(client);
    beat(client);
}

/* --- the second thread --------------------------------------------------------------------- */

/* The job has ended, and the trainer has not come back to hear it. */
static void check_stuck(struct client *client)
{
    if (!session_joining(client->session)->over || client->for_trainer.count == 0 ||
        client->options.stuck == NULL)
        return;
    if (client->over_us == 0)
        client->over_us = clock_now_us();
    if (clock_now_us() - client->over_us > STUCK_US)
        client->options.stuck(session_joining(client->session)->exit_code,
                              session_joining(client->session)->reason);
}

/* While a gradient comes, or values for the next step, messages are urgent. */
static void help(struct client *client)
{
    while (!atomic_load(&client->close) && session_moves(client->session) &&
           driver_lock_helps(&client->driver_lock)) {
        await(client, UINT64_MAX);
        driver_lock_waited(&client->driver_lock);
        drive(client);
    }
}

/* While the trainer waits it drives itself, so that an answer wakes no other thread. While it
 * computes, this thread drives: servers want to hear that the worker is alive, and deadlines go
 * on. */
static void *heart_run(void *argument)
{
    struct client *client = argument;
    struct pollfd doorbell = {client->doorbell, POLLIN, 0};
    while (!atomic_load(&client->close)) {
        poll(&doorbell, 1, clock_patience_ms(TICK_MS));
        if (!driver_lock_try(&client->driver_lock))
            continue; /* The trainer drives. */
        /* The end of a server that shared its memory shows only in waiting. A server that came
         * back meanwhile would go unheard until the trainer waits. */
        await(client, 0);
        drive(client);
        check_stuck(client);
        help(client);
        driver_lock_let_go(&client->driver_lock);
    }
    return NULL;
}

/* --- life ---------------------------------------------------------------------------------- */

static enum status connect_all(struct client *client, struct error *error)
{
    const struct job *job = client->options.job;
    enum status status = STATUS_OK;
    client->servers = calloc(job->server_count, sizeof *client->servers);
    client->pending = calloc(job->server_count, sizeof *client->pending);
    client->asked = calloc(job->server_count, sizeof *client->asked);
    client->sharing = calloc(job->server_count, sizeof *client->sharing);
    if (client->servers == NULL || client->pending == NULL || client->asked == NULL ||
        client->sharing == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    for (uint32_t i = 0; i < job->server_count && status == STATUS_OK; i++)
        status = client->options.transport->operations->connect(client->options.transport,
                                                                job->servers[i], CHUNK_BYTES_MAX,
                                                                &client->servers[i], error);
    return status;
}

static enum status make_session(struct client *client)
{
    struct session_options options = {
        .self.index = client->options.worker,
        .self.incarnation = hash_random_u64(),
        .job = client->options.job,
        .partition = &client->partition,
        .parameters = client->parameters,
        .self.has_parent = client->options.has_parent,
        .self.deadlines = client->options.deadlines,
        .self.began_us = client->options.began_us,
        .listener = recorder_spans(client->options.recorder),
    };
    memcpy(options.self.probe_digest, client->options.probe_digest, DIGEST_BYTES);
    gethostname(options.self.host, sizeof options.self.host - 1);
    snprintf(options.self.arithmetic, sizeof options.self.arithmetic, "%s",
             kernels_instructions_name(kernels_instructions()));
    snprintf(options.self.job_id, sizeof options.self.job_id, "%s",
             client->options.job_id != NULL ? client->options.job_id : "");
    return session_create(&client->session, &options, clock_now_us());
}

enum status client_open(struct client **client, const struct client_options *options,
                        struct error *error)
{
    struct client *c = calloc(1, sizeof *c);
    *client = c;
    if (c == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    c->options = *options;
    c->outbox.listener = c->said.listener = options->listener;
    c->trainer.job = options->job;
    c->traffic.log = options->log;
    c->traffic.recorder = options->recorder;
    const struct job *job = options->job;
    c->said_us = clock_now_us();
    c->doorbell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (c->doorbell < 0) {
        free(c);
        *client = NULL;
        return error_set(error, STATUS_IO, "cannot make an eventfd: too many open files?");
    }
    driver_lock_init(&c->driver_lock, c->doorbell);
    enum status status =
        partition_make(&c->partition, job->variables, job->variable_count, job->server_count,
                       job->chunk_bytes, job_borders(job), error);
    if (status == STATUS_OK) {
        c->parameters = aligned_alloc(64, c->partition.elements * sizeof(float));
        if (c->parameters == NULL)
            status = error_set(error, STATUS_MEMORY, "out of memory for the parameters");
        else /* For gradients and answers in flight; libzmq loses a connection without these. */
            status = headroom_check(0, 3 * c->partition.elements * sizeof(float), error);
    }
    if (status == STATUS_OK)
        status = connect_all(c, error);
    if (status == STATUS_OK && make_session(c) != STATUS_OK)
        status = error_set(error, STATUS_MEMORY, "out of memory");
    if (status == STATUS_OK) {
        c->started = pthread_create(&c->thread, NULL, heart_run, c) == 0;
        if (!c->started)
            status = error_set(error, STATUS_MEMORY, "cannot start a thread");
    }
    if (status != STATUS_OK)
        client_close(client);
    return status;
}

void client_close(struct client **client)
{
    struct client *c = *client;
    if (c == NULL)
        return;
    if (c->started) {
        atomic_store(&c->close, true);
        eventfd_write(c->doorbell, 1);
        pthread_join(c->thread, NULL);
        send_pending(c);
    }
    int linger_ms = c->trainer.exit_code == EXIT_START_TIMEOUT ? GIVE_UP_MS : LAST_WORDS_MS;
    for (uint32_t i = 0; i < c->options.job->server_count; i++) {
        if (c->servers != NULL)
            c->options.transport->operations->close(&c->servers[i], linger_ms);
        if (c->pending != NULL)
            outbox_free(&c->pending[i].items);
    }
    session_destroy(&c->session);
    outbox_free(&c->outbox);
    outbox_free(&c->for_trainer);
    outbox_free(&c->said);
    for (uint32_t i = 0; i < c->gradient_count; i++)
        frame_release(c->gradients[i]);
    partition_free(&c->partition);
    driver_lock_free(&c->driver_lock);
    close(c->doorbell);
    trainer_free(&c->trainer);
    free(c->parameters);
    free(c->servers);
    free(c->pending);
    free(c->asked);
    free(c->sharing);
    free(c);
    *client = NULL;
}

/* --- the trainer's side -------------------------------------------------------------------- */

const float *client_parameters(const struct client *client)
{
    return client->view;
}

const float *client_scored(const struct client *client)
{
    return client->scored;
}

const struct trainer *client_trainer(const struct client *client)
{
    return &client->trainer;
}

/* What the trainer has said goes to the session, and the session's messages leave at once. */
static void pass_on(struct client *client)
{
    struct outgoing item;
    if (client->said.count == 0)
        return;
    driver_lock_take(&client->driver_lock);
    while (outbox_take(&client->said, &item))
        session_handle_trainer(client->session, &item.packet, clock_now_us(), &client->outbox);
    flush(client);
    driver_lock_give(&client->driver_lock);
}

/* The trainer computes: send all that can leave first. */
static void let_compute(struct client *client)
{
    if (session_moves(client->session))
        driver_lock_hand_over(&client->driver_lock);
    else
        driver_lock_give(&client->driver_lock);
}

/* Whether the trainer is to begin with the values that are back; the driver lock is released
 * then. */
static bool begin_early(struct client *client)
{
    uint64_t step, serial;
    if (client->begins_at == 0)
        return false;
    uint64_t front = session_front(client->session, &step, &serial);
    if (front == 0 || front < client->begins_at)
        return false;
    client->begins_at = 0;
    client->early_step = step;
    client->front = front;
    client->view = client->parameters;
    client->goes_on = client->serial == serial;
    client->serial = serial;
    session_read(client->session, front, clock_now_us());
    let_compute(client);
    return true;
}

/* The next message of the session; false: there is early work meanwhile. The session has a
 * deadline in every state, so this ends. */
static bool take(struct client *client, struct packet *packet)
{
    struct outgoing item;
    driver_lock_take(&client->driver_lock);
    session_read(client->session, 0, clock_now_us());
    while (!outbox_take(&client->for_trainer, &item)) {
        if (begin_early(client))
            return false;
        await(client, UINT64_MAX);
        drive(client);
    }
    client->view = session_parameters(client->session);
    client->scored = session_scored(client->session);
    client->apart = session_apart(client->session);
    client->refusals = session_refusals(client->session);
    client->begins_at = 0;
    client->goes_on = client->serial != 0 && client->serial == session_serial(client->session);
    client->serial = 0;
    driver_lock_give(&client->driver_lock);
    *packet = item.packet;
    return true;
}

/* Ask servers again whose connection ended before they handed memory over, or that too many
 * asked. STATUS_AGAIN: *server has yet to hand its memory over. STATUS_NOT_FOUND: it shares
 * none. STATUS_OK: all have, or one is gone; that one is lost, as any server may be, and asked
 * when it is back. */
static enum status look_for_memory(struct client *client, uint32_t *server)
{
    const struct transport_operations *operations = client->options.transport->operations;
    enum status found = STATUS_OK;
    client->shares = false;
    for (uint32_t i = 0; i < client->options.job->server_count; i++) {
        if (operations->attached != NULL && operations->attached(client->servers[i]))
            continue;
        *server = i;
        if (operations->attached == NULL ||
            (client->sharing[i] != STATUS_OK && client->sharing[i] != STATUS_AGAIN))
            return STATUS_NOT_FOUND;
        enum status status =
            operations->attach(client->servers[i], rendezvous_name(client->asked[i]));
        if (status == STATUS_NOT_FOUND)
            return STATUS_OK;
        if (status != STATUS_EXISTS)
            client->sharing[i] = status;
        found = STATUS_AGAIN;
    }
    client->shares = found == STATUS_OK;
    return found;
}

/* With options.must_share: a busy server may be late with its memory. Messages go on meanwhile;
 * news for the trainer end the wait until there is work again. STATUS_TIMEOUT: deadlines.start. */
static enum status await_memory(struct client *client, uint32_t *server)
{
    const struct client_options *options = &client->options;
    double most_us = 1e6 * options->deadlines.start;
    uint64_t began_us = clock_now_us();
    enum status status;
    driver_lock_take(&client->driver_lock);
    while ((status = look_for_memory(client, server)) == STATUS_AGAIN &&
           client->for_trainer.count == 0) {
        if ((double)(clock_now_us() - began_us) >= most_us) {
            status = STATUS_TIMEOUT;
            break;
        }
        await(client, SHARING_MS);
        drive(client);
    }
    driver_lock_give(&client->driver_lock);
    return status;
}

/* False: a server shares no memory, and the job ends. */
static bool all_share(struct client *client)
{
    char reason[MESSAGE_TEXT_MAX];
    uint32_t server = 0;
    enum status status = await_memory(client, &server);
    if (status == STATUS_OK || status == STATUS_AGAIN)
        return true;
    if (status == STATUS_TIMEOUT)
        snprintf(reason, sizeof reason,
                 "ps/%u has not shared its memory with this worker within %s (--start-timeout): it "
                 "may have none left; --transport auto does without",
                 server, wording_duration(client->options.deadlines.start).text);
    else
        snprintf(
            reason, sizeof reason,
            "ps/%u shares no memory with this worker, and --transport is shm: it is on another "
            "host, another user's, or has --transport tcp",
            server);
    client_fail(client, EXIT_CANNOT_OPEN, reason);
    return false;
}

void client_begin_at(struct client *client, uint64_t end)
{
    client->begins_at = end;
}

/* The trainer takes the next message; false: there is early work meanwhile. */
static bool give(struct client *client, enum message_kind *kind)
{
    struct packet packet;
    if (!take(client, &packet))
        return false;
    *kind = packet.message.kind;
    trainer_take(&client->trainer, &packet, client->refusals, &client->said);
    pass_on(client);
    return true;
}

enum status client_next(struct client *client, struct trainer_work *work)
{
    enum message_kind kind = MESSAGE_NONE;
    while (kind != MESSAGE_WORK && kind != MESSAGE_FINISHED)
        if (!give(client, &kind)) {
            *work = trainer_expect(&client->trainer, client->early_step);
            work->early = client->front;
            work->begun = client->goes_on;
            return STATUS_OK;
        }
    if (kind == MESSAGE_FINISHED ||
        (client->options.must_share && !client->shares && !all_share(client)))
        return STATUS_LOST;
    *work = client->trainer.work;
    work->begun = client->goes_on && client->early_step == work->step && work->node_count > 0;
    if (work->shares == 0)
        client->gradients_out = 0;
    return STATUS_OK;
}

/* Memory that server 0 sees too, when it owns everything; else a copy is cheaper than gathering. */
static struct frame *lend_gradient(struct client *client, uint32_t slot)
{
    const struct transport_operations *operations = client->options.transport->operations;
    uint64_t bytes = client->partition.elements * sizeof(float);
    if (!client->gradients_shared)
        return NULL;
    driver_lock_take(&client->driver_lock);
    struct frame *frame = operations->lend(client->servers[0], slot * bytes, bytes);
    driver_lock_give(&client->driver_lock);
    return frame;
}

/* Once memory is shared, gradients are written there, but not over what a server may hold. */
static void move_gradients(struct client *client)
{
    const struct transport_operations *operations = client->options.transport->operations;
    if (operations->attached == NULL || client->options.job->server_count > 1)
        return;
    driver_lock_take(&client->driver_lock);
    bool shared = operations->attached(client->servers[0]) && !client->apart;
    uint64_t whose = client->asked[0];
    driver_lock_give(&client->driver_lock);
    if (shared == client->gradients_shared && client->gradients_of == whose)
        return;
    client->gradients_shared = shared;
    client->gradients_of = whose;
    while (client->gradient_count > 0)
        frame_release(client->gradients[--client->gradient_count]);
}

/* Shared memory is not free before the step is over, whatever its frame says. */
struct frame *client_gradient(struct client *client)
{
    if (client->gradients_out == 0)
        move_gradients(client);
    for (uint32_t i = client->gradients_out; i < client->gradient_count; i++)
        if (frame_is_unique(client->gradients[i])) {
            struct frame *frame = client->gradients[i];
            client->gradients[i] = client->gradients[client->gradients_out];
            client->gradients[client->gradients_out++] = frame;
            return frame;
        }
    if (client->gradient_count == GRADIENTS_MAX)
        return NULL;
    struct frame *frame = lend_gradient(client, client->gradient_count);
    if (frame == NULL)
        frame = frame_create(client->partition.elements * sizeof(float));
    if (frame == NULL)
        return NULL;
    client->gradients[client->gradient_count++] = client->gradients[client->gradients_out];
    client->gradients[client->gradients_out++] = frame;
    return frame;
}

/* Polls count milliseconds: the rest after the last whole one is slept. */
void client_rest(struct client *client, uint64_t due_ns)
{
    const struct joining *joining = session_joining(client->session);
    uint64_t now_ns = clock_now_ns();
    if (now_ns >= due_ns)
        return;
    driver_lock_take(&client->driver_lock);
    for (; !joining->over && now_ns + POLL_NS <= due_ns; now_ns = clock_now_ns()) {
        await(client, (due_ns - now_ns) / POLL_NS);
        drive(client);
    }
    bool over = joining->over;
    driver_lock_give(&client->driver_lock);
    while (!over && clock_now_ns() < due_ns)
        clock_sleep_until(due_ns);
}

/* Servers whose confirmation lets more leave are heard, too. */
void client_ready(struct client *client, const struct push *push, struct frame *gradient,
                  uint64_t first)
{
    struct message_exchange exchange = push_exchange(push, true);
    driver_lock_take(&client->driver_lock);
    for (uint32_t i = 0; i < client->options.job->server_count; i++)
        receive(client, i);
    session_take_ready(client->session, &exchange, gradient, first, clock_now_us(),
                       &client->outbox);
    flush(client);
    let_compute(client);
}

void client_push(struct client *client, const struct push *push, struct frame *gradient)
{
    trainer_push(&client->trainer, push, gradient, &client->said);
    pass_on(client);
}

void client_evaluation(struct client *client, const struct score *score, uint64_t took_us)
{
    trainer_scored(&client->trainer, score, client->scored, took_us, &client->said);
    pass_on(client);
}

void client_fail(struct client *client, int exit_code, const char *reason)
{
    enum message_kind kind = MESSAGE_NONE;
    trainer_fail(&client->trainer, exit_code, reason, &client->said);
    pass_on(client);
    client->begins_at = 0;
    while (kind != MESSAGE_FINISHED)
        give(client, &kind);
}

void client_request_stop(struct client *client, int exit_code)
{
    atomic_store(&client->stop_code, exit_code);
    eventfd_write(client->doorbell, 1);
}

void client_abandoned(struct client *client)
{
    atomic_store(&client->abandoned, true);
    eventfd_write(client->doorbell, 1);
}

void client_request_leave(struct client *client)
{
    atomic_store(&client->leave, true);
    eventfd_write(client->doorbell, 1);
}

int client_exit_code(const struct client *client)
{
    return client->trainer.exit_code;
}

const char *client_exit_reason(const struct client *client)
{
    return client->trainer.reason;
}
