/* test_exchange.c - the chunks of one exchange: the window, what is asked for again, and what is
 * sent again. */
/* promises: bits-early staleness-rules */

#include "worker/client/exchange.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/post.h"
#include "tests/lib/suite.h"

enum { MIB = 1 << 20 };

/* One worker and one server, whose chunks are of 4 MiB: four of them are a window. */
struct fixture {
    struct job job;
    struct partition partition;
    struct exchange exchange;
    struct envelope envelope;
    struct post post;
    float *parameters;
    uint64_t now_us;
    struct frame *gradient;
};

static void open_job(struct fixture *f, enum mode mode, uint32_t workers, bool here,
                     uint32_t chunks, uint64_t bytes)
{
    struct error error;
    memset(f, 0, sizeof *f);
    f->job = small_job(mode, workers, 1);
    strcpy(f->job.servers[0], here ? "127.0.0.1:2000" : "alpha:2000");
    f->job.variables[0].shape[0] = chunks * (bytes / sizeof(float)) / 16 - 1;
    ck_assert(partition_make(&f->partition, f->job.variables, 2, 1, bytes, CHUNKS_EVEN, &error) ==
              STATUS_OK);
    ck_assert_uint_eq(f->partition.chunk_count, chunks);
    f->parameters = calloc(f->partition.elements, sizeof(float));
    f->gradient = frame_create(f->partition.elements * sizeof(float));
    ck_assert(f->parameters != NULL && f->gradient != NULL);
    ck_assert(exchange_init(&f->exchange, &f->job, &f->partition, f->parameters) == STATUS_OK);
    f->envelope = (struct envelope){
        .role = ROLE_WORKER, .index = 0, .incarnation = 5, .run_id = 6, .generation = 1};
}

static void open_with_chunks(struct fixture *f, enum mode mode, uint32_t chunks, uint64_t bytes)
{
    open_job(f, mode, 1, true, chunks, bytes);
}

static void open_fixture(struct fixture *f, enum mode mode, uint32_t chunks)
{
    open_with_chunks(f, mode, chunks, 4 * MIB);
}

static void close_fixture(struct fixture *f)
{
    exchange_forget(&f->exchange);
    exchange_free(&f->exchange);
    post_free(&f->post);
    ck_assert(frame_is_unique(f->gradient));
    frame_release(f->gradient);
    partition_free(&f->partition);
    job_free(&f->job);
    free(f->parameters);
}

/* What tests begin with, and how they end. */
#define TEST(name, ...)                                                                            \
    SUITE_TEST(name, struct fixture, f, open_fixture(f, __VA_ARGS__), close_fixture(f))

static void push(struct fixture *f, struct node node, bool want)
{
    struct message_exchange what = {
        .gradient = true, .node = node, .want = want, .want_version = 1, .examples = 2};
    ck_assert(exchange_push(&f->exchange, &f->envelope, &what, f->gradient, f->now_us,
                            &f->post.outbox) == STATUS_OK);
}

static void ask_newest(struct fixture *f)
{
    const struct message_exchange what = {.want = true, .newest = true};
    exchange_ask(&f->exchange, &f->envelope, &what, f->now_us, &f->post.outbox);
}

/* The chunks whose EXCHANGE has left, as a string; and forget them. */
static const char *sent(struct fixture *f)
{
    static char text[64];
    size_t used = 0;
    post_find(&f->post, TO_SERVER, MESSAGE_EXCHANGE);
    for (size_t i = 0; i < f->post.taken_count; i++) {
        const struct packet *packet = &f->post.taken[i].packet;
        ck_assert(packet->message.kind == MESSAGE_EXCHANGE && used < sizeof text - 2);
        text[used++] = (char)('0' + packet->message.exchange.chunk);
    }
    text[used] = '\0';
    post_clear(&f->post);
    return text;
}

static enum exchange_outcome result(struct fixture *f, uint32_t chunk, uint64_t request,
                                    bool values)
{
    struct packet packet = {.message.kind = MESSAGE_RESULT, .message.request = request};
    packet.message.result = (struct message_result){
        .chunk = chunk, .verdict = VERDICT_APPLIED, .version = 1, .parameters = values};
    if (values)
        packet.payload = frame_of(1, f->partition.chunks[chunk].count);
    enum exchange_outcome outcome =
        exchange_take(&f->exchange, &f->envelope, 0, &packet, f->now_us, &f->post.outbox);
    frame_release(packet.payload);
    return outcome;
}

static enum exchange_outcome receipt(struct fixture *f, uint32_t chunk, struct node node,
                                     bool missing)
{
    struct packet packet = {
        .message = {.kind = MESSAGE_RECEIPT,
                    .receipt = {.chunk = chunk, .node = node, .missing = missing}}};
    return exchange_take(&f->exchange, &f->envelope, 0, &packet, f->now_us, &f->post.outbox);
}

TEST(what_fits_the_window_leaves_at_once_and_asks_for_no_receipt, MODE_SYNC, 4)
{
    push(f, (struct node){0, 4}, true);
    ck_assert(!post_find(&f->post, TO_SERVER, MESSAGE_EXCHANGE)->message.exchange.receipt);
    ck_assert_str_eq(sent(f), "0123");
}

TEST(beyond_the_window_chunks_wait_in_order_until_others_are_confirmed, MODE_SYNC, 7)
{
    push(f, (struct node){0, 4}, true);
    ck_assert(post_find(&f->post, TO_SERVER, MESSAGE_EXCHANGE)->message.exchange.receipt);
    ck_assert_str_eq(sent(f), "0123");
    ck_assert(receipt(f, 2, (struct node){0, 4}, false) == EXCHANGE_PROGRESS);
    ck_assert(post_find(&f->post, TO_SERVER, MESSAGE_EXCHANGE)->message.exchange.receipt);
    ck_assert_str_eq(sent(f), "4");
    ck_assert(receipt(f, 2, (struct node){0, 4}, false) == EXCHANGE_IGNORED); /* Once. */
    ck_assert(receipt(f, 6, (struct node){0, 4}, false) == EXCHANGE_IGNORED); /* Not sent yet. */
    ck_assert_str_eq(sent(f), "");
    ck_assert(result(f, 0, 1, true) == EXCHANGE_PROGRESS); /* As good as a receipt. */
    ck_assert_str_eq(sent(f), "5");
    ck_assert(receipt(f, 1, (struct node){0, 4}, false) == EXCHANGE_PROGRESS);
    ck_assert_str_eq(sent(f), "6");
    for (uint32_t i = 1; i < 7; i++)
        ck_assert(result(f, i, 1 + i, true) == (i < 6 ? EXCHANGE_PROGRESS : EXCHANGE_COMPLETE));
    ck_assert_str_eq(sent(f), "");
    push(f, (struct node){0, 4}, true); /* Everything is back. */
    ck_assert_str_eq(sent(f), "0123");
}

TEST(the_nodes_of_a_step_share_the_window, MODE_SYNC, 3)
{
    push(f, (struct node){0, 1}, false);
    ck_assert_str_eq(sent(f), "012");
    push(f, (struct node){1, 1}, false);
    ck_assert_str_eq(sent(f), "0");
    push(f, (struct node){2, 1}, true); /* Behind the other. */
    ck_assert_str_eq(sent(f), "");
    for (uint32_t i = 0; i < 3; i++)
        ck_assert(result(f, i, 1 + i, false) == EXCHANGE_PROGRESS);
    const struct packet *packet = post_find(&f->post, TO_SERVER, MESSAGE_EXCHANGE);
    ck_assert(!packet->message.exchange.want);
    ck_assert_uint_eq(packet->place, (3 + 1) * 4 * MIB);
    ck_assert_uint_eq(packet->message.request, 5);
    ck_assert_str_eq(sent(f), "120");
    ck_assert(result(f, 0, 4, false) == EXCHANGE_PROGRESS);
    packet = post_find(&f->post, TO_SERVER, MESSAGE_EXCHANGE);
    ck_assert(packet->message.exchange.want && packet->message.exchange.receipt);
    ck_assert_uint_eq(packet->message.exchange.node.first_leaf, 2);
    ck_assert_str_eq(sent(f), "1");
}

TEST_PLAIN(two_chunks_always_fit)
{
    struct fixture f;
    open_with_chunks(&f, MODE_SYNC, 3, 12 * MIB);
    push(&f, (struct node){0, 4}, true);
    ck_assert_str_eq(sent(&f), "01");
    close_fixture(&f);
}

TEST(what_has_not_been_sent_is_not_repeated_and_what_is_confirmed_asks_only, MODE_SYNC, 6)
{
    push(f, (struct node){0, 4}, true);
    sent(f);
    ck_assert(receipt(f, 0, (struct node){0, 4}, false) == EXCHANGE_PROGRESS);
    ck_assert_str_eq(sent(f), "4");
    f->now_us = EXCHANGE_RETRY_US;
    exchange_tick(&f->exchange, &f->envelope, f->now_us, &f->post.outbox);
    ck_assert_ptr_null(post_find(&f->post, TO_SERVER, MESSAGE_EXCHANGE)->payload);
    ck_assert_str_eq(sent(f), "01234");
    /* Lost with the rest: it is sent again though the window is full. */
    ck_assert(receipt(f, 3, (struct node){0, 4}, true) == EXCHANGE_PROGRESS);
    ck_assert_ptr_nonnull(post_find(&f->post, TO_SERVER, MESSAGE_EXCHANGE)->payload);
    ck_assert_str_eq(sent(f), "3");
    ck_assert(receipt(f, 3, (struct node){0, 4}, false) == EXCHANGE_PROGRESS);
    ck_assert_str_eq(sent(f), "5");
}

/* It had no room for it: what is sent at once again would only meet the same. */
TEST(what_a_server_drops_is_sent_again_when_it_has_been_asked, MODE_SYNC, 4)
{
    push(f, (struct node){0, 4}, true);
    sent(f);
    ck_assert(receipt(f, 1, (struct node){0, 4}, true) == EXCHANGE_PROGRESS);
    ck_assert_str_eq(sent(f), "");
    f->now_us = EXCHANGE_RETRY_US;
    exchange_tick(&f->exchange, &f->envelope, f->now_us, &f->post.outbox);
    ck_assert_str_eq(sent(f), "0123");
    for (int twice = 0; twice < 2; twice++) {
        ck_assert(receipt(f, 1, (struct node){0, 4}, true) == EXCHANGE_PROGRESS);
        ck_assert_str_eq(sent(f), twice ? "" : "1");
    }
}

TEST(an_async_exchange_needs_no_receipts, MODE_ASYNC, 7)
{
    push(f, (struct node){0, 4}, true);
    ck_assert(!post_find(&f->post, TO_SERVER, MESSAGE_EXCHANGE)->message.exchange.receipt);
    ck_assert_str_eq(sent(f), "0123");
    ck_assert(result(f, 3, 4, true) == EXCHANGE_PROGRESS);
    ck_assert_str_eq(sent(f), "4");
}

/* The server keeps what it gave in the latest: a gradient of anything else could not be compensated. */
TEST(where_gradients_are_compensated_values_come_from_the_latest_answer_alone, MODE_ASYNC, 2)
{
    f->job.delay_compensation = 1;
    push(f, (struct node){0, 4}, true);
    f->now_us = EXCHANGE_RETRY_US;
    exchange_tick(&f->exchange, &f->envelope, f->now_us, &f->post.outbox);
    ck_assert(result(f, 0, 1, true) == EXCHANGE_IGNORED);
    ck_assert(result(f, 1, 4, true) == EXCHANGE_PROGRESS);
    ck_assert(result(f, 0, 3, true) == EXCHANGE_COMPLETE);
    f->job.delay_compensation = 0; /* Else whichever comes first will do. */
    push(f, (struct node){0, 4}, true);
    f->now_us += EXCHANGE_RETRY_US;
    exchange_tick(&f->exchange, &f->envelope, f->now_us, &f->post.outbox);
    ck_assert(result(f, 0, 5, true) == EXCHANGE_PROGRESS);
}

TEST(what_is_forgotten_is_answered_in_vain_and_frees_the_window, MODE_SYNC, 7)
{
    uint32_t server;
    push(f, (struct node){0, 4}, true);
    ck_assert_uint_eq(exchange_pushed_end(&f->exchange), 1);
    f->now_us = 500;
    ck_assert_uint_eq(exchange_silence_us(&f->exchange, f->now_us, &server), 500);
    ask_newest(f);
    ck_assert_str_eq(sent(f), "01230123456");
    ck_assert_uint_eq(exchange_pushed_end(&f->exchange), 0);
    ck_assert(frame_is_unique(f->gradient));
    ck_assert(result(f, 0, 1, true) == EXCHANGE_IGNORED);
    ck_assert(receipt(f, 1, (struct node){0, 4}, true) == EXCHANGE_IGNORED);
    for (uint32_t i = 0; i < 7; i++)
        ck_assert(result(f, i, 8 + i, true) == (i < 6 ? EXCHANGE_PROGRESS : EXCHANGE_COMPLETE));
    ck_assert_uint_eq(f->exchange.version, 1);
    ck_assert_uint_eq(exchange_silence_us(&f->exchange, f->now_us, &server), 0);
    push(f, (struct node){0, 4}, true);
    ck_assert_str_eq(sent(f), "0123");
}

static void push_ready(struct fixture *f, uint64_t first)
{
    struct message_exchange what = {
        .gradient = true, .node = {0, 4}, .want = true, .want_version = 1, .examples = 2};
    ck_assert(exchange_push_ready(&f->exchange, &f->envelope, &what, f->gradient, first, f->now_us,
                                  &f->post.outbox) == STATUS_OK);
}

TEST(what_is_there_leaves_early_and_the_rest_with_the_push, MODE_SYNC, 4)
{
    uint64_t elements = f->partition.elements;
    push_ready(f, elements - 1);
    ck_assert_str_eq(sent(f), ""); /* Not a whole chunk. */
    push_ready(f, f->partition.chunks[2].first);
    ck_assert(post_find(&f->post, TO_SERVER, MESSAGE_EXCHANGE)->message.exchange.receipt);
    ck_assert_str_eq(sent(f), "23");
    push_ready(f, f->partition.chunks[1].first + 1);
    ck_assert_str_eq(sent(f), "");
    ck_assert(result(f, 2, 3, true) == EXCHANGE_PROGRESS);
    ck_assert(result(f, 3, 4, true) == EXCHANGE_PROGRESS); /* All that was asked for, so far. */
    ck_assert_float_eq(f->parameters[elements - 1], 1);
    ck_assert_float_eq(f->parameters[0], 0);
    f->now_us = 700;
    push(f, (struct node){0, 4}, true);
    ck_assert_uint_eq(f->exchange.began_us, 700);
    ck_assert_str_eq(sent(f), "01");
    ck_assert(result(f, 0, 1, true) == EXCHANGE_PROGRESS);
    ck_assert(result(f, 1, 2, true) == EXCHANGE_COMPLETE);
    ck_assert(frame_is_unique(f->gradient));
}

TEST(the_chunk_with_the_report_never_leaves_early, MODE_SYNC, 3)
{
    push_ready(f, 0);
    ck_assert_str_eq(sent(f), "12");
    push(f, (struct node){0, 4}, true);
    ck_assert_str_eq(sent(f), "0");
}

TEST(early_two_chunks_are_under_way_and_of_what_is_there_the_first_leaves_next, MODE_SYNC, 6)
{
    push_ready(f, f->partition.chunks[3].first);
    ck_assert_str_eq(sent(f), "34");
    push_ready(f, f->partition.chunks[1].first);
    ck_assert_str_eq(sent(f), "");
    ck_assert(receipt(f, 4, (struct node){0, 4}, false) == EXCHANGE_PROGRESS);
    ck_assert_str_eq(sent(f), "1");
    ck_assert(result(f, 3, 4, true) == EXCHANGE_PROGRESS);
    ck_assert_str_eq(sent(f), "2");
    push(f, (struct node){0, 4}, true); /* Now there is nothing to come. */
    ck_assert_str_eq(sent(f), "05");
}

TEST(what_leaves_early_keeps_to_the_window_and_is_asked_for_again, MODE_SYNC, 7)
{
    push_ready(f, f->partition.chunks[1].first);
    ck_assert_str_eq(sent(f), "12");
    ck_assert(receipt(f, 1, (struct node){0, 4}, false) == EXCHANGE_PROGRESS);
    ck_assert_str_eq(sent(f), "3");
    f->now_us = EXCHANGE_RETRY_US;
    exchange_tick(&f->exchange, &f->envelope, f->now_us, &f->post.outbox);
    ck_assert_str_eq(sent(f), "123"); /* And not what is still to come. */
    ck_assert(receipt(f, 2, (struct node){0, 4}, true) == EXCHANGE_PROGRESS);
    ck_assert_str_eq(sent(f), "2");
    push(f, (struct node){0, 4}, true);
    ck_assert_str_eq(sent(f), "04");
    ck_assert(receipt(f, 3, (struct node){0, 4}, false) == EXCHANGE_PROGRESS);
    ck_assert_str_eq(sent(f), "5");
    ck_assert(receipt(f, 2, (struct node){0, 4}, false) == EXCHANGE_PROGRESS);
    ck_assert_str_eq(sent(f), "6");
}

TEST(values_up_to_the_first_that_are_missing_can_be_read_before_all_are_here, MODE_SYNC, 4)
{
    ck_assert_uint_eq(exchange_front(&f->exchange), 0);
    push_ready(f, f->partition.chunks[2].first);
    ck_assert(result(f, 2, 3, true) == EXCHANGE_PROGRESS);
    ck_assert_uint_eq(exchange_front(&f->exchange), 0); /* Nor was the rest asked for. */
    push(f, (struct node){0, 4}, true);
    ck_assert(result(f, 1, 2, true) == EXCHANGE_PROGRESS);
    ck_assert_uint_eq(exchange_front(&f->exchange), 0);
    ck_assert(result(f, 0, 1, true) == EXCHANGE_PROGRESS);
    uint64_t front = exchange_front(&f->exchange), serial = f->exchange.serial;
    ck_assert_uint_eq(front, f->partition.chunks[3].first);
    exchange_read(&f->exchange, front);
    ck_assert(result(f, 3, 4, true) == EXCHANGE_COMPLETE); /* It is not being read. */
    ck_assert_uint_eq(f->exchange.serial, serial);
    ck_assert_uint_eq(exchange_front(&f->exchange), 0);
}

TEST(what_is_read_is_not_written_whatever_is_asked_for_anew, MODE_SYNC, 2)
{
    push(f, (struct node){0, 4}, true);
    ck_assert(result(f, 0, 1, true) == EXCHANGE_PROGRESS);
    uint64_t serial = f->exchange.serial;
    exchange_read(&f->exchange, exchange_front(&f->exchange));
    ask_newest(f);
    ck_assert_uint_ne(f->exchange.serial, serial);
    f->parameters[0] = 7;
    ck_assert(result(f, 0, 3, true) == EXCHANGE_IGNORED);
    ck_assert_float_eq(f->parameters[0], 7);
    ck_assert(result(f, 1, 4, true) == EXCHANGE_PROGRESS);
    ck_assert_uint_eq(exchange_front(&f->exchange), 0); /* It may be aligned yet. */
    exchange_read(&f->exchange, 0);
    sent(f);
    f->now_us = EXCHANGE_RETRY_US;
    exchange_tick(&f->exchange, &f->envelope, f->now_us, &f->post.outbox);
    ck_assert_str_eq(sent(f), "0");
    ck_assert(result(f, 0, 5, true) == EXCHANGE_COMPLETE);
}

TEST(in_async_too_and_each_chunk_is_of_the_version_that_its_next_gradient_names, MODE_ASYNC, 2)
{
    push(f, (struct node){0, 4}, true);
    ck_assert(result(f, 0, 1, true) == EXCHANGE_PROGRESS);
    ck_assert_uint_eq(exchange_front(&f->exchange), f->partition.chunks[1].first);
    ck_assert(result(f, 1, 2, true) == EXCHANGE_COMPLETE);
    sent(f);
    push(f, (struct node){0, 4}, true);
    ck_assert_uint_eq(
        post_find(&f->post, TO_SERVER, MESSAGE_EXCHANGE)->message.exchange.base_version, 1);
    ask_newest(f);
    ck_assert(result(f, 0, 5, true) == EXCHANGE_PROGRESS);
    ck_assert_uint_eq(exchange_front(&f->exchange), 0); /* Of a pull it is not. */
}

TEST(behind_nodes_that_wait_for_the_window_nothing_leaves_early, MODE_SYNC, 3)
{
    push(f, (struct node){0, 2}, false);
    push(f, (struct node){2, 1}, false);
    ck_assert_str_eq(sent(f), "0120");
    struct message_exchange what = {
        .gradient = true, .node = {3, 1}, .want = true, .want_version = 1, .examples = 2};
    ck_assert(exchange_push_ready(&f->exchange, &f->envelope, &what, f->gradient, 16, 0,
                                  &f->post.outbox) == STATUS_OK);
    ck_assert_str_eq(sent(f), "");
    for (uint32_t i = 0; i < 3; i++)
        ck_assert(receipt(f, i, (struct node){0, 2}, false) == EXCHANGE_PROGRESS);
    ck_assert_str_eq(sent(f), "1");
    ck_assert(receipt(f, 0, (struct node){2, 1}, false) == EXCHANGE_PROGRESS);
    ck_assert_str_eq(sent(f), "2"); /* The node before, and then of the last. */
    ck_assert(receipt(f, 1, (struct node){2, 1}, false) == EXCHANGE_PROGRESS);
    ck_assert_str_eq(sent(f), "1");
    push(f, (struct node){3, 1}, true);
    ck_assert_str_eq(sent(f), "02");
}

/* One of two workers, who keep together: two chunks of 1 MiB are what it may be ahead. */
#define TEST_OF_TWO(name, mode, chunks)                                                            \
    SUITE_TEST(name, struct fixture, f, open_job(f, mode, 2, false, chunks, MIB), close_fixture(f))

static bool asks_for_receipts(struct fixture *f)
{
    return post_find(&f->post, TO_SERVER, MESSAGE_EXCHANGE)->message.exchange.receipt;
}

TEST_OF_TWO(until_the_other_worker_is_heard_of_what_has_arrived_makes_room, MODE_SYNC, 7)
{
    const struct node all = {0, 4};
    push(f, all, true);
    ck_assert(asks_for_receipts(f));
    ck_assert_str_eq(sent(f), "01");
    ck_assert(receipt(f, 0, all, false) == EXCHANGE_PROGRESS);
    ck_assert(asks_for_receipts(f));
    ck_assert_str_eq(sent(f), "2");
    ck_assert(receipt(f, 1, all, false) == EXCHANGE_PROGRESS);
    ck_assert_str_eq(sent(f), "3");
}

TEST_OF_TWO(a_worker_that_is_ahead_waits_for_the_other_and_then_goes_with_it, MODE_SYNC, 7)
{
    const struct node all = {0, 4};
    push(f, all, true);
    for (uint32_t i = 0; i < 3; i++)
        ck_assert(receipt(f, i, all, false) == EXCHANGE_PROGRESS);
    ck_assert_str_eq(sent(f), "01234");
    ck_assert(result(f, 0, 1, true) == EXCHANGE_PROGRESS); /* The other has pushed chunk 0. */
    ck_assert(receipt(f, 3, all, false) == EXCHANGE_PROGRESS);
    ck_assert(receipt(f, 4, all, false) == EXCHANGE_PROGRESS);
    ck_assert(result(f, 1, 2, true) == EXCHANGE_PROGRESS);
    ck_assert(result(f, 2, 3, true) == EXCHANGE_PROGRESS);
    ck_assert_str_eq(sent(f), "");
    ck_assert(result(f, 3, 4, true) == EXCHANGE_PROGRESS);
    ck_assert(!asks_for_receipts(f));
    ck_assert_str_eq(sent(f), "5");
    ck_assert(result(f, 4, 5, true) == EXCHANGE_PROGRESS);
    ck_assert_str_eq(sent(f), "6");
    ck_assert(result(f, 5, 6, true) == EXCHANGE_PROGRESS);
    ck_assert(result(f, 6, 7, true) == EXCHANGE_COMPLETE);
    push(f, all, true); /* The next step begins as this one did. */
    ck_assert(asks_for_receipts(f));
    ck_assert_str_eq(sent(f), "01");
}

TEST_OF_TWO(where_memory_is_shared_there_is_no_line_to_leave_to_others, MODE_SYNC, 7)
{
    ask_newest(f);
    ck_assert_str_eq(sent(f), "0123456");
    for (uint32_t i = 0; i < 7; i++) {
        struct packet packet = {.message.kind = MESSAGE_RESULT, .message.request = 1 + i};
        packet.message.result = (struct message_result){.chunk = i, .parameters = true};
        packet.payload = frame_of(1, f->partition.chunks[i].count);
        packet.payload->stays = true;
        exchange_take(&f->exchange, &f->envelope, 0, &packet, f->now_us, &f->post.outbox);
        frame_release(packet.payload);
    }
    push(f, (struct node){0, 4}, true);
    ck_assert(!asks_for_receipts(f));
    ck_assert_str_eq(sent(f), "0123456");
}

SUITE_TEST(within_a_host_nobody_waits_for_the_other, struct fixture, f,
           open_job(f, MODE_SYNC, 2, true, 7, MIB), close_fixture(f))
{
    push(f, (struct node){0, 4}, true);
    ck_assert_str_eq(sent(f), "0123456");
}

TEST_OF_TWO(what_leaves_early_waits_for_nobody, MODE_SYNC, 7)
{
    push_ready(f, f->partition.chunks[1].first);
    ck_assert_str_eq(sent(f), "12");
    push(f, (struct node){0, 4}, true);
    ck_assert_str_eq(sent(f), "03456");
}

TEST_OF_TWO(a_node_before_the_last_leaves_while_the_next_is_computed, MODE_SYNC, 7)
{
    push(f, (struct node){0, 2}, false);
    ck_assert_str_eq(sent(f), "0123456");
}

TEST_OF_TWO(who_waits_for_no_step_keeps_the_whole_window, MODE_ASYNC, 7)
{
    push(f, (struct node){0, 4}, true);
    ck_assert_str_eq(sent(f), "0123456");
}

int main(void)
{
    return suite_run("exchange", NULL);
}
