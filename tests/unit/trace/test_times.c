/* test_times.c - what a worker tells of its time. */
/* promises: trace */

#include "common/trace/times.h"

#include "tests/lib/suite.h"

static struct message_times tell(struct times *times, uint64_t now_us)
{
    struct message_times told;
    times_tell(times, &told, now_us);
    return told;
}

TEST_PLAIN(each_message_tells_all_so_that_none_is_needed)
{
    struct times times = {0};
    times_begin(&times, 7, 1000);
    times_exchange(&times, 1000, 40, 0, 0, 0);
    times_compute(&times, 500);
    tell(&times, 2000);
    times_begin(&times, 7, 2500); /* It has begun. */
    times_exchange(&times, 1000, 2, 0, 0, 0);
    times_compute(&times, 30);
    times_evaluate(&times, 100);
    times_wait(&times, WAIT_LEASE, 0, 1000, 7);
    struct message_times told = tell(&times, 3000);
    ck_assert_uint_eq(told.wall_us, 2000);
    ck_assert_uint_eq(told.exchange_us, 42);
    ck_assert_uint_eq(told.compute_us, 530);
    ck_assert_uint_eq(told.evaluate_us, 100);
    ck_assert_uint_eq(told.lease_us, 7);
    told = tell(&times, 3000); /* Again, and whatever it had told. */
    ck_assert(told.wall_us == 2000 && told.exchange_us == 42 && told.compute_us == 530);
    ck_assert(told.evaluate_us == 100 && told.lease_us == 7 && told.whom == 0);
}

/* The longest since it told last, with what it told of those before: whoever hears only the second has
 * all seconds, and whoever hears both has each once. */
TEST_PLAIN(whoever_was_waited_for_is_named_once_and_the_time_added_up)
{
    struct times times = {0};
    times_begin(&times, 7, 1000);
    times_wait(&times, WAIT_GATE, 2, 1000, 500);
    times_wait(&times, WAIT_GATE, 3, 1000, 100);
    struct message_times told = tell(&times, 2000);
    ck_assert_uint_eq(told.whom, 2);
    ck_assert_uint_eq(told.whom_us, 500);
    ck_assert_uint_eq(tell(&times, 2500).whom, 0);
    times_wait(&times, WAIT_BOUND, 3, 1000, 200);
    told = tell(&times, 3000);
    ck_assert_uint_eq(told.whom, 3);
    ck_assert_uint_eq(told.whom_us, 700);
    ck_assert_uint_eq(told.gate_us, 600);
    ck_assert_uint_eq(told.bound_us, 200);
}

TEST_PLAIN(in_which_the_process_was_stopped_is_nobody_s_time)
{
    struct times times = {0};
    times_begin(&times, 7, 1000);
    tell(&times, 2000);
    times_resume(&times, 400, 3000);
    ck_assert_uint_eq(tell(&times, 3000).wall_us, 1600);
}

/* The one before has told of what was moved in its time. */
TEST_PLAIN(bytes_are_of_the_time_of_one_server_0)
{
    struct times times = {0};
    times_move(&times, 5); /* Before there was any. */
    times_begin(&times, 7, 1000);
    times_move(&times, 400);
    times_move(&times, 30);
    ck_assert_uint_eq(tell(&times, 2000).exchanged_bytes, 430);
    times_begin(&times, 7, 2500);
    times_move(&times, 2);
    ck_assert_uint_eq(tell(&times, 3000).exchanged_bytes, 432);
    times_begin(&times, 8, 3000);
    times_move(&times, 9);
    ck_assert_uint_eq(tell(&times, 3000).exchanged_bytes, 9);
    ck_assert_uint_eq(tell(&times, 3000).wall_us, 2000); /* The time is the worker's. */
}

struct heard {
    struct span spans[4];
    uint32_t count;
};

static void hear(void *context, const struct span *span)
{
    struct heard *heard = context;
    ck_assert_uint_lt(heard->count, 4);
    heard->spans[heard->count++] = *span;
}

static struct times times_of(struct heard *heard)
{
    heard->count = 0;
    return (struct times){.worker = 2, .listener = {heard, hear}, .step = 9};
}

static void is(const struct heard *heard, uint32_t index, enum span_kind kind, uint64_t from_us,
               uint64_t to_us)
{
    const struct span *span = &heard->spans[index];
    ck_assert_uint_lt(index, heard->count);
    ck_assert_uint_eq(span->from_ns, 1000 * from_us);
    ck_assert_uint_eq(span->to_ns, 1000 * to_us);
    ck_assert(span->kind == kind && span->step == 9 && span_is_of(span, ROLE_WORKER, 2));
    if (kind == SPAN_WAIT)
        ck_assert(span->other_role == ROLE_WORKER && span->other == 3);
}

TEST_PLAIN(without_a_score_a_wait_is_one_span)
{
    struct heard heard;
    struct times times = times_of(&heard);
    times_wait(&times, WAIT_LEASE, 4, 200, 0);
    ck_assert_uint_eq(heard.count, 0);
    times_scored(&times, 100, 200);
    times_wait(&times, WAIT_LEASE, 4, 1000, 500); /* It began later. */
    ck_assert_uint_eq(heard.count, 1);
    is(&heard, 0, SPAN_WAIT, 1000, 1500);
    ck_assert_uint_eq(heard.spans[0].what, WAIT_LEASE);
}

/* It began at 1000, and was moved on by a score from 1100 to 1400. */
TEST_PLAIN(a_score_meanwhile_is_cut_out)
{
    struct heard heard;
    struct times times = times_of(&heard);
    times_scored(&times, 1100, 1400);
    times_wait(&times, WAIT_LEASE, 4, 1300, 600);
    ck_assert_uint_eq(heard.count, 2);
    is(&heard, 0, SPAN_WAIT, 1000, 1100);
    is(&heard, 1, SPAN_WAIT, 1400, 1900);
    heard.count = 0;
    times_wait(&times, WAIT_LEASE, 4, 1300, 50);
    ck_assert_uint_eq(heard.count, 1);
    is(&heard, 0, SPAN_WAIT, 1000, 1050);
    heard.count = 0;
    times_scores(&times); /* And scores again: it lies as it is. */
    times_wait(&times, WAIT_LEASE, 4, 1300, 600);
    ck_assert_uint_eq(heard.count, 1);
    is(&heard, 0, SPAN_WAIT, 1300, 1900);
}

/* Of 600 us it waited 100 at a barrier, until then: the same score was from 1100 to 1400. */
TEST_PLAIN(a_barrier_lies_where_an_exchange_was_let_go)
{
    static const struct {
        uint64_t let_go_us, from_us, to_us;
    } cases[] = {{900, 1000, 1100},  {1060, 1000, 1100}, {1250, 1000, 1100},
                 {1500, 1400, 1500}, {9999, 1800, 1900}, {0, 1800, 1900}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct heard heard;
        struct times times = times_of(&heard);
        uint32_t waits = 0;
        times_scored(&times, 1100, 1400);
        times_exchange(&times, 1300, 600, 100, cases[i].let_go_us, 4);
        while (waits < heard.count && heard.spans[waits].kind != SPAN_WAIT)
            waits++;
        is(&heard, waits, SPAN_WAIT, cases[i].from_us, cases[i].to_us);
        struct message_times told = tell(&times, 2000);
        ck_assert(told.exchange_us == 500 && told.barrier_us == 100 && told.whom == 4);
    }
}

TEST_PLAIN(without_a_listener_there_are_only_sums)
{
    struct times times = {0};
    times_wait(&times, WAIT_GATE, 0, 1, 8);
    ck_assert_uint_eq(tell(&times, 9).gate_us, 8);
}

int main(void)
{
    return suite_run("times", NULL);
}
