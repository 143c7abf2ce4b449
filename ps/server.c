/* server.c - the threads of one server.
 *
 * One turn of the router thread's loop [server_run], until all cores are over:
 *
 *  1. It sleeps until a message, an item of another thread or a request is there, or the next tick
 *     is due [joining_patience_ms].
 *  2. It takes at most RECEIVES_A_ROUND messages of the listening endpoint [receive]. Each is
 *     decoded, its sender's key is checked, and its core handles it [cores_receive].
 *  3. Before the next message it acts on all items that this has put out [flush]. An item goes to
 *     another thread, to the log, or to a core of this thread, whose own items follow [dispatch].
 *     The first item for an owner makes the owners [have_owners].
 *  4. An item for the wire is sent at once; if it cannot be queued it is lost, and its receiver asks
 *     again [send_wire].
 *  5. It takes messages of server 0 in the same way, unless it is server 0.
 *  6. It takes the items of other threads, until there are none [take_inbox].
 *  7. Requests of other threads become messages of server 0: abandoned, enough, stop
 *     [pass_on_stop].
 *  8. Now and then it asks whether server 0 refuses its key; that ends it [heed_refusal].
 *  9. While it waits for server 0 it logs the reason, every WAITING_LINE_US [say_why_waiting].
 * 10. It tells its cores the time: deadlines pass, PINGs and checkpoints fall due [cores_tick].
 * 11. It holds or releases the run directory as seen by other processes [update_occupancy].
 * 12. Twice a second it shows its state to observers [showing_turn].
 *
 * Afterwards the other threads finish what they have, and end [actor_stop].
 *
 * Shared are mailboxes (locked), frames (counted), and the flags below (atomic, one writer
 * each). The plan is made by the router thread before any owner thread starts, and never
 * changes. */

#include "ps/server.h"

#include <assert.h>
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
#include "common/job/probe.h"
#include "common/kernels/kernels.h"
#include "common/keys/refused.h"
#include "common/process/file_limit.h"
#include "common/process/headroom.h"
#include "common/process/log.h"
#include "common/process/parent.h"
#include "common/store/occupancy.h"
#include "common/transport/shm/rendezvous.h"
#include "common/wire/mailbox.h"
#include "ps/cores.h"
#include "ps/extension/extensions.h"
#include "ps/mode/shard_mode.h"

#define RECEIVES_A_ROUND 64       /* Then the mailbox gets a turn. */
#define LAST_WORDS_MS    2000     /* For the last messages to leave. */
#define GIVE_UP_MS       200      /* The same when the start timed out. */
#define HEED_US          100000u  /* Between questions whether server 0 refuses our key. */
#define WAITING_LINE_US  5000000u /* Between lines that say what this server waits for. */

struct actor {
    struct server *server;
    uint32_t index;
    pthread_t thread;
    bool started;
    struct mailbox mailbox;
    atomic_bool stop;
};

struct server {
    struct server_options options;
    char address[ADDRESS_MAX], bound[ADDRESS_MAX];
    struct cores cores; /* Its router is NULL until they are made. */
    struct endpoint *listening;
    struct endpoint *upstream; /* To server 0; NULL on server 0. */
    struct mailbox inbox;      /* Of the router thread. */
    struct outbox outbox;
    struct actor checkpointer;
    struct actor owners[OWNER_THREADS_MAX];
    uint32_t owner_threads; /* 0: the router thread is the owner. */
    atomic_int stop_code;   /* 0: go on. Written by the one who asks, read by the router thread. */
    atomic_bool abandoned;  /* The same, until it is heeded. */
    atomic_bool enough;     /* The same; the rest is the router thread's: */
    char enough_why[MESSAGE_TEXT_MAX];
    bool stop_sent;
    bool holds_run;      /* As last seen. */
    int occupied;        /* The descriptor that shows it to others, or -1. */
    bool without_owners; /* There was no memory for them. */
    bool unanswered;     /* Server 0 has never been heard. */
    uint64_t said_us, heeded_us;
    uint64_t unheard;
    struct not_taken not_taken;     /* Malformed ones, and those of wrong_key_peers. */
    struct refused wrong_key_peers; /* Keys that spoke in another process's name. */
    struct traffic traffic;
    uint64_t incarnation;
    struct showing showing; /* To observers. */
};

/* --- life ---------------------------------------------------------------------------------- */

static enum status write_port_file(const struct server *server, struct error *error)
{
    char line[ADDRESS_MAX + 1];
    snprintf(line, sizeof line, "%s\n", server->address);
    return disk_put_note(server->options.port_file, line, error);
}

/* The name as given, with the final port. */
static void set_address(struct server *server)
{
    const char *name = server->options.name, *bound = server->bound;
    const char *port = strrchr(bound, ':'), *end = name != NULL ? strrchr(name, ':') : NULL;
    if (port != NULL && end != NULL)
        snprintf(server->address, ADDRESS_MAX, "%.*s%s", (int)(end - name), name, port);
    else
        snprintf(server->address, ADDRESS_MAX, "%s", bound);
}

/* One line for people who know it by its name. */
static enum status start_listening(struct server *server, struct error *error)
{
    struct error fault;
    const struct server_options *options = &server->options;
    enum status status =
        options->transport->operations->listen(options->transport, options->listen, CHUNK_BYTES_MAX,
                                               server->bound, &server->listening, &fault);
    if (status != STATUS_OK && options->name != NULL && strcmp(options->name, options->listen) != 0)
        return error_set(error, status, "%.200s: %s", options->name, fault.text);
    if (status != STATUS_OK)
        return error_set(error, status, "%s", fault.text);
    set_address(server);
    return STATUS_OK;
}

static uint32_t processors(void)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (uint32_t)online : 0;
}

static uint32_t choose_owner_threads(int32_t wanted)
{
    if (wanted >= 0) /* Parsed options are within bounds. */
        return wanted > OWNER_THREADS_MAX ? OWNER_THREADS_MAX : (uint32_t)wanted;
    uint32_t cores = processors();
    return cores <= 2 ? 0 : cores >= 8 ? 4 : 2;
}

static enum status make_cores(struct server *server)
{
    const struct server_options *from = &server->options;
    server->incarnation = hash_random_u64();
    struct cores_options options = {
        .router = {.self.index = from->index,
                   .self.incarnation = server->incarnation,
                   .owner_count = server->owner_threads == 0 ? 1 : server->owner_threads,
                   .self.has_parent = from->has_parent,
                   .self.deadlines = from->deadlines,
                   .self.began_us = from->began_us},
        .coordinator = {.run_id = hash_random_u64(),
                        .deadlines = from->deadlines,
                        .began_us = from->began_us,
                        .on_worker_loss = from->on_worker_loss,
                        .max_bad_gradients = from->max_bad_gradients,
                        .processors = processors(),
                        .allow_mixed = from->allow_mixed},
        .checkpointer = {.server = from->index,
                         .disk = from->disk,
                         .keep = from->keep,
                         .page = from->page,
                         .board = from->board},
        .listeners = extensions,
    };
    hash_random(options.coordinator.secret);
    probe_updates(options.router.self.probe_digest);
    snprintf(options.router.self.arithmetic, sizeof options.router.self.arithmetic, "%s",
             kernels_instructions_name(kernels_instructions()));
    gethostname(options.router.self.host, sizeof options.router.self.host - 1);
    snprintf(options.router.self.job_id, sizeof options.router.self.job_id, "%s",
             from->job_id != NULL ? from->job_id : "");
    snprintf(options.coordinator.address, sizeof options.coordinator.address, "%s",
             from->coordinator != NULL ? from->coordinator : server_address(server));
    snprintf(options.coordinator.out, sizeof options.coordinator.out, "%s",
             from->out != NULL ? from->out : "");
    snprintf(options.checkpointer.out, sizeof options.checkpointer.out, "%s",
             from->out != NULL ? from->out : "");
    snprintf(options.checkpointer.restore, sizeof options.checkpointer.restore, "%s",
             from->restore != NULL ? from->restore : "auto");
    snprintf(options.checkpointer.initial, sizeof options.checkpointer.initial, "%s",
             from->initial != NULL ? from->initial : "");
    return cores_init(&server->cores, &options, clock_now_us());
}

enum status server_create(struct server **server, const struct server_options *options,
                          struct error *error)
{
    struct server *s = calloc(1, sizeof *s);
    *server = s;
    if (s == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    s->options = *options;
    s->outbox.listener = options->listener;
    s->occupied = -1;
    s->traffic.log = options->log;
    s->traffic.recorder = options->recorder;
    s->showing = (struct showing){.notify = options->notify, .board = options->board_of_figures};
    s->owner_threads = choose_owner_threads(options->owner_threads);
    enum status status = mailbox_init(&s->inbox);
    if (status == STATUS_OK)
        status = mailbox_init(&s->checkpointer.mailbox);
    for (uint32_t i = 0; i < OWNER_THREADS_MAX && status == STATUS_OK; i++)
        status = mailbox_init(&s->owners[i].mailbox);
    if (status != STATUS_OK) {
        error_set(error, status, "cannot make mailboxes: too many open files?");
        free(s);
        *server = NULL;
        return status;
    }
    const struct transport_operations *transport = options->transport->operations;
    status = start_listening(s, error);
    if (status == STATUS_OK && options->index != 0)
        status = transport->connect(options->transport, options->coordinator, CHUNK_BYTES_MAX,
                                    &s->upstream, error);
    if (status == STATUS_OK && options->port_file != NULL)
        status = write_port_file(s, error);
    if (status == STATUS_OK && make_cores(s) != STATUS_OK)
        status = error_set(error, STATUS_MEMORY, "out of memory");
    if (status != STATUS_OK)
        server_destroy(server);
    return status;
}

void server_destroy(struct server **server)
{
    struct server *s = *server;
    if (s == NULL)
        return;
    const struct transport_operations *transport = s->options.transport->operations;
    bool gave_up =
        s->cores.router != NULL && router_joining(s->cores.router)->exit_code == EXIT_START_TIMEOUT;
    transport->close(&s->upstream, gave_up ? GIVE_UP_MS : LAST_WORDS_MS);
    transport->close(&s->listening, gave_up ? GIVE_UP_MS : LAST_WORDS_MS);
    if (s->occupied >= 0)
        close(s->occupied);
    outbox_free(&s->outbox);
    mailbox_free(&s->inbox);
    mailbox_free(&s->checkpointer.mailbox);
    for (uint32_t i = 0; i < OWNER_THREADS_MAX; i++)
        mailbox_free(&s->owners[i].mailbox);
    cores_free(&s->cores);
    free(s);
    *server = NULL;
}

const char *server_address(const struct server *server)
{
    return server->address;
}

const char *server_bound(const struct server *server)
{
    return server->bound;
}

void server_request_stop(struct server *server, int exit_code)
{
    atomic_store(&server->stop_code, exit_code);
    mailbox_ring(&server->inbox);
}

void server_abandoned(struct server *server)
{
    atomic_store(&server->abandoned, true);
    mailbox_ring(&server->inbox);
}

void server_enough(struct server *server, const char *why)
{
    snprintf(server->enough_why, sizeof server->enough_why, "%s", why);
    atomic_store(&server->enough, true);
    mailbox_ring(&server->inbox);
}

/* --- the other threads --------------------------------------------------------------------- */

/* Items of an owner or the checkpointer go to the checkpointer or to the router thread. */
static void post_all(struct server *server, struct outbox *outbox)
{
    struct outgoing item;
    while (outbox_take(outbox, &item)) {
        mailbox_post(item.to == TO_CHECKPOINTER ? &server->checkpointer.mailbox : &server->inbox,
                     &item);
    }
}

static void *actor_run(void *argument)
{
    struct actor *actor = argument;
    struct outbox outbox = {.listener = actor->server->options.listener};
    struct outgoing item;
    while (true) {
        bool stopping = atomic_load(&actor->stop);
        while (mailbox_take(&actor->mailbox, &item)) {
            struct span span = traffic_works(&actor->server->traffic, &item, false);
            cores_deliver(&actor->server->cores, &item, clock_now_us(), &outbox);
            recorder_ends(actor->server->options.recorder, &span);
            post_all(actor->server, &outbox);
        }
        if (stopping) /* Asked before the last look: nothing is left behind. */
            break;
        if (!atomic_load(&actor->stop)) /* Its ring may be gone: finding nothing takes it away. */
            mailbox_wait(&actor->mailbox, 1000);
    }
    outbox_free(&outbox);
    return NULL;
}

static enum status actor_start(struct actor *actor, struct server *server, uint32_t index)
{
    actor->server = server;
    actor->index = index;
    actor->started = pthread_create(&actor->thread, NULL, actor_run, actor) == 0;
    return actor->started ? STATUS_OK : STATUS_MEMORY;
}

static void actor_stop(struct actor *actor)
{
    if (!actor->started)
        return;
    atomic_store(&actor->stop, true);
    mailbox_ring(&actor->mailbox);
    pthread_join(actor->thread, NULL);
    actor->started = false;
}

static struct frame *lend(void *context, uint64_t place, uint64_t bytes)
{
    struct server *server = context;
    return server->options.transport->operations->lend(server->listening, place, bytes);
}

/* Let workers on this host find this server. Without it they use the wire, so failing does no
 * harm. */
static bool share_memory(struct server *server)
{
    struct error error;
    const struct plan *plan = router_plan(server->cores.router);
    const struct transport_operations *transport = server->options.transport->operations;
    struct share share = {
        .name = rendezvous_name(server->incarnation),
        .shard_bytes = partition_server_bytes(&plan->partition, server->options.index),
        .slots = plan->pushes_max,
        .published = shard_mode_of(&plan->job)->published,
        /* Workers may be added while the job runs, and a restarted one comes beside its former
         * process. */
        .peers_max = 2 * JOB_WORKERS_MAX,
    };
    share.messages = 2 * plan->chunk_count * share.slots;
    if (transport->share == NULL)
        return false;
    if (transport->share(server->listening, &share, &error) == STATUS_OK)
        return true;
    log_warning("no memory is shared with workers on this host: %s", error.text);
    return false;
}

static enum status start_owners(struct server *server)
{
    struct chunk_memory memory = {lend, server};
    bool shares = share_memory(server);
    enum status status = cores_make_owners(&server->cores, shares ? &memory : NULL);
    const struct plan *plan = router_plan(server->cores.router);
    if (status == STATUS_OK) /* For gradients in flight; libzmq loses a connection without it. */
        status = headroom_check(
            0, 2 * partition_server_bytes(&plan->partition, server->options.index), NULL);
    for (uint32_t i = 0; i < server->owner_threads && status == STATUS_OK; i++)
        status = actor_start(&server->owners[i], server, i);
    return status;
}

/* --- the router thread --------------------------------------------------------------------- */

/* Of events that unknown peers can cause: a line each time that their number has doubled. */
static bool is_worth_a_line(uint64_t count)
{
    return (count & (count - 1)) == 0;
}

static void send_wire(struct server *server, struct outgoing *item)
{
    bool up = item->to == TO_SERVER;
    enum status status = traffic_send(&server->traffic, server->options.transport,
                                      up ? server->upstream : server->listening, item);
    /* It does not read. It will ask again for what is lost. */
    if (status == STATUS_AGAIN && !up && is_worth_a_line(++server->unheard))
        log_warning("messages that a peer did not read count=%llu",
                    (unsigned long long)server->unheard);
    if (status != STATUS_OK)
        log_debug("not sent kind=%s status=%s", message_kind_name(item->packet.message.kind),
                  status_name(status));
}

/* Whether the owners are there; makes them when they are first needed. Without memory for the
 * model, or files for the workers, the job cannot go on, and server 0 hears of it; items for
 * owners are dropped then. */
static bool have_owners(struct server *server)
{
    struct error error;
    struct router *router = server->cores.router;
    if (server->cores.owners != NULL || server->without_owners)
        return !server->without_owners;
    if (file_limit_check(router_plan(router)->job.worker_count, &error) != STATUS_OK)
        router_fail(router, EXIT_CANNOT_OPEN, error.text, &server->outbox);
    else if (start_owners(server) != STATUS_OK)
        router_fail(router, EXIT_TRAINING_FAILED, "out of memory for the model", &server->outbox);
    else
        return true;
    server->without_owners = true;
    return false;
}

/* Deliver an item to a core of this thread. */
static void deliver(struct server *server, struct outgoing *item)
{
    struct span span = traffic_works(&server->traffic, item, true);
    bool wire = cores_deliver(&server->cores, item, clock_now_us(), &server->outbox);
    recorder_ends(server->options.recorder, &span);
    if (wire)
        send_wire(server, item);
}

static void dispatch(struct server *server, struct outgoing *item)
{
    struct mailbox *other = NULL;
    if (item->to == TO_OWNER && !have_owners(server)) {
        frame_release(item->packet.payload);
        return;
    }
    if (item->to == TO_OWNER && server->owner_threads > 0)
        other = &server->owners[item->index].mailbox;
    else if (item->to == TO_CHECKPOINTER)
        other = &server->checkpointer.mailbox;

    if (other != NULL)
        mailbox_post(other, item);
    else if (item->to == TO_LOG)
        log_write(item->index == 1 ? LOG_WARNING : LOG_INFO, "%s",
                  item->packet.message.waiting.text);
    else
        deliver(server, item);
}

static void flush(struct server *server)
{
    struct outgoing item;
    while (outbox_take(&server->outbox, &item))
        dispatch(server, &item);
}

/* Count a malformed message, log it now and then, and answer its sender. */
static void refuse_malformed(struct server *server, struct endpoint *endpoint,
                             const struct packet *packet, const char *fault)
{
    if (is_worth_a_line(++server->not_taken.malformed))
        log_warning("malformed message count=%llu: %s",
                    (unsigned long long)server->not_taken.malformed, fault);
    if (endpoint == server->listening)
        envelope_refuse(&router_joining(server->cores.router)->envelope, packet, REFUSAL_MALFORMED,
                        &server->outbox, "%.200s", fault);
}

/* A peer's certificate limits its roles: messages in another role are not heard. */
static void refuse_wrong_key_peer(struct server *server, struct packet *packet,
                                  const struct identity *sender)
{
    char may[IDENTITY_TEXT], key[KEY_TEXT], text[MESSAGE_TEXT_MAX];
    const struct message *message = &packet->message;
    identity_describe(sender, may, sizeof may);
    snprintf(text, sizeof text, "this key is for %s, and speaks as %s/%u", may,
             role_name(message->role), message->index);
    envelope_refuse(&router_joining(server->cores.router)->envelope, packet, REFUSAL_KEY,
                    &server->outbox, "%s", text);
    key_format(sender->key, key);
    bool first = refused_note(&server->wrong_key_peers, sender->key, key);
    server->not_taken.wrong_key_peers = server->wrong_key_peers.count;
    if (first)
        log_warning("refused a wrong key key=%s: %s", key, text);
    else if (server->wrong_key_peers.count % 1000 == 0)
        log_warning("refused impostors count=%llu",
                    (unsigned long long)server->wrong_key_peers.count);
    frame_release(packet->payload);
}

/* Server 0's address may lead elsewhere, to this very server for one. */
static bool is_somebody_else(struct server *server, const struct message *message)
{
    char who[32];
    const struct transport_operations *transport = server->options.transport->operations;
    if (message_is_from_server(message, 0))
        return false;
    message_describe_sender(message, 0, who);
    if (transport->shun != NULL)
        transport->shun(server->upstream, who);
    return true;
}

static void receive(struct server *server, struct endpoint *endpoint)
{
    struct received received;
    struct error error;
    const struct transport_operations *transport = server->options.transport->operations;
    for (int i = 0; i < RECEIVES_A_ROUND; i++) {
        if (transport->receive(endpoint, &received) != STATUS_OK)
            return;
        struct packet packet = {.peer = received.peer, .payload = received.payload};
        struct span span = {.from_ns = 0};
        memcpy(packet.key, received.sender.key, KEY_BYTES);
        enum status status =
            message_decode(received.header, received.header_bytes, &packet.message, &error);
        if (status == STATUS_OK && endpoint == server->upstream &&
            is_somebody_else(server, &packet.message)) {
            frame_release(packet.payload);
            continue;
        }
        if (status == STATUS_OK && packet.payload != NULL &&
            !message_may_have_payload(packet.message.kind))
            status = error_set(&error, STATUS_INVALID, "%s with a payload",
                               message_kind_name(packet.message.kind));
        if (status == STATUS_OK &&
            !identity_may_be(&received.sender, packet.message.role, packet.message.index)) {
            refuse_wrong_key_peer(server, &packet, &received.sender);
        } else if (status == STATUS_OK) {
            span = traffic_taken(&server->traffic, &packet, endpoint == server->upstream);
            cores_receive(&server->cores, &packet, endpoint == server->upstream, clock_now_us(),
                          &server->outbox);
        } else {
            frame_release(packet.payload);
            refuse_malformed(server, endpoint, &packet, error.text);
        }
        flush(server);
        recorder_ends(server->options.recorder, &span);
    }
}

static void take_inbox(struct server *server)
{
    struct outgoing item;
    while (mailbox_take(&server->inbox, &item)) {
        dispatch(server, &item);
        flush(server);
    }
}

/* A signal becomes a message like any other. */
static void pass_on_stop(struct server *server)
{
    if (atomic_exchange(&server->abandoned, false))
        cores_abandon(&server->cores);
    /* Before training starts an end of server 0 alone would not reach members that are still to
     * come. */
    if (cores_have_started(&server->cores) && atomic_exchange(&server->enough, false)) {
        cores_enough(&server->cores, server->enough_why, &server->outbox);
        flush(server);
    }
    int code = atomic_load(&server->stop_code);
    if (code == 0 || server->stop_sent)
        return;
    server->stop_sent = true;
    cores_stop(&server->cores, code, &server->outbox);
    flush(server);
}

/* Other processes that want the run directory must know whether to wait for it. */
static void update_occupancy(struct server *server)
{
    bool holds = cores_hold_run(&server->cores);
    if (holds == server->holds_run)
        return;
    server->holds_run = holds;
    if (server->occupied >= 0)
        close(server->occupied);
    server->occupied = holds ? occupancy_take(server->options.out, server->options.has_parent) : -1;
}

/* The same for a server 0 that does not take this server's key and so says nothing: the router
 * hears it as a refusal. */
static void heed_refusal(struct server *server)
{
    const struct transport_operations *transport = server->options.transport->operations;
    uint64_t now_us = clock_now_us();
    char why[MESSAGE_TEXT_MAX - ADDRESS_MAX / 2];
    if (server->upstream == NULL || transport->refusal == NULL ||
        now_us - server->heeded_us < HEED_US)
        return;
    server->heeded_us = now_us;
    if (transport->refusal(server->upstream, why, sizeof why) != STATUS_REFUSED)
        return;
    struct packet packet = {.message = {.kind = MESSAGE_REFUSED, .role = ROLE_PS}};
    packet.message.refused.reason = REFUSAL_KEY;
    snprintf(packet.message.refused.text, MESSAGE_TEXT_MAX, "ps/0 at %.100s: %s",
             server->options.coordinator, why);
    cores_receive(&server->cores, &packet, true, now_us, &server->outbox);
    flush(server);
}

/* Why server 0 does not answer. */
static void explain_silence(const struct server *server, char *why, size_t size)
{
    transport_explain_silence(server->options.transport, server->upstream,
                              server->options.coordinator, why, size);
}

/* Server 0 says by itself what it waits for; any other server waits for server 0. */
static void say_why_waiting(struct server *server)
{
    char why[MESSAGE_TEXT_MAX];
    double seconds;
    uint64_t now_us = clock_now_us();
    const char *what = router_waiting(server->cores.router, &seconds, now_us);
    server->unanswered = server->options.index != 0 && what != NULL && what[0] == '\0';
    if (server->options.index == 0 || what == NULL)
        return;
    if (now_us - server->said_us < WAITING_LINE_US)
        return;
    if (server->unanswered) {
        explain_silence(server, why, sizeof why);
        log_info("waiting %s for ps/0: %s", wording_waited(seconds).text, why);
    } else {
        log_info("waiting %s, ps/0 says: %s", wording_waited(seconds).text, what);
    }
    server->said_us = clock_now_us();
}

/* The last line; a server that never reached server 0 gives the reason. */
static void explain_end(struct server *server, int exit_code, struct error *reason)
{
    char why[MESSAGE_TEXT_MAX];
    const char *text = router_joining(server->cores.router)->reason;
    if (exit_code == EXIT_START_TIMEOUT && server->unanswered) {
        explain_silence(server, why, sizeof why);
        error_set(reason, STATUS_OK, "%s: %s", text, why);
    } else {
        error_set(reason, STATUS_OK, "%s", text);
    }
}

int server_run(struct server *server, struct error *reason)
{
    server->said_us = clock_now_us();
    struct endpoint *endpoints[] = {server->listening, server->upstream};
    size_t endpoint_count = server->upstream != NULL ? 2 : 1;
    if (actor_start(&server->checkpointer, server, 0) != STATUS_OK) {
        error_set(reason, STATUS_MEMORY, "cannot start a thread");
        return EXIT_TRAINING_FAILED;
    }
    while (!cores_are_over(&server->cores)) {
        server->options.transport->operations->wait(
            server->options.transport, endpoints, endpoint_count, &server->inbox.event, 1,
            joining_patience_ms(router_joining(server->cores.router)));
        for (size_t i = 0; i < endpoint_count; i++)
            receive(server, endpoints[i]);
        take_inbox(server);
        pass_on_stop(server);
        heed_refusal(server);
        say_why_waiting(server);
        cores_tick(&server->cores, clock_now_us(), &server->outbox);
        flush(server);
        update_occupancy(server);
        showing_turn(&server->showing, server->cores.router, server->cores.coordinator,
                     &server->not_taken, clock_now_us());
    }
    for (uint32_t i = 0; i < server->owner_threads; i++)
        actor_stop(&server->owners[i]);
    actor_stop(&server->checkpointer);
    int exit_code = router_joining(server->cores.router)->exit_code;
    explain_end(server, exit_code, reason);
    return exit_code;
}
