/* test_loopback.c - transfers of a host share its loopback equally: by hand, and many against the same
 * thing counted in doubles. */

#include "deploy/cluster/loopback.h"

#include <math.h>

#include "common/base/random.h"
#include "tests/lib/suite.h"

#define SECOND 1000000000ull
#define HOSTS  3
#define MANY   200

struct fixture {
    struct loopback *loopback;
};

static void open(struct fixture *f, uint64_t rate)
{
    f->loopback = loopback_create(rate, HOSTS);
    ck_assert_ptr_nonnull(f->loopback);
    for (uint32_t i = 0; i < HOSTS * MANY; i++)
        ck_assert_int_eq(loopback_reserve(f->loopback, i % HOSTS), STATUS_OK);
}

static void close(struct fixture *f)
{
    ck_assert_uint_eq(loopback_next(f->loopback), LOOPBACK_NEVER);
    loopback_free(f->loopback);
}

#define TEST(name, rate) SUITE_TEST(name, struct fixture, f, open(f, rate), close(f))

static void expect_none_before(struct fixture *f, uint64_t at_ns)
{
    size_t count;
    ck_assert_uint_eq(loopback_next(f->loopback), at_ns);
    loopback_advance(f->loopback, at_ns - 1, &count);
    ck_assert_uint_eq(count, 0);
}

/* The next to end is the one of that tag, then, alone. */
static void ends(struct fixture *f, uint64_t tag, uint64_t at_ns)
{
    size_t count;
    expect_none_before(f, at_ns);
    const uint64_t *tags = loopback_advance(f->loopback, at_ns, &count);
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_eq(tags[0], tag);
}

/* 0, 300 bytes, has all until 1 comes, at 1 s, then half; 1, 300, ends alone. Another host has its
 * own. */
TEST(transfers_of_a_host_have_equal_shares, 100)
{
    loopback_begin(f->loopback, 0, 300, 0, 0);
    loopback_begin(f->loopback, 1, 350, 2, 0);
    loopback_begin(f->loopback, 0, 300, 1, SECOND);
    ends(f, 2, 7 * SECOND / 2);
    ends(f, 0, 5 * SECOND);
    ends(f, 1, 6 * SECOND);
}

TEST(a_stopped_transfer_leaves_its_share, 300)
{
    loopback_begin(f->loopback, 0, 300, 0, 0);
    loopback_begin(f->loopback, 0, 100, 1, 0);
    loopback_begin(f->loopback, 0, 200, 2, 0);
    loopback_stop(f->loopback, 0, 1, SECOND / 2); /* Each has been served 50. */
    ends(f, 2, 3 * SECOND / 2);
    loopback_stop(f->loopback, 0, 0, 7 * SECOND / 4);
}

TEST(transfers_of_several_hosts_may_end_together, 100)
{
    size_t count;
    for (uint32_t i = 0; i < 2 * HOSTS; i++)
        loopback_begin(f->loopback, i % HOSTS, 100, i, 0);
    expect_none_before(f, 2 * SECOND);
    loopback_advance(f->loopback, 2 * SECOND, &count);
    ck_assert_uint_eq(count, 2 * HOSTS);
}

/* A third of a second is no whole number of nanoseconds: the nearest one. */
TEST(an_end_is_in_the_nearest_nanosecond, 3)
{
    loopback_begin(f->loopback, 0, 1, 0, 0);
    ends(f, 0, 333333333);
    loopback_begin(f->loopback, 0, 2, 1, SECOND);
    ends(f, 1, 1666666667);
}

/* A time beyond all that can be said is the last one. */
TEST(a_transfer_may_take_longer_than_there_is_time, 1)
{
    loopback_begin(f->loopback, 0, 1ull << 46, 0, 0);
    ck_assert_uint_eq(loopback_next(f->loopback), LOOPBACK_NEVER - 1);
    loopback_stop(f->loopback, 0, 0, SECOND);
}

/* What is left of each transfer in bytes, and the time until which. */
struct counted {
    double left[MANY], now;
};

static void pass(struct counted *counted, double until, double rate)
{
    unsigned live = 0;
    for (int i = 0; i < MANY; i++)
        live += counted->left[i] > 0;
    for (int i = 0; i < MANY; i++)
        if (counted->left[i] > 0)
            counted->left[i] -= (until - counted->now) * rate / live / SECOND;
    counted->now = until;
}

/* Each ends when nothing of it is left, to the bytes of two nanoseconds. */
TEST(many_end_when_their_bytes_are_there, 1250000000)
{
    static struct counted counted;
    struct random_sequence draws;
    random_sequence_init(&draws, 1, RANDOM_STREAM_PROBE, 1);
    uint64_t begun = 0, ended = 0, begin_ns = 0;
    while (ended < MANY) {
        size_t count;
        uint64_t next_ns = loopback_next(f->loopback);
        uint64_t to_ns = begun < MANY && begin_ns < next_ns ? begin_ns : next_ns;
        pass(&counted, (double)to_ns, 1250000000);
        const uint64_t *tags = loopback_advance(f->loopback, to_ns, &count);
        for (size_t i = 0; i < count; i++) {
            ck_assert_double_lt(fabs(counted.left[tags[i]]), 2.5);
            counted.left[tags[i]] = 0;
        }
        ended += count;
        if (to_ns == begin_ns && begun < MANY) {
            uint64_t bytes = 1000 + random_below(&draws, 100000);
            loopback_begin(f->loopback, 1, bytes, begun, to_ns);
            counted.left[begun++] = (double)bytes;
            begin_ns += random_below(&draws, 60000);
        }
    }
}

int main(void)
{
    return suite_run("loopback", NULL);
}
