/* test_coordinator_faults.c - the coordinator when members are lost, slow, stuck, restarted or
 * leave, and when it goes back to a checkpoint. Everybody else is played (players.h), in made-up
 * time. */
/* promises: broken colocated joins other-run server-lost stuck waits-r worker-lost */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ps/coordinator/coordinator_state.h"
#include "ps/shard/staleness_counters.h"
#include "tests/lib/players.h"
#include "tests/lib/suite.h"

enum { RUN = PLAYERS_RUN, SECOND = PLAYERS_SECOND, EPOCH_EXAMPLES = 20 };

/* --- what is checked again and again ------------------------------------------------------- */

static void check_refused(struct players *p, uint64_t peer, enum refusal reason)
{
    const struct message *refused = players_told(p, peer, MESSAGE_REFUSED);
    ck_assert_ptr_nonnull(refused);
    ck_assert_msg(refused->refused.reason == reason, "%s", refused->refused.text);
}

static void check_start(struct players *p, uint32_t worker, uint32_t assignment, uint32_t members,
                        uint32_t position)
{
    const struct message *start = players_told(p, 10 + worker, MESSAGE_START);
    ck_assert_ptr_nonnull(start);
    ck_assert_uint_eq(start->start.assignment, assignment);
    ck_assert_uint_eq(start->start.members, members);
    ck_assert_uint_eq(start->start.position, position);
}

static void check_finished(struct players *p, uint64_t peer, uint32_t code, const char *reason)
{
    const struct message *finished = players_told(p, peer, MESSAGE_FINISHED);
    ck_assert_ptr_nonnull(finished);
    ck_assert_uint_eq(finished->stop.exit_code, code);
    ck_assert_msg(strstr(finished->stop.reason, reason) != NULL, "%s", finished->stop.reason);
}

static bool is_summary(const struct packet *packet)
{
    return order_of(packet) != NULL && order_of(packet)->kind == ORDER_SUMMARY;
}

/* The latest that the checkpointer was given. */
static struct run_summary summary_of(struct players *p)
{
    struct run_summary summary = {.exit_code = UINT32_MAX};
    post_order(&p->post, TO_CHECKPOINTER, ORDER_SUMMARY);
    for (size_t i = 0; i < p->post.taken_count; i++)
        if (is_summary(&p->post.taken[i].packet))
            memcpy(&summary, p->post.taken[i].packet.payload->data, sizeof summary);
    ck_assert_uint_ne(summary.exit_code, UINT32_MAX);
    return summary;
}

static const struct worker_summary *workers_of(struct players *p)
{
    const struct worker_summary *workers = NULL;
    for (size_t i = 0; i < p->post.taken_count; i++)
        if (is_summary(&p->post.taken[i].packet))
            workers = (const void *)((const char *)p->post.taken[i].packet.payload->data +
                                     sizeof(struct run_summary));
    ck_assert_ptr_nonnull(workers);
    return workers;
}

/* A server that has come back without its chunks is let in; the generation is asked for. */
static void come_back(struct players *p, uint32_t server, uint64_t generation)
{
    players_restart(p, ROLE_PS, server);
    players_wait(p, 1.3);
    players_give(p, players_join_packet(p, ROLE_PS, server));
    const struct order *asked = post_order(&p->post, TO_CHECKPOINTER, ORDER_GO_BACK);
    ck_assert_ptr_nonnull(asked);
    ck_assert_uint_eq(asked->generation, generation);
    post_clear(&p->post);
}

/* The checkpointer has found a checkpoint; all servers hear of it and are ready. */
static void go_back(struct players *p, uint64_t generation, bool restore, uint64_t step)
{
    players_opened(p, generation, restore, step);
    for (uint32_t i = 0; i < 2; i++) {
        const struct message *welcome = players_told(p, players_peer(ROLE_PS, i), MESSAGE_WELCOME);
        ck_assert_ptr_nonnull(welcome);
        ck_assert_uint_eq(welcome->generation, generation);
        ck_assert(welcome->welcome.restore == restore);
        p->servers[i].alive = p->servers[i].ready = true;
    }
    players_follow(p);
    for (uint32_t i = 0; i < 2; i++) {
        ck_assert_ptr_null(players_told(p, 10, MESSAGE_START));
        players_say(p, ROLE_PS, i, MESSAGE_READY);
    }
}

static void create_and_start(struct players *p)
{
    players_create(p);
    players_start(p);
}

/* A process dies, and so many seconds pass. */
static void lose(struct players *p, enum role role, uint32_t index, double seconds)
{
    players_kill(p, role, index);
    players_pass(p, seconds);
}

/* Server 1 is killed in training and comes back. */
static void lose_and_regain(struct players *p, uint64_t generation, bool restore, uint64_t step)
{
    lose(p, ROLE_PS, 1, 1);
    come_back(p, 1, generation);
    go_back(p, generation, restore, step);
}

static void report_step(struct players *p, uint32_t worker, uint64_t step)
{
    players_report(p, worker, step, tree_root(job_batch(&p->job, step).leaves));
}

/* Its gradient is applied everywhere. */
static void make_batch(struct players *p, uint32_t worker, uint64_t batch)
{
    struct batch_range range = job_batch(&p->job, batch);
    struct packet report = players_packet(p, ROLE_WORKER, worker, MESSAGE_REPORT);
    report.message.report = (struct message_report){
        .step = batch, .node = tree_root(range.leaves), .examples = range.examples};
    players_give(p, report);
    players_lease(p, worker, true, batch);
}

/* What a server says of so many gradients of worker 0, each overtaken by one. */
static struct frame *staleness_of(uint64_t count)
{
    struct staleness_share share = {count, count, 1};
    struct staleness_tally tally = {.all.expected = count, .workers = &share, .worker_count = 1};
    for (uint64_t i = 0; i < count; i++)
        histogram_add(&tally.all.shape, 1);
    return staleness_tally_frame(&tally);
}

static void take_snapshot(struct players *p, uint64_t step)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct packet taken = players_packet(p, ROLE_PS, i, MESSAGE_CUT_TAKEN);
        taken.payload = staleness_of(10 * step);
        taken.message.cut_taken =
            (struct message_cut_taken){.step = step, .taken = true, .verdicts.applied = 10 * step};
        players_give(p, taken);
    }
}

static void write_parts(struct players *p, uint64_t step)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct message part = {.kind = MESSAGE_PART_WRITTEN,
                               .generation = p->servers[i].generation};
        part.part_written.step = step;
        part.part_written.written = true;
        part.part_written.server = i;
        players_checkpointer(p, part);
    }
}

static void manifest_written(struct players *p, uint64_t step)
{
    ck_assert_ptr_nonnull(post_order(&p->post, TO_CHECKPOINTER, ORDER_MANIFEST));
    players_order(p, (struct order){.kind = ORDER_MANIFEST_WRITTEN,
                                    .generation = p->servers[0].generation,
                                    .written.step = step});
}

static void checkpoint(struct players *p, uint64_t step)
{
    take_snapshot(p, step);
    write_parts(p, step);
    manifest_written(p, step);
}

static uint64_t batches_given(struct players *p, uint32_t worker, uint64_t batches[16])
{
    uint64_t count = 0;
    post_find(&p->post, TO_PEER, MESSAGE_WORK);
    for (size_t i = 0; i < p->post.taken_count; i++) {
        const struct packet *packet = &p->post.taken[i].packet;
        if (packet->message.kind == MESSAGE_WORK && packet->peer == 10 + worker &&
            !packet->message.work.enough && !packet->message.work.none && count < 16)
            batches[count++] = packet->message.work.batch;
    }
    return count;
}

/* --- identity ------------------------------------------------------------------------------ */

/* What tests begin with, and how they end. */
#define TEST(name, ...)                                                                            \
    SUITE_TEST(name, struct players, p, players_open(p, __VA_ARGS__), players_close(p))
#define TEST_EACH(name, times, ...)                                                                \
    SUITE_TEST_TIMES(name, times, struct players, p, players_open(p, __VA_ARGS__), players_close(p))
#define TEST_PREPARED(name, ...)                                                                   \
    SUITE_TEST(name, struct players, p, players_prepare(p, __VA_ARGS__), players_close(p))
#define TEST_PREPARED_EACH(name, times, ...)                                                       \
    SUITE_TEST_TIMES(name, times, struct players, p, players_prepare(p, __VA_ARGS__),              \
                     players_close(p))

TEST_PREPARED(run_and_generation_are_what_the_run_directory_says, MODE_SYNC)
{
    p->options.run_id = 5; /* A proposal. */
    players_create(p);
    players_join(p, ROLE_WORKER, 0);
    players_declare(p, 0, &p->job);
    ck_assert_uint_eq(post_order(&p->post, TO_CHECKPOINTER, ORDER_OPEN_RUN)->run_id, 5);
    players_opened(p, 3, true, 2);
    players_join(p, ROLE_PS, 1);
    const struct message *welcome = players_told(p, 21, MESSAGE_WELCOME);
    ck_assert_uint_eq(welcome->run_id, RUN);
    ck_assert_uint_eq(welcome->generation, 3);
    ck_assert_uint_eq(welcome->welcome.restore_step, 2);
}

TEST(the_checkpointer_is_told_which_run_the_declaring_worker_was_in, MODE_SYNC)
{
    struct packet join = players_join_packet(p, ROLE_WORKER, 0);
    join.message.run_id = 1234;
    players_give(p, join);
    players_declare(p, 0, &p->job);
    const struct order *open = post_order(&p->post, TO_CHECKPOINTER, ORDER_OPEN_RUN);
    ck_assert_uint_eq(open->open_run.known_run_id, 1234);
}

TEST(a_run_that_had_ended_ends_again, MODE_SYNC)
{
    players_join(p, ROLE_WORKER, 0);
    players_declare(p, 0, &p->job);
    struct order opened = {.kind = ORDER_RUN_OPENED};
    opened.run_opened.run_id = RUN;
    opened.run_opened.ended = true;
    opened.run_opened.exit_code = EXIT_TERMINATED;
    players_order(p, opened);
    players_say(p, ROLE_WORKER, 1, MESSAGE_PING);
    check_finished(p, 11, EXIT_TERMINATED, "");
    struct packet other = players_packet(p, ROLE_WORKER, 0, MESSAGE_PING);
    other.message.run_id = RUN + 1;
    players_give(p, other);
    check_refused(p, 10, REFUSAL_RUN);
    players_say(p, ROLE_PS, 0, MESSAGE_BYE);
    players_wait(p, 3);
    ck_assert(coordinator_is_over(p->coordinator));
}

/* Server 0 was killed before all had heard, and a worker that knows nothing was the first to come.
 */
TEST_EACH(members_of_the_run_before_hear_how_it_ended, 2, MODE_SYNC)
{
    const int refused = _i;
    players_join(p, ROLE_WORKER, 0);
    players_declare(p, 0, &p->job);
    struct order opened = {.kind = ORDER_RUN_OPENED};
    opened.run_opened.status = refused ? STATUS_EXISTS : STATUS_OK;
    opened.run_opened.run_id = refused ? 0 : RUN;
    opened.run_opened.ended_run_id = RUN + 1;
    opened.run_opened.exit_code = EXIT_TERMINATED;
    players_order(p, opened);
    for (int i = 0; i < 2; i++) {
        struct packet late = i == 0 ? players_join_packet(p, ROLE_WORKER, 1)
                                    : players_packet(p, ROLE_PS, 1, MESSAGE_PING);
        late.message.run_id = RUN + 1;
        players_give(p, late);
        check_finished(p, late.peer, EXIT_TERMINATED, "had ended");
        post_clear(&p->post);
        late.message.kind = MESSAGE_BYE;
        players_give(p, late);
        ck_assert_uint_eq(post_count_all(&p->post), 0);
    }
    if (refused) {
        players_say(p, ROLE_WORKER, 0, MESSAGE_PING);
        check_finished(p, 10, EXIT_CANNOT_OPEN, "");
    } else {
        players_join(p, ROLE_WORKER, 0);
        ck_assert_ptr_nonnull(players_told(p, 10, MESSAGE_WELCOME));
    }
}

TEST(a_join_repeated_is_one_admission_and_another_process_s_is_another, MODE_SYNC)
{
    players_gather(p);
    players_join(p, ROLE_WORKER, 0);
    uint64_t ticket = p->workers[0].ticket;
    ck_assert_uint_gt(ticket, 0);
    for (int i = 0; i < 5; i++) {
        players_join(p, ROLE_WORKER, 0);
        ck_assert_uint_eq(p->workers[0].ticket, ticket);
    }
    players_join(p, ROLE_PS, 0);
    ck_assert_uint_gt(p->servers[0].ticket, ticket);
}

TEST(whoever_is_no_member_is_told_to_join_but_of_another_run_to_go, MODE_SYNC)
{
    struct packet old = players_packet(p, ROLE_WORKER, 0, MESSAGE_PING);
    old.message.run_id = RUN + 1;
    players_give(p, old); /* Which run this will be is not known yet. */
    check_refused(p, 10, REFUSAL_REJOIN);
    post_clear(&p->post);
    players_start(p);
    for (unsigned kind = MESSAGE_READY; kind < MESSAGE_KIND_COUNT; kind++) {
        if (kind == MESSAGE_STATUS || kind == MESSAGE_DISMISS || kind == MESSAGE_BYE ||
            kind == MESSAGE_REPORT || kind == MESSAGE_LEAVE)
            continue;
        struct packet other = players_packet(p, ROLE_WORKER, 0, kind);
        other.message.run_id = RUN + 1;
        players_give(p, other);
        check_refused(p, 10, REFUSAL_RUN);
        other = players_packet(p, ROLE_WORKER, 0, kind);
        other.message.incarnation++;
        players_give(p, other);
        check_refused(p, 10, REFUSAL_REJOIN);
        post_clear(&p->post);
    }
    struct packet join = players_join_packet(p, ROLE_WORKER, 0);
    join.message.run_id = RUN + 1;
    players_give(p, join);
    check_refused(p, 10, REFUSAL_RUN);
    ck_assert_ptr_null(players_told(p, 11, MESSAGE_FINISHED));
}

TEST(members_are_answered_where_they_last_spoke_from_but_reports_come_from_elsewhere, MODE_SYNC)
{
    players_start(p);
    struct packet ping = players_packet(p, ROLE_WORKER, 1, MESSAGE_PING);
    ping.peer = 90; /* Its connection was made anew. */
    players_give(p, ping);
    ck_assert_ptr_nonnull(players_told(p, 90, MESSAGE_PONG));
    struct packet report = players_packet(p, ROLE_WORKER, 1, MESSAGE_REPORT);
    report.peer = 91;
    report.message.report.node = (struct node){2, 2};
    players_give(p, report);
    players_stop(p, ROLE_WORKER, 0, EXIT_TRAINING_FAILED, "no");
    check_finished(p, 90, EXIT_TRAINING_FAILED, "worker/0: no");
}

TEST(messages_of_a_dropped_ticket_change_nothing, MODE_SYNC)
{
    players_start(p);
    lose(p, ROLE_WORKER, 1, 6);
    struct packet done = players_packet(p, ROLE_WORKER, 1, MESSAGE_DONE);
    done.message.done.step = 6;
    players_join(p, ROLE_WORKER, 1); /* The same process, admitted anew. */
    players_pass(p, 1);
    players_done(p, 0, 6);
    players_give(p, done); /* Late, of the admission before. */
    ck_assert_ptr_null(players_told(p, 21, MESSAGE_CUT));
    players_done(p, 1, 6);
    ck_assert_ptr_nonnull(players_told(p, 21, MESSAGE_CUT));
}

/* --- two processes, one place -------------------------------------------------------------- */

TEST(a_restarted_worker_is_back_in_little_more_than_a_second, MODE_SYNC)
{
    players_start(p);
    players_kill(p, ROLE_WORKER, 1);
    players_restart(p, ROLE_WORKER, 1);
    post_clear(&p->post);
    for (int i = 0; i < 11; i++) {
        players_join(p, ROLE_WORKER, 1);
        ck_assert_ptr_nonnull(strstr(players_told(p, 11, MESSAGE_WAITING)->waiting.text,
                                     "worker/1 is held by another process (on host1)"));
        ck_assert_ptr_null(players_told(p, 11, MESSAGE_WELCOME));
        players_wait(p, 0.1);
    }
    players_wait(p, 0.1);
    players_join(p, ROLE_WORKER, 1);
    ck_assert_ptr_nonnull(players_told(p, 11, MESSAGE_WELCOME));
    players_wait(p, 0);
    check_start(p, 0, 2, 2, 0); /* One for both: lost and back. */
    check_start(p, 1, 2, 2, 1);
    ck_assert_ptr_nonnull(strstr(players_event(p, "lost"), "\"why\": \"replaced\""));
    ck_assert_ptr_nonnull(players_event(p, "joined"));
}

TEST_EACH(a_second_process_is_refused_when_the_first_is_seen_to_be_alive, 2, MODE_SYNC)
{
    const int server = _i;
    enum role role = server ? ROLE_PS : ROLE_WORKER;
    players_start(p);
    struct packet second = players_join_packet(p, role, 1);
    second.message.incarnation = 999;
    second.peer = 60;
    players_give(p, second);
    ck_assert_ptr_nonnull(players_told(p, 60, MESSAGE_WAITING));
    players_pass(p, 0.5); /* What was on its way when it died would come about now. */
    players_give(p, second);
    players_pass(p, 0.5);
    players_give(p, second);
    ck_assert_ptr_null(players_told(p, 60, MESSAGE_REFUSED));
    players_pass(p, 0.5);
    players_give(p, second);
    check_refused(p, 60, REFUSAL_MEMBER);
    ck_assert_ptr_null(players_told(p, 60, MESSAGE_WELCOME));
    players_say(p, role, 1, MESSAGE_PING); /* The first one stays. */
    ck_assert_ptr_nonnull(players_told(p, players_peer(role, 1), MESSAGE_PONG));
    ck_assert_ptr_null(players_told(p, 10, MESSAGE_START));
}

TEST(two_that_want_one_place_in_turns_are_both_told_in_time, MODE_SYNC)
{
    bool refused[2] = {false, false};
    players_start(p);
    for (int i = 0; i < 40; i++) {
        players_pass(p, 0.1);
        for (unsigned k = 0; k < 2; k++) {
            struct packet claimant = players_join_packet(p, ROLE_WORKER, 1);
            claimant.message.incarnation = 900 + k;
            claimant.peer = 60 + k;
            if (refused[k])
                continue;
            players_give(p, claimant);
            ck_assert_ptr_null(players_told(p, 60 + k, MESSAGE_WELCOME));
            refused[k] = players_told(p, 60 + k, MESSAGE_REFUSED) != NULL;
        }
    }
    ck_assert(refused[0] && refused[1]);
}

TEST(a_zombie_joins_again_unless_its_successor_lives, MODE_SYNC)
{
    players_start(p);
    lose(p, ROLE_WORKER, 1, 6);
    struct packet zombie = players_packet(p, ROLE_WORKER, 1, MESSAGE_PING);
    struct packet zombie_join = players_join_packet(p, ROLE_WORKER, 1);
    zombie_join.message.run_id = RUN;
    players_give(p, zombie);
    check_refused(p, 11, REFUSAL_REJOIN);
    players_restart(p, ROLE_WORKER, 1); /* But somebody was faster. */
    players_join(p, ROLE_WORKER, 1);
    ck_assert_ptr_nonnull(players_told(p, 11, MESSAGE_WELCOME));
    zombie_join.peer = zombie.peer = 61;
    for (int i = 0; i < 3; i++) {
        players_give(p, zombie_join);
        players_pass(p, 0.5);
    }
    players_give(p, zombie_join);
    check_refused(p, 61, REFUSAL_MEMBER);
    post_clear(&p->post);
    lose(p, ROLE_WORKER, 1, 6);
    players_give(p, zombie_join); /* Its successor is gone, too. */
    ck_assert_uint_gt(players_told(p, 61, MESSAGE_WELCOME)->welcome.ticket, p->workers[1].ticket);
}

/* --- losing workers ------------------------------------------------------------------------ */

TEST(the_work_of_a_lost_worker_is_dealt_to_the_others, MODE_SYNC)
{
    players_start(p);
    lose(p, ROLE_WORKER, 0, 5);
    ck_assert_ptr_null(players_told(p, 11, MESSAGE_START));
    players_pass(p, 0.5);
    check_start(p, 1, 2, 1, 0);
    ck_assert_ptr_null(players_told(p, 10, MESSAGE_START));
    ck_assert_str_eq(players_event(p, "lost"),
                     "\"role\": \"worker\", \"index\": 0, \"why\": \"silent\"");
    ck_assert_str_eq(players_event(p, "assignment"), "\"number\": 2, \"members\": 1");
    ck_assert_ptr_nonnull(post_log(&p->post, "lost worker/0 (on host0): nothing heard for 5.5 s"));
    players_restart(p, ROLE_WORKER, 0);
    players_join(p, ROLE_WORKER, 0); /* The place is free. */
    players_wait(p, 0);
    check_start(p, 0, 3, 2, 0);
    check_start(p, 1, 3, 2, 1);
}

/* It would wait while the checkpointer writes a model. */
TEST_PLAIN(what_a_step_is_made_of_is_not_the_checkpointers_to_write_down)
{
    struct players all, *p = &all;
    players_prepare(p, MODE_BACKUP);
    p->job.record = RECORDING_ON;
    create_and_start(p);
    players_report(p, 0, 0, (struct node){0, 2});
    ck_assert_uint_eq(post_count_orders(&p->post, TO_SET_WRITER, ORDER_SETS), 1);
    ck_assert_uint_eq(post_count_orders(&p->post, TO_CHECKPOINTER, ORDER_SETS), 0);
    ck_assert_ptr_null(players_told(p, 21, MESSAGE_CLOSE)); /* Not before it is written. */
    struct order written = {.kind = ORDER_SETS_WRITTEN,
                            .written = {.status = STATUS_EXISTS, .step = 0, .text = "another"}};
    lose(p, ROLE_PS, 1, 6);
    players_restart(p, ROLE_PS, 1);
    players_join(p, ROLE_PS, 1); /* All go back: that is no word about this run. */
    players_order(p, written);
    ck_assert_ptr_null(post_log(&p->post, "no more steps are closed here"));
    players_close(p);
}

/* Whoever joins can be one too many: more workers than leaves are all waited for. */
TEST(it_is_said_when_backup_workers_spare_nobody_and_when_they_do_again, MODE_BACKUP)
{
    players_start(p); /* Two, one of them a backup worker; a step has four leaves. */
    for (uint32_t i = 2; i < 4; i++) {
        players_join(p, ROLE_WORKER, i);
        players_wait(p, 0);
    }
    ck_assert_ptr_null(players_event(p, "sparing"));
    players_join(p, ROLE_WORKER, 4);
    players_wait(p, 0);
    ck_assert_str_eq(players_event(p, "sparing"),
                     "\"workers\": 5, \"leaves\": 4, \"waits_for\": 4");
    ck_assert_ptr_nonnull(post_log(&p->post, "a step has leaves for 4 of 5 workers"));
    players_pass(p, 1);
    players_join(p, ROLE_WORKER, 5); /* It is no other matter. */
    players_wait(p, 0);
    ck_assert_str_eq(players_event(p, "assignment"), "\"number\": 5, \"members\": 6");
    ck_assert_ptr_null(players_event(p, "sparing"));

    players_kill(p, ROLE_WORKER, 5);
    lose(p, ROLE_WORKER, 4, 6);
    ck_assert_str_eq(players_event(p, "sparing"),
                     "\"workers\": 4, \"leaves\": 4, \"waits_for\": 1");
    ck_assert_ptr_nonnull(post_log(&p->post, "a step waits for 1 of 4 workers again"));
    for (uint32_t i = 1; i < 4; i++)
        players_kill(p, ROLE_WORKER, i);
    players_pass(p, 6);
    ck_assert_str_eq(players_event(p, "sparing"),
                     "\"workers\": 1, \"leaves\": 4, \"waits_for\": 1");
    ck_assert_ptr_nonnull(post_log(&p->post, "a step waits for all 1 workers that are here"));
}

TEST(start_is_repeated_until_it_is_heard, MODE_SYNC)
{
    players_start(p);
    p->workers[1].assignment = 0; /* It was lost. */
    players_say(p, ROLE_WORKER, 1, MESSAGE_PING);
    check_start(p, 1, 1, 2, 1);
    struct packet ping = players_packet(p, ROLE_WORKER, 0, MESSAGE_PING);
    ping.message.ping.assignment = 1;
    players_give(p, ping);
    ck_assert_ptr_null(players_told(p, 10, MESSAGE_START));
}

TEST(when_nobody_is_left_somebody_is_waited_for_but_not_for_ever, MODE_SYNC)
{
    players_start(p);
    players_kill(p, ROLE_WORKER, 0);
    lose(p, ROLE_WORKER, 1, 20);
    ck_assert_ptr_null(players_told(p, 21, MESSAGE_FINISHED));
    ck_assert_ptr_nonnull(post_log(&p->post, "for any worker"));
    players_restart(p, ROLE_WORKER, 1);
    players_join(p, ROLE_WORKER, 1);
    players_wait(p, 0);
    check_start(p, 1, 3, 1, 0);
    lose(p, ROLE_WORKER, 1, 20);
    ck_assert_ptr_null(players_told(p, 21, MESSAGE_FINISHED));
    players_pass(p, 6);
    check_finished(p, 21, EXIT_CLUSTER_LOST, "no worker is left");
}

TEST_PREPARED(told_to_wait_it_deals_nothing_anew_until_that_worker_is_back, MODE_SYNC)
{
    p->options.on_worker_loss = LOSS_WAIT;
    create_and_start(p);
    lose(p, ROLE_WORKER, 0, 12);
    ck_assert_ptr_null(players_told(p, 11, MESSAGE_START));
    ck_assert_ptr_nonnull(post_log(&p->post, "for worker/0 (lost)"));
    ck_assert_ptr_nonnull(
        strstr(players_told(p, 11, MESSAGE_PONG)->waiting.text, "for worker/0 (lost)"));
    players_done(p, 1, 6); /* It is through; but the other was not. */
    ck_assert_ptr_null(players_told(p, 21, MESSAGE_CUT));
    players_join(p, ROLE_WORKER, 2); /* Whoever joins gets a share, but not of those missed. */
    players_wait(p, 0);
    check_start(p, 1, 2, 3, 1);
    check_start(p, 2, 2, 3, 2);
    players_restart(p, ROLE_WORKER, 0);
    players_join(p, ROLE_WORKER, 0);
    players_wait(p, 0);
    check_start(p, 0, 3, 3, 0);
    lose(p, ROLE_WORKER, 0, 25.5);
    ck_assert_ptr_null(players_told(p, 21, MESSAGE_FINISHED));
    players_pass(p, 1);
    check_finished(p, 21, EXIT_CLUSTER_LOST, "lost worker/0 (on host0): not back within 20 s");
}

TEST_PREPARED_EACH(told_to_fail_it_ends_with_the_first_loss, 2, MODE_SYNC)
{
    const int restarted = _i;
    p->options.on_worker_loss = LOSS_FAIL;
    create_and_start(p);
    players_kill(p, ROLE_WORKER, 0);
    if (restarted) {
        players_pass(p, 1.5);
        players_restart(p, ROLE_WORKER, 0);
        players_join(p, ROLE_WORKER, 0);
        check_finished(p, 10, EXIT_CLUSTER_LOST, "lost worker/0");
    } else {
        players_pass(p, 5.5);
    }
    check_finished(p, 11, EXIT_CLUSTER_LOST, "lost worker/0 (on host0)");
    ck_assert_uint_eq(summary_of(p).faults.workers_lost, 1);
    ck_assert_uint_eq(summary_of(p).exit_code, EXIT_CLUSTER_LOST);
}

TEST(a_worker_lost_before_the_start_is_waited_for, MODE_SYNC)
{
    players_gather(p);
    players_join(p, ROLE_WORKER, 0);
    for (uint32_t i = 0; i < 2; i++) {
        players_join(p, ROLE_PS, i);
        p->servers[i].ready = true;
        players_say(p, ROLE_PS, i, MESSAGE_READY);
    }
    lose(p, ROLE_WORKER, 0, 6);
    ck_assert_ptr_nonnull(post_log(&p->post, "lost worker/0"));
    players_join(p, ROLE_WORKER, 1);
    ck_assert_ptr_null(players_told(p, 11, MESSAGE_START));
    players_pass(p, 1);
    ck_assert_ptr_nonnull(
        strstr(players_told(p, 11, MESSAGE_PONG)->waiting.text, "for worker/0 (lost)"));
    players_restart(p, ROLE_WORKER, 0);
    players_join(p, ROLE_WORKER, 0);
    check_start(p, 1, 1, 2, 1);
}

TEST(workers_beyond_those_declared_may_join_while_the_job_runs, MODE_ASYNC)
{
    players_start(p);
    players_join(p, ROLE_WORKER, 5);
    players_wait(p, 0);
    for (uint32_t i = 0; i < 2; i++)
        check_start(p, i, 2, 3, i);
    check_start(p, 5, 2, 3, 2);
    players_follow(p);
    post_clear(&p->post);
    players_lease(p, 5, false, 0);
    ck_assert(!players_told(p, 15, MESSAGE_WORK)->work.none);
    struct packet last = players_join_packet(p, ROLE_WORKER, 7);
    last.message.index = JOB_WORKERS_MAX - 1;
    last.peer = 80;
    players_give(p, last);
    ck_assert_ptr_nonnull(players_told(p, 80, MESSAGE_WELCOME));
}

TEST(the_first_start_waits_for_those_declared_and_no_others, MODE_SYNC)
{
    players_gather(p);
    for (uint32_t i = 0; i < 2; i++) {
        players_join(p, ROLE_PS, i);
        players_say(p, ROLE_PS, i, MESSAGE_READY);
    }
    players_join(p, ROLE_WORKER, 1);
    players_join(p, ROLE_WORKER, 4);
    ck_assert_ptr_null(players_told(p, 11, MESSAGE_START));
    players_join(p, ROLE_WORKER, 0);
    check_start(p, 4, 1, 3, 2);
}

TEST_PREPARED(a_worker_that_leaves_is_missed_by_nobody, MODE_SYNC)
{
    p->options.on_worker_loss = LOSS_FAIL; /* Leaving is no loss. */
    create_and_start(p);
    players_say(p, ROLE_WORKER, 0, MESSAGE_LEAVE);
    check_finished(p, 10, EXIT_DONE, "left the job");
    players_wait(p, 0);
    check_start(p, 1, 2, 1, 0);
    ck_assert_ptr_nonnull(players_event(p, "left"));
    ck_assert_ptr_null(players_event(p, "lost"));
    post_clear(&p->post);
    players_say(p, ROLE_WORKER, 0, MESSAGE_LEAVE); /* Repeated, because the answer was lost. */
    check_finished(p, 10, EXIT_DONE, "left the job");
    post_clear(&p->post);
    players_say(p, ROLE_WORKER, 0, MESSAGE_PING); /* What was still under way. */
    check_finished(p, 10, EXIT_DONE, "left the job");
    players_join(p, ROLE_WORKER, 0);
    ck_assert_ptr_null(players_told(p, 10, MESSAGE_WELCOME));
    players_restart(p, ROLE_WORKER, 0); /* Another one may come. */
    players_join(p, ROLE_WORKER, 0);
    ck_assert_ptr_nonnull(players_told(p, 10, MESSAGE_WELCOME));
}

/* Asked by somebody who speaks in the worker's name and is no member. */
static const struct message_dismissed *dismiss(struct players *p, uint32_t worker, bool again)
{
    struct packet packet = {
        .peer = 70, .message = {.kind = MESSAGE_DISMISS, .role = ROLE_WORKER, .index = worker}};
    packet.message.dismiss.again = again;
    players_give(p, packet);
    return &players_told(p, 70, MESSAGE_DISMISSED)->dismissed;
}

TEST_PREPARED(a_worker_that_is_sent_away_hears_it_with_every_sign_of_life, MODE_SYNC)
{
    players_create(p);
    ck_assert_int_eq(dismiss(p, 0, false)->outcome, EVICTION_EARLY);
    players_start(p);
    ck_assert_int_eq(dismiss(p, 0, true)->outcome, EVICTION_ANOTHER); /* Only what became of it. */
    players_say(p, ROLE_WORKER, 0, MESSAGE_PING);
    ck_assert(!players_told(p, 10, MESSAGE_PONG)->waiting.leave);
    ck_assert_int_eq(dismiss(p, 0, false)->outcome, EVICTION_DONE);
    for (int i = 0; i < 2; i++) {
        players_say(p, ROLE_WORKER, 0, MESSAGE_PING);
        ck_assert(players_told(p, 10, MESSAGE_PONG)->waiting.leave);
        players_say(p, ROLE_WORKER, 1, MESSAGE_PING);
        ck_assert(!players_told(p, 11, MESSAGE_PONG)->waiting.leave);
    }
    ck_assert_int_eq(dismiss(p, 0, true)->outcome, EVICTION_DONE);
    players_say(p, ROLE_WORKER, 0, MESSAGE_LEAVE);
    ck_assert_int_eq(dismiss(p, 0, true)->outcome, EVICTION_GONE);
    ck_assert_ptr_nonnull(strstr(dismiss(p, 0, false)->text, "worker/0 is not there: it has left"));
    ck_assert_ptr_nonnull(
        strstr(dismiss(p, 6, false)->text, "worker/6 is not there: it never was"));
    players_restart(p, ROLE_WORKER, 0); /* Another has the place, and stays. */
    players_join(p, ROLE_WORKER, 0);
    ck_assert_int_eq(dismiss(p, 0, true)->outcome, EVICTION_ANOTHER);
    players_say(p, ROLE_WORKER, 0, MESSAGE_PING);
    ck_assert(!players_told(p, 10, MESSAGE_PONG)->waiting.leave);
    players_stop(p, ROLE_WORKER, 1, EXIT_TRAINING_FAILED, "no luck");
    ck_assert_int_eq(dismiss(p, 0, false)->outcome, EVICTION_OVER);
}

static void leave(struct players *p, uint32_t worker)
{
    players_say(p, ROLE_WORKER, worker, MESSAGE_LEAVE);
}

/* Its server stays, and needs somebody to compute for; workers beyond those declared own nothing. */
TEST_PREPARED(a_worker_whose_place_owns_chunks_cannot_leave, MODE_SYNC)
{
    p->job.colocated = true;
    create_and_start(p);
    ck_assert_int_eq(dismiss(p, 0, false)->outcome, EVICTION_OWNER);
    leave(p, 0);
    const struct message *refused = players_told(p, 10, MESSAGE_REFUSED);
    ck_assert_ptr_nonnull(refused);
    ck_assert_int_eq(refused->refused.reason, REFUSAL_OWNER);
    ck_assert_str_eq(refused->refused.text,
                     "the place of worker/0 owns chunks of the model, and cannot leave");
    ck_assert_ptr_null(players_told(p, 10, MESSAGE_FINISHED));
    ck_assert_ptr_null(players_event(p, "left"));
    players_say(p, ROLE_WORKER, 0, MESSAGE_PING);
    ck_assert_ptr_nonnull(players_told(p, 10, MESSAGE_PONG)); /* A member as before. */

    players_join(p, ROLE_WORKER, 2);
    ck_assert_ptr_nonnull(players_told(p, 12, MESSAGE_WELCOME));
    leave(p, 2);
    check_finished(p, 12, EXIT_DONE, "left the job");
}

TEST(the_last_to_leave_stays_a_little_and_then_others_are_waited_for, MODE_SYNC)
{
    players_start(p);
    leave(p, 0);
    check_finished(p, 10, EXIT_DONE, "left the job");
    ck_assert(players_told(p, 10, MESSAGE_FINISHED)->stop.left);
    leave(p, 1);
    players_pass(p, 1.5);
    leave(p, 1);
    ck_assert_ptr_null(players_told(p, 11, MESSAGE_FINISHED));
    players_pass(p, 0.6);
    leave(p, 1);
    check_finished(p, 11, EXIT_DONE, "left the job");
    players_kill(p, ROLE_WORKER, 0);
    players_kill(p, ROLE_WORKER, 1);
    players_wait(p, 0.1);
    ck_assert_ptr_nonnull(post_log(&p->post, "no worker is left; waiting 20 s for one to join"));
    players_restart(p, ROLE_WORKER, 1);
    players_join(p, ROLE_WORKER, 1);
    ck_assert_ptr_nonnull(players_told(p, 11, MESSAGE_WELCOME));
}

TEST(a_stop_needs_those_who_are_about_to_leave, MODE_SYNC)
{
    players_start(p);
    players_stop(p, ROLE_PS, 1, EXIT_TERMINATED, "ps/1 was asked to");
    leave(p, 0);
    leave(p, 1);
    ck_assert_ptr_null(players_told(p, 10, MESSAGE_FINISHED));
    ck_assert_ptr_null(players_told(p, 11, MESSAGE_FINISHED));
}

/* All leave, and a stop comes when the last is gone. */
static void desert(struct players *p, enum mode mode)
{
    players_open(p, mode);
    players_start(p);
    for (uint64_t step = 0; step < 3; step++) {
        players_lease(p, 0, false, 0);
        report_step(p, 0, step);
        players_lease(p, 0, true, step);
    }
    leave(p, 1);
    leave(p, 0);
    players_pass(p, 2.1);
    leave(p, 0);
    check_finished(p, 10, EXIT_DONE, "left the job");
    players_kill(p, ROLE_WORKER, 0);
    players_kill(p, ROLE_WORKER, 1);
    players_wait(p, 0);
    post_clear(&p->post);
    players_stop(p, ROLE_PS, 0, EXIT_TERMINATED, "ps/0 was asked to");
    players_wait(p, 0);
    ck_assert(players_told(p, 21, MESSAGE_CUT)->cut.final);
    ck_assert_uint_eq(players_told(p, 21, MESSAGE_CUT)->cut.step, 3);
}

TEST_PLAIN(a_stop_after_all_have_left_keeps_what_was_made)
{
    for (int mode = 0; mode < 2; mode++) {
        struct players p;
        desert(&p, mode ? MODE_SYNC : MODE_ASYNC);
        checkpoint(&p, 3);
        players_order(&p, (struct order){.kind = ORDER_SUMMARY_WRITTEN});
        check_finished(&p, 21, EXIT_TERMINATED, "stopped");
        players_close(&p);
    }
}

TEST_PLAIN(a_stop_after_all_have_left_in_the_middle_of_a_step_ends_with_the_last_checkpoint)
{
    for (int said = 0; said < 2; said++) {
        struct players p;
        desert(&p, MODE_SYNC);
        struct packet taken = players_packet(&p, ROLE_PS, 1, MESSAGE_CUT_TAKEN);
        taken.message.cut_taken.step = 3; /* Not taken. */
        if (said)
            players_give(&p, taken);
        else
            players_pass(&p, 2.2);
        check_finished(&p, 21, EXIT_TERMINATED,
                       "stopped when all workers had left, in the middle of a step; there is no "
                       "checkpoint");
        players_close(&p);
    }
}

/* --- slow and stuck ------------------------------------------------------------------------ */

TEST(a_slow_worker_is_named_now_and_then_and_a_stuck_one_dropped, MODE_SYNC)
{
    players_start(p);
    p->workers[1].computing = true;
    players_report(p, 0, 0, (struct node){0, 2});
    players_pass(p, 10);
    ck_assert_ptr_null(post_log(&p->post, "waits for"));
    players_pass(p, 2);
    ck_assert_ptr_nonnull(
        post_log(&p->post, "step 0 waits for worker/1 on host1: alive, computing for 10 s"));
    ck_assert_ptr_null(post_log(&p->post, "waits for worker/0"));
    players_pass(p, 7);
    ck_assert_ptr_null(post_log(&p->post, "waits for"));
    players_pass(p, 2);
    ck_assert_ptr_nonnull(post_log(&p->post, "for 20 s"));
    players_pass(p, 40);
    players_pass(p, 38);
    ck_assert_ptr_null(post_log(&p->post, "stuck"));
    players_pass(p, 3);
    ck_assert_ptr_nonnull(post_log(
        &p->post, "worker/1 is stuck (on host1): alive, but no progress at step 0 for 1 min 4"));
    check_start(p, 0, 2, 1, 0);
    check_refused(p, 11, REFUSAL_MEMBER);
    ck_assert_str_eq(players_told(p, 11, MESSAGE_REFUSED)->refused.text, "dropped as stuck");
}

/* What whoever looks on is told. */
static void check_waits(const struct players *p, const char *text)
{
    struct message_status_answer answer = {0};
    coordinator_describe(p->coordinator, &answer, p->now_us);
    ck_assert_str_eq(answer.text, text);
}

TEST(it_is_told_at_once_for_whom_a_step_waits, MODE_SYNC)
{
    players_start(p);
    players_pass(p, 3);
    check_waits(p, ""); /* All are at work. */
    p->workers[1].computing = true;
    players_report(p, 0, 0, (struct node){0, 2});
    players_pass(p, 0.5);
    check_waits(p, "");
    lose(p, ROLE_WORKER, 1, 1.5);
    check_waits(p, "step 0 waits for worker/1 on host1: nothing heard for 1.5 s");
    p->workers[1].alive = true;
    players_pass(p, 0.5);
    check_waits(p, "step 0 waits for worker/1 on host1: alive, computing for 2 s");
    players_report(p, 1, 0, (struct node){2, 2});
    check_waits(p, "");
    players_kill(p, ROLE_WORKER, 0);
    lose(p, ROLE_WORKER, 1, 1.5);
    check_waits(p, "step 1 waits for worker/1 on host1: nothing heard for 1.5 s, and for 1 more");
}

/* Where the others have work, nobody waits for the one. */
TEST_PLAIN(nobody_waits_for_a_stopped_worker_while_others_go_on)
{
    const enum mode modes[] = {MODE_ASYNC, MODE_BACKUP};
    for (size_t mode = 0; mode < sizeof modes / sizeof *modes; mode++) {
        struct players all, *p = &all;
        players_open(p, modes[mode]);
        players_start(p);
        players_lease(p, 0, false, 0);
        players_lease(p, 1, false, 0);
        players_kill(p, ROLE_WORKER, 1);
        for (uint64_t step = 0; step < 5; step++) {
            players_report(p, 0, step, (struct node){0, 2});
            check_waits(p, "");
            p->workers[0].step++;
            players_lease(p, 0, true, step);
            players_pass(p, 0.6);
            check_waits(p, "");
        }
        players_close(p);
    }
}

TEST(whoever_makes_progress_or_owes_nothing_is_not_stuck, MODE_SYNC)
{
    players_start(p);
    for (uint64_t step = 0; step < 3; step++) {
        players_pass(p, 60);
        report_step(p, 0, step);
        players_pass(p, 30);
        p->workers[0].computing = !p->workers[0].computing;
        p->workers[1].step++;
        ck_assert_ptr_null(post_log(&p->post, "stuck"));
    }
}

TEST_PREPARED(nobody_is_stuck_who_waits_for_a_server, MODE_SYNC)
{
    p->options.deadlines.recovery = 1000;
    create_and_start(p);
    players_kill(p, ROLE_PS, 1);
    for (int i = 0; i < 6; i++) {
        players_pass(p, 50);
        ck_assert_ptr_null(post_log(&p->post, "stuck"));
    }
}

TEST_EACH(who_never_says_that_it_is_done_is_stuck, 2, _i ? MODE_SYNC : MODE_ASYNC)
{
    players_start(p);
    players_lease(p, 0, false, 0);
    for (uint64_t step = 0; step < 6; step++) {
        report_step(p, 0, step);
        players_lease(p, 0, true, step);
    }
    players_done(p, 0, 6);
    players_pass(p, 99);
    ck_assert_ptr_null(post_log(&p->post, "stuck"));
    players_pass(p, 2);
    ck_assert_ptr_nonnull(post_log(&p->post, "worker/1 is stuck"));
    players_pass(p, 1);
    players_done(p, 0, 6); /* It was told of another assignment. */
    ck_assert(players_told(p, 21, MESSAGE_CUT)->cut.final);
}

/* --- losing servers ------------------------------------------------------------------------ */

TEST(a_server_that_was_only_away_has_lost_nothing, MODE_SYNC)
{
    players_start(p);
    lose(p, ROLE_PS, 1, 10);
    ck_assert_ptr_nonnull(post_log(&p->post, "lost ps/1 (on host1): nothing heard for 5.5 s"));
    ck_assert_ptr_nonnull(
        strstr(players_told(p, 10, MESSAGE_PONG)->waiting.text, "for ps/1 (lost)"));
    p->servers[1].alive = true;
    players_pass(p, 1);
    ck_assert_ptr_nonnull(post_log(&p->post, "ps/1 is back"));
    ck_assert_ptr_null(post_order(&p->post, TO_CHECKPOINTER, ORDER_GO_BACK));
    ck_assert_str_eq(players_told(p, 10, MESSAGE_PONG)->waiting.text, "");
    players_pass(p, 20);
    ck_assert_ptr_null(players_told(p, 10, MESSAGE_FINISHED));
}

TEST(a_server_that_does_not_come_back_ends_the_job, MODE_SYNC)
{
    players_start(p);
    lose(p, ROLE_PS, 1, 25.5);
    ck_assert_ptr_null(players_told(p, 10, MESSAGE_FINISHED));
    players_pass(p, 1);
    check_finished(p, 10, EXIT_CLUSTER_LOST, "lost ps/1 (on host1): not back within 20 s");
    ck_assert_uint_eq(summary_of(p).faults.servers_lost, 1);
}

TEST(a_restarted_server_raises_the_generation_and_all_start_again, MODE_SYNC)
{
    players_start(p);
    for (uint64_t step = 0; step < 3; step++)
        report_step(p, 0, step);
    lose(p, ROLE_PS, 1, 1);
    come_back(p, 1, 1);

    players_pass(p, 1); /* The checkpointer is slow. */
    ck_assert_ptr_null(players_told(p, 21, MESSAGE_WELCOME));
    ck_assert_uint_eq(post_count_orders(&p->post, TO_CHECKPOINTER, ORDER_GO_BACK), 0);
    players_give(p, players_join_packet(p, ROLE_PS, 1));
    ck_assert_ptr_nonnull(players_told(p, 21, MESSAGE_WAITING));

    players_opened(p, 1, false, 0);
    ck_assert_str_eq(players_event(p, "generation"),
                     "\"generation\": 1, \"step\": 0, \"recomputed\": 3");
    const struct message *welcome = players_told(p, 21, MESSAGE_WELCOME);
    ck_assert_uint_eq(welcome->generation, 1);
    ck_assert(!welcome->welcome.restore);
    ck_assert_ptr_nonnull(players_told(p, 21, MESSAGE_JOB_PAGE)); /* It is new. */
    ck_assert_uint_eq(players_told(p, PEER_LOCAL, MESSAGE_WELCOME)->generation, 1);
    ck_assert_ptr_null(players_told(p, PEER_LOCAL, MESSAGE_JOB_PAGE));

    struct packet old = players_packet(p, ROLE_PS, 0, MESSAGE_READY); /* Of generation 0. */
    players_give(p, old);
    p->servers[0].ready = p->servers[1].ready = p->servers[1].alive = true;
    players_follow(p);
    players_say(p, ROLE_PS, 1, MESSAGE_READY);
    ck_assert_ptr_null(players_told(p, 10, MESSAGE_START));
    players_say(p, ROLE_PS, 0, MESSAGE_READY);
    for (uint32_t i = 0; i < 2; i++) {
        check_start(p, i, 2, 2, i);
        ck_assert_uint_eq(players_told(p, 10 + i, MESSAGE_START)->generation, 1);
        ck_assert_uint_eq(players_told(p, 10 + i, MESSAGE_START)->start.step, 0);
    }
    ck_assert_ptr_nonnull(post_order(&p->post, TO_CHECKPOINTER, ORDER_SEND_CHUNKS));
    players_stop(p, ROLE_WORKER, 0, EXIT_TRAINING_FAILED, "enough");
    ck_assert_uint_eq(summary_of(p).faults.recomputed, 3);
    ck_assert_uint_eq(summary_of(p).faults.generation, 1);
}

TEST(messages_of_an_older_generation_are_fenced_but_show_who_is_alive, MODE_SYNC)
{
    players_start(p);
    struct player before = p->workers[1];
    lose_and_regain(p, 1, false, 0);
    players_follow(p);
    post_clear(&p->post);
    struct player after = p->workers[1];
    p->workers[1] = before;
    players_report(p, 1, 0, (struct node){0, 4});
    players_done(p, 1, 6);
    players_say(p, ROLE_WORKER, 1, MESSAGE_EVALUATION);
    ck_assert_uint_eq(post_count_all(&p->post), 0);
    players_say(p, ROLE_WORKER, 1, MESSAGE_PING);
    check_start(p, 1, 2, 2, 1);
    struct packet ahead = players_packet(p, ROLE_WORKER, 1, MESSAGE_EVALUATION);
    ahead.message.generation = 9;
    post_clear(&p->post);
    players_give(p, ahead);
    ck_assert_uint_eq(post_count_all(&p->post), 0);
    p->workers[1] = after;
    players_stop(p, ROLE_WORKER, 1, EXIT_TRAINING_FAILED, "enough");
    ck_assert_uint_eq(summary_of(p).faults.fenced, 4);
}

TEST(a_server_that_did_not_hear_of_the_generation_is_told_again, MODE_SYNC)
{
    players_start(p);
    lose(p, ROLE_PS, 1, 1);
    come_back(p, 1, 1);
    players_opened(p, 1, true, 3);
    post_clear(&p->post); /* All WELCOMEs are lost. */
    players_wait(p, 1);
    ck_assert_uint_eq(players_told(p, PEER_LOCAL, MESSAGE_WELCOME)->generation, 1);
    ck_assert_ptr_nonnull(players_told(p, 21, MESSAGE_JOB_PAGE));
    ck_assert_uint_eq(players_told(p, 21, MESSAGE_WELCOME)->welcome.restore_step, 3);
    post_clear(&p->post);
    p->servers[0].ready = true;
    players_say(p, ROLE_PS, 0, MESSAGE_READY); /* Still of generation 0. */
    ck_assert_uint_eq(players_told(p, PEER_LOCAL, MESSAGE_WELCOME)->generation, 1);
}

TEST(chunks_go_to_servers_that_ask_for_them_while_the_job_recovers, MODE_SYNC)
{
    players_start(p);
    lose(p, ROLE_PS, 1, 1);
    come_back(p, 1, 1);
    players_opened(p, 1, true, 3);
    p->servers[1].alive = true;
    players_follow(p);
    struct packet ready = players_packet(p, ROLE_PS, 1, MESSAGE_READY);
    ready.message.ready.needs_chunks = true;
    players_give(p, ready);
    ck_assert_uint_eq(post_order(&p->post, TO_CHECKPOINTER, ORDER_SEND_CHUNKS)->send_chunks.server,
                      1);
    struct message chunk = {.kind = MESSAGE_CHUNK_STATE, .generation = 0};
    chunk.chunk_state.server = 1;
    players_checkpointer(p, chunk); /* Of before. */
    ck_assert_ptr_null(players_told(p, 21, MESSAGE_CHUNK_STATE));
    chunk.generation = 1;
    players_checkpointer(p, chunk);
    ck_assert_uint_eq(players_told(p, 21, MESSAGE_CHUNK_STATE)->generation, 1);
}

TEST(generations_follow_each_other, MODE_SYNC)
{
    players_start(p);
    for (uint64_t generation = 1; generation < 5; generation++) {
        lose_and_regain(p, generation, generation > 2, 2);
        check_start(p, 0, (uint32_t)generation + 1, 2, 0);
        ck_assert_uint_eq(players_told(p, 10, MESSAGE_START)->generation, generation);
        ck_assert_uint_eq(players_told(p, 10, MESSAGE_START)->start.step, generation > 2 ? 2 : 0);
        players_pass(p, 2);
    }
}

TEST(a_server_replaced_before_training_goes_on_is_fenced_by_a_generation_more, MODE_SYNC)
{
    players_gather(p);
    players_join(p, ROLE_WORKER, 0);
    for (uint32_t i = 0; i < 2; i++) {
        players_join(p, ROLE_PS, i);
        p->servers[i].ready = true;
        players_say(p, ROLE_PS, i, MESSAGE_READY);
    }
    players_pass(p, 0.5);
    come_back(p, 1, 1); /* Its predecessor may live on, and serve generation 0. */
    players_join(p, ROLE_WORKER, 1);
    ck_assert_ptr_null(players_told(p, 10, MESSAGE_START));
    go_back(p, 1, false, 0);
    players_join(p, ROLE_WORKER, 1);
    ck_assert_uint_eq(players_told(p, 10, MESSAGE_START)->generation, 1);

    lose(p, ROLE_PS, 1, 1);
    come_back(p, 1, 2);
    players_restart(p, ROLE_PS,
                    1); /* And again, while the checkpointer is at it: nobody knows 2 yet. */
    players_wait(p, 1.3);
    players_give(p, players_join_packet(p, ROLE_PS, 1));
    ck_assert_ptr_null(post_order(&p->post, TO_CHECKPOINTER, ORDER_GO_BACK));
    players_opened(p, 2, false, 0);
    post_clear(&p->post);
    come_back(p, 1, 3); /* But now. */
    go_back(p, 3, false, 0);
    ck_assert_uint_eq(players_told(p, 10, MESSAGE_START)->generation, 3);
}

TEST_PREPARED_EACH(a_recovery_that_does_not_end_ends_the_job, 2, MODE_SYNC)
{
    const int checkpointer = _i;
    p->options.deadlines.start = 10;
    create_and_start(p);
    lose(p, ROLE_PS, 1, 1);
    come_back(p, 1, 1);
    if (checkpointer)
        players_opened(p, 1, false, 0);
    p->servers[0].ready = p->servers[1].ready = false; /* They load and load. */
    p->servers[1].alive = checkpointer;
    players_pass(p, checkpointer ? 20 : 5);
    ck_assert_ptr_null(players_told(p, 10, MESSAGE_FINISHED));
    players_pass(p, 20);
    check_finished(p, 10, EXIT_CLUSTER_LOST,
                   checkpointer ? "ps/0 (loading), ps/1 (loading)" : "the run directory does not");
}

TEST(a_generation_that_cannot_be_recorded_ends_the_job, MODE_SYNC)
{
    players_start(p);
    lose(p, ROLE_PS, 1, 1);
    come_back(p, 1, 1);
    struct order opened = {.kind = ORDER_RUN_OPENED};
    opened.run_opened.status = STATUS_IO;
    strcpy(opened.run_opened.text, "Read-only file system");
    players_order(p, opened);
    check_finished(p, 10, EXIT_CANNOT_OPEN, "Read-only file system");
}

TEST(a_worker_lost_while_the_job_recovers_is_not_waited_for, MODE_SYNC)
{
    players_start(p);
    players_kill(p, ROLE_PS, 1);
    lose(p, ROLE_WORKER, 0, 1);
    come_back(p, 1, 1);
    players_pass(p, 6);
    go_back(p, 1, false, 0);
    check_start(p, 1, 2, 1, 0);
    ck_assert_ptr_null(players_told(p, 10, MESSAGE_START));
}

/* --- checkpoints and going back ------------------------------------------------------------ */

TEST_PREPARED(a_cut_under_way_is_given_up_when_the_job_goes_back, MODE_SYNC)
{
    p->job.checkpoint_every = 2;
    create_and_start(p);
    report_step(p, 0, 0);
    report_step(p, 0, 1);
    take_snapshot(p, 2);
    lose_and_regain(p, 1, false, 0);
    ck_assert_uint_eq(players_told(p, 21, MESSAGE_CUT)->cut.step, 2); /* Named anew. */
    ck_assert_uint_eq(players_told(p, 21, MESSAGE_CUT)->generation, 1);
    struct message part = {.kind = MESSAGE_PART_WRITTEN, .generation = 0};
    part.part_written.step = 2;
    part.part_written.written = true;
    players_checkpointer(p, part);
    part.part_written.server = 1;
    players_checkpointer(p, part);
    ck_assert_ptr_null(post_order(&p->post, TO_CHECKPOINTER, ORDER_MANIFEST));
    write_parts(p, 2);
    ck_assert_ptr_null(post_order(&p->post, TO_CHECKPOINTER, ORDER_MANIFEST)); /* Nor scored. */
    players_follow(p);
    report_step(p, 0, 0);
    report_step(p, 0, 1);
    manifest_written(p, 2);
    players_stop(p, ROLE_WORKER, 0, EXIT_TRAINING_FAILED, "enough");
    ck_assert_uint_eq(summary_of(p).faults.checkpoints_failed, 1);
}

TEST_PREPARED(a_server_that_has_not_answered_a_cut_is_told_again, MODE_SYNC)
{
    p->job.checkpoint_every = 2;
    create_and_start(p);
    take_snapshot(p, 2);
    struct message part = {.kind = MESSAGE_PART_WRITTEN};
    part.part_written.step = 2;
    part.part_written.written = true;
    players_checkpointer(p, part); /* Server 0's. */
    players_pass(p, 1.5);
    ck_assert_uint_eq(players_told(p, 21, MESSAGE_CUT)->cut.step, 2);
    ck_assert_ptr_null(players_told(p, PEER_LOCAL, MESSAGE_CUT));
}

TEST_PREPARED(a_cut_that_takes_too_long_is_given_up_and_counted, MODE_SYNC)
{
    p->job.checkpoint_every = 2;
    p->job.steps = 100;
    create_and_start(p);
    players_pass(p, 40); /* Nobody has come to that step yet: that is no failure. */
    ck_assert_ptr_null(players_event(p, "checkpoint_failed"));
    report_step(p, 0, 0);
    report_step(p, 0, 1);
    players_pass(p, 30);
    ck_assert_ptr_null(players_event(p, "checkpoint_failed"));
    players_pass(p, 1.5);
    ck_assert_str_eq(players_event(p, "checkpoint_failed"), "\"step\": 2");
    ck_assert_uint_eq(players_told(p, 21, MESSAGE_CUT)->cut.step, 4); /* The next one is named. */
    players_stop(p, ROLE_WORKER, 0, EXIT_TRAINING_FAILED, "enough");
    ck_assert_uint_eq(summary_of(p).faults.checkpoints_failed, 1);
}

TEST_PREPARED(a_server_lost_in_the_last_checkpoint_opens_training_again, MODE_SYNC)
{
    p->job.checkpoint_every = 3;
    p->options.deadlines.stop = 8;
    create_and_start(p);
    for (uint64_t step = 0; step < 3; step++)
        report_step(p, 0, step);
    checkpoint(p, 3);
    for (uint64_t step = 3; step < 6; step++)
        report_step(p, 0, step);
    players_done(p, 0, 6);
    players_done(p, 1, 6);
    ck_assert(players_told(p, 21, MESSAGE_CUT)->cut.final);
    post_clear(&p->post);
    lose(p, ROLE_PS, 1, 10); /* Its absence has a deadline of its own. */
    come_back(p, 1, 1);
    go_back(p, 1, true, 3);
    for (uint32_t i = 0; i < 2; i++) {
        check_start(p, i, 2, 2, i);
        ck_assert_uint_eq(players_told(p, 10 + i, MESSAGE_START)->start.step, 3);
    }
    players_follow(p);
    post_clear(&p->post);
    for (uint64_t step = 3; step < 6; step++)
        report_step(p, 0, step);
    players_done(p, 0, 6);
    ck_assert_ptr_null(players_told(p, 21, MESSAGE_CUT));
    players_done(p, 1, 6);
    checkpoint(p, 6);
    struct run_summary summary = summary_of(p);
    ck_assert(summary.state == RUN_DONE);
    ck_assert_uint_eq(summary.faults.recomputed, 3);
    ck_assert_double_eq_tol(summary.train.loss, (1 << 20) * 0x1p-24 * 3 / 20, 1e-9);
}

TEST(a_server_lost_after_the_last_checkpoint_does_not_matter, MODE_SYNC)
{
    players_start(p);
    players_done(p, 0, 6);
    players_done(p, 1, 6);
    checkpoint(p, 6);
    players_restart(p, ROLE_PS, 1);
    players_pass(p, 2);
    players_join(p, ROLE_PS, 1);
    ck_assert_ptr_nonnull(players_told(p, 21, MESSAGE_WAITING));
    ck_assert_ptr_null(post_order(&p->post, TO_CHECKPOINTER, ORDER_GO_BACK));
    players_order(p, (struct order){.kind = ORDER_SUMMARY_WRITTEN});
    check_finished(p, 10, EXIT_DONE, "");
    players_say(p, ROLE_WORKER, 0, MESSAGE_BYE);
    players_say(p, ROLE_WORKER, 1, MESSAGE_BYE);
    players_say(p, ROLE_PS, 0, MESSAGE_BYE);
    players_wait(p, 5.5);
    ck_assert(coordinator_is_over(p->coordinator));
}

/* --- async --------------------------------------------------------------------------------- */

TEST(what_a_lost_worker_had_on_lease_goes_to_others_first, MODE_ASYNC)
{
    uint64_t batches[16];
    players_start(p);
    players_lease(p, 0, false, 0);
    players_lease(p, 1, false, 0);
    players_lease(p, 1, true, 2);
    lose(p, ROLE_WORKER, 0, 5.5);
    players_lease(p, 1, true, 3);
    players_lease(p, 1, true, 4);
    ck_assert_uint_eq(batches_given(p, 1, batches), 2);
    ck_assert_uint_eq(batches[0], 0);
    ck_assert_uint_eq(batches[1], 1);
}

TEST_PLAIN(a_lease_is_always_answered)
{
    struct players p;
    uint64_t batches[16];
    players_open(&p, MODE_ASYNC);
    players_start(&p);
    players_lease(&p, 0, false, 0);
    ck_assert_uint_eq(players_told(&p, 10, MESSAGE_WORK)->request, p.request);
    post_clear(&p.post);
    players_lease(&p, 0, false, 0); /* What it was given was lost. */
    ck_assert_uint_eq(batches_given(&p, 0, batches), 2);
    ck_assert(batches[0] == 0 && batches[1] == 1);
    ck_assert_uint_eq(players_told(&p, 10, MESSAGE_WORK)->request, p.request);
    post_clear(&p.post);
    players_lease(&p, 0, true, 9); /* Nothing changes. */
    ck_assert(players_told(&p, 10, MESSAGE_WORK)->work.none);
    ck_assert_uint_eq(players_told(&p, 10, MESSAGE_WORK)->request, p.request);
    players_close(&p);
    players_open(&p, MODE_SYNC);
    players_start(&p);
    players_lease(&p, 0, false, 0);
    ck_assert(players_told(&p, 10, MESSAGE_WORK)->work.none);
    players_close(&p);
}

/* The checkpoint at 4 is damaged. What was counted up to the one at 2 nobody knows: of the updates from
 * there on each is counted, and once, and the summary says from where. */
TEST_PREPARED(counts_begin_anew_behind_a_damaged_checkpoint_and_say_so, MODE_ASYNC)
{
    p->job.checkpoint_every = 2;
    p->job.steps = 100;
    create_and_start(p);
    players_say(p, ROLE_WORKER, 1, MESSAGE_LEAVE);
    players_kill(p, ROLE_WORKER, 1);
    players_lease(p, 0, false, 0);
    for (uint64_t batch = 0; batch < 4; batch++) {
        make_batch(p, 0, batch);
        if (batch % 2 == 1) {
            checkpoint(p, batch + 1);
            players_lease(p, 0, false, 0);
        }
    }
    make_batch(p, 0, 5);
    lose_and_regain(p, 1, true, 2);
    ck_assert_ptr_nonnull(strstr(players_event(p, "generation"), "\"step\": 2, \"recomputed\": 3"));
    players_follow(p);
    post_clear(&p->post);
    players_lease(p, 0, false, 0);
    make_batch(p, 0, 2);
    make_batch(p, 0, 3);
    take_snapshot(p, 4);
    players_stop(p, ROLE_WORKER, 0, EXIT_TRAINING_FAILED, "enough");
    struct run_summary summary = summary_of(p);
    ck_assert_uint_eq(summary.counted_from, 2);
    ck_assert_uint_eq(summary.session_step, 0);
    ck_assert_uint_eq(summary.step, 4);
    ck_assert_uint_eq(summary.faults.recomputed, 3);
    ck_assert_uint_eq(workers_of(p)[0].batches, 2);
    ck_assert_uint_eq(workers_of(p)[0].examples, 4 + 8); /* An epoch's last batch, and a first. */
    ck_assert_uint_eq(summary.verdicts.applied,
                      2 * 40); /* As of the cut at 4, in this generation. */
}

TEST_PREPARED(going_back_leases_and_counts_every_batch_again, MODE_ASYNC)
{
    uint64_t batches[16];
    p->job.checkpoint_every = 2;
    p->job.steps = 100;
    create_and_start(p);
    players_say(p, ROLE_WORKER, 1, MESSAGE_LEAVE);
    players_kill(p, ROLE_WORKER, 1);
    players_lease(p, 0, false, 0);
    make_batch(p, 0, 0);
    make_batch(p, 0, 1);
    checkpoint(p, 2);
    post_clear(&p->post);
    players_lease(p, 0, false, 0); /* 2 and 3. */
    make_batch(p, 0, 2);
    make_batch(p, 0, 3);
    checkpoint(p, 4);
    post_clear(&p->post);
    players_lease(p, 0, false, 0); /* 4 and 5; and 5 gets done. */
    make_batch(p, 0, 5);
    lose_and_regain(p, 1, true, 4);
    ck_assert_ptr_nonnull(strstr(players_event(p, "generation"), "\"step\": 4, \"recomputed\": 1"));
    players_follow(p);
    post_clear(&p->post);

    players_lease(p, 0, false, 0);
    ck_assert_uint_eq(batches_given(p, 0, batches), 2);
    ck_assert(batches[0] == 4 && batches[1] == 5);
    make_batch(p, 0, 4);
    ck_assert_ptr_null(players_told(p, 21, MESSAGE_CUT));
    make_batch(p, 0, 5);
    ck_assert_uint_eq(players_told(p, 21, MESSAGE_CUT)->cut.step, 6);
    take_snapshot(p, 6);
    players_stop(p, ROLE_WORKER, 0, EXIT_TRAINING_FAILED, "enough");

    /* Six updates there are, and seven were made. */
    struct run_summary summary = summary_of(p);
    ck_assert_uint_eq(summary.faults.recomputed, 1);
    ck_assert_uint_eq(summary.step, 6);
    ck_assert_uint_eq(summary.staleness.shape.count, 2 * (40 + 60));
    ck_assert_uint_eq(summary.staleness.expected, 2 * (40 + 60));
    ck_assert_uint_eq(summary.train.epoch, 2);
    ck_assert_uint_eq(summary.train.examples, EPOCH_EXAMPLES);
    ck_assert_uint_eq(summary.verdicts.applied, 2 * (40 + 60)); /* Of both servers alike. */
    const struct worker_summary *workers = workers_of(p);
    ck_assert_uint_eq(workers[0].staleness.sum, 2 * (40 + 60));
    ck_assert_uint_eq(workers[0].batches, 6);
    ck_assert_uint_eq(workers[0].examples, 2 * EPOCH_EXAMPLES);
}

/* Its share of a step may be several nodes; and one step made again is one update. */
TEST(nodes_of_one_step_are_one_update_of_their_worker, MODE_SYNC)
{
    players_start(p);
    for (uint64_t step = 0; step < 2; step++) {
        players_report(p, 0, step, (struct node){0, 1});
        players_report(p, 1, step, (struct node){2, 2});
        players_report(p, 0, step, (struct node){1, 1});
        players_report(p, 0, step, (struct node){1, 1}); /* Repeated. */
    }
    players_stop(p, ROLE_WORKER, 0, EXIT_TRAINING_FAILED, "enough");
    ck_assert_uint_eq(summary_of(p).worker_count, 2);
    const struct worker_summary *workers = workers_of(p);
    ck_assert_uint_eq(workers[0].batches, 2);
    ck_assert_uint_eq(workers[1].batches, 2);
}

/* A member that never asks may never do it, and hold up everybody. */
TEST(work_of_the_lost_goes_to_whoever_has_asked_for_work, MODE_ASYNC)
{
    uint64_t batches[16];
    players_start(p);
    players_lease(p, 0, false, 0);
    players_join(p, ROLE_WORKER, 2);
    players_follow(p);
    post_clear(&p->post);
    players_say(p, ROLE_WORKER, 0, MESSAGE_LEAVE);
    lose(p, ROLE_WORKER, 0, 1);
    ck_assert_uint_eq(batches_given(p, 1, batches) + batches_given(p, 2, batches), 0);
    post_clear(&p->post);
    players_lease(p, 2, false, 0);
    ck_assert_uint_eq(batches_given(p, 2, batches), 2);
    ck_assert(batches[0] == 0 && batches[1] == 1);
}

TEST(a_stop_after_going_back_ends_where_that_was, MODE_ASYNC)
{
    uint64_t batches[16];
    players_start(p);
    players_lease(p, 0, false, 0);
    players_lease(p, 1, false, 0); /* 0 to 3 are out. */
    players_stop(p, ROLE_WORKER, 0, EXIT_INTERRUPTED, "worker/0 was asked to");
    lose_and_regain(p, 1, false, 0);
    players_follow(p);
    ck_assert_uint_eq(players_told(p, 10, MESSAGE_START)->start.stop_step, 0);
    post_clear(&p->post);
    players_lease(p, 0, false, 0);
    ck_assert_uint_eq(batches_given(p, 0, batches), 0);
    ck_assert(players_told(p, 10, MESSAGE_WORK)->work.enough);
    ck_assert_uint_eq(players_told(p, 10, MESSAGE_WORK)->work.batch, 0);
}

TEST(bad_gradients_are_left_out_until_they_are_too_many, MODE_ASYNC)
{
    players_start(p);
    for (uint64_t batch = 0; batch < 3; batch++) {
        ck_assert_ptr_null(players_told(p, 10, MESSAGE_FINISHED));
        struct packet report = players_packet(p, ROLE_WORKER, 1, MESSAGE_REPORT);
        report.message.report.step = batch;
        report.message.report.bad = true;
        players_give(p, report);
        players_give(p, report); /* Once is enough. */
    }
    check_finished(p, 10, EXIT_TRAINING_FAILED, "3 gradients were not finite");
    ck_assert_uint_eq(summary_of(p).faults.bad_gradients, 3);
}

/* --- times --------------------------------------------------------------------------------- */

/* All until then, of somebody for whom so many seconds have passed. */
static struct message_times times_until(uint64_t seconds)
{
    return (struct message_times){
        .wall_us = 8 * seconds * PLAYERS_SECOND,
        .compute_us = seconds * PLAYERS_SECOND,
        .exchange_us = seconds * PLAYERS_SECOND,
        .barrier_us = seconds * PLAYERS_SECOND,
        .bound_us = seconds * PLAYERS_SECOND,
        .gate_us = seconds * PLAYERS_SECOND,
        .lease_us = seconds * PLAYERS_SECOND,
        .whom = 1,
        .whom_us = seconds * PLAYERS_SECOND,
        .exchanged_bytes = 1000 * seconds,
    };
}

static struct packet timed_report(struct players *p, uint64_t batch, uint64_t seconds)
{
    struct packet report = players_packet(p, ROLE_WORKER, 1, MESSAGE_REPORT);
    report.message.report =
        (struct message_report){.step = batch, .examples = 1, .times = times_until(seconds)};
    return report;
}

static void check_times(const struct players *p, uint64_t batches, double seconds)
{
    const struct member *workers = p->coordinator->work.membership.workers;
    const struct worker_summary *summary = &workers[1].summary;
    ck_assert_uint_eq(summary->batches, batches);
    ck_assert_double_eq_tol(summary->wall_seconds, 8 * seconds, 1e-9);
    ck_assert_double_eq_tol(summary->compute_seconds, seconds, 1e-9);
    ck_assert_double_eq_tol(summary->exchange_seconds, seconds, 1e-9);
    for (enum wait wait = 0; wait < WAIT_COUNT; wait++)
        ck_assert_double_eq_tol(summary->waits[wait], seconds, 1e-9);
    ck_assert_double_eq_tol(workers[0].summary.awaited_seconds, seconds, 1e-9);
    ck_assert_double_eq((double)summary->exchanged_bytes, 1000 * seconds);
}

TEST(of_a_gradient_that_is_computed_again_the_time_counts_and_the_score_does_not, MODE_ASYNC)
{
    players_start(p);
    for (uint64_t seconds = 1; seconds < 4; seconds++) {
        players_give(p, timed_report(p, 0, seconds));
        check_times(p, 1, (double)seconds);
        players_give(p, timed_report(p, 0, seconds)); /* Again the same. */
        check_times(p, 1, (double)seconds);
    }
    players_give(p, timed_report(p, 1, 2)); /* It was overtaken. */
    check_times(p, 2, 3);
    struct packet old = timed_report(p, 2, 4);
    old.message.generation--;
    players_give(p, old); /* What it scored is for nothing; the time has passed. */
    check_times(p, 2, 4);
    struct packet done = players_packet(p, ROLE_WORKER, 1, MESSAGE_DONE);
    done.message.done.times = times_until(5);
    players_give(p, done);
    players_give(p, done);
    check_times(p, 2, 5);
}

TEST(what_passed_before_a_worker_was_admitted_anew_counts_once, MODE_ASYNC)
{
    players_start(p);
    players_give(p, timed_report(p, 0, 2));
    lose(p, ROLE_WORKER, 1, 6);
    struct packet late = timed_report(p, 1, 3);
    players_give(p, late); /* It is gone, but has done that. */
    check_times(p, 2, 3);
    players_join(p, ROLE_WORKER, 1); /* The same process: its time goes on. */
    players_pass(p, 1);
    players_give(p, timed_report(p, 2, 4));
    check_times(p, 3, 4);
    lose(p, ROLE_WORKER, 1, 6);
    struct packet of_former = timed_report(p, 3, 5);
    players_restart(p, ROLE_WORKER, 1);
    players_join(p, ROLE_WORKER, 1);
    players_pass(p, 1);
    players_give(p, of_former); /* As sums of its successor that would be twice. */
    players_give(p, timed_report(p, 4, 1));
    check_times(p, 5, 4 + 1);
}

/* --- the end ------------------------------------------------------------------------------- */

TEST(a_loss_while_others_are_done_brings_them_back, MODE_SYNC)
{
    players_start(p);
    players_done(p, 0, 6);
    lose(p, ROLE_WORKER, 1, 5);
    struct packet early = players_packet(p, ROLE_WORKER, 0, MESSAGE_DONE);
    early.message.done.step = 6;
    players_wait(p, 0.5);
    check_start(p, 0, 2, 1, 0);
    players_give(p, early); /* Was on its way: of the assignment before. */
    ck_assert_ptr_null(players_told(p, 21, MESSAGE_CUT));
    players_pass(p, 0.5);
    players_done(p, 0, 6);
    ck_assert(players_told(p, 21, MESSAGE_CUT)->cut.final);
}

TEST(async_training_does_not_end_before_every_batch_is_done, MODE_ASYNC)
{
    players_start(p);
    players_lease(p, 1, false, 0); /* 0 and 1. */
    players_lease(p, 0, false, 0);
    for (uint64_t batch = 2; batch < 6; batch++)
        players_lease(p, 0, true, batch);
    players_done(p, 0, 6);
    players_done(p, 1, 6); /* It lies. */
    ck_assert_ptr_null(players_told(p, 21, MESSAGE_CUT));
    lose(p, ROLE_WORKER, 1, 6);
    players_lease(p, 0, false, 0);
    players_lease(p, 0, true, 0);
    players_lease(p, 0, true, 1);
    players_done(p, 0, 6);
    ck_assert_uint_eq(players_told(p, 21, MESSAGE_CUT)->cut.step, 6);
}

TEST(async_training_ends_even_if_a_done_overtook_the_last_batch, MODE_ASYNC)
{
    players_start(p);
    players_lease(p, 0, false, 0);
    for (uint64_t batch = 0; batch < 5; batch++)
        players_lease(p, 0, true, batch);
    players_done(p, 0, 6); /* It still has one. */
    players_done(p, 1, 6);
    players_lease(p, 0, true, 5);
    ck_assert_ptr_null(players_told(p, 21, MESSAGE_CUT));
    players_done(p, 0, 6); /* Repeated. */
    ck_assert_ptr_nonnull(players_told(p, 21, MESSAGE_CUT));
}

TEST(a_worker_that_joins_after_training_hears_that_it_is_over, MODE_SYNC)
{
    players_start(p);
    players_done(p, 0, 6);
    players_done(p, 1, 6);
    players_join(p, ROLE_WORKER, 3);
    ck_assert_ptr_nonnull(strstr(players_told(p, 13, MESSAGE_WAITING)->waiting.text, "over"));
    checkpoint(p, 6);
    players_order(p, (struct order){.kind = ORDER_SUMMARY_WRITTEN});
    players_join(p, ROLE_WORKER, 3);
    check_finished(p, 13, EXIT_DONE, "");
}

TEST_EACH(it_stays_a_little_for_those_who_ask_late, 3, MODE_SYNC)
{
    const int lost = _i;
    players_start(p);
    if (lost == 1)
        lose(p, ROLE_WORKER, 1, 6);
    else if (lost == 2)
        players_say(p, ROLE_WORKER, 1, MESSAGE_LEAVE);
    players_stop(p, ROLE_WORKER, 0, EXIT_TRAINING_FAILED, "no");
    if (lost == 0)
        players_say(p, ROLE_WORKER, 1, MESSAGE_BYE);
    players_say(p, ROLE_WORKER, 0, MESSAGE_BYE);
    players_say(p, ROLE_PS, 0, MESSAGE_BYE);
    players_say(p, ROLE_PS, 1, MESSAGE_BYE);
    ck_assert(coordinator_is_over(p->coordinator) == (lost != 1));
    players_wait(p, 1.5);
    ck_assert(coordinator_is_over(p->coordinator) == (lost != 1));
    players_wait(p, 1);
    ck_assert(coordinator_is_over(p->coordinator));
}

TEST_PREPARED(a_worker_lost_after_training_does_not_matter, MODE_SYNC)
{
    p->options.on_worker_loss = LOSS_FAIL;
    create_and_start(p);
    players_done(p, 0, 6);
    players_done(p, 1, 6);
    players_kill(p, ROLE_WORKER, 0);
    players_follow(p);
    players_wait(p, 0);
    players_pass(p, 6);
    ck_assert_ptr_null(players_told(p, 11, MESSAGE_FINISHED));
    take_snapshot(p, 6);
    write_parts(p, 6);
    manifest_written(p, 6);
    ck_assert(summary_of(p).state == RUN_DONE);
}

/* --- leashes ------------------------------------------------------------------------------- */

/* Two servers and two workers, as bits: server i is 1 << i, worker i is 4 << i. */
static void lose_leashes(struct players *p, unsigned lost)
{
    for (uint32_t i = 0; i < 4; i++)
        if (lost & 1u << i)
            (i < 2 ? &p->servers[i] : &p->workers[i - 2])->leash = LEASH_LOST;
    if (lost & 1)
        coordinator_abandon(p->coordinator);
}

static void start_leashed(struct players *p)
{
    players_start(p);
    for (uint32_t i = 0; i < 2; i++)
        p->servers[i].leash = p->workers[i].leash = LEASH_HELD;
    players_pass(p, 3);
}

/* As bits: who has been told to end, to be started again. */
static unsigned sent_away(struct players *p)
{
    static const uint64_t peers[] = {PEER_LOCAL, 21, 10, 11};
    unsigned found = 0;
    for (int i = 0; i < 4; i++) {
        const struct message *refused = players_told(p, peers[i], MESSAGE_REFUSED);
        if (refused != NULL && refused->refused.reason == REFUSAL_RUN)
            found |= 1u << i;
    }
    return found;
}

static bool stops(struct players *p)
{
    return post_log(&p->post, "stopping: the launcher is gone") != NULL;
}

TEST_PLAIN(a_broken_connection_costs_the_one_process)
{
    for (unsigned lost = 1; lost < 15; lost++) {
        struct players players, *p = &players;
        players_open(p, MODE_SYNC);
        start_leashed(p);
        lose_leashes(p, lost);
        players_pass(p, 1.5); /* Maybe the others notice it, too. */
        ck_assert_msg(sent_away(p) == 0 && !stops(p), "%u", lost);
        players_pass(p, 1.5);
        ck_assert_msg(sent_away(p) == lost && !stops(p), "%u: %u", lost, sent_away(p));
        ck_assert(coordinator_is_over(p->coordinator) == (lost & 1)); /* As if it were killed. */
        ck_assert_ptr_null(players_told(p, 10, MESSAGE_FINISHED));
        players_close(p);
    }
}

TEST(a_launcher_that_is_gone_ends_the_job_as_soon_as_all_have_noticed, MODE_SYNC)
{
    start_leashed(p);
    lose_leashes(p, 5);
    players_pass(p, 1);
    ck_assert(!stops(p));
    lose_leashes(p, 10);
    players_pass(p, 0.5);
    ck_assert(stops(p));
    ck_assert(!coordinator_holds_run(p->coordinator));
    players_pass(p, 3);
    ck_assert_uint_eq(sent_away(p), 0);
}

/* Whoever is silent may know by now, or never: the others give it as long as a member counts as heard. */
TEST(a_leash_is_held_by_whoever_was_heard_lately, MODE_SYNC)
{
    start_leashed(p);
    players_kill(p, ROLE_WORKER, 1);
    lose_leashes(p, 7);
    players_pass(p, 1.4);
    ck_assert(!stops(p));
    players_pass(p, 1);
    ck_assert(stops(p));
}

TEST(who_has_lost_his_leash_while_the_job_stops_takes_part_in_that, MODE_SYNC)
{
    start_leashed(p);
    players_stop(p, ROLE_PS, 0, EXIT_INTERRUPTED, "ps/0 was asked to");
    lose_leashes(p, 4);
    players_pass(p, 4);
    ck_assert_uint_eq(sent_away(p), 0);
}

TEST_PLAIN(a_server_0_that_loses_its_leash_before_there_is_a_job_stops)
{
    struct players players, *p = &players;
    players_open(p, MODE_SYNC);
    coordinator_abandon(p->coordinator);
    players_wait(p, 0.5);
    check_finished(p, PEER_LOCAL, EXIT_TERMINATED, "");
    players_close(p);
}

TEST(when_its_launcher_is_gone_a_lost_server_is_not_waited_for, MODE_SYNC)
{
    start_leashed(p);
    ck_assert(coordinator_holds_run(p->coordinator));
    lose_leashes(p, 15);
    players_pass(p, 0.5);
    ck_assert(!coordinator_holds_run(p->coordinator));
    lose(p, ROLE_PS, 1, 5);
    ck_assert_ptr_null(players_told(p, 10, MESSAGE_FINISHED));
    players_pass(p, 1);
    check_finished(p, 10, EXIT_CLUSTER_LOST, "lost ps/1 (on host1): nothing starts it again");
}

TEST(when_its_launcher_is_gone_a_stop_takes_no_longer_than_it_may, MODE_SYNC)
{
    start_leashed(p);
    lose_leashes(p, 15);
    players_pass(p, 7.5); /* All are alive, and nobody does anything. */
    ck_assert_ptr_null(players_told(p, 10, MESSAGE_FINISHED));
    players_pass(p, 1);
    check_finished(p, 10, EXIT_TERMINATED, "stopping took longer than 7.5 s");
}

TEST(a_run_is_held_until_it_is_about_to_end, MODE_SYNC)
{
    ck_assert(!coordinator_holds_run(p->coordinator));
    players_start(p);
    ck_assert(coordinator_holds_run(p->coordinator));
    players_stop(p, ROLE_WORKER, 0, EXIT_TERMINATED, "worker/0 was asked to");
    ck_assert(!coordinator_holds_run(p->coordinator));
}

TEST_EACH(a_stop_while_the_job_recovers_is_remembered, 2, _i ? MODE_SYNC : MODE_ASYNC)
{
    const int mode = _i;
    players_start(p);
    lose(p, ROLE_PS, 1, 1);
    come_back(p, 1, 1);
    players_stop(p, ROLE_WORKER, 0, EXIT_TERMINATED, "worker/0 was asked to");
    ck_assert_ptr_null(players_told(p, PEER_LOCAL, MESSAGE_STOP));
    go_back(p, 1, false, 0);
    if (mode)
        ck_assert_uint_eq(players_told(p, PEER_LOCAL, MESSAGE_STOP)->generation, 1);
    else
        ck_assert_uint_eq(players_told(p, 10, MESSAGE_START)->start.stop_step, 0);
}

TEST_PREPARED(a_stop_while_a_job_cannot_recover_ends_in_time, MODE_SYNC)
{
    p->options.deadlines.recovery = 100;
    create_and_start(p);
    lose(p, ROLE_PS, 1, 6);
    players_stop(p, ROLE_WORKER, 0, EXIT_TERMINATED, "worker/0 was asked to");
    players_pass(p, 30);
    ck_assert_ptr_null(players_told(p, 10, MESSAGE_FINISHED));
    players_pass(p, 1);
    check_finished(p, 10, EXIT_TERMINATED, "stopping took longer than 30 s; there is no");
}

TEST(a_stop_with_a_loss_in_it_ends_cleanly, MODE_SYNC)
{
    players_start(p);
    players_stop(p, ROLE_WORKER, 0, EXIT_INTERRUPTED, "worker/0 was asked to");
    players_order(p, (struct order){.kind = ORDER_STOP_AT, .stop_at.step = 2});
    lose(p, ROLE_WORKER, 1, 6);
    check_start(p, 0, 2, 1, 0);
    ck_assert_uint_eq(players_told(p, 10, MESSAGE_START)->start.stop_step, 2);
    players_done(p, 0, 2);
    ck_assert_uint_eq(players_told(p, 21, MESSAGE_CUT)->cut.step, 2);
}

/* --- scores -------------------------------------------------------------------------------- */

/* The model is scored after 3 batches and after 6. */
static void prepare_scores(struct players *p, enum mode mode)
{
    players_prepare(p, mode);
    p->job.test_examples = 10;
    players_create(p);
}

/* Servers have kept their values of a count of batches. */
static void kept(struct players *p, uint64_t batches, bool lost)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct packet ready = players_packet(p, ROLE_PS, i, MESSAGE_READY);
        ready.message.ready.scored = batches;
        ready.message.ready.scored_lost = lost;
        players_give(p, ready);
    }
}

/* What a server hears can be let go: that in answer to its latest READY. */
static uint64_t let_go(struct players *p, uint64_t batches)
{
    post_clear(&p->post);
    kept(p, batches, false);
    return players_told(p, 21, MESSAGE_PONG)->waiting.scored;
}

/* The share that the worker was told of last. */
static const struct message_work *share_of(struct players *p, uint32_t worker)
{
    const struct message *message = players_told(p, 10 + worker, MESSAGE_WORK);
    return message != NULL && message->work.scored > 0 ? &message->work : NULL;
}

static void evaluate(struct players *p, uint32_t worker, uint64_t batches, uint32_t share,
                     uint32_t shares)
{
    struct packet packet = players_packet(p, ROLE_WORKER, worker, MESSAGE_EVALUATION);
    packet.message.evaluation = (struct message_evaluation){
        .step = batches, .correct = 1, .examples = 10 / shares, .share = share, .shares = shares};
    players_give(p, packet);
    ck_assert_uint_eq(players_told(p, 10 + worker, MESSAGE_PONG)->request, p->request);
}

/* Images by the second of a window of next to no time are no rate. */
TEST(no_rate_is_told_of_a_window_of_no_time, MODE_ASYNC)
{
    players_start(p);
    for (int long_enough = 0; long_enough < 2; long_enough++) {
        post_clear(&p->post);
        for (uint64_t batch = 0; batch < 6 && players_event(p, "progress") == NULL; batch++) {
            p->now_us += long_enough ? 100000 : 20;
            players_report(p, 0, (uint64_t)long_enough + batch,
                           tree_root(job_batch(&p->job, batch).leaves));
        }
        const char *progress = players_event(p, "progress");
        ck_assert_ptr_nonnull(progress);
        bool is_null = strstr(progress, "\"images_per_second\": null") != NULL;
        ck_assert_msg(is_null == !long_enough, "%s", progress);
    }
}

#define TEST_SCORES(name, mode)                                                                    \
    SUITE_TEST(name, struct players, p, prepare_scores(p, mode), players_close(p))

TEST_SCORES(a_score_is_made_of_what_all_servers_have_kept, MODE_SYNC)
{
    players_start(p);
    post_clear(&p->post);
    struct packet ready = players_packet(p, ROLE_PS, 1, MESSAGE_READY);
    ready.message.ready.scored = 3;
    players_give(p, ready);
    ck_assert_ptr_null(share_of(p, 0)); /* Server 0 has not come so far. */
    kept(p, 3, false);
    ck_assert(share_of(p, 0)->share == 0 && share_of(p, 0)->shares == 2);
    ck_assert(share_of(p, 1)->share == 1 && share_of(p, 1)->scored == 3);
    ck_assert_uint_eq(let_go(p, 3), 0);
    evaluate(p, 1, 3, 1, 2);
    ck_assert_ptr_null(players_event(p, "evaluation"));
    evaluate(p, 0, 3, 0, 2);
    ck_assert_ptr_nonnull(strstr(players_event(p, "evaluation"), "\"test_accuracy\": 0.2"));
    ck_assert_ptr_nonnull(strstr(players_event(p, "evaluation"), "\"step\": 3"));
    ck_assert_uint_eq(let_go(p, 3), 3);
    evaluate(p, 0, 3, 0, 2); /* Answered, and that is all. */
    ck_assert_ptr_null(players_event(p, "evaluation"));
}

/* What a worker scores after its DONE is the last of its time; and a score that is of no use any more
 * has taken its time too. */
TEST_SCORES(what_is_scored_is_of_the_worker_s_time_whatever_becomes_of_it, MODE_SYNC)
{
    players_start(p);
    kept(p, 3, false);
    struct member *worker = &p->coordinator->work.membership.workers[1];
    for (uint64_t i = 1; i < 4; i++) {
        worker->done = i == 2;
        struct packet packet = players_packet(p, ROLE_WORKER, 1, MESSAGE_EVALUATION);
        packet.message.evaluation = (struct message_evaluation){
            .step = 3,
            .examples = 5,
            .share = 1,
            .shares = 2,
            .took_us = 2000000,
            .times = {.wall_us = 3 * i * PLAYERS_SECOND, .evaluate_us = 2 * i * PLAYERS_SECOND}};
        players_give(p, packet);
        players_give(p, packet);
        ck_assert_double_eq_tol(worker->summary.evaluate_seconds, 2 * (double)i, 1e-9);
        ck_assert_double_eq_tol(worker->summary.wall_seconds, 3 * (double)i, 1e-9);
        worker->done = false;
    }
}

TEST_SCORES(the_share_of_a_worker_that_is_lost_is_dealt_again, MODE_ASYNC)
{
    players_start(p);
    kept(p, 3, false);
    evaluate(p, 0, 3, 0, 2);
    post_clear(&p->post);
    lose(p, ROLE_WORKER, 1, 6);
    ck_assert(share_of(p, 0)->share == 1 && share_of(p, 0)->shares == 2);
    evaluate(p, 0, 3, 1, 2);
    ck_assert_ptr_nonnull(players_event(p, "evaluation"));
}

/* What says that it is alive says what it may have missed. */
TEST_SCORES(a_share_is_told_again_until_it_is_reported, MODE_SYNC)
{
    players_start(p);
    kept(p, 3, false);
    for (int i = 0; i < 3; i++) {
        post_clear(&p->post);
        players_pass(p, 1);
        ck_assert(share_of(p, 1)->share == 1);
    }
    evaluate(p, 1, 3, 1, 2);
    post_clear(&p->post);
    players_pass(p, 1);
    ck_assert_ptr_null(share_of(p, 1));
    ck_assert_ptr_nonnull(share_of(p, 0));
}

/* Whether a chunk of the model after so many batches goes on to the checkpointer. */
static bool passes_kept(struct players *p, uint64_t batches)
{
    struct packet state = players_packet(p, ROLE_PS, 1, MESSAGE_CHUNK_STATE);
    state.message.chunk_state = (struct message_chunk_state){
        .step = batches, .first = 16, .count = 16, .array = CHECKPOINT_SCORED, .server = 1};
    state.payload = frame_of(1, 16);
    size_t before = post_count(&p->post, TO_CHECKPOINTER, MESSAGE_CHUNK_STATE);
    players_give(p, state);
    return post_count(&p->post, TO_CHECKPOINTER, MESSAGE_CHUNK_STATE) > before;
}

TEST_SCORES(models_to_be_kept_do_not_pile_up_before_a_slow_disk, MODE_ASYNC)
{
    p->job.keep_scored = true;
    players_start(p);
    ck_assert(passes_kept(p, 3) && passes_kept(p, 3));
    ck_assert(!passes_kept(p, 6)); /* The checkpointer has not come to it yet. */
    post_clear(&p->post);
    ck_assert(!passes_kept(p, 2) && passes_kept(p, 6) && !passes_kept(p, 3));
}

TEST_SCORES(models_are_kept_of_jobs_that_say_so, MODE_ASYNC)
{
    players_start(p);
    ck_assert(!passes_kept(p, 3));
}

TEST_SCORES(a_score_that_is_not_made_in_time_is_dropped_and_counted, MODE_ASYNC)
{
    p->job.steps = 6;
    players_start(p);
    kept(p, 3, false);
    evaluate(p, 0, 3, 0, 2);
    kept(p, 6, false);
    ck_assert_ptr_nonnull(strstr(players_event(p, "score_dropped"), "\"scores\": 1"));
    ck_assert_uint_eq(share_of(p, 0)->scored, 6);
    post_clear(&p->post);
    evaluate(p, 1, 3, 1, 2); /* Too late. */
    ck_assert_ptr_null(players_event(p, "evaluation"));
    players_stop(p, ROLE_WORKER, 0, EXIT_TRAINING_FAILED, "enough");
    ck_assert_uint_eq(summary_of(p).faults.scores_dropped, 1);
}

/* Both workers have made all six steps, of which every third has a leaf of each and the others two. */
static void finish_six_steps(struct players *p)
{
    players_start(p);
    for (uint64_t step = 0; step < 6; step++)
        for (uint32_t i = 0; i < 2; i++)
            players_report(p, i, step, (struct node){2 * i, step % 3 == 2 ? 1 : 2});
    players_done(p, 0, 6);
    players_done(p, 1, 6);
}

/* Of the model that the job ends with. */
TEST_SCORES(the_job_does_not_end_before_its_last_score, MODE_SYNC)
{
    finish_six_steps(p);
    players_wait(p, 2);
    ck_assert_ptr_null(players_told(p, 21, MESSAGE_CUT));
    kept(p, 6, false);
    evaluate(p, 0, 6, 0, 2);
    ck_assert_ptr_null(players_told(p, 21, MESSAGE_CUT));
    evaluate(p, 1, 6, 1, 2);
    ck_assert(players_told(p, 21, MESSAGE_CUT)->cut.final);
}

/* Where values could not be kept there will be no score, and nobody waits for it. */
TEST_SCORES(a_score_without_memory_for_its_values_is_dropped, MODE_SYNC)
{
    finish_six_steps(p);
    kept(p, 6, true);
    players_wait(p, 0.2);
    ck_assert_ptr_nonnull(players_event(p, "score_dropped"));
    ck_assert(players_told(p, 21, MESSAGE_CUT)->cut.final);
}

TEST_SCORES(a_going_back_forgets_the_score_under_way, MODE_ASYNC)
{
    players_start(p);
    kept(p, 3, false);
    evaluate(p, 0, 3, 0, 2);
    lose_and_regain(p, 1, false, 0);
    players_wait(p, 0);
    players_follow(p);
    post_clear(&p->post);
    evaluate(p, 1, 3, 1, 2); /* Of what is gone, said under the new generation. */
    ck_assert_ptr_null(players_event(p, "evaluation"));
    kept(p, 3, false);
    ck_assert_uint_eq(share_of(p, 0)->scored, 3);
}

TEST(reports_count_even_of_those_who_were_given_up, MODE_SYNC)
{
    players_start(p);
    lose(p, ROLE_WORKER, 1, 6);
    players_report(p, 1, 0, (struct node){2, 2}); /* The router has let its gradient through. */
    players_report(p, 0, 0, (struct node){0, 2});
    players_stop(p, ROLE_WORKER, 0, EXIT_TRAINING_FAILED, "enough");
    ck_assert_double_eq_tol(summary_of(p).train.loss, 2 * (1 << 20) * 0x1p-24 / 8, 1e-9);
    ck_assert_ptr_null(players_told(p, 11, MESSAGE_REFUSED));
}

/* --- server 0 itself ----------------------------------------------------------------------- */

static void gather_after_kill(struct players *p)
{
    struct packet join = players_join_packet(p, ROLE_WORKER, 0);
    join.message.run_id = RUN;
    players_give(p, join);
    players_declare(p, 0, &p->job);
    players_opened(p, 4, true, 3);
    for (uint32_t i = 0; i < 2; i++) {
        players_join(p, ROLE_PS, i);
        p->servers[i].ready = true;
        players_say(p, ROLE_PS, i, MESSAGE_READY);
    }
}

TEST(what_went_wrong_is_noted_while_the_job_runs, MODE_SYNC)
{
    players_start(p);
    players_pass(p, 3);
    ck_assert_ptr_null(post_order(&p->post, TO_CHECKPOINTER, ORDER_SUMMARY)); /* Nothing did. */
    lose(p, ROLE_WORKER, 1, 6);
    struct run_summary noted = summary_of(p);
    ck_assert_int_eq(noted.state, RUN_RUNNING);
    ck_assert_uint_eq(noted.faults.workers_lost, 1);
    players_pass(p, 3);
    ck_assert_ptr_null(post_order(&p->post, TO_CHECKPOINTER, ORDER_SUMMARY)); /* Nothing new. */
    lose_and_regain(p, 1, false, 0);
    players_pass(p, 2);
    noted = summary_of(p);
    ck_assert_int_eq(noted.state, RUN_RUNNING);
    ck_assert(noted.faults.generation == 1 && noted.faults.servers_lost == 1);
}

TEST_PREPARED_EACH(after_a_restart_of_server_0_the_lost_are_not_waited_for_long, 3, MODE_SYNC)
{
    const int others = _i;
    p->options.on_worker_loss = others == 1 ? LOSS_WAIT : LOSS_CONTINUE;
    p->options.run_id = 5; /* What a new session would have. */
    players_create(p);
    gather_after_kill(p);
    players_pass(p, 6);
    ck_assert_ptr_null(players_told(p, 10, MESSAGE_START)); /* Nobody is here at all. */
    struct packet survivor = players_join_packet(p, ROLE_WORKER, 1);
    survivor.message.run_id = others == 2 ? 0 : RUN; /* Or all were started anew. */
    players_give(p, survivor);
    if (others > 0) {
        ck_assert_ptr_null(players_told(p, 11, MESSAGE_START));
    } else {
        check_start(p, 1, 1, 1, 0);
        ck_assert_uint_eq(players_told(p, 11, MESSAGE_START)->start.step, 3);
    }
}

TEST_PLAIN(a_stop_after_a_restart_of_server_0_waits_for_all_to_hear_of_it)
{
    enum { ALL_HEAR, NOBODY_ELSE_COMES, ANOTHER_SESSION };
    for (int what = 0; what <= ANOTHER_SESSION; what++) {
        struct players p;
        players_prepare(&p, MODE_SYNC);
        p.options.run_id = what == ANOTHER_SESSION ? RUN : 5;
        players_create(&p);
        gather_after_kill(&p);
        players_stop(&p, ROLE_PS, 1, EXIT_TERMINATED, "ps/1 was asked to");
        players_say(&p, ROLE_PS, 0, MESSAGE_BYE);
        players_say(&p, ROLE_PS, 1, MESSAGE_BYE);
        players_wait(&p, 3);
        ck_assert(coordinator_is_over(p.coordinator) == (what == ANOTHER_SESSION));
        players_wait(&p, 26);
        for (uint32_t i = 0; what == ALL_HEAR && i < 2; i++) {
            ck_assert(!coordinator_is_over(p.coordinator));
            struct packet late = players_join_packet(&p, ROLE_WORKER, i);
            late.message.run_id = RUN;
            players_give(&p, late);
            check_finished(&p, 10 + i, EXIT_TERMINATED, "stands");
            players_say(&p, ROLE_WORKER, i, MESSAGE_BYE);
        }
        ck_assert(coordinator_is_over(p.coordinator) == (what != NOBODY_ELSE_COMES));
        players_wait(&p, 2);
        ck_assert(coordinator_is_over(p.coordinator));
        players_close(&p);
    }
}

TEST_EACH(a_stop_before_anybody_declares_is_told_to_those_who_were_here_before, 2, MODE_SYNC)
{
    const int known = _i;
    struct packet ping = players_packet(p, ROLE_WORKER, 0, MESSAGE_PING);
    if (known)
        players_give(p, ping);
    players_stop(p, ROLE_PS, 0, EXIT_TERMINATED, "asked to");
    players_say(p, ROLE_PS, 0, MESSAGE_BYE);
    ck_assert(coordinator_is_over(p->coordinator) == !known);
    players_give(p, ping);
    check_finished(p, 10, EXIT_TERMINATED, "");
    players_wait(p, 3);
    ck_assert(coordinator_is_over(p->coordinator));
}

TEST(a_session_that_resumes_a_run_waits_for_all, MODE_SYNC)
{
    gather_after_kill(p);
    players_join(p, ROLE_WORKER, 1);
    players_pass(p, 20);
    ck_assert_ptr_null(players_told(p, 11, MESSAGE_START));
}

TEST_PLAIN(a_score_that_may_have_been_lost_with_server_0_is_made_again)
{
    struct players p;
    players_prepare(&p, MODE_SYNC);
    p.job.test_examples = 10;
    p.options.run_id = 5;
    players_create(&p);
    gather_after_kill(&p); /* At step 3, where epoch 1 ends. */
    players_join(&p, ROLE_WORKER, 0);
    players_join(&p, ROLE_WORKER, 1);
    kept(&p, 3, false);
    ck_assert_uint_eq(share_of(&p, 0)->scored, 3);
    players_close(&p);
    prepare_scores(&p, MODE_SYNC);
    players_join(&p, ROLE_WORKER, 0);
    players_declare(&p, 0, &p.job);
    players_opened(&p, 4, true, 3); /* A run that is resumed: that session had ended. */
    for (uint32_t i = 0; i < 2; i++) {
        players_join(&p, ROLE_PS, i);
        players_say(&p, ROLE_PS, i, MESSAGE_READY);
        players_join(&p, ROLE_WORKER, i);
    }
    kept(&p, 3, false);
    ck_assert_ptr_null(share_of(&p, 0));
    ck_assert_uint_eq(let_go(&p, 3), 3);
    players_close(&p);
}

TEST_PREPARED(after_server_0_was_killed_every_batch_from_the_checkpoint_on_is_leased, MODE_ASYNC)
{
    uint64_t batches[16];
    p->job.checkpoint_every = 1;
    players_create(p);
    struct packet join = players_join_packet(p, ROLE_WORKER, 0);
    players_give(p, join);
    players_declare(p, 0, &p->job);
    players_opened(p, 2, true, 1);
    for (uint32_t i = 0; i < 2; i++) {
        players_join(p, ROLE_PS, i);
        players_join(p, ROLE_WORKER, i);
        players_say(p, ROLE_PS, i, MESSAGE_READY);
    }
    players_follow(p);
    players_lease(p, 0, false, 0);
    ck_assert_uint_eq(batches_given(p, 0, batches), 1); /* There is a gate at 2. */
    ck_assert_uint_eq(batches[0], 1);
    players_lease(p, 0, true, 1);
    ck_assert_uint_eq(players_told(p, 21, MESSAGE_CUT)->cut.step, 2);
}

TEST(silence_that_nobody_watched_does_not_count, MODE_SYNC)
{
    players_start(p);
    p->now_us += 600 * SECOND; /* Our process was stopped. */
    coordinator_tick(p->coordinator, p->now_us, &p->post.outbox);
    ck_assert_ptr_null(players_event(p, "lost"));
    p->now_us += 600 * SECOND; /* And when it goes on the first thing is a message. */
    players_say(p, ROLE_WORKER, 0, MESSAGE_PING);
    coordinator_tick(p->coordinator, p->now_us, &p->post.outbox);
    ck_assert_ptr_null(players_event(p, "lost"));
    players_wait(p, 5.5);
    ck_assert_ptr_nonnull(players_event(p, "lost"));
}

/* --- nothing waits for ever ---------------------------------------------------------------- */

enum situation {
    DECLARING,
    OPENING_RUN,
    GATHERING_ALL,
    TRAINING,
    GOING_BACK,
    LOADING,
    LAST_SNAPSHOT,
    LAST_SUMMARY,
    ENDING,
    SITUATIONS
};

static void bring_to(struct players *p, enum situation situation)
{
    if (situation == DECLARING)
        return;
    if (situation == OPENING_RUN) {
        players_join(p, ROLE_WORKER, 0);
        players_declare(p, 0, &p->job);
        return;
    }
    if (situation == GATHERING_ALL) {
        players_gather(p);
        return;
    }
    players_start(p);
    if (situation == GOING_BACK || situation == LOADING) {
        lose(p, ROLE_PS, 1, 1);
        come_back(p, 1, 1);
        if (situation == LOADING)
            players_opened(p, 1, false, 0);
    }
    if (situation >= LAST_SNAPSHOT) {
        players_done(p, 0, 6);
        players_done(p, 1, 6);
    }
    if (situation >= LAST_SUMMARY)
        checkpoint(p, 6);
    if (situation == ENDING)
        players_order(p, (struct order){.kind = ORDER_SUMMARY_WRITTEN});
}

TEST_PLAIN(every_state_ends_when_everybody_falls_silent)
{
    for (unsigned policy = LOSS_CONTINUE; policy <= LOSS_FAIL; policy++)
        for (unsigned situation = 0; situation < SITUATIONS; situation++) {
            struct players p;
            players_prepare(&p, MODE_SYNC);
            p.options.on_worker_loss = (enum worker_loss)policy;
            players_create(&p);
            bring_to(&p, (enum situation)situation);
            for (int i = 0; i < 80; i++) {
                post_clear(&p.post);
                players_wait(&p, 1);
            }
            ck_assert_msg(coordinator_is_over(p.coordinator), "situation %u, policy %u", situation,
                          policy);
            players_close(&p);
        }
}

TEST_EACH(every_state_ends_when_everybody_is_alive_and_does_nothing, SITUATIONS, MODE_SYNC)
{
    const int situation = _i;
    bring_to(p, (enum situation)situation);
    p->servers[0].ready = p->servers[1].ready = false;
    for (int i = 0; i < 200 && !coordinator_is_over(p->coordinator); i++)
        players_pass(p, 1);
    ck_assert_msg(coordinator_is_over(p->coordinator), "situation %u", situation);
}

int main(void)
{
    return suite_run("coordinator faults", NULL);
}
