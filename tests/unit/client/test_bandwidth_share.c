/* test_bandwidth_share.c - the window of a worker whose share of a line is played here: chunks arrive at its
 * rate, each no sooner than a trip after it left, and make room for the next. */
/* promises: bits-together */

#include "worker/client/bandwidth_share.h"

#include <string.h>

#include "tests/lib/suite.h"

#define KIB     1024u
#define MIB     (1024u * KIB)
#define CHUNK   (64 * KIB)
#define STEP    (8 * MIB)
#define CHUNKS  (STEP / CHUNK)
#define MOST    (16 * MIB)
#define WORKERS 4
#define STEPS   8

struct line {
    double bytes_a_us, trip_us;
};
/* A fourth of 1 Gbit/s to the next cabinet and to another continent, and of 10 Gbit/s to another city. */
static const struct line short_line = {31.25, 50}, long_line = {31.25, 50000},
                         fast_line = {312.5, 10000};

static double later(double a, double b)
{
    return a > b ? a : b;
}

/* A step, which begins at *now_us and takes that on to its end; returns microseconds. */
static double play(struct bandwidth_share *share, const struct line *line, bool idle,
                   double *now_us)
{
    double arrives[CHUNKS], began = *now_us, last = began;
    uint64_t window = (bandwidth_share_begin(share, idle, (uint64_t)began), share->bytes / CHUNK);
    for (uint64_t i = 0; i < CHUNKS; i++) {
        double leaves = i < window ? began : arrives[i - window];
        last = arrives[i] = later(leaves + line->trip_us, last) + CHUNK / line->bytes_a_us;
        bandwidth_share_arrived(share, CHUNK, (uint64_t)last);
    }
    *now_us = last + 1000;
    return last - began;
}

static double plays(struct bandwidth_share *share, const struct line *line)
{
    double now_us = 1e6, us = 0;
    bandwidth_share_init(share, WORKERS, CHUNK, MOST);
    for (int i = 0; i < STEPS; i++)
        us = play(share, line, true, &now_us);
    return us;
}

/* What the line needs for a step, whatever the window. */
static double bound(const struct line *line)
{
    return line->trip_us + STEP / line->bytes_a_us;
}

TEST_PLAIN(on_a_short_line_workers_keep_close_together)
{
    struct bandwidth_share share;
    double us = plays(&share, &short_line);
    ck_assert_uint_eq(share.bytes, 512 * KIB);
    ck_assert_double_lt(us, 1.01 * bound(&short_line));
}

TEST_PLAIN(a_long_line_is_filled_in_a_few_steps_and_not_flooded)
{
    const struct line *const lines[] = {&long_line, &fast_line};
    for (int i = 0; i < 2; i++) {
        struct bandwidth_share share;
        double us = plays(&share, lines[i]);
        double holds = lines[i]->bytes_a_us * lines[i]->trip_us;
        ck_assert_double_lt(us, 1.05 * bound(lines[i]));
        ck_assert_double_gt((double)share.bytes, 2 * holds);
        ck_assert_double_lt((double)share.bytes, 4 * holds);
    }
}

TEST_PLAIN(with_the_least_window_a_long_line_would_be_empty_most_of_the_time)
{
    struct bandwidth_share share;
    double now_us = 1e6;
    bandwidth_share_init(&share, WORKERS, CHUNK, MOST);
    ck_assert_double_gt(play(&share, &long_line, true, &now_us), 2.5 * bound(&long_line));
}

/* Behind what left before, a first chunk takes longer than the line does; but never less. */
TEST_PLAIN(a_trip_is_first_taken_of_an_idle_line)
{
    struct bandwidth_share share;
    double now_us = 1e6;
    bandwidth_share_init(&share, WORKERS, CHUNK, MOST);
    play(&share, &long_line, false, &now_us);
    play(&share, &long_line, false, &now_us);
    ck_assert_uint_eq(share.trip_us, 0);
    ck_assert_uint_eq(share.bytes, share.least);
    play(&share, &fast_line, true, &now_us); /* As it may be when servers are not ready yet. */
    ck_assert_uint_gt(share.trip_us, 10000);
    play(&share, &short_line, false, &now_us);
    uint64_t trip_us = share.trip_us;
    ck_assert_uint_lt(trip_us, 3000);
    play(&share, &long_line, true, &now_us);
    ck_assert_uint_eq(share.trip_us, trip_us); /* The shortest there ever was. */
}

TEST_PLAIN(the_window_stays_between_its_bounds_and_says_nothing_of_what_was_not_seen)
{
    static const struct line endless = {1e6, 1e6};
    struct bandwidth_share share;
    double now_us = 1e6;
    plays(&share, &endless);
    ck_assert_uint_eq(share.bytes, MOST);
    bandwidth_share_begin(&share, true, (uint64_t)now_us); /* Nothing comes of this one, */
    bandwidth_share_begin(&share, true, (uint64_t)now_us);
    bandwidth_share_arrived(&share, CHUNK, (uint64_t)now_us + 10); /* one chunk of this, */
    bandwidth_share_begin(&share, true, (uint64_t)now_us);
    bandwidth_share_arrived(&share, CHUNK, (uint64_t)now_us + 10); /* two at once of this. */
    bandwidth_share_arrived(&share, CHUNK, (uint64_t)now_us + 10);
    bandwidth_share_begin(&share, true, (uint64_t)now_us);
    ck_assert_uint_eq(share.bytes, MOST);
    bandwidth_share_init(&share, 1, 12 * MIB, MOST);
    ck_assert_uint_eq(share.bytes, 24 * MIB); /* Two chunks, whatever else. */
    bandwidth_share_init(&share, 2, CHUNK, MOST);
    ck_assert_uint_eq(share.bytes, MIB);
}

int main(void)
{
    return suite_run("line_share", NULL);
}
