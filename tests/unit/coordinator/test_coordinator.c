/* test_coordinator.c - the coordinator while all goes well: it gathers, starts, deals work, cuts
 * checkpoints and ends. Everybody else is played (players.h). */
/* promises: accumulate by-hand clock follow inspect instructions key-role other-run run-json stop */

#include "ps/coordinator/coordinator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/players.h"
#include "tests/lib/suite.h"

enum { RUN = PLAYERS_RUN, SECOND = PLAYERS_SECOND };

static void check_finished(struct players *f, uint64_t peer, uint32_t code, const char *reason)
{
    struct message *finished = players_told(f, peer, MESSAGE_FINISHED);
    ck_assert_ptr_nonnull(finished);
    ck_assert_uint_eq(finished->stop.exit_code, code);
    ck_assert_msg(strstr(finished->stop.reason, reason) != NULL, "%s", finished->stop.reason);
}

static void check_all_finished(struct players *f, uint32_t code, const char *reason)
{
    const uint64_t peers[] = {10, 11, 21, PEER_LOCAL};
    for (int i = 0; i < 4; i++)
        check_finished(f, peers[i], code, reason);
}

static void all_leave(struct players *f)
{
    for (uint32_t i = 0; i < 2; i++) {
        ck_assert(!coordinator_is_over(f->coordinator));
        players_say(f, ROLE_WORKER, i, MESSAGE_BYE);
        players_say(f, ROLE_PS, i, MESSAGE_BYE);
    }
    ck_assert(coordinator_is_over(f->coordinator));
}

/* --- joining ------------------------------------------------------------------------------- */

/* What tests begin with, and how they end. */
#define TEST(name, ...)                                                                            \
    SUITE_TEST(name, struct players, f, players_open(f, __VA_ARGS__), players_close(f))
#define TEST_EACH(name, times, ...)                                                                \
    SUITE_TEST_TIMES(name, times, struct players, f, players_open(f, __VA_ARGS__), players_close(f))

TEST(the_first_worker_declares_and_the_others_are_measured_by_it, MODE_SYNC)
{
    players_join(f, ROLE_PS, 1);
    ck_assert_ptr_nonnull(players_told(f, 21, MESSAGE_WAITING));
    players_join(f, ROLE_WORKER, 1);
    ck_assert_ptr_nonnull(players_told(f, 11, MESSAGE_WANT_JOB));
    ck_assert_uint_eq(players_told(f, 11, MESSAGE_WANT_JOB)->request, 2);
    players_join(f, ROLE_WORKER, 0);
    ck_assert_ptr_nonnull(
        strstr(players_told(f, 10, MESSAGE_WAITING)->waiting.text, "another worker"));
    players_declare(f, 0, &f->job); /* Not asked for. */
    ck_assert_ptr_null(post_order(&f->post, TO_CHECKPOINTER, ORDER_OPEN_RUN));
    players_declare(f, 1, &f->job);
    ck_assert_ptr_nonnull(post_order(&f->post, TO_CHECKPOINTER, ORDER_OPEN_RUN));
    post_clear(&f->post);
    players_join(f, ROLE_WORKER, 0);
    ck_assert_ptr_nonnull(
        players_told(f, 10, MESSAGE_WAITING)); /* The run directory is being opened. */
    players_opened(f, 0, false, 0);
    players_join(f, ROLE_WORKER, 0);
    ck_assert_ptr_nonnull(players_told(f, 10, MESSAGE_WELCOME));
    players_join(f, ROLE_PS, 1);
    ck_assert_ptr_nonnull(players_told(f, 21, MESSAGE_JOB_PAGE));
    ck_assert_str_eq(players_told(f, 21, MESSAGE_WELCOME)->welcome.out, "/tmp/out");
}

TEST(a_declaration_that_stops_coming_makes_room_for_another, MODE_SYNC)
{
    players_join(f, ROLE_WORKER, 0);
    players_wait(f, 5);
    players_join(f, ROLE_WORKER, 1);
    ck_assert_ptr_nonnull(players_told(f, 11, MESSAGE_WANT_JOB));
    players_declare(f, 0, &f->job);
    ck_assert_ptr_null(post_order(&f->post, TO_CHECKPOINTER, ORDER_OPEN_RUN));
    players_declare(f, 1, &f->job);
    ck_assert_ptr_nonnull(post_order(&f->post, TO_CHECKPOINTER, ORDER_OPEN_RUN));
}

TEST_PLAIN(it_starts_once_when_all_are_there_in_whatever_order)
{
    static const uint8_t orders[][6] = {
        {0, 1, 2, 3, 4, 5}, {3, 4, 5, 0, 1, 2}, {1, 4, 0, 3, 2, 5}, {4, 3, 5, 1, 2, 0}};
    for (int order = 0; order < 4; order++) {
        struct players f;
        players_open(&f, MODE_SYNC);
        players_gather(&f);
        for (int i = 0; i < 6; i++) {
            ck_assert_uint_eq(post_count(&f.post, TO_PEER, MESSAGE_START), 0);
            /* 0 and 3: a worker joins; 1 and 4: a server; 2 and 5: that server is ready. */
            uint32_t index = orders[order][i] / 3;
            if (orders[order][i] % 3 == 0)
                players_join(&f, ROLE_WORKER, index);
            else if (orders[order][i] % 3 == 1)
                players_join(&f, ROLE_PS, index);
            else
                players_say(&f, ROLE_PS, index, MESSAGE_READY);
        }
        ck_assert_uint_eq(post_count(&f.post, TO_PEER, MESSAGE_START), 2);
        for (uint32_t i = 0; i < 2; i++) {
            struct message *message = players_told(&f, 10 + i, MESSAGE_START);
            ck_assert_uint_eq(message->start.position, i);
            ck_assert_uint_eq(message->start.members, 2);
            ck_assert_uint_eq(message->start.step, 0);
            ck_assert_uint_eq(message->start.stop_step, 6);
        }
        players_say(&f, ROLE_PS, 1, MESSAGE_READY); /* Repeated. */
        players_join(&f, ROLE_WORKER, 0);
        ck_assert_uint_eq(post_count(&f.post, TO_PEER, MESSAGE_START), 2);
        players_close(&f);
    }
}

static void declare_other(struct players *f, struct job *other, const char *difference)
{
    struct packet packet = players_join_packet(f, ROLE_WORKER, 1);
    packet.message.join.job_digest[0] ^= 1;
    players_give(f, packet);
    ck_assert_ptr_nonnull(players_told(f, 11, MESSAGE_WANT_JOB));
    players_declare(f, 1, other);
    struct message *refused = players_told(f, 11, MESSAGE_REFUSED);
    ck_assert_ptr_nonnull(refused);
    ck_assert(refused->refused.reason == REFUSAL_JOB);
    ck_assert_str_eq(refused->refused.text, difference);
    post_clear(&f->post);
}

TEST(a_worker_with_another_job_is_told_what_differs, MODE_SYNC)
{
    struct job other;
    players_gather(f);
    ck_assert(job_copy(&other, &f->job) == STATUS_OK);
    other.seed = 8;
    declare_other(f, &other, "seed: 7 in the running job, 8 in worker/1");
    other.seed = 7;
    other.batch = 16;
    declare_other(f, &other, "batch: 8 in the running job, 16 in worker/1");
    job_free(&other);
    players_join(f, ROLE_WORKER, 1); /* With the right one it may still come. */
    ck_assert_ptr_nonnull(players_told(f, 11, MESSAGE_WELCOME));
}

static void check_refused(struct players *f, struct packet packet, enum refusal reason,
                          const char *text)
{
    uint64_t peer = packet.peer;
    players_give(f, packet);
    struct message *refused = players_told(f, peer, MESSAGE_REFUSED);
    ck_assert_ptr_nonnull(refused);
    ck_assert_msg(refused->refused.reason == reason, "%s", refused->refused.text);
    ck_assert_msg(strstr(refused->refused.text, text) != NULL, "%s", refused->refused.text);
    ck_assert_ptr_null(players_told(f, peer, MESSAGE_WELCOME));
    post_clear(&f->post);
}

TEST(a_host_may_have_its_own_name_for_the_data, MODE_SYNC)
{
    players_gather(f);
    strcpy(f->job.data, "/mnt/elsewhere/fashion");
    players_join(f, ROLE_WORKER, 1);
    ck_assert_ptr_nonnull(players_told(f, 11, MESSAGE_WELCOME));
    f->job.data_digest[0] ^= 1; /* But not other data. */
    players_join(f, ROLE_WORKER, 0);
    ck_assert_ptr_null(players_told(f, 10, MESSAGE_WELCOME));
}

TEST(who_does_not_belong_is_refused_with_the_reason, MODE_SYNC)
{
    players_gather(f);
    players_join(f, ROLE_WORKER, 0);
    players_join(f, ROLE_PS, 1);
    post_clear(&f->post);

    struct packet many = players_join_packet(f, ROLE_WORKER, JOB_WORKERS_MAX);
    check_refused(f, many, REFUSAL_MEMBER, "there is no worker/1024");
    struct packet first = players_join_packet(f, ROLE_PS, 0);
    first.peer = 53;
    check_refused(f, first, REFUSAL_MEMBER, "ps/0 is the process that you ask");
    struct packet server = players_join_packet(f, ROLE_PS, UINT32_MAX);
    server.peer = 51;
    check_refused(f, server, REFUSAL_MEMBER, "there is no ps/4294967295");
    struct packet observer = players_join_packet(f, ROLE_PS, 1);
    observer.message.role = ROLE_OBSERVER;
    observer.peer = 52;
    players_give(f, observer);
    ck_assert_ptr_null(players_told(f, 52, MESSAGE_WELCOME));
    post_clear(&f->post);
    struct packet odd = players_join_packet(f, ROLE_WORKER, 1);
    odd.message.join.probe_digest[3] ^= 1;
    check_refused(f, odd, REFUSAL_PROBE, "does not give the same bits");
    for (uint32_t version = 1; version < 10; version += 8) { /* Each told in its own. */
        struct packet other = players_join_packet(f, ROLE_WORKER, 1);
        char text[64];
        other.message.join.version_min = other.message.join.version_max = version;
        players_give(f, other);
        ck_assert_uint_eq(players_told(f, 11, MESSAGE_REFUSED)->refused.version, version);
        snprintf(text, sizeof text, "ps/0 speaks protocol versions %u to %u, worker/1 %u to %u",
                 PROTOCOL_VERSION_MIN, PROTOCOL_VERSION_MAX, version, version);
        check_refused(f, other, REFUSAL_VERSION, text);
    }
    players_join(f, ROLE_WORKER, 1);
    ck_assert_ptr_nonnull(players_told(f, 11, MESSAGE_WELCOME));
}

/* In every state; there is one more whenever a state is left. */
static void check_other_job(struct players *f)
{
    enum role roles[] = {ROLE_WORKER, ROLE_PS};
    for (int i = 0; i < 2; i++) {
        struct packet packet = players_join_packet(f, roles[i], 1);
        packet.peer = 60;
        packet.message.incarnation = 99;
        strcpy(packet.message.join.job_id, "Slurm job 1934");
        check_refused(f, packet, REFUSAL_JOB,
                      "the server at alpha:28544 is of Slurm job 1234, this task is of Slurm job "
                      "1934 (their ports are the same, for their numbers are 700 apart): give one "
                      "of them --port-base P");
        ck_assert_ptr_null(players_told(f, 60, MESSAGE_FINISHED));
    }
}

TEST_PLAIN(whoever_is_of_another_job_is_refused_in_every_state)
{
    struct players players, *f = &players;
    players_prepare(f, MODE_SYNC);
    strcpy(f->options.job_id, "Slurm job 1234");
    strcpy(f->options.address, "alpha:28544");
    players_create(f);
    check_other_job(f);
    players_join(f, ROLE_WORKER, 0);
    players_declare(f, 0, &f->job);
    check_other_job(f); /* The run directory is being opened. */
    players_opened(f, 0, false, 0);
    check_other_job(f);
    players_start(f); /* Nobody of these says a job, and belongs to any. */
    check_other_job(f);
    struct packet own = players_join_packet(f, ROLE_WORKER, 1);
    strcpy(own.message.join.job_id, "Slurm job 1234");
    players_give(f, own);
    ck_assert_ptr_nonnull(players_told(f, 11, MESSAGE_WELCOME));
    players_stop(f, ROLE_WORKER, 0, EXIT_TRAINING_FAILED, "no more");
    check_other_job(f);
    players_close(f);
}

TEST_PLAIN(a_server_that_says_no_job_takes_any)
{
    struct players players, *f = &players;
    players_open(f, MODE_SYNC);
    players_gather(f);
    struct packet packet = players_join_packet(f, ROLE_WORKER, 0);
    strcpy(packet.message.join.job_id, "one");
    players_give(f, packet);
    ck_assert_ptr_nonnull(players_told(f, 10, MESSAGE_WELCOME));
    players_close(f);
}

TEST(arithmetic_may_differ_where_bits_are_not_promised, MODE_ASYNC)
{
    players_gather(f);
    players_join(f, ROLE_WORKER, 0);
    struct packet odd = players_join_packet(f, ROLE_WORKER, 1);
    odd.message.join.probe_digest[3] ^= 1;
    players_give(f, odd);
    ck_assert_ptr_nonnull(players_told(f, 11, MESSAGE_WELCOME));
}

/* It would be made again with other bits. */
TEST(arithmetic_may_not_differ_where_a_run_is_recorded, MODE_ASYNC)
{
    f->job.record = RECORDING_ON;
    players_gather(f);
    players_join(f, ROLE_WORKER, 0);
    struct packet odd = players_join_packet(f, ROLE_WORKER, 1);
    odd.message.join.probe_digest[3] ^= 1;
    players_give(f, odd);
    const struct message *refused = players_told(f, 11, MESSAGE_REFUSED);
    ck_assert_ptr_nonnull(refused);
    ck_assert_int_eq(refused->refused.reason, REFUSAL_PROBE);
}

TEST(a_left_over_of_another_run_cannot_end_a_job_that_is_still_being_declared, MODE_SYNC)
{
    struct packet old = players_packet(f, ROLE_WORKER, 0, MESSAGE_STOP);
    old.message.run_id = RUN + 1;
    old.message.stop.exit_code = EXIT_CLUSTER_LOST;
    players_give(f, old);
    ck_assert_ptr_null(players_told(f, PEER_LOCAL, MESSAGE_FINISHED));
    players_start(f);
}

TEST(nobody_speaks_for_a_member_with_another_key, MODE_SYNC)
{
    players_start(f);
    for (unsigned kind = MESSAGE_READY; kind < MESSAGE_KIND_COUNT; kind++) {
        if (kind == MESSAGE_STATUS || kind == MESSAGE_DISMISS || kind == MESSAGE_REPORT)
            continue;
        struct packet thief = players_packet(f, ROLE_WORKER, 0, kind);
        thief.peer = 90;
        thief.key[0] = 1;
        check_refused(f, thief, REFUSAL_KEY, "has another key");
        thief = players_packet(f, ROLE_PS, 1, kind);
        thief.peer = 90;
        thief.key[0] = 1;
        check_refused(f, thief, REFUSAL_KEY, "has another key");
    }
    struct packet join = players_join_packet(f, ROLE_WORKER, 0);
    join.peer = 90;
    join.key[0] = 1;
    check_refused(f, join, REFUSAL_KEY, "another key");
    ck_assert_ptr_null(players_told(f, 11, MESSAGE_FINISHED));
}

/* Whoever has heard server 0 knows its incarnation. */
TEST(nobody_is_server_0_but_itself, MODE_SYNC)
{
    players_start(f);
    for (unsigned kind = MESSAGE_READY; kind < MESSAGE_KIND_COUNT; kind++) {
        if (kind == MESSAGE_STATUS || kind == MESSAGE_DISMISS || kind == MESSAGE_REPORT)
            continue;
        struct packet thief = players_packet(f, ROLE_PS, 0, kind);
        thief.peer = 90;
        players_give(f, thief);
        ck_assert_uint_eq(post_count(&f->post, TO_PEER, MESSAGE_PONG), 0);
        ck_assert_uint_eq(post_count(&f->post, TO_PEER, MESSAGE_FINISHED), 0);
        post_clear(&f->post);
    }
    struct packet ping = players_packet(f, ROLE_PS, 0, MESSAGE_PING);
    players_give(f, ping);
    ck_assert_ptr_nonnull(players_told(f, PEER_LOCAL, MESSAGE_PONG));
}

TEST(whoever_is_admitted_is_a_member_and_nobody_else_is, MODE_SYNC)
{
    players_join(f, ROLE_WORKER, 0); /* It is asked for its declaration. */
    players_declare(f, 0, &f->job);
    players_opened(f, 0, false, 0);
    players_give(f, players_join_packet(f, ROLE_WORKER, 0));
    const struct message *welcome = players_told(f, 10, MESSAGE_WELCOME);
    f->workers[0].ticket = welcome->welcome.ticket;
    f->workers[0].proof = welcome->welcome.proof;
    for (int wrong = 0; wrong < 5; wrong++) {
        struct packet ping = players_packet(f, ROLE_WORKER, 0, MESSAGE_PING);
        ping.message.ticket += wrong == 1;
        ping.message.proof += wrong == 2;
        ping.message.incarnation += wrong == 3;
        ping.message.index += wrong == 4;
        coordinator_handle(f->coordinator, &ping, f->now_us, &f->post.outbox);
        ck_assert_int_eq(ping.member, wrong == 0);
    }
    struct packet status = players_packet(f, ROLE_OBSERVER, 0, MESSAGE_STATUS);
    coordinator_handle(f->coordinator, &status, f->now_us, &f->post.outbox);
    ck_assert(!status.member && !post_find(&f->post, TO_PEER, MESSAGE_STATUS_ANSWER)->member);
}

/* Servers prove workers' tickets by it; workers have no use for it. */
TEST_PLAIN(the_secret_is_told_to_servers_alone)
{
    struct players f;
    players_prepare(&f, MODE_SYNC);
    memset(f.options.secret, 0x5a, sizeof f.options.secret);
    players_create(&f);
    players_gather(&f);
    players_join(&f, ROLE_WORKER, 0);
    players_join(&f, ROLE_PS, 1);
    ck_assert_uint_eq(players_told(&f, 10, MESSAGE_WELCOME)->welcome.secret[0], 0);
    ck_assert_mem_eq(players_told(&f, 21, MESSAGE_WELCOME)->welcome.secret, f.options.secret,
                     sizeof f.options.secret);
    players_close(&f);
}

TEST(refusals_do_not_fill_the_log, MODE_SYNC)
{
    players_gather(f);
    unsigned lines = 0;
    for (int i = 1; i <= 5000; i++) {
        players_give(f, players_join_packet(f, ROLE_PS, 7));
        ck_assert_uint_eq(post_count(&f->post, TO_PEER, MESSAGE_REFUSED), 1);
        lines += post_count(&f->post, TO_LOG, MESSAGE_WAITING);
        if (i == 5000)
            ck_assert_ptr_nonnull(post_log(&f->post, "there is no ps/7 (count=5000)"));
        post_clear(&f->post);
    }
    ck_assert_uint_ge(lines, 10);
    ck_assert_uint_lt(lines, 200);
}

/* --- deadlines ----------------------------------------------------------------------------- */

TEST(a_job_that_nobody_declares_times_out, MODE_SYNC)
{
    players_wait(f, 5);
    ck_assert_ptr_nonnull(post_log(&f->post, "waiting 5 s for a worker to declare a job"));
    players_wait(f, 55);
    ck_assert_ptr_null(players_told(f, PEER_LOCAL, MESSAGE_FINISHED));
    players_wait(f, 0.001);
    check_finished(f, PEER_LOCAL, EXIT_START_TIMEOUT, "no worker has declared a job");
    players_say(f, ROLE_PS, 0, MESSAGE_BYE);
    ck_assert(coordinator_is_over(f->coordinator));
}

TEST(a_run_directory_that_does_not_open_times_out, MODE_SYNC)
{
    players_join(f, ROLE_WORKER, 0);
    players_declare(f, 0, &f->job);
    players_wait(f, 60.001);
    players_join(f, ROLE_WORKER, 0);
    check_finished(f, 10, EXIT_START_TIMEOUT, "/tmp/out does not open");
}

TEST(there_is_one_deadline_for_the_start_whatever_it_waits_for, MODE_SYNC)
{
    players_pass(f, 40);
    players_gather(f); /* Late, and that does not give the others another minute. */
    players_join(f, ROLE_WORKER, 0);
    players_join(f, ROLE_PS, 0);
    players_pass(f, 19);
    ck_assert_ptr_null(players_told(f, 10, MESSAGE_FINISHED));
    players_pass(f, 2);
    check_finished(
        f, 10, EXIT_START_TIMEOUT,
        "start timed out after 1 min waiting for ps/0 (loading), ps/1 (never seen), worker/1");
}

/* Its server has asked for 20 s where it is to listen. */
static void open_late(struct players *f)
{
    players_prepare(f, MODE_SYNC);
    f->options.began_us = f->now_us;
    f->now_us += 20 * PLAYERS_SECOND;
    players_create(f);
}

SUITE_TEST(seconds_before_it_count_and_the_deadline_is_told_as_it_was_given, struct players, f,
           open_late(f), players_close(f))
{
    players_join(f, ROLE_WORKER, 0);
    players_pass(f, 39);
    ck_assert_ptr_null(players_told(f, 10, MESSAGE_FINISHED));
    players_pass(f, 2);
    players_join(f, ROLE_WORKER, 0);
    check_finished(f, 10, EXIT_START_TIMEOUT,
                   "start timed out after 1 min: no worker has declared a job");
}

TEST(nobody_who_is_dead_is_waited_for_when_the_start_has_timed_out, MODE_SYNC)
{
    players_gather(f);
    players_join(f, ROLE_WORKER, 0);
    players_join(f, ROLE_PS, 0);
    players_pass(f, 59);
    players_join(f, ROLE_WORKER, 1); /* And dies: nobody has noticed yet. */
    players_kill(f, ROLE_WORKER, 1);
    players_pass(f, 1.2);
    check_finished(f, 10, EXIT_START_TIMEOUT, "start timed out after 1 min waiting for ps/");
    ck_assert(!coordinator_is_over(f->coordinator));
    players_wait(f, 0.7);
    ck_assert(coordinator_is_over(f->coordinator));
}

TEST(who_is_missing_is_named_again_and_again_and_at_the_deadline, MODE_SYNC)
{
    players_gather(f);
    players_join(f, ROLE_WORKER, 0);
    players_join(f, ROLE_PS, 0);
    players_join(f, ROLE_PS, 1);
    players_say(f, ROLE_PS, 0, MESSAGE_READY);
    for (int i = 0; i < 12; i++) {
        players_pass(f, 5);
        ck_assert_ptr_nonnull(post_log(&f->post, "ps/1 (loading), worker/1 (never seen)"));
    }
    players_pass(f, 1);
    check_finished(f, 10, EXIT_START_TIMEOUT,
                   "start timed out after 1 min waiting for ps/1 (loading), worker/1 (never seen)");
    check_finished(f, 21, EXIT_START_TIMEOUT, "start timed out");
    check_finished(f, PEER_LOCAL, EXIT_START_TIMEOUT, "start timed out");
}

TEST(it_leaves_without_those_who_do_not_say_bye, MODE_SYNC)
{
    players_start(f);
    players_stop(f, ROLE_WORKER, 0, EXIT_TRAINING_FAILED, "no");
    players_say(f, ROLE_WORKER, 0, MESSAGE_BYE);
    players_say(f, ROLE_PS, 0, MESSAGE_BYE);
    post_clear(&f->post);
    players_wait(f, 0.5);
    ck_assert_ptr_nonnull(
        players_told(f, 11, MESSAGE_FINISHED)); /* Repeated for those who are left. */
    ck_assert_ptr_nonnull(players_told(f, 21, MESSAGE_FINISHED));
    ck_assert_ptr_null(players_told(f, 10, MESSAGE_FINISHED));
    players_wait(f, 4.5);
    ck_assert(!coordinator_is_over(f->coordinator));
    players_wait(f, 0.1);
    ck_assert(coordinator_is_over(f->coordinator));
}

TEST(a_stop_that_takes_too_long_ends_with_its_code_and_says_what_stands, MODE_SYNC)
{
    players_start(f);
    players_stop(f, ROLE_WORKER, 0, EXIT_INTERRUPTED, "worker/0 was asked to");
    for (int i = 0; i < 31; i++) {
        ck_assert_ptr_null(players_told(f, 10, MESSAGE_FINISHED));
        players_pass(f, 1);
    }
    check_all_finished(f, EXIT_INTERRUPTED, "there is no checkpoint");
}

/* --- the end ------------------------------------------------------------------------------- */

static void take_snapshot(struct players *f, uint64_t step, bool written)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct packet taken = players_packet(f, ROLE_PS, i, MESSAGE_CUT_TAKEN);
        taken.message.cut_taken = (struct message_cut_taken){.step = step, .taken = true};
        players_give(f, taken);
    }
    for (uint32_t i = 0; i < 2; i++) {
        struct message part = {.kind = MESSAGE_PART_WRITTEN};
        part.part_written.step = step;
        part.part_written.written = written;
        part.part_written.server = i;
        strcpy(part.part_written.text, "No space left on device");
        players_checkpointer(f, part);
    }
}

static void manifest_written(struct players *f, uint64_t step)
{
    ck_assert_ptr_nonnull(post_order(&f->post, TO_CHECKPOINTER, ORDER_MANIFEST));
    players_order(f, (struct order){.kind = ORDER_MANIFEST_WRITTEN, .written.step = step});
}

static void finish_training(struct players *f)
{
    for (uint32_t i = 0; i < 2; i++) {
        ck_assert_ptr_null(players_told(f, 21, MESSAGE_CUT));
        players_done(f, i, 6);
        players_done(f, i, 6);
    }
}

TEST(a_job_that_is_done_writes_its_last_checkpoint_and_lets_everybody_go, MODE_SYNC)
{
    players_start(f);
    finish_training(f);
    ck_assert_uint_eq(post_count(&f->post, TO_PEER, MESSAGE_CUT), 2);
    ck_assert(players_told(f, 21, MESSAGE_CUT)->cut.final);
    ck_assert_uint_eq(players_told(f, 21, MESSAGE_CUT)->cut.step, 6);
    take_snapshot(f, 6, true);
    manifest_written(f, 6);
    struct packet *summary = post_order_packet(&f->post, TO_CHECKPOINTER, ORDER_SUMMARY);
    ck_assert_ptr_nonnull(summary);
    struct run_summary written;
    memcpy(&written, summary->payload->data, sizeof written);
    ck_assert(written.state == RUN_DONE);
    ck_assert_uint_eq(written.step, 6);
    ck_assert_ptr_null(players_told(f, 10, MESSAGE_FINISHED));
    players_order(f, (struct order){.kind = ORDER_SUMMARY_WRITTEN});
    check_all_finished(f, EXIT_DONE, "");
    post_clear(&f->post);
    struct packet late = players_join_packet(f, ROLE_WORKER, 0); /* A late joiner hears it, too. */
    late.peer = 60;
    late.message.incarnation = 3;
    players_give(f, late);
    check_finished(f, 60, EXIT_DONE, "");
    all_leave(f);
}

/* The server's thread is busy with a gradient, or the process is stopped: no deadline counts that, but
 * it has passed. */
TEST(what_passes_while_nobody_drives_it_is_in_the_seconds, MODE_SYNC)
{
    players_start(f);
    finish_training(f);
    f->now_us += 7 * PLAYERS_SECOND;
    take_snapshot(f, 6, true);
    manifest_written(f, 6);
    struct run_summary written;
    memcpy(&written, post_order_packet(&f->post, TO_CHECKPOINTER, ORDER_SUMMARY)->payload->data,
           sizeof written);
    ck_assert_double_ge(written.checkpoint_seconds, 7);
    ck_assert_double_eq_tol(run_phases_seconds(&written.phases, RUN_PHASE_LAST_CHECKPOINT),
                            written.checkpoint_seconds, 1e-6);
    ck_assert(written.phases.part == RUN_PHASE_MODEL_FILE);
}

TEST(a_last_checkpoint_that_cannot_be_written_is_a_failure, MODE_SYNC)
{
    players_start(f);
    finish_training(f);
    take_snapshot(f, 6, false);
    check_all_finished(f, EXIT_CANNOT_OPEN, "No space left on device");
}

TEST(a_last_checkpoint_that_takes_too_long_is_a_failure, MODE_SYNC)
{
    players_start(f);
    finish_training(f);
    for (int i = 0; i < 31; i++) {
        ck_assert_ptr_null(players_told(f, 10, MESSAGE_FINISHED));
        players_pass(f, 1);
    }
    check_all_finished(f, EXIT_CANNOT_OPEN, "not written within 30 s");
}

TEST(a_model_file_has_its_own_time_whatever_the_last_checkpoint_took, MODE_SYNC)
{
    players_start(f);
    finish_training(f);
    for (int i = 0; i < 20; i++)
        players_pass(f, 1);
    take_snapshot(f, 6, true);
    manifest_written(f, 6);
    for (int i = 0; i < 30; i++) {
        ck_assert_ptr_null(players_told(f, 10, MESSAGE_FINISHED));
        players_pass(f, 1);
    }
    players_pass(f, 1);
    check_all_finished(f, EXIT_CANNOT_OPEN, "the model file was not written within 30 s");
}

TEST(a_run_directory_that_is_refused_tells_whoever_asks_and_ends, MODE_SYNC)
{
    players_join(f, ROLE_WORKER, 0);
    players_declare(f, 0, &f->job);
    struct order opened = {.kind = ORDER_RUN_OPENED};
    opened.run_opened.run_id = RUN;
    opened.run_opened.status = STATUS_EXISTS;
    strcpy(opened.run_opened.text, "/tmp/out holds a finished run");
    players_order(f, opened);
    players_join(f, ROLE_WORKER, 0);
    check_finished(f, 10, EXIT_CANNOT_OPEN, "holds a finished run");
    players_join(f, ROLE_PS, 0);
    check_finished(f, PEER_LOCAL, EXIT_CANNOT_OPEN, "holds a finished run");
    players_say(f, ROLE_WORKER, 0, MESSAGE_BYE);
    players_say(f, ROLE_PS, 0, MESSAGE_BYE);
    players_wait(f, 5); /* Well before the deadline for those who are lost. */
    ck_assert(coordinator_is_over(f->coordinator));
}

TEST(a_failed_member_ends_the_job_with_its_code_and_reason, MODE_SYNC)
{
    players_start(f);
    players_stop(f, ROLE_PS, 1, EXIT_CANNOT_OPEN, "disk on fire");
    players_stop(f, ROLE_WORKER, 1, EXIT_TRAINING_FAILED, "and I"); /* Only the first counts. */
    check_all_finished(f, EXIT_CANNOT_OPEN, "ps/1: disk on fire");
    all_leave(f);
}

/* --- stops in each state ------------------------------------------------------------------- */

TEST_EACH(a_stop_before_training_ends_at_once, 3, MODE_SYNC)
{
    const int state = _i;
    if (state == 1) {
        players_join(f, ROLE_WORKER, 0);
        players_declare(f, 0, &f->job);
    } else if (state == 2) {
        players_gather(f);
        players_join(f, ROLE_PS, 0);
    }
    players_stop(f, ROLE_PS, 0, EXIT_TERMINATED, "ps/0 was asked to");
    if (state == 2) { /* The run is open: it says so itself. */
        struct run_summary written;
        memcpy(&written, post_order_packet(&f->post, TO_CHECKPOINTER, ORDER_SUMMARY)->payload->data,
               sizeof written);
        ck_assert_int_eq(written.state, RUN_STOPPED);
        ck_assert_uint_eq(written.step, 0);
        ck_assert_str_eq(written.reason, "stopped before training started");
    }
    players_join(f, ROLE_WORKER, 0);
    check_finished(f, 10, EXIT_TERMINATED, "stopped before training started");
}

TEST(a_stop_in_sync_training_cuts_where_the_router_says, MODE_SYNC)
{
    players_start(f);
    players_stop(f, ROLE_WORKER, 1, EXIT_INTERRUPTED, "worker/1 was asked to");
    players_stop(f, ROLE_WORKER, 0, EXIT_TERMINATED, "again");
    ck_assert_uint_eq(post_count(&f->post, TO_PEER, MESSAGE_STOP), 1);
    ck_assert_ptr_nonnull(players_told(f, PEER_LOCAL, MESSAGE_STOP));
    players_order(f, (struct order){.kind = ORDER_STOP_AT, .stop_at.step = 3});
    finish_training(f);
    ck_assert_uint_eq(players_told(f, 21, MESSAGE_CUT)->cut.step, 3);
    take_snapshot(f, 3, true);
    manifest_written(f, 3);
    struct run_summary written;
    memcpy(&written, post_order_packet(&f->post, TO_CHECKPOINTER, ORDER_SUMMARY)->payload->data,
           sizeof written);
    ck_assert(written.state == RUN_STOPPED);
    players_order(f, (struct order){.kind = ORDER_SUMMARY_WRITTEN});
    check_all_finished(f, EXIT_INTERRUPTED, "stopped");
    all_leave(f);
}

/* Else whoever tries again what was interrupted would be refused: the run is a finished one. */
TEST(a_stop_that_finds_nothing_left_to_stop_ends_with_0, MODE_SYNC)
{
    players_start(f);
    players_stop(f, ROLE_WORKER, 1, EXIT_TERMINATED, "worker/1 was asked to");
    players_order(f, (struct order){.kind = ORDER_STOP_AT, .stop_at.step = f->job.steps});
    finish_training(f);
    take_snapshot(f, f->job.steps, true);
    manifest_written(f, f->job.steps);
    struct run_summary written;
    memcpy(&written, post_order_packet(&f->post, TO_CHECKPOINTER, ORDER_SUMMARY)->payload->data,
           sizeof written);
    ck_assert(written.state == RUN_DONE);
    ck_assert_uint_eq(written.exit_code, EXIT_DONE);
    players_order(f, (struct order){.kind = ORDER_SUMMARY_WRITTEN});
    check_all_finished(f, EXIT_DONE, "");
    all_leave(f);
}

/* As the run is stopped because it gets no better. */
TEST(a_stop_of_what_is_trained_enough_ends_with_0, MODE_SYNC)
{
    players_start(f);
    players_stop(f, ROLE_PS, 0, EXIT_DONE, "no better in 3 checkpoints");
    ck_assert_ptr_nonnull(players_told(f, PEER_LOCAL, MESSAGE_STOP));
    players_order(f, (struct order){.kind = ORDER_STOP_AT, .stop_at.step = 3});
    finish_training(f);
    take_snapshot(f, 3, true);
    manifest_written(f, 3);
    struct run_summary written;
    memcpy(&written, post_order_packet(&f->post, TO_CHECKPOINTER, ORDER_SUMMARY)->payload->data,
           sizeof written);
    ck_assert(written.state == RUN_STOPPED);
    ck_assert_uint_eq(written.exit_code, EXIT_DONE);
    players_order(f, (struct order){.kind = ORDER_SUMMARY_WRITTEN});
    check_all_finished(f, EXIT_DONE, "stopped");
    all_leave(f);
}

static unsigned batches_given(struct players *f, uint32_t worker)
{
    unsigned count = 0;
    post_find(&f->post, TO_PEER, MESSAGE_WORK);
    for (size_t i = 0; i < f->post.taken_count; i++) {
        const struct packet *packet = &f->post.taken[i].packet;
        count += packet->message.kind == MESSAGE_WORK && packet->peer == 10 + worker &&
                 !packet->message.work.enough && !packet->message.work.none;
    }
    return count;
}

TEST(a_stop_in_async_training_lets_what_is_leased_finish, MODE_ASYNC)
{
    players_start(f);
    players_lease(f, 0, false, 0);
    ck_assert_uint_eq(batches_given(f, 0), 2);
    players_stop(f, ROLE_WORKER, 1, EXIT_INTERRUPTED, "worker/1 was asked to");
    ck_assert_uint_eq(post_count(&f->post, TO_PEER, MESSAGE_WORK), 3);
    ck_assert(players_told(f, 11, MESSAGE_WORK)->work.enough); /* It holds nothing. */
    ck_assert_uint_eq(players_told(f, 11, MESSAGE_WORK)->work.batch, 2);
    post_clear(&f->post);
    players_lease(f, 0, true, 0);
    ck_assert(players_told(f, 10, MESSAGE_WORK)->work.none);
    players_lease(f, 0, true, 1);
    ck_assert(players_told(f, 10, MESSAGE_WORK)->work.enough);
    ck_assert_uint_eq(batches_given(f, 0), 0);
    finish_training(f);
    ck_assert_uint_eq(players_told(f, 21, MESSAGE_CUT)->cut.step, 2);
}

/* --- cuts ---------------------------------------------------------------------------------- */

TEST(sync_cuts_are_named_ahead_and_one_at_a_time, MODE_SYNC)
{
    f->job.checkpoint_every = 2;
    f->job.steps = 100;
    players_gather(f);
    for (uint32_t i = 0; i < 2; i++) {
        players_join(f, ROLE_PS, i);
        players_join(f, ROLE_WORKER, i);
        players_say(f, ROLE_PS, i, MESSAGE_READY);
    }
    ck_assert_uint_eq(players_told(f, 21, MESSAGE_CUT)->cut.step, 2);
    post_clear(&f->post);
    for (uint64_t step = 0; step < 7; step++)
        players_report(f, 0, step, tree_root(job_batch(&f->job, step).leaves));
    ck_assert_uint_eq(post_count(&f->post, TO_PEER, MESSAGE_CUT), 0);
    take_snapshot(f, 2, true);
    manifest_written(f, 2);
    ck_assert_uint_eq(players_told(f, 21, MESSAGE_CUT)->cut.step,
                      10); /* 4, 6 and 8 fell due meanwhile. */
}

/* The job does not say how often: an epoch is 100 steps, so that only the clock is in time. */
static void train_by_default(struct players *f)
{
    f->job.checkpoint_every = JOB_CHECKPOINTS_UNSAID;
    f->job.examples = 100 * (uint64_t)f->job.batch;
    f->job.steps = 150;
    players_start(f);
}

static void pass_seconds(struct players *f, int seconds)
{
    for (int i = 0; i < seconds; i++)
        players_pass(f, 1);
}

TEST(a_sync_checkpoint_that_is_a_minute_old_is_followed_by_one_at_once, MODE_SYNC)
{
    train_by_default(f);
    for (uint64_t step = 0; step < 7; step++)
        players_report(f, 0, step, tree_root(job_batch(&f->job, step).leaves));
    pass_seconds(f, 59);
    ck_assert_uint_eq(players_told(f, 21, MESSAGE_CUT)->cut.step, 100);
    players_pass(f, 2);
    ck_assert_uint_eq(players_told(f, 21, MESSAGE_CUT)->cut.step, 9);
    pass_seconds(f, 20); /* It is waited for, and not named again. */
    for (uint64_t step = 7; step < 9; step++)
        players_report(f, 0, step, tree_root(job_batch(&f->job, step).leaves));
    take_snapshot(f, 9, true);
    manifest_written(f, 9);
    ck_assert_uint_eq(players_told(f, 21, MESSAGE_CUT)->cut.step, 100); /* The epoch's. */
    pass_seconds(f, 59);
    players_pass(f, 2);
    ck_assert_uint_eq(players_told(f, 21, MESSAGE_CUT)->cut.step, 11);
}

TEST(an_async_checkpoint_that_is_a_minute_old_is_followed_by_one_at_the_next_batch, MODE_ASYNC)
{
    train_by_default(f);
    players_lease(f, 0, false, 0);
    players_lease(f, 0, true, 0);
    players_lease(f, 0, true, 1);
    players_lease(f, 1, false, 0);
    pass_seconds(f, 59);
    players_lease(f, 1, true, 4);
    ck_assert_uint_eq(batches_given(f, 1), 1);
    players_pass(f, 2);
    players_lease(f, 0, true, 2);
    ck_assert_uint_eq(batches_given(f, 0), 0);
    players_lease(f, 0, true, 3);
    players_lease(f, 1, true, 5);
    ck_assert_ptr_null(players_told(f, 21, MESSAGE_CUT));
    players_lease(f, 1, true, 6);
    ck_assert_uint_eq(players_told(f, 21, MESSAGE_CUT)->cut.step, 7);
    take_snapshot(f, 7, true);
    manifest_written(f, 7);
    pass_seconds(f, 62);
    ck_assert_ptr_null(players_told(f, 21, MESSAGE_CUT));
    players_lease(f, 0, true, 7);
    ck_assert_uint_eq(batches_given(f, 0), 0);
}

TEST(no_cut_by_the_clock_where_the_job_says_how_often, MODE_ASYNC)
{
    f->job.checkpoint_every = 0;
    players_start(f);
    players_lease(f, 0, false, 0);
    pass_seconds(f, 62);
    players_lease(f, 0, true, 0);
    ck_assert_uint_eq(batches_given(f, 0), 1);
}

TEST(async_cuts_wait_at_a_gate_for_what_is_leased, MODE_ASYNC)
{
    f->job.checkpoint_every = 3;
    players_start(f);
    players_lease(f, 0, false, 0);
    players_lease(f, 1, false, 0);
    ck_assert_uint_eq(batches_given(f, 0), 2);
    ck_assert_uint_eq(batches_given(f, 1), 1); /* Batch 3 is behind the gate. */
    players_lease(f, 0, true, 1);
    players_lease(f, 1, true, 2);
    ck_assert_uint_eq(post_count(&f->post, TO_PEER, MESSAGE_CUT), 0);
    post_clear(&f->post);
    players_lease(f, 0, true, 0);
    ck_assert_uint_eq(players_told(f, 21, MESSAGE_CUT)->cut.step, 3);
    ck_assert_uint_eq(batches_given(f, 0), 0);
    take_snapshot(f, 3, true);
    ck_assert_uint_eq(batches_given(f, 0), 2); /* Given while the cut is being written. */
    ck_assert_uint_eq(batches_given(f, 1), 1);
}

TEST(async_training_goes_on_when_a_cut_fails_before_all_have_taken_it, MODE_ASYNC)
{
    f->job.checkpoint_every = 3;
    players_start(f);
    players_lease(f, 0, false, 0);
    players_lease(f, 0, true, 0);
    players_lease(f, 0, true, 1);
    players_lease(f, 0, true, 2);
    ck_assert_ptr_nonnull(players_told(f, 21, MESSAGE_CUT));
    post_clear(&f->post);
    struct message part = {.kind = MESSAGE_PART_WRITTEN}; /* Server 1 has not taken its cut. */
    part.part_written.step = 3;
    players_checkpointer(f, part);
    struct packet taken = players_packet(f, ROLE_PS, 1, MESSAGE_CUT_TAKEN);
    taken.message.cut_taken = (struct message_cut_taken){.step = 3, .taken = true};
    players_give(f, taken);
    ck_assert_uint_gt(batches_given(f, 0), 0);
}

/* Server 0 is at a cut with groups that it has applied for it; what server 1 says of it is to come. */
static void sum_up_to_a_cut(struct players *f)
{
    f->job.checkpoint_every = 3;
    f->job.accumulate = 2;
    players_start(f);
    players_lease(f, 0, false, 0);
    for (uint64_t batch = 0; batch < 3; batch++)
        players_lease(f, 0, true, batch);
    ck_assert_uint_eq(players_told(f, 21, MESSAGE_CUT)->cut.step, 3);
    post_clear(&f->post);
}

static void answer_snapshot(struct players *f, uint32_t server, bool taken)
{
    struct packet packet = players_packet(f, ROLE_PS, server, MESSAGE_CUT_TAKEN);
    packet.message.cut_taken = (struct message_cut_taken){.step = 3, .taken = taken};
    players_give(f, packet);
}

/* A batch that came to server 1 before its CUT would be one more in a group that server 0 has closed. */
TEST_PLAIN(a_cut_of_sums_that_is_given_up_opens_no_gate_before_every_server_has_had_it)
{
    enum { NOT_TAKEN, NOT_WRITTEN, TOO_LATE, WAYS };
    for (int way = 0; way < WAYS; way++) {
        struct players f;
        players_open(&f, MODE_ASYNC);
        sum_up_to_a_cut(&f);
        answer_snapshot(&f, 0, way != NOT_TAKEN);
        struct message part = {.kind = MESSAGE_PART_WRITTEN};
        part.part_written.step = 3;
        if (way == NOT_WRITTEN)
            players_checkpointer(&f, part);
        if (way == TOO_LATE)
            players_pass(&f, 31.5);
        ck_assert_str_eq(players_event(&f, "checkpoint_failed"), "\"step\": 3");
        players_lease(&f, 0, false, 0);
        ck_assert_uint_eq(batches_given(&f, 0), 0);
        post_clear(&f.post);
        players_pass(&f, 2);
        ck_assert_ptr_nonnull(players_told(&f, 21, MESSAGE_CUT));
        ck_assert_ptr_null(players_told(&f, PEER_LOCAL, MESSAGE_CUT));
        ck_assert_uint_eq(players_told(&f, 21, MESSAGE_CUT)->cut.step, 3);
        ck_assert_ptr_null(players_event(&f, "checkpoint_failed"));
        ck_assert_uint_eq(batches_given(&f, 0), 0);
        answer_snapshot(&f, 1, way == NOT_WRITTEN);
        ck_assert_uint_gt(batches_given(&f, 0), 0);
        post_clear(&f.post);
        for (uint64_t batch = 3; batch < 6; batch++)
            players_lease(&f, 0, true, batch);
        players_done(&f, 0, 6);
        players_done(&f, 1, 6);
        ck_assert_uint_eq(players_told(&f, 21, MESSAGE_CUT)->cut.step, 6);
        players_close(&f);
    }
}

TEST(a_server_that_never_answers_a_cut_of_sums_ends_the_job, MODE_ASYNC)
{
    sum_up_to_a_cut(f);
    answer_snapshot(f, 0, false);
    for (int i = 0; i < 21; i++) {
        ck_assert_ptr_null(players_told(f, 10, MESSAGE_FINISHED));
        players_pass(f, 1);
    }
    check_all_finished(f, EXIT_CLUSTER_LOST, "ps/1 (on host");
}

TEST(a_checkpoint_that_failed_does_not_stand, MODE_ASYNC)
{
    f->job.checkpoint_every = 3;
    players_start(f);
    players_lease(f, 0, false, 0);
    for (uint64_t batch = 0; batch < 3; batch++)
        players_lease(f, 0, true, batch);
    take_snapshot(f, 3, false);
    post_clear(&f->post);
    players_stop(f, ROLE_WORKER, 1, EXIT_INTERRUPTED, "worker/1 was asked to");
    for (uint64_t batch = 3; batch < 6; batch++)
        players_lease(f, 0, true, batch);
    for (int i = 0; i < 31; i++)
        players_pass(f, 1);
    check_all_finished(f, EXIT_INTERRUPTED, "there is no checkpoint");
}

TEST(a_finished_run_that_is_resumed_ends_at_once, MODE_SYNC)
{
    players_join(f, ROLE_WORKER, 0);
    players_declare(f, 0, &f->job);
    players_opened(f, 0, true, 6);
    for (uint32_t i = 0; i < 2; i++) {
        players_join(f, ROLE_PS, i);
        players_join(f, ROLE_WORKER, i);
        players_say(f, ROLE_PS, i, MESSAGE_READY);
    }
    ck_assert(players_told(f, 21, MESSAGE_WELCOME)->welcome.restore);
    ck_assert_uint_eq(players_told(f, 10, MESSAGE_START)->start.step, 6);
    finish_training(f);
    ck_assert_ptr_null(players_told(f, 21, MESSAGE_CUT));
    players_order(f, (struct order){.kind = ORDER_SUMMARY_WRITTEN});
    check_all_finished(f, EXIT_DONE, "");
}

TEST(an_observer_is_told_the_state_at_any_time, MODE_SYNC)
{
    struct packet status = {.peer = 70, .message = {.kind = MESSAGE_STATUS, .role = ROLE_OBSERVER}};
    players_give(f, status);
    const struct message_status_answer *told =
        &players_told(f, 70, MESSAGE_STATUS_ANSWER)->status_answer;
    ck_assert_int_eq(told->state, JOB_WAITING);
    ck_assert(told->figures_bytes == 0); /* Nobody has declared one: nothing is known of it. */
    ck_assert_uint_eq(told->job.server_count, 0);
    players_gather(f);
    players_give(f, status);
    told = &players_told(f, 70, MESSAGE_STATUS_ANSWER)->status_answer;
    ck_assert_ptr_nonnull(strstr(told->text, "worker/1 (never seen)"));
    ck_assert_int_eq(told->state, JOB_GATHERING);
    ck_assert(told->figures_bytes > 0);
    ck_assert_str_eq(told->mode_text, "sync");
    ck_assert_uint_eq(told->job.worker_count, 2);
    ck_assert_double_nan(told->job.train.loss);
}

TEST(whoever_watches_is_told_of_the_end, MODE_SYNC)
{
    struct packet status = {.message = {.kind = MESSAGE_STATUS, .role = ROLE_OBSERVER}};
    status.peer = 70;
    players_give(f, status); /* Only looks. */
    status.message.status.watch = true;
    for (uint64_t peer = 80; peer < 100; peer++) { /* More than are kept, and each twice. */
        status.peer = peer;
        players_give(f, status);
        players_give(f, status);
    }
    players_start(f);
    struct packet stop = players_packet(f, ROLE_WORKER, 0, MESSAGE_STOP);
    stop.message.stop.exit_code = EXIT_TRAINING_FAILED;
    snprintf(stop.message.stop.reason, MESSAGE_TEXT_MAX, "no luck");
    players_give(f, stop);
    unsigned told = 0;
    for (uint64_t peer = 70; peer < 100; peer++) {
        const struct message *message = players_told(f, peer, MESSAGE_STATUS_ANSWER);
        if (message == NULL || message->status_answer.state != JOB_FINISHING)
            continue;
        ck_assert_uint_ge(peer, 84); /* The last sixteen who asked for it. */
        ck_assert_uint_eq(message->status_answer.exit_code, EXIT_TRAINING_FAILED);
        ck_assert_str_eq(message->status_answer.text, "worker/0: no luck");
        told++;
    }
    ck_assert_uint_eq(told, 16);
}

/* All but a watcher know of the end. */
static void end_all_but(struct players *f, uint64_t watcher)
{
    players_open(f, MODE_SYNC);
    players_start(f);
    struct packet status = {.message = {.kind = MESSAGE_STATUS, .role = ROLE_OBSERVER},
                            .peer = watcher};
    status.message.status.watch = true;
    players_give(f, status);
    players_stop(f, ROLE_WORKER, 0, EXIT_TRAINING_FAILED, "no luck");
    for (uint32_t i = 0; i < 2; i++) {
        players_say(f, ROLE_WORKER, i, MESSAGE_BYE);
        players_say(f, ROLE_PS, i, MESSAGE_BYE);
    }
}

TEST_PLAIN(the_end_waits_until_a_watcher_has_heard_of_it)
{
    struct players f;
    end_all_but(&f, 80);
    ck_assert(!coordinator_is_over(f.coordinator));
    struct packet thanks = {.message = {.kind = MESSAGE_STATUS, .role = ROLE_OBSERVER}, .peer = 70};
    players_give(&f, thanks); /* Somebody else who looks. */
    ck_assert(!coordinator_is_over(f.coordinator));
    thanks.peer = 80;
    players_give(&f, thanks);
    ck_assert(coordinator_is_over(f.coordinator));
    players_close(&f);
}

TEST_PLAIN(the_end_does_not_wait_for_ever_for_a_watcher)
{
    struct players f;
    end_all_but(&f, 80);
    ck_assert(!coordinator_is_over(f.coordinator));
    players_wait(&f, 0.7);
    ck_assert(coordinator_is_over(f.coordinator));
    players_close(&f);
}

TEST(messages_that_are_not_for_a_server_are_refused, MODE_SYNC)
{
    players_start(f);
    const enum message_kind kinds[] = {MESSAGE_WELCOME, MESSAGE_RESULT, MESSAGE_FINISHED,
                                       MESSAGE_START,   MESSAGE_WORK,   MESSAGE_PONG};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        check_refused(f, players_packet(f, ROLE_WORKER, 1, kinds[i]), REFUSAL_MALFORMED,
                      "is not for a server");
    /* What only servers may say does nothing from a worker. */
    const enum message_kind servers[] = {MESSAGE_READY, MESSAGE_CUT_TAKEN, MESSAGE_PART_WRITTEN};
    for (size_t i = 0; i < sizeof servers / sizeof *servers; i++)
        players_say(f, ROLE_WORKER, 1, servers[i]);
    ck_assert_uint_eq(post_count_all(&f->post), 0);
}

int main(void)
{
    return suite_run("coordinator", NULL);
}
