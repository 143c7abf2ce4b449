#include "ps/router.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/pages.h"
#include "tests/lib/post.h"
#include "tests/lib/suite.h"

enum { RUN = 77, PEER = 5, INCARNATION = 1234, SECOND = 1000000 };

/* Server 1 of 2: chunks 1 and 3 of the small job are its own. Two owners, two workers. */
struct fixture {
    struct router *router;
    struct job job;
    struct post post;
    uint64_t now_us;
};

static void open_server(struct fixture *f, enum mode mode, uint32_t server)
{
    struct router_options options = {
        .server = server,
        .incarnation = 9,
        .owner_count = 2,
        .start_timeout = 20,
        .worker_timeout = 5,
        .host = "here",
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
    struct message message = {.kind = MESSAGE_WELCOME, .run_id = RUN};
    message.welcome.restore = restore;
    message.welcome.restore_step = restore ? 3 : 0;
    strcpy(message.welcome.out, "/tmp/run");
    from_coordinator(f, &message);
}

static void from_inside(struct fixture *f, struct packet packet)
{
    router_handle_inside(f->router, &packet, f->now_us, &f->post.outbox);
}

static void loaded(struct fixture *f, uint32_t who)
{
    from_inside(f, (struct packet){.message = {.kind = MESSAGE_LOADED, .index = who}});
}

static void serve(struct fixture *f)
{
    send_pages(f, UINT32_MAX);
    send_welcome(f, false);
    loaded(f, 0);
    loaded(f, 1);
    loaded(f, UINT32_MAX);
    ck_assert(router_state(f->router) == ROUTER_SERVING);
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
    message->incarnation = INCARNATION;
    message->request = 31;
    bool async = f->job.mode == MODE_ASYNC;
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

static void from_peer(struct fixture *f, struct packet packet)
{
    router_handle_peer(f->router, &packet, f->now_us, &f->post.outbox);
    ck_assert_ptr_null(packet.payload);
}

static struct message *owner_got(struct fixture *f, uint32_t owner)
{
    struct packet *packet = post_find_to(&f->post, TO_OWNER, owner, MESSAGE_EXCHANGE);
    return packet != NULL ? &packet->message : NULL;
}

/* Rejected gradients as the router reports them with a cut. */
static uint64_t rejected(struct fixture *f)
{
    struct message cut = {.kind = MESSAGE_CUT};
    from_coordinator(f, &cut);
    post_clear(&f->post);
    for (uint32_t i = 0; i < 2; i++)
        from_inside(f, (struct packet){.message = {.kind = MESSAGE_OWNER_CUT, .index = i}});
    struct packet *taken = post_find(&f->post, TO_COORDINATOR, MESSAGE_CUT_TAKEN);
    ck_assert_ptr_nonnull(taken);
    uint64_t count = taken->message.cut_taken.verdicts.rejected;
    post_clear(&f->post);
    return count;
}

/* --- joining -----------------------------------------------------------------------------------
 */

START_TEST(it_joins_until_it_is_welcomed_and_says_when_it_is_ready)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    for (int i = 0; i < 1000; i++, f.now_us += SECOND / 1000) {
        router_tick(f.router, f.now_us, &f.post.outbox);
        int patience = router_patience_ms(f.router);
        ck_assert_int_eq(patience, i < 2    ? 2
                                   : i < 6  ? 4
                                   : i < 14 ? 8
                                   : i < 30 ? 16
                                   : i < 62 ? 32
                                            : 64);
    }
    /* At 0, 2, 6, 14, 30, 62 and then every 64 ms. */
    ck_assert_uint_eq(post_count(&f.post, TO_COORDINATOR, MESSAGE_JOIN), 6 + 14);
    ck_assert_str_eq(post_find(&f.post, TO_COORDINATOR, MESSAGE_JOIN)->message.join.host, "here");
    post_clear(&f.post);

    send_pages(&f, UINT32_MAX);
    ck_assert_ptr_null(router_plan(f.router));
    send_welcome(&f, false);
    ck_assert_ptr_nonnull(router_plan(f.router));
    ck_assert(router_state(f.router) == ROUTER_LOADING);
    ck_assert_uint_eq(post_count(&f.post, TO_OWNER, MESSAGE_LOAD), 2);
    ck_assert_str_eq(post_find(&f.post, TO_KEEPER, MESSAGE_LOAD)->message.load.out, "/tmp/run");
    send_welcome(&f, false); /* Repeated. */
    ck_assert_uint_eq(post_count(&f.post, TO_OWNER, MESSAGE_LOAD), 2);
    loaded(&f, 0);
    loaded(&f, UINT32_MAX);
    ck_assert_uint_eq(post_count(&f.post, TO_COORDINATOR, MESSAGE_READY), 0);
    loaded(&f, 1);
    ck_assert_uint_eq(post_count(&f.post, TO_COORDINATOR, MESSAGE_READY), 1);
    struct message stamped = {0};
    router_stamp(f.router, &stamped);
    ck_assert(stamped.role == ROLE_PS);
    ck_assert_uint_eq(stamped.index, 1);
    ck_assert_uint_eq(stamped.run_id, RUN);
    ck_assert_uint_eq(stamped.incarnation, 9);
    close_fixture(&f);
}
END_TEST

START_TEST(a_welcome_before_the_whole_declaration_is_waited_out)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    send_welcome(&f, false);
    ck_assert(router_state(f.router) == ROUTER_JOINING);
    send_pages(&f, 0);
    send_welcome(&f, false);
    ck_assert(router_state(f.router) == ROUTER_JOINING);
    send_pages(&f, UINT32_MAX);
    send_pages(&f, UINT32_MAX);
    send_welcome(&f, false);
    ck_assert(router_state(f.router) == ROUTER_LOADING);
    close_fixture(&f);
}
END_TEST

START_TEST(a_server_without_the_checkpoint_asks_for_its_chunks)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    send_pages(&f, UINT32_MAX);
    send_welcome(&f, true);
    ck_assert(post_find_to(&f.post, TO_OWNER, 0, MESSAGE_LOAD)->message.load.restore);
    struct packet keeper = {.message = {.kind = MESSAGE_LOADED, .index = UINT32_MAX}};
    keeper.message.loaded.needs_chunks = true;
    from_inside(&f, keeper);
    struct packet *ready = post_find(&f.post, TO_COORDINATOR, MESSAGE_READY);
    ck_assert(ready != NULL && ready->message.ready.needs_chunks);
    post_clear(&f.post);

    const uint64_t firsts[] = {16, 48}; /* Chunks 1 and 3, of owners 0 and 1. */
    for (uint32_t i = 0; i < 2; i++) {
        struct packet state = {.message.kind = MESSAGE_CHUNK_STATE, .payload = frame_of(1, 16)};
        state.message.chunk_state.first = firsts[i];
        router_handle_coordinator(f.router, &state, f.now_us, &f.post.outbox);
        ck_assert_ptr_nonnull(post_find_to(&f.post, TO_OWNER, i, MESSAGE_CHUNK_STATE));
    }
    loaded(&f, 0);
    loaded(&f, 1);
    ready = post_find(&f.post, TO_COORDINATOR, MESSAGE_READY);
    ck_assert(ready != NULL && !ready->message.ready.needs_chunks);
    close_fixture(&f);
}
END_TEST

START_TEST(a_keeper_that_cannot_load_ends_the_job)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    send_pages(&f, UINT32_MAX);
    send_welcome(&f, false);
    struct packet keeper = {.message = {.kind = MESSAGE_LOADED, .index = UINT32_MAX}};
    keeper.message.loaded.status = STATUS_IO;
    strcpy(keeper.message.loaded.text, "disk on fire");
    from_inside(&f, keeper);
    struct packet *stop = post_find(&f.post, TO_COORDINATOR, MESSAGE_STOP);
    ck_assert_uint_eq(stop->message.stop.exit_code, EXIT_CANNOT_OPEN);
    ck_assert_str_eq(stop->message.stop.reason, "disk on fire");
    ck_assert_int_eq(router_exit_code(f.router), EXIT_CANNOT_OPEN);
    close_fixture(&f);
}
END_TEST

/* --- exchanges ----------------------------------------------------------------------------------
 */

START_TEST(a_good_exchange_reaches_the_owner_of_its_chunk)
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
END_TEST

static unsigned bad_sent;

/* Refused, counted, and nothing reaches an owner. */
static void check_refused(struct fixture *f, struct packet packet, enum refusal reason,
                          const char *what)
{
    bool gradient = packet.message.exchange.gradient;
    from_peer(f, packet);
    ck_assert_msg(post_count(&f->post, TO_OWNER, MESSAGE_EXCHANGE) == 0, "%s", what);
    ck_assert_msg(post_count(&f->post, TO_PEER, MESSAGE_REFUSED) == 1, "%s", what);
    struct packet *refused = post_find(&f->post, TO_PEER, MESSAGE_REFUSED);
    ck_assert_msg(refused->message.refused.reason == reason, "%s: %s", what,
                  refused->message.refused.text);
    ck_assert_uint_eq(refused->peer, PEER);
    ck_assert_uint_eq(refused->message.request, 31);
    ck_assert_uint_gt(strlen(refused->message.refused.text), 0);
    post_clear(&f->post);
    bad_sent += gradient;
}

#define BAD(reason, change)                                                                        \
    do {                                                                                           \
        struct packet packet = good_exchange(&f);                                                  \
        struct message *m = &packet.message;                                                       \
        (void)m;                                                                                   \
        change;                                                                                    \
        check_refused(&f, packet, reason, #change);                                                \
    } while (0)
#define WITHOUT_PAYLOAD frame_release(packet.payload), packet.payload = NULL

START_TEST(every_kind_of_bad_exchange_is_refused_and_counted)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    serve(&f);
    from_peer(&f, good_exchange(&f)); /* INCARNATION is worker 0. */
    post_clear(&f.post);
    bad_sent = 0;
    BAD(REFUSAL_RUN, m->run_id = RUN + 1);
    BAD(REFUSAL_RUN, m->run_id = 0);
    BAD(REFUSAL_RUN, m->generation = 1);
    BAD(REFUSAL_MEMBER, m->role = ROLE_PS);
    BAD(REFUSAL_MEMBER, m->role = ROLE_OBSERVER);
    BAD(REFUSAL_MEMBER, m->role = ROLE_NONE);
    BAD(REFUSAL_MEMBER, m->index = 2);
    BAD(REFUSAL_MEMBER, m->index = UINT32_MAX);
    BAD(REFUSAL_MEMBER, m->incarnation = INCARNATION + 1);
    BAD(REFUSAL_MALFORMED, m->exchange.chunk = 0); /* Server 0's. */
    BAD(REFUSAL_MALFORMED, m->exchange.chunk = 4);
    BAD(REFUSAL_MALFORMED, m->exchange.chunk = UINT32_MAX);
    BAD(REFUSAL_MALFORMED, WITHOUT_PAYLOAD);
    BAD(REFUSAL_MALFORMED, (WITHOUT_PAYLOAD, packet.payload = frame_of(1, 15)));
    BAD(REFUSAL_MALFORMED, (WITHOUT_PAYLOAD, packet.payload = frame_of(1, 17)));
    BAD(REFUSAL_MALFORMED, (WITHOUT_PAYLOAD, packet.payload = frame_create(0)));
    BAD(REFUSAL_MALFORMED, (WITHOUT_PAYLOAD, packet.payload = frame_create(63)));
    BAD(REFUSAL_MALFORMED, m->exchange.gradient = false); /* And yet a payload. */
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
    /* Step 2 is the short one: two leaves. */
    BAD(REFUSAL_MALFORMED,
        (m->exchange.step = m->exchange.base_version = 2, m->exchange.node = (struct node){2, 2}));
    ck_assert_uint_eq(rejected(&f), bad_sent);
    from_peer(&f, good_exchange(&f));
    ck_assert_ptr_nonnull(owner_got(&f, 0));
    close_fixture(&f);
}
END_TEST

START_TEST(async_batches_come_whole)
{
    struct fixture f;
    open_fixture(&f, MODE_ASYNC);
    serve(&f);
    BAD(REFUSAL_MALFORMED, (m->exchange.node = (struct node){0, 2}, m->exchange.examples = 4));
    struct packet old = good_exchange(&f); /* Any base is fine here; the owner knows its version. */
    old.message.exchange.base_version = 0;
    from_peer(&f, old);
    ck_assert_ptr_nonnull(owner_got(&f, 0));
    close_fixture(&f);
}
END_TEST

START_TEST(the_first_incarnation_of_an_index_is_the_worker)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    serve(&f);
    struct packet first = good_exchange(&f);
    first.message.index = 1;
    first.message.incarnation = 555;
    from_peer(&f, first);
    ck_assert_ptr_nonnull(owner_got(&f, 0));
    post_clear(&f.post);
    BAD(REFUSAL_MEMBER, m->index = 1);
    from_peer(&f, good_exchange(&f)); /* Index 0 is free for it. */
    ck_assert_ptr_nonnull(owner_got(&f, 0));
    close_fixture(&f);
}
END_TEST

START_TEST(the_first_key_of_an_index_is_the_workers)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    serve(&f);
    struct packet first = good_exchange(&f), other = good_exchange(&f);
    first.key[0] = 1;
    other.key[0] = 2;
    from_peer(&f, first);
    ck_assert_ptr_nonnull(owner_got(&f, 0));
    post_clear(&f.post);
    from_peer(&f, other);
    ck_assert_ptr_null(owner_got(&f, 0));
    struct packet *answer = post_find(&f.post, TO_PEER, MESSAGE_REFUSED);
    ck_assert_ptr_nonnull(answer);
    ck_assert(answer->message.refused.reason == REFUSAL_KEY);
    post_clear(&f.post);
    ck_assert_uint_eq(rejected(&f), 1);
    close_fixture(&f);
}
END_TEST

START_TEST(nothing_is_taken_before_serving_or_after_the_end)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    BAD(REFUSAL_RUN, (void)0);
    send_pages(&f, UINT32_MAX);
    send_welcome(&f, false);
    post_clear(&f.post);
    BAD(REFUSAL_RUN, (void)0);
    loaded(&f, 0);
    loaded(&f, 1);
    loaded(&f, UINT32_MAX);
    post_clear(&f.post);
    struct message finished = {.kind = MESSAGE_FINISHED};
    from_coordinator(&f, &finished);
    post_clear(&f.post);
    from_peer(&f, good_exchange(&f));
    ck_assert_uint_eq(post_count_all(&f.post), 0); /* Server 0 tells the sender what it needs. */
    close_fixture(&f);
}
END_TEST

START_TEST(only_exchanges_are_for_a_server)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    serve(&f);
    for (unsigned kind = 1; kind < MESSAGE_WIRE_COUNT; kind++) {
        if (kind == MESSAGE_EXCHANGE)
            continue;
        struct packet packet = {.peer = PEER, .payload = frame_of(1, 16)};
        packet.message.kind = kind;
        packet.message.request = 31;
        from_peer(&f, packet);
        ck_assert_uint_eq(post_count_all(&f.post), 1);
        ck_assert(post_find(&f.post, TO_PEER, MESSAGE_REFUSED)->message.refused.reason ==
                  REFUSAL_MALFORMED);
        post_clear(&f.post);
    }
    ck_assert_uint_eq(rejected(&f), 0); /* They were no gradients. */
    close_fixture(&f);
}
END_TEST

/* --- answers, cuts, stops ------------------------------------------------------------------------
 */

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

START_TEST(every_answer_tells_the_last_version_and_a_stop_moves_it_past_what_was_given_out)
{
    struct fixture f;
    struct message stop = {.kind = MESSAGE_STOP};
    open_fixture(&f, MODE_SYNC);
    serve(&f);
    ck_assert_uint_eq(pass_result(&f, 2, true).stop_step, 6);
    ck_assert_uint_eq(pass_result(&f, 3, false).stop_step, 6); /* A receipt gives nothing out. */
    from_coordinator(&f, &stop);
    ck_assert_uint_eq(post_find(&f.post, TO_COORDINATOR, MESSAGE_STOP_AT)->message.stop_at.step, 3);
    post_clear(&f.post);
    ck_assert_uint_eq(pass_result(&f, 3, true).stop_step, 3);
    from_coordinator(&f, &stop); /* Again: it does not move on. */
    ck_assert_uint_eq(post_find(&f.post, TO_COORDINATOR, MESSAGE_STOP_AT)->message.stop_at.step, 3);
    close_fixture(&f);
}
END_TEST

START_TEST(a_stop_before_the_first_pull_of_a_resumed_run_is_not_before_its_checkpoint)
{
    struct fixture f;
    struct message stop = {.kind = MESSAGE_STOP};
    open_fixture(&f, MODE_SYNC);
    send_pages(&f, UINT32_MAX);
    send_welcome(&f, true); /* At step 3. */
    loaded(&f, 0);
    loaded(&f, 1);
    loaded(&f, UINT32_MAX);
    from_coordinator(&f, &stop);
    ck_assert_uint_ge(post_find(&f.post, TO_COORDINATOR, MESSAGE_STOP_AT)->message.stop_at.step, 3);
    close_fixture(&f);
}
END_TEST

START_TEST(a_cut_is_taken_when_every_owner_has_taken_it)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    serve(&f);
    for (int with = 0; with < 2; with++) {
        struct message cut = {.kind = MESSAGE_CUT, .cut.step = 4 + (uint64_t)with};
        from_coordinator(&f, &cut);
        ck_assert_uint_eq(post_count(&f.post, TO_OWNER, MESSAGE_CUT), 2);
        for (uint32_t i = 0; i < 2; i++) {
            ck_assert_uint_eq(post_count(&f.post, TO_COORDINATOR, MESSAGE_CUT_TAKEN), 0);
            struct packet done = {.message = {.kind = MESSAGE_OWNER_CUT, .index = i}};
            done.message.cut_taken = (struct message_cut_taken){.step = 4 + (uint64_t)with,
                                                                .taken = with || i == 1,
                                                                .verdicts = {10, 20, 30, 40 + i}};
            from_inside(&f, done);
        }
        struct packet *taken = post_find(&f.post, TO_COORDINATOR, MESSAGE_CUT_TAKEN);
        ck_assert_int_eq(taken->message.cut_taken.taken, with);
        ck_assert_uint_eq(taken->message.cut_taken.step, 4 + (uint64_t)with);
        ck_assert_uint_eq(taken->message.cut_taken.verdicts.applied, 20);
        ck_assert_uint_eq(taken->message.cut_taken.verdicts.rejected, 81);
        post_clear(&f.post);
    }
    close_fixture(&f);
}
END_TEST

/* --- ends
 * ----------------------------------------------------------------------------------------- */

START_TEST(finished_is_answered_with_bye_and_ends_it)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    serve(&f);
    struct message finished = {.kind = MESSAGE_FINISHED, .stop.exit_code = EXIT_CLUSTER_LOST};
    strcpy(finished.stop.reason, "lost worker/1");
    from_coordinator(&f, &finished);
    ck_assert_uint_eq(post_count(&f.post, TO_COORDINATOR, MESSAGE_BYE), 1);
    ck_assert(router_state(f.router) == ROUTER_OVER);
    ck_assert_int_eq(router_exit_code(f.router), EXIT_CLUSTER_LOST);
    ck_assert_str_eq(router_exit_reason(f.router), "lost worker/1");
    close_fixture(&f);
}
END_TEST

START_TEST(a_refusal_ends_it_with_the_code_of_its_kind)
{
    static const enum refusal reasons[] = {REFUSAL_RUN, REFUSAL_PROBE, REFUSAL_KEY};
    static const int codes[] = {EXIT_CLUSTER_LOST, EXIT_MISMATCH, EXIT_UNAUTHENTICATED};
    for (int i = 0; i < 3; i++) {
        struct fixture f;
        open_fixture(&f, MODE_SYNC);
        struct message refused = {.kind = MESSAGE_REFUSED};
        refused.refused.reason = reasons[i];
        from_coordinator(&f, &refused);
        ck_assert(router_state(f.router) == ROUTER_OVER);
        ck_assert_int_eq(router_exit_code(f.router), codes[i]);
        close_fixture(&f);
    }
}
END_TEST

/* Nothing comes over a wire, so it need not wait to be let in once it can be. */
START_TEST(server_0_asks_itself_at_every_tick)
{
    struct fixture f;
    open_server(&f, MODE_SYNC, 0);
    for (int i = 0; i < 10; i++)
        router_tick(f.router, f.now_us, &f.post.outbox);
    ck_assert_uint_eq(post_count(&f.post, TO_COORDINATOR, MESSAGE_JOIN), 10);
    ck_assert_int_eq(router_patience_ms(f.router), 100);
    close_fixture(&f);
}
END_TEST

START_TEST(nobody_is_waited_for_beyond_the_deadlines)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    f.now_us += 20 * SECOND;
    router_tick(f.router, f.now_us, &f.post.outbox);
    ck_assert(router_state(f.router) == ROUTER_JOINING);
    f.now_us += 1;
    router_tick(f.router, f.now_us, &f.post.outbox);
    ck_assert(router_state(f.router) == ROUTER_OVER);
    ck_assert_int_eq(router_exit_code(f.router), EXIT_START_TIMEOUT);
    ck_assert_ptr_nonnull(strstr(router_exit_reason(f.router), "nothing heard from ps/0"));
    close_fixture(&f);

    for (int serving = 0; serving < 2; serving++) {
        open_fixture(&f, MODE_SYNC);
        if (serving) {
            serve(&f);
        } else {
            send_pages(&f, UINT32_MAX);
            send_welcome(&f, false);
        }
        f.now_us += 4 * SECOND;
        struct message pong = {.kind = MESSAGE_PONG};
        from_coordinator(&f, &pong);
        f.now_us += 4 * SECOND;
        router_tick(f.router, f.now_us, &f.post.outbox);
        ck_assert(router_state(f.router) != ROUTER_OVER);
        ck_assert_uint_eq(post_count(&f.post, TO_COORDINATOR, MESSAGE_PING), 1);
        f.now_us += 2 * SECOND;
        router_tick(f.router, f.now_us, &f.post.outbox);
        ck_assert(router_state(f.router) == ROUTER_OVER);
        ck_assert_int_eq(router_exit_code(f.router), EXIT_CLUSTER_LOST);
        ck_assert_str_eq(router_exit_reason(f.router), "lost ps/0: nothing heard for 6.0 s");
        close_fixture(&f);
    }
}
END_TEST

static void add(TCase *t)
{
    tcase_add_test(t, it_joins_until_it_is_welcomed_and_says_when_it_is_ready);
    tcase_add_test(t, a_welcome_before_the_whole_declaration_is_waited_out);
    tcase_add_test(t, a_server_without_the_checkpoint_asks_for_its_chunks);
    tcase_add_test(t, a_keeper_that_cannot_load_ends_the_job);
    tcase_add_test(t, a_good_exchange_reaches_the_owner_of_its_chunk);
    tcase_add_test(t, every_kind_of_bad_exchange_is_refused_and_counted);
    tcase_add_test(t, async_batches_come_whole);
    tcase_add_test(t, the_first_incarnation_of_an_index_is_the_worker);
    tcase_add_test(t, the_first_key_of_an_index_is_the_workers);
    tcase_add_test(t, nothing_is_taken_before_serving_or_after_the_end);
    tcase_add_test(t, only_exchanges_are_for_a_server);
    tcase_add_test(t,
                   every_answer_tells_the_last_version_and_a_stop_moves_it_past_what_was_given_out);
    tcase_add_test(t, a_stop_before_the_first_pull_of_a_resumed_run_is_not_before_its_checkpoint);
    tcase_add_test(t, a_cut_is_taken_when_every_owner_has_taken_it);
    tcase_add_test(t, finished_is_answered_with_bye_and_ends_it);
    tcase_add_test(t, a_refusal_ends_it_with_the_code_of_its_kind);
    tcase_add_test(t, server_0_asks_itself_at_every_tick);
    tcase_add_test(t, nobody_is_waited_for_beyond_the_deadlines);
}

int main(void)
{
    return suite_run("router", add);
}
