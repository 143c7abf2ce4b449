/* owner.c - checks, applies, releases, answers. The job's mode decides what becomes of a gradient and
 * when it is answered (shard_mode.h); all else is the same in every mode.
 *
 * The life of an EXCHANGE, with the functions on its arrows. A retry is without its gradient.
 *
 *     ARRIVED -- values of a score, [answer_scored] -------------------------------> ANSWERED
 *        |  '--- a replica that differs, [has_gone_astray] ------------------------> DROPPED
 *        |  '--- a retry, [answer_retry]: had, here or missing --------------------> ANSWERED
 *        |                 to be read: as from APPLIED; no push of this step: -----> DROPPED
 *        |  the mode's [judge], [check_finite], room in the log, the mode's [take]:
 *        |  [take_gradient], counted by [count_verdict]
 *        v
 *     JUDGED  an own verdict, or none: nothing was sent
 *        |  as long as there is a [next_update]: [group_add], [applied], listeners, and
 *        |  [snapshot_chunk] at the batch of a CUT: [make_updates]
 *        v
 *     APPLIED -- wants nothing: [add_result] --------------------------------------> ANSWERED
 *        |    -- a version that is here, [answer_read]: [attach] ------------------> ANSWERED
 *        |    -- one that is gone, [answer_read]: [add_moved_on] ------------------> ANSWERED
 *        |  one that is to come, [answer_read]: [park]
 *        v
 *     HELD ----- [release_waiting_read], after each update ------------------------> ANSWERED
 *           '--- another read of this worker, [answer_read]; LOAD, [forget] -------> DROPPED
 *
 * What may be trusted:
 *
 *     ARRIVED   The router has checked every field against the plan, and that the chunk is ours.
 *     JUDGED    A gradient that was taken is finite, is the mode's, and is in the log (O3). The chunk is
 *               as it was.
 *     APPLIED   All updates that can be made are made, log, counts and listeners have them, and a
 *               snapshot that they reach is taken (O1). No answer has said so yet.
 *     HELD      The first answer, TAKEN or RECEIPT, has given the weight back. The version is not there
 *               (O5). A worker has one place a chunk. What is lost here is asked for again.
 *     ANSWERED  Values that were sent do not change any more (chunk.h).
 *     DROPPED   There is TAKEN at most, and the worker asks again; so it is where the mode's [gives]
 *               refuses a version that is here. */

#include "ps/owner/owner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/invariant.h"
#include "common/kernels/kernels.h"
#include "common/transport/transport.h"
#include "ps/owner/owner_state.h"
#include "ps/shard/group.h"

/* --- life ---------------------------------------------------------------------------------- */

static enum status open_chunks(struct owner *owner, const struct owner_options *options)
{
    const struct plan *plan = options->plan;
    uint32_t place = 0;
    owner->owned = calloc(plan->chunk_count / options->count + 1, sizeof *owner->owned);
    if (owner->owned == NULL)
        return STATUS_MEMORY;
    for (uint32_t i = 0; i < plan->partition.chunk_count; i++) {
        if (plan->partition.chunks[i].server != plan->server ||
            place++ % options->count != options->index)
            continue;
        struct owned *owned = &owner->owned[owner->owned_count++];
        if (shard_init(&owned->shard, plan, i, options->memory) != STATUS_OK)
            return STATUS_MEMORY;
        owned->shard.policy = options->policy;
    }
    return STATUS_OK;
}

static enum status open_listeners(struct owner *owner, const struct owner_options *options)
{
    for (uint32_t i = 0; options->listeners != NULL && options->listeners[i] != NULL; i++) {
        const struct chunk_listener *rules = options->listeners[i];
        assert(i < LISTENERS_MAX);
        owner->listeners[i].rules = rules;
        owner->listeners[i].state =
            calloc(1, rules->bytes + owner->owned_count * rules->chunk_bytes);
        if (owner->listeners[i].state == NULL)
            return STATUS_MEMORY;
        owner->listener_count++;
    }
    return STATUS_OK;
}

enum status owner_create(struct owner **owner, const struct owner_options *options)
{
    struct owner *o = calloc(1, sizeof *o);
    *owner = o;
    if (o == NULL)
        return STATUS_MEMORY;
    o->plan = options->plan;
    o->rules = shard_mode_of(&o->plan->job);
    o->index = options->index;
    o->unchecked = options->unchecked;
    if (open_chunks(o, options) == STATUS_OK && open_listeners(o, options) == STATUS_OK)
        return STATUS_OK;
    owner_destroy(owner);
    return STATUS_MEMORY;
}

void owner_destroy(struct owner **owner)
{
    struct owner *o = *owner;
    if (o == NULL)
        return;
    for (uint32_t i = 0; i < o->owned_count; i++) {
        shard_free(&o->owned[i].shard);
        free(o->owned[i].waiting_read);
        update_log_free(&o->owned[i].log);
    }
    EACH_LISTENER(o, forget, state, o->owned_count, true);
    for (uint32_t i = 0; i < o->listener_count; i++)
        free(o->listeners[i].state);
    free(o->owned);
    free(o);
    *owner = NULL;
}

/* The chunk that begins with this element, or NULL. */
static struct owned *find_first(struct owner *owner, uint64_t first)
{
    uint32_t low = 0, high = owner->owned_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (owner->owned[middle].shard.chunk.first < first)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < owner->owned_count && owner->owned[low].shard.chunk.first == first;
    return found ? &owner->owned[low] : NULL;
}

/* The chunk of an EXCHANGE, which the router has looked up. */
static struct owned *find_asked(struct owner *owner, const struct packet *exchange)
{
    uint32_t index = exchange->message.exchange.chunk;
    struct owned *owned = find_first(owner, owner->plan->partition.chunks[index].first);
    assert(owned != NULL);
    return owned;
}

/* --- speaking ------------------------------------------------------------------------------ */

#define tell(owner, to, kind, outbox) tell_from(owner, to, kind, outbox, HERE)
static struct packet *tell_from(const struct owner *owner, enum destination to,
                                enum message_kind kind, struct outbox *outbox, struct origin origin)
{
    struct packet *packet = outbox_put(outbox, to, 0, kind, origin);
    packet->message.generation = owner->generation;
    return packet;
}

/* The first answer to an exchange. */
#define answer_to(owner, to, kind, outbox) answer_from(owner, to, kind, outbox, HERE)
static struct packet *answer_from(const struct owner *owner, const struct packet *to,
                                  enum message_kind kind, struct outbox *outbox,
                                  struct origin origin)
{
    struct packet *packet = tell_from(owner, TO_ROUTER, kind, outbox, origin);
    packet->peer = to->peer;
    packet->weight = to->weight;
    packet->message.index = to->message.index;
    packet->message.request = to->message.request;
    return packet;
}

/* The first answer where there is nothing to send to the worker yet. */
static void say_taken(const struct owner *owner, const struct packet *exchange,
                      struct outbox *outbox)
{
    const struct order order = {.kind = ORDER_TAKEN,
                                .from = owner->index,
                                .generation = owner->generation,
                                .taken.worker = exchange->message.index};
    order_add(outbox, TO_ROUTER, 0, &order)->weight = exchange->weight;
}

/* Training cannot go on: the coordinator ends the job. */
static void give_up(const struct owner *owner, struct outbox *outbox, const char *text)
{
    struct packet *packet = tell(owner, TO_COORDINATOR, MESSAGE_STOP, outbox);
    packet->message.stop.exit_code = EXIT_TRAINING_FAILED;
    snprintf(packet->message.stop.reason, sizeof packet->message.stop.reason, "%s", text);
}

/* Of a chunk or, with NULL, of all. packet: the one that it comes of, or NULL. */
static struct chunk_news news_of(const struct owner *owner, const struct owned *owned,
                                 const struct packet *packet, uint64_t now_us,
                                 struct outbox *outbox)
{
    return (struct chunk_news){
        .plan = owner->plan,
        .owner = owner->index,
        .chunk_count = owner->owned_count,
        .generation = owner->generation,
        .now_us = now_us,
        .packet = packet,
        .outbox = outbox,
        .chunk = owned != NULL ? &owned->shard.chunk : NULL,
        .place = owned != NULL ? (uint32_t)(owned - owner->owned) : 0,
    };
}

/* --- loading ------------------------------------------------------------------------------- */

/* It has values: the mode begins. */
static void open_chunk(struct owner *owner, struct owned *owned, struct outbox *outbox)
{
    owner->rules->open(&owned->shard);
    update_log_begin(&owned->log, owned->shard.chunk.batches);
    const struct chunk_news news = news_of(owner, owned, NULL, 0, outbox);
    EACH_LISTENER(owner, loaded, state, &news);
}

static void say_loaded(const struct owner *owner, struct outbox *outbox)
{
    event(outbox->listener, EVENT_LOADED);
    order_add(outbox, TO_ROUTER, 0,
              &(struct order){
                  .kind = ORDER_LOADED, .from = owner->index, .generation = owner->generation});
}

/* What a generation leaves behind beside its values. */
static void forget(struct owned *owned)
{
    owned->shard.rules->forget(&owned->shard);
    if (owned->waiting_read_count > 0)
        memset(owned->waiting_read, 0, owned->waiting_read_count * sizeof *owned->waiting_read);
    owned->snapshot_step = UINT64_MAX;
    owned->arrays_loaded = 0;
}

/* From initial values, or to be filled by CHUNK_STATEs. */
static bool reload(struct owner *owner, const struct order_load *load, struct outbox *outbox)
{
    owner->to_load = load->restore ? owner->owned_count : 0;
    owner->load_step = load->step;
    for (uint32_t i = 0; i < owner->owned_count; i++) {
        struct owned *owned = &owner->owned[i];
        if (owner->filled && chunk_renew(&owned->shard.chunk) != STATUS_OK)
            return false;
        if (load->restore)
            continue;
        chunk_initialize(&owned->shard.chunk);
        open_chunk(owner, owned, outbox);
    }
    owner->filled = true;
    return true;
}

static void handle_load(struct owner *owner, const struct order *order, struct outbox *outbox)
{
    const struct order_load *load = &order->load;
    owner->generation = order->generation;
    owner->records = load->records;
    owner->verdicts = (struct verdict_counts){0};
    owner->to_snapshot = 0;
    for (uint32_t i = 0; i < owner->owned_count; i++)
        forget(&owner->owned[i]);
    EACH_LISTENER(owner, forget, state, owner->owned_count, false);
    if (!reload(owner, load, outbox))
        give_up(owner, outbox, "out of memory for the model");
    else if (owner->to_load == 0)
        say_loaded(owner, outbox);
}

static void handle_chunk_state(struct owner *owner, const struct packet *packet,
                               struct outbox *outbox)
{
    const struct message_chunk_state *state = &packet->message.chunk_state;
    struct owned *owned = find_first(owner, state->first);
    uint32_t arrays = 1 + owner->plan->slots.count;
    if (owned == NULL || owner->to_load == 0 || state->step != owner->load_step ||
        state->count != owned->shard.chunk.count || state->array >= arrays ||
        state->version > state->step || packet->payload == NULL ||
        packet->payload->bytes != state->count * sizeof(float) ||
        owned->arrays_loaded >> state->array & 1)
        return; /* Repeated, or another owner's. */
    memcpy(chunk_array(&owned->shard.chunk, state->array), packet->payload->data,
           packet->payload->bytes);
    owned->arrays_loaded |= 1u << state->array;
    if (owned->arrays_loaded != (1u << arrays) - 1)
        return;
    chunk_stand(&owned->shard.chunk, state->step,
                job_version(&owner->plan->job, state->step, state->version));
    open_chunk(owner, owned, outbox);
    if (--owner->to_load == 0)
        say_loaded(owner, outbox);
}

/* --- cutting ------------------------------------------------------------------------------- */

static void owner_snapshot_done(const struct owner *owner, uint64_t step, bool taken,
                                struct outbox *outbox)
{
    const struct order order = {
        .kind = ORDER_OWNER_SNAPSHOT,
        .from = owner->index,
        .generation = owner->generation,
        .owner_snapshot = {.step = step, .taken = taken, .verdicts = owner->verdicts}};
    const struct chunk_news news = news_of(owner, NULL, NULL, 0, outbox);
    struct packet *packet = order_add(outbox, TO_ROUTER, 0, &order);
    EACH_LISTENER(owner, snapshot, state, &news, packet);
}

/* Slots are copied, because the next update writes them, unless none follows. Values are only
 * referred to, because the next update goes elsewhere. */
static struct frame *snapshot_array(struct owned *owned, uint32_t array)
{
    if (array == CHECKPOINT_ENTRIES)
        return update_log_pack(&owned->log);
    if (array == 0 || owned->shard.chunk.batches == owned->shard.chunk.plan->job.steps)
        return chunk_last(&owned->shard.chunk, array);
    struct frame *copy = frame_create(owned->shard.chunk.count * sizeof(float));
    if (copy != NULL)
        memcpy(copy->data, chunk_array(&owned->shard.chunk, array), copy->bytes);
    return copy;
}

/* No memory for a copy: there is no snapshot, and training goes on. */
static void snapshot_fails(struct owner *owner, uint64_t step, struct outbox *outbox)
{
    outbox_warn(outbox, "out of memory for a checkpoint at step %llu", (unsigned long long)step);
    for (uint32_t i = 0; i < owner->owned_count; i++)
        owner->owned[i].snapshot_step = UINT64_MAX;
    owner->to_snapshot = 0;
    owner_snapshot_done(owner, step, false, outbox);
}

/* False: without memory for a copy. */
static bool send_snapshot_array(struct owner *owner, struct owned *owned, uint32_t array,
                                uint64_t step, struct outbox *outbox)
{
    struct frame *frame = snapshot_array(owned, array);
    if (frame == NULL)
        return false;
    struct packet *packet = tell(owner, TO_CHECKPOINTER, MESSAGE_CHUNK_STATE, outbox);
    packet->payload = frame;
    packet->message.chunk_state = (struct message_chunk_state){
        .step = step,
        .first = owned->shard.chunk.first,
        .count = owned->shard.chunk.count,
        .array = array,
        .server = owner->plan->server,
        .version = job_accumulates(&owner->plan->job) ? owned->shard.chunk.version : 0,
    };
    return true;
}

static void note_update(const struct chunk *chunk, const struct pending *made,
                        const struct outbox *outbox)
{
    event(outbox->listener, made->examples != 0 ? EVENT_UPDATED : EVENT_SKIPPED,
          .chunk = chunk->index, .version = chunk->version, .members = made->members,
          .examples = made->examples, .staleness = made->staleness);
}

static void note_added(const struct chunk *chunk, const struct update *update,
                       const struct outbox *outbox)
{
    event(outbox->listener, EVENT_ADDED, .chunk = chunk->index, .version = chunk->version,
          .members = chunk->pending.members,
          .examples = update->gradient != NULL ? update->what.examples : 0,
          .staleness = update->what.staleness);
}

/* A checkpoint has no open groups: apply the pending gradients before a snapshot. */
static bool close_group(struct owner *owner, struct owned *owned, struct outbox *outbox)
{
    struct chunk *chunk = &owned->shard.chunk;
    const struct pending made = chunk->pending;
    if (made.members == 0)
        return true;
    if (group_close(chunk) != STATUS_OK) {
        give_up(owner, outbox, "out of memory for an update");
        return false;
    }
    if (owner->records)
        update_log_close(&owned->log);
    note_update(chunk, &made, outbox);
    return true;
}

static void snapshot_chunk(struct owner *owner, struct owned *owned, struct outbox *outbox)
{
    uint64_t step = owned->snapshot_step;
    bool whole = close_group(owner, owned, outbox);
    owned->snapshot_step = UINT64_MAX;
    event(outbox->listener, EVENT_CUT, .chunk = owned->shard.chunk.index, .step = step);
    for (uint32_t array = 0; array <= owner->plan->slots.count && whole; array++)
        whole = send_snapshot_array(owner, owned, array, step, outbox);
    if (whole && owner->records)
        whole = send_snapshot_array(owner, owned, CHECKPOINT_ENTRIES, step, outbox);
    if (!whole)
        snapshot_fails(owner, step, outbox);
    else if (--owner->to_snapshot == 0)
        owner_snapshot_done(owner, step, true, outbox);
}

/* Snapshot all chunks after `step` batches, now or when each gets there, in place of one before. If
 * one is past it, the snapshot fails, and the coordinator will name a later step. */
static void handle_snapshot(struct owner *owner, const struct packet *packet, struct outbox *outbox)
{
    uint64_t step = packet->message.cut.step;
    bool possible = true;
    for (uint32_t i = 0; i < owner->owned_count; i++) {
        update_log_drop(&owner->owned[i].log, packet->message.cut.recorded);
        possible = possible && owner->owned[i].shard.chunk.batches <= step;
    }
    for (uint32_t i = 0; i < owner->owned_count; i++)
        owner->owned[i].snapshot_step = possible ? step : UINT64_MAX;
    owner->to_snapshot = possible ? owner->owned_count : 0;
    if (owner->to_snapshot == 0) {
        owner_snapshot_done(owner, step, possible, outbox);
        return;
    }
    /* All groups or none, whatever becomes of the snapshot. */
    for (uint32_t i = 0; i < owner->owned_count; i++)
        if (owner->owned[i].shard.chunk.batches == step &&
            !close_group(owner, &owner->owned[i], outbox)) {
            snapshot_fails(owner, step, outbox);
            return;
        }
    for (uint32_t i = 0; i < owner->owned_count; i++)
        if (owner->owned[i].shard.chunk.batches == step && owner->owned[i].snapshot_step == step)
            snapshot_chunk(owner, &owner->owned[i], outbox);
}

/* --- exchanging ---------------------------------------------------------------------------- */

static void set_result(struct packet *packet, const struct owned *owned, struct outcome outcome)
{
    packet->message.result = (struct message_result){
        .chunk = owned->shard.chunk.index,
        .verdict = outcome.verdict,
        .version = owned->shard.chunk.version,
        .staleness = outcome.staleness,
    };
}

static struct packet *add_result(const struct owner *owner, const struct owned *owned,
                                 const struct packet *to, struct outcome outcome,
                                 struct outbox *outbox)
{
    struct packet *packet = answer_to(owner, to, MESSAGE_RESULT, outbox);
    set_result(packet, owned, outcome);
    return packet;
}

static void add_receipt(const struct owner *owner, const struct packet *to, bool missing,
                        struct outbox *outbox)
{
    const struct message_exchange *exchange = &to->message.exchange;
    answer_to(owner, to, MESSAGE_RECEIPT, outbox)->message.receipt = (struct message_receipt){
        .chunk = exchange->chunk,
        .step = exchange->step,
        .node = exchange->node,
        .missing = missing,
    };
}

/* The requested version is gone. */
static struct packet *add_moved_on(const struct owner *owner, const struct owned *owned,
                                   const struct packet *to, struct outbox *outbox)
{
    struct packet *moved_on = answer_to(owner, to, MESSAGE_MOVED_ON, outbox);
    moved_on->message.moved_on.chunk = owned->shard.chunk.index;
    moved_on->message.moved_on.version = owned->shard.chunk.version;
    moved_on->message.moved_on.scored = to->message.exchange.scored;
    return moved_on;
}

/* Slots follow the values as a message of their own, outside shared memory, where a chunk has
 * one place. Without memory for a copy the worker asks again. */
static void add_slots(const struct owner *owner, const struct packet *values,
                      const struct chunk *chunk, struct outbox *outbox)
{
    const struct packet first = *values; /* The outbox may grow. */
    for (uint32_t slot = 0; slot < owner->plan->slots.count; slot++) {
        struct frame *copy = frame_create(chunk->count * sizeof(float));
        if (copy == NULL)
            return;
        memcpy(copy->data, chunk->slots[slot], copy->bytes);
        struct packet *packet = outbox_add(outbox, TO_ROUTER, MESSAGE_RESULT);
        *packet = first;
        packet->weight = 0; /* The first message gives it back. */
        packet->message.result.array = 1 + slot;
        packet->payload = copy;
        packet->place = TRANSPORT_PLACE_NOWHERE;
    }
}

static void attach(const struct owner *owner, struct packet *packet, const struct chunk *chunk,
                   const struct read_result *read, struct outbox *outbox)
{
    packet->message.result.version = read->version;
    packet->message.result.parameters = true;
    packet->message.result.sum = read->sum;
    packet->payload = frame_retain(read->values);
    packet->place = chunk->plan->partition.chunks[chunk->index].place * sizeof(float);
    if (read->slots)
        add_slots(owner, packet, chunk, outbox);
}

static struct read_request read_request_of(const struct message_exchange *exchange)
{
    return (struct read_request){
        .newest = exchange->newest,
        .version = exchange->want_version,
        .sum = exchange->sum,
        .slots = exchange->slots,
    };
}

static void count_verdict(struct owner *owner, enum verdict verdict)
{
    struct verdict_counts *counts = &owner->verdicts;
    uint64_t *const counted[VERDICT_COUNT] = {
        [VERDICT_APPLIED] = &counts->applied,
        [VERDICT_STALE] = &counts->stale,
        [VERDICT_DUPLICATE] = &counts->duplicate,
        [VERDICT_REJECTED] = &counts->rejected,
    };
    if (counted[verdict] != NULL)
        ++*counted[verdict];
}

/* Name the element of a gradient that is not finite. */
static void name_infinite(const struct owner *owner, const struct owned *owned,
                          const struct packet *packet, char text[MESSAGE_TEXT_MAX])
{
    const struct message_exchange *exchange = &packet->message.exchange;
    const float *gradient = packet->payload->data;
    uint64_t i = 0;
    while (i < owned->shard.chunk.count && kernels_all_finite(gradient + i, 1))
        i++;
    snprintf(text, MESSAGE_TEXT_MAX,
             "gradient is not finite: step %llu, leaves %u to %u, variable %s, from worker/%u",
             (unsigned long long)exchange->step, exchange->node.first_leaf,
             exchange->node.first_leaf + exchange->node.leaf_count - 1,
             plan_variable_at(owner->plan, owned->shard.chunk.first + i), packet->message.index);
}

/* One place a worker; a later request replaces the earlier. NULL without memory. */
static struct waiting_read *waiting_read_place(struct owned *owned, uint32_t worker)
{
    if (worker < owned->waiting_read_count)
        return &owned->waiting_read[worker];
    uint32_t count = owned->waiting_read_count == 0 ? 8 : owned->waiting_read_count;
    while (count <= worker)
        count *= 2;
    struct waiting_read *waiting_read = realloc(owned->waiting_read, count * sizeof *waiting_read);
    if (waiting_read == NULL)
        return NULL;
    memset(waiting_read + owned->waiting_read_count, 0,
           (count - owned->waiting_read_count) * sizeof *waiting_read);
    owned->waiting_read = waiting_read;
    owned->waiting_read_count = count;
    return &waiting_read[worker];
}

/* The answer waits for its version; without memory for that the worker asks again. */
static void park(struct owner *owner, struct owned *owned, const struct packet *packet,
                 struct outcome outcome, uint64_t now_us, struct outbox *outbox)
{
    const struct message_exchange *exchange = &packet->message.exchange;
    struct waiting_read *waiting_read = waiting_read_place(owned, packet->message.index);
    if (waiting_read != NULL) {
        event(outbox->listener, EVENT_HELD, .chunk = exchange->chunk,
              .index = packet->message.index, .version = exchange->want_version);
        *waiting_read = (struct waiting_read){
            .waiting = true,
            .peer = packet->peer,
            .request = packet->message.request,
            .wanted = read_request_of(exchange),
            .since_us = now_us,
            .outcome = outcome,
        };
    }
    if (exchange->receipt || exchange->retry)
        add_receipt(owner, packet, false, outbox);
    else
        say_taken(owner, packet, outbox);
}

/* Answer a request for values: now, later, or that the version is gone. */
static void answer_read(struct owner *owner, struct owned *owned, const struct packet *packet,
                        struct outcome outcome, uint64_t now_us, struct outbox *outbox)
{
    const struct chunk *chunk = &owned->shard.chunk;
    const struct read_request wanted = read_request_of(&packet->message.exchange);
    struct read_result read;
    if (packet->message.index < owned->waiting_read_count)
        owned->waiting_read[packet->message.index].waiting = false;
    switch (owner->rules->answer(&owned->shard, &wanted, &read)) {
    case RELEASE_NOW:
        if (!owner->rules->gives(&owned->shard, &packet->message, &read)) {
            say_taken(owner, packet, outbox);
            break;
        }
        attach(owner, add_result(owner, owned, packet, outcome, outbox), chunk, &read, outbox);
        break;
    case RELEASE_LATER:
        park(owner, owned, packet, outcome, now_us, outbox);
        break;
    case RELEASE_NEVER:
        add_moved_on(owner, owned, packet, outbox);
        break;
    }
}

/* last: the worker whose gradient made the awaited update; UINT32_MAX: a CLOSE did. */
static void release_waiting_read(const struct owner *owner, struct owned *owned, uint32_t last,
                                 uint64_t now_us, struct outbox *outbox)
{
    for (uint32_t i = 0; i < owned->waiting_read_count; i++) {
        struct waiting_read *waiting_read = &owned->waiting_read[i];
        struct read_result read;
        struct outcome outcome = waiting_read->outcome;
        if (!waiting_read->waiting ||
            owner->rules->answer(&owned->shard, &waiting_read->wanted, &read) != RELEASE_NOW)
            continue;
        struct packet *result = tell(owner, TO_ROUTER, MESSAGE_RESULT, outbox);
        result->peer = waiting_read->peer;
        result->message.index = i;
        result->message.request = waiting_read->request;
        if (outcome.verdict == VERDICT_APPLIED && owner->rules->left_out(&owned->shard, i))
            outcome.verdict = VERDICT_STALE;
        set_result(result, owned, outcome);
        uint64_t held = now_us - waiting_read->since_us;
        result->message.result.held_us = held > UINT32_MAX ? UINT32_MAX : (uint32_t)held;
        result->message.result.held_for = last + 1;
        waiting_read->waiting = false;
        attach(owner, result, &owned->shard.chunk, &read, outbox);
    }
}

/* The open group with this update. */
static struct pending pending_with(struct pending pending, const struct update *update)
{
    pending.members++;
    if (update->gradient == NULL)
        return pending;
    pending.examples += update->what.examples;
    if (update->what.staleness > pending.staleness)
        pending.staleness = update->what.staleness;
    return pending;
}

/* Make all updates that can be made, before any answer. packet: the gradient that came, or NULL.
 * Whether there was an update. */
static bool make_updates(struct owner *owner, struct owned *owned, const struct packet *packet,
                         uint64_t now_us, struct outbox *outbox)
{
    struct chunk *chunk = &owned->shard.chunk;
    struct update update;
    bool any = false;
    for (; owner->rules->next_update(&owned->shard, &update); any = true) {
        const struct pending made = pending_with(chunk->pending, &update);
        update.what.sum = update.gradient != NULL ? update.gradient->data : NULL;
        if (update.lost || group_add(chunk, &update.what) != STATUS_OK) {
            frame_release(update.gradient);
            give_up(owner, outbox, "out of memory for an update");
            if (owner->records)
                update_log_take_back(&owned->log);
            return false;
        }
        owner->rules->applied(&owned->shard, &update);
        owner->verdicts.applied += update.used;
        owner->verdicts.stale += update.left;
        const struct chunk_news news = news_of(owner, owned, packet, now_us, outbox);
        EACH_LISTENER(owner, applied, state, &news); /* Before a snapshot, which reports it. */
        if (chunk->pending.members == 0)
            note_update(chunk, &made, outbox);
        else
            note_added(chunk, &update, outbox);
        if (owned->snapshot_step == chunk->batches)
            snapshot_chunk(owner, owned, outbox);
    }
    return any;
}

/* The gradient was sent before, and is not with this message: say what became of it. A retry is
 * not counted as a gradient. */
static void answer_retry(struct owner *owner, struct owned *owned, const struct packet *packet,
                         uint64_t now_us, struct outbox *outbox)
{
    const struct message_exchange *exchange = &packet->message.exchange;
    enum push_status push = owner->rules->sent_before(&owned->shard, exchange);
    const struct outcome outcome = {.verdict =
                                        push == PUSH_STALE ? VERDICT_STALE : VERDICT_DUPLICATE};
    if (push == PUSH_UNKNOWN)
        say_taken(owner, packet, outbox);
    else if (push == PUSH_MISSING)
        add_receipt(owner, packet, true, outbox);
    else if (exchange->want)
        answer_read(owner, owned, packet, outcome, now_us, outbox);
    else if (push == PUSH_HELD)
        add_receipt(owner, packet, false, outbox);
    else
        add_result(owner, owned, packet, outcome, outbox);
}

/* Whether the gradient may be taken. One that is not finite is left out, or ends the job. */
static bool check_finite(const struct owner *owner, const struct owned *owned,
                         struct packet *packet, struct outbox *outbox)
{
    char text[MESSAGE_TEXT_MAX];
    if (packet->payload == NULL ||
        kernels_all_finite(packet->payload->data, owned->shard.chunk.count))
        return true;
    name_infinite(owner, owned, packet, text);
    if (job_mode(&owner->plan->job)->steps) {
        give_up(owner, outbox, text);
        return false;
    }
    outbox_warn(outbox, "%s: left out", text);
    frame_release(packet->payload);
    packet->payload = NULL;
    return true;
}

static void note_gradient(const struct message *message, enum verdict verdict,
                          const struct outbox *outbox)
{
    const struct message_exchange *exchange = &message->exchange;
    event(outbox->listener, verdict == VERDICT_APPLIED ? EVENT_TAKEN : EVENT_REFUSED,
          .chunk = exchange->chunk, .index = message->index, .node = exchange->node,
          .step = exchange->step, .verdict = verdict);
}

/* Whether a worker's replica differs from the chunk. Then no result is exact, and the job ends. */
static bool has_gone_astray(const struct owner *owner, struct owned *owned,
                            const struct packet *packet, struct outbox *outbox)
{
    const struct message_exchange *exchange = &packet->message.exchange;
    const struct chunk *chunk = &owned->shard.chunk;
    char text[MESSAGE_TEXT_MAX];
    if (!owner->rules->doubts(&owned->shard, exchange))
        return false;
    snprintf(text, sizeof text,
             "worker/%u has another model than the servers at step %llu, in chunk %u: %s to %s",
             packet->message.index, (unsigned long long)exchange->step, chunk->index,
             plan_variable_at(owner->plan, chunk->first),
             plan_variable_at(owner->plan, chunk->first + chunk->count - 1));
    give_up(owner, outbox, text);
    say_taken(owner, packet, outbox);
    return true;
}

/* A batch's score follows the verdict of its gradient here: applied, had without it, or not
 * taken. */
static void pass_report(const struct packet *packet, bool taken, bool applied,
                        struct outbox *outbox)
{
    if (!packet->message.exchange.has_report)
        return;
    struct message_report *report = order_report(packet, outbox);
    report->refused = !taken;
    if (!applied)
        report->loss = 0, report->correct = report->examples = 0;
}

/* The verdict of a gradient, or of a batch that is left out. */
static enum verdict take_gradient(struct owner *owner, struct owned *owned, struct packet *packet,
                                  struct outbox *outbox)
{
    const struct message_exchange *exchange = &packet->message.exchange;
    enum verdict verdict = owner->rules->judge(&owned->shard, &packet->message);
    if (verdict != VERDICT_NONE) {
        pass_report(packet, false, false, outbox);
        return verdict;
    }
    if (!check_finite(owner, owned, packet, outbox))
        return VERDICT_REJECTED;
    if (owner->records && update_log_reserve(&owned->log) != STATUS_OK) {
        give_up(owner, outbox, "out of memory for the record");
        return VERDICT_REJECTED;
    }
    struct frame *gradient = packet->payload;
    packet->payload = NULL;
    if (owner->rules->take(&owned->shard, &packet->message, gradient, &verdict) != STATUS_OK) {
        give_up(owner, outbox, "out of memory for a gradient");
        return verdict;
    }
    unsigned flags = (group_closes(&owned->shard.chunk) ? LOGGED_CLOSES : 0) |
                     (verdict != VERDICT_APPLIED ? LOGGED_SKIPPED : 0);
    if (owner->records)
        update_log_add(&owned->log, exchange->described, flags);
    pass_report(packet, true, verdict == VERDICT_APPLIED, outbox);
    return verdict;
}

/* Values kept for a score: listeners have them, or they are gone. */
static void answer_scored(struct owner *owner, const struct packet *packet, uint64_t now_us,
                          struct outbox *outbox)
{
    const struct owned *owned = find_asked(owner, packet);
    const struct chunk_news news = news_of(owner, owned, packet, now_us, outbox);
    struct packet *answer = add_moved_on(owner, owned, packet, outbox);
    EACH_LISTENER(owner, asked, state, &news, answer);
}

static void handle_exchange(struct owner *owner, struct packet *packet, uint64_t now_us,
                            struct outbox *outbox)
{
    const struct message_exchange *exchange = &packet->message.exchange;
    struct owned *owned = find_asked(owner, packet);
    uint64_t staleness = chunk_staleness(&owned->shard.chunk, exchange->base_version);
    bool sent = exchange->gradient || exchange->skip;
    struct outcome outcome = {.verdict = VERDICT_NONE};
    if (has_gone_astray(owner, owned, packet, outbox)) /* A retry may arrive first. */
        return;
    if (sent && exchange->retry) {
        pass_report(packet, false, false, outbox);
        answer_retry(owner, owned, packet, now_us, outbox);
        return;
    }
    if (sent) {
        outcome.verdict = take_gradient(owner, owned, packet, outbox);
        note_gradient(&packet->message, outcome.verdict, outbox);
    }
    if (outcome.verdict == VERDICT_APPLIED)
        outcome.staleness = staleness;
    if (!owner->rules->judges_late || outcome.verdict != VERDICT_APPLIED)
        count_verdict(owner, outcome.verdict); /* Before a snapshot, which reports the counts. */
    bool updated = make_updates(owner, owned, packet, now_us, outbox);
    if (exchange->want)
        answer_read(owner, owned, packet, outcome, now_us, outbox);
    else
        add_result(owner, owned, packet, outcome, outbox);
    if (updated)
        release_waiting_read(owner, owned, packet->message.index, now_us, outbox);
}

/* These leaves make the step, and may all be here. The router has checked the list. */
static void handle_close(struct owner *owner, const struct packet *packet, uint64_t now_us,
                         struct outbox *outbox)
{
    struct leaf_set set;
    uint64_t step = packet->message.close.step;
    if (owner->to_load > 0 ||
        !leaf_sets_find(packet->payload->data, packet->payload->bytes, step, &set))
        return;
    for (uint32_t i = 0; i < owner->owned_count; i++) {
        struct owned *owned = &owner->owned[i];
        owner->rules->close_step(&owned->shard, &packet->message.close, &set);
        if (make_updates(owner, owned, NULL, now_us, outbox))
            release_waiting_read(owner, owned, UINT32_MAX, now_us, outbox);
    }
}

static void handle_current(struct owner *owner, struct packet *packet, uint64_t now_us,
                           struct outbox *outbox)
{
    switch (packet->message.kind) {
    case MESSAGE_CHUNK_STATE:
        handle_chunk_state(owner, packet, outbox);
        break;
    case MESSAGE_EXCHANGE:
        if (packet->message.exchange.scored)
            answer_scored(owner, packet, now_us, outbox);
        else
            handle_exchange(owner, packet, now_us, outbox);
        break;
    case MESSAGE_CUT:
        handle_snapshot(owner, packet, outbox);
        break;
    case MESSAGE_CLOSE:
        handle_close(owner, packet, now_us, outbox);
        break;
    default:
        assert(!"a message that owners do not take");
    }
}

static void obey(struct owner *owner, const struct order *order, struct outbox *outbox)
{
    const struct chunk_news news = news_of(owner, NULL, NULL, 0, outbox);
    assert(order->kind == ORDER_LOAD || order->kind == ORDER_LET_GO);
    if (order->kind == ORDER_LOAD)
        handle_load(owner, order, outbox);
    else if (order->generation == owner->generation)
        EACH_LISTENER(owner, let_go, state, &news, order->let_go.batches);
}

void owner_handle(struct owner *owner, struct packet *packet, uint64_t now_us,
                  struct outbox *outbox)
{
    const struct order *order = order_of(packet);
    /* The router drops other generations. But where a LOAD met no memory, the messages behind it
     * are of a generation that this owner has not begun. */
    if (order != NULL)
        obey(owner, order, outbox);
    else if (packet->message.generation == owner->generation)
        handle_current(owner, packet, now_us, outbox);
    frame_release(packet->payload);
    packet->payload = NULL;
    if (CHECKED && !owner->unchecked)
        owner_check(owner);
}
