/* test_joining.c - how a process gets into the job and stays there: what it says to server 0, what
 * it hears and how long it waits, in made-up time. */

#include "common/wire/joining.h"

#include <stdio.h>
#include <string.h>

#include "tests/lib/post.h"
#include "tests/lib/suite.h"

enum { RUN = 77, SECOND = 1000000 };

struct fixture {
    enum role role;
    struct joining joining;
    struct post post;
    uint64_t now_us;
};

static void init(struct fixture *f, uint32_t index, uint64_t began_us)
{
    static const uint8_t job[DIGEST_BYTES] = {1};
    const struct joining_options options = {
        .index = index,
        .probe_digest = {2},
        .host = "here",
        .arithmetic = "AVX-512",
        .deadlines = {.start = 20, .silence = 5, .recovery = 60},
        .began_us = began_us,
    };
    bool worker = f->role == ROLE_WORKER;
    joining_init(&f->joining, f->role, &options, worker ? job : NULL, f->now_us);
}

static void open_fixture(struct fixture *f, enum role role)
{
    *f = (struct fixture){.role = role, .now_us = 100 * SECOND};
    init(f, 1, 0);
}

/* Every test is run for both who enrol, as _i. */
static const enum role roles[] = {ROLE_PS, ROLE_WORKER};
#define TEST(name)                                                                                 \
    SUITE_TEST_TIMES(name, 2, struct fixture, f, open_fixture(f, roles[_i]), post_free(&f->post))

/* In steps of at most a tenth of a second, as whoever drives it does. */
static void tick(struct fixture *f, double seconds)
{
    uint64_t end_us = f->now_us + (uint64_t)(seconds * SECOND);
    do {
        uint64_t left_us = end_us - f->now_us;
        f->now_us += left_us < SECOND / 10 ? left_us : SECOND / 10;
        joining_tick(&f->joining, f->now_us, &f->post.outbox);
        joining_watch(&f->joining, f->now_us, &f->post.outbox);
    } while (f->now_us < end_us);
}

static enum destination server_0(const struct fixture *f)
{
    return f->role == ROLE_PS ? TO_COORDINATOR : TO_SERVER;
}

static bool hear(struct fixture *f, enum message_kind kind)
{
    const struct message message = {.kind = kind};
    return joining_hear(&f->joining, &message, f->now_us, &f->post.outbox);
}

static enum welcome welcome(struct fixture *f, uint64_t run_id, uint64_t generation,
                            uint64_t ticket)
{
    struct message message = {.kind = MESSAGE_WELCOME, .run_id = run_id, .generation = generation};
    message.welcome.ticket = ticket;
    message.welcome.proof = 1000 + ticket;
    return joining_welcome(&f->joining, &message);
}

static void refuse(struct fixture *f, enum refusal reason, uint64_t request)
{
    struct message message = {.kind = MESSAGE_REFUSED, .request = request};
    message.refused.reason = reason;
    strcpy(message.refused.text, "because");
    joining_refused(&f->joining, &message, joining_exit_code(&f->joining, reason), f->now_us,
                    &f->post.outbox);
}

/* A member that trains. */
static void start(struct fixture *f)
{
    tick(f, 0);
    ck_assert(welcome(f, RUN, 1, 3) == WELCOME_GENERATION);
    f->joining.started = true;
    post_clear(&f->post);
}

static void check_over(const struct fixture *f, int exit_code, const char *reason)
{
    ck_assert(f->joining.over);
    ck_assert_int_eq(f->joining.exit_code, exit_code);
    ck_assert_str_eq(f->joining.reason, reason);
}

/* And again in the same way when it joins again. */
TEST(it_asks_ever_more_seldom_and_says_what_it_is)
{
    for (int again = 0; again < 2; again++) {
        for (int i = 0; i < 1000; i++, f->now_us += SECOND / 1000) {
            int patience = i < 2 ? 2 : i < 6 ? 4 : i < 14 ? 8 : i < 30 ? 16 : i < 62 ? 32 : 64;
            tick(f, 0);
            ck_assert_int_eq(joining_patience_ms(&f->joining), patience);
        }
        ck_assert_uint_eq(post_count(&f->post, server_0(f), MESSAGE_JOIN), 6 + 14);
        const struct message *join = &post_find(&f->post, server_0(f), MESSAGE_JOIN)->message;
        ck_assert_uint_eq(join->ticket, 0);
        ck_assert_uint_eq(join->join.version_min, PROTOCOL_VERSION_MIN);
        ck_assert_uint_eq(join->join.version_max, PROTOCOL_VERSION_MAX);
        ck_assert_uint_eq(join->join.job_digest[0], f->role == ROLE_WORKER);
        ck_assert_uint_eq(join->join.probe_digest[0], 2);
        ck_assert_str_eq(join->join.host, "here");
        ck_assert_str_eq(join->join.arithmetic, "AVX-512");
        if (!again)
            start(f);
        tick(f, 1);
        ck_assert_uint_eq(post_count(&f->post, server_0(f), MESSAGE_JOIN) == 0, !again);
        refuse(f, REFUSAL_REJOIN, 0);
        ck_assert_int_eq(post_log(&f->post, "joining again: because") != NULL, !again);
        post_clear(&f->post);
    }
    init(f, 0, 0); /* Server 0's to itself arrives, and need not wait. */
    for (int i = 0; i < 10; i++)
        tick(f, 0);
    ck_assert_uint_eq(post_count(&f->post, server_0(f), MESSAGE_JOIN), f->role == ROLE_PS ? 10 : 1);
}

TEST(of_two_welcomes_the_later_is_that_of_the_greater_generation_and_ticket)
{
    static const struct {
        uint64_t run_id, generation, ticket;
        bool joining;
        enum welcome welcome;
    } cases[] = {
        {RUN, 1, 3, true, WELCOME_GENERATION},     {RUN, 1, 3, false, WELCOME_REPEATED},
        {RUN, 1, 2, false, WELCOME_OLD},           {RUN, 1, 4, false, WELCOME_AGAIN},
        {RUN, 0, 9, false, WELCOME_OLD},           {RUN, 1, 3, true, WELCOME_OLD},
        {RUN, 1, 4, true, WELCOME_AGAIN}, /* It is known after all. */
        {RUN, 1, 7, true, WELCOME_AGAIN},          {RUN, 2, 1, false, WELCOME_GENERATION},
        {RUN + 1, 3, 9, false, WELCOME_OTHER_RUN}, {RUN + 1, 3, 9, true, WELCOME_OTHER_RUN},
        {RUN, 4, 1, true, WELCOME_GENERATION},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct envelope expected = f->joining.envelope;
        if (cases[i].joining)
            refuse(f, REFUSAL_REJOIN, 0);
        ck_assert_int_eq(welcome(f, cases[i].run_id, cases[i].generation, cases[i].ticket),
                         cases[i].welcome);
        bool taken = cases[i].welcome == WELCOME_GENERATION || cases[i].welcome == WELCOME_AGAIN;
        if (taken) {
            expected.run_id = RUN;
            expected.generation = cases[i].generation;
            expected.ticket = cases[i].ticket;
            expected.proof = 1000 + cases[i].ticket;
        }
        ck_assert_mem_eq(&f->joining.envelope, &expected, sizeof expected);
        ck_assert(f->joining.joining == (cases[i].joining && !taken));
    }
    /* What a worker says is said as that; a server's are sealed on their way out. */
    const struct message *ping = joining_say(&f->joining, MESSAGE_PING, &f->post.outbox);
    ck_assert_uint_eq(ping->generation, 4);
    ck_assert_uint_eq(ping->ticket, f->role == ROLE_WORKER);
}

TEST(a_refusal_has_the_code_of_its_kind)
{
    static const struct {
        enum refusal reason;
        int joining, member; /* -1: no end. */
    } cases[] = {
        {REFUSAL_VERSION, EXIT_MISMATCH, EXIT_MISMATCH},
        {REFUSAL_JOB, EXIT_MISMATCH, EXIT_MISMATCH},
        {REFUSAL_MEMBER, EXIT_MISMATCH, EXIT_CLUSTER_LOST},
        {REFUSAL_PROBE, EXIT_MISMATCH, EXIT_MISMATCH},
        {REFUSAL_RUN, EXIT_CLUSTER_LOST, EXIT_CLUSTER_LOST},
        {REFUSAL_MALFORMED, EXIT_TRAINING_FAILED, EXIT_TRAINING_FAILED},
        {REFUSAL_KEY, EXIT_UNAUTHENTICATED, EXIT_UNAUTHENTICATED},
        {REFUSAL_REJOIN, -1, -1},
    };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        int code = i % 2 ? cases[i / 2].member : cases[i / 2].joining;
        init(f, 1, 0);
        if (i % 2)
            start(f);
        refuse(f, cases[i / 2].reason, 0);
        if (code >= 0)
            check_over(f, code, "because");
        ck_assert(f->joining.over == (code >= 0));
        ck_assert(f->joining.joining == (i % 2 == 0 || code < 0));
    }
    for (uint64_t request = 30; request < 32; request++) { /* Numbered; one from before. */
        init(f, 1, 0);
        f->joining.envelope.last_request = 30;
        welcome(f, RUN, 1, 3);
        refuse(f, REFUSAL_REJOIN, request);
        ck_assert(f->joining.joining == (request == 31));
        refuse(f, REFUSAL_MEMBER, request);
        ck_assert(f->joining.over == (request == 31));
    }
}

TEST(the_end_of_this_run_is_answered_with_bye_as_often_as_it_is_said)
{
    const struct message other = {.kind = MESSAGE_FINISHED, .run_id = RUN + 1};
    start(f);
    ck_assert(!joining_finished(&f->joining, &other, &f->post.outbox));
    joining_end(&f->joining, EXIT_MISMATCH, "another process");
    joining_end(&f->joining, EXIT_DONE, "a later end");
    for (unsigned byes = 0; byes < 3; byes++) {
        ck_assert_uint_eq(post_count(&f->post, server_0(f), MESSAGE_BYE), byes);
        ck_assert(!hear(f, MESSAGE_PONG) && !hear(f, MESSAGE_FINISHED));
    }
    check_over(f, EXIT_MISMATCH, "another process");
}

TEST(a_start_that_does_not_come_is_given_up_after_server_0_had_its_say)
{
    for (int i = 0; i < 8; i++) {
        bool in = i & 1, says = i & 2, is_heard = i & 4; /* It may have said so, and be gone. */
        init(f, 1, f->now_us - 10 * SECOND);             /* What came before counts. */
        if (in)
            welcome(f, RUN, 1, 3);
        if (says)
            joining_wait(&f->joining, "no worker has declared a job yet");
        for (int second = 0; second < 10; second++, tick(f, 1))
            if (is_heard)
                hear(f, MESSAGE_PONG);
        tick(f, 0.5);
        ck_assert(!f->joining.over);
        tick(f, 0.1);
        check_over(f, EXIT_START_TIMEOUT,
                   says && is_heard ? "start timed out after 20 s: no worker has declared a job yet"
                                    : "start timed out after 20 s: nothing heard from ps/0");
    }
}

TEST(a_silent_server_0_is_waited_for_and_then_lost)
{
    start(f);
    for (int times = 0; times < 2; times++) {
        hear(f, MESSAGE_PONG);
        ck_assert_int_eq(post_log(&f->post, "ps/0 is heard again, after 1 min") != NULL, times);
        tick(f, 5);
        ck_assert_ptr_null(post_log(&f->post, "nothing heard"));
        tick(f, 0.1);
        ck_assert_ptr_nonnull(post_log(
            &f->post, "nothing heard from ps/0 for 5.1 s; waiting until it has been 1 min"));
        post_clear(&f->post);
        tick(f, 54.9);
        ck_assert_ptr_null(post_log(&f->post, "nothing heard")); /* Said once. */
        ck_assert(!f->joining.over);
    }
    tick(f, 0.9);
    check_over(f, EXIT_CLUSTER_LOST, "lost ps/0: nothing heard for 1 min");
}

/* Longer than any deadline, but it was this process that was stopped. */
TEST(silence_counts_only_while_it_is_watched)
{
    start(f);
    for (int stopped = 0; stopped < 2; stopped++) {
        tick(f, 2.5);
        ck_assert_ptr_null(post_log(&f->post, "nothing heard"));
        f->now_us += 100 * SECOND; /* And nothing is in the queues when it goes on. */
        ck_assert_uint_eq(joining_tick(&f->joining, f->now_us, &f->post.outbox), 100 * SECOND);
        ck_assert_uint_eq(joining_tick(&f->joining, f->now_us, &f->post.outbox), 0);
    }
    tick(f, 0.1); /* What was watched in between is not forgotten. */
    ck_assert_ptr_nonnull(post_log(&f->post, "nothing heard from ps/0 for 5.1 s"));
    f->now_us += 100 * SECOND;
    hear(f, MESSAGE_PONG); /* Before the first look at the clock. */
    post_clear(&f->post);
    tick(f, 5);
    ck_assert_ptr_null(post_log(&f->post, "nothing heard"));
}

/* Its launcher is gone, and others have nothing of it; or it is given up, and started again. */
TEST(whoever_has_lost_its_leash_and_is_no_member_ends)
{
    joining_abandon(&f->joining);
    tick(f, 0.1);
    check_over(f, EXIT_CLUSTER_LOST, "its standard input has ended, and it is no member of a job");
}

/* Nobody would start server 0 again; before there is a job it will say when, if it is there. */
TEST(whoever_is_abandoned_or_stopped_does_not_wait_for_a_silent_server_0)
{
    start(f);
    joining_abandon(&f->joining);
    tick(f, 5);
    ck_assert(!f->joining.over);
    tick(f, 0.1);
    check_over(f, EXIT_CLUSTER_LOST, "lost ps/0: nothing heard for 5.1 s");
    for (int i = 0; i < 4; i++) {
        bool is_heard = i & 1, stopped = i & 2;
        init(f, 0, 0);
        f->joining.at_every_tick = true; /* As server 0 itself. */
        if (stopped)
            joining_stop(&f->joining, EXIT_INTERRUPTED);
        joining_abandon(&f->joining);
        for (int tenth = 0; tenth < 11; tenth++) {
            ck_assert(!f->joining.over);
            if (is_heard)
                hear(f, MESSAGE_PONG);
            tick(f, 0.1);
        }
        ck_assert(f->joining.over == !is_heard);
        if (!is_heard)
            check_over(f, stopped ? EXIT_INTERRUPTED : EXIT_TERMINATED,
                       "stopped before there was a job");
    }
}

int main(void)
{
    return suite_run("joining", NULL);
}
