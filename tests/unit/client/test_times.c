/* test_times.c - what a worker tells of its time. */

#include "worker/client/times.h"

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
    times_exchange(&times, 40);
    times_compute(&times, 500);
    tell(&times, 2000);
    times_begin(&times, 7, 2500); /* It has begun. */
    times_exchange(&times, 2);
    times_compute(&times, 30);
    times_evaluate(&times, 100);
    times_wait(&times, WAIT_LEASE, 0, 7);
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
    times_wait(&times, WAIT_GATE, 2, 500);
    times_wait(&times, WAIT_GATE, 3, 100);
    struct message_times told = tell(&times, 2000);
    ck_assert_uint_eq(told.whom, 2);
    ck_assert_uint_eq(told.whom_us, 500);
    ck_assert_uint_eq(tell(&times, 2500).whom, 0);
    times_wait(&times, WAIT_BOUND, 3, 200);
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

int main(void)
{
    return suite_run("times", NULL);
}
