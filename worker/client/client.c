/* client.c - sockets and threads around session.h. The thread that has the driver lock moves the
 * messages: the trainer's while it waits, a second one while it computes. */

#include "worker/client/client.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/wording.h"
#include "common/job/partition.h"
#include "common/kernels/kernels.h"
#include "common/process/headroom.h"
#include "common/process/log.h"
#include "common/transport/shm/rendezvous.h"
#include "worker/client/backlog.h"
#include "worker/client/driver_lock.h"
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

/* What other threads ask of the driver, and how much of it the session knows. */
struct requests {
    atomic_bool close, leave, abandoned;
    atomic_int stop_code; /* 0: go on. */
    bool stop_sent, leave_sent, abandoned_noted;
};

/* With one server. */
struct link {
    struct backlog backlog;
    uint64_t asked;      /* Incarnation that was asked to share memory. */
    enum status sharing; /* The result of asking it. */
};

/* Buffers, made when needed; the first `out` hold gradients of this step. */
struct gradients {
    struct frame *frames[GRADIENTS_MAX];
    uint32_t count, out;
    bool apart;  /* They must be in memory that no server sees. */
    bool shared; /* They are in memory that server 0 sees, */
    uint64_t of; /* of this incarnation. */
};

/* A step that is begun before all its values are here. */
struct early {
    uint64_t begins_at; /* Element up to which they are needed for it; 0: all are. */
    uint64_t step, front;
    uint64_t serial; /* The number of its values; 0: none has begun. */
    bool goes_on;    /* The values are those that it began with. */
};

struct client {
    struct client_options options;
    struct traffic traffic;
    struct partition partition;
    float *parameters; /* [elements] where the session copies them. */

    struct driver_lock driver_lock; /* Guards everything down to `heeded_us`. */
    struct session *session;
    struct endpoint **servers; /* [server_count] */
    struct link *links;        /* [server_count] */
    struct outbox outbox;
    struct outbox for_trainer; /* What client_next has yet to hear. */
    bool unanswered;           /* Server 0 has never been heard. */
    uint64_t over_us;          /* When the session was over; 0: it is not. */
    uint64_t said_us, heeded_us;

    pthread_t thread; /* Drives while the trainer computes. */
    bool started;
    struct mailbox doorbell; /* Empty; rung: the driver should look at the requests. */
    struct requests requests;
    struct trainer trainer; /* On the caller's thread, as is all below. */
    struct outbox said;     /* By it. */
    const float *view;      /* [elements] the parameters. */
    const float *scored;    /* [elements] those to be scored. */
    uint32_t refusals;      /* Of the given batch; see step_shape.h. */
    struct gradients gradients;
    struct early early;
    bool shares; /* All servers share memory with this process. */
};

/* --- driving: the lock is held ------------------------------------------------------------- */

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
            backlog_send(&client->links[item.index].backlog, &item);
        else if (item.to == TO_TRAINER)
            outbox_append(&client->for_trainer, &item);
        else
            log_write(item.index == 1 ? LOG_WARNING : LOG_INFO, "%s",
                      item.packet.message.waiting.text);
    }
}

/* A server is on this host if its incarnation is found here, once it has values. STATUS_AGAIN:
 * too many ask it now. A successor at the same place is asked as soon as the connection to the
 * old one has ended. */
static void ask_to_share(struct client *client, uint32_t server, const struct message *message)
{
    const struct transport_operations *operations = client->options.transport->operations;
    struct link *link = &client->links[server];
    bool answered = link->asked == message->incarnation && link->sharing != STATUS_AGAIN;
    if (message->kind != MESSAGE_RESULT || answered || operations->attach == NULL)
        return;
    enum status status =
        operations->attach(client->servers[server], rendezvous_name(message->incarnation));
    if (status == STATUS_EXISTS)
        return;
    link->asked = message->incarnation;
    link->sharing = status;
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

/* What it waits for, or what it is doing. */
static void beat(struct notify *notify, const char *what, double seconds, uint64_t now_us)
{
    char text[NOTIFY_STATUS_MAX];
    if (what == NULL)
        snprintf(text, sizeof text, "training");
    else
        snprintf(text, sizeof text, "waiting %s for ps/0%s%.300s", wording_waited(seconds).text,
                 what[0] != '\0' ? ", which says: " : "", what);
    notify_beat(notify, text, now_us);
}

static void say_why_waiting(struct client *client)
{
    char why[MESSAGE_TEXT_MAX];
    double seconds = 0;
    uint64_t now_us = clock_now_us();
    const char *what = session_waiting(client->session, &seconds, now_us);
    client->unanswered = what != NULL && what[0] == '\0';
    if (client->options.notify != NULL)
        beat(client->options.notify, what, seconds, now_us);
    if (what == NULL || now_us - client->said_us < WAITING_LINE_US ||
        seconds * 1e6 < WAITING_LINE_US)
        return;
    if (client->unanswered)
        explain_silence(client, why, sizeof why);
    log_info("waiting %s%s: %s", wording_waited(seconds).text,
             client->unanswered ? " for ps/0" : ", ps/0 says", client->unanswered ? why : what);
    client->said_us = clock_now_us();
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
    if (atomic_load(&client->requests.abandoned) && !client->requests.abandoned_noted) {
        client->requests.abandoned_noted = true;
        joining_abandon(session_joining(client->session));
    }
    pass_on_request(client, MESSAGE_STOP, atomic_load(&client->requests.stop_code),
                    &client->requests.stop_sent);
    pass_on_request(client, MESSAGE_LEAVE,
                    atomic_load(&client->requests.leave) ? EXIT_TERMINATED : 0,
                    &client->requests.leave_sent);
}

/* Until there may be a message, the doorbell rings, or a tick is due; at most most_ms. */
static void await(const struct client *client, uint64_t most_ms)
{
    const struct client_options *options = &client->options;
    uint64_t patience_ms = (uint64_t)session_patience_ms(client->session);
    options->transport->operations->wait(options->transport, client->servers,
                                         options->job->server_count, &client->doorbell.event, 1,
                                         (int)(most_ms < patience_ms ? most_ms : patience_ms));
}

/* Do all that can be done now, without waiting. */
static void drive(struct client *client)
{
    struct outgoing none;
    mailbox_take(&client->doorbell, &none);
    for (uint32_t i = 0; i < client->options.job->server_count; i++) {
        backlog_retry(&client->links[i].backlog);
        receive(client, i);
    }
    heed_refusals(client);
    pass_on_requests(client);
    session_tick(client->session, clock_now_us(), &client->outbox);
    flush(client);
    say_why_waiting(client);
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
    while (!atomic_load(&client->requests.close) && session_moves(client->session) &&
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
    while (!atomic_load(&client->requests.close)) {
        mailbox_wait(&client->doorbell, TICK_MS);
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
    client->links = calloc(job->server_count, sizeof *client->links);
    if (client->servers == NULL || client->links == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    for (uint32_t i = 0; i < job->server_count && status == STATUS_OK; i++) {
        struct transport *transport = client->options.transport;
        status = transport->operations->connect(transport, job->servers[i], CHUNK_BYTES_MAX,
                                                &client->servers[i], error);
        client->links[i].backlog = (struct backlog){
            .traffic = &client->traffic, .transport = transport, .endpoint = client->servers[i]};
    }
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
    if (mailbox_init(&c->doorbell) != STATUS_OK) {
        free(c);
        *client = NULL;
        return error_set(error, STATUS_IO, "cannot make an eventfd: too many open files?");
    }
    driver_lock_init(&c->driver_lock, &c->doorbell);
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
        atomic_store(&c->requests.close, true);
        mailbox_ring(&c->doorbell);
        pthread_join(c->thread, NULL);
    }
    int linger_ms = c->trainer.exit_code == EXIT_START_TIMEOUT ? GIVE_UP_MS : LAST_WORDS_MS;
    for (uint32_t i = 0; i < c->options.job->server_count; i++) {
        if (c->started)
            backlog_retry(&c->links[i].backlog);
        if (c->servers != NULL)
            c->options.transport->operations->close(&c->servers[i], linger_ms);
        if (c->links != NULL)
            outbox_free(&c->links[i].backlog.items);
    }
    session_destroy(&c->session);
    outbox_free(&c->outbox);
    outbox_free(&c->for_trainer);
    outbox_free(&c->said);
    for (uint32_t i = 0; i < c->gradients.count; i++)
        frame_release(c->gradients.frames[i]);
    partition_free(&c->partition);
    driver_lock_free(&c->driver_lock);
    mailbox_free(&c->doorbell);
    trainer_free(&c->trainer);
    free(c->parameters);
    free(c->servers);
    free(c->links);
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
    if (client->early.begins_at == 0)
        return false;
    uint64_t front = session_front(client->session, &step, &serial);
    if (front == 0 || front < client->early.begins_at)
        return false;
    client->early.begins_at = 0;
    client->early.step = step;
    client->early.front = front;
    client->view = client->parameters;
    client->early.goes_on = client->early.serial == serial;
    client->early.serial = serial;
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
    client->gradients.apart = session_apart(client->session);
    client->refusals = session_refusals(client->session);
    client->early.begins_at = 0;
    client->early.goes_on =
        client->early.serial != 0 && client->early.serial == session_serial(client->session);
    client->early.serial = 0;
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
            (client->links[i].sharing != STATUS_OK && client->links[i].sharing != STATUS_AGAIN))
            return STATUS_NOT_FOUND;
        enum status status =
            operations->attach(client->servers[i], rendezvous_name(client->links[i].asked));
        if (status == STATUS_NOT_FOUND)
            return STATUS_OK;
        if (status != STATUS_EXISTS)
            client->links[i].sharing = status;
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
    client->early.begins_at = end;
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
            *work = trainer_expect(&client->trainer, client->early.step);
            work->early = client->early.front;
            work->begun = client->early.goes_on;
            return STATUS_OK;
        }
    if (kind == MESSAGE_FINISHED ||
        (client->options.must_share && !client->shares && !all_share(client)))
        return STATUS_LOST;
    *work = client->trainer.work;
    work->begun = client->early.goes_on && client->early.step == work->step && work->node_count > 0;
    if (work->shares == 0)
        client->gradients.out = 0;
    return STATUS_OK;
}

/* Memory that server 0 sees too, when it owns everything; else a copy is cheaper than gathering. */
static struct frame *lend_gradient(struct client *client, uint32_t slot)
{
    const struct transport_operations *operations = client->options.transport->operations;
    uint64_t bytes = client->partition.elements * sizeof(float);
    if (!client->gradients.shared)
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
    struct gradients *gradients = &client->gradients;
    if (operations->attached == NULL || client->options.job->server_count > 1)
        return;
    driver_lock_take(&client->driver_lock);
    bool shared = operations->attached(client->servers[0]) && !gradients->apart;
    uint64_t whose = client->links[0].asked;
    driver_lock_give(&client->driver_lock);
    if (shared == gradients->shared && gradients->of == whose)
        return;
    gradients->shared = shared;
    gradients->of = whose;
    while (gradients->count > 0)
        frame_release(gradients->frames[--gradients->count]);
}

/* Shared memory is not free before the step is over, whatever its frame says. */
struct frame *client_gradient(struct client *client)
{
    struct gradients *gradients = &client->gradients;
    struct frame *frame = NULL;
    if (gradients->out == 0)
        move_gradients(client);
    uint32_t at = gradients->out;
    while (at < gradients->count && !frame_is_unique(gradients->frames[at]))
        at++;
    if (at == GRADIENTS_MAX)
        return NULL;
    if (at < gradients->count)
        frame = gradients->frames[at];
    else if ((frame = lend_gradient(client, at)) == NULL)
        frame = frame_create(client->partition.elements * sizeof(float));
    if (frame == NULL)
        return NULL;
    gradients->count += at == gradients->count;
    gradients->frames[at] = gradients->frames[gradients->out];
    return gradients->frames[gradients->out++] = frame;
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
    client->early.begins_at = 0;
    while (kind != MESSAGE_FINISHED)
        give(client, &kind);
}

void client_request_stop(struct client *client, int exit_code)
{
    atomic_store(&client->requests.stop_code, exit_code);
    mailbox_ring(&client->doorbell);
}

void client_abandoned(struct client *client)
{
    atomic_store(&client->requests.abandoned, true);
    mailbox_ring(&client->doorbell);
}

void client_request_leave(struct client *client)
{
    atomic_store(&client->requests.leave, true);
    mailbox_ring(&client->doorbell);
}
