/* unknown_peer.c - messages of every kind that a process may send, with fields that are drawn. */

#include "deploy/verify/unknown_peer.h"

#include <string.h>

#include "deploy/engine/engine.h"

#define EVERY_MS 10

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

static int speak(void *context, const struct simulated_process *p)
{
    struct engine *e = context;
    bool server = random_below(&e->random, 3) == 0;
    struct message message = {
        .role = server ? ROLE_PS : ROLE_WORKER,
        .index = random_below(&e->random, server ? engine_servers(e) : engine_workers(e)),
        .incarnation = engine_draw_u64(e),
        .run_id = engine_draw_u64(e),
        .generation = random_below(&e->random, 4),
        .ticket = random_below(&e->random, 20),
        .request = e->events,
    };
    struct frame *payload = NULL;
    draw_words(e, &message, &payload);
    simulated_network_send_up(&e->network, e->now_ns, p->number,
                              random_below(&e->random, engine_servers(e)), &message, payload);
    return EVERY_MS;
}

struct scripted_client unknown_peer(struct engine *engine)
{
    return (struct scripted_client){.context = engine, .speak = speak};
}
