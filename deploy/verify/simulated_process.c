/* simulated_process.c - the thread code's part played in virtual time: which core runs when, and
 * what goes from one to another late. */

#include "deploy/verify/simulated_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/process/log.h"
#include "deploy/verify/engine.h"

/* Queues between threads, by writer and reader; each keeps its order. */
#define QUEUE_TO_OWNER(owner)   (owner)
#define QUEUE_FROM_OWNER(owner) (e->options.owners_a_server + (owner))
#define QUEUE_CUT(owner)        (2 * e->options.owners_a_server + (owner))
#define QUEUE_TO_CHECKPOINTER   (3 * e->options.owners_a_server)
#define QUEUE_FROM_CHECKPOINTER (3 * e->options.owners_a_server + 1)
#define QUEUE_TO_SESSION        (3 * e->options.owners_a_server + 2)
#define QUEUE_TO_TRAINER        (3 * e->options.owners_a_server + 3)
#define QUEUE_COUNT             (3 * e->options.owners_a_server + 4)

/* --- life ------------------------------------------------------------------------------------ */

static uint64_t draw_u64(struct engine *e)
{
    return (uint64_t)random_next(&e->random) << 32 | random_next(&e->random) | 1;
}

static enum status make_server(struct engine *e, struct simulated_process *p)
{
    const struct engine_options *from = &e->options;
    struct cores_options options = {
        .router = {.self.index = p->index,
                   .self.incarnation = draw_u64(e),
                   .owner_count = from->owners_a_server,
                   .self.host = "simulated",
                   .self.arithmetic = "simulated",
                   .self.deadlines = from->deadlines},
        .coordinator = {.run_id = draw_u64(e),
                        .out = SIMULATED_OUT,
                        .deadlines = from->deadlines,
                        .on_worker_loss = from->on_worker_loss,
                        .max_bad_gradients = UINT32_MAX},
        .checkpointer = {.server = p->index,
                         .disk = &from->disks[p->index]->disk,
                         .out = SIMULATED_OUT},
    };
    for (size_t i = 0; i < HASH_BYTES; i++)
        options.coordinator.secret[i] = (uint8_t)random_next(&e->random);
    snprintf(options.checkpointer.restore, sizeof options.checkpointer.restore, "%s",
             from->restore);
    enum status status = cores_init(&p->cores, &options, e->now_us);
    p->cores_made = status == STATUS_OK;
    return status == STATUS_OK ? witness_add_server(&e->witness, p->index) : status;
}

static enum status make_worker(struct engine *e, struct simulated_process *p)
{
    enum status status =
        simulated_worker_init(&p->worker, p->index, p->number, draw_u64(e), &e->work, &e->partition,
                              &e->witness, e->options.deadlines, e->now_us);
    return status == STATUS_OK ? witness_add_worker(&e->witness, p->index) : status;
}

struct simulated_process *simulated_process_start(struct engine *engine, uint32_t host)
{
    struct engine *e = engine;
    struct simulated_process *p = calloc(1, sizeof *p);
    if (p == NULL)
        return NULL;
    p->number = e->process_count;
    p->host = host;
    p->is_server = host < engine_servers(e);
    p->is_stranger = host == STRANGERS_HOST;
    p->index = p->is_server ? host : (p->is_stranger ? 40 : host) - engine_servers(e);
    p->slow = !p->is_server && e->options.slow != NULL && p->index < engine_workers(e)
                  ? e->options.slow[p->index]
                  : 1;
    p->heard_us = e->now_us;
    p->queue_until_us = calloc(QUEUE_COUNT, sizeof *p->queue_until_us);
    enum status status = p->queue_until_us == NULL ? STATUS_MEMORY
                         : p->is_stranger          ? witness_add_worker(&e->witness, UINT32_MAX)
                         : p->is_server            ? make_server(e, p)
                                                   : make_worker(e, p);
    if (status != STATUS_OK) {
        simulated_process_free(p);
        return NULL;
    }
    return p;
}

void simulated_process_free(struct simulated_process *process)
{
    struct simulated_process *p = process;
    outbox_free(&p->outbox);
    outbox_free(&p->checkpointer_waiting);
    outbox_free(&p->checkpointer_said);
    if (p->cores_made)
        cores_free(&p->cores);
    if (!p->is_server && !p->is_stranger)
        simulated_worker_free(&p->worker);
    for (size_t i = 0; i < p->missed_count; i++)
        event_free(&p->missed[i]);
    free(p->missed);
    free(p->queue_until_us);
    memset(p, 0, sizeof *p);
    free(p);
}

void simulated_process_name(const struct simulated_process *process, char name[PROCESS_NAME_MAX])
{
    snprintf(name, PROCESS_NAME_MAX, "%s/%u (%u)", process->is_server ? "ps" : "worker",
             process->index, process->number);
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

static void enqueue(struct engine *e, struct simulated_process *p, uint32_t queue,
                    enum event_kind kind, const struct outgoing *item)
{
    uint64_t time_us =
        e->now_us + random_below(&e->random, (uint32_t)e->options.queue_delay_us + 1);
    uint64_t *until_us = &p->queue_until_us[queue];
    if (time_us < *until_us)
        time_us = *until_us;
    *until_us = time_us;
    struct event event = {.time_us = time_us, .kind = kind, .process = p->number};
    event.item = malloc(sizeof *event.item);
    if (event.item == NULL) {
        log_error("out of memory for an item");
        exit(EXIT_TRAINING_FAILED);
    }
    *event.item = *item;
    event_queue_add(&e->queue, &event);
}

static void tick_later(struct engine *e, const struct simulated_process *p, int patience_ms)
{
    struct event event = {.time_us =
                              e->now_us + 1000u * (uint64_t)(patience_ms > 0 ? patience_ms : 1),
                          .kind = EVENT_TICK,
                          .process = p->number};
    event_queue_add(&e->queue, &event);
}

static void note_refusal(struct engine *e, const struct simulated_process *p,
                         const struct message *message)
{
    e->witness.counts.refused++;
    if (e->options.plan == NULL)
        witness_fail(&e->witness, "%s/%u refuses somebody: %s", p->is_server ? "ps" : "worker",
                     p->index, message->refused.text);
}

static void send_wire(struct engine *e, struct simulated_process *p, struct outgoing *item)
{
    const struct message *message = &item->packet.message;
    if (p->foreign_run != 0)
        item->packet.message.run_id = p->foreign_run;
    if (!is_let_through(e, ON_WIRE, p->number, item))
        return;
    if (message->kind == MESSAGE_REFUSED)
        note_refusal(e, p, message);
    if (message->kind == MESSAGE_FINISHED && !message->stop.left)
        e->announced = true;
    if (item->to == TO_SERVER)
        simulated_network_send_up(&e->network, e->now_us, p->number, item->index, message,
                                  item->packet.payload);
    else
        simulated_network_send_down(&e->network, e->now_us, p->number, item->packet.peer, message,
                                    item->packet.payload);
}

/* For people, and worded for them: no part of what the transcript sums up. */
static void say(const struct engine *e, const struct simulated_process *p,
                const struct outgoing *item)
{
    if (e->options.verbose)
        printf("%12.6f %s/%u (%u) %s\n", (double)e->now_us * 1e-6, p->is_server ? "ps" : "worker",
               p->index, p->number, item->packet.message.waiting.text);
}

/* What it takes off the wire. */
static void note_message(struct engine *e, const struct simulated_process *p, uint32_t from,
                         const struct packet *packet)
{
    char name[PROCESS_NAME_MAX], sender[PROCESS_NAME_MAX];
    simulated_process_name(p, name);
    simulated_process_name(e->processes[from], sender);
    transcript_message(&e->transcript, e->now_us, name, sender, &packet->message, packet->payload);
}

/* --- servers --------------------------------------------------------------------------------- */

/* Give an owner an item while the witness looks on; what it puts out is left in outbox. */
static void run_owner(struct engine *e, struct simulated_process *p, struct outgoing *item,
                      struct outbox *outbox)
{
    struct outbox fresh = {0};
    struct outgoing out;
    if (!is_let_through(e, INTO_OWNER, p->number, item))
        return;
    witness_owner_takes(&e->witness, p->number, item->index, &item->packet,
                        simulated_network_client(&e->network, item->packet.peer));
    if (is_let_through(e, INSIDE_OWNER, p->number, item))
        cores_deliver(&p->cores, item, e->now_us, &fresh);
    while (outbox_take(&fresh, &out)) {
        if (!is_let_through(e, BY_OWNER, p->number, &out))
            continue;
        witness_owner_gave(&e->witness, p->number, &out);
        if (is_let_through(e, OUT_OF_OWNER, p->number, &out))
            *outbox_add_to(outbox, out.to, out.index, out.packet.message.kind) = out.packet;
    }
    witness_owner_done(&e->witness);
    outbox_free(&fresh);
}

static void make_owners(struct engine *e, struct simulated_process *p)
{
    if (p->cores.owners == NULL && cores_make_owners(&p->cores, NULL) != STATUS_OK)
        witness_fail(&e->witness, "out of memory for owners");
}

/* One item of the router thread's outbox, as dispatch in ps/server.c. */
static void dispatch(struct engine *e, struct simulated_process *p, struct outgoing *item)
{
    if (p->index == 0 && (item->to == TO_PEER || item->to == TO_CHECKPOINTER))
        witness_coordinator_says(&e->witness, p->number, item,
                                 item->to == TO_PEER
                                     ? simulated_network_client(&e->network, item->packet.peer)
                                     : UINT32_MAX);
    if (item->to == TO_OWNER)
        make_owners(e, p);
    if (item->to == TO_OWNER && e->options.owners_inline)
        run_owner(e, p, item, &p->outbox);
    else if (item->to == TO_OWNER)
        enqueue(e, p, QUEUE_TO_OWNER(item->index), EVENT_ACTOR, item);
    else if (item->to == TO_CHECKPOINTER)
        enqueue(e, p, QUEUE_TO_CHECKPOINTER, EVENT_ACTOR, item);
    else if (item->to == TO_LOG)
        say(e, p, item);
    else if (cores_deliver(&p->cores, item, e->now_us, &p->outbox))
        send_wire(e, p, item);
}

static void flush_server(struct engine *e, struct simulated_process *p)
{
    struct outgoing item;
    while (outbox_take(&p->outbox, &item))
        dispatch(e, p, &item);
    if (p->state != PROCESS_RUNNING || !cores_are_over(&p->cores))
        return;
    engine_over(e, p, router_enrolment(p->cores.router)->exit_code,
                router_enrolment(p->cores.router)->reason);
}

static void owner_turn(struct engine *e, struct simulated_process *p, struct outgoing *item)
{
    struct outbox outbox = {0};
    struct outgoing out;
    uint32_t owner = item->index;
    run_owner(e, p, item, &outbox);
    while (outbox_take(&outbox, &out))
        if (out.to == TO_CHECKPOINTER)
            enqueue(e, p, QUEUE_CUT(owner), EVENT_ACTOR, &out);
        else
            enqueue(e, p, QUEUE_FROM_OWNER(owner), EVENT_INBOX, &out);
    outbox_free(&outbox);
}

/* The checkpointer takes one item; what it has to say about its files is said when they are
 * durable. */
static void checkpointer_turn(struct engine *e, struct simulated_process *p, struct outgoing *item)
{
    struct simulated_disk *disk = e->options.disks[p->index];
    uint64_t writes = disk->writes;
    simulated_disk_turn(disk, p->number, engine_disk_us(e));
    cores_deliver(&p->cores, item, e->now_us, &p->checkpointer_said);
    uint64_t took_us = simulated_disk_done_us(disk, p->number) - engine_disk_us(e);
    struct event event = {.time_us = e->now_us + took_us, .kind = EVENT_DISK, .process = p->number};
    event_queue_add(&e->queue, &event);
    p->checkpointer_busy = true;
    if (disk->writes > writes)
        engine_wrote(e, p);
}

static void checkpointer_done(struct engine *e, struct simulated_process *p)
{
    struct outgoing out;
    while (outbox_take(&p->checkpointer_said, &out))
        enqueue(e, p, QUEUE_FROM_CHECKPOINTER, EVENT_INBOX, &out);
    p->checkpointer_busy = false;
    if (outbox_take(&p->checkpointer_waiting, &out))
        checkpointer_turn(e, p, &out);
}

static void actor_turn(struct engine *e, struct simulated_process *p, struct outgoing *item)
{
    if (item->to == TO_OWNER)
        owner_turn(e, p, item);
    else if (p->checkpointer_busy)
        *outbox_add(&p->checkpointer_waiting, TO_CHECKPOINTER, item->packet.message.kind) =
            item->packet;
    else
        checkpointer_turn(e, p, item);
    item->packet.payload = NULL;
}

/* Take a packet off the wire; false if it is not what was sent. */
static bool open_parcel(struct engine *e, struct simulated_process *p, struct parcel *parcel,
                        struct packet *packet)
{
    struct error error;
    if (simulated_network_open(&e->network, parcel, packet, &error) != STATUS_OK) {
        witness_fail(&e->witness, "%s", error.text);
        return false;
    }
    if (!parcel->up && e->network.wires[parcel->wire].server == 0)
        p->heard_us = e->now_us;
    note_message(e, p, parcel->from, packet);
    engine_delivered(e, packet->message.kind);
    return true;
}

/* --- memory ---------------------------------------------------------------------------------- */

/* A payload that a server has been given. */
struct counted {
    struct frame *frame;
    uint64_t *bytes;
};

static void uncount(void *context)
{
    struct counted *counted = context;
    *counted->bytes -= counted->frame->bytes;
    frame_release(counted->frame);
    free(counted);
}

static struct frame *count_payload(struct simulated_process *p, struct frame *payload)
{
    struct counted *counted = malloc(sizeof *counted);
    struct frame *frame = counted == NULL ? NULL
                                          : frame_wrap(payload->data, payload->bytes,
                                                       payload->exclusive, uncount, counted);
    if (frame == NULL) {
        log_error("out of memory for a payload");
        exit(EXIT_TRAINING_FAILED);
    }
    *counted = (struct counted){payload, &p->payload_bytes};
    p->payload_bytes += payload->bytes;
    return frame;
}

/* What a server may hold of what others have sent: for each worker a window of gradients, for each
 * chunk the nodes of a step, and on server 0 a cut of all. */
static void check_memory(struct engine *e, const struct simulated_process *p)
{
    const struct job *job = e->options.job;
    uint64_t shard = partition_server_bytes(&e->partition, p->index);
    uint64_t space = e->partition.elements * sizeof(float);
    uint64_t window = WINDOW_BYTES > 2 * space ? WINDOW_BYTES : 2 * space;
    uint64_t most = (job_leaves_max(job) + 1) * shard +
                    (engine_workers(e) + e->injector.joined) * window +
                    (p->index == 0 ? 2 * CHECKPOINT_ARRAYS_MAX * space : 0);
    if (p->payload_bytes > most)
        witness_fail(&e->witness, "ps/%u holds %llu bytes that it was sent, and may %llu", p->index,
                     (unsigned long long)p->payload_bytes, (unsigned long long)most);
}

static void server_receives(struct engine *e, struct simulated_process *p, struct parcel *parcel,
                            uint64_t peer)
{
    struct outgoing item = {.to = TO_ROUTER};
    if (!open_parcel(e, p, parcel, &item.packet))
        return;
    item.packet.peer = peer;
    if (item.packet.payload != NULL && !e->network.faults.share_frames) {
        item.packet.payload = count_payload(p, item.packet.payload);
        check_memory(e, p);
    }
    if (p->index == 0)
        witness_coordinator_hears(&e->witness, p->number, &item.packet);
    if (is_let_through(e, OFF_WIRE, p->number, &item))
        cores_receive(&p->cores, &item.packet, !parcel->up, e->now_us, &p->outbox);
}

static void server_event(struct engine *e, struct simulated_process *p, struct event *event,
                         uint64_t peer)
{
    if (event->kind == EVENT_ACTOR) { /* Even when the router is over: nothing is left behind. */
        actor_turn(e, p, event->item);
        return;
    }
    if (event->kind == EVENT_DISK) {
        checkpointer_done(e, p);
        return;
    }
    if (p->state == PROCESS_OVER)
        return;
    if (event->kind == EVENT_WIRE) {
        server_receives(e, p, event->parcel, peer);
    } else if (event->kind == EVENT_INBOX) {
        dispatch(e, p, event->item);
        event->item->packet.payload = NULL;
    } else if (event->kind == EVENT_STOP) {
        cores_stop(&p->cores, EXIT_INTERRUPTED, &p->outbox);
    } else {
        cores_tick(&p->cores, e->now_us, &p->outbox);
        tick_later(e, p, enrolment_patience_ms(router_enrolment(p->cores.router)));
    }
    flush_server(e, p);
}

/* --- workers --------------------------------------------------------------------------------- */

static void flush_session(struct engine *e, struct simulated_process *p, struct outbox *outbox)
{
    struct outgoing item;
    while (outbox_take(outbox, &item)) {
        if (item.to == TO_LOG) {
            say(e, p, &item);
        } else if (item.to == TO_TRAINER) {
            enqueue(e, p, QUEUE_TO_TRAINER, EVENT_ACTOR, &item);
        } else {
            witness_session_asks(&e->witness, p->number, &item.packet);
            send_wire(e, p, &item);
        }
    }
    const struct enrolment *enrolment = session_enrolment(p->worker.session);
    if (p->state == PROCESS_RUNNING && enrolment->over)
        engine_over(e, p, enrolment->exit_code, enrolment->reason);
}

static void flush_trainer(struct engine *e, struct simulated_process *p, struct outbox *outbox)
{
    struct outgoing item;
    while (outbox_take(outbox, &item))
        enqueue(e, p, QUEUE_TO_SESSION, EVENT_INBOX, &item);
    if (!p->worker.computing || p->worker.expected || p->stuck)
        return;
    uint64_t took_us =
        e->options.compute_us + random_below(&e->random, (uint32_t)e->options.compute_us + 1);
    took_us = (uint64_t)((double)took_us * p->slow);
    p->worker.expected = true;
    struct event event = {
        .time_us = e->now_us + took_us, .kind = EVENT_COMPUTE, .process = p->number};
    event_queue_add(&e->queue, &event);
}

static void session_receives(struct engine *e, struct simulated_process *p, struct parcel *parcel,
                             struct outbox *outbox)
{
    struct outgoing item = {.to = TO_SERVER};
    if (!open_parcel(e, p, parcel, &item.packet))
        return;
    if (is_let_through(e, OFF_WIRE, p->number, &item))
        session_handle_server(p->worker.session, e->network.wires[parcel->wire].server,
                              &item.packet, e->now_us, outbox);
}

/* As pass_on_stop in worker/client/client.c. */
static void stop_worker(struct engine *e, struct simulated_process *p, struct outbox *outbox)
{
    struct packet packet = {.message.kind = MESSAGE_STOP};
    packet.message.stop.exit_code = EXIT_INTERRUPTED;
    snprintf(packet.message.stop.reason, MESSAGE_TEXT_MAX, "worker/%u was asked to", p->index);
    session_handle_trainer(p->worker.session, &packet, e->now_us, outbox);
}

static void session_event(struct engine *e, struct simulated_process *p, struct event *event)
{
    struct session *session = p->worker.session;
    struct outbox outbox = {0};
    if (event->kind == EVENT_WIRE) {
        session_receives(e, p, event->parcel, &outbox);
    } else if (event->kind == EVENT_INBOX) {
        session_handle_trainer(session, &event->item->packet, e->now_us, &outbox);
    } else if (event->kind == EVENT_STOP) {
        stop_worker(e, p, &outbox);
    } else if (event->kind == EVENT_LEAVE) {
        struct packet packet = {.message.kind = MESSAGE_LEAVE};
        session_handle_trainer(session, &packet, e->now_us, &outbox);
    } else {
        session_tick(session, e->now_us, &outbox);
        tick_later(e, p, session_patience_ms(session));
    }
    flush_session(e, p, &outbox);
    outbox_free(&outbox);
}

static void trainer_event(struct engine *e, struct simulated_process *p, struct event *event)
{
    struct outbox outbox = {0};
    if (event->kind == EVENT_ACTOR) {
        if (event->item->packet.message.kind == MESSAGE_START)
            engine_note_start(e);
        simulated_worker_take(&p->worker, &event->item->packet, &outbox);
    } else {
        p->worker.expected = false;
        if (!p->stuck)
            simulated_worker_compute(&p->worker, e->options.compute_us, &outbox);
    }
    flush_trainer(e, p, &outbox);
    outbox_free(&outbox);
}

/* --- strangers ------------------------------------------------------------------------------- */

/* A gradient, or a chunk out of a checkpoint. */
static void draw_floats(struct engine *e, uint32_t number, struct message *message,
                        struct frame **payload)
{
    const struct job *job = e->options.job;
    uint32_t chunk = number % e->partition.chunk_count;
    const struct chunk_range *range = &e->partition.chunks[chunk];
    uint64_t step = number / 7 % job->steps;
    struct batch_range batch = job_batch(job, step);
    *payload = frame_create(range->count * sizeof(float));
    if (*payload != NULL)
        memset((*payload)->data, 1, (*payload)->bytes);
    if (message->kind == MESSAGE_CHUNK_STATE)
        message->chunk_state = (struct message_chunk_state){
            .step = step, .first = range->first, .count = range->count};
    else
        message->exchange = (struct message_exchange){.chunk = chunk,
                                                      .step = step,
                                                      .base_version = step,
                                                      .gradient = true,
                                                      .node = tree_root(batch.leaves),
                                                      .examples = batch.examples,
                                                      .want = true,
                                                      .want_version = step + 1};
}

/* What somebody of another run may still have to say. */
static void draw_words(struct engine *e, struct message *message, struct frame **payload)
{
    static const enum message_kind kinds[] = {
        MESSAGE_JOIN, MESSAGE_PING,       MESSAGE_EXCHANGE,     MESSAGE_EXCHANGE,
        MESSAGE_DONE, MESSAGE_LEASE,      MESSAGE_EVALUATION,   MESSAGE_LEAVE,
        MESSAGE_STOP, MESSAGE_READY,      MESSAGE_PART_WRITTEN, MESSAGE_CUT_TAKEN,
        MESSAGE_BYE,  MESSAGE_CHUNK_STATE};
    uint32_t number = random_next(&e->random);
    message->kind = kinds[random_below(&e->random, sizeof kinds / sizeof *kinds)];
    switch (message->kind) {
    case MESSAGE_JOIN:
        message->join = (struct message_join){.version_min = PROTOCOL_VERSION_MIN,
                                              .version_max = PROTOCOL_VERSION_MAX};
        break;
    case MESSAGE_DONE:
        message->done.step = e->options.job->steps;
        break;
    case MESSAGE_STOP:
        message->stop.exit_code = number % 2 == 0 ? 1 : EXIT_INTERRUPTED;
        break;
    case MESSAGE_PART_WRITTEN:
        message->part_written = (struct message_part_written){.written = number % 2 == 0,
                                                              .part = {.name = "part", .bytes = 1}};
        break;
    case MESSAGE_EVALUATION:
        message->evaluation.shares = 1;
        break;
    case MESSAGE_LEASE:
        message->lease.finished = true;
        break;
    case MESSAGE_EXCHANGE:
    case MESSAGE_CHUNK_STATE:
        draw_floats(e, number, message, payload);
        break;
    default:
        break;
    }
}

static void stranger_event(struct engine *e, struct simulated_process *p, struct event *event)
{
    if (event->kind != EVENT_TICK)
        return;
    bool server = random_below(&e->random, 3) == 0;
    struct message message = {
        .role = server ? ROLE_PS : ROLE_WORKER,
        .index = random_below(&e->random, server ? engine_servers(e) : engine_workers(e)),
        .incarnation = draw_u64(e),
        .run_id = draw_u64(e),
        .generation = random_below(&e->random, 4),
        .ticket = random_below(&e->random, 20),
        .request = e->events,
    };
    struct frame *payload = NULL;
    draw_words(e, &message, &payload);
    simulated_network_send_up(&e->network, e->now_us, p->number,
                              random_below(&e->random, engine_servers(e)), &message, payload);
    tick_later(e, p, 10);
}

void simulated_process_event(struct engine *engine, struct simulated_process *process,
                             struct event *event, uint64_t peer)
{
    if (process->is_stranger)
        stranger_event(engine, process, event);
    else if (process->is_server)
        server_event(engine, process, event, peer);
    else if (process->state == PROCESS_OVER)
        return;
    else if (event->kind == EVENT_ACTOR || event->kind == EVENT_COMPUTE)
        trainer_event(engine, process, event);
    else
        session_event(engine, process, event);
}
