/* scores.c - one reference a chunk, to the values of the last scored count. */

#include "ps/extension/scores.h"

#include <string.h>

#include "common/base/invariant.h"
#include "common/transport/transport.h"
#include "ps/orders/orders.h"

static void drop(struct scored *scored)
{
    frame_release(scored->values);
    scored->values = NULL;
}

static void scores_forget(void *state, uint32_t chunk_count, bool ends)
{
    struct scored *chunks = state;
    for (uint32_t i = 0; i < chunk_count; i++) {
        drop(&chunks[i]);
        if (ends)
            frame_release(chunks[i].handed);
        chunks[i] = (struct scored){.handed = chunks[i].handed}; /* It may still be written. */
    }
}

/* Whether the chunk's count is scored. Then the old values are dropped, and the new ones kept if
 * they may be asked for. */
static bool pass(struct scored *scored, const struct chunk *chunk)
{
    uint64_t batches = chunk->batches;
    if (batches == scored->batches || !job_scores_at(&chunk->plan->job, batches))
        return false;
    drop(scored);
    scored->batches = batches;
    if (batches > scored->settled)
        scored->values = chunk_keep(chunk);
    return true;
}

/* A copy, so that a slow disk holds at most one a chunk. NULL while the last is still on its
 * way, or without memory. */
static struct frame *copy_scored(struct scored *scored)
{
    const struct frame *values = scored->values;
    if (scored->handed != NULL && !frame_is_unique(scored->handed))
        return NULL;
    if (scored->handed == NULL && (scored->handed = frame_create(values->bytes)) == NULL)
        return NULL;
    memcpy(scored->handed->data, values->data, values->bytes);
    return frame_retain(scored->handed);
}

/* For the file of the scored model. A missing chunk costs that file. */
static void hand_over(struct scored *scored, const struct chunk_news *news)
{
    struct frame *copy = scored->values != NULL ? copy_scored(scored) : NULL;
    if (copy == NULL) {
        outbox_warn(news->outbox, "the model after %llu batches is not kept: %s",
                    (unsigned long long)scored->batches,
                    scored->handed != NULL ? "the one before is still being written"
                                           : "out of memory, or it comes too late");
        return;
    }
    struct packet *packet = outbox_add(news->outbox, TO_CHECKPOINTER, MESSAGE_CHUNK_STATE);
    packet->payload = copy;
    packet->message.generation = news->generation;
    packet->message.chunk_state = (struct message_chunk_state){
        .step = scored->batches,
        .first = news->chunk->first,
        .count = news->chunk->count,
        .array = CHECKPOINT_SCORED,
        .server = news->plan->server,
    };
}

/* When the last chunk has passed a scored count, the router learns of it. Where one chunk has
 * passed the next count meanwhile, it does not. */
static void say_scored(const struct scored *chunks, const struct chunk_news *news)
{
    struct order order = {.kind = ORDER_SCORED,
                          .from = news->owner,
                          .generation = news->generation,
                          .scored.batches = chunks[news->place].batches};
    for (uint32_t i = 0; i < news->chunk_count; i++) {
        if (chunks[i].batches != order.scored.batches)
            return;
        order.scored.lost = order.scored.lost || chunks[i].values == NULL;
    }
    order_add(news->outbox, TO_ROUTER, 0, &order);
}

/* The model was handed over before its snapshot. */
static void scores_loaded(void *state, const struct chunk_news *news)
{
    struct scored *chunks = state;
    if (pass(&chunks[news->place], news->chunk))
        say_scored(chunks, news);
}

static void scores_applied(void *state, const struct chunk_news *news)
{
    struct scored *chunks = state;
    if (!pass(&chunks[news->place], news->chunk))
        return;
    if (news->plan->job.keep_scored)
        hand_over(&chunks[news->place], news);
    say_scored(chunks, news);
}

/* They are a message of their own, outside shared memory, where the worker has the values that it
 * trains with. */
static void scores_asked(void *state, const struct chunk_news *news, struct packet *answer)
{
    const struct scored *scored = &((struct scored *)state)[news->place];
    if (scored->values == NULL || scored->batches != news->packet->message.exchange.want_version)
        return;
    answer->origin = HERE;
    answer->message.kind = MESSAGE_RESULT;
    answer->message.result = (struct message_result){.chunk = news->chunk->index,
                                                     .version = scored->batches,
                                                     .parameters = true,
                                                     .scored = true};
    answer->payload = frame_retain(scored->values);
    answer->place = TRANSPORT_PLACE_NOWHERE;
}

static void scores_let_go(void *state, const struct chunk_news *news, uint64_t batches)
{
    struct scored *chunks = state;
    for (uint32_t i = 0; i < news->chunk_count; i++) {
        if (batches > chunks[i].settled)
            chunks[i].settled = batches;
        if (chunks[i].batches <= chunks[i].settled)
            drop(&chunks[i]);
    }
}

#define RULE(condition, rule) INVARIANT("scored", condition, rule)

static void scores_check(const void *state, const struct chunk *chunk, uint32_t place)
{
    const struct scored *scored = &((const struct scored *)state)[place];
    RULE(scored->batches <= chunk->batches, "no count was passed that is not reached");
    RULE(scored->batches == 0 || job_scores_at(&chunk->plan->job, scored->batches),
         "only values that are scored are kept");
    RULE(IMPLIES(scored->values != NULL, scored->batches > scored->settled),
         "nothing is kept that will not be asked for");
    RULE(scored->values == NULL || scored->values->bytes == chunk->count * sizeof(float),
         "they are as many as the chunk's");
}

const struct chunk_listener scores_listener = {
    .chunk_bytes = sizeof(struct scored),
    .forget = scores_forget,
    .loaded = scores_loaded,
    .applied = scores_applied,
    .asked = scores_asked,
    .let_go = scores_let_go,
    .check = scores_check,
};
