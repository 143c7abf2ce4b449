/* simulated_process.c - the threads' code in virtual time: when each state machine runs, and which
 * items between them are delayed. A thread handles an event at once, unless that or its current
 * work takes time (simulated_thread.h). */

#include "deploy/engine/simulated_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/process/log.h"
#include "deploy/engine/engine.h"
#include "ps/extension/extensions.h"

/* Queues between threads, by writer and reader; each keeps its order. */
#define QUEUE_TO_OWNER(owner)   (owner)
#define QUEUE_FROM_OWNER(owner) (e->options.owners_a_server + (owner))
#define QUEUE_CUT(owner)        (2 * e->options.owners_a_server + (owner))
#define QUEUE_TO_CHECKPOINTER   (3 * e->options.owners_a_server)
#define QUEUE_FROM_CHECKPOINTER (3 * e->options.owners_a_server + 1)
#define QUEUE_TO_SESSION        (3 * e->options.owners_a_server + 2)
#define QUEUE_TO_TRAINER        (3 * e->options.owners_a_server + 3)
#define QUEUE_COUNT             (3 * e->options.owners_a_server + 4)

#define PARTS   4 /* Of a gradient that is sent in parts. */
#define FORWARD 6 /* The forward pass has so many parts for some values. */

/* --- creation --------------------------------------------------------------------------------- */

static enum status make_server(struct engine *e, struct simulated_process *p)
{
    const struct engine_options *from = &e->options;
    struct cores_options options = {
        .router = {.self.index = p->index,
                   .self.incarnation = engine_draw_u64(e),
                   .owner_count = from->owners_a_server,
                   .self.host = "simulated",
                   .self.deadlines = from->deadlines},
        .coordinator = {.run_id = engine_draw_u64(e),
                        .deadlines = from->deadlines,
                        .on_worker_loss = from->on_worker_loss,
                        .max_bad_gradients = from->max_bad_gradients},
        .checkpointer = {.server = p->index,
                         .disk = from->storage.disk(from->storage.context, p),
                         .keep = from->keep},
        .listeners = extensions,
        .policy = from->policy,
        .unchecked = from->unchecked || from->trusting,
    };
    if (from->board != NULL)
        options.checkpointer.board = *from->board;
    for (size_t i = 0; i < HASH_BYTES; i++)
        options.coordinator.secret[i] = (uint8_t)random_next(&e->random);
    snprintf(options.router.self.arithmetic, sizeof options.router.self.arithmetic, "%s",
             from->arithmetic != NULL ? from->arithmetic : "simulated");
    snprintf(options.coordinator.out, sizeof options.coordinator.out, "%s", from->storage.out);
    snprintf(options.checkpointer.out, sizeof options.checkpointer.out, "%s", from->storage.out);
    snprintf(options.checkpointer.restore, sizeof options.checkpointer.restore, "%s",
             from->restore);
    snprintf(options.checkpointer.initial, sizeof options.checkpointer.initial, "%s",
             from->initial != NULL ? from->initial : "");
    enum status status = cores_init(&p->cores, &options, e->now_us);
    p->cores_made = status == STATUS_OK;
    return status;
}

struct simulated_process *simulated_process_start(struct engine *engine, uint32_t host,
                                                  const struct scripted_client *scripted_client,
                                                  uint32_t index)
{
    struct engine *e = engine;
    struct simulated_process *p = calloc(1, sizeof *p);
    if (p == NULL)
        return NULL;
    p->number = e->process_count;
    p->host = host;
    p->index = index;
    p->is_scripted_client = scripted_client != NULL;
    p->is_server = !p->is_scripted_client && host < engine_servers(e);
    snprintf(p->name, sizeof p->name, "%s/%u (%u)", p->is_server ? "ps" : "worker", p->index,
             p->number);
    p->slow = 1;
    p->heard_us = e->now_us;
    p->queue_until_ns = calloc(QUEUE_COUNT, sizeof *p->queue_until_ns);
    p->thread_count = THREAD_OWNERS + (p->is_server ? e->options.owners_a_server : 0);
    p->threads = calloc(p->thread_count, sizeof *p->threads);
    bool rooms = p->queue_until_ns != NULL && p->threads != NULL;
    enum status status = rooms ? STATUS_OK : STATUS_MEMORY;
    if (p->is_scripted_client)
        p->scripted_client = *scripted_client;
    else if (status == STATUS_OK)
        status = p->is_server ? make_server(e, p)
                              : simulated_worker_init(&p->worker, e, p, engine_draw_u64(e));
    if (status != STATUS_OK) {
        simulated_process_free(p);
        return NULL;
    }
    return p;
}

static void forget_missed(struct simulated_process *p)
{
    for (size_t i = 0; i < p->missed_count; i++)
        event_free(&p->missed[i]);
    p->missed_count = 0;
}

void simulated_process_free(struct simulated_process *process)
{
    struct simulated_process *p = process;
    outbox_free(&p->outbox);
    outbox_free(&p->writing.waiting);
    outbox_free(&p->writing.said);
    if (p->cores_made)
        cores_free(&p->cores);
    if (!p->is_server && !p->is_scripted_client)
        simulated_worker_free(&p->worker);
    forget_missed(p);
    for (uint32_t i = 0; i < p->thread_count && p->threads != NULL; i++)
        thread_free(&p->threads[i]);
    free(p->threads);
    free(p->missed);
    free(p->queue_until_ns);
    memset(p, 0, sizeof *p);
    free(p);
}

void simulated_process_hold(struct engine *engine, const struct simulated_process *process)
{
    for (uint32_t i = 0; i < process->thread_count; i++)
        thread_hold(engine, &process->threads[i]);
}

void simulated_process_release(struct engine *engine, const struct simulated_process *process)
{
    for (uint32_t i = 0; i < process->thread_count; i++)
        thread_release(engine, &process->threads[i]);
}

void simulated_process_end(struct engine *engine, struct simulated_process *process)
{
    struct simulated_process *p = process;
    uint32_t end = p->state == PROCESS_KILLED ? p->thread_count : (uint32_t)THREAD_OWNERS;
    for (uint32_t i = 0; i < end; i++)
        thread_end(engine, p, i);
    outbox_free(&p->outbox);
}

void simulated_process_bury(struct simulated_process *process)
{
    forget_missed(process);
    if (!process->is_server && !process->is_scripted_client)
        simulated_worker_free(&process->worker);
}

/* --- queues within a process ----------------------------------------------------------------- */

static bool is_let_through(struct engine *e, enum simulated_place place, uint32_t process,
                           struct outgoing *item)
{
    const struct engine_tamper *tamper = &e->options.tamper;
    if (tamper->item == NULL || tamper->item(tamper->context, place, process, item))
        return true;
    frame_release(item->packet.payload);
    return false;
}

static struct outgoing *kept(const struct outgoing *item)
{
    struct outgoing *copy = malloc(sizeof *copy);
    if (copy == NULL) {
        log_error("out of memory for an item");
        exit(EXIT_TRAINING_FAILED);
    }
    *copy = *item;
    return copy;
}

static void enqueue(struct engine *e, struct simulated_process *p, uint32_t queue,
                    enum due_kind kind, const struct outgoing *item)
{
    const struct timing *timing = &e->options.timing;
    uint64_t time_ns = e->now_ns + timing->queue_ns(timing->context, &e->random, p);
    uint64_t *until_ns = &p->queue_until_ns[queue];
    if (time_ns < *until_ns)
        time_ns = *until_ns;
    *until_ns = time_ns;
    struct due event = {.time_ns = time_ns, .kind = kind, .process = p->number, .item = kept(item)};
    event_queue_add(&e->queue, &event);
}

static void tick_later(struct engine *e, const struct simulated_process *p, int patience_ms)
{
    uint64_t after_ms = patience_ms > 0 ? (uint64_t)patience_ms : 1;
    struct due event = {
        .time_ns = e->now_ns + 1000000 * after_ms, .kind = DUE_TICK, .process = p->number};
    event_queue_add(&e->queue, &event);
}

static void send_wire(struct engine *e, struct simulated_process *p, struct outgoing *item)
{
    const struct message *message = &item->packet.message;
    if (p->foreign_run != 0)
        item->packet.message.run_id = p->foreign_run;
    if (!is_let_through(e, ON_WIRE, p->number, item))
        return;
    OBSERVE(&e->options.observer, sends, p, message);
    if (item->to == TO_SERVER)
        simulated_network_send_up(&e->network, e->now_ns, p->number, item->index, message,
                                  item->packet.payload);
    else
        simulated_network_send_down(&e->network, e->now_ns, p->number, item->packet.peer, message,
                                    item->packet.payload);
}

static uint64_t payload_bytes(const struct frame *payload)
{
    return payload != NULL ? payload->bytes : 0;
}

/* Called when a router or session has done the work of an item that it sends; false: there is
 * none. */
static bool works_at(struct engine *e, struct simulated_process *p, enum labour labour,
                     const struct outgoing *item)
{
    if (!thread_begin(e, p, THREAD_FRONT, labour, payload_bytes(item->packet.payload)))
        return false;
    p->threads[THREAD_FRONT].said = kept(item);
    return true;
}

static void say_wire(struct engine *e, struct simulated_process *p, struct outgoing *item)
{
    if (!works_at(e, p, LABOUR_SEND, item))
        send_wire(e, p, item);
}

/* Whether an owner has a gradient to apply. */
static bool is_gradient(const struct outgoing *item)
{
    return item->packet.message.kind == MESSAGE_EXCHANGE && item->packet.payload != NULL;
}

/* For people: texts are not part of the transcript's digest. */
static void say(const struct engine *e, const struct simulated_process *p,
                const struct outgoing *item)
{
    if (e->options.verbose)
        printf("%12.6f %s/%u (%u) %s\n", (double)e->now_us * 1e-6, p->is_server ? "ps" : "worker",
               p->index, p->number, item->packet.message.waiting.text);
}

static void note_message(struct engine *e, const struct simulated_process *p,
                         const struct parcel *parcel, const struct packet *packet)
{
    if (e->options.unchecked && !e->options.verbose)
        return;
    transcript_message(&e->transcript, e->now_us, p->name, e->processes[parcel->from]->name,
                       &packet->message, parcel->header, parcel->header_bytes, packet->payload);
}

/* --- servers --------------------------------------------------------------------------------- */

/* Give an owner an item while the observer watches; its outputs are in outbox. */
static void run_owner(struct engine *e, struct simulated_process *p, struct outgoing *item,
                      struct outbox *outbox)
{
    const struct observer *observer = &e->options.observer;
    struct outbox fresh = {0};
    struct outgoing out;
    if (!is_let_through(e, INTO_OWNER, p->number, item))
        return;
    OBSERVE(observer, owner_takes, p, item->index, &item->packet,
            simulated_network_client(&e->network, item->packet.peer));
    if (is_let_through(e, INSIDE_OWNER, p->number, item))
        cores_deliver(&p->cores, item, e->now_us, &fresh);
    while (outbox_take(&fresh, &out)) {
        if (!is_let_through(e, BY_OWNER, p->number, &out))
            continue;
        OBSERVE(observer, owner_gave, p, &out);
        if (is_let_through(e, OUT_OF_OWNER, p->number, &out))
            *outbox_add_to(outbox, out.to, out.index, out.packet.message.kind) = out.packet;
    }
    if (observer->owner_done != NULL)
        observer->owner_done(observer->context);
    outbox_free(&fresh);
}

static void make_owners(struct engine *e, struct simulated_process *p)
{
    if (p->cores.owners == NULL && cores_make_owners(&p->cores, NULL) != STATUS_OK)
        engine_fail(e, "out of memory for owners");
}

/* One item of the router thread's outbox, as dispatch in ps/server.c. */
static void dispatch(struct engine *e, struct simulated_process *p, struct outgoing *item)
{
    if (item->to == TO_PEER || item->to == TO_CHECKPOINTER)
        OBSERVE(&e->options.observer, server_says, p, item,
                item->to == TO_PEER ? simulated_network_client(&e->network, item->packet.peer)
                                    : UINT32_MAX);
    if (item->to == TO_OWNER)
        make_owners(e, p);
    if (item->to == TO_OWNER && e->options.owners_inline) {
        if (!is_gradient(item) || !works_at(e, p, LABOUR_APPLY, item))
            run_owner(e, p, item, &p->outbox);
    } else if (item->to == TO_OWNER)
        enqueue(e, p, QUEUE_TO_OWNER(item->index), DUE_ACTOR, item);
    else if (item->to == TO_CHECKPOINTER)
        enqueue(e, p, QUEUE_TO_CHECKPOINTER, DUE_ACTOR, item);
    else if (item->to == TO_LOG)
        say(e, p, item);
    else if (cores_deliver(&p->cores, item, e->now_us, &p->outbox))
        say_wire(e, p, item);
}

static void flush_server(struct engine *e, struct simulated_process *p)
{
    struct outgoing item;
    while (!p->threads[THREAD_FRONT].busy && outbox_take(&p->outbox, &item))
        dispatch(e, p, &item);
    bool busy = p->threads[THREAD_FRONT].busy;
    if (busy || p->state != PROCESS_RUNNING || !cores_are_over(&p->cores))
        return;
    engine_over(e, p, router_joining(p->cores.router)->exit_code,
                router_joining(p->cores.router)->reason);
}

static void owner_turn(struct engine *e, struct simulated_process *p, struct outgoing *item)
{
    struct outbox outbox = {0};
    struct outgoing out;
    uint32_t owner = item->index;
    run_owner(e, p, item, &outbox);
    while (outbox_take(&outbox, &out))
        if (out.to == TO_CHECKPOINTER)
            enqueue(e, p, QUEUE_CUT(owner), DUE_ACTOR, &out);
        else
            enqueue(e, p, QUEUE_FROM_OWNER(owner), DUE_INBOX, &out);
    outbox_free(&outbox);
}

/* When the owner is done the item is its own. */
static void owner_takes(struct engine *e, struct simulated_process *p, struct due *event)
{
    owner_turn(e, p, event->item);
    event->item->packet.payload = NULL;
    event_free(event);
}

/* It begins with an item; false: it takes no time. */
static bool owner_begins(struct engine *e, struct simulated_process *p, struct due *event)
{
    const struct outgoing *item = event->item;
    uint32_t number = THREAD_OWNERS + item->index;
    if (!is_gradient(item) ||
        !thread_begin(e, p, number, LABOUR_APPLY, payload_bytes(item->packet.payload)))
        return false;
    p->threads[number].doing = *event;
    event->item = NULL;
    return true;
}

static void owner_event(struct engine *e, struct simulated_process *p, struct due *event)
{
    struct simulated_thread *thread = &p->threads[THREAD_OWNERS + event->item->index];
    if (thread->busy)
        thread_wait(thread, event);
    else if (!owner_begins(e, p, event))
        owner_takes(e, p, event);
}

static void owner_worked(struct engine *e, struct simulated_process *p, uint32_t number)
{
    struct simulated_thread *thread = &p->threads[number];
    struct due next = thread->doing;
    thread_done(e, p, number);
    thread->doing = (struct due){.item = NULL};
    do
        owner_takes(e, p, &next);
    while (thread_next(thread, &next) && !owner_begins(e, p, &next));
}

/* A checkpointer takes one item; its messages about files are sent when those are durable. */
static void writing_turn(struct engine *e, struct simulated_process *p, struct outgoing *item)
{
    const struct storage *storage = &e->options.storage;
    storage->begin(storage->context, p, e->now_us);
    cores_deliver(&p->cores, item, e->now_us, &p->writing.said);
    struct stored stored = storage->end(storage->context, p, e->now_us);
    struct due event = {
        .time_ns = e->now_ns + 1000 * stored.took_us, .kind = DUE_DISK, .process = p->number};
    event_queue_add(&e->queue, &event);
    p->writing.busy = true;
    if (stored.wrote)
        engine_wrote(e, p);
}

static void writing_done(struct engine *e, struct simulated_process *p)
{
    struct outgoing out;
    struct writing_thread *thread = &p->writing;
    while (outbox_take(&thread->said, &out))
        enqueue(e, p, QUEUE_FROM_CHECKPOINTER, DUE_INBOX, &out);
    thread->busy = false;
    if (outbox_take(&thread->waiting, &out))
        writing_turn(e, p, &out);
}

static void writing_event(struct engine *e, struct simulated_process *p, struct outgoing *item)
{
    struct writing_thread *thread = &p->writing;
    if (thread->busy)
        *outbox_add(&thread->waiting, item->to, item->packet.message.kind) = item->packet;
    else
        writing_turn(e, p, item);
    item->packet.payload = NULL;
}

/* Take a packet off the wire; false if it was corrupted. */
static bool open_parcel(struct engine *e, struct simulated_process *p, struct parcel *parcel,
                        struct packet *packet)
{
    struct error error;
    if (simulated_network_open(&e->network, parcel, packet, &error) != STATUS_OK) {
        engine_fail(e, "%s", error.text);
        return false;
    }
    if (!parcel->up && e->network.wires[parcel->wire].server == 0)
        p->heard_us = e->now_us;
    note_message(e, p, parcel, packet);
    engine_delivered(e, packet->message.kind);
    return true;
}

static void server_receives(struct engine *e, struct simulated_process *p, struct parcel *parcel,
                            uint64_t peer)
{
    struct outgoing item = {.to = TO_ROUTER};
    if (!open_parcel(e, p, parcel, &item.packet))
        return;
    item.packet.peer = peer;
    OBSERVE(&e->options.observer, server_hears, p, &item.packet);
    if (is_let_through(e, OFF_WIRE, p->number, &item))
        cores_receive(&p->cores, &item.packet, !parcel->up, e->now_us, &p->outbox);
}

/* Whether it was for another thread than the router's. These continue after the end: nothing is
 * left behind. */
static bool actor_event(struct engine *e, struct simulated_process *p, struct due *event)
{
    if (event->kind == DUE_ACTOR && event->item->to == TO_OWNER)
        owner_event(e, p, event);
    else if (event->kind == DUE_ACTOR)
        writing_event(e, p, event->item);
    else if (event->kind == DUE_DISK)
        writing_done(e, p);
    else if (event->kind == DUE_WORKED && event->number >= THREAD_OWNERS)
        owner_worked(e, p, (uint32_t)event->number);
    else
        return false;
    return true;
}

static void router_event(struct engine *e, struct simulated_process *p, struct due *event)
{
    if (event->kind == DUE_WIRE) {
        server_receives(e, p, event->parcel, event->number);
    } else if (event->kind == DUE_INBOX) {
        dispatch(e, p, event->item);
        event->item->packet.payload = NULL;
    } else if (event->kind == DUE_STOP) {
        cores_stop(&p->cores, EXIT_INTERRUPTED, &p->outbox);
    } else {
        cores_tick(&p->cores, e->now_us, &p->outbox);
        tick_later(e, p, joining_patience_ms(router_joining(p->cores.router)));
    }
}

/* --- workers --------------------------------------------------------------------------------- */

static void flush_session(struct engine *e, struct simulated_process *p)
{
    struct outgoing item;
    while (!p->threads[THREAD_FRONT].busy && outbox_take(&p->outbox, &item)) {
        if (item.to == TO_LOG) {
            say(e, p, &item);
        } else if (item.to == TO_TRAINER) {
            enqueue(e, p, QUEUE_TO_TRAINER, DUE_ACTOR, &item);
        } else {
            OBSERVE(&e->options.observer, session_asks, p, &item.packet);
            say_wire(e, p, &item);
        }
    }
    const struct joining *joining = session_joining(p->worker.session);
    bool busy = p->threads[THREAD_FRONT].busy;
    if (!busy && p->state == PROCESS_RUNNING && joining->over)
        engine_over(e, p, joining->exit_code, joining->reason);
}

static void flush_trainer(struct engine *e, struct simulated_process *p, struct outbox *outbox)
{
    struct outgoing item;
    while (outbox_take(outbox, &item))
        enqueue(e, p, QUEUE_TO_SESSION, DUE_INBOX, &item);
    if (!simulated_worker_is_busy(&p->worker) || p->worker.expected || p->stuck)
        return;
    const struct timing *timing = &e->options.timing;
    uint64_t took_ns = timing->compute_ns(timing->context, &e->random, p);
    p->worker.expected = true;
    if (timing->processors != NULL) {
        thread_work(e, p, THREAD_TRAINER, LABOUR_COMPUTE, took_ns);
        return;
    }
    struct due event = {.time_ns = e->now_ns + took_ns,
                        .kind = DUE_COMPUTE,
                        .process = p->number,
                        .number = took_ns};
    event_queue_add(&e->queue, &event);
    for (uint64_t part = 1; e->options.overlap && part < PARTS; part++) {
        event.time_ns = e->now_ns + took_ns * part / PARTS;
        event.kind = DUE_READY;
        event_queue_add(&e->queue, &event);
    }
}

static void session_receives(struct engine *e, struct simulated_process *p, struct parcel *parcel)
{
    struct outgoing item = {.to = TO_SERVER};
    if (!open_parcel(e, p, parcel, &item.packet))
        return;
    if (is_let_through(e, OFF_WIRE, p->number, &item))
        session_handle_server(p->worker.session, e->network.wires[parcel->wire].server,
                              &item.packet, e->now_us, &p->outbox);
}

/* As pass_on_stop in worker/client/client.c. */
static void stop_worker(struct engine *e, struct simulated_process *p)
{
    struct packet packet = {.message.kind = MESSAGE_STOP};
    packet.message.stop.exit_code = EXIT_INTERRUPTED;
    snprintf(packet.message.stop.reason, MESSAGE_TEXT_MAX, "worker/%u was asked to", p->index);
    session_handle_trainer(p->worker.session, &packet, e->now_us, &p->outbox);
}

/* The forward pass takes about a third of a gradient's time, and is split at the returned parts. */
static void begin_early(struct engine *e, struct simulated_process *p)
{
    const struct timing *timing = &e->options.timing;
    if (!e->options.overlap || timing->processors != NULL || p->stuck ||
        p->state != PROCESS_RUNNING || !simulated_worker_begin(&p->worker))
        return;
    struct due event = {.time_ns = e->now_ns +
                                   timing->compute_ns(timing->context, &e->random, p) / FORWARD,
                        .kind = DUE_BEGUN,
                        .process = p->number,
                        .number = p->worker.begun_count};
    event_queue_add(&e->queue, &event);
}

static void session_event(struct engine *e, struct simulated_process *p, struct due *event)
{
    struct session *session = p->worker.session;
    if (event->kind == DUE_WIRE) {
        session_receives(e, p, event->parcel);
    } else if (event->kind == DUE_INBOX && event->item->index == SIMULATED_READY) {
        struct packet *packet = &event->item->packet;
        size_t before = p->outbox.count;
        session_take_ready(session, &packet->message.exchange, packet->payload, packet->place,
                           e->now_us, &p->outbox);
        p->worker.early += p->outbox.count - before;
    } else if (event->kind == DUE_INBOX) {
        session_handle_trainer(session, &event->item->packet, e->now_us, &p->outbox);
    } else if (event->kind == DUE_STOP) {
        stop_worker(e, p);
    } else if (event->kind == DUE_LEAVE) {
        struct packet packet = {.message.kind = MESSAGE_LEAVE};
        session_handle_trainer(session, &packet, e->now_us, &p->outbox);
    } else {
        session_tick(session, e->now_us, &p->outbox);
        tick_later(e, p, session_patience_ms(session));
    }
}

static void trainer_event(struct engine *e, struct simulated_process *p, struct due *event)
{
    struct outbox outbox = {0};
    if (event->kind == DUE_ACTOR) {
        if (event->item->packet.message.kind == MESSAGE_START)
            engine_note_start(e);
        simulated_worker_take(&p->worker, &event->item->packet, &outbox);
    } else if (event->kind == DUE_READY) {
        if (!p->stuck)
            simulated_worker_ready(&p->worker, &outbox);
    } else if (event->kind == DUE_BEGUN) {
        simulated_worker_begun(&p->worker, event->number);
    } else {
        uint64_t took_ns =
            event->kind == DUE_WORKED ? thread_done(e, p, THREAD_TRAINER) : event->number;
        p->worker.expected = false;
        if (!p->stuck)
            simulated_worker_compute(&p->worker, took_ns / 1000, &outbox);
    }
    flush_trainer(e, p, &outbox);
    outbox_free(&outbox);
}

/* --- routers and sessions --------------------------------------------------------------------- */

static void front_flush(struct engine *e, struct simulated_process *p)
{
    if (p->is_server)
        flush_server(e, p);
    else
        flush_session(e, p);
}

/* Something has its effect; the event is freed. */
static void front_takes(struct engine *e, struct simulated_process *p, struct due *event)
{
    if (p->is_server)
        router_event(e, p, event);
    else
        session_event(e, p, event);
    front_flush(e, p);
    if (!p->is_server)
        begin_early(e, p);
    event_free(event);
}

/* It begins with something; false: it takes no time. */
static bool front_begins(struct engine *e, struct simulated_process *p, struct due *event)
{
    if (event->kind != DUE_WIRE ||
        !thread_begin(e, p, THREAD_FRONT, LABOUR_RECEIVE, payload_bytes(event->parcel->payload)))
        return false;
    p->threads[THREAD_FRONT].doing = *event;
    event->parcel = NULL;
    return true;
}

static void front_event(struct engine *e, struct simulated_process *p, struct due *event)
{
    struct simulated_thread *thread = &p->threads[THREAD_FRONT];
    if (thread->busy)
        thread_wait(thread, event);
    else if (!front_begins(e, p, event))
        front_takes(e, p, event);
}

/* Its messages are sent. */
static void front_said(struct engine *e, struct simulated_process *p, struct outgoing *said)
{
    if (said->to == TO_OWNER)
        run_owner(e, p, said, &p->outbox);
    else
        send_wire(e, p, said);
    free(said);
    front_flush(e, p);
}

static void front_worked(struct engine *e, struct simulated_process *p)
{
    struct simulated_thread *thread = &p->threads[THREAD_FRONT];
    struct outgoing *said = thread->said;
    struct due next = thread->doing;
    thread_done(e, p, THREAD_FRONT);
    thread->said = NULL;
    thread->doing = (struct due){.item = NULL};
    if (said != NULL)
        front_said(e, p, said);
    else
        front_takes(e, p, &next);
    while (!thread->busy && thread_next(thread, &next) && !front_begins(e, p, &next))
        front_takes(e, p, &next);
}

/* --- all ------------------------------------------------------------------------------------- */

static void scripted_client_event(struct engine *e, struct simulated_process *p,
                                  const struct due *event)
{
    if (event->kind == DUE_TICK)
        tick_later(e, p, p->scripted_client.speak(p->scripted_client.context, p));
}

void simulated_process_event(struct engine *engine, struct simulated_process *process,
                             struct due *event)
{
    struct simulated_process *p = process;
    bool worked = event->kind == DUE_WORKED;
    if (p->is_scripted_client)
        scripted_client_event(engine, p, event);
    else if ((p->is_server && actor_event(engine, p, event)) || p->state == PROCESS_OVER)
        return;
    else if (worked && event->number == THREAD_FRONT)
        front_worked(engine, p);
    else if (worked || event->kind == DUE_ACTOR || event->kind == DUE_COMPUTE ||
             event->kind == DUE_READY || event->kind == DUE_BEGUN)
        trainer_event(engine, p, event);
    else
        front_event(engine, p, event);
}
