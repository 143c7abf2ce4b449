/* test_keeper.c - of steps without end the first, the last and the slowest are kept. */
/* promises: trace */

#include "common/trace/keeper.h"

#include "tests/lib/suite.h"

#define STEP_NS 100u

struct kept {
    struct keeper keeper;
};

static void open_kept(struct kept *k, uint32_t steps)
{
    ck_assert_int_eq(keeper_init(&k->keeper, steps), STATUS_OK);
}

#define TEST(name, steps)                                                                          \
    SUITE_TEST(name, struct kept, k, open_kept(k, steps), keeper_free(&k->keeper))

static struct turn turn_at(uint64_t step, uint64_t length_ns)
{
    return (struct turn){step, 1000 * step, 1000 * step + length_ns, false};
}

static bool wants(const struct kept *k, uint64_t step)
{
    return keeper_wants(&k->keeper, 1000 * step + 1, 1000 * step + 2);
}

TEST_PLAIN(every_number_of_steps_is_shared_out)
{
    for (uint32_t steps = 0; steps < 100; steps++) {
        struct shares shares = shares_of(steps);
        ck_assert_uint_eq(shares.first + shares.last + shares.slowest, steps);
        ck_assert_uint_le(shares.slowest, shares.last);
        ck_assert_uint_le(shares.last, shares.first);
    }
}

TEST(of_a_long_run_the_first_the_last_and_the_slowest_are_kept, 9)
{
    for (uint64_t step = 0; step < 10000; step++) {
        bool slow = step == 777 || step == 4000 || step == 5123;
        const struct turn turn = turn_at(step, slow ? 900 : STEP_NS + step % 7);
        keeper_add(&k->keeper, &turn);
    }
    for (uint64_t step = 0; step < 3; step++)
        ck_assert(wants(k, step) && wants(k, 9999 - step));
    ck_assert(wants(k, 777) && wants(k, 4000) && wants(k, 5123));
    uint64_t kept = 0;
    for (uint64_t step = 0; step < 10000; step++)
        kept += wants(k, step);
    ck_assert_uint_eq(kept, 3 + 3 + 2 * 3 + 2); /* Of the slowest more, as others may see others. */
}

TEST(what_several_workers_say_of_a_step_is_one_step, 3)
{
    for (uint64_t step = 0; step < 4; step++)
        for (uint32_t worker = 0; worker < 3; worker++) {
            struct turn turn = turn_at(step, 500);
            turn.from_ns += 10 * worker;
            turn.to_ns += 20 * worker;
            keeper_add(&k->keeper, &turn);
        }
    ck_assert_uint_eq(k->keeper.first_count + k->keeper.last_count + k->keeper.slowest_count, 4);
    ck_assert_uint_eq(k->keeper.first[0].from_ns, 0);
    ck_assert_uint_eq(k->keeper.first[0].to_ns, 540);
    /* Its number once more, later, is another step: all have gone back. */
    const struct turn again = {0, 50000, 50100, false};
    keeper_add(&k->keeper, &again);
    ck_assert(keeper_wants(&k->keeper, 50050, 50060));
    ck_assert_uint_eq(k->keeper.first[0].to_ns, 540);
}

TEST(where_something_was_scored_a_step_is_not_slow, 3)
{
    for (uint64_t step = 0; step < 40; step++) {
        struct turn turn = turn_at(step, step == 20 ? 950 : STEP_NS);
        turn.scored = step == 20;
        keeper_add(&k->keeper, &turn);
    }
    ck_assert(!wants(k, 20));
}

TEST(without_room_it_gives_up_the_least_slow, 6)
{
    for (uint64_t step = 0; step < 40; step++) {
        const struct turn turn = turn_at(step, STEP_NS + step);
        keeper_add(&k->keeper, &turn);
    }
    ck_assert(wants(k, 32) && wants(k, 37));
    ck_assert(keeper_give_up(&k->keeper));
    ck_assert(!wants(k, 32) && wants(k, 33));
    while (keeper_give_up(&k->keeper))
        continue;
    ck_assert(!wants(k, 37) && wants(k, 38) && wants(k, 39) && wants(k, 0) && wants(k, 1));
}

int main(void)
{
    return suite_run("keeper", NULL);
}
