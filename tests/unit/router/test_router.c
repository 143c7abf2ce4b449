/* test_router.c - the router alone: what comes from workers and server 0, and what it gives to
 * owners and checkpointer. */
/* promises: clock */

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
    router_handle_peer(f->router, &packet, f->now_us, &f->post.outbox);
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

/* Rejected gradients as the router reports them with a cut. */
static uint64_t rejected(struct fixture *f)
{
    name_snapshot(f, 0, false);
    post_clear(&f->post);
    owners_snapshot(f, 0, true);
    struct packet *taken = post_find(&f->post, TO_COORDINATOR, MESSAGE_CUT_TAKEN);
    ck_assert_ptr_nonnull(taken);
    uint64_t count = taken->message.cut_taken.verdicts.rejected;
    post_clear(&f->post);
    return count;
}

/* --- joining ------------------------------------------------------------------------------- */

TEST(it_joins_until_it_is_welcomed_and_says_when_it_is_ready, MODE_SYNC)
{
    router_tick(f->router, f->now_us, &f->post.outbox);
    ck_assert_int_eq(joining_patience_ms(router_joining(f->router)), 2);
    ck_assert_str_eq(post_find(&f->post, TO_COORDINATOR, MESSAGE_JOIN)->message.join.host, "here");
    post_clear(&f->post);

    send_pages(f, UINT32_MAX);
    ck_assert_ptr_null(router_plan(f->router));
    send_welcome(f, false);
    ck_assert_ptr_nonnull(router_plan(f->router));
    ck_assert(router_state(f->router) == ROUTER_LOADING);
    ck_assert_uint_eq(post_count_orders(&f->post, TO_OWNER, ORDER_LOAD), 2);
    ck_assert_str_eq(post_order(&f->post, TO_CHECKPOINTER, ORDER_LOAD)->load.out, "/tmp/run");
    send_welcome(f, false); /* Repeated. */
    ck_assert_uint_eq(post_count_orders(&f->post, TO_OWNER, ORDER_LOAD), 2);
    loaded(f, 0);
    loaded(f, UINT32_MAX);
    ck_assert_uint_eq(post_count(&f->post, TO_COORDINATOR, MESSAGE_READY), 0);
    loaded(f, 1);
    ck_assert_uint_eq(post_count(&f->post, TO_COORDINATOR, MESSAGE_READY), 1);
    struct message stamped = {0};
    envelope_seal_to_server(&router_joining(f->router)->envelope, &stamped);
    ck_assert(stamped.role == ROLE_PS);
    ck_assert_uint_eq(stamped.index, 1);
    ck_assert_uint_eq(stamped.run_id, RUN);
    ck_assert_uint_eq(stamped.incarnation, 9);
    ck_assert_uint_eq(stamped.ticket, 3);
}

TEST(a_welcome_before_the_whole_declaration_is_waited_out, MODE_SYNC)
{
    send_welcome(f, false);
    ck_assert(router_state(f->router) == ROUTER_JOINING);
    send_pages(f, 0);
    send_welcome(f, false);
    ck_assert(router_state(f->router) == ROUTER_JOINING);
    send_pages(f, UINT32_MAX);
    send_pages(f, UINT32_MAX);
    send_welcome(f, false);
    ck_assert(router_state(f->router) == ROUTER_LOADING);
}

TEST(a_server_without_the_checkpoint_asks_for_its_chunks, MODE_SYNC)
{
    send_pages(f, UINT32_MAX);
    send_welcome(f, true);
    ck_assert(post_order_to(&f->post, TO_OWNER, 0, ORDER_LOAD)->load.restore);
    struct order checkpointer = {.kind = ORDER_LOADED, .from = ORDER_FROM_CHECKPOINTER};
    checkpointer.loaded.needs_chunks = true;
    obey(f, checkpointer);
    struct packet *ready = post_find(&f->post, TO_COORDINATOR, MESSAGE_READY);
    ck_assert(ready != NULL && ready->message.ready.needs_chunks);
    post_clear(&f->post);

    const uint64_t firsts[] = {16, 48}; /* Chunks 1 and 3, of owners 0 and 1. */
    for (uint32_t i = 0; i < 2; i++) {
        struct packet state = {.message.kind = MESSAGE_CHUNK_STATE, .payload = frame_of(1, 16)};
        state.message.chunk_state.first = firsts[i];
        router_handle_coordinator(f->router, &state, f->now_us, &f->post.outbox);
        ck_assert_ptr_nonnull(post_find_to(&f->post, TO_OWNER, i, MESSAGE_CHUNK_STATE));
    }
    loaded(f, 0);
    loaded(f, 1);
    ready = post_find(&f->post, TO_COORDINATOR, MESSAGE_READY);
    ck_assert(ready != NULL && !ready->message.ready.needs_chunks);
}

TEST(a_checkpointer_that_cannot_load_ends_the_job, MODE_SYNC)
{
    send_pages(f, UINT32_MAX);
    send_welcome(f, false);
    struct order checkpointer = {.kind = ORDER_LOADED, .from = ORDER_FROM_CHECKPOINTER};
    checkpointer.loaded.status = STATUS_IO;
    strcpy(checkpointer.loaded.text, "disk on fire");
    obey(f, checkpointer);
    struct packet *stop = post_find(&f->post, TO_COORDINATOR, MESSAGE_STOP);
    ck_assert_uint_eq(stop->message.stop.exit_code, EXIT_CANNOT_OPEN);
    ck_assert_str_eq(stop->message.stop.reason, "disk on fire");
    ck_assert_int_eq(router_joining(f->router)->exit_code, EXIT_CANNOT_OPEN);
}

/* --- exchanges ----------------------------------------------------------------------------- */

TEST_PLAIN(a_good_exchange_reaches_the_owner_of_its_chunk)
{
    for (enum mode mode = MODE_ASYNC; mode < MODE_COUNT; mode++) {
        struct fixture f;
        open_fixture(&f, mode);
        serve(&f);
        from_peer(&f, good_exchange(&f));
        ck_assert_ptr_nonnull(owner_got(&f, 0));
        ck_assert_ptr_null(owner_got(&f, 1));
        struct packet other = good_exchange(&f);
        other.message.exchange.chunk = 3;
        from_peer(&f, other);
        ck_assert_uint_eq(owner_got(&f, 1)->request, 31);
        struct packet pull = good_exchange(&f);
        frame_release(pull.payload);
        pull.payload = NULL;
        post_clear(&f.post);
        pull.message.exchange = (struct message_exchange){.chunk = 1, .want = true};
        from_peer(&f, pull);
        ck_assert_ptr_nonnull(owner_got(&f, 0));
        ck_assert_uint_eq(post_count(&f.post, TO_PEER, MESSAGE_REFUSED), 0);
        ck_assert_uint_eq(rejected(&f), 0);
        close_fixture(&f);
    }
}

/* Refused, and nothing reaches an owner. */
static void check_refused(struct fixture *f, struct packet packet, enum refusal reason,
                          const char *what)
{
    struct router_counts before = router_counts(f->router);
    from_peer(f, packet);
    struct router_counts after = router_counts(f->router);
    ck_assert_msg(post_count(&f->post, TO_OWNER, MESSAGE_EXCHANGE) == 0, "%s", what);
    ck_assert_msg(post_count(&f->post, TO_PEER, MESSAGE_REFUSED) == 1, "%s", what);
    struct packet *refused = post_find(&f->post, TO_PEER, MESSAGE_REFUSED);
    ck_assert_msg(refused->message.refused.reason == reason, "%s: %s", what,
                  refused->message.refused.text);
    ck_assert_uint_eq(refused->peer, PEER);
    ck_assert_uint_eq(refused->message.request, 31);
    ck_assert_uint_gt(strlen(refused->message.refused.text), 0);
    ck_assert_uint_eq(after.refused + after.fenced, before.refused + before.fenced + 1);
    post_clear(&f->post);
}

/* Neither answered nor passed on. */
static void check_ignored(struct fixture *f, struct packet packet, const char *what)
{
    from_peer(f, packet);
    ck_assert_msg(post_count_all(&f->post) == 0, "%s", what);
}

#define BAD(reason, change)                                                                        \
    do {                                                                                           \
        struct packet packet = good_exchange(f);                                                   \
        struct message *m = &packet.message;                                                       \
        (void)m;                                                                                   \
        change;                                                                                    \
        check_refused(f, packet, reason, #change);                                                 \
    } while (0)
#define IGNORED(change)                                                                            \
    do {                                                                                           \
        struct packet packet = good_exchange(f);                                                   \
        struct message *m = &packet.message;                                                       \
        (void)m;                                                                                   \
        change;                                                                                    \
        check_ignored(f, packet, #change);                                                         \
    } while (0)
#define WITHOUT_PAYLOAD frame_release(packet.payload), packet.payload = NULL
#define RETRY           WITHOUT_PAYLOAD, m->exchange.retry = true

TEST(who_is_no_worker_of_the_run_is_refused_and_not_received, MODE_SYNC)
{
    serve(f);
    from_peer(f, good_exchange(f)); /* INCARNATION is worker 0. */
    post_clear(&f->post);
    BAD(REFUSAL_RUN, m->run_id = RUN + 1);
    BAD(REFUSAL_RUN, m->run_id = 0);
    BAD(REFUSAL_MEMBER, m->role = ROLE_PS);
    BAD(REFUSAL_MEMBER, m->role = ROLE_OBSERVER);
    BAD(REFUSAL_MEMBER, m->role = ROLE_NONE);
    BAD(REFUSAL_MEMBER, m->index = JOB_WORKERS_MAX);
    BAD(REFUSAL_MEMBER, m->index = UINT32_MAX);
    BAD(REFUSAL_MEMBER, m->incarnation = INCARNATION + 1);
    ck_assert_uint_eq(router_counts(f->router).received, 1);
    ck_assert_uint_eq(rejected(f), 0);
    from_peer(f, good_exchange(f));
    ck_assert_ptr_nonnull(owner_got(f, 0));
}

TEST(every_kind_of_bad_gradient_is_refused_and_counted, MODE_SYNC)
{
    serve(f);
    BAD(REFUSAL_MALFORMED, m->exchange.chunk = 0); /* Server 0's. */
    BAD(REFUSAL_MALFORMED, m->exchange.chunk = 4);
    BAD(REFUSAL_MALFORMED, m->exchange.chunk = UINT32_MAX);
    BAD(REFUSAL_MALFORMED, WITHOUT_PAYLOAD);
    BAD(REFUSAL_MALFORMED, (WITHOUT_PAYLOAD, packet.payload = frame_of(1, 15)));
    BAD(REFUSAL_MALFORMED, (WITHOUT_PAYLOAD, packet.payload = frame_of(1, 17)));
    BAD(REFUSAL_MALFORMED, (WITHOUT_PAYLOAD, packet.payload = frame_create(0)));
    BAD(REFUSAL_MALFORMED, (WITHOUT_PAYLOAD, packet.payload = frame_create(63)));
    BAD(REFUSAL_MALFORMED, m->exchange.step = m->exchange.base_version = 6);
    BAD(REFUSAL_MALFORMED, m->exchange.step = m->exchange.base_version = UINT64_MAX);
    BAD(REFUSAL_MALFORMED, m->exchange.node.leaf_count = 0);
    BAD(REFUSAL_MALFORMED, m->exchange.node.leaf_count = 3);
    BAD(REFUSAL_MALFORMED, m->exchange.node.first_leaf = 1);
    BAD(REFUSAL_MALFORMED, m->exchange.node.first_leaf = UINT32_MAX);
    BAD(REFUSAL_MALFORMED, m->exchange.node.leaf_count = UINT32_MAX);
    BAD(REFUSAL_MALFORMED, m->exchange.examples = 0);
    BAD(REFUSAL_MALFORMED, m->exchange.examples = 3);
    BAD(REFUSAL_MALFORMED, m->exchange.examples = 5);
    BAD(REFUSAL_MALFORMED, m->exchange.base_version = 0);
    BAD(REFUSAL_MALFORMED, m->exchange.base_version = 2);
    BAD(REFUSAL_MALFORMED, m->exchange.skip = true);
    BAD(REFUSAL_MALFORMED, (WITHOUT_PAYLOAD, m->exchange.skip = true));
    /* Step 2 is the short one: two leaves. */
    BAD(REFUSAL_MALFORMED,
        (m->exchange.step = m->exchange.base_version = 2, m->exchange.node = (struct node){2, 2}));
    ck_assert_uint_eq(router_counts(f->router).received, 23);
    ck_assert_uint_eq(rejected(f), 23);
    from_peer(f, good_exchange(f));
    ck_assert_ptr_nonnull(owner_got(f, 0));
    ck_assert_uint_eq(router_counts(f->router).received, 24);
}

TEST_PLAIN(what_is_asked_again_is_no_gradient_and_has_none)
{
    for (enum mode mode = MODE_ASYNC; mode < MODE_COUNT; mode++) {
        struct fixture place, *f = &place;
        open_fixture(f, mode);
        serve(f);
        BAD(REFUSAL_MALFORMED, m->exchange.gradient = false); /* And yet a payload. */
        BAD(REFUSAL_MALFORMED, m->exchange.retry = true);     /* The same. */
        BAD(REFUSAL_MALFORMED, (RETRY, m->exchange.chunk = 0));
        BAD(REFUSAL_MALFORMED, (RETRY, m->exchange.step = 6));
        BAD(REFUSAL_MALFORMED, (RETRY, m->exchange.node.leaf_count = 3));
        struct packet packet = good_exchange(f);
        struct message *m = &packet.message;
        RETRY;
        m->exchange.examples = 0;
        m->exchange.base_version = 0;
        from_peer(f, packet);
        ck_assert_ptr_nonnull(owner_got(f, 0));
        ck_assert_uint_eq(router_counts(f->router).received, 0);
        ck_assert_uint_eq(rejected(f), 0);
        close_fixture(f);
    }
}

TEST(async_batches_come_whole_or_are_skipped, MODE_ASYNC)
{
    serve(f);
    BAD(REFUSAL_MALFORMED, (m->exchange.node = (struct node){0, 2}, m->exchange.examples = 4));
    BAD(REFUSAL_MALFORMED, m->exchange.skip = true); /* With a payload. */
    BAD(REFUSAL_MALFORMED, (WITHOUT_PAYLOAD, m->exchange.skip = true, m->exchange.step = 6));
    struct packet old = good_exchange(f); /* Any base is fine here; the owner knows its version. */
    old.message.exchange.base_version = 0;
    from_peer(f, old);
    ck_assert_ptr_nonnull(owner_got(f, 0));
    for (int gradient = 0; gradient < 2; gradient++) {
        post_clear(&f->post);
        struct packet packet = good_exchange(f);
        WITHOUT_PAYLOAD;
        packet.message.exchange =
            (struct message_exchange){.chunk = 1, .step = 3, .skip = true, .gradient = gradient};
        from_peer(f, packet);
        ck_assert_ptr_nonnull(owner_got(f, 0));
    }
    ck_assert_uint_eq(router_counts(f->router).received, 3 + 3);
}

TEST(the_process_with_the_greatest_ticket_is_the_worker, MODE_SYNC)
{
    serve(f);
    for (uint32_t index = 0; index < JOB_WORKERS_MAX; index += JOB_WORKERS_MAX - 1) {
        struct packet first = good_exchange(f);
        first.message.index = index;
        from_peer(f, first);
        ck_assert_ptr_nonnull(owner_got(f, 0));
        post_clear(&f->post);
        struct packet successor = good_exchange(f);
        successor.message.index = index;
        successor.message.incarnation = 555;
        successor.message.ticket = 8;
        from_peer(f, successor);
        ck_assert_ptr_nonnull(owner_got(f, 0));
        post_clear(&f->post);
        uint64_t fenced = router_counts(f->router).fenced;
        BAD(REFUSAL_MEMBER, m->index = index); /* A zombie. */
        BAD(REFUSAL_MEMBER, (m->index = index, m->ticket = 8));
        struct packet late = good_exchange(f); /* The successor's own, from before. */
        late.message.index = index;
        late.message.incarnation = 555;
        from_peer(f, late);
        ck_assert_uint_eq(post_count(&f->post, TO_PEER, MESSAGE_REFUSED), 0);
        ck_assert_ptr_null(owner_got(f, 0));
        ck_assert_uint_eq(router_counts(f->router).fenced, fenced + 3);
        struct packet again = good_exchange(f); /* The first one, admitted once more. */
        again.message.index = index;
        again.message.ticket = 9;
        from_peer(f, again);
        ck_assert_ptr_nonnull(owner_got(f, 0));
        post_clear(&f->post);
    }
    /* A new generation may have a server 0 that counts from the beginning. */
    f->generation = 1;
    send_welcome(f, false);
    all_loaded(f);
    post_clear(&f->post);
    struct packet packet = good_exchange(f);
    packet.message.incarnation = 777;
    packet.message.ticket = 1;
    from_peer(f, packet);
    ck_assert_ptr_nonnull(owner_got(f, 0));
}

TEST(who_was_never_admitted_takes_no_place, MODE_SYNC)
{
    serve(f);
    for (int known = 0; known < 2; known++) {
        static const uint64_t tickets[] = {0, 1, 7, 8, UINT64_MAX};
        for (size_t i = 0; i < sizeof tickets / sizeof *tickets; i++) {
            struct packet guess = good_exchange(f);
            guess.message.incarnation = 555;
            guess.message.ticket = tickets[i];
            guess.message.proof = i;
            struct router_counts before = router_counts(f->router);
            router_handle_peer(f->router, &guess, f->now_us, &f->post.outbox);
            ck_assert(!guess.member);
            ck_assert_ptr_null(owner_got(f, 0));
            struct packet *answer = post_find(&f->post, TO_PEER, MESSAGE_REFUSED);
            ck_assert(answer->message.refused.reason == REFUSAL_MEMBER && !answer->member);
            ck_assert_uint_eq(router_counts(f->router).refused, before.refused + 1);
            post_clear(&f->post);
        }
        from_peer(f, good_exchange(f)); /* The worker, who keeps its place. */
        ck_assert_ptr_nonnull(owner_got(f, 0));
        post_clear(&f->post);
    }
}

TEST(whoever_is_heard_as_a_worker_is_said_to_be_a_member, MODE_SYNC)
{
    struct packet early = good_exchange(f);
    router_handle_peer(f->router, &early, f->now_us, &f->post.outbox);
    ck_assert(!early.member);
    serve(f);
    for (int good = 0; good < 2; good++) { /* Also one who says what does not fit. */
        struct packet packet = good_exchange(f);
        packet.message.exchange.examples += !good;
        packet.message.proof = proof_make(secret, &packet.message, packet.message.ticket);
        router_handle_peer(f->router, &packet, f->now_us, &f->post.outbox);
        ck_assert(packet.member);
    }
    ck_assert(post_find(&f->post, TO_PEER, MESSAGE_REFUSED)->member);
    post_clear(&f->post);
}

TEST(the_key_that_came_with_a_ticket_is_the_workers, MODE_SYNC)
{
    serve(f);
    struct packet first = good_exchange(f), other = good_exchange(f);
    first.key[0] = 1;
    other.key[0] = 2;
    from_peer(f, first);
    ck_assert_ptr_nonnull(owner_got(f, 0));
    post_clear(&f->post);
    from_peer(f, other);
    ck_assert_ptr_null(owner_got(f, 0));
    struct packet *answer = post_find(&f->post, TO_PEER, MESSAGE_REFUSED);
    ck_assert_ptr_nonnull(answer);
    ck_assert(answer->message.refused.reason == REFUSAL_MEMBER);
    post_clear(&f->post);
}

TEST(what_comes_before_serving_or_for_another_generation_is_left_to_be_repeated, MODE_SYNC)
{
    IGNORED((void)0);
    IGNORED(m->run_id = RUN + 1);
    send_pages(f, UINT32_MAX);
    f->generation = 4;
    send_welcome(f, false);
    post_clear(&f->post);
    IGNORED((void)0);
    ck_assert_uint_eq(router_counts(f->router).dropped, 3);
    all_loaded(f);
    post_clear(&f->post);
    IGNORED(m->generation = 5);
    ck_assert_uint_eq(router_counts(f->router).dropped, 4);
    IGNORED(m->generation = 3);
    IGNORED(m->generation = 0);
    ck_assert_uint_eq(router_counts(f->router).fenced, 2);
    ck_assert_uint_eq(router_counts(f->router).received, 0);
    f->now_us += 10 * SECOND;
    router_tick(f->router, f->now_us, &f->post.outbox);
    ck_assert_ptr_nonnull(post_log(&f->post, "fenced=2 dropped=4 refused=0"));
    post_clear(&f->post);
    f->now_us += 10 * SECOND; /* Said once. */
    router_tick(f->router, f->now_us, &f->post.outbox);
    ck_assert_ptr_null(post_log(&f->post, "fenced"));
    post_clear(&f->post);
    struct message finished = {.kind = MESSAGE_FINISHED};
    from_coordinator(f, &finished);
    post_clear(&f->post);
    IGNORED((void)0); /* Server 0 tells the sender what it needs. */
}

TEST(only_exchanges_are_for_a_server, MODE_SYNC)
{
    serve(f);
    for (unsigned kind = 1; kind < MESSAGE_KIND_COUNT; kind++) {
        if (kind == MESSAGE_EXCHANGE)
            continue;
        struct packet packet = {.peer = PEER, .payload = frame_of(1, 16)};
        packet.message.kind = kind;
        packet.message.request = 31;
        check_refused(f, packet, REFUSAL_MALFORMED, message_kind_name(kind));
    }
    ck_assert_uint_eq(rejected(f), 0); /* They were no gradients. */
}

TEST_PLAIN(the_scores_in_an_exchange_reach_the_coordinator_first_and_as_their_sender_s)
{
    for (uint32_t server = 0; server < 2; server++) {
        struct fixture f;
        open_server(&f, MODE_SYNC, server);
        serve(&f);
        for (int zombie = 0; zombie < 2; zombie++) {
            struct packet packet = good_exchange(&f);
            packet.message.exchange.chunk = server;
            packet.message.exchange.has_report = true;
            packet.message.exchange.report = (struct message_report){.step = 1, .loss = -4};
            packet.message.ticket -= (uint64_t)zombie;
            from_peer(&f, packet);
            struct packet *report = post_find(&f.post, TO_COORDINATOR, MESSAGE_REPORT);
            ck_assert_int_eq(report != NULL, server == 0 && !zombie);
            if (report != NULL) {
                ck_assert_ptr_eq(report, &f.post.taken[0].packet);
                ck_assert_uint_eq(report->peer, PEER);
                ck_assert(report->message.role == ROLE_WORKER);
                ck_assert_uint_eq(report->message.index, 0);
                ck_assert_uint_eq(report->message.incarnation, INCARNATION);
                ck_assert_uint_eq(report->message.ticket, 7);
                ck_assert(report->message.proof != 0); /* Else it would be nobody's. */
                ck_assert_uint_eq(report->message.run_id, RUN);
                ck_assert(report->message.report.step == 1 && report->message.report.loss == -4);
            }
            ck_assert_int_eq(owner_got(&f, 0) != NULL, !zombie);
            post_clear(&f.post);
        }
        close_fixture(&f);
    }
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

TEST(a_worker_that_does_not_read_is_sent_no_more, MODE_SYNC)
{
    serve(f);
    from_peer(f, good_exchange(f));
    post_clear(&f->post);
    struct frame *values = frame_of(1, 16);
    unsigned sent = 0;
    for (int i = 0; i < 100; i++) { /* All stay with the post: nobody reads. */
        struct packet result = {.peer = PEER, .payload = frame_retain(values)};
        result.message.kind = MESSAGE_RESULT;
        result.message.result.parameters = true;
        from_inside(f, result);
        sent = post_count(&f->post, TO_PEER, MESSAGE_RESULT);
    }
    ck_assert_uint_eq(sent, 4 * 2 + 2); /* Of a shard of two chunks. */
    ck_assert_uint_eq(router_counts(f->router).dropped, 90);
    struct packet other = {.peer = PEER + 1, .payload = frame_retain(values)};
    other.message.kind = MESSAGE_RESULT;
    other.message.index = 1;
    from_inside(f, other);
    ck_assert_uint_eq(post_count(&f->post, TO_PEER, MESSAGE_RESULT), sent + 1);
    struct packet result = {.peer = PEER, .message.kind = MESSAGE_RESULT}; /* Without values. */
    from_inside(f, result);
    ck_assert_uint_eq(post_count(&f->post, TO_PEER, MESSAGE_RESULT), sent + 2);
    post_clear(&f->post); /* It reads on. */
    result.payload = values;
    from_inside(f, result);
    ck_assert_uint_eq(post_count(&f->post, TO_PEER, MESSAGE_RESULT), 1);
}

/* --- answers, cuts, stops ------------------------------------------------------------------ */

static struct message_result pass_result(struct fixture *f, uint64_t version, bool parameters)
{
    struct packet result = {.peer = PEER, .message.kind = MESSAGE_RESULT};
    result.message.result.version = version;
    result.message.result.parameters = parameters;
    from_inside(f, result);
    struct message_result out = post_find(&f->post, TO_PEER, MESSAGE_RESULT)->message.result;
    post_clear(&f->post);
    return out;
}

TEST(every_answer_tells_the_last_version_and_a_stop_moves_it_past_what_was_given_out, MODE_SYNC)
{
    struct message stop = {.kind = MESSAGE_STOP};
    serve(f);
    ck_assert_uint_eq(pass_result(f, 2, true).stop_step, 6);
    ck_assert_uint_eq(pass_result(f, 3, false).stop_step, 6); /* A receipt gives nothing out. */
    from_coordinator(f, &stop);
    ck_assert_uint_eq(post_order(&f->post, TO_COORDINATOR, ORDER_STOP_AT)->stop_at.step, 3);
    post_clear(&f->post);
    ck_assert_uint_eq(pass_result(f, 3, true).stop_step, 3);
    from_coordinator(f, &stop); /* Again: it does not move on. */
    ck_assert_uint_eq(post_order(&f->post, TO_COORDINATOR, ORDER_STOP_AT)->stop_at.step, 3);
}

TEST(a_stop_before_the_first_pull_of_a_resumed_run_is_not_before_its_checkpoint, MODE_SYNC)
{
    struct message stop = {.kind = MESSAGE_STOP};
    send_pages(f, UINT32_MAX);
    send_welcome(f, true); /* At step 3. */
    loaded(f, 0);
    loaded(f, 1);
    loaded(f, UINT32_MAX);
    from_coordinator(f, &stop);
    ck_assert_uint_ge(post_order(&f->post, TO_COORDINATOR, ORDER_STOP_AT)->stop_at.step, 3);
}

TEST(a_cut_is_taken_when_every_owner_has_taken_it, MODE_SYNC)
{
    serve(f);
    for (int with = 0; with < 2; with++) {
        name_snapshot(f, 4 + (uint64_t)with, false);
        ck_assert_uint_eq(post_count(&f->post, TO_OWNER, MESSAGE_CUT), 2);
        for (uint32_t i = 0; i < 2; i++) {
            ck_assert_uint_eq(post_count(&f->post, TO_COORDINATOR, MESSAGE_CUT_TAKEN), 0);
            obey(f, (struct order){.kind = ORDER_OWNER_SNAPSHOT,
                                   .from = i,
                                   .owner_snapshot = {.step = 4 + (uint64_t)with,
                                                      .taken = with || i == 1,
                                                      .verdicts = {10, 20, 30, 40 + i}}});
        }
        struct packet *taken = post_find(&f->post, TO_COORDINATOR, MESSAGE_CUT_TAKEN);
        ck_assert_int_eq(taken->message.cut_taken.taken, with);
        ck_assert_uint_eq(taken->message.cut_taken.step, 4 + (uint64_t)with);
        ck_assert_uint_eq(taken->message.cut_taken.verdicts.applied, 20);
        ck_assert_uint_eq(taken->message.cut_taken.verdicts.rejected, 81);
        post_clear(&f->post);
    }
}

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

/* An owner says that so many gradients were each so stale. */
static void say_figures(struct fixture *f, enum order_kind kind, uint32_t owner, unsigned count)
{
    struct staleness_tally tally = {.all.expected = count};
    for (unsigned i = 0; i < count; i++)
        histogram_add(&tally.all.shape, 1);
    struct packet packet =
        order_packet(&(struct order){.kind = kind,
                                     .from = owner,
                                     .generation = f->generation,
                                     .owner_snapshot = {.step = 4, .taken = true}});
    packet.payload = staleness_tally_frame(&tally);
    router_handle_inside(f->router, &packet, f->now_us, &f->post.outbox);
    ck_assert_ptr_null(packet.payload);
}

/* How many gradients the message for server 0 says something of; UINT64_MAX: nothing is said. */
static uint64_t figures_in(struct fixture *f, enum message_kind kind)
{
    struct staleness_tally tally = {0};
    struct packet *packet = post_find(&f->post, TO_COORDINATOR, kind);
    ck_assert_ptr_nonnull(packet);
    if (packet->payload == NULL)
        return UINT64_MAX;
    ck_assert(staleness_tally_read(&tally, packet->payload) == STATUS_OK);
    uint64_t count = tally.all.shape.count;
    staleness_tally_free(&tally);
    post_clear(&f->post);
    return count;
}

TEST(owners_figures_go_with_signs_of_life_and_with_the_cut, MODE_ASYNC)
{
    serve(f);
    post_clear(&f->post);
    say_figures(f, ORDER_FIGURES, 0, 3);
    say_figures(f, ORDER_FIGURES, 1, 4);
    say_figures(f, ORDER_FIGURES, 0, 5); /* In the place of the 3. */
    f->now_us += 600000;
    router_tick(f->router, f->now_us, &f->post.outbox);
    ck_assert_uint_eq(figures_in(f, MESSAGE_READY), 9);
    f->now_us += 600000;
    router_tick(f->router, f->now_us, &f->post.outbox);
    ck_assert_uint_eq(figures_in(f, MESSAGE_READY), UINT64_MAX); /* No news. */
    post_clear(&f->post);
    name_snapshot(f, 4, false);
    say_figures(f, ORDER_OWNER_SNAPSHOT, 0, 6);
    say_figures(f, ORDER_OWNER_SNAPSHOT, 1, 6);
    ck_assert_uint_eq(figures_in(f, MESSAGE_CUT_TAKEN), 12);
    say_figures(f, ORDER_FIGURES, 1, 9); /* Training goes on; CUT_TAKEN was lost. */
    name_snapshot(f, 4, false);
    ck_assert_uint_eq(figures_in(f, MESSAGE_CUT_TAKEN), 12);
}

/* What the checkpointer says of the part passes the router by. */
static void part_written(struct fixture *f, uint64_t step, bool written)
{
    struct message message = {.kind = MESSAGE_PART_WRITTEN, .generation = f->generation};
    message.part_written = (struct message_part_written){
        .step = step, .written = written, .server = 1, .part.bytes = 99};
    router_note_part(f->router, &message);
}

TEST(a_repeated_cut_is_answered_with_what_was_said, MODE_SYNC)
{
    serve(f);
    name_snapshot(f, 4, false);
    post_clear(&f->post);
    name_snapshot(f, 4, false); /* Not taken yet: nothing to say. */
    ck_assert_uint_eq(post_count_all(&f->post), 0);
    owners_snapshot(f, 4, true);
    post_clear(&f->post);
    name_snapshot(f, 4, false);
    ck_assert(post_find(&f->post, TO_COORDINATOR, MESSAGE_CUT_TAKEN)->message.cut_taken.taken);
    ck_assert_uint_eq(post_count_all(&f->post), 1);
    post_clear(&f->post);
    part_written(f, 3, true); /* Of another cut. */
    name_snapshot(f, 4, false);
    ck_assert_uint_eq(post_count_all(&f->post), 1);
    for (int written = 0; written < 2; written++) {
        post_clear(&f->post);
        part_written(f, 4, written);
        name_snapshot(f, 4, false);
        struct packet *part = post_find(&f->post, TO_COORDINATOR, MESSAGE_PART_WRITTEN);
        ck_assert_uint_eq(part->message.part_written.part.bytes, 99);
        ck_assert_int_eq(part->message.part_written.written, written);
        ck_assert_uint_eq(post_count_all(&f->post), 2);
    }
    post_clear(&f->post);
    name_snapshot(f, 3, false); /* Late. */
    ck_assert_uint_eq(post_count_all(&f->post), 0);
}

TEST(a_cut_that_is_not_taken_gives_way_to_an_earlier_one, MODE_SYNC)
{
    serve(f);
    name_snapshot(f, 9, false);
    post_clear(&f->post);
    name_snapshot(f, 4, false);
    owners_snapshot(f, 9, true); /* It is not asked for any more. */
    ck_assert_ptr_null(post_find(&f->post, TO_COORDINATOR, MESSAGE_CUT_TAKEN));
    owners_snapshot(f, 4, true);
    ck_assert_uint_eq(
        post_find(&f->post, TO_COORDINATOR, MESSAGE_CUT_TAKEN)->message.cut_taken.step, 4);
    name_snapshot(f, 9, false);
    post_clear(&f->post);
    name_snapshot(f, 4, false); /* Late. */
    owners_snapshot(f, 9, true);
    ck_assert_uint_eq(
        post_find(&f->post, TO_COORDINATOR, MESSAGE_CUT_TAKEN)->message.cut_taken.step, 9);
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

TEST(a_final_cut_that_is_not_written_is_begun_anew, MODE_SYNC)
{
    serve(f);
    name_snapshot(f, 6, false);
    owners_snapshot(f, 6, true);
    post_clear(&f->post);
    name_snapshot(f, 6, true); /* Where another one is. */
    ck_assert_uint_eq(post_count(&f->post, TO_OWNER, MESSAGE_CUT), 2);
    post_clear(&f->post);
    f->now_us += 6 * SECOND;
    name_snapshot(f, 6, true); /* Under way. */
    ck_assert_uint_eq(post_count_all(&f->post), 0);
    owners_snapshot(f, 6, true);
    unsigned begun = 0;
    for (int i = 0; i < 40; i++) {
        post_clear(&f->post);
        name_snapshot(f, 6, true);
        ck_assert_uint_eq(post_count(&f->post, TO_COORDINATOR, MESSAGE_CUT_TAKEN), 1);
        if (post_count(&f->post, TO_OWNER, MESSAGE_CUT) > 0) {
            begun++;
            owners_snapshot(f, 6, true);
            if (begun == 2)
                part_written(f, 6, false); /* The disk may be better the next time. */
        }
        f->now_us += SECOND;
    }
    ck_assert_uint_eq(begun, 3); /* At once, after 10 s, after 20 s. */
    part_written(f, 6, true);
    f->now_us += 100 * SECOND;
    post_clear(&f->post);
    name_snapshot(f, 6, true);
    ck_assert_uint_eq(post_count(&f->post, TO_COORDINATOR, MESSAGE_PART_WRITTEN), 1);
    ck_assert_uint_eq(post_count(&f->post, TO_OWNER, MESSAGE_CUT), 0);
}

/* --- generations --------------------------------------------------------------------------- */

/* The order that every owner and the checkpointer have got. */
static struct order_load load_order(struct fixture *f)
{
    ck_assert_uint_eq(post_count_orders(&f->post, TO_OWNER, ORDER_LOAD), 2);
    ck_assert_uint_eq(post_count_orders(&f->post, TO_CHECKPOINTER, ORDER_LOAD), 1);
    const struct order *checkpointer = post_order(&f->post, TO_CHECKPOINTER, ORDER_LOAD);
    const struct order *owner = post_order_to(&f->post, TO_OWNER, 1, ORDER_LOAD);
    ck_assert_uint_eq(checkpointer->generation, f->generation);
    ck_assert_uint_eq(checkpointer->run_id, RUN);
    ck_assert_uint_eq(owner->generation, f->generation);
    ck_assert_int_eq(owner->load.restore, checkpointer->load.restore);
    return owner->load;
}

static void goes_back(struct fixture *f)
{
    serve(f);
    from_peer(f, good_exchange(f));
    post_clear(&f->post);
    BAD(REFUSAL_MALFORMED, m->exchange.chunk = 0);
    name_snapshot(f, 5, true);
    for (f->generation = 2; f->generation < 4; f->generation++) { /* Also while it is loading. */
        post_clear(&f->post);
        send_welcome(f, true);
        struct order_load load = load_order(f);
        ck_assert(load.restore);
        ck_assert_uint_eq(load.step, 3);
        ck_assert(router_state(f->router) == ROUTER_LOADING);
        ck_assert_uint_eq(router_joining(f->router)->envelope.generation, f->generation);
        ck_assert_uint_eq(router_counts(f->router).received, 0);
        struct message stamped = {0};
        envelope_seal_to_server(&router_joining(f->router)->envelope, &stamped);
        ck_assert_uint_eq(stamped.generation, f->generation);
        ck_assert_uint_eq(stamped.ticket, 3 + f->generation);
        for (uint32_t i = 0; i < 2 && f->generation == 2; i++)
            loaded(f, i - 1); /* One owner and the checkpointer. */
    }
    f->generation = 3;
    post_clear(&f->post);
    for (uint32_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(post_count(&f->post, TO_COORDINATOR, MESSAGE_READY), 0);
        loaded(f, i - 1);
    }
    struct packet *ready = post_find(&f->post, TO_COORDINATOR, MESSAGE_READY);
    ck_assert_uint_eq(ready->message.generation, 3);
    ck_assert_uint_eq(rejected(f), 0); /* And the cut of before is no hindrance. */
}

TEST(a_new_generation_loads_everything_again_in_sync, MODE_SYNC)
{
    goes_back(f);
}

TEST(a_new_generation_loads_everything_again_in_async, MODE_ASYNC)
{
    goes_back(f);
}

TEST_PLAIN(what_one_generation_has_loaded_is_not_what_the_next_one_needs)
{
    const uint32_t order[] = {0, 1, UINT32_MAX, 0, 1}; /* Owners and the checkpointer, from any. */
    for (int first = 0; first < 3; first++) {
        struct fixture f;
        open_fixture(&f, MODE_SYNC);
        send_pages(&f, UINT32_MAX);
        for (f.generation = 0; f.generation < 2; f.generation++) {
            send_welcome(&f, false);
            for (int i = 0; i < 2; i++) /* Of the one before another one was missing. */
                loaded(&f, order[first + i + (f.generation == 0)]);
        }
        f.generation = 1;
        ck_assert_uint_eq(post_count(&f.post, TO_COORDINATOR, MESSAGE_READY), 0);
        loaded(&f, order[first + 2]);
        ck_assert_uint_eq(post_count(&f.post, TO_COORDINATOR, MESSAGE_READY), 1);
        close_fixture(&f);
    }
}

TEST(an_old_or_repeated_welcome_changes_nothing, MODE_SYNC)
{
    f->generation = 2;
    serve(f);
    send_welcome(f, true);
    ck_assert_uint_eq(post_count_all(&f->post), 1);
    ck_assert_ptr_nonnull(post_find(&f->post, TO_COORDINATOR, MESSAGE_READY));
    post_clear(&f->post);
    f->generation = 1;
    send_welcome(f, true);
    ck_assert_uint_eq(post_count_all(&f->post), 0);
    ck_assert_uint_eq(router_joining(f->router)->envelope.generation, 2);
    ck_assert(router_state(f->router) == ROUTER_SERVING);
}

TEST(what_was_under_way_inside_when_the_generation_changed_is_dropped, MODE_SYNC)
{
    serve(f);
    f->generation = 1;
    send_welcome(f, false);
    post_clear(&f->post);
    const enum message_kind kinds[] = {MESSAGE_RESULT, MESSAGE_MOVED_ON, MESSAGE_RECEIPT,
                                       MESSAGE_CHUNK_STATE};
    for (int serving = 0; serving < 2; serving++) {
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            struct packet packet = {.peer = PEER, .payload = frame_of(1, 16), .weight = 100};
            packet.message.kind = kinds[i];
            from_inside(f, packet);
        }
        for (uint32_t i = 0; i < 4; i++) /* Loaded: what was asked for before. */
            obey(f, (struct order){.kind = ORDER_LOADED, .from = i - 1});
        obey(f, (struct order){.kind = ORDER_TAKEN});
        obey(f, (struct order){.kind = ORDER_OWNER_SNAPSHOT});
        ck_assert_uint_eq(post_count_all(&f->post), 0);
        ck_assert_int_eq(router_state(f->router) == ROUTER_SERVING, serving);
        if (!serving)
            all_loaded(f);
        post_clear(&f->post);
    }
    /* And from server 0. */
    struct message cut = {.kind = MESSAGE_CUT};
    from_coordinator(f, &cut);
    cut.kind = MESSAGE_STOP;
    from_coordinator(f, &cut);
    cut.generation = 2;
    from_coordinator(f, &cut);
    ck_assert_uint_eq(post_count_all(&f->post), 0);
    ck_assert_uint_eq(router_counts(f->router).fenced, 2);
}

/* --- alive --------------------------------------------------------------------------------- */

TEST(whoever_serves_says_ready_over_and_over_and_whoever_loads_asks_for_its_chunks, MODE_SYNC)
{
    send_pages(f, UINT32_MAX);
    send_welcome(f, true);
    struct order checkpointer = {.kind = ORDER_LOADED, .from = ORDER_FROM_CHECKPOINTER};
    checkpointer.loaded.needs_chunks = checkpointer.loaded.shared = true;
    obey(f, checkpointer);
    post_clear(&f->post);
    for (int i = 0; i < 21; i++, f->now_us += SECOND / 10) {
        router_tick(f->router, f->now_us, &f->post.outbox);
        if (i == 5) { /* One comes: the rest is waited for anew. */
            struct packet state = {.message.kind = MESSAGE_CHUNK_STATE, .payload = frame_of(1, 16)};
            state.message.chunk_state.first = 16;
            router_handle_coordinator(f->router, &state, f->now_us, &f->post.outbox);
        }
    }
    ck_assert_uint_eq(post_count(&f->post, TO_COORDINATOR, MESSAGE_PING), 5);
    ck_assert_uint_eq(post_count(&f->post, TO_COORDINATOR, MESSAGE_READY), 1); /* At 1.5 s. */
    ck_assert(post_find(&f->post, TO_COORDINATOR, MESSAGE_READY)->message.ready.needs_chunks);
    loaded(f, 0);
    loaded(f, 1);
    post_clear(&f->post);
    for (int i = 0; i < 21; i++, f->now_us += SECOND / 10)
        router_tick(f->router, f->now_us, &f->post.outbox);
    ck_assert_uint_eq(post_count(&f->post, TO_COORDINATOR, MESSAGE_PING), 0);
    ck_assert_uint_eq(post_count(&f->post, TO_COORDINATOR, MESSAGE_READY), 4);
    struct packet *ready = post_find(&f->post, TO_COORDINATOR, MESSAGE_READY);
    ck_assert(ready->message.ready.shared && !ready->message.ready.needs_chunks);
}

TEST(a_server_that_server_0_does_not_know_joins_again_and_keeps_its_chunks, MODE_SYNC)
{
    serve(f);
    struct message refused = {.kind = MESSAGE_REFUSED};
    refused.refused.reason = REFUSAL_REJOIN;
    double seconds;
    for (int i = 0; i < 2; i++)
        from_coordinator(f, &refused);
    ck_assert_str_eq(router_waiting(f->router, &seconds, f->now_us), "");
    router_tick(f->router, f->now_us += SECOND, &f->post.outbox);
    ck_assert_uint_eq(post_count(&f->post, TO_COORDINATOR, MESSAGE_JOIN), 1);
    ck_assert_uint_eq(post_count(&f->post, TO_COORDINATOR, MESSAGE_READY), 0);
    post_clear(&f->post);
    struct message waiting = {.kind = MESSAGE_WAITING};
    strcpy(waiting.waiting.text, "waiting for a worker");
    from_coordinator(f, &waiting);
    ck_assert_ptr_null(post_log(&f->post, "waiting")); /* Sixteen times a second. */
    ck_assert_str_eq(router_waiting(f->router, &seconds, f->now_us), "waiting for a worker");
    ck_assert(seconds == 1.0);
    from_peer(f, good_exchange(f)); /* Meanwhile it serves on. */
    ck_assert_ptr_nonnull(owner_got(f, 0));
    post_clear(&f->post);
    send_welcome(f, false);
    ck_assert_uint_eq(post_count(&f->post, TO_COORDINATOR, MESSAGE_READY), 1);
    ck_assert_ptr_null(router_waiting(f->router, &seconds, f->now_us));
    f->now_us += SECOND;
    router_tick(f->router, f->now_us, &f->post.outbox);
    ck_assert_uint_eq(post_count(&f->post, TO_COORDINATOR, MESSAGE_JOIN), 0);
}

TEST(another_run_is_none_of_a_server_s_that_has_one, MODE_SYNC)
{
    serve(f);
    struct message welcome = {.kind = MESSAGE_WELCOME, .run_id = RUN + 1, .generation = 9};
    from_coordinator(f, &welcome);
    ck_assert_int_eq(router_joining(f->router)->exit_code, EXIT_CLUSTER_LOST);
    ck_assert_uint_eq(post_count_all(&f->post), 0);
}

/* --- ends ---------------------------------------------------------------------------------- */

TEST(a_server_that_cannot_go_on_tells_server_0, MODE_SYNC)
{
    serve(f);
    router_fail(f->router, EXIT_TRAINING_FAILED, "out of memory for the model", &f->post.outbox);
    struct packet *stop = post_find(&f->post, TO_COORDINATOR, MESSAGE_STOP);
    ck_assert_uint_eq(stop->message.stop.exit_code, EXIT_TRAINING_FAILED);
    ck_assert_str_eq(stop->message.stop.reason, "out of memory for the model");
    ck_assert(router_state(f->router) == ROUTER_OVER);
    ck_assert_int_eq(router_joining(f->router)->exit_code, EXIT_TRAINING_FAILED);
}

TEST(finished_is_answered_with_bye_and_ends_it, MODE_SYNC)
{
    serve(f);
    struct message finished = {.kind = MESSAGE_FINISHED, .stop.exit_code = EXIT_CLUSTER_LOST};
    strcpy(finished.stop.reason, "lost worker/1");
    from_coordinator(f, &finished);
    ck_assert_uint_eq(post_count(&f->post, TO_COORDINATOR, MESSAGE_BYE), 1);
    ck_assert(router_state(f->router) == ROUTER_OVER);
    ck_assert_int_eq(router_joining(f->router)->exit_code, EXIT_CLUSTER_LOST);
    ck_assert_str_eq(router_joining(f->router)->reason, "lost worker/1");
    from_coordinator(f, &finished); /* The BYE was lost. */
    ck_assert_uint_eq(post_count(&f->post, TO_COORDINATOR, MESSAGE_BYE), 2);
}

/* How long each is waited for, and for whom: tests/unit/wire/test_joining.c. */
TEST_PLAIN(whatever_ends_a_server_s_enrolment_ends_the_server)
{
    enum { REFUSED, LOST, TIMED_OUT, ENDS };
    static const int codes[ENDS] = {EXIT_MISMATCH, EXIT_CLUSTER_LOST, EXIT_START_TIMEOUT};
    static const int seconds[ENDS] = {0, 60, 20};
    for (int end = 0; end < ENDS; end++) {
        struct fixture f;
        struct message refused = {.kind = MESSAGE_REFUSED, .refused.reason = REFUSAL_PROBE};
        open_fixture(&f, MODE_SYNC);
        if (end == LOST)
            serve(&f);
        for (int second = 0; second < seconds[end]; second++)
            router_tick(f.router, f.now_us += SECOND, &f.post.outbox);
        ck_assert(router_state(f.router) == (end == LOST ? ROUTER_SERVING : ROUTER_JOINING));
        if (end == REFUSED)
            from_coordinator(&f, &refused);
        router_tick(f.router, f.now_us += SECOND, &f.post.outbox);
        ck_assert(router_state(f.router) == ROUTER_OVER);
        ck_assert_int_eq(router_joining(f.router)->exit_code, codes[end]);
        post_clear(&f.post);
        router_tick(f.router, f.now_us += SECOND, &f.post.outbox);
        ck_assert_uint_eq(post_count_all(&f.post), 0);
        close_fixture(&f);
    }
}

int main(void)
{
    return suite_run("router", NULL);
}
