/* test_router.c - the router: a worker's window to the byte, sets of leaves in their bytes, and parts of the
 * model that are too large for a test. All else that it is told and says: tests/talks. */

#include "ps/router/router.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/steps/leaf_set.h"
#include "common/wire/pages.h"
#include "ps/extension/staleness_counters.h"
#include "ps/router/router_state.h"
#include "ps/work/proof.h"
#include "tests/lib/post.h"
#include "tests/lib/suite.h"

static const uint8_t secret[HASH_BYTES] = {4, 2};

enum { RUN = 77, PEER = 5, INCARNATION = 1234, SECOND = 1000000 };

/* Server 1 of 2: chunks 1 and 3 of the small job are its own. Two owners, two workers. */
struct fixture {
    struct router *router;
    struct job job;
    struct post post;
    uint64_t now_us, generation;
};

static void open_server(struct fixture *f, enum mode mode, uint32_t server)
{
    struct router_options options = {
        .self = {.index = server,
                 .incarnation = 9,
                 .deadlines = {.start = 20, .silence = 5, .recovery = 60, .stop = 60},
                 .host = "here"},
        .owner_count = 2,
    };
    memset(f, 0, sizeof *f);
    f->job = small_job(mode, 2, 2);
    f->now_us = SECOND;
    ck_assert(router_create(&f->router, &options, f->now_us) == STATUS_OK);
}

static void open_fixture(struct fixture *f, enum mode mode)
{
    open_server(f, mode, 1);
}

static void close_fixture(struct fixture *f)
{
    post_free(&f->post);
    router_destroy(&f->router);
    job_free(&f->job);
}

/* What tests begin with, and how they end. */
#define TEST(name, ...)                                                                            \
    SUITE_TEST(name, struct fixture, f, open_fixture(f, __VA_ARGS__), close_fixture(f))

static void from_coordinator(struct fixture *f, struct message *message)
{
    struct packet packet = {.message = *message};
    router_handle_coordinator(f->router, &packet, f->now_us, &f->post.outbox);
}

static void send_pages(struct fixture *f, uint32_t leave_out)
{
    uint8_t *bytes;
    uint32_t count;
    struct message message = {.kind = MESSAGE_JOB_PAGE};
    ck_assert(job_encode(&f->job, &bytes, &count) == STATUS_OK);
    for (uint32_t i = 0; pages_cut(bytes, count, i, &message.job_page); i++)
        if (i != leave_out)
            from_coordinator(f, &message);
    free(bytes);
}

static void send_welcome(struct fixture *f, bool restore)
{
    struct message message = {.kind = MESSAGE_WELCOME, .run_id = RUN, .generation = f->generation};
    message.welcome.ticket = 3 + f->generation;
    message.welcome.proof = 1000 + f->generation;
    memcpy(message.welcome.secret, secret, sizeof secret);
    message.welcome.restore = restore;
    message.welcome.restore_step = restore ? 3 : 0;
    strcpy(message.welcome.out, "/tmp/run");
    from_coordinator(f, &message);
}

static void from_inside(struct fixture *f, struct packet packet)
{
    router_handle_inside(f->router, &packet, f->now_us, &f->post.outbox);
}

static void obey(struct fixture *f, struct order order)
{
    from_inside(f, order_packet(&order));
}

static void loaded(struct fixture *f, uint32_t who)
{
    obey(f, (struct order){.kind = ORDER_LOADED, .from = who, .generation = f->generation});
}

/* The owners and the checkpointer have done what a WELCOME has made of them. */
static void all_loaded(struct fixture *f)
{
    loaded(f, 0);
    loaded(f, 1);
    loaded(f, UINT32_MAX);
    ck_assert(router_state(f->router) == ROUTER_SERVING);
}

static void serve(struct fixture *f)
{
    send_pages(f, UINT32_MAX);
    send_welcome(f, false);
    all_loaded(f);
    post_clear(&f->post);
}

/* A good push of worker 0 for chunk 1. */
static struct packet good_exchange(const struct fixture *f)
{
    struct packet packet = {.peer = PEER, .payload = frame_of(1, 16)};
    struct message *message = &packet.message;
    message->kind = MESSAGE_EXCHANGE;
    message->role = ROLE_WORKER;
    message->run_id = RUN;
    message->generation = f->generation;
    message->ticket = 7;
    message->incarnation = INCARNATION;
    message->request = 31;
    bool async = !job_mode(&f->job)->steps;
    message->exchange = (struct message_exchange){
        .chunk = 1,
        .step = 1,
        .base_version = 1,
        .gradient = true,
        .node = {0, async ? 4 : 2},
        .examples = async ? 8 : 4,
        .want = true,
        .want_version = 2,
    };
    return packet;
}

/* Whoever it says to be, server 0 has admitted it. */
static void from_peer(struct fixture *f, struct packet packet)
{
    packet.message.proof = proof_make(secret, &packet.message, packet.message.ticket);
    router_handle_peer(f->router, &packet, &f->post.outbox);
    ck_assert_ptr_null(packet.payload);
}

static struct message *owner_got(struct fixture *f, uint32_t owner)
{
    struct packet *packet = post_find_to(&f->post, TO_OWNER, owner, MESSAGE_EXCHANGE);
    return packet != NULL ? &packet->message : NULL;
}

/* The owners take a cut, or cannot. */
static void owners_snapshot(struct fixture *f, uint64_t step, bool taken)
{
    for (uint32_t i = 0; i < 2; i++) {
        obey(f, (struct order){.kind = ORDER_OWNER_SNAPSHOT,
                               .from = i,
                               .generation = f->generation,
                               .owner_snapshot = {.step = step, .taken = taken}});
    }
}

static void name_snapshot(struct fixture *f, uint64_t step, bool final)
{
    struct message cut = {.kind = MESSAGE_CUT, .generation = f->generation};
    cut.cut.step = step;
    cut.cut.final = final;
    from_coordinator(f, &cut);
}

/* --- exchanges ----------------------------------------------------------------------------- */

/* Neither answered nor passed on. */
static void check_ignored(struct fixture *f, struct packet packet, const char *what)
{
    from_peer(f, packet);
    ck_assert_msg(post_count_all(&f->post) == 0, "%s", what);
}

/* --- the window ---------------------------------------------------------------------------- */

/* One of the small job's gradients weighs next to nothing, so that they are counted by the
 * messages they come in. */
TEST(a_worker_that_does_not_wait_is_held_up_and_nobody_else_is, MODE_SYNC)
{
    serve(f);
    uint64_t weight = 0, passed = 0;
    while (post_count(&f->post, TO_PEER, MESSAGE_RECEIPT) == 0) {
        post_clear(&f->post);
        from_peer(f, good_exchange(f));
        struct packet *to_owner = post_find_to(&f->post, TO_OWNER, 0, MESSAGE_EXCHANGE);
        if (to_owner != NULL)
            passed += weight = to_owner->weight;
        ck_assert_uint_gt(weight, 64);
        ck_assert_uint_lt(passed, 4 * WINDOW_BYTES); /* It ends. */
    }
    ck_assert_uint_ge(passed, WINDOW_BYTES);
    struct packet *answer = post_find(&f->post, TO_PEER, MESSAGE_RECEIPT);
    ck_assert(answer->message.receipt.missing);
    ck_assert_uint_eq(answer->peer, PEER);
    ck_assert_uint_eq(answer->message.request, 31);
    ck_assert_uint_eq(answer->message.receipt.chunk, 1);
    ck_assert_uint_eq(answer->message.receipt.step, 1);
    ck_assert(node_equal(answer->message.receipt.node, (struct node){0, 2}));
    ck_assert_uint_eq(router_counts(f->router).dropped, 1);
    ck_assert_uint_eq(router_counts(f->router).received, passed / weight);
    post_clear(&f->post);
    struct packet header = good_exchange(f); /* It will be asked again. */
    frame_release(header.payload);
    header.payload = NULL;
    header.message.exchange.retry = true;
    check_ignored(f, header, "a header beyond the window");

    struct packet other = good_exchange(f);
    other.message.index = 1;
    from_peer(f, other);
    ck_assert_ptr_nonnull(owner_got(f, 0));
    post_clear(&f->post);

    /* Each first word makes room for one more; later ones, and those of others, do not. */
    const enum message_kind words[] = {MESSAGE_NONE, MESSAGE_RECEIPT, MESSAGE_RESULT,
                                       MESSAGE_MOVED_ON};
    for (int i = 0; i < 12; i++) {
        bool first = i < 4, others = i < 8;
        const uint32_t worker = !first && others;
        const bool taken = words[i % 4] == MESSAGE_NONE;
        struct packet word = {.peer = PEER, .message = {.kind = words[i % 4], .index = worker}};
        if (taken)
            word = order_packet(&(struct order){.kind = ORDER_TAKEN, .taken.worker = worker});
        word.weight = first || others ? weight : 0;
        if (!first && others && i > 4)
            continue; /* Worker 1 has one under way. */
        from_inside(f, word);
        ck_assert_uint_eq(post_count_all(&f->post), !taken);
        post_clear(&f->post);
        from_peer(f, good_exchange(f));
        ck_assert_int_eq(owner_got(f, 0) != NULL, first);
        post_clear(&f->post);
    }

    f->generation = 1; /* Nothing is under way any more. */
    send_welcome(f, false);
    all_loaded(f);
    post_clear(&f->post);
    from_peer(f, good_exchange(f));
    ck_assert_ptr_nonnull(owner_got(f, 0));
}

/* --- answers, cuts, stops ------------------------------------------------------------------ */

/* Server 0, or whoever speaks as it does, says of a step of four leaves that these count. */
static void say_closed(struct fixture *f, uint64_t step, struct node counts)
{
    uint8_t bytes[LEAF_SETS_START_MAX + LEAF_SET_BYTES_MAX];
    struct leaf_set set;
    leaf_set_clear(&set);
    leaf_set_add(&set, counts);
    size_t used = leaf_sets_put_start(bytes, step, 1);
    used += leaf_set_put(bytes + used, &set);
    struct packet packet = {.message.kind = MESSAGE_CLOSE, .payload = frame_create(used)};
    ck_assert_ptr_nonnull(packet.payload);
    memcpy(packet.payload->data, bytes, used);
    packet.message.generation = f->generation;
    packet.message.close.step = step;
    post_clear(&f->post);
    router_handle_coordinator(f->router, &packet, f->now_us, &f->post.outbox);
}

TEST(what_a_closed_step_is_said_to_be_of_must_be_possible, MODE_BACKUP)
{
    serve(f);
    say_closed(f, 1, (struct node){0, 3});
    ck_assert_uint_eq(post_count(&f->post, TO_OWNER, MESSAGE_CLOSE), 2);
    say_closed(f, 1, (struct node){0, 0});
    ck_assert_uint_eq(post_count(&f->post, TO_OWNER, MESSAGE_CLOSE), 0);
    say_closed(f, 1, (struct node){3, 2}); /* There is no fifth leaf. */
    ck_assert_uint_eq(post_count(&f->post, TO_OWNER, MESSAGE_CLOSE), 0);
    say_closed(f, f->job.steps, (struct node){0, 3});
    ck_assert_uint_eq(post_count(&f->post, TO_OWNER, MESSAGE_CLOSE), 0);
}

/* What the checkpointer says of the part passes the router by. */
static void part_written(struct fixture *f, uint64_t step, bool written)
{
    struct message message = {.kind = MESSAGE_PART_WRITTEN, .generation = f->generation};
    message.part_written = (struct message_part_written){
        .step = step, .written = written, .server = 1, .part.bytes = 99};
    router_note_part(f->router, &message);
}

TEST(a_final_cut_of_a_large_part_is_waited_for_and_not_written_twice, MODE_SYNC)
{
    serve(f);
    struct chunk_range *range =
        f->router->plan->partition.chunks; /* Which nobody reads any more. */
    while (range->server != f->router->plan->server)
        range++;
    uint64_t count = range->count, arrays = 1 + f->router->plan->slots.count;
    range->count += 320u * 1000 * 1000 / sizeof(float) / arrays; /* 20 s at the least rate. */
    name_snapshot(f, 6, true);
    owners_snapshot(f, 6, true);
    for (int i = 0; i < 24; i++) {
        f->now_us += SECOND;
        post_clear(&f->post);
        name_snapshot(f, 6, true);
        ck_assert_uint_eq(post_count(&f->post, TO_OWNER, MESSAGE_CUT), 0);
    }
    f->now_us += 2 * SECOND;
    name_snapshot(f, 6, true);
    ck_assert_uint_eq(post_count(&f->post, TO_OWNER, MESSAGE_CUT), 2);
    owners_snapshot(f, 6, true);
    part_written(f, 6, false); /* It has failed: that is not waited for as long. */
    f->now_us += 11 * SECOND;
    post_clear(&f->post);
    name_snapshot(f, 6, true);
    ck_assert_uint_eq(post_count(&f->post, TO_OWNER, MESSAGE_CUT), 2);
    range->count = count;
}

/* However large it is, what was lost on its way is made anew while a stop may still be waited for. */
TEST(a_final_cut_of_a_part_of_any_size_is_made_anew_before_half_of_a_stop_is_over, MODE_SYNC)
{
    serve(f);
    struct chunk_range *range = f->router->plan->partition.chunks;
    while (range->server != f->router->plan->server)
        range++;
    uint64_t count = range->count;
    range->count += 1000u * 1000 * 1000; /* Minutes at the least rate. */
    name_snapshot(f, 6, true);
    owners_snapshot(f, 6, true);
    f->now_us +=
        36 * SECOND; /* The stop's is 60, and nothing is heard for 5 where nothing is written. */
    post_clear(&f->post);
    name_snapshot(f, 6, true);
    ck_assert_uint_eq(post_count(&f->post, TO_OWNER, MESSAGE_CUT), 2);
    range->count = count;
}

int main(void)
{
    return suite_run("router", NULL);
}
