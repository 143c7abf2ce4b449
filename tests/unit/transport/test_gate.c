/* test_gate.c - what strangers may have, and what it comes to when there are many: arithmetic, no
 * sockets. */

#include "common/transport/budget/gate.h"

#include "tests/lib/suite.h"

enum { SECOND = 1000000, LOOK = 50000 };

static struct gate opened(bool busy, uint32_t strangers)
{
    struct gate gate;
    gate_init(&gate);
    gate.busy = busy;
    gate.strangers = strangers;
    return gate;
}

/* What all of them may have unheard is bounded, and each may always say a JOIN. */
TEST_PLAIN(the_more_strangers_the_less_each_may_be_ahead)
{
    uint64_t before = UINT64_MAX;
    for (uint32_t count = 0; count <= 2 * GATE_PLACES; count++) {
        struct gate gate = opened(true, count);
        uint64_t ahead = gate_ahead(&gate);
        ck_assert_uint_le(ahead, before);
        ck_assert_uint_ge(ahead, 256);
        ck_assert_uint_le(ahead, 5120);
        ck_assert_uint_le(count * ahead, 512 << 10);
        before = ahead;
    }
}

/* They come one after another, and what one has said while there were fewer is here to stay: as
 * frames without bytes it takes 33 times as much. */
TEST_PLAIN(what_they_say_as_they_come_takes_a_third_of_what_there_is_for_all)
{
    uint64_t said = 0;
    for (uint32_t count = 0; count < GATE_PLACES; count++) {
        struct gate gate = opened(true, count);
        said += gate_ahead(&gate);
    }
    ck_assert_uint_le(33 * said, (64 << 20) / 3);
    ck_assert_uint_ge(said, GATE_PLACES * 256);
}

/* Messages heard in a second of so many strangers that say short ones without end. */
static uint64_t heard_in_a_second(bool busy, uint32_t strangers)
{
    struct gate gate = opened(busy, strangers);
    uint64_t heard = 0;
    int64_t credit = 0;
    for (int i = 0; i < 10 * SECOND / LOOK; i++) { /* Of ten. */
        credit = gate_refill(&gate, credit, LOOK);
        for (; credit > 0; heard++)
            credit = gate_charge(credit, 1, 9);
    }
    return heard * strangers / 10;
}

TEST_PLAIN(what_is_heard_of_all_strangers_does_not_grow_with_their_number)
{
    for (uint32_t count = 1; count <= GATE_PLACES; count *= 2)
        ck_assert_uint_le(heard_in_a_second(true, count), 1200);
    ck_assert_uint_ge(heard_in_a_second(true, 1), 100);
    ck_assert_uint_ge(heard_in_a_second(true, GATE_PLACES), 500);
}

/* As many as may be in a job: JOIN of 200 bytes every 64 ms. */
TEST_PLAIN(while_there_is_no_job_everybody_may_ask_for_one)
{
    struct gate gate = opened(false, 1024);
    int64_t credit = gate_first(&gate);
    for (int i = 0; i < 60 * 1000 / 64; i++) {
        ck_assert_int_gt(credit, 0);
        credit = gate_charge(credit, 1, 200);
        credit = gate_refill(&gate, credit, 64000);
    }
}

/* STATUS and a heartbeat a second, among hundreds who pour. */
TEST_PLAIN(whoever_looks_once_a_second_has_credit)
{
    struct gate gate = opened(true, 800);
    int64_t credit = gate_first(&gate);
    for (int i = 0; i < 3600; i++) {
        ck_assert_int_gt(credit, 0);
        credit = gate_charge(credit, 1, 9);
        for (int look = 0; look < SECOND / LOOK; look++)
            credit = gate_refill(&gate, credit, LOOK);
    }
}

TEST_PLAIN(credit_is_not_saved_up)
{
    struct gate gate = opened(true, 1);
    int64_t credit = gate_first(&gate);
    for (int i = 0; i < 1000; i++)
        credit = gate_refill(&gate, credit, SECOND);
    ck_assert_int_le(credit, 16384);
}

/* Those who come in, of so many that knock between two looks. */
static uint64_t let_in(const struct gate *gate, uint64_t knocks)
{
    return knocks * gate->chance / GATE_OPEN;
}

TEST_PLAIN(many_may_come_at_once_and_then_so_many_a_second)
{
    struct gate gate = opened(true, 0);
    gate_count(&gate, 1500, LOOK); /* After a restart. */
    ck_assert_uint_eq(gate.chance, GATE_OPEN);
    for (int i = 0; i < 100; i++)
        gate_count(&gate, 0, LOOK);
    uint64_t came = 0;
    for (int i = 0; i < 60 * SECOND / LOOK; i++) { /* 10,000 knock a second, for a minute. */
        uint64_t now = let_in(&gate, 500);
        gate_count(&gate, now, LOOK);
        ck_assert_uint_gt(gate.chance, 0); /* Nobody is shut out. */
        came += now;
    }
    ck_assert_uint_ge(came, 60 * 200);
    ck_assert_uint_le(came, 60 * 300 + 4000);
    for (int i = 0; i < 20 * SECOND / LOOK; i++)
        gate_count(&gate, 0, LOOK);
    ck_assert_uint_eq(gate.chance, GATE_OPEN); /* As if nothing had been. */
    ck_assert_int_gt(gate.entries, 1500);
}

/* Strangers come in waves, and whoever knocks between two is let in. */
TEST_PLAIN(whoever_knocks_when_few_do_gets_in_though_too_many_have_come)
{
    struct gate gate = opened(true, 800);
    gate_count(&gate, 3000, LOOK);
    for (int i = 0; i < 8; i++)
        gate_count(&gate, 100, LOOK);
    ck_assert_uint_lt(gate.chance, GATE_OPEN / 32);
    for (int i = 0; i < 8; i++)
        gate_count(&gate, 2, LOOK);
    ck_assert_int_lt(gate.entries, 0);
    ck_assert_uint_eq(gate.chance, GATE_OPEN);
}

int main(void)
{
    return suite_run("gate", NULL);
}
