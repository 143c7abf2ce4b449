#include "ps/coordinator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/pages.h"
#include "tests/lib/post.h"
#include "tests/lib/suite.h"

enum { RUN = 77, SECOND = 1000000 };

/* Two servers, two workers. Peers: workers 10 and 11, server 1 is 21, server 0's router is local.
 */
struct fixture {
    struct coordinator *coordinator;
    struct job job;
    struct post post;
    uint64_t now_us, request;
};

static void open_fixture(struct fixture *f, enum mode mode)
{
    struct coordinator_options options = {
        .run_id = RUN,
        .out = "/tmp/out",
        .start_timeout = 60,
        .worker_timeout = 10,
        .stop_timeout = 30,
    };
    memset(f, 0, sizeof *f);
    f->job = small_job(mode, 2, 2);
    f->now_us = SECOND;
    ck_assert(coordinator_create(&f->coordinator, &options, f->now_us) == STATUS_OK);
}

static void close_fixture(struct fixture *f)
{
    post_free(&f->post);
    coordinator_destroy(&f->coordinator);
    job_free(&f->job);
}

static uint64_t peer_of(enum role role, uint32_t index)
{
    return role == ROLE_WORKER ? 10 + index : index == 0 ? PEER_LOCAL : 20 + index;
}

static struct packet packet_of(struct fixture *f, enum role role, uint32_t index,
                               enum message_kind kind)
{
    struct packet packet = {.peer = peer_of(role, index)};
    packet.message.kind = kind;
    packet.message.role = role;
    packet.message.index = index;
    packet.message.incarnation = 100 * role + index + 1;
    packet.message.run_id = RUN;
    packet.message.request = ++f->request;
    return packet;
}

static void give(struct fixture *f, struct packet packet)
{
    coordinator_handle(f->coordinator, &packet, f->now_us, &f->post.outbox);
}

static void say(struct fixture *f, enum role role, uint32_t index, enum message_kind kind)
{
    give(f, packet_of(f, role, index, kind));
}

static void from_keeper(struct fixture *f, struct message message)
{
    struct packet packet = {.message = message};
    coordinator_handle_keeper(f->coordinator, &packet, f->now_us, &f->post.outbox);
}

static void tick(struct fixture *f, double seconds)
{
    f->now_us += (uint64_t)(seconds * SECOND);
    coordinator_tick(f->coordinator, f->now_us, &f->post.outbox);
}

/* The first message of this kind to this peer, or NULL. */
static struct message *told(struct fixture *f, uint64_t peer, enum message_kind kind)
{
    post_find(&f->post, TO_PEER, kind);
    for (size_t i = 0; i < f->post.taken_count; i++)
        if (f->post.taken[i].to == TO_PEER && f->post.taken[i].packet.peer == peer &&
            f->post.taken[i].packet.message.kind == kind)
            return &f->post.taken[i].packet.message;
    return NULL;
}

static struct packet join_of(struct fixture *f, enum role role, uint32_t index)
{
    struct packet packet = packet_of(f, role, index, MESSAGE_JOIN);
    struct message_join *join = &packet.message.join;
    packet.message.run_id = 0;
    join->version_min = PROTOCOL_VERSION_MIN;
    join->version_max = PROTOCOL_VERSION_MAX;
    snprintf(join->host, sizeof join->host, "host%u", index);
    memset(join->probe_digest, (int)role, sizeof join->probe_digest);
    if (role == ROLE_WORKER) {
        ck_assert(job_digest(&f->job, join->job_digest) == STATUS_OK);
    }
    return packet;
}

static void join(struct fixture *f, enum role role, uint32_t index)
{
    give(f, join_of(f, role, index));
}

static void declare(struct fixture *f, uint32_t worker, const struct job *job)
{
    uint8_t *bytes;
    uint32_t count;
    ck_assert(job_encode(job, &bytes, &count) == STATUS_OK);
    struct packet packet = packet_of(f, ROLE_WORKER, worker, MESSAGE_JOB_PAGE);
    for (uint32_t i = 0; pages_cut(bytes, count, i, &packet.message.job_page); i++)
        give(f, packet);
    free(bytes);
}

static void run_opened(struct fixture *f, bool restore, uint64_t step)
{
    struct message opened = {.kind = MESSAGE_RUN_OPENED};
    opened.run_opened.restore = restore;
    opened.run_opened.restore_step = step;
    from_keeper(f, opened);
}

static void gather(struct fixture *f)
{
    join(f, ROLE_WORKER, 0);
    declare(f, 0, &f->job);
    run_opened(f, false, 0);
    post_clear(&f->post);
}

static void start(struct fixture *f)
{
    gather(f);
    for (uint32_t i = 0; i < 2; i++) {
        join(f, ROLE_PS, i);
        join(f, ROLE_WORKER, i);
        say(f, ROLE_PS, i, MESSAGE_READY);
    }
    ck_assert_ptr_nonnull(told(f, 10, MESSAGE_START));
    post_clear(&f->post);
}

static void report(struct fixture *f, uint32_t worker, uint64_t step, struct node node)
{
    struct packet packet = packet_of(f, ROLE_WORKER, worker, MESSAGE_REPORT);
    packet.message.report.step = step;
    packet.message.report.node = node;
    packet.message.report.examples = 2 * node.leaf_count;
    packet.message.report.loss = 1 << 20;
    give(f, packet);
}

static void stop(struct fixture *f, enum role role, uint32_t index, uint32_t code,
                 const char *reason)
{
    struct packet packet = packet_of(f, role, index, MESSAGE_STOP);
    packet.message.stop.exit_code = code;
    snprintf(packet.message.stop.reason, MESSAGE_TEXT_MAX, "%s", reason);
    give(f, packet);
}

static void check_finished(struct fixture *f, uint64_t peer, uint32_t code, const char *reason)
{
    struct message *finished = told(f, peer, MESSAGE_FINISHED);
    ck_assert_ptr_nonnull(finished);
    ck_assert_uint_eq(finished->stop.exit_code, code);
    ck_assert_msg(strstr(finished->stop.reason, reason) != NULL, "%s", finished->stop.reason);
}

static void check_all_finished(struct fixture *f, uint32_t code, const char *reason)
{
    const uint64_t peers[] = {10, 11, 21, PEER_LOCAL};
    for (int i = 0; i < 4; i++)
        check_finished(f, peers[i], code, reason);
}

static void all_leave(struct fixture *f)
{
    for (uint32_t i = 0; i < 2; i++) {
        ck_assert(!coordinator_is_over(f->coordinator));
        say(f, ROLE_WORKER, i, MESSAGE_BYE);
        say(f, ROLE_PS, i, MESSAGE_BYE);
    }
    ck_assert(coordinator_is_over(f->coordinator));
}

/* --- joining -----------------------------------------------------------------------------------
 */

START_TEST(the_first_worker_declares_and_the_others_are_measured_by_it)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    join(&f, ROLE_PS, 1);
    ck_assert_ptr_nonnull(told(&f, 21, MESSAGE_WAITING));
    join(&f, ROLE_WORKER, 1);
    ck_assert_ptr_nonnull(told(&f, 11, MESSAGE_WANT_JOB));
    ck_assert_uint_eq(told(&f, 11, MESSAGE_WANT_JOB)->request, 2);
    join(&f, ROLE_WORKER, 0);
    ck_assert_ptr_nonnull(strstr(told(&f, 10, MESSAGE_WAITING)->waiting.text, "another worker"));
    declare(&f, 0, &f.job); /* Not asked for. */
    ck_assert_ptr_null(post_find(&f.post, TO_KEEPER, MESSAGE_OPEN_RUN));
    declare(&f, 1, &f.job);
    ck_assert_ptr_nonnull(post_find(&f.post, TO_KEEPER, MESSAGE_OPEN_RUN));
    post_clear(&f.post);
    join(&f, ROLE_WORKER, 0);
    ck_assert_ptr_nonnull(told(&f, 10, MESSAGE_WAITING)); /* The run directory is being opened. */
    run_opened(&f, false, 0);
    join(&f, ROLE_WORKER, 0);
    ck_assert_ptr_nonnull(told(&f, 10, MESSAGE_WELCOME));
    join(&f, ROLE_PS, 1);
    ck_assert_ptr_nonnull(told(&f, 21, MESSAGE_JOB_PAGE));
    ck_assert_str_eq(told(&f, 21, MESSAGE_WELCOME)->welcome.out, "/tmp/out");
    close_fixture(&f);
}
END_TEST

START_TEST(a_declaration_that_stops_coming_makes_room_for_another)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    join(&f, ROLE_WORKER, 0);
    f.now_us += 5 * SECOND;
    join(&f, ROLE_WORKER, 1);
    ck_assert_ptr_nonnull(told(&f, 11, MESSAGE_WANT_JOB));
    declare(&f, 0, &f.job);
    ck_assert_ptr_null(post_find(&f.post, TO_KEEPER, MESSAGE_OPEN_RUN));
    declare(&f, 1, &f.job);
    ck_assert_ptr_nonnull(post_find(&f.post, TO_KEEPER, MESSAGE_OPEN_RUN));
    close_fixture(&f);
}
END_TEST

START_TEST(it_starts_once_when_all_are_there_in_whatever_order)
{
    static const uint8_t orders[][6] = {
        {0, 1, 2, 3, 4, 5}, {3, 4, 5, 0, 1, 2}, {1, 4, 0, 3, 2, 5}, {4, 3, 5, 1, 2, 0}};
    for (int order = 0; order < 4; order++) {
        struct fixture f;
        open_fixture(&f, MODE_SYNC);
        gather(&f);
        for (int i = 0; i < 6; i++) {
            ck_assert_uint_eq(post_count(&f.post, TO_PEER, MESSAGE_START), 0);
            /* 0 and 3: a worker joins; 1 and 4: a server; 2 and 5: that server is ready. */
            uint32_t index = orders[order][i] / 3;
            if (orders[order][i] % 3 == 0)
                join(&f, ROLE_WORKER, index);
            else if (orders[order][i] % 3 == 1)
                join(&f, ROLE_PS, index);
            else
                say(&f, ROLE_PS, index, MESSAGE_READY);
        }
        ck_assert_uint_eq(post_count(&f.post, TO_PEER, MESSAGE_START), 2);
        for (uint32_t i = 0; i < 2; i++) {
            struct message *message = told(&f, 10 + i, MESSAGE_START);
            ck_assert_uint_eq(message->start.position, i);
            ck_assert_uint_eq(message->start.members, 2);
            ck_assert_uint_eq(message->start.step, 0);
            ck_assert_uint_eq(message->start.stop_step, 6);
        }
        say(&f, ROLE_PS, 1, MESSAGE_READY); /* Repeated. */
        join(&f, ROLE_WORKER, 0);
        ck_assert_uint_eq(post_count(&f.post, TO_PEER, MESSAGE_START), 2);
        close_fixture(&f);
    }
}
END_TEST

static void declare_other(struct fixture *f, struct job *other, const char *difference)
{
    struct packet packet = join_of(f, ROLE_WORKER, 1);
    packet.message.join.job_digest[0] ^= 1;
    give(f, packet);
    ck_assert_ptr_nonnull(told(f, 11, MESSAGE_WANT_JOB));
    declare(f, 1, other);
    struct message *refused = told(f, 11, MESSAGE_REFUSED);
    ck_assert_ptr_nonnull(refused);
    ck_assert(refused->refused.reason == REFUSAL_JOB);
    ck_assert_str_eq(refused->refused.text, difference);
    post_clear(&f->post);
}

START_TEST(a_worker_with_another_job_is_told_what_differs)
{
    struct fixture f;
    struct job other;
    open_fixture(&f, MODE_SYNC);
    gather(&f);
    ck_assert(job_copy(&other, &f.job) == STATUS_OK);
    other.seed = 8;
    declare_other(&f, &other, "seed: 7 in the running job, 8 in worker/1");
    other.seed = 7;
    other.batch = 16;
    declare_other(&f, &other, "batch: 8 in the running job, 16 in worker/1");
    job_free(&other);
    join(&f, ROLE_WORKER, 1); /* With the right one it may still come. */
    ck_assert_ptr_nonnull(told(&f, 11, MESSAGE_WELCOME));
    close_fixture(&f);
}
END_TEST

static void check_refused(struct fixture *f, struct packet packet, enum refusal reason,
                          const char *text)
{
    uint64_t peer = packet.peer;
    give(f, packet);
    struct message *refused = told(f, peer, MESSAGE_REFUSED);
    ck_assert_ptr_nonnull(refused);
    ck_assert_msg(refused->refused.reason == reason, "%s", refused->refused.text);
    ck_assert_msg(strstr(refused->refused.text, text) != NULL, "%s", refused->refused.text);
    ck_assert_ptr_null(told(f, peer, MESSAGE_WELCOME));
    post_clear(&f->post);
}

START_TEST(a_host_may_have_its_own_name_for_the_data)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    gather(&f);
    strcpy(f.job.data, "/mnt/elsewhere/fashion");
    join(&f, ROLE_WORKER, 1);
    ck_assert_ptr_nonnull(told(&f, 11, MESSAGE_WELCOME));
    f.job.data_digest[0] ^= 1; /* But not other data. */
    join(&f, ROLE_WORKER, 0);
    ck_assert_ptr_null(told(&f, 10, MESSAGE_WELCOME));
    close_fixture(&f);
}
END_TEST

START_TEST(who_does_not_belong_is_refused_with_the_reason)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    gather(&f);
    join(&f, ROLE_WORKER, 0);
    join(&f, ROLE_PS, 1);
    post_clear(&f.post);

    struct packet taken = join_of(&f, ROLE_WORKER, 0);
    taken.peer = 50;
    taken.message.incarnation = 999;
    check_refused(&f, taken, REFUSAL_MEMBER, "worker/0 is taken by another process (on host0)");
    struct packet many = join_of(&f, ROLE_WORKER, 2);
    check_refused(&f, many, REFUSAL_MEMBER, "the job has 2 worker tasks; there is no worker/2");
    struct packet server = join_of(&f, ROLE_PS, UINT32_MAX);
    server.peer = 51;
    check_refused(&f, server, REFUSAL_MEMBER, "there is no ps/4294967295");
    struct packet observer = join_of(&f, ROLE_PS, 1);
    observer.message.role = ROLE_OBSERVER;
    observer.peer = 52;
    give(&f, observer);
    ck_assert_ptr_null(told(&f, 52, MESSAGE_WELCOME));
    post_clear(&f.post);
    struct packet odd = join_of(&f, ROLE_WORKER, 1);
    odd.message.join.probe_digest[3] ^= 1;
    check_refused(&f, odd, REFUSAL_PROBE, "does not give the same bits");
    struct packet future = join_of(&f, ROLE_WORKER, 1);
    future.message.join.version_min = future.message.join.version_max = 9;
    check_refused(&f, future, REFUSAL_VERSION, "9 to 9 there");
    join(&f, ROLE_WORKER, 1);
    ck_assert_ptr_nonnull(told(&f, 11, MESSAGE_WELCOME));
    close_fixture(&f);
}
END_TEST

START_TEST(arithmetic_may_differ_where_bits_are_not_promised)
{
    struct fixture f;
    open_fixture(&f, MODE_ASYNC);
    gather(&f);
    join(&f, ROLE_WORKER, 0);
    struct packet odd = join_of(&f, ROLE_WORKER, 1);
    odd.message.join.probe_digest[3] ^= 1;
    give(&f, odd);
    ck_assert_ptr_nonnull(told(&f, 11, MESSAGE_WELCOME));
    close_fixture(&f);
}
END_TEST

START_TEST(a_process_of_another_run_is_refused)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    start(&f);
    for (unsigned kind = MESSAGE_READY; kind < MESSAGE_WIRE_COUNT; kind++) {
        if (kind == MESSAGE_STATUS || kind == MESSAGE_BYE)
            continue;
        struct packet old = packet_of(&f, ROLE_WORKER, 0, kind);
        old.message.run_id = RUN + 1;
        check_refused(&f, old, REFUSAL_RUN, "not a process of the run");
        struct packet other = packet_of(&f, ROLE_WORKER, 0, kind);
        other.message.incarnation++;
        check_refused(&f, other, REFUSAL_RUN, "not a process of the run");
    }
    ck_assert_ptr_null(told(&f, 11, MESSAGE_FINISHED));
    close_fixture(&f);
}
END_TEST

START_TEST(a_left_over_of_another_run_cannot_end_a_job_that_is_still_being_declared)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    struct packet old = packet_of(&f, ROLE_WORKER, 0, MESSAGE_STOP);
    old.message.run_id = RUN + 1;
    old.message.stop.exit_code = EXIT_CLUSTER_LOST;
    give(&f, old);
    ck_assert_ptr_null(told(&f, PEER_LOCAL, MESSAGE_FINISHED));
    start(&f);
    close_fixture(&f);
}
END_TEST

START_TEST(nobody_speaks_for_a_member_with_another_key)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    start(&f);
    for (unsigned kind = MESSAGE_READY; kind < MESSAGE_WIRE_COUNT; kind++) {
        if (kind == MESSAGE_STATUS)
            continue;
        struct packet thief = packet_of(&f, ROLE_WORKER, 0, kind);
        thief.peer = 90;
        thief.key[0] = 1;
        check_refused(&f, thief, REFUSAL_KEY, "has another key");
        thief = packet_of(&f, ROLE_PS, 0, kind);
        thief.peer = 90;
        thief.key[0] = 1;
        check_refused(&f, thief, REFUSAL_KEY, "has another key");
    }
    ck_assert_ptr_null(told(&f, 11, MESSAGE_FINISHED));
    close_fixture(&f);
}
END_TEST

START_TEST(members_are_answered_where_they_last_spoke_from)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    start(&f);
    struct packet ping = packet_of(&f, ROLE_WORKER, 1, MESSAGE_PING);
    ping.peer = 90; /* Its connection was made anew. */
    give(&f, ping);
    ck_assert_ptr_nonnull(told(&f, 90, MESSAGE_PONG));
    stop(&f, ROLE_WORKER, 0, EXIT_TRAINING_FAILED, "no");
    check_finished(&f, 90, EXIT_TRAINING_FAILED, "worker/0: no");
    close_fixture(&f);
}
END_TEST

/* --- deadlines -----------------------------------------------------------------------------------
 */

START_TEST(a_job_that_nobody_declares_times_out)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    tick(&f, 5);
    ck_assert_ptr_nonnull(post_log(&f.post, "waiting 5 s for a worker to declare a job"));
    tick(&f, 55);
    ck_assert_ptr_null(told(&f, PEER_LOCAL, MESSAGE_FINISHED));
    tick(&f, 0.001);
    check_finished(&f, PEER_LOCAL, EXIT_START_TIMEOUT, "no worker has declared a job");
    say(&f, ROLE_PS, 0, MESSAGE_BYE);
    ck_assert(coordinator_is_over(f.coordinator));
    close_fixture(&f);
}
END_TEST

START_TEST(a_run_directory_that_does_not_open_times_out)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    join(&f, ROLE_WORKER, 0);
    declare(&f, 0, &f.job);
    tick(&f, 60.001);
    join(&f, ROLE_WORKER, 0);
    check_finished(&f, 10, EXIT_START_TIMEOUT, "/tmp/out does not open");
    close_fixture(&f);
}
END_TEST

START_TEST(who_is_missing_is_named_again_and_again_and_at_the_deadline)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    gather(&f);
    join(&f, ROLE_WORKER, 0);
    join(&f, ROLE_PS, 0);
    join(&f, ROLE_PS, 1);
    say(&f, ROLE_PS, 0, MESSAGE_READY);
    for (int i = 0; i < 12; i++) {
        post_clear(&f.post);
        say(&f, ROLE_WORKER, 0, MESSAGE_PING);
        say(&f, ROLE_PS, 1, MESSAGE_PING);
        tick(&f, 5);
        ck_assert_ptr_nonnull(post_log(&f.post, "ps/1 (loading), worker/1 (never seen)"));
    }
    say(&f, ROLE_WORKER, 0, MESSAGE_PING);
    say(&f, ROLE_PS, 1, MESSAGE_PING);
    tick(&f, 1);
    check_finished(&f, 10, EXIT_START_TIMEOUT,
                   "start timed out after 61 s waiting for ps/1 (loading), worker/1 (never seen)");
    check_finished(&f, 21, EXIT_START_TIMEOUT, "start timed out");
    check_finished(&f, PEER_LOCAL, EXIT_START_TIMEOUT, "start timed out");
    close_fixture(&f);
}
END_TEST

START_TEST(a_silent_member_ends_the_job_for_all_and_is_named)
{
    for (int server = 0; server < 2; server++) {
        struct fixture f;
        open_fixture(&f, MODE_SYNC);
        start(&f);
        for (int i = 0; i < 11; i++) {
            tick(&f, i < 10 ? 1 : 0.5);
            ck_assert_msg((told(&f, 10, MESSAGE_FINISHED) != NULL) == (i == 10), "%d", i);
            say(&f, ROLE_WORKER, 0, MESSAGE_PING);
            if (server)
                say(&f, ROLE_WORKER, 1, MESSAGE_PING);
            else
                say(&f, ROLE_PS, 1, MESSAGE_PING);
        }
        const char *why = server ? "lost ps/1 (on host1): nothing heard for 10.5 s"
                                 : "lost worker/1 (on host1): nothing heard for 10.5 s";
        check_finished(&f, 10, EXIT_CLUSTER_LOST, why);
        check_finished(&f, PEER_LOCAL, EXIT_CLUSTER_LOST, why);
        check_finished(&f, server ? 11 : 21, EXIT_CLUSTER_LOST, why);
        if (server) /* Should it come back, it is told. */
            say(&f, ROLE_PS, 1, MESSAGE_PING);
        else
            say(&f, ROLE_WORKER, 1, MESSAGE_PING);
        check_finished(&f, server ? 21 : 11, EXIT_CLUSTER_LOST, why);
        ck_assert_ptr_nonnull(post_find(&f.post, TO_KEEPER, MESSAGE_SUMMARY));
        close_fixture(&f);
    }
}
END_TEST

START_TEST(it_leaves_without_those_who_do_not_say_bye)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    start(&f);
    stop(&f, ROLE_WORKER, 0, EXIT_TRAINING_FAILED, "no");
    say(&f, ROLE_WORKER, 0, MESSAGE_BYE);
    say(&f, ROLE_PS, 0, MESSAGE_BYE);
    post_clear(&f.post);
    tick(&f, 0.5);
    ck_assert_ptr_nonnull(told(&f, 11, MESSAGE_FINISHED)); /* Repeated for those who are left. */
    ck_assert_ptr_nonnull(told(&f, 21, MESSAGE_FINISHED));
    ck_assert_ptr_null(told(&f, 10, MESSAGE_FINISHED));
    tick(&f, 9.5);
    ck_assert(!coordinator_is_over(f.coordinator));
    tick(&f, 0.1);
    ck_assert(coordinator_is_over(f.coordinator));
    close_fixture(&f);
}
END_TEST

START_TEST(a_stop_that_takes_too_long_ends_with_its_code_and_says_what_stands)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    start(&f);
    stop(&f, ROLE_WORKER, 0, EXIT_INTERRUPTED, "worker/0 was asked to");
    for (int i = 0; i < 31; i++) {
        ck_assert_ptr_null(told(&f, 10, MESSAGE_FINISHED));
        for (uint32_t w = 0; w < 2; w++)
            say(&f, ROLE_WORKER, w, MESSAGE_PING);
        say(&f, ROLE_PS, 1, MESSAGE_PING);
        tick(&f, 1);
    }
    check_all_finished(&f, EXIT_INTERRUPTED, "there is no checkpoint");
    close_fixture(&f);
}
END_TEST

/* --- the end
 * ---------------------------------------------------------------------------------------- */

static void take_cut(struct fixture *f, uint64_t step, bool written)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct packet taken = packet_of(f, ROLE_PS, i, MESSAGE_CUT_TAKEN);
        taken.message.cut_taken = (struct message_cut_taken){.step = step, .taken = true};
        give(f, taken);
    }
    for (uint32_t i = 0; i < 2; i++) {
        struct message part = {.kind = MESSAGE_PART_WRITTEN};
        part.part_written.step = step;
        part.part_written.written = written;
        part.part_written.server = i;
        strcpy(part.part_written.text, "No space left on device");
        from_keeper(f, part);
    }
}

static void manifest_written(struct fixture *f, uint64_t step)
{
    ck_assert_ptr_nonnull(post_find(&f->post, TO_KEEPER, MESSAGE_MANIFEST));
    struct message written = {.kind = MESSAGE_MANIFEST_WRITTEN};
    written.run_opened.restore_step = step;
    from_keeper(f, written);
}

static void finish_training(struct fixture *f)
{
    for (uint32_t i = 0; i < 2; i++) {
        ck_assert_ptr_null(told(f, 21, MESSAGE_CUT));
        say(f, ROLE_WORKER, i, MESSAGE_DONE);
        say(f, ROLE_WORKER, i, MESSAGE_DONE);
    }
}

START_TEST(a_job_that_is_done_writes_its_last_checkpoint_and_lets_everybody_go)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    start(&f);
    finish_training(&f);
    ck_assert_uint_eq(post_count(&f.post, TO_PEER, MESSAGE_CUT), 2);
    ck_assert(told(&f, 21, MESSAGE_CUT)->cut.final);
    ck_assert_uint_eq(told(&f, 21, MESSAGE_CUT)->cut.step, 6);
    take_cut(&f, 6, true);
    manifest_written(&f, 6);
    struct packet *summary = post_find(&f.post, TO_KEEPER, MESSAGE_SUMMARY);
    ck_assert_ptr_nonnull(summary);
    struct run_summary written;
    memcpy(&written, summary->payload->data, sizeof written);
    ck_assert(written.state == RUN_DONE);
    ck_assert_uint_eq(written.step, 6);
    ck_assert_ptr_null(told(&f, 10, MESSAGE_FINISHED));
    from_keeper(&f, (struct message){.kind = MESSAGE_SUMMARY_WRITTEN});
    check_all_finished(&f, EXIT_DONE, "");
    post_clear(&f.post);
    struct packet late = join_of(&f, ROLE_WORKER, 0); /* A late joiner hears it, too. */
    late.peer = 60;
    late.message.incarnation = 3;
    give(&f, late);
    check_finished(&f, 60, EXIT_DONE, "");
    all_leave(&f);
    close_fixture(&f);
}
END_TEST

START_TEST(a_last_checkpoint_that_cannot_be_written_is_a_failure)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    start(&f);
    finish_training(&f);
    take_cut(&f, 6, false);
    check_all_finished(&f, EXIT_CANNOT_OPEN, "No space left on device");
    close_fixture(&f);
}
END_TEST

START_TEST(a_last_checkpoint_that_takes_too_long_is_a_failure)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    start(&f);
    finish_training(&f);
    for (int i = 0; i < 31; i++) {
        ck_assert_ptr_null(told(&f, 10, MESSAGE_FINISHED));
        for (uint32_t w = 0; w < 2; w++)
            say(&f, ROLE_WORKER, w, MESSAGE_PING);
        say(&f, ROLE_PS, 1, MESSAGE_PING);
        tick(&f, 1);
    }
    check_all_finished(&f, EXIT_CANNOT_OPEN, "not written within 30 s");
    close_fixture(&f);
}
END_TEST

START_TEST(a_run_directory_that_is_refused_tells_whoever_asks_and_ends)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    join(&f, ROLE_WORKER, 0);
    declare(&f, 0, &f.job);
    struct message opened = {.kind = MESSAGE_RUN_OPENED};
    opened.run_opened.status = STATUS_EXISTS;
    strcpy(opened.run_opened.text, "/tmp/out holds a finished run");
    from_keeper(&f, opened);
    join(&f, ROLE_WORKER, 0);
    check_finished(&f, 10, EXIT_CANNOT_OPEN, "holds a finished run");
    join(&f, ROLE_PS, 0);
    check_finished(&f, PEER_LOCAL, EXIT_CANNOT_OPEN, "holds a finished run");
    say(&f, ROLE_WORKER, 0, MESSAGE_BYE);
    say(&f, ROLE_PS, 0, MESSAGE_BYE);
    tick(&f, 5); /* Well before the deadline for those who are lost. */
    ck_assert(coordinator_is_over(f.coordinator));
    close_fixture(&f);
}
END_TEST

START_TEST(a_failed_member_ends_the_job_with_its_code_and_reason)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    start(&f);
    stop(&f, ROLE_PS, 1, EXIT_CANNOT_OPEN, "disk on fire");
    stop(&f, ROLE_WORKER, 1, EXIT_TRAINING_FAILED, "and I"); /* Only the first counts. */
    check_all_finished(&f, EXIT_CANNOT_OPEN, "ps/1: disk on fire");
    all_leave(&f);
    close_fixture(&f);
}
END_TEST

/* --- stops in each state
 * -------------------------------------------------------------------------- */

START_TEST(a_stop_before_training_ends_at_once)
{
    for (int state = 0; state < 3; state++) {
        struct fixture f;
        open_fixture(&f, MODE_SYNC);
        if (state == 1) {
            join(&f, ROLE_WORKER, 0);
            declare(&f, 0, &f.job);
        } else if (state == 2) {
            gather(&f);
            join(&f, ROLE_PS, 0);
        }
        stop(&f, ROLE_PS, 0, EXIT_TERMINATED, "ps/0 was asked to");
        join(&f, ROLE_WORKER, 0);
        check_finished(&f, 10, EXIT_TERMINATED, "stopped before training started");
        close_fixture(&f);
    }
}
END_TEST

START_TEST(a_stop_in_sync_training_cuts_where_the_router_says)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    start(&f);
    stop(&f, ROLE_WORKER, 1, EXIT_INTERRUPTED, "worker/1 was asked to");
    stop(&f, ROLE_WORKER, 0, EXIT_TERMINATED, "again");
    ck_assert_uint_eq(post_count(&f.post, TO_PEER, MESSAGE_STOP), 1);
    ck_assert_ptr_nonnull(told(&f, PEER_LOCAL, MESSAGE_STOP));
    struct packet at = packet_of(&f, ROLE_PS, 0, MESSAGE_STOP_AT);
    at.message.stop_at.step = 3;
    give(&f, at);
    finish_training(&f);
    ck_assert_uint_eq(told(&f, 21, MESSAGE_CUT)->cut.step, 3);
    take_cut(&f, 3, true);
    manifest_written(&f, 3);
    struct run_summary written;
    memcpy(&written, post_find(&f.post, TO_KEEPER, MESSAGE_SUMMARY)->payload->data, sizeof written);
    ck_assert(written.state == RUN_STOPPED);
    from_keeper(&f, (struct message){.kind = MESSAGE_SUMMARY_WRITTEN});
    check_all_finished(&f, EXIT_INTERRUPTED, "stopped");
    all_leave(&f);
    close_fixture(&f);
}
END_TEST

static unsigned batches_given(struct fixture *f, uint32_t worker)
{
    unsigned count = 0;
    post_find(&f->post, TO_PEER, MESSAGE_WORK);
    for (size_t i = 0; i < f->post.taken_count; i++) {
        const struct packet *packet = &f->post.taken[i].packet;
        count += packet->message.kind == MESSAGE_WORK && packet->peer == 10 + worker &&
                 !packet->message.work.enough;
    }
    return count;
}

static void lease(struct fixture *f, uint32_t worker, bool finished, uint64_t batch)
{
    struct packet packet = packet_of(f, ROLE_WORKER, worker, MESSAGE_LEASE);
    packet.message.lease.finished = finished;
    packet.message.lease.batch = batch;
    give(f, packet);
}

START_TEST(a_stop_in_async_training_lets_what_is_leased_finish)
{
    struct fixture f;
    open_fixture(&f, MODE_ASYNC);
    start(&f);
    lease(&f, 0, false, 0);
    ck_assert_uint_eq(batches_given(&f, 0), 2);
    stop(&f, ROLE_WORKER, 1, EXIT_INTERRUPTED, "worker/1 was asked to");
    ck_assert_uint_eq(post_count(&f.post, TO_PEER, MESSAGE_WORK), 3);
    ck_assert(told(&f, 11, MESSAGE_WORK)->work.enough); /* It holds nothing. */
    ck_assert_uint_eq(told(&f, 11, MESSAGE_WORK)->work.batch, 2);
    post_clear(&f.post);
    lease(&f, 0, true, 0);
    ck_assert_uint_eq(post_count(&f.post, TO_PEER, MESSAGE_WORK), 0);
    lease(&f, 0, true, 1);
    ck_assert(told(&f, 10, MESSAGE_WORK)->work.enough);
    ck_assert_uint_eq(batches_given(&f, 0), 0);
    finish_training(&f);
    ck_assert_uint_eq(told(&f, 21, MESSAGE_CUT)->cut.step, 2);
    close_fixture(&f);
}
END_TEST

/* --- cuts
 * ------------------------------------------------------------------------------------------- */

START_TEST(sync_cuts_are_named_ahead_and_one_at_a_time)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    f.job.checkpoint_every = 2;
    f.job.steps = 100;
    gather(&f);
    for (uint32_t i = 0; i < 2; i++) {
        join(&f, ROLE_PS, i);
        join(&f, ROLE_WORKER, i);
        say(&f, ROLE_PS, i, MESSAGE_READY);
    }
    ck_assert_uint_eq(told(&f, 21, MESSAGE_CUT)->cut.step, 2);
    post_clear(&f.post);
    for (uint64_t step = 0; step < 7; step++)
        report(&f, 0, step, tree_root(job_batch(&f.job, step).leaves));
    ck_assert_uint_eq(post_count(&f.post, TO_PEER, MESSAGE_CUT), 0);
    take_cut(&f, 2, true);
    manifest_written(&f, 2);
    ck_assert_uint_eq(told(&f, 21, MESSAGE_CUT)->cut.step, 10); /* 4, 6 and 8 fell due meanwhile. */
    close_fixture(&f);
}
END_TEST

START_TEST(async_cuts_wait_at_a_gate_for_what_is_leased)
{
    struct fixture f;
    open_fixture(&f, MODE_ASYNC);
    f.job.checkpoint_every = 3;
    start(&f);
    lease(&f, 0, false, 0);
    lease(&f, 1, false, 0);
    ck_assert_uint_eq(batches_given(&f, 0), 2);
    ck_assert_uint_eq(batches_given(&f, 1), 1); /* Batch 3 is behind the gate. */
    lease(&f, 0, true, 1);
    lease(&f, 1, true, 2);
    ck_assert_uint_eq(post_count(&f.post, TO_PEER, MESSAGE_CUT), 0);
    post_clear(&f.post);
    lease(&f, 0, true, 0);
    ck_assert_uint_eq(told(&f, 21, MESSAGE_CUT)->cut.step, 3);
    ck_assert_uint_eq(batches_given(&f, 0), 0);
    take_cut(&f, 3, true);
    ck_assert_uint_eq(batches_given(&f, 0), 2); /* Given while the cut is being written. */
    ck_assert_uint_eq(batches_given(&f, 1), 1);
    close_fixture(&f);
}
END_TEST

START_TEST(async_training_goes_on_when_a_cut_fails_before_all_have_taken_it)
{
    struct fixture f;
    open_fixture(&f, MODE_ASYNC);
    f.job.checkpoint_every = 3;
    start(&f);
    lease(&f, 0, false, 0);
    lease(&f, 0, true, 0);
    lease(&f, 0, true, 1);
    lease(&f, 0, true, 2);
    ck_assert_ptr_nonnull(told(&f, 21, MESSAGE_CUT));
    post_clear(&f.post);
    struct message part = {.kind = MESSAGE_PART_WRITTEN}; /* Server 1 has not taken its cut. */
    part.part_written.step = 3;
    from_keeper(&f, part);
    struct packet taken = packet_of(&f, ROLE_PS, 1, MESSAGE_CUT_TAKEN);
    taken.message.cut_taken = (struct message_cut_taken){.step = 3, .taken = true};
    give(&f, taken);
    ck_assert_uint_gt(batches_given(&f, 0), 0);
    close_fixture(&f);
}
END_TEST

START_TEST(a_checkpoint_that_failed_does_not_stand)
{
    struct fixture f;
    open_fixture(&f, MODE_ASYNC);
    f.job.checkpoint_every = 3;
    start(&f);
    lease(&f, 0, false, 0);
    for (uint64_t batch = 0; batch < 3; batch++)
        lease(&f, 0, true, batch);
    take_cut(&f, 3, false);
    post_clear(&f.post);
    stop(&f, ROLE_WORKER, 1, EXIT_INTERRUPTED, "worker/1 was asked to");
    for (uint64_t batch = 3; batch < 6; batch++)
        lease(&f, 0, true, batch);
    for (int i = 0; i < 31; i++) {
        for (uint32_t w = 0; w < 2; w++)
            say(&f, ROLE_WORKER, w, MESSAGE_PING);
        say(&f, ROLE_PS, 1, MESSAGE_PING);
        tick(&f, 1);
    }
    check_all_finished(&f, EXIT_INTERRUPTED, "there is no checkpoint");
    close_fixture(&f);
}
END_TEST

START_TEST(a_finished_run_that_is_resumed_ends_at_once)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    join(&f, ROLE_WORKER, 0);
    declare(&f, 0, &f.job);
    run_opened(&f, true, 6);
    for (uint32_t i = 0; i < 2; i++) {
        join(&f, ROLE_PS, i);
        join(&f, ROLE_WORKER, i);
        say(&f, ROLE_PS, i, MESSAGE_READY);
    }
    ck_assert(told(&f, 21, MESSAGE_WELCOME)->welcome.restore);
    ck_assert_uint_eq(told(&f, 10, MESSAGE_START)->start.step, 6);
    finish_training(&f);
    ck_assert_ptr_null(told(&f, 21, MESSAGE_CUT));
    from_keeper(&f, (struct message){.kind = MESSAGE_SUMMARY_WRITTEN});
    check_all_finished(&f, EXIT_DONE, "");
    close_fixture(&f);
}
END_TEST

START_TEST(an_observer_is_told_the_state_at_any_time)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    struct packet status = {.peer = 70, .message = {.kind = MESSAGE_STATUS, .role = ROLE_OBSERVER}};
    give(&f, status);
    ck_assert_ptr_nonnull(strstr(told(&f, 70, MESSAGE_STATUS_ANSWER)->waiting.text, "waiting"));
    gather(&f);
    give(&f, status);
    ck_assert_ptr_nonnull(
        strstr(told(&f, 70, MESSAGE_STATUS_ANSWER)->waiting.text, "worker/1 (never seen)"));
    close_fixture(&f);
}
END_TEST

START_TEST(messages_that_are_not_for_a_server_are_refused)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC);
    start(&f);
    const enum message_kind kinds[] = {MESSAGE_WELCOME, MESSAGE_RESULT, MESSAGE_FINISHED,
                                       MESSAGE_START,   MESSAGE_WORK,   MESSAGE_PONG};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        check_refused(&f, packet_of(&f, ROLE_WORKER, 1, kinds[i]), REFUSAL_MALFORMED,
                      "is not for a server");
    /* What only servers may say does nothing from a worker. */
    const enum message_kind servers[] = {MESSAGE_READY, MESSAGE_CUT_TAKEN, MESSAGE_PART_WRITTEN};
    for (size_t i = 0; i < sizeof servers / sizeof *servers; i++)
        say(&f, ROLE_WORKER, 1, servers[i]);
    ck_assert_uint_eq(post_count_all(&f.post), 0);
    close_fixture(&f);
}
END_TEST

static void add(TCase *t)
{
    tcase_add_test(t, the_first_worker_declares_and_the_others_are_measured_by_it);
    tcase_add_test(t, a_declaration_that_stops_coming_makes_room_for_another);
    tcase_add_test(t, it_starts_once_when_all_are_there_in_whatever_order);
    tcase_add_test(t, a_worker_with_another_job_is_told_what_differs);
    tcase_add_test(t, a_host_may_have_its_own_name_for_the_data);
    tcase_add_test(t, who_does_not_belong_is_refused_with_the_reason);
    tcase_add_test(t, arithmetic_may_differ_where_bits_are_not_promised);
    tcase_add_test(t, a_process_of_another_run_is_refused);
    tcase_add_test(t, a_left_over_of_another_run_cannot_end_a_job_that_is_still_being_declared);
    tcase_add_test(t, nobody_speaks_for_a_member_with_another_key);
    tcase_add_test(t, members_are_answered_where_they_last_spoke_from);
    tcase_add_test(t, a_job_that_nobody_declares_times_out);
    tcase_add_test(t, a_run_directory_that_does_not_open_times_out);
    tcase_add_test(t, who_is_missing_is_named_again_and_again_and_at_the_deadline);
    tcase_add_test(t, a_silent_member_ends_the_job_for_all_and_is_named);
    tcase_add_test(t, it_leaves_without_those_who_do_not_say_bye);
    tcase_add_test(t, a_stop_that_takes_too_long_ends_with_its_code_and_says_what_stands);
    tcase_add_test(t, a_job_that_is_done_writes_its_last_checkpoint_and_lets_everybody_go);
    tcase_add_test(t, a_last_checkpoint_that_cannot_be_written_is_a_failure);
    tcase_add_test(t, a_last_checkpoint_that_takes_too_long_is_a_failure);
    tcase_add_test(t, a_run_directory_that_is_refused_tells_whoever_asks_and_ends);
    tcase_add_test(t, a_failed_member_ends_the_job_with_its_code_and_reason);
    tcase_add_test(t, a_stop_before_training_ends_at_once);
    tcase_add_test(t, a_stop_in_sync_training_cuts_where_the_router_says);
    tcase_add_test(t, a_stop_in_async_training_lets_what_is_leased_finish);
    tcase_add_test(t, sync_cuts_are_named_ahead_and_one_at_a_time);
    tcase_add_test(t, async_cuts_wait_at_a_gate_for_what_is_leased);
    tcase_add_test(t, async_training_goes_on_when_a_cut_fails_before_all_have_taken_it);
    tcase_add_test(t, a_checkpoint_that_failed_does_not_stand);
    tcase_add_test(t, a_finished_run_that_is_resumed_ends_at_once);
    tcase_add_test(t, an_observer_is_told_the_state_at_any_time);
    tcase_add_test(t, messages_that_are_not_for_a_server_are_refused);
}

int main(void)
{
    return suite_run("coordinator", add);
}
