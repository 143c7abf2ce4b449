/* fuzz_session.c - a worker's session whose servers say what they like, in any order, or nothing.
 * Its trainer is honest. It may end, and must when nobody speaks any more; it may not die, nor put
 * out messages without end, nor keep a payload.
 *
 *     input: settings (1 byte: bit 0, async; bit 1, two servers) | steps, each one byte and what it
 *     takes */

#include <stdlib.h>
#include <string.h>

#include "common/base/frame.h"
#include "common/wire/pages.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/lib/samples.h"
#include "worker/client/session.h"

enum {
    RUN = 77,
    SERVERS_MAX = 2,
    ASKED_MAX = 16, /* Questions that are remembered, the latest. */
    STEPS_MAX = 200,
    ROUND_MAX = 5000, /* Messages that one step may bring forth. */
    WORKERS = 4,
};

/* All that is waited for together, and some. */
#define TIMEOUT          20.0
#define PATIENCE_SECONDS (6 * TIMEOUT)

/* The session with a small model, and the messages and payloads of a step. */
const struct fuzz_bounds fuzz_bounds = {2u << 20, 2048};

struct worker {
    struct job job;
    struct partition partition;
    struct session *session;
    struct outbox outbox;
    float *parameters;
    uint64_t now_us;
    uint64_t generation, ticket;
    /* What the session asked last. */
    struct message asked[ASKED_MAX];
    uint32_t asked_of[ASKED_MAX];
    unsigned asked_count;
    /* The trainer. */
    bool busy, finished;
    struct message work, start;
};

static struct job jobs[2][SERVERS_MAX];

void fuzz_start(void)
{
    for (unsigned mode = 0; mode < 2; mode++)
        for (unsigned i = 0; i < SERVERS_MAX; i++) {
            struct job *job = &jobs[mode][i];
            *job = samples_job("sgd", (enum mode)mode);
            job->server_count = i + 1;
            job->worker_count = WORKERS;
            job->steps = 8;
        }
}

static void open_worker(struct worker *worker, const struct job *job)
{
    struct error error;
    memset(worker, 0, sizeof *worker);
    worker->job = *job;
    worker->now_us = 1000000;
    fuzz_must(partition_make(&worker->partition, job->variables, job->variable_count,
                             job->server_count, job->chunk_bytes, CHUNKS_EVEN, &error) == STATUS_OK,
              "a sample can be cut");
    worker->parameters = aligned_alloc(64, worker->partition.elements * sizeof(float));
    fuzz_must(worker->parameters != NULL, "there is memory for parameters");
    const struct session_options options = {.self.index = 1,
                                            .self.incarnation = 5,
                                            .job = &worker->job,
                                            .partition = &worker->partition,
                                            .parameters = worker->parameters,
                                            .self.deadlines = {.start = TIMEOUT,
                                                               .silence = 5,
                                                               .recovery = TIMEOUT,
                                                               .progress = TIMEOUT,
                                                               .stop = TIMEOUT}};
    fuzz_must(session_create(&worker->session, &options, worker->now_us) == STATUS_OK,
              "a session can be made");
}

static void close_worker(struct worker *worker)
{
    struct outgoing item;
    while (outbox_take(&worker->outbox, &item))
        frame_release(item.packet.payload);
    outbox_free(&worker->outbox);
    session_destroy(&worker->session);
    partition_free(&worker->partition);
    free(worker->parameters);
}

/* --- what the session says ----------------------------------------------------------------- */

static void remember(struct worker *worker, uint32_t server, const struct message *message)
{
    unsigned place = worker->asked_count++ % ASKED_MAX;
    worker->asked[place] = *message;
    worker->asked_of[place] = server;
}

static void tell_trainer(struct worker *worker, const struct message *message)
{
    fuzz_must(!worker->finished, "nothing comes after the end");
    switch (message->kind) {
    case MESSAGE_START:
        worker->start = *message;
        break;
    case MESSAGE_WORK:
        fuzz_must(!worker->busy, "work comes when the trainer waits for it");
        worker->busy = true;
        worker->work = *message;
        break;
    case MESSAGE_FINISHED:
        worker->finished = true;
        break;
    default:
        fuzz_must(false, "a trainer is told of START, WORK and the end");
    }
}

static void flush(struct worker *worker)
{
    struct outgoing item;
    for (unsigned count = 0; outbox_take(&worker->outbox, &item); count++) {
        fuzz_must(count < ROUND_MAX, "not without end");
        if (item.to == TO_TRAINER)
            tell_trainer(worker, &item.packet.message);
        else if (item.to == TO_SERVER) {
            fuzz_must(item.index < worker->job.server_count, "there is such a server");
            remember(worker, item.index, &item.packet.message);
        }
        frame_release(item.packet.payload);
    }
    int patience_ms = session_patience_ms(worker->session);
    fuzz_must(patience_ms >= 0 && patience_ms <= 1000, "there is always a time to wait for");
}

/* --- the trainer --------------------------------------------------------------------------- */

static struct frame *gradient_of(const struct worker *worker)
{
    struct frame *frame = frame_create(worker->partition.elements * sizeof(float));
    fuzz_must(frame != NULL, "there is memory for a gradient");
    memset(frame->data, 0, frame->bytes);
    return frame;
}

static void push(struct worker *worker, struct node node, bool last)
{
    uint64_t step = worker->work.work.batch;
    struct packet packet = {.message.kind = MESSAGE_EXCHANGE};
    struct message_exchange *exchange = &packet.message.exchange;
    exchange->step = step;
    exchange->want = last;
    if (node.leaf_count > 0) {
        exchange->gradient = true;
        exchange->node = node;
        exchange->examples = job_node_examples(&worker->job, job_batch(&worker->job, step),
                                               node.first_leaf, node.leaf_count);
        exchange->has_report = true;
        exchange->report.examples = exchange->examples;
        packet.payload = gradient_of(worker);
    }
    session_handle_trainer(worker->session, &packet, worker->now_us, &worker->outbox);
}

static void train(struct worker *worker)
{
    struct node nodes[TREE_COVER_MAX];
    const struct message_start *start = &worker->start.start;
    uint32_t leaves = job_batch(&worker->job, worker->work.work.batch).leaves, count = 1;
    nodes[0] = tree_root(leaves);
    if (worker->job.mode == MODE_SYNC) {
        struct node run = tree_run(leaves, start->members, start->position);
        count = tree_cover(leaves, run.first_leaf, run.leaf_count, nodes);
    }
    if (count == 0)
        push(worker, (struct node){0, 0}, true);
    for (uint32_t i = 0; i < count; i++)
        push(worker, nodes[i], i + 1 == count);
}

/* Does what it was given; `how`: skips a batch, cannot go on, or leaves. */
static void act(struct worker *worker, unsigned how)
{
    struct packet packet = {.message.kind = MESSAGE_DONE};
    if (worker->finished)
        return;
    if (how % 8 == 7) {
        packet.message.kind = how & 8 ? MESSAGE_LEAVE : MESSAGE_STOP;
        packet.message.stop.exit_code = how & 16 ? 130 : 1;
        session_handle_trainer(worker->session, &packet, worker->now_us, &worker->outbox);
        flush(worker);
        return;
    }
    if (!worker->busy)
        return;
    worker->busy = false;
    if (worker->work.work.scored > 0) {
        packet.message.kind = MESSAGE_EVALUATION;
        packet.message.evaluation.step = worker->work.work.scored;
        packet.message.evaluation.share = worker->work.work.share;
        packet.message.evaluation.shares = worker->work.work.shares;
        session_handle_trainer(worker->session, &packet, worker->now_us, &worker->outbox);
    } else if (worker->work.work.enough) {
        session_handle_trainer(worker->session, &packet, worker->now_us, &worker->outbox);
    } else if (how % 8 == 6 && worker->job.mode == MODE_ASYNC) {
        packet.message.kind = MESSAGE_EXCHANGE;
        packet.message.exchange.step = worker->work.work.batch;
        packet.message.exchange.skip = packet.message.exchange.want = true;
        packet.message.exchange.has_report = packet.message.exchange.report.bad = true;
        session_handle_trainer(worker->session, &packet, worker->now_us, &worker->outbox);
    } else {
        train(worker);
    }
    flush(worker);
}

/* --- the servers --------------------------------------------------------------------------- */

static struct frame *payload_of(struct fuzz_input *input, size_t bytes)
{
    void *data = NULL; /* Of exactly this size, so that reading more is seen. */
    if (bytes == 0)
        return NULL;
    fuzz_must(posix_memalign(&data, 64, bytes) == 0, "there is memory for a payload");
    memset(data, (int)fuzz_take(input, 1), bytes);
    struct frame *frame = frame_wrap(data, bytes, true, free, data);
    fuzz_must(frame != NULL, "there is memory for a payload");
    frame->stays = fuzz_take(input, 1) & 1;
    return frame;
}

static void say(struct worker *worker, uint32_t server, struct packet *packet)
{
    session_handle_server(worker->session, server, packet, worker->now_us, &worker->outbox);
    flush(worker);
}

static struct packet from_server(const struct worker *worker, uint32_t server,
                                 enum message_kind kind)
{
    return (struct packet){.message = {.kind = kind,
                                       .role = ROLE_PS,
                                       .index = server,
                                       .incarnation = 100 + server,
                                       .run_id = RUN,
                                       .generation = worker->generation}};
}

static uint32_t any_server(const struct worker *worker, struct fuzz_input *input)
{
    return (uint32_t)fuzz_take(input, 1) % worker->job.server_count;
}

/* Whatever decodes, as it stands or made to look like one of ours. */
static void say_header(struct worker *worker, struct fuzz_input *input)
{
    unsigned fit = (unsigned)fuzz_take(input, 1);
    uint32_t server = any_server(worker, input);
    size_t payload_bytes = fit & 4 ? fuzz_take(input, 1) * 4 : 0, bytes;
    const uint8_t *header = fuzz_take_bytes(input, fuzz_take(input, 2), &bytes);
    struct packet packet = {0};
    struct error error;
    if (message_decode(header, bytes, &packet.message, &error) != STATUS_OK)
        return;
    if (fit & 1) {
        packet.message.run_id = RUN;
        packet.message.generation = worker->generation;
    }
    if (fit & 2) {
        packet.message.role = ROLE_PS;
        packet.message.index = server;
        packet.message.incarnation = 100 + server;
    }
    if (message_may_have_payload(packet.message.kind))
        packet.payload = payload_of(input, payload_bytes);
    say(worker, server, &packet);
}

static void welcome(struct worker *worker, struct fuzz_input *input)
{
    unsigned what = (unsigned)fuzz_take(input, 1);
    worker->generation += what & 3;
    worker->ticket++;
    struct packet packet = from_server(worker, 0, MESSAGE_WELCOME);
    packet.message.welcome.ticket = what & 4 ? fuzz_take(input, 1) : worker->ticket;
    packet.message.run_id += what & 8 ? 1 : 0;
    say(worker, 0, &packet);
}

static void start(struct worker *worker, struct fuzz_input *input)
{
    unsigned what = (unsigned)fuzz_take(input, 1);
    worker->generation += what & 1;
    struct packet packet = from_server(worker, 0, MESSAGE_START);
    struct message_start *message = &packet.message.start;
    message->step = fuzz_take(input, 1) % 12;
    message->assignment = (uint32_t)fuzz_take(input, 1) % 8;
    message->members = 1 + (uint32_t)fuzz_take(input, 1) % 6;
    message->position = (uint32_t)fuzz_take(input, 1) % message->members;
    message->stop_step = message->step + fuzz_take(input, 1) % 12;
    say(worker, 0, &packet);
}

/* To one of the latest questions, nearly right. */
static void answer(struct worker *worker, struct fuzz_input *input)
{
    unsigned what = (unsigned)fuzz_take(input, 1);
    unsigned known = worker->asked_count < ASKED_MAX ? worker->asked_count : ASKED_MAX;
    unsigned place = (unsigned)fuzz_take(input, 1);
    if (known == 0)
        return;
    place %= known;
    const struct message *asked = &worker->asked[place];
    uint32_t server = worker->asked_of[place];
    static const enum message_kind kinds[] = {MESSAGE_RESULT, MESSAGE_RESULT, MESSAGE_RECEIPT,
                                              MESSAGE_MOVED_ON};
    struct packet packet = from_server(worker, server, kinds[what & 3]);
    packet.message.request = asked->request;
    uint32_t chunk = what & 4 ? (uint32_t)fuzz_take(input, 1)
                              : asked->exchange.chunk % worker->partition.chunk_count;
    uint64_t version = what & 8 ? fuzz_take(input, 1) % 12 : asked->exchange.want_version;
    if (packet.message.kind == MESSAGE_RESULT) {
        packet.message.result.chunk = chunk;
        packet.message.result.version = version;
        packet.message.result.scored = asked->exchange.scored;
        packet.message.result.verdict =
            what & 16 ? (enum verdict)(fuzz_take(input, 1) % VERDICT_COUNT) : VERDICT_NONE;
        packet.message.result.parameters = (what & 32) == 0;
        packet.message.result.stop_step = what & 64 ? fuzz_take(input, 1) : 8;
        size_t bytes = chunk < worker->partition.chunk_count
                           ? worker->partition.chunks[chunk].count * sizeof(float)
                           : 4;
        if (packet.message.result.parameters)
            packet.payload = payload_of(input, what & 128 ? bytes - 4 : bytes);
    } else if (packet.message.kind == MESSAGE_RECEIPT) {
        packet.message.receipt.chunk = chunk;
        packet.message.receipt.step = asked->exchange.step;
        packet.message.receipt.node = asked->exchange.node;
        packet.message.receipt.missing = what & 16;
    } else {
        packet.message.moved_on.chunk = chunk;
        packet.message.moved_on.version = version;
        packet.message.moved_on.scored = asked->exchange.scored;
    }
    say(worker, server, &packet);
}

static void say_small(struct worker *worker, struct fuzz_input *input)
{
    static const enum message_kind kinds[] = {MESSAGE_WORK,     MESSAGE_WORK,    MESSAGE_PONG,
                                              MESSAGE_REFUSED,  MESSAGE_WAITING, MESSAGE_WANT_JOB,
                                              MESSAGE_FINISHED, MESSAGE_PONG};
    unsigned what = (unsigned)fuzz_take(input, 1);
    uint32_t server = what & 64 ? any_server(worker, input) : 0;
    struct packet packet = from_server(worker, server, kinds[what % 8]);
    uint64_t value = fuzz_take(input, 1);
    packet.message.request = what & 128 ? value : worker->asked_count;
    switch (packet.message.kind) {
    case MESSAGE_WORK:
        packet.message.work.batch = value % 12;
        packet.message.work.enough = what & 16;
        packet.message.work.none = what & 32;
        if (value & 16) {
            packet.message.work.scored = 1 + value % 4;
            packet.message.work.shares = 1 + (uint32_t)(value >> 5);
            packet.message.work.share = (uint32_t)value % packet.message.work.shares;
        }
        break;
    case MESSAGE_REFUSED:
        packet.message.refused.reason = (enum refusal)(1 + value % (REFUSAL_COUNT - 1));
        break;
    case MESSAGE_FINISHED:
        packet.message.stop.exit_code = (uint32_t)value;
        break;
    default:
        break;
    }
    say(worker, server, &packet);
}

static void tick(struct worker *worker, uint64_t us)
{
    worker->now_us += us;
    session_tick(worker->session, worker->now_us, &worker->outbox);
    flush(worker);
    fuzz_must(session_patience_ms(worker->session) > 0, "and nobody hurries without end");
}

static void step(struct worker *worker, struct fuzz_input *input)
{
    switch (fuzz_take(input, 1) % 9) {
    case 0:
        welcome(worker, input);
        break;
    case 1:
        start(worker, input);
        break;
    case 2:
    case 3:
        answer(worker, input);
        break;
    case 4:
        say_small(worker, input);
        break;
    case 5:
    case 6:
        act(worker, (unsigned)fuzz_take(input, 1));
        break;
    case 7:
        say_header(worker, input);
        break;
    default:
        tick(worker, fuzz_take(input, 2) * 20);
        break;
    }
}

/* Nobody says anything any more. */
static void wait_for_the_end(struct worker *worker)
{
    for (unsigned i = 0; i < PATIENCE_SECONDS * 2 && !session_joining(worker->session)->over; i++) {
        act(worker, 0);
        tick(worker, 500000);
    }
    fuzz_must(session_joining(worker->session)->over, "silence is the end of it");
    fuzz_must(worker->finished, "and the trainer knows");
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    struct worker worker;
    unsigned settings = (unsigned)fuzz_take(&input, 1);
    open_worker(&worker, &jobs[settings & 1][settings >> 1 & 1]);
    for (unsigned i = 0; i < STEPS_MAX && input.left > 0; i++)
        step(&worker, &input);
    wait_for_the_end(&worker);
    close_worker(&worker);
}
