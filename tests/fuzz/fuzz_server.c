/* fuzz_server.c - a whole server 0 (router, coordinator, owners, keeper, a disk in memory) among
 * peers that send it what they like. It may refuse, end the job, or be over; it may not die.
 *
 *     input: settings (1 byte: bit 0, async) | steps, each one byte and what it takes
 *
 * Mutating headers alone would seldom get past the door, so there are steps for what an honest
 * worker does, and headers may be given the right run, incarnation and sender. */

#include <stdlib.h>
#include <string.h>

#include "common/frame.h"
#include "common/pages.h"
#include "ps/cores.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/samples.h"

enum { RUN = 77, INCARNATION = 1000, WORKERS = 2, PEERS = 4, PAYLOAD_MAX = 1024, STEPS_MAX = 200 };

/* The cores, and for every message under way some hundred bytes and its payload: what one input
 * asks for is answered before the next. */
const struct fuzz_bounds fuzz_bounds = {2u << 20, 2048};

/* A declaration, as its worker sends it. */
struct declared {
    uint8_t *bytes, digest[DIGEST_BYTES];
    uint32_t count;
};

static struct declared declared[MODE_COUNT];

struct server {
    struct cores cores;
    struct simulated_disk disk;
    struct outbox outbox;
    uint64_t now_us;
    const struct declared *job;
    uint64_t run_id, generation, tickets[PEERS]; /* As server 0 has said. */
    bool failed; /* No memory for owners: such a server would end. */
};

static struct declared declare(enum mode mode)
{
    struct declared result = {0};
    struct job job = samples_job("sgd", mode);
    job.server_count = 1;
    job.worker_count = WORKERS;
    job.steps = 6;
    job.checkpoint_every = 2;
    fuzz_must(job_encode(&job, &result.bytes, &result.count) == STATUS_OK &&
                  job_digest(&job, result.digest) == STATUS_OK,
              "a sample can be encoded");
    job_free(&job);
    return result;
}

void fuzz_start(void)
{
    for (unsigned mode = 0; mode < MODE_COUNT; mode++)
        declared[mode] = declare((enum mode)mode);
}

static void open_server(struct server *server, const struct declared *job)
{
    memset(server, 0, sizeof *server);
    simulated_disk_init(&server->disk, 1, 1);
    server->now_us = 1;
    server->job = job;
    const struct cores_options options = {
        .router = {.incarnation = 9,
                   .owner_count = 2,
                   .host = "here",
                   .start_timeout = 20,
                   .worker_timeout = 5,
                   .recovery_timeout = 20},
        .coordinator = {.run_id = RUN,
                        .out = "out",
                        .start_timeout = 20,
                        .worker_timeout = 5,
                        .stop_timeout = 10},
        .keeper = {.disk = &server->disk.disk, .out = "out", .restore = "auto"},
    };
    fuzz_must(cores_init(&server->cores, &options, server->now_us) == STATUS_OK,
              "a server can be made");
}

/* --- queues -------------------------------------------------------------------------------- */

static uint64_t peer_of(uint32_t worker)
{
    return 10 + worker;
}

/* What is for the wire gets lost, after an honest worker has learned who it is. */
static void send_wire(struct server *server, const struct packet *packet)
{
    const struct message *message = &packet->message;
    if (message->kind != MESSAGE_WELCOME && message->kind != MESSAGE_START)
        return;
    server->run_id = message->run_id;
    server->generation = message->generation;
    for (uint32_t i = 0; i < PEERS && message->kind == MESSAGE_WELCOME; i++)
        if (packet->peer == peer_of(i))
            server->tickets[i] = message->welcome.ticket;
}

/* As in ps/server.c, in one thread. */
static void dispatch(struct server *server, struct outgoing *item)
{
    struct cores *cores = &server->cores;
    if (item->to == TO_OWNER && cores->owners == NULL && cores_make_owners(cores, NULL))
        server->failed = true;
    if (cores_is_for_wire(item))
        send_wire(server, &item->packet);
    if (server->failed || item->to == TO_LOG || cores_is_for_wire(item))
        frame_release(item->packet.payload);
    else
        cores_deliver(cores, item, server->now_us, &server->outbox);
}

static void flush(struct server *server)
{
    struct outgoing item;
    for (unsigned count = 0; outbox_take(&server->outbox, &item); count++) {
        fuzz_must(count < 10000, "a message is worked off in the end");
        dispatch(server, &item);
    }
}

static void close_server(struct server *server)
{
    struct outgoing item;
    while (outbox_take(&server->outbox, &item))
        frame_release(item.packet.payload);
    outbox_free(&server->outbox);
    cores_free(&server->cores);
    simulated_disk_free(&server->disk);
}

/* --- what peers do ------------------------------------------------------------------------- */

static struct frame *payload_of(struct fuzz_input *input, size_t bytes)
{
    if (bytes == 0)
        return NULL;
    void *data = NULL; /* Of exactly this size, so that reading more is seen. */
    fuzz_must(posix_memalign(&data, 64, bytes) == 0, "there is memory for a payload");
    struct frame *frame = frame_wrap(data, bytes, true, free, data);
    fuzz_must(frame != NULL, "there is memory for a payload");
    uint32_t pattern = (uint32_t)fuzz_take(input, 4);
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)frame->data)[i] = (uint8_t)(pattern >> (i % 4 * 8));
    return frame;
}

static void receive(struct server *server, struct packet *packet)
{
    cores_receive(&server->cores, packet, false, server->now_us, &server->outbox);
    flush(server);
}

/* A message of worker `worker` with all that is not its own matter right. */
static struct packet from_worker(const struct server *server, uint32_t worker,
                                 enum message_kind kind)
{
    return (struct packet){.peer = peer_of(worker),
                           .message = {.kind = kind,
                                       .role = ROLE_WORKER,
                                       .index = worker,
                                       .incarnation = INCARNATION + worker,
                                       .run_id = server->run_id,
                                       .generation = server->generation,
                                       .ticket = server->tickets[worker]}};
}

static void send_join(struct server *server, uint32_t worker, const uint8_t *digest)
{
    struct packet packet = from_worker(server, worker, MESSAGE_JOIN);
    packet.message.join.version_min = packet.message.join.version_max = PROTOCOL_VERSION_MAX;
    memcpy(packet.message.join.job_digest, digest, DIGEST_BYTES);
    receive(server, &packet);
}

static void send_declaration(struct server *server, uint32_t worker, const uint8_t *bytes,
                             uint32_t count)
{
    struct packet packet = from_worker(server, worker, MESSAGE_JOB_PAGE);
    for (uint32_t i = 0; pages_cut(bytes, count, i, &packet.message.job_page); i++)
        receive(server, &packet);
}

static void join(struct server *server, uint32_t worker)
{
    send_join(server, worker, server->job->digest);
    send_declaration(server, worker, server->job->bytes, server->job->count);
    send_join(server, worker, server->job->digest);
}

/* Another declaration, unless it is an honest one of a model too large to try here. */
static void declare_other(struct server *server, struct fuzz_input *input)
{
    static const uint8_t digest[DIGEST_BYTES] = {1};
    uint32_t worker = (uint32_t)fuzz_take(input, 1) % PEERS;
    size_t bytes;
    const uint8_t *text = fuzz_take_bytes(input, fuzz_take(input, 2) + 1, &bytes);
    struct job job;
    struct error error;
    uint64_t elements = 0;
    if (job_decode(text, (uint32_t)bytes, &job, &error) == STATUS_OK) {
        for (uint32_t i = 0; i < job.variable_count; i++)
            elements += variable_elements(&job.variables[i]);
        job_free(&job);
    }
    if (bytes == 0 || elements > 4096)
        return;
    send_join(server, worker, digest);
    send_declaration(server, worker, text, (uint32_t)bytes);
}

/* A header as it stands, or made to fit where it would be refused at the door. */
static void send_header(struct server *server, struct fuzz_input *input)
{
    unsigned fit = (unsigned)fuzz_take(input, 1);
    uint32_t worker = (uint32_t)fuzz_take(input, 1) % PEERS;
    size_t payload_bytes = fit & 4 ? fuzz_take(input, 2) % PAYLOAD_MAX : 0, bytes;
    const uint8_t *header = fuzz_take_bytes(input, fuzz_take(input, 2), &bytes);
    struct packet packet = {0};
    struct error error;
    if (message_decode(header, bytes, &packet.message, &error) != STATUS_OK)
        return;
    packet.peer = peer_of(worker);
    if (fit & 1) {
        packet.message.run_id = server->run_id;
        packet.message.generation = server->generation;
    }
    if (fit & 2) {
        packet.message.role = ROLE_WORKER;
        packet.message.index = worker;
        packet.message.incarnation = INCARNATION + worker;
        packet.message.ticket = server->tickets[worker];
    }
    if (message_may_have_payload(packet.message.kind))
        packet.payload = payload_of(input, payload_bytes);
    receive(server, &packet);
}

static void ask_more(struct message_exchange *exchange, struct fuzz_input *input)
{
    unsigned what = (unsigned)fuzz_take(input, 1);
    exchange->newest = what & 1;
    exchange->retry = what & 2;
    exchange->receipt = what & 4;
    exchange->skip = what & 8;
    exchange->has_report = what & 16;
    if (!exchange->has_report)
        return;
    exchange->report.step = what & 32 ? fuzz_take(input, 8) : exchange->step;
    exchange->report.node =
        what & 64 ? (struct node){(uint32_t)fuzz_take(input, 4), (uint32_t)fuzz_take(input, 4)}
                  : exchange->node;
    exchange->report.examples = fuzz_take(input, 2);
    exchange->report.bad = what & 128;
}

/* An exchange that is nearly right. */
static void send_exchange(struct server *server, struct fuzz_input *input)
{
    uint32_t worker = (uint32_t)fuzz_take(input, 1) % WORKERS;
    struct packet packet = from_worker(server, worker, MESSAGE_EXCHANGE);
    struct message_exchange *exchange = &packet.message.exchange;
    unsigned what = (unsigned)fuzz_take(input, 1);
    exchange->chunk = (uint32_t)fuzz_take(input, 1) % 4;
    exchange->gradient = (what & 2) == 0;
    exchange->want = (what & 4) == 0 || !exchange->gradient;
    exchange->step = fuzz_take(input, 1) % 8;
    exchange->base_version = what & 8 ? fuzz_take(input, 1) : exchange->step;
    exchange->want_version = what & 16 ? fuzz_take(input, 1) : exchange->step + 1;
    exchange->node = what & 32 ? (struct node){(uint32_t)fuzz_take(input, 1) % 4,
                                               (uint32_t)fuzz_take(input, 1) % 5}
                               : (struct node){0, 4};
    exchange->examples = what & 64 ? (uint32_t)fuzz_take(input, 1) : exchange->node.leaf_count * 16;
    if (what & 1)
        ask_more(exchange, input);
    bool with_payload = exchange->gradient && !exchange->retry && !exchange->skip;
    packet.payload = with_payload ? payload_of(input, what & 128 ? 60 : 64) : NULL;
    receive(server, &packet);
}

static void send_small(struct server *server, struct fuzz_input *input)
{
    static const enum message_kind kinds[] = {MESSAGE_PING,       MESSAGE_LEASE, MESSAGE_LEAVE,
                                              MESSAGE_EVALUATION, MESSAGE_DONE,  MESSAGE_BYE,
                                              MESSAGE_STATUS,     MESSAGE_STOP};
    uint32_t worker = (uint32_t)fuzz_take(input, 1) % WORKERS;
    struct packet packet = from_worker(server, worker, kinds[fuzz_take(input, 1) % 8]);
    uint64_t step = fuzz_take(input, 1);
    switch (packet.message.kind) {
    case MESSAGE_LEASE:
        packet.message.lease.finished = step & 1;
        packet.message.lease.batch = step >> 1;
        break;
    case MESSAGE_EVALUATION:
        packet.message.evaluation.step = step;
        packet.message.evaluation.examples = 100;
        break;
    case MESSAGE_DONE:
        packet.message.done.step = step;
        break;
    default:
        break;
    }
    receive(server, &packet);
}

static void step(struct server *server, struct fuzz_input *input)
{
    switch (fuzz_take(input, 1) % 7) {
    case 0:
        join(server, (uint32_t)fuzz_take(input, 1) % WORKERS);
        break;
    case 1:
    case 2:
        send_header(server, input);
        break;
    case 3:
        send_exchange(server, input);
        break;
    case 4:
        send_small(server, input);
        break;
    case 5:
        declare_other(server, input);
        break;
    default:
        server->now_us += fuzz_take(input, 2) * 1000;
        cores_tick(&server->cores, server->now_us, &server->outbox);
        flush(server);
        break;
    }
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    struct server server;
    open_server(&server, &declared[fuzz_take(&input, 1) & 1]);
    for (unsigned i = 0; i < STEPS_MAX && input.left > 0 && !server.failed; i++)
        step(&server, &input);
    close_server(&server);
}
