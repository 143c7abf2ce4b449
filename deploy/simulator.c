#include "deploy/simulator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"

#define TICK_US         100000u
#define DEADLINE_S      100000.0 /* No deadline of the protocol's may be what ends a history. */
#define LEAVING_TIMEOUT 100000.0

/* Queues within a server, by writer and reader; each keeps its order. */
#define QUEUE_TO_OWNER(owner)   (owner)
#define QUEUE_FROM_OWNER(owner) (s->options.owners_a_server + (owner))
#define QUEUE_CUT(owner)        (2 * s->options.owners_a_server + (owner))
#define QUEUE_TO_KEEPER         (3 * s->options.owners_a_server)
#define QUEUE_FROM_KEEPER       (3 * s->options.owners_a_server + 1)
#define QUEUE_COUNT             (3 * s->options.owners_a_server + 2)

enum { TO_SESSION, TO_TRAINER_QUEUE };

static uint32_t server_count(const struct simulator *s)
{
    return s->options.job->server_count;
}

static uint32_t worker_count(const struct simulator *s)
{
    return s->options.job->worker_count;
}

static uint64_t draw(struct simulator *s, uint64_t most)
{
    return random_below(&s->random, (uint32_t)most + 1);
}

static uint64_t draw_u64(struct simulator *s)
{
    return (uint64_t)random_next(&s->random) << 32 | random_next(&s->random) | 1;
}

/* --- life ------------------------------------------------------------------------------------ */

static enum status make_server(struct simulator *s, uint32_t index, uint64_t run_id)
{
    struct simulated_server *server = &s->servers[index];
    struct cores_options options = {
        .router = {.server = index,
                   .incarnation = draw_u64(s),
                   .owner_count = s->options.owners_a_server,
                   .host = "simulated",
                   .arithmetic = "simulated",
                   .start_timeout = DEADLINE_S,
                   .worker_timeout = DEADLINE_S},
        .coordinator = {.run_id = run_id,
                        .out = SIMULATED_OUT,
                        .start_timeout = DEADLINE_S,
                        .worker_timeout = LEAVING_TIMEOUT,
                        .stop_timeout = DEADLINE_S},
        .keeper = {.server = index,
                   .disk = &s->options.disks[index]->disk,
                   .out = SIMULATED_OUT,
                   .journal = false},
    };
    snprintf(options.keeper.restore, sizeof options.keeper.restore, "%s", s->options.restore);
    server->queue_until_us = calloc(QUEUE_COUNT, sizeof *server->queue_until_us);
    if (server->queue_until_us == NULL)
        return STATUS_MEMORY;
    return cores_init(&server->cores, &options, 0);
}

static void add_event(struct simulator *s, uint64_t time_us, enum event_kind kind, uint32_t process)
{
    struct event event = {.time_us = time_us, .kind = kind, .process = process};
    event_queue_add(&s->queue, &event);
}

static enum status make_processes(struct simulator *s)
{
    enum status status = STATUS_OK;
    uint64_t run_id = draw_u64(s);
    uint32_t processes = server_count(s) + worker_count(s);
    for (uint32_t i = 0; i < server_count(s) && status == STATUS_OK; i++)
        status = make_server(s, i, run_id);
    for (uint32_t i = 0; i < worker_count(s) && status == STATUS_OK; i++)
        status = simulated_worker_init(&s->workers[i], i, draw_u64(s), &s->work, &s->partition,
                                       &s->witness, DEADLINE_S, 0);
    s->running = processes;
    for (uint32_t i = 0; i < processes; i++)
        add_event(s, 1 + draw(s, s->options.start_within_us), EVENT_TICK, i);
    return status;
}

enum status simulator_init(struct simulator *simulator, const struct simulator_options *options,
                           struct error *error)
{
    struct simulator *s = simulator;
    const struct job *job = options->job;
    memset(s, 0, sizeof *s);
    s->options = *options;
    random_sequence_init(&s->random, options->seed, RANDOM_STREAM_SIMULATOR, 0);
    enum status status = job_check(job, error);
    if (status == STATUS_OK)
        status = partition_make(&s->partition, job->variables, job->variable_count,
                                job->server_count, job->chunk_bytes, job->use_locking, error);
    if (status != STATUS_OK)
        return status;
    s->servers = calloc(job->server_count, sizeof *s->servers);
    s->workers = calloc(job->worker_count, sizeof *s->workers);
    s->worker_over = calloc(job->worker_count, sizeof *s->worker_over);
    s->worker_until_us = calloc(job->worker_count, sizeof *s->worker_until_us);
    if (s->servers == NULL || s->workers == NULL || s->worker_over == NULL ||
        s->worker_until_us == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory for a cluster");
    status = simulated_work_init(&s->work, job, options->kind);
    if (status == STATUS_OK)
        status = witness_init(&s->witness, &s->work, &s->partition, options->owners_a_server,
                              options->first_step, options->model);
    if (status == STATUS_OK)
        status = simulated_network_init(&s->network, &s->options.faults, options->seed,
                                        job->server_count + job->worker_count, &s->queue);
    if (status == STATUS_OK)
        status = make_processes(s);
    return status == STATUS_OK ? status : error_set(error, status, "out of memory for a cluster");
}

void simulator_free(struct simulator *simulator)
{
    struct simulator *s = simulator;
    event_queue_free(&s->queue);
    for (uint32_t i = 0; s->servers != NULL && i < server_count(s); i++) {
        outbox_free(&s->servers[i].outbox);
        cores_free(&s->servers[i].cores);
        free(s->servers[i].queue_until_us);
    }
    for (uint32_t i = 0; s->workers != NULL && i < worker_count(s); i++)
        simulated_worker_free(&s->workers[i]);
    free(s->servers);
    free(s->workers);
    free(s->worker_over);
    free(s->worker_until_us);
    simulated_network_free(&s->network);
    witness_free(&s->witness);
    simulated_work_free(&s->work);
    partition_free(&s->partition);
    memset(s, 0, sizeof *s);
}

/* --- queues within a process ----------------------------------------------------------------- */

static bool is_let_through(struct simulator *s, enum simulated_place place, uint32_t process,
                           struct outgoing *item)
{
    const struct simulator_tamper *tamper = &s->options.tamper;
    if (tamper->item == NULL || tamper->item(tamper->context, place, process, item))
        return true;
    frame_release(item->packet.payload);
    return false;
}

static void enqueue(struct simulator *s, uint64_t *until_us, enum event_kind kind, uint32_t process,
                    const struct outgoing *item)
{
    uint64_t time_us = s->now_us + draw(s, s->options.queue_delay_us);
    if (time_us < *until_us)
        time_us = *until_us;
    *until_us = time_us;
    struct event event = {.time_us = time_us, .kind = kind, .process = process};
    event.item = malloc(sizeof *event.item);
    if (event.item == NULL) {
        log_error("out of memory for an item");
        exit(EXIT_TRAINING_FAILED);
    }
    *event.item = *item;
    event_queue_add(&s->queue, &event);
}

static void send_wire(struct simulator *s, uint32_t from, uint32_t to, struct outgoing *item)
{
    const struct message *message = &item->packet.message;
    if (!is_let_through(s, ON_WIRE, from, item))
        return;
    if (message->kind == MESSAGE_REFUSED) {
        s->witness.counts.refused++;
        witness_fail(&s->witness, "process %u refuses process %u: %s", from, to,
                     message->refused.text);
    }
    simulated_network_send(&s->network, s->now_us, from, to, message, item->packet.payload);
}

static void say(struct simulator *s, uint32_t process, const struct outgoing *item)
{
    bool server = process < server_count(s);
    if (s->options.verbose)
        printf("%12.6f %s/%u %s\n", (double)s->now_us * 1e-6, server ? "ps" : "worker",
               server ? process : process - server_count(s), item->packet.message.waiting.text);
}

/* --- servers --------------------------------------------------------------------------------- */

/* Give an owner an item while the witness looks on; what it puts out is left in outbox. */
static void run_owner(struct simulator *s, uint32_t index, struct outgoing *item,
                      struct outbox *outbox)
{
    struct outbox fresh = {0};
    struct outgoing out;
    if (!is_let_through(s, INTO_OWNER, index, item))
        return;
    witness_owner_takes(&s->witness, index, item->index, &item->packet);
    cores_deliver(&s->servers[index].cores, item, s->now_us, &fresh);
    while (outbox_take(&fresh, &out)) {
        witness_owner_gave(&s->witness, index, &out);
        if (is_let_through(s, OUT_OF_OWNER, index, &out))
            *outbox_add_to(outbox, out.to, out.index, out.packet.message.kind) = out.packet;
    }
    witness_owner_done(&s->witness);
    outbox_free(&fresh);
}

static void make_owners(struct simulator *s, struct simulated_server *server)
{
    if (server->cores.owners == NULL && cores_make_owners(&server->cores, NULL) != STATUS_OK)
        witness_fail(&s->witness, "out of memory for owners");
}

/* One item of the router thread's outbox, as dispatch in ps/server.c. */
static void dispatch(struct simulator *s, uint32_t index, struct outgoing *item)
{
    struct simulated_server *server = &s->servers[index];
    if (item->to == TO_OWNER)
        make_owners(s, server);
    if (item->to == TO_OWNER && s->options.owners_inline)
        run_owner(s, index, item, &server->outbox);
    else if (item->to == TO_OWNER)
        enqueue(s, &server->queue_until_us[QUEUE_TO_OWNER(item->index)], EVENT_ACTOR, index, item);
    else if (item->to == TO_KEEPER)
        enqueue(s, &server->queue_until_us[QUEUE_TO_KEEPER], EVENT_ACTOR, index, item);
    else if (item->to == TO_LOG)
        say(s, index, item);
    else if (item->to == TO_SERVER)
        send_wire(s, index, 0, item);
    else if (cores_is_for_wire(item))
        send_wire(s, index, (uint32_t)item->packet.peer - 1, item);
    else
        cores_deliver(&server->cores, item, s->now_us, &server->outbox);
}

static void flush_server(struct simulator *s, uint32_t index)
{
    struct simulated_server *server = &s->servers[index];
    struct outgoing item;
    while (outbox_take(&server->outbox, &item))
        dispatch(s, index, &item);
    if (!server->over && cores_are_over(&server->cores)) {
        server->over = true;
        s->running--;
    }
}

/* An owner's or the keeper's turn. What they put out goes to the keeper or to the router thread. */
static void actor_turn(struct simulator *s, uint32_t index, struct outgoing *item)
{
    struct simulated_server *server = &s->servers[index];
    struct outbox outbox = {0};
    struct outgoing out;
    bool owner = item->to == TO_OWNER;
    uint32_t actor = item->index;
    if (owner)
        run_owner(s, index, item, &outbox);
    else
        cores_deliver(&server->cores, item, s->now_us, &outbox);
    while (outbox_take(&outbox, &out)) {
        if (out.to == TO_KEEPER)
            enqueue(s, &server->queue_until_us[QUEUE_CUT(actor)], EVENT_ACTOR, index, &out);
        else
            enqueue(s, &server->queue_until_us[owner ? QUEUE_FROM_OWNER(actor) : QUEUE_FROM_KEEPER],
                    EVENT_INBOX, index, &out);
    }
    outbox_free(&outbox);
}

/* As pass_on_stop in ps/server.c. */
static void stop_server(struct simulator *s, uint32_t index)
{
    struct packet *packet = outbox_add(&s->servers[index].outbox, TO_COORDINATOR, MESSAGE_STOP);
    packet->message.stop.exit_code = EXIT_INTERRUPTED;
    snprintf(packet->message.stop.reason, MESSAGE_TEXT_MAX, "ps/%u was asked to", index);
}

static void server_event(struct simulator *s, struct event *event)
{
    uint32_t index = event->process;
    struct simulated_server *server = &s->servers[index];
    struct packet packet;
    struct error error;
    if (event->kind == EVENT_ACTOR) { /* Even when the router is over: nothing is left behind. */
        actor_turn(s, index, event->item);
        event->item->packet.payload = NULL;
        return;
    }
    if (server->over)
        return;
    if (event->kind == EVENT_WIRE) {
        if (simulated_network_open(&s->network, event->parcel, &packet, &error) != STATUS_OK) {
            witness_fail(&s->witness, "%s", error.text);
            return;
        }
        packet.peer = event->parcel->from + 1;
        cores_receive(&server->cores, &packet, index != 0 && event->parcel->from == 0, s->now_us,
                      &server->outbox);
    } else if (event->kind == EVENT_INBOX) {
        dispatch(s, index, event->item);
        event->item->packet.payload = NULL;
    } else if (event->kind == EVENT_STOP) {
        stop_server(s, index);
    } else {
        cores_tick(&server->cores, s->now_us, &server->outbox);
        add_event(s, s->now_us + TICK_US, EVENT_TICK, index);
    }
    flush_server(s, index);
}

/* --- workers --------------------------------------------------------------------------------- */

static void flush_session(struct simulator *s, uint32_t index, struct outbox *outbox)
{
    uint32_t process = server_count(s) + index;
    struct outgoing item;
    while (outbox_take(outbox, &item)) {
        if (item.to == TO_LOG) {
            say(s, process, &item);
        } else if (item.to == TO_TRAINER) {
            enqueue(s, &s->worker_until_us[index][TO_TRAINER_QUEUE], EVENT_ACTOR, process, &item);
        } else {
            if (item.packet.message.kind == MESSAGE_EXCHANGE)
                witness_session_asks(&s->witness, index, &item.packet);
            send_wire(s, process, item.index, &item);
        }
    }
    if (!s->worker_over[index] && session_is_over(s->workers[index].session)) {
        s->worker_over[index] = true;
        s->running--;
    }
}

static void flush_trainer(struct simulator *s, uint32_t index, struct outbox *outbox)
{
    uint32_t process = server_count(s) + index;
    struct outgoing item;
    while (outbox_take(outbox, &item))
        enqueue(s, &s->worker_until_us[index][TO_SESSION], EVENT_INBOX, process, &item);
    if (!s->workers[index].computing)
        return;
    uint64_t took = s->options.compute_us + draw(s, s->options.compute_us);
    if (s->options.slow != NULL)
        took = (uint64_t)((double)took * s->options.slow[index]);
    add_event(s, s->now_us + took, EVENT_COMPUTE, process);
}

static void session_receives(struct simulator *s, uint32_t index, struct parcel *parcel,
                             struct outbox *outbox)
{
    struct packet packet;
    struct error error;
    if (simulated_network_open(&s->network, parcel, &packet, &error) != STATUS_OK) {
        witness_fail(&s->witness, "%s", error.text);
        return;
    }
    session_handle_server(s->workers[index].session, parcel->from, &packet, s->now_us, outbox);
}

/* As pass_on_stop in worker/client.c. */
static void stop_worker(struct simulator *s, uint32_t index, struct outbox *outbox)
{
    struct packet packet = {.message.kind = MESSAGE_STOP};
    packet.message.stop.exit_code = EXIT_INTERRUPTED;
    snprintf(packet.message.stop.reason, MESSAGE_TEXT_MAX, "worker/%u was asked to", index);
    session_handle_trainer(s->workers[index].session, &packet, s->now_us, outbox);
}

static void session_event(struct simulator *s, uint32_t index, struct event *event)
{
    struct session *session = s->workers[index].session;
    struct outbox outbox = {0};
    if (event->kind == EVENT_WIRE) {
        session_receives(s, index, event->parcel, &outbox);
    } else if (event->kind == EVENT_INBOX) {
        session_handle_trainer(session, &event->item->packet, s->now_us, &outbox);
    } else if (event->kind == EVENT_STOP && s->workers[index].start.members > 0) {
        stop_worker(s, index, &outbox);
    } else if (event->kind == EVENT_STOP) {
        /* A worker that does not know yet that it is in may leave without a word; then the others
         * wait for it until a deadline. So somebody else is asked. */
        add_event(s, s->now_us, EVENT_STOP, 0);
    } else {
        session_tick(session, s->now_us, &outbox);
        add_event(s, s->now_us + TICK_US, EVENT_TICK, event->process);
    }
    flush_session(s, index, &outbox);
    outbox_free(&outbox);
}

/* The first START: the moment from which a stop is counted. */
static void note_start(struct simulator *s)
{
    if (!s->started && s->options.stop_after_us > 0)
        add_event(s, s->now_us + s->options.stop_after_us, EVENT_STOP, s->options.stop_process);
    s->started = true;
}

static void trainer_event(struct simulator *s, uint32_t index, struct event *event)
{
    struct outbox outbox = {0};
    if (event->kind == EVENT_ACTOR && event->item->packet.message.kind == MESSAGE_START)
        note_start(s);
    if (event->kind == EVENT_ACTOR)
        simulated_worker_take(&s->workers[index], &event->item->packet, &outbox);
    else
        simulated_worker_compute(&s->workers[index], s->options.compute_us, &outbox);
    flush_trainer(s, index, &outbox);
    outbox_free(&outbox);
}

static void worker_event(struct simulator *s, struct event *event)
{
    uint32_t index = event->process - server_count(s);
    if (s->worker_over[index])
        return;
    if (event->kind == EVENT_ACTOR || event->kind == EVENT_COMPUTE)
        trainer_event(s, index, event);
    else
        session_event(s, index, event);
}

/* --- running --------------------------------------------------------------------------------- */

static void check_exit(struct simulator *s, const char *role, uint32_t index, int code,
                       const char *reason, int *common)
{
    if (*common == -1)
        *common = code;
    if (code != *common)
        witness_fail(&s->witness, "%s/%u exits with %d and others with %d: %s", role, index, code,
                     *common, reason);
    if (code != EXIT_DONE && code != EXIT_INTERRUPTED)
        witness_fail(&s->witness, "%s/%u exits with %d: %s", role, index, code, reason);
}

static int common_exit_code(struct simulator *s)
{
    int code = -1;
    for (uint32_t i = 0; i < server_count(s); i++)
        check_exit(s, "ps", i, router_exit_code(s->servers[i].cores.router),
                   router_exit_reason(s->servers[i].cores.router), &code);
    for (uint32_t i = 0; i < worker_count(s); i++)
        check_exit(s, "worker", i, session_exit_code(s->workers[i].session),
                   session_exit_reason(s->workers[i].session), &code);
    return s->witness.failed ? -1 : code;
}

/* Who is still there, for a history that does not end. */
static void name_running(const struct simulator *s, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < server_count(s) + worker_count(s) && used + 16 < size; i++) {
        bool server = i < server_count(s);
        uint32_t index = server ? i : i - server_count(s);
        if (server ? s->servers[i].over : s->worker_over[index])
            continue;
        used +=
            (size_t)snprintf(text + used, size - used, " %s/%u", server ? "ps" : "worker", index);
    }
}

int simulator_run(struct simulator *simulator)
{
    struct simulator *s = simulator;
    struct event event;
    char names[200];
    while (s->running > 0 && !s->witness.failed && event_queue_take(&s->queue, &event)) {
        s->now_us = event.time_us;
        s->events++;
        if (event.process < server_count(s))
            server_event(s, &event);
        else
            worker_event(s, &event);
        event_free(&event);
        if (s->now_us > s->options.time_limit_us) {
            name_running(s, names, sizeof names);
            witness_fail(&s->witness, "after %.0f s these are not over:%s",
                         (double)s->now_us * 1e-6, names);
        }
    }
    if (s->witness.failed)
        return -1;
    /* Keepers and owners finish what they were given, as their threads do before they end. */
    while (event_queue_take(&s->queue, &event)) {
        if (event.process < server_count(s) && event.kind == EVENT_ACTOR)
            server_event(s, &event);
        event_free(&event);
    }
    return common_exit_code(s);
}
