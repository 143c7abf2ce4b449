/* fuzz_server.c - a whole server 0 (router, coordinator, owners, checkpointer, a disk in memory)
 * among peers that send it what they like: workers that come back under other names, another
 * server, and itself killed and started again from what is on its disk. It may refuse, end the job,
 * or be over; it may not die.
 *
 *     input: settings (1 byte: bit 0, async; bit 1, two servers) | steps, each one byte and what it
 *     takes
 *
 * Mutating headers alone would seldom get past the door, so there are steps for what an honest
 * worker or server does, and headers may be given the right run, incarnation and sender. */

#include <stdlib.h>
#include <string.h>

#include "common/base/frame.h"
#include "common/wire/pages.h"
#include "ps/cores.h"
#include "ps/extension/extensions.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/lib/samples.h"

enum { RUN = 77, INCARNATION = 1000, WORKERS = 2, PEERS = 4, PAYLOAD_MAX = 1024, STEPS_MAX = 200 };
enum { OTHER = PEERS, SENDERS }; /* The other server's place among those that speak. */

/* The cores, and for every message under way some hundred bytes and its payload: what one input
 * asks for is answered before the next. */
const struct fuzz_bounds fuzz_bounds = {2u << 20, 2048};

/* A declaration, as its worker sends it. */
struct declared {
    uint8_t *bytes, digest[DIGEST_BYTES];
    uint32_t count;
};

static struct declared declared[MODE_COUNT][2]; /* For one server and two. */

struct server {
    struct cores cores;
    struct simulated_disk disk;
    struct outbox outbox;
    uint64_t now_us;
    const struct declared *job;
    uint64_t run_id, generation, tickets[SENDERS], proofs[SENDERS]; /* As server 0 has said. */
    uint64_t lives[SENDERS], own_phases; /* How often they were started again. */
    bool failed;                         /* No memory for owners: such a server would end. */
};

static struct declared declare(enum mode mode, uint32_t servers)
{
    struct declared result = {0};
    struct job job = samples_job("sgd", mode);
    job.server_count = servers;
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
        for (uint32_t i = 0; i < 2; i++)
            declared[mode][i] = declare((enum mode)mode, i + 1);
}

static void make_cores(struct server *server)
{
    const struct cores_options options = {
        .router = {.self.incarnation = 9 + server->own_phases,
                   .owner_count = 2,
                   .self.host = "here",
                   .self.deadlines = {.start = 20, .silence = 5, .recovery = 20}},
        .coordinator =
            {.run_id = RUN + server->own_phases,
             .out = "out",
             .deadlines = {.start = 20, .silence = 5, .stop = 10, .recovery = 20, .progress = 20}},
        .checkpointer = {.disk = &server->disk.disk, .out = "out", .restore = "auto"},
        .listeners = extensions,
    };
    fuzz_must(cores_init(&server->cores, &options, server->now_us) == STATUS_OK,
              "a server can be made");
}

static void open_server(struct server *server, const struct declared *job)
{
    memset(server, 0, sizeof *server);
    simulated_disk_init(&server->disk, 1, 1);
    server->now_us = 1;
    server->job = job;
    make_cores(server);
}

/* --- queues -------------------------------------------------------------------------------- */

/* Whoever is started again has another connection. */
static uint64_t peer_of(const struct server *server, uint32_t sender)
{
    return 10 + sender + 16 * server->lives[sender];
}

/* What is for the wire gets lost, after an honest worker has learned who it is. */
static void send_wire(struct server *server, const struct packet *packet)
{
    const struct message *message = &packet->message;
    if (message->kind != MESSAGE_WELCOME && message->kind != MESSAGE_START)
        return;
    server->run_id = message->run_id;
    server->generation = message->generation;
    for (uint32_t i = 0; i < SENDERS && message->kind == MESSAGE_WELCOME; i++)
        if (packet->peer == peer_of(server, i)) {
            server->tickets[i] = message->welcome.ticket;
            server->proofs[i] = message->welcome.proof;
        }
}

/* As in ps/server.c, in one thread. */
static void dispatch(struct server *server, struct outgoing *item)
{
    struct cores *cores = &server->cores;
    if (item->to == TO_OWNER && cores->owners == NULL && cores_make_owners(cores, NULL))
        server->failed = true;
    if (server->failed || item->to == TO_LOG) {
        frame_release(item->packet.payload);
    } else if (cores_deliver(cores, item, server->now_us, &server->outbox)) {
        send_wire(server, &item->packet);
        frame_release(item->packet.payload);
    }
}

static void flush(struct server *server)
{
    struct outgoing item;
    for (unsigned count = 0; outbox_take(&server->outbox, &item); count++) {
        fuzz_must(count < 10000, "a message is worked off in the end");
        dispatch(server, &item);
    }
}

static void drop_outbox(struct server *server)
{
    struct outgoing item;
    while (outbox_take(&server->outbox, &item))
        frame_release(item.packet.payload);
    outbox_free(&server->outbox);
}

static void close_server(struct server *server)
{
    drop_outbox(server);
    cores_free(&server->cores);
    simulated_disk_free(&server->disk);
}

/* Killed; the next one finds its files. */
static void start_again(struct server *server)
{
    drop_outbox(server);
    cores_free(&server->cores);
    server->own_phases++;
    make_cores(server);
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

/* A message of a worker, or the other server, with all that is not its own matter right. */
static struct packet from(const struct server *server, uint32_t sender, enum message_kind kind)
{
    return (struct packet){
        .peer = peer_of(server, sender),
        .message = {.kind = kind,
                    .role = sender == OTHER ? ROLE_PS : ROLE_WORKER,
                    .index = sender == OTHER ? 1 : sender,
                    .incarnation = INCARNATION + sender + 16 * server->lives[sender],
                    .run_id = server->run_id,
                    .generation = server->generation,
                    .ticket = server->tickets[sender],
                    .proof = server->proofs[sender]}};
}

static void send_join(struct server *server, uint32_t worker, const uint8_t *digest)
{
    struct packet packet = from(server, worker, MESSAGE_JOIN);
    packet.message.join.version_min = packet.message.join.version_max = PROTOCOL_VERSION_MAX;
    memcpy(packet.message.join.job_digest, digest, DIGEST_BYTES);
    receive(server, &packet);
}

static void send_declaration(struct server *server, uint32_t worker, const uint8_t *bytes,
                             uint32_t count)
{
    struct packet packet = from(server, worker, MESSAGE_JOB_PAGE);
    for (uint32_t i = 0; pages_cut(bytes, count, i, &packet.message.job_page); i++)
        receive(server, &packet);
}

static void join(struct server *server, uint32_t worker)
{
    send_join(server, worker, server->job->digest);
    send_declaration(server, worker, server->job->bytes, server->job->count);
    send_join(server, worker, server->job->digest);
}

static void come_back(struct server *server, uint32_t worker)
{
    server->lives[worker]++;
    join(server, worker);
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
    uint32_t sender = (uint32_t)fuzz_take(input, 1) % PEERS;
    size_t payload_bytes = fit & 4 ? fuzz_take(input, 2) % PAYLOAD_MAX : 0, bytes;
    const uint8_t *header = fuzz_take_bytes(input, fuzz_take(input, 2), &bytes);
    struct packet packet = {0};
    struct error error;
    if (message_decode(header, bytes, &packet.message, &error) != STATUS_OK)
        return;
    sender = fit & 8 ? OTHER : sender;
    packet.peer = peer_of(server, sender);
    if (fit & 1) {
        packet.message.run_id = server->run_id;
        packet.message.generation = server->generation;
    }
    if (fit & 2) {
        const struct packet right = from(server, sender, packet.message.kind);
        packet.message.role = right.message.role;
        packet.message.index = right.message.index;
        packet.message.incarnation = right.message.incarnation;
        packet.message.ticket = right.message.ticket;
        packet.message.proof = right.message.proof;
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
    struct packet packet = from(server, worker, MESSAGE_EXCHANGE);
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
    struct packet packet = from(server, worker, kinds[fuzz_take(input, 1) % 8]);
    uint64_t step = fuzz_take(input, 1);
    switch (packet.message.kind) {
    case MESSAGE_LEASE:
        packet.message.lease.finished = step & 1;
        packet.message.lease.batch = step >> 1;
        break;
    case MESSAGE_EVALUATION:
        packet.message.evaluation.step = step % 16;
        packet.message.evaluation.shares = 1 + (step >> 4) % 3;
        packet.message.evaluation.share = step >> 6 & 1;
        packet.message.evaluation.share %= packet.message.evaluation.shares;
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

/* What the other server has to say, in any order. */
static void send_other(struct server *server, struct fuzz_input *input)
{
    static const enum message_kind kinds[] = {
        MESSAGE_JOIN, MESSAGE_READY,        MESSAGE_PING, MESSAGE_CUT_TAKEN,
        MESSAGE_DONE, MESSAGE_PART_WRITTEN, MESSAGE_STOP, MESSAGE_BYE};
    struct packet packet = from(server, OTHER, kinds[fuzz_take(input, 1) % 8]);
    uint64_t what = fuzz_take(input, 1), step = fuzz_take(input, 1);
    switch (packet.message.kind) {
    case MESSAGE_JOIN:
        server->lives[OTHER] += what & 1;
        packet = from(server, OTHER, MESSAGE_JOIN);
        packet.message.join.version_min = packet.message.join.version_max = PROTOCOL_VERSION_MAX;
        break;
    case MESSAGE_READY:
        packet.message.ready.shared = what & 1;
        packet.message.ready.needs_chunks = what & 2;
        break;
    case MESSAGE_PING:
        packet.message.ping.step = step;
        break;
    case MESSAGE_CUT_TAKEN:
        packet.message.cut_taken.step = step;
        packet.message.cut_taken.taken = (what & 1) == 0;
        break;
    case MESSAGE_PART_WRITTEN:
        packet.message.part_written.server = what & 1 ? (uint32_t)what : 1;
        packet.message.part_written.step = step;
        packet.message.part_written.written = (what & 2) == 0;
        break;
    default:
        break;
    }
    receive(server, &packet);
}

static void step(struct server *server, struct fuzz_input *input)
{
    switch (fuzz_take(input, 1) % 10) {
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
    case 7:
        come_back(server, (uint32_t)fuzz_take(input, 1) % WORKERS);
        break;
    case 8:
        send_other(server, input);
        break;
    case 9:
        start_again(server);
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
    unsigned settings = (unsigned)fuzz_take(&input, 1);
    open_server(&server, &declared[settings & 1][settings >> 1 & 1]);
    for (unsigned i = 0; i < STEPS_MAX && input.left > 0 && !server.failed; i++)
        step(&server, &input);
    close_server(&server);
}
