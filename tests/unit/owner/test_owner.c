/* test_owner.c - a shard's owner: values in memory that others read, scores, staleness and what is not finite,
 * cuts and loads in the same bits. What it is told and says: tests/talks/owner.talk. */
/* promises: accumulate exit-codes replay run-json scores staleness-rules torn */

#include "ps/owner/owner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/job/replica_hash.h"
#include "common/transport/transport.h"
#include "ps/extension/extensions.h"
#include "ps/extension/staleness_counters.h"
#include "ps/owner/owner_state.h"
#include "ps/shard/batch_set.h"
#include "tests/lib/post.h"
#include "tests/lib/suite.h"

/* One server that owns all four chunks of the small job, two workers. */
struct fixture {
    struct job job;
    struct plan *plan;
    struct owner *owner;
    struct post post;
    uint64_t now_us, request, generation;
};

static void order_load(struct fixture *f, struct order_load load)
{
    struct packet packet = order_packet(
        &(struct order){.kind = ORDER_LOAD, .generation = f->generation, .load = load});
    owner_handle(f->owner, &packet, f->now_us, &f->post.outbox);
}

static void order(struct fixture *f, bool restore)
{
    order_load(f, (struct order_load){.plan = f->plan, .restore = restore, .step = 2});
}

/* The chunks are there; what the owner says of them. */
static struct order loaded(struct fixture *f)
{
    ck_assert_uint_eq(post_count_orders(&f->post, TO_ROUTER, ORDER_LOADED), 1);
    struct order order = *post_order(&f->post, TO_ROUTER, ORDER_LOADED);
    ck_assert_uint_eq(order.generation, f->generation);
    post_clear(&f->post);
    return order;
}

static void load(struct fixture *f)
{
    order(f, false);
    loaded(f);
}

static void open_server(struct fixture *f, struct job job, uint32_t server,
                        const struct chunk_memory *memory)
{
    struct error error;
    memset(f, 0, sizeof *f);
    f->job = job;
    ck_assert_msg(plan_create(&f->plan, &f->job, server, 99, &error) == STATUS_OK, "%s",
                  error.text);
    const struct owner_options options = {
        .plan = f->plan, .count = 1, .memory = memory, .listeners = extensions};
    ck_assert(owner_create(&f->owner, &options) == STATUS_OK);
    f->now_us = 1000;
}

static void open_plan(struct fixture *f, struct job job, const struct chunk_memory *memory)
{
    open_server(f, job, 0, memory);
}

static void open_fixture(struct fixture *f, enum mode mode)
{
    open_plan(f, small_job(mode, 2, 1), NULL);
    load(f);
}

static void close_fixture(struct fixture *f)
{
    post_free(&f->post);
    owner_destroy(&f->owner);
    plan_destroy(&f->plan);
    job_free(&f->job);
}

/* What tests begin with, and how they end. */
#define TEST(name, ...)                                                                            \
    SUITE_TEST(name, struct fixture, f, open_fixture(f, __VA_ARGS__), close_fixture(f))
#define TEST_EACH(name, times, ...)                                                                \
    SUITE_TEST_TIMES(name, times, struct fixture, f, open_fixture(f, __VA_ARGS__), close_fixture(f))

/* What a worker sends for one chunk; value: of every element of the gradient. */
struct sent {
    uint32_t worker, chunk;
    uint64_t step, base;
    struct node node;
    float value;
    bool want;
};

static struct message_exchange exchange_of(const struct fixture *f, const struct sent *sent)
{
    bool sync = job_mode(&f->job)->steps;
    struct batch_range batch = job_batch(&f->job, sent->step);
    struct node node = sync ? sent->node : tree_root(batch.leaves);
    return (struct message_exchange){
        .chunk = sent->chunk,
        .step = sent->step,
        .base_version = sync ? sent->step : sent->base,
        .gradient = true,
        .node = node,
        .examples = job_node_examples(&f->job, batch, node.first_leaf, node.leaf_count),
        .want = sent->want,
        .want_version = sent->step + 1,
    };
}

static struct packet request_of(struct fixture *f, uint32_t worker, uint64_t weight)
{
    struct packet packet = {.peer = 10 + worker, .weight = weight};
    packet.message.kind = MESSAGE_EXCHANGE;
    packet.message.role = ROLE_WORKER;
    packet.message.index = worker;
    packet.message.request = ++f->request;
    packet.message.generation = f->generation;
    return packet;
}

static struct packet push_of(struct fixture *f, const struct sent *sent, struct frame *gradient)
{
    struct packet packet = request_of(f, sent->worker, 1000 + f->request);
    packet.payload = gradient;
    packet.message.exchange = exchange_of(f, sent);
    return packet;
}

/* Whatever comes of it, there is one first word about it. */
static void handle(struct fixture *f, struct packet packet)
{
    uint64_t request = packet.message.request, weight = packet.weight;
    owner_handle(f->owner, &packet, f->now_us, &f->post.outbox);
    ck_assert_ptr_null(packet.payload);
    post_count_all(&f->post); /* Takes what was sent. */
    unsigned words = 0;
    for (size_t i = 0; i < f->post.taken_count; i++) {
        struct packet *out = &f->post.taken[i].packet;
        const struct order *order = order_of(out);
        bool first = order != NULL ? out->weight == weight /* Each has its own. */
                                   : out->weight != 0 && out->message.request == request;
        uint32_t worker = order != NULL ? order->taken.worker : out->message.index;
        words += first;
        ck_assert(!first || (out->weight == weight && f->post.taken[i].to == TO_ROUTER &&
                             worker == packet.message.index));
        ck_assert(!first || order == NULL || order->kind == ORDER_TAKEN);
        if (f->post.taken[i].to == TO_ROUTER)
            ck_assert_uint_eq(order != NULL ? order->generation : out->message.generation,
                              f->generation);
    }
    ck_assert_uint_eq(words, 1);
}

static void send_frame(struct fixture *f, const struct sent *sent, struct frame *gradient)
{
    handle(f, push_of(f, sent, gradient));
}

static void send(struct fixture *f, struct sent sent)
{
    send_frame(f, &sent, frame_of(sent.value, 16));
}

static struct packet pull_of(struct fixture *f, uint32_t worker, uint32_t chunk, uint64_t version)
{
    struct packet packet = request_of(f, worker, 1000 + f->request);
    packet.message.exchange =
        (struct message_exchange){.chunk = chunk, .want = true, .want_version = version};
    return packet;
}

static void pull(struct fixture *f, uint32_t worker, uint32_t chunk, uint64_t version)
{
    handle(f, pull_of(f, worker, chunk, version));
}

/* The only answer since the last look; its payload's first element in *value. */
static struct message_result answer(struct fixture *f, float *value)
{
    ck_assert_uint_eq(post_count(&f->post, TO_ROUTER, MESSAGE_RESULT), 1);
    struct packet *packet = post_find(&f->post, TO_ROUTER, MESSAGE_RESULT);
    struct message_result result = packet->message.result;
    ck_assert_int_eq(result.parameters, packet->payload != NULL);
    if (packet->payload != NULL) {
        ck_assert_uint_eq(packet->payload->bytes, 64);
        for (int i = 0; i < 16; i++) /* A chunk is never torn. */
            ck_assert(((float *)packet->payload->data)[i] == ((float *)packet->payload->data)[0]);
        if (value != NULL)
            *value = ((float *)packet->payload->data)[0];
    }
    post_clear(&f->post);
    return result;
}

static unsigned answers(struct fixture *f)
{
    return post_count(&f->post, TO_ROUTER, MESSAGE_RESULT) +
           post_count(&f->post, TO_ROUTER, MESSAGE_MOVED_ON);
}

/* What the owner has counted, by way of a cut that cannot be taken or is taken at once. */
static struct verdict_counts counts(struct fixture *f)
{
    struct packet packet = {.message = {.kind = MESSAGE_CUT, .generation = f->generation}};
    owner_handle(f->owner, &packet, f->now_us, &f->post.outbox);
    const struct order *cut = post_order(&f->post, TO_ROUTER, ORDER_OWNER_SNAPSHOT);
    ck_assert_ptr_nonnull(cut);
    struct verdict_counts verdicts = cut->owner_snapshot.verdicts;
    post_clear(&f->post);
    return verdicts;
}

static const struct node left = {0, 2}, right = {2, 2};

/* --- sync ------------------------------------------------------------------------------------ */

TEST(every_gradient_received_has_one_verdict, MODE_SYNC)
{
    uint32_t sent = 0;
    for (uint64_t step = 0; step < 2; step++) {
        for (uint32_t i = 0; i < 7; i++, sent++) {
            send(f, (struct sent){i % 2, 0, step, 0, {i % 4, 1}, 1, i == 3});
            if (i == 1) { /* From the future, refused as made from no version. */
                send(f, (struct sent){0, 0, step + 1, 0, left, 1, false});
                sent++;
            }
        }
    }
    post_clear(&f->post);
    struct verdict_counts v = counts(f);
    ck_assert_uint_eq(v.applied + v.stale + v.duplicate + v.rejected, sent);
    ck_assert_uint_eq(v.applied, 8);
    ck_assert_uint_eq(v.rejected, 2);
}

TEST(values_given_out_are_not_written_again, MODE_SYNC)
{
    pull(f, 1, 0, 0);
    struct frame *held = frame_retain(post_find(&f->post, TO_ROUTER, MESSAGE_RESULT)->payload);
    for (uint64_t step = 0; step < 6; step++) {
        uint32_t leaves = job_batch(&f->job, step).leaves;
        send(f, (struct sent){0, 0, step, 0, tree_root(leaves), 8, true});
        post_clear(&f->post);
        ck_assert(((float *)held->data)[0] == 0.0f);
    }
    frame_release(held);
}

/* --- scores -------------------------------------------------------------------------------- */

/* Epochs of 3 batches. */
static void open_scored(struct fixture *f, enum mode mode)
{
    struct job job = small_job(mode, 2, 1);
    job.test_examples = 10;
    open_plan(f, job, NULL);
    load(f);
}

#define TEST_SCORED(name, mode)                                                                    \
    SUITE_TEST(name, struct fixture, f, open_scored(f, mode), close_fixture(f))

static void send_batch(struct fixture *f, uint32_t chunk, uint64_t batch)
{
    uint32_t leaves = job_batch(&f->job, batch).leaves;
    send(f, (struct sent){0, chunk, batch, batch, tree_root(leaves), 8, true});
}

/* The score that the router was told of; 0: none. */
static struct order_scored told(struct fixture *f)
{
    const struct order *order = post_order(&f->post, TO_ROUTER, ORDER_SCORED);
    struct order_scored scored = order != NULL ? order->scored : (struct order_scored){0};
    post_clear(&f->post);
    return scored;
}

/* What a worker is given of a chunk for the score after so many batches; NAN: it is gone. */
static float scored_value(struct fixture *f, uint32_t chunk, uint64_t batches)
{
    float value = NAN;
    struct packet packet = pull_of(f, 1, chunk, batches);
    packet.message.exchange.scored = true;
    post_clear(&f->post);
    handle(f, packet);
    const struct packet *moved = post_find(&f->post, TO_ROUTER, MESSAGE_MOVED_ON);
    if (moved != NULL) {
        ck_assert(moved->message.moved_on.scored);
        post_clear(&f->post);
        return value;
    }
    ck_assert(post_find(&f->post, TO_ROUTER, MESSAGE_RESULT)->place == TRANSPORT_PLACE_NOWHERE);
    struct message_result result = answer(f, &value);
    ck_assert(result.scored && result.parameters && result.version == batches);
    return value;
}

static void let_go(struct fixture *f, uint64_t batches)
{
    struct packet packet = order_packet(&(struct order){
        .kind = ORDER_LET_GO, .generation = f->generation, .let_go.batches = batches});
    owner_handle(f->owner, &packet, f->now_us, &f->post.outbox);
}

static void a_chunk_keeps_its_values(struct fixture *f)
{
    float values[7] = {0};
    for (uint64_t batch = 0; batch < 5; batch++)
        for (uint32_t chunk = 0; chunk < 4; chunk++) {
            send_batch(f, chunk, batch);
            struct order_scored scored = told(f);
            ck_assert_uint_eq(scored.batches, batch == 2 && chunk == 3 ? 3 : 0);
            ck_assert(!scored.lost);
            if (batch == 2)
                values[3] = scored_value(f, 0, 3);
        }
    /* Two batches later it is what it was, for whoever asks and however often. */
    ck_assert_float_eq(values[3], -(8.0f / 8 + 8.0f / 8 + 8.0f / 4));
    for (uint32_t chunk = 0; chunk < 4; chunk++)
        ck_assert_float_eq(scored_value(f, chunk, 3), scored_value(f, 0, 3));
    ck_assert(isnan(scored_value(f, 0, 6))); /* Not yet, ... */
    send_batch(f, 0, 5);
    ck_assert(isnan(scored_value(f, 0, 3))); /* ... and then no more that of before. */
    ck_assert(scored_value(f, 0, 6) < scored_value(f, 1, 3));
    let_go(f, 3);
    ck_assert(!isnan(scored_value(f, 0, 6)) && isnan(scored_value(f, 1, 3)));
    let_go(f, 6);
    ck_assert(isnan(scored_value(f, 0, 6)));
}

TEST_SCORED(a_chunk_keeps_what_it_was_after_an_epochs_batches, MODE_ASYNC)
{
    a_chunk_keeps_its_values(f);
}

TEST_SCORED(a_chunk_of_a_sync_job_does_so_too, MODE_SYNC)
{
    a_chunk_keeps_its_values(f);
}

TEST_SCORED(a_generation_forgets_what_was_kept, MODE_ASYNC)
{
    for (uint64_t batch = 0; batch < 3; batch++)
        for (uint32_t chunk = 0; chunk < 4; chunk++)
            send_batch(f, chunk, batch);
    ck_assert_uint_eq(told(f).batches, 3);
    f->generation = 1;
    load(f);
    ck_assert(isnan(scored_value(f, 0, 3)));
}

TEST_SCORED(an_owner_has_the_same_values_without_listeners, MODE_ASYNC)
{
    const uint32_t listeners = f->owner->listener_count;
    float values[2];
    ck_assert_uint_eq(listeners, 2);
    for (unsigned deaf = 0; deaf < 2; deaf++) {
        f->owner->listener_count = deaf ? 0 : listeners;
        f->generation = deaf;
        load(f);
        for (uint64_t batch = 0; batch < 3; batch++)
            for (uint32_t chunk = 0; chunk < 4; chunk++)
                send_batch(f, chunk, batch);
        ck_assert_uint_eq(told(f).batches, deaf ? 0 : 3);
        ck_assert_int_eq(isnan(scored_value(f, 0, 3)) != 0, deaf);
        handle(f, pull_of(f, 1, 0, 3));
        answer(f, &values[deaf]);
    }
    ck_assert_float_eq(values[0], values[1]);
    f->owner->listener_count = listeners;
}

static void open_kept(struct fixture *f, enum mode mode)
{
    struct job job = small_job(mode, 2, 1);
    job.test_examples = 10;
    job.keep_scored = true;
    job.steps = 9;
    open_plan(f, job, NULL);
    load(f);
}

#define TEST_KEPT(name, mode)                                                                      \
    SUITE_TEST(name, struct fixture, f, open_kept(f, mode), close_fixture(f))

TEST_KEPT(values_that_are_scored_are_handed_over_when_they_are_to_be_kept, MODE_ASYNC)
{
    for (uint64_t batch = 0; batch < 4; batch++)
        for (uint32_t chunk = 0; chunk < 4; chunk++) {
            send_batch(f, chunk, batch);
            const struct packet *state = post_find(&f->post, TO_CHECKPOINTER, MESSAGE_CHUNK_STATE);
            ck_assert_int_eq(state != NULL, batch == 2);
            if (state != NULL) {
                ck_assert_uint_eq(state->message.chunk_state.array, CHECKPOINT_SCORED);
                ck_assert_uint_eq(state->message.chunk_state.step, 3);
                ck_assert_uint_eq(state->message.chunk_state.first, 16 * chunk);
                ck_assert_float_eq(*(const float *)state->payload->data,
                                   -(8.0f / 8 + 8.0f / 8 + 8.0f / 4));
            }
            post_clear(&f->post);
        }
}

TEST_KEPT(there_is_one_copy_of_them_on_its_way_at_most, MODE_ASYNC)
{
    struct frame *held = NULL;
    for (uint64_t batch = 0; batch < 9; batch++) {
        post_clear(&f->post);
        if (batch == 6)
            frame_release(held); /* Written at last. */
        send_batch(f, 0, batch);
        const struct packet *state = post_find(&f->post, TO_CHECKPOINTER, MESSAGE_CHUNK_STATE);
        ck_assert_int_eq(state != NULL, batch == 2 || batch == 8);
        if (batch == 2)
            held = frame_retain(state->payload);
    }
}

TEST(a_gradient_that_is_not_finite_ends_the_job_naming_where, MODE_SYNC)
{
    struct frame *gradient = frame_of(1, 16);
    ((float *)gradient->data)[5] = NAN;
    struct sent sent = {1, 3, 0, 0, right, 0, false};
    send_frame(f, &sent, gradient);
    struct packet *stop = post_find(&f->post, TO_COORDINATOR, MESSAGE_STOP);
    ck_assert_ptr_nonnull(stop);
    ck_assert_uint_eq(stop->message.stop.exit_code, EXIT_TRAINING_FAILED);
    ck_assert_str_eq(stop->message.stop.reason,
                     "gradient is not finite: step 0, leaves 2 to 3, variable dense1/bias, from "
                     "worker/1");
    ck_assert(answer(f, NULL).verdict == VERDICT_REJECTED);
    pull(f, 0, 3, 0);
    ck_assert_uint_eq(answer(f, NULL).version, 0);
}

/* --- async ----------------------------------------------------------------------------------- */

/* What the owner says of staleness at a cut. */
static struct staleness staleness_at_snapshot(struct fixture *f)
{
    struct staleness_tally tally = {0};
    struct packet packet = {.message = {.kind = MESSAGE_CUT, .generation = f->generation}};
    owner_handle(f->owner, &packet, f->now_us, &f->post.outbox);
    struct packet *cut = post_order_packet(&f->post, TO_ROUTER, ORDER_OWNER_SNAPSHOT);
    ck_assert_ptr_nonnull(cut);
    ck_assert_ptr_nonnull(cut->payload);
    ck_assert(staleness_tally_read(&tally, cut->payload) == STATUS_OK);
    struct staleness all = tally.all;
    staleness_tally_free(&tally);
    post_clear(&f->post);
    return all;
}

/* Each chunk for itself: the maximum over a gradient's chunks would count these as 1 and 2. */
TEST(staleness_is_counted_for_every_gradient_and_chunk, MODE_ASYNC)
{
    send(f, (struct sent){0, 0, 0, 0, left, 1, true}); /* Chunk 0 first of worker 0, ... */
    send(f, (struct sent){1, 0, 1, 0, left, 1, true});
    send(f, (struct sent){1, 1, 1, 0, left, 1, true}); /* ... chunk 1 first of worker 1. */
    send(f, (struct sent){0, 1, 0, 0, left, 1, true});
    send(f, (struct sent){0, 0, 2, 1, left, 1, true});
    struct staleness all = staleness_at_snapshot(f);
    ck_assert_uint_eq(all.shape.count, 5);
    ck_assert_uint_eq(all.shape.sum, 3);
    ck_assert_uint_eq(all.shape.buckets[1], 3);
    ck_assert_uint_eq(all.expected, 3);
    ck_assert_uint_eq(all.renewed, 0);
}

TEST(a_batch_that_is_left_out_is_counted_among_the_stale, MODE_ASYNC)
{
    send(f, (struct sent){0, 0, 0, 0, left, 1, true});
    send(f, (struct sent){1, 0, 1, 0, left, NAN, true});
    struct staleness all = staleness_at_snapshot(f);
    ck_assert_uint_eq(all.shape.count, 2);
    ck_assert_uint_eq(all.shape.sum, 1);
    ck_assert_uint_eq(all.expected, 1);
}

TEST(what_is_refused_or_had_before_is_not_counted_among_the_stale, MODE_ASYNC)
{
    send(f, (struct sent){0, 0, 0, 0, left, 1, true});
    send(f, (struct sent){1, 0, 0, 0, left, 1, true});
    ck_assert_uint_eq(staleness_at_snapshot(f).shape.count, 1);
}

TEST(a_generation_begins_its_figures_anew, MODE_ASYNC)
{
    for (uint64_t batch = 0; batch < 3; batch++)
        send(f, (struct sent){batch % 2, 0, batch, 0, left, 1, true});
    ck_assert_uint_eq(staleness_at_snapshot(f).shape.count, 3);
    f->generation++;
    load(f);
    struct staleness all = staleness_at_snapshot(f);
    ck_assert_uint_eq(all.shape.count, 0);
    ck_assert_uint_eq(all.expected, 0);
}

TEST(figures_are_told_twice_a_second_while_it_trains, MODE_ASYNC)
{
    unsigned told = 0;
    for (uint64_t batch = 0; batch < 5; batch++) {
        f->now_us += 300000;
        send(f, (struct sent){0, 0, batch, batch, left, 1, true});
        told += post_count_orders(&f->post, TO_ROUTER, ORDER_FIGURES);
        post_clear(&f->post);
    }
    ck_assert_uint_eq(told, 2);
}

TEST(in_sync_nothing_is_said_of_staleness, MODE_SYNC)
{
    struct packet packet = {.message = {.kind = MESSAGE_CUT, .generation = f->generation}};
    owner_handle(f->owner, &packet, f->now_us, &f->post.outbox);
    ck_assert_ptr_null(post_order_packet(&f->post, TO_ROUTER, ORDER_OWNER_SNAPSHOT)->payload);
}

TEST_PLAIN(a_batch_beyond_the_window_is_rejected_and_not_taken)
{
    struct fixture f;
    float value = 0;
    struct job job = small_job(MODE_ASYNC, 2, 1);
    job.steps = BATCH_SET_WINDOW + 10;
    open_plan(&f, job, NULL);
    load(&f);
    for (int skip = 0; skip < 2; skip++) {
        struct sent sent = {.step = BATCH_SET_WINDOW, .value = 8, .want = true};
        struct packet packet = push_of(&f, &sent, skip ? NULL : frame_of(8, 16));
        packet.message.exchange.skip = skip;
        handle(&f, packet);
        struct message_result result = answer(&f, &value);
        ck_assert(result.verdict == VERDICT_REJECTED);
        ck_assert_uint_eq(result.version, 0);
        ck_assert(value == 0.0f);
    }
    ck_assert_uint_eq(counts(&f).rejected, 2);
    close_fixture(&f);
}

/* With the worker's word for it, or found out here: in the last chunk of its variable. */
TEST_EACH(an_async_batch_whose_gradient_is_not_finite_counts_and_changes_nothing, 2, MODE_ASYNC)
{
    const int told = _i;
    float value = 0;
    send(f, (struct sent){0, 2, 0, 0, left, 8, true});
    answer(f, &value);
    struct frame *gradient = frame_of(1, 16);
    ((float *)gradient->data)[15] = INFINITY;
    struct sent sent = {1, 2, 1, 0, left, 0, true};
    struct packet packet = push_of(f, &sent, gradient);
    if (told) {
        frame_release(gradient);
        packet.payload = NULL;
        packet.message.exchange.gradient = false;
        packet.message.exchange.skip = true;
    }
    handle(f, packet);
    ck_assert_ptr_null(post_find(&f->post, TO_COORDINATOR, MESSAGE_STOP));
    ck_assert((post_log(&f->post, "gradient is not finite: step 1, leaves 0 to 3, variable "
                                  "dense1/kernel, from worker/1") != NULL) == !told);
    struct message_result result = answer(f, &value);
    ck_assert(result.verdict == VERDICT_REJECTED);
    ck_assert_uint_eq(result.version, 2); /* So that a cut is still where version == step. */
    ck_assert(value == -1.0f);
    send(f, sent); /* The batch is taken. */
    ck_assert(answer(f, &value).verdict == VERDICT_DUPLICATE);
    send(f, (struct sent){0, 2, 2, 2, left, 8, true});
    ck_assert_uint_eq(answer(f, &value).version, 3);
    ck_assert(value == -3.0f);
    struct verdict_counts v = counts(f);
    ck_assert_uint_eq(v.applied, 2);
    ck_assert_uint_eq(v.rejected, 1);
    ck_assert_uint_eq(v.duplicate, 1);
}

/* With what it scored, as server 0's first chunk is sent it. */
static void send_reported(struct fixture *f, struct sent sent)
{
    struct packet packet = push_of(f, &sent, frame_of(sent.value, 16));
    packet.message.exchange.has_report = true;
    packet.message.exchange.report =
        (struct message_report){.step = sent.step, .loss = 7, .correct = 1, .examples = 8};
    handle(f, packet);
}

/* The one that the coordinator was passed: whether its batch counts, and with what. */
static void expect_report(struct fixture *f, bool refused, int64_t loss)
{
    ck_assert_uint_eq(post_count(&f->post, TO_COORDINATOR, MESSAGE_REPORT), 1);
    const struct message *message = &post_find(&f->post, TO_COORDINATOR, MESSAGE_REPORT)->message;
    ck_assert_uint_eq(message->generation, f->generation);
    ck_assert_uint_eq(message->report.step, 2);
    ck_assert_int_eq(message->report.refused, refused);
    ck_assert_int_eq(message->report.loss, loss);
    ck_assert_uint_eq(message->report.examples, loss != 0 ? 8 : 0);
}

/* Two of worker 0's meet worker 1's, which is then two versions old, in a job that takes one. */
static void be_too_stale(struct fixture *f, bool loses)
{
    struct job job = small_job(MODE_ASYNC, 2, 1);
    job.max_staleness = 1;
    job.staleness_loses = loses;
    open_plan(f, job, NULL);
    load(f);
    for (uint64_t batch = 0; batch < 2; batch++)
        send(f, (struct sent){.step = batch, .base = batch, .value = 4, .want = true});
    post_clear(&f->post);
    send_reported(f, (struct sent){.worker = 1, .step = 2, .base = 0, .value = 4, .want = true});
}

TEST_PLAIN(a_gradient_that_is_too_stale_is_refused_and_taken_when_it_is_computed_again)
{
    struct fixture f;
    float value, before;
    be_too_stale(&f, false);
    expect_report(&f, true, 0);
    struct message_result result = answer(&f, &before);
    ck_assert_int_eq(result.verdict, VERDICT_STALE);
    ck_assert_uint_eq(result.version, 2); /* The newest values, to compute it from. */
    send_reported(&f, (struct sent){.worker = 1, .step = 2, .base = 1, .value = 4, .want = true});
    expect_report(&f, false, 7);
    result = answer(&f, &value);
    ck_assert_int_eq(result.verdict, VERDICT_APPLIED);
    ck_assert_uint_eq(result.version, 3);
    ck_assert(value != before);
    struct verdict_counts seen = counts(&f);
    ck_assert_uint_eq(seen.stale, 1);
    ck_assert_uint_eq(seen.applied, 3);
    close_fixture(&f);
}

TEST_PLAIN(or_it_is_lost_and_its_batch_counts_without_it)
{
    struct fixture f;
    float value;
    be_too_stale(&f, true);
    expect_report(&f, false, 0);
    struct message_result result = answer(&f, &value);
    ck_assert_int_eq(result.verdict, VERDICT_STALE);
    ck_assert_uint_eq(result.version, 3);
    send_reported(&f, (struct sent){.worker = 1, .step = 2, .base = 3, .value = 4, .want = true});
    expect_report(&f, true, 0);
    ck_assert_int_eq(answer(&f, NULL).verdict, VERDICT_DUPLICATE);
    struct verdict_counts seen = counts(&f);
    ck_assert_uint_eq(seen.stale, 1);
    ck_assert_uint_eq(seen.applied, 2);
    close_fixture(&f);
}

TEST(an_async_payload_in_flight_is_not_written, MODE_ASYNC)
{
    float value = 0;
    struct frame *held[6];
    for (uint64_t batch = 0; batch < 6; batch++) {
        send(f, (struct sent){0, 0, batch, batch, left, 8, true});
        held[batch] = frame_retain(post_find(&f->post, TO_ROUTER, MESSAGE_RESULT)->payload);
        answer(f, &value);
    }
    float expected = 0;
    for (uint64_t batch = 0; batch < 6; batch++) {
        expected -= 8.0f / (float)job_batch(&f->job, batch).examples;
        ck_assert(((float *)held[batch]->data)[3] == expected);
        frame_release(held[batch]);
    }
}

/* --- cutting and loading ---------------------------------------------------------------------- */

static void cut(struct fixture *f, uint64_t step)
{
    struct packet packet = {.message = {.kind = MESSAGE_CUT, .generation = f->generation}};
    packet.message.cut.step = step;
    owner_handle(f->owner, &packet, f->now_us, &f->post.outbox);
}

TEST_PLAIN(a_cut_is_every_chunk_as_of_its_step_though_training_runs_on)
{
    struct fixture f;
    struct job job = small_job(MODE_SYNC, 2, 1);
    job.optimizer = optimizer_find("momentum")->defaults;
    strcpy(job.optimizer.name, "momentum");
    open_plan(&f, job, NULL);
    load(&f);
    cut(&f, 1);
    ck_assert_uint_eq(post_count_all(&f.post), 0);
    /* Chunk 0 makes two steps before chunk 3 has made its first. */
    send(&f, (struct sent){0, 0, 0, 0, tree_root(4), 8, false});
    send(&f, (struct sent){0, 0, 1, 0, tree_root(4), 8, false});
    for (uint32_t chunk = 1; chunk < 4; chunk++) {
        ck_assert_uint_eq(post_count_orders(&f.post, TO_ROUTER, ORDER_OWNER_SNAPSHOT), 0);
        send(&f, (struct sent){0, chunk, 0, 0, tree_root(4), 8, false});
    }
    ck_assert_uint_eq(post_count(&f.post, TO_CHECKPOINTER, MESSAGE_CHUNK_STATE), 8);
    bool taken = post_order(&f.post, TO_ROUTER, ORDER_OWNER_SNAPSHOT)->owner_snapshot.taken;
    ck_assert(taken);
    for (size_t i = 0; i < f.post.taken_count; i++) {
        struct packet *packet = &f.post.taken[i].packet;
        if (packet->message.kind != MESSAGE_CHUNK_STATE)
            continue;
        ck_assert_uint_eq(packet->message.chunk_state.step, 1);
        ck_assert_uint_eq(packet->message.chunk_state.count, 16);
        ck_assert(((float *)packet->payload->data)[0] == -1.0f); /* Values and accumulator. */
    }
    close_fixture(&f);
}

/* How many arrays of the cut lie where the chunks have theirs. */
static uint32_t count_lent(struct fixture *f)
{
    uint32_t count = 0;
    for (size_t i = 0; i < f->post.taken_count; i++) {
        const struct packet *packet = &f->post.taken[i].packet;
        if (packet->message.kind != MESSAGE_CHUNK_STATE)
            continue;
        for (uint32_t c = 0; c < f->owner->owned_count; c++)
            for (uint32_t array = 0; array < 2; array++)
                count +=
                    packet->payload->data == chunk_array(&f->owner->owned[c].shard.chunk, array);
    }
    return count;
}

/* Steps of the job: 2, with values and an accumulator in each of 4 chunks. */
TEST_PLAIN(behind_the_last_step_nothing_is_copied_and_the_cut_stays_as_it_was)
{
    struct job job = small_job(MODE_SYNC, 2, 1);
    job.optimizer = optimizer_find("momentum")->defaults;
    strcpy(job.optimizer.name, "momentum");
    job.steps = 2;
    struct fixture f;
    open_plan(&f, job, NULL);
    load(&f);
    for (uint64_t step = 0; step < 2; step++) {
        for (uint32_t chunk = 0; chunk < 4; chunk++)
            send(&f, (struct sent){0, chunk, step, 0, tree_root(4), 8, false});
        post_clear(&f.post);
        cut(&f, step + 1);
        ck_assert_uint_eq(post_count(&f.post, TO_CHECKPOINTER, MESSAGE_CHUNK_STATE), 8);
        ck_assert_uint_eq(count_lent(&f), step == 0 ? 4 : 8); /* Values, and slots with them. */
    }
    order_load(&f, (struct order_load){.plan = f.plan}); /* A server was lost: all begin anew. */
    ck_assert_uint_eq(count_lent(&f), 0);
    for (size_t i = 0; i < f.post.taken_count; i++) {
        const struct packet *packet = &f.post.taken[i].packet;
        if (packet->message.kind == MESSAGE_CHUNK_STATE)
            ck_assert(((const float *)packet->payload->data)[0] != 0.0f);
    }
    close_fixture(&f);
}

TEST_PLAIN(what_was_cut_loads_and_goes_on_with_the_same_bits)
{
    struct fixture a, b;
    struct job job = small_job(MODE_SYNC, 2, 1);
    job.optimizer = optimizer_find("adam")->defaults;
    strcpy(job.optimizer.name, "adam");
    struct job copy;
    ck_assert(job_copy(&copy, &job) == STATUS_OK);
    open_plan(&a, job, NULL);
    load(&a);
    for (uint64_t step = 0; step < 2; step++)
        for (uint32_t chunk = 0; chunk < 4; chunk++)
            send(&a, (struct sent){0, chunk, step, 0, tree_root(4), 3.7f + (float)chunk, false});
    post_clear(&a.post);
    cut(&a, 2);

    open_plan(&b, copy, NULL);
    order_load(&b, (struct order_load){.plan = b.plan, .restore = true, .step = 2});
    ck_assert_uint_eq(post_count_all(&b.post), 0);
    ck_assert_uint_eq(post_count(&a.post, TO_CHECKPOINTER, MESSAGE_CHUNK_STATE), 12);
    for (int twice = 0; twice < 2; twice++) { /* Repeated states change nothing. */
        for (size_t i = 0; i < a.post.taken_count; i++) {
            if (a.post.taken[i].packet.message.kind != MESSAGE_CHUNK_STATE)
                continue;
            struct packet state = a.post.taken[i].packet;
            frame_retain(state.payload);
            owner_handle(b.owner, &state, b.now_us, &b.post.outbox);
        }
    }
    ck_assert_uint_eq(post_count_orders(&b.post, TO_ROUTER, ORDER_LOADED), 1);
    post_clear(&a.post);
    post_clear(&b.post);
    for (uint32_t chunk = 0; chunk < 4; chunk++) {
        send(&a, (struct sent){0, chunk, 2, 0, tree_root(2), 1.3f, true});
        send(&b, (struct sent){0, chunk, 2, 0, tree_root(2), 1.3f, true});
        float ours, theirs;
        ck_assert_uint_eq(answer(&a, &ours).version, 3);
        ck_assert_uint_eq(answer(&b, &theirs).version, 3);
        ck_assert(memcmp(&ours, &theirs, sizeof ours) == 0);
        ck_assert(ours != 0.0f);
    }
    close_fixture(&a);
    close_fixture(&b);
}

TEST_PLAIN(an_owner_without_chunks_says_at_once_that_it_is_done)
{
    struct job job = small_job(MODE_SYNC, 1, 2);
    struct plan *plan;
    struct error error;
    ck_assert(plan_create(&plan, &job, 1, 1, &error) == STATUS_OK);
    struct owner *idle; /* More owners than chunks: the last has nothing and says so at once. */
    struct post post = {0};
    const struct owner_options options = {
        .plan = plan, .index = 2, .count = 3, .listeners = extensions};
    ck_assert(owner_create(&idle, &options) == STATUS_OK);
    struct packet packet = order_packet(&(struct order){.kind = ORDER_LOAD});
    owner_handle(idle, &packet, 0, &post.outbox);
    ck_assert_uint_eq(post_count_orders(&post, TO_ROUTER, ORDER_LOADED), 1);
    packet = (struct packet){.message.kind = MESSAGE_CUT};
    owner_handle(idle, &packet, 0, &post.outbox);
    ck_assert_uint_eq(post_count_orders(&post, TO_ROUTER, ORDER_OWNER_SNAPSHOT), 1);
    owner_destroy(&idle);
    post_free(&post);
    plan_destroy(&plan);
    job_free(&job);
}

/* --- asking again ----------------------------------------------------------------------------- */

/* The same of all that step 0 needs, with what the worker's replica comes to at that version. */
static bool retry_ends(struct fixture *f, uint32_t chunk, uint64_t replica)
{
    struct packet packet = request_of(f, 1, 7000 + f->request);
    packet.message.exchange = (struct message_exchange){.chunk = chunk,
                                                        .gradient = true,
                                                        .retry = true,
                                                        .node = right,
                                                        .want = true,
                                                        .want_version = 1,
                                                        .sum = true,
                                                        .replica = replica};
    handle(f, packet);
    struct packet *stop = post_find(&f->post, TO_COORDINATOR, MESSAGE_STOP);
    bool ends = stop != NULL;
    if (ends) {
        ck_assert_ptr_nonnull(strstr(stop->message.stop.reason, "worker/1 has another model"));
        ck_assert_ptr_nonnull(
            strstr(stop->message.stop.reason, ": dense1/kernel to dense1/kernel"));
        ck_assert_uint_eq(answers(f), 0);
    }
    post_clear(&f->post);
    return ends;
}

/* The exchange itself was lost on its way, and others have sent its gradients meanwhile: what the
 * replica comes to is in the retry, and nowhere else. */
TEST(a_retry_of_a_replica_that_is_another_is_the_end_as_well, MODE_ALLREDUCE)
{
    const float zeros[16] = {0};
    uint64_t same = replica_hash(zeros, NULL, 0, 16);
    ck_assert_uint_ne(same, 0);
    ck_assert(!retry_ends(f, 2, same)); /* Whether its gradient is here does not matter. */
    ((float *)f->owner->owned[2].shard.chunk.values->data)[0] =
        1; /* It is hashed once a version. */
    ck_assert(retry_ends(f, 0, same + 1) && retry_ends(f, 2, same + 1));
    send(f, (struct sent){.chunk = 2, .node = right, .value = 8});
    post_clear(&f->post);
    ck_assert(!retry_ends(f, 2, same));
    ck_assert(retry_ends(f, 2, same + 1));
    ck_assert(!retry_ends(f, 2, 0)); /* Nothing to compare. */
    send(f, (struct sent){.chunk = 2, .node = left, .value = 8});
    post_clear(&f->post);
    ck_assert(!retry_ends(f, 2, same + 1)); /* The chunk is not at that version any more. */
}

/* --- generations ------------------------------------------------------------------------------ */

/* Go back, to the beginning or to version 2 with 100 everywhere. */
static void go_back(struct fixture *f, bool restore)
{
    post_clear(&f->post);
    f->generation++;
    order(f, restore);
    for (uint64_t i = 0; restore && i < 4; i++) {
        ck_assert_uint_eq(post_count_all(&f->post), 0);
        struct packet state = {
            .message = {.kind = MESSAGE_CHUNK_STATE, .generation = f->generation},
            .payload = frame_of(100, 16)};
        state.message.chunk_state =
            (struct message_chunk_state){.step = 2, .first = 16 * i, .count = 16};
        owner_handle(f->owner, &state, f->now_us, &f->post.outbox);
    }
}

/* Adam in groups of 4 and epochs of 10 batches, on 64 elements in chunks of this size. */
static struct job job_of_groups(uint32_t servers, uint64_t chunk_bytes)
{
    struct job job = small_job(MODE_ASYNC, 2, servers);
    job.optimizer = optimizer_find("adam")->defaults;
    job.schedule.learning_rate = 0.25;
    job.accumulate = 4;
    job.examples = 10 * job.batch;
    job.steps = 10;
    job.chunk_bytes = chunk_bytes;
    return job;
}

/* A batch for all chunks of a server. space: the values answered with; the version that they have. */
static uint64_t give_batch(struct fixture *f, uint64_t batch, uint64_t base, float space[64])
{
    uint64_t version = 0;
    for (uint32_t index = 0; index < f->plan->partition.chunk_count; index++) {
        const struct chunk_range *range = &f->plan->partition.chunks[index];
        if (range->server != f->plan->server)
            continue;
        struct sent sent = {.chunk = index, .step = batch, .base = base, .want = true};
        struct frame *gradient = frame_of(0, range->count);
        for (uint64_t i = 0; i < range->count; i++)
            ((float *)gradient->data)[i] = (float)((range->first + i) % 7 + batch * batch);
        post_clear(&f->post);
        send_frame(f, &sent, gradient);
        struct packet *packet = post_find(&f->post, TO_ROUTER, MESSAGE_RESULT);
        ck_assert_ptr_nonnull(packet);
        ck_assert_int_eq(packet->message.result.verdict, VERDICT_APPLIED);
        ck_assert_uint_eq(packet->payload->bytes, range->count * sizeof(float));
        memcpy(space + range->first, packet->payload->data, packet->payload->bytes);
        version = packet->message.result.version;
    }
    return version;
}

static void keep_event(void *context, const struct event *event)
{
    ((struct event *)context)[event->kind] = *event;
}

/* said[EVENT_KIND_COUNT]: the last of each kind. */
static void listen(struct fixture *f, struct event *said)
{
    static struct listener listener = {.kinds = UINT64_MAX, .take = keep_event};
    listener.context = memset(said, 0, EVENT_KIND_COUNT * sizeof *said);
    f->post.outbox.listener = &listener;
}

TEST(what_becomes_of_a_gradient_is_an_event, MODE_SYNC)
{
    struct event said[EVENT_KIND_COUNT];
    listen(f, said);
    load(f);
    ck_assert_int_eq(said[EVENT_LOADED].kind, EVENT_LOADED);
    cut(f, 1);
    for (int times = 0; times < 2; times++)
        send(f, (struct sent){.worker = 1, .chunk = 2, .node = left, .want = true});
    ck_assert_uint_eq(said[EVENT_TAKEN].chunk, 2);
    ck_assert_uint_eq(said[EVENT_TAKEN].index, 1);
    ck_assert_uint_eq(said[EVENT_HELD].version, 1);
    ck_assert_int_eq(said[EVENT_REFUSED].verdict, VERDICT_DUPLICATE);
    send(f, (struct sent){.chunk = 2, .node = right});
    ck_assert_uint_eq(said[EVENT_CUT].step, 1);
}

/* The last group of an epoch has 2 batches. In the second one batch is made from the version before. */
TEST_PLAIN(an_update_says_what_its_group_had)
{
    struct fixture f[1];
    struct event said[EVENT_KIND_COUNT];
    float space[64];
    open_plan(f, job_of_groups(1, 256), NULL);
    listen(f, said);
    load(f);
    for (uint64_t batch = 0; batch < 10; batch++) {
        give_batch(f, batch, batch == 6 ? 0 : batch / 4, space);
        uint64_t updates = batch == 9 ? 3 : (batch + 1) / 4;
        const struct event *updated = &said[EVENT_UPDATED];
        ck_assert_uint_eq(updated->version, updates);
        ck_assert_uint_eq(updated->members, updates == 0 ? 0 : updates == 3 ? 2 : 4);
        ck_assert_uint_eq(updated->examples, 8 * updated->members);
        ck_assert_uint_eq(updated->staleness, updates == 2);
        ck_assert_uint_eq(said[EVENT_ADDED].members, batch == 9       ? 1
                                                     : batch % 4 == 3 ? 3
                                                                      : batch % 4 + 1);
        ck_assert_uint_eq(said[EVENT_ADDED].examples, 8);
    }
    close_fixture(f);
}

TEST_PLAIN(a_batch_that_is_left_out_is_an_event_and_so_is_its_group_that_a_cut_closes)
{
    struct fixture f[1];
    struct event said[EVENT_KIND_COUNT];
    open_plan(f, job_of_groups(1, 256), NULL);
    listen(f, said);
    load(f);
    said[EVENT_ADDED].examples = 1;
    struct packet packet = request_of(f, 0, 1);
    packet.message.exchange = (struct message_exchange){.gradient = true, .skip = true};
    handle(f, packet);
    ck_assert_uint_eq(said[EVENT_ADDED].members, 1);
    ck_assert_uint_eq(said[EVENT_ADDED].examples, 0);
    cut(f, 1);
    ck_assert_uint_eq(said[EVENT_SKIPPED].members, 1);
    close_fixture(f);
}

/* What a cut hands over of the whole space: values and both of Adam's slots. */
static uint64_t take_snapshot(struct fixture *f, uint64_t step, float arrays[3][64])
{
    uint64_t version = 0;
    unsigned states = 0;
    post_clear(&f->post);
    cut(f, step);
    post_count_all(&f->post);
    for (size_t i = 0; i < f->post.taken_count; i++) {
        const struct packet *packet = &f->post.taken[i].packet;
        const struct message_chunk_state *state = &packet->message.chunk_state;
        if (packet->message.kind != MESSAGE_CHUNK_STATE)
            continue;
        ck_assert_uint_eq(state->step, step);
        memcpy(arrays[state->array] + state->first, packet->payload->data, packet->payload->bytes);
        version = state->version;
        states++;
    }
    ck_assert_uint_eq(states, 3 * 4);
    return version;
}

static void load_snapshot(struct fixture *f, uint64_t step, uint64_t version, float arrays[3][64])
{
    order_load(f, (struct order_load){.plan = f->plan, .restore = true, .step = step});
    for (uint32_t index = 0; index < f->plan->partition.chunk_count; index++) {
        const struct chunk_range *range = &f->plan->partition.chunks[index];
        for (uint32_t array = 0; array < 3 && range->server == f->plan->server; array++) {
            struct packet state = {.message.kind = MESSAGE_CHUNK_STATE,
                                   .payload = frame_of(0, range->count)};
            memcpy(state.payload->data, arrays[array] + range->first, state.payload->bytes);
            state.message.chunk_state = (struct message_chunk_state){.step = step,
                                                                     .version = version,
                                                                     .first = range->first,
                                                                     .count = range->count,
                                                                     .array = array};
            owner_handle(f->owner, &state, f->now_us, &f->post.outbox);
            frame_release(state.payload);
        }
    }
    loaded(f);
}

/* One server of four chunks is cut after 2 batches of a group; it goes on, and beside it two servers of
 * a chunk each, which were given what it had: all that was held is in that, once. */
TEST_PLAIN(a_cut_of_an_open_group_is_gone_on_with_in_the_same_bits_by_other_servers)
{
    struct fixture one, two[2];
    float arrays[3][64], alone[64], shared[64];
    open_plan(&one, job_of_groups(1, 64), NULL);
    load(&one);
    for (uint64_t batch = 0; batch < 2; batch++)
        ck_assert_uint_eq(give_batch(&one, batch, 0, alone), 0);
    uint64_t version = take_snapshot(&one, 2, arrays);
    ck_assert_uint_eq(version, 1);
    for (uint32_t server = 0; server < 2; server++) {
        open_server(&two[server], job_of_groups(2, 128), server, NULL);
        ck_assert_uint_eq(two[server].plan->partition.chunk_count, 2);
        load_snapshot(&two[server], 2, version, arrays);
    }
    for (uint64_t batch = 2; batch < 10; batch++) {
        uint64_t made = give_batch(&one, batch, version, alone);
        ck_assert_uint_eq(made, version + (batch == 5 || batch == 9)); /* Groups of 4 again. */
        for (uint32_t server = 0; server < 2; server++)
            ck_assert_uint_eq(give_batch(&two[server], batch, version, shared), made);
        ck_assert(memcmp(alone, shared, sizeof alone) == 0);
        version = made;
    }
    close_fixture(&one);
    close_fixture(&two[0]);
    close_fixture(&two[1]);
}

TEST_EACH(a_new_generation_knows_nothing_of_the_one_before, 2, MODE_SYNC)
{
    const int restore = _i;
    float value = 0, base = restore ? 100 : 0;
    uint64_t first = restore ? 2 : 0;
    send(f, (struct sent){0, 0, 0, 0, tree_root(4), 8, false}); /* Keeps its previous. */
    cut(f, 2);
    send(f, (struct sent){0, 0, 1, 0, left, 8, true}); /* Held, and somebody waits. */
    pull(f, 5, 0, 2);
    pull(f, 6, 0, 3);
    go_back(f, restore);
    loaded(f);
    for (uint32_t c = 0; c < 4; c++) {
        pull(f, 1, c, first);
        ck_assert_uint_eq(answer(f, &value).version, first);
        ck_assert(value == base);
    }
    /* Both halves are needed again, and nobody else is answered. */
    uint32_t leaves = job_batch(&f->job, first).leaves;
    struct node one, other;
    tree_children(tree_root(leaves), &one, &other);
    send(f, (struct sent){0, 0, first, 0, one, 4, false});
    ck_assert(answer(f, NULL).verdict == VERDICT_APPLIED);
    send(f, (struct sent){0, 0, first, 0, other, 4, true});
    ck_assert_uint_eq(answer(f, &value).version, first + 1);
    ck_assert(value == base - (restore ? 2.0f : 1.0f));
    if (!restore) { /* The cut that was named before is not made. */
        send(f, (struct sent){0, 0, 1, 0, tree_root(4), 8, false});
        ck_assert_uint_eq(post_count_all(&f->post), 1);
    }
    struct verdict_counts v = counts(f);
    ck_assert_uint_eq(v.applied, restore ? 2 : 3);
    ck_assert_uint_eq(v.stale + v.duplicate + v.rejected, 0);
}

TEST(going_back_changes_nothing_that_was_given_out, MODE_SYNC)
{
    struct frame *held[12]; /* Of each generation what it starts from, and what comes of that. */
    for (int i = 0; i < 12; i++) {
        uint64_t first = f->generation % 2 * 2;
        pull(f, 0, 0, first + (uint64_t)i % 2);
        held[i] = frame_retain(post_find(&f->post, TO_ROUTER, MESSAGE_RESULT)->payload);
        if (i % 2 == 0) {
            struct node root = tree_root(job_batch(&f->job, first).leaves);
            send(f, (struct sent){0, 0, first, 0, root, 4, false});
            post_clear(&f->post);
        } else {
            go_back(f, first == 0);
            loaded(f);
        }
    }
    const float expected[] = {0, -0.5f, 100, 99};
    for (int i = 0; i < 12; i++) {
        for (int e = 0; e < 16; e++)
            ck_assert(((float *)held[i]->data)[e] == expected[i % 4]);
        frame_release(held[i]);
    }
}

/* --- values that workers on this host read where they are written -------------------------- */

struct window {
    float values[2][64];
};

static struct frame *lend(void *context, uint64_t place, uint64_t bytes)
{
    struct window *window = context;
    return frame_wrap((char *)window->values + place, bytes, false, NULL, NULL);
}

/* The values of the only answer, not given back: whoever reads by reference holds nothing. */
static const float *where(struct fixture *f, uint64_t version)
{
    struct packet *packet = post_find(&f->post, TO_ROUTER, MESSAGE_RESULT);
    ck_assert_ptr_nonnull(packet);
    ck_assert_ptr_nonnull(packet->payload);
    ck_assert_uint_eq(packet->message.result.version, version);
    const float *values = packet->payload->data;
    post_clear(&f->post);
    return values;
}

/* Two workers, two halves of each step; worker 1 reads version t until it pushes its half of step
 * t, and before that nothing that the other one may do changes what it reads. */
TEST_PLAIN(values_that_a_worker_reads_stay_until_it_has_pushed)
{
    struct fixture f;
    struct window window = {0};
    struct chunk_memory memory = {lend, &window};
    open_plan(&f, small_job(MODE_SYNC, 2, 1), &memory);
    load(&f);
    const float *reading[4];
    float expected = 0;
    for (uint32_t c = 0; c < 4; c++) {
        pull(&f, 1, c, 0);
        reading[c] = where(&f, 0);
    }
    for (uint64_t step = 0; step < 5; step++) {
        uint32_t leaves = job_batch(&f.job, step).leaves;
        struct node first_half, second_half;
        tree_children(tree_root(leaves), &first_half, &second_half);
        for (uint32_t c = 0; c < 4; c++) { /* The other one is as far as it can get, twice. */
            for (int again = 0; again < 2; again++)
                send(&f, (struct sent){0, c, step, step, first_half, 4, true});
            pull(&f, 0, c, step);
            pull(&f, 0, c, step + 1);
            for (int i = 0; i < 16; i++)
                ck_assert(reading[c][i] == expected);
        }
        post_clear(&f.post);
        float next = 0;
        for (uint32_t c = 0; c < 4; c++) {
            for (uint32_t other = c; other < 4; other++) /* Not pushed yet, so still read. */
                ck_assert(reading[other][0] == expected && reading[other][15] == expected);
            send(&f, (struct sent){1, c, step, step, second_half, 4, true});
            struct packet *packet = NULL; /* Its own answer, among those to the other one. */
            post_find(&f.post, TO_ROUTER, MESSAGE_RESULT);
            for (size_t i = 0; i < f.post.taken_count; i++)
                if (f.post.taken[i].packet.peer == 11)
                    packet = &f.post.taken[i].packet;
            ck_assert_ptr_nonnull(packet);
            ck_assert_uint_eq(packet->message.result.version, step + 1);
            reading[c] = packet->payload->data;
            next = reading[c][0];
            ck_assert_ptr_eq(reading[c], &window.values[(step + 1) % 2][16 * c]);
            post_clear(&f.post);
        }
        ck_assert(next < expected);
        expected = next;
    }
    close_fixture(&f);
}

TEST_PLAIN(a_cut_and_a_slow_connection_keep_their_values_though_memory_is_shared)
{
    struct fixture f;
    struct window window = {0};
    struct chunk_memory memory = {lend, &window};
    open_plan(&f, small_job(MODE_SYNC, 1, 1), &memory);
    load(&f);
    struct packet cut = {.message.kind = MESSAGE_CUT};
    cut.message.cut.step = 1;
    owner_handle(f.owner, &cut, f.now_us, &f.post.outbox);
    struct frame *sent_values[6], *kept = NULL;
    for (uint64_t step = 0; step < 6; step++) {
        struct node root = tree_root(job_batch(&f.job, step).leaves);
        post_clear(&f.post);
        send(&f, (struct sent){0, 2, step, step, root, 4, true});
        struct packet *state = post_find(&f.post, TO_CHECKPOINTER, MESSAGE_CHUNK_STATE);
        if (state != NULL) {
            ck_assert_uint_eq(state->message.chunk_state.step, 1);
            kept = frame_retain(state->payload);
        }
        struct packet *result = post_find(&f.post, TO_ROUTER, MESSAGE_RESULT);
        sent_values[step] = frame_retain(result->payload);
    }
    ck_assert_ptr_nonnull(kept);
    ck_assert_ptr_eq(kept, sent_values[0]);
    float before = 0;
    for (int step = 0; step < 6; step++) {
        float value = *(float *)sent_values[step]->data;
        ck_assert(value < before); /* Each is still what it was. */
        before = value;
        for (int other = 0; other < step; other++)
            ck_assert_ptr_ne(sent_values[step]->data, sent_values[other]->data);
    }
    for (int step = 0; step < 6; step++)
        frame_release(sent_values[step]);
    frame_release(kept);
    close_fixture(&f);
}

/* A worker may still be computing from what it was given in the generation before. Nothing of what
 * it looks at is written before it has pushed in the new one. */
TEST_PLAIN(values_of_the_generation_before_stay_until_their_readers_have_come_along)
{
    for (int restore = 0; restore < 2; restore++) {
        struct fixture f;
        struct window window = {0};
        struct chunk_memory memory = {lend, &window};
        open_plan(&f, small_job(MODE_SYNC, 2, 1), &memory);
        load(&f);
        float before[2][64];
        uint64_t first = restore ? 2 : 0;
        send(&f, (struct sent){0, 0, 0, 0, tree_root(4), 8, false});
        send(&f, (struct sent){0, 0, 1, 0, left, 8, true});
        memcpy(before, window.values, sizeof before);
        go_back(&f, restore);
        loaded(&f);
        uint32_t leaves = job_batch(&f.job, first).leaves;
        struct node one, other;
        tree_children(tree_root(leaves), &one, &other);
        for (uint32_t c = 0; c < 4; c++) {
            pull(&f, 0, c, first);
            const float *values = where(&f, first);
            ck_assert(values < window.values[0] || values >= window.values[1] + 64);
            send(&f, (struct sent){0, c, first, 0, one, 4, true});
        }
        ck_assert(memcmp(before, window.values, sizeof before) == 0);
        post_clear(&f.post);
        send(&f, (struct sent){1, 0, first, 0, other, 4, true});
        ck_assert_ptr_eq(where(&f, first + 1), window.values[(first + 1) % 2]);
        close_fixture(&f);
    }
}

int main(void)
{
    return suite_run("owner", NULL);
}
