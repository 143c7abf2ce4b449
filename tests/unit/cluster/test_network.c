/* test_network.c - messages between hosts in virtual time, against closed forms; the order of a connection
 * and of equal times; what breaks off; mishaps. */

#include "deploy/cluster/network.h"

#include <stdlib.h>

#include "deploy/cluster/impairment.h"
#include "tests/lib/suite.h"

#define US          1000ull
#define MS          1000000ull
#define SECOND      1000000000ull
#define RATE        1250000000ull /* 10 Gbit/s. */
#define LATENCY_NS  (50 * US)
#define DELIVERIES  4096
#define HOSTS_MOST  80
#define LOCAL_BYTES 4000000000ull

/* Alike hosts, and what has arrived. */
struct fixture {
    struct network *network;
    uint64_t now_ns;
    struct delivery deliveries[DELIVERIES]; /* As they came. */
    size_t count;
};

static const struct network_options usual = {.seed = 1,
                                             .latency_ns = LATENCY_NS,
                                             .loopback_rate = LOCAL_BYTES,
                                             .loopback_latency_ns = 5 * US,
                                             .turn_bytes = RATE / 100000}; /* 10 us of a card. */

static void open(struct fixture *f, struct network_options options, uint64_t slow_rate)
{
    struct network_host hosts[HOSTS_MOST];
    for (uint32_t h = 0; h < HOSTS_MOST; h++)
        hosts[h] = (struct network_host){RATE, RATE, 0};
    if (slow_rate > 0) /* The last has a link of its own. */
        hosts[HOSTS_MOST - 1] = (struct network_host){slow_rate, slow_rate / 2, 3 * MS};
    *f = (struct fixture){.network = network_create(&options, hosts, HOSTS_MOST)};
    ck_assert_ptr_nonnull(f->network);
}

static void close(struct fixture *f)
{
    network_free(f->network);
}

#define TEST(name, ...) SUITE_TEST(name, struct fixture, f, open(f, usual, __VA_ARGS__), close(f))

static uint32_t connect(struct fixture *f, uint32_t from, uint32_t to)
{
    uint32_t connection;
    ck_assert_int_eq(network_connect(f->network, from, to, 0, &connection), STATUS_OK);
    return connection;
}

static void push(struct fixture *f, uint32_t connection, uint64_t bytes)
{
    ck_assert_int_eq(network_send(f->network, connection, bytes, f->now_ns, f), STATUS_OK);
}

static void take(struct fixture *f)
{
    for (struct delivery delivery; network_take(f->network, &delivery);) {
        ck_assert_uint_lt(f->count, DELIVERIES);
        ck_assert_uint_eq(delivery.at_ns, f->now_ns);
        ck_assert_ptr_eq(delivery.item, f);
        f->deliveries[f->count++] = delivery;
    }
}

/* All that happens until then. */
static void pass(struct fixture *f, uint64_t until_ns)
{
    for (uint64_t next_ns; (next_ns = network_next(f->network)) <= until_ns;) {
        if (next_ns == NETWORK_NEVER)
            return;
        f->now_ns = next_ns;
        network_advance(f->network, next_ns);
        take(f);
    }
    f->now_ns = until_ns;
}

static void finish(struct fixture *f, uint64_t count)
{
    pass(f, NETWORK_NEVER);
    ck_assert_uint_eq(f->count, count);
}

/* --- closed forms ------------------------------------------------------------------------------------ */

TEST(a_message_takes_its_latency_and_its_bytes, 0)
{
    push(f, connect(f, 0, 1), 125000);
    pass(f, NETWORK_NEVER);
    const struct delivery *d = &f->deliveries[0];
    ck_assert_uint_eq(f->count, 1);
    ck_assert_uint_eq(d->at_ns, LATENCY_NS + 100 * US);
    ck_assert_uint_eq(d->begun_ns, LATENCY_NS);
    ck_assert_uint_eq(d->latency_ns, LATENCY_NS);
    ck_assert_uint_eq(d->timers_ns, 0);
    ck_assert(!d->lost);
}

TEST(a_message_of_nothing_takes_its_latency, 0)
{
    push(f, connect(f, 0, 1), 0);
    finish(f, 1);
    ck_assert_uint_eq(f->deliveries[0].at_ns, LATENCY_NS);
}

/* 100 Mbit/s up, and half of that down, 3 ms away from everybody. */
TEST(a_host_may_have_a_link_of_its_own, 12500000)
{
    uint32_t up = connect(f, HOSTS_MOST - 1, 0), down = connect(f, 0, HOSTS_MOST - 1), further;
    ck_assert_int_eq(network_connect(f->network, 1, 2, 7 * US, &further), STATUS_OK);
    push(f, up, 125000);
    push(f, down, 125000);
    push(f, further, 125000);
    finish(f, 3);
    ck_assert_uint_eq(f->deliveries[0].at_ns, LATENCY_NS + 107 * US);
    ck_assert_uint_eq(f->deliveries[1].at_ns, LATENCY_NS + 13 * MS);
    ck_assert_uint_eq(f->deliveries[2].at_ns, LATENCY_NS + 23 * MS);
}

/* n to one: all end together, when the card has carried all. */
TEST(incast_of_n_takes_n_times_as_long, 0)
{
    for (uint32_t n = 1; n <= 64; n *= 2) {
        uint64_t start_ns = f->now_ns;
        f->count = 0;
        for (uint32_t i = 1; i <= n; i++)
            push(f, connect(f, i, 0), 125000);
        finish(f, n);
        for (uint32_t i = 0; i < n; i++)
            ck_assert_uint_eq(f->deliveries[i].at_ns, start_ns + LATENCY_NS + n * 100 * US);
    }
}

/* Of `bytes` each worker has a share on every server: pushed, then pulled:
 * 2 (latency + max(M / B, n M / (k B))), and at most two pieces a server each way more, because all
 * begin with the same server. */
static void a_step_takes(struct fixture *f, uint32_t workers, uint32_t servers, uint64_t bytes)
{
    uint64_t start_ns = f->now_ns;
    f->count = 0;
    for (int way = 0; way < 2; way++) {
        for (uint32_t w = 0; w < workers; w++)
            for (uint32_t s = 0; s < servers; s++)
                push(f, way ? connect(f, workers + s, w) : connect(f, w, workers + s),
                     bytes / servers);
        pass(f, NETWORK_NEVER);
    }
    ck_assert_uint_eq(f->count, 2 * workers * servers);
    double nic = (double)bytes * 1e9 / RATE;
    double flowing = workers > servers ? nic * workers / servers : nic;
    double took = (double)(f->now_ns - start_ns), formula = 2 * (LATENCY_NS + flowing);
    ck_assert_double_ge(took, formula - 2);
    ck_assert_double_le(took, formula + 2 + (servers > 1 ? 2 * servers * 2 * 10.0 * US : 0));
}

TEST(a_step_takes_what_its_formula_says, 0)
{
    a_step_takes(f, 1, 1, 1600000);
    a_step_takes(f, 2, 4, 1600000);
    a_step_takes(f, 4, 4, 1600000);
    a_step_takes(f, 8, 1, 1600000);
    a_step_takes(f, 64, 4, 1600000);
    a_step_takes(f, 24, 16, 1600000);
    a_step_takes(f, 7, 3, 999999);
}

/* Both ways at the same time, and beside its own: cards are two, and loopback is no card. */
TEST(ways_and_loopback_are_apart, 0)
{
    uint32_t up = connect(f, 0, 1), down = connect(f, 1, 0);
    uint32_t local = connect(f, 0, 0), second = connect(f, 0, 0);
    push(f, up, 12500000);
    push(f, down, 12500000);
    push(f, local, LOCAL_BYTES / 1000);
    push(f, second, LOCAL_BYTES / 1000);
    finish(f, 4);
    ck_assert_uint_eq(f->deliveries[0].at_ns, 5 * US + 2 * MS);
    ck_assert_uint_eq(f->deliveries[1].at_ns, 5 * US + 2 * MS);
    ck_assert_uint_eq(f->deliveries[2].at_ns, LATENCY_NS + 10 * MS);
    ck_assert_uint_eq(f->deliveries[3].at_ns, LATENCY_NS + 10 * MS);
}

/* --- order ------------------------------------------------------------------------------------------- */

/* A stream's second waits for the first, its latency going by meanwhile; two streams share. */
TEST(messages_of_a_connection_keep_their_order, 0)
{
    uint32_t stream = connect(f, 0, 1), beside = connect(f, 0, 1);
    push(f, stream, 1250000);
    push(f, stream, 125);
    push(f, stream, 0);
    pass(f, 100 * US);
    push(f, beside, 125000);
    finish(f, 4);
    ck_assert_uint_eq(f->deliveries[0].connection, beside);
    ck_assert_uint_eq(f->deliveries[0].at_ns, 100 * US + LATENCY_NS + 200 * US);
    ck_assert_uint_eq(f->deliveries[1].sequence, 0);
    ck_assert_uint_eq(f->deliveries[1].at_ns, LATENCY_NS + 1100 * US);
    ck_assert_uint_eq(f->deliveries[2].sequence, 1);
    ck_assert_uint_eq(f->deliveries[2].begun_ns, LATENCY_NS + 1100 * US);
    ck_assert_uint_eq(f->deliveries[2].at_ns, LATENCY_NS + 1100 * US + 100);
    ck_assert_uint_eq(f->deliveries[3].sequence, 2);
    ck_assert_uint_eq(f->deliveries[3].at_ns, f->deliveries[2].at_ns + 1); /* As of a byte. */
}

/* On many cards, and some of them only once the message before them has ended. */
TEST(what_arrives_at_the_same_time_comes_as_it_was_sent, 0)
{
    uint32_t streams[40];
    for (uint32_t i = 0; i < 40; i++)
        streams[i] = connect(f, 40 - i, 41 + i % 20);
    for (uint32_t i = 0; i < 40; i++)
        push(f, streams[i * 7 % 40], 125000);
    for (uint32_t i = 0; i < 40; i++)
        push(f, streams[i * 3 % 40], 0);
    finish(f, 80);
    for (uint32_t i = 0; i < 80; i++) {
        ck_assert_uint_eq(f->deliveries[i].sequence, i);
        ck_assert_uint_eq(f->deliveries[i].at_ns, LATENCY_NS + 200 * US + (i < 40 ? 0 : 2));
    }
}

/* Nobody waits while a card could carry more: after a pause nothing is made up for. */
TEST(a_card_that_has_work_does_it, 0)
{
    uint32_t streams[10];
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < 10; i++)
        streams[i] = connect(f, 1 + i, 0);
    for (uint32_t i = 0; i < 100; i++) {
        uint64_t some = 4000 + i * i * 100; /* More than 3 us. */
        push(f, streams[i * i % 10], some);
        bytes += some;
        pass(f, f->now_ns + 3 * US);
    }
    finish(f, 100);
    double expected = LATENCY_NS + (double)bytes * 1e9 / RATE;
    ck_assert_double_eq_tol((double)f->now_ns, expected, 100);
}

/* Its bytes that have left stay in front of the receiver's card: half a millisecond's. */
TEST(a_connection_that_breaks_gives_back_what_is_under_way, 0)
{
    uint32_t stream = connect(f, 0, 1), beside = connect(f, 2, 1);
    push(f, stream, 1250000);
    push(f, beside, 1250000);
    push(f, stream, 10);
    pass(f, LATENCY_NS + 500 * US);
    network_disconnect(f->network, stream, 0, f->now_ns);
    take(f);
    ck_assert_uint_eq(f->count, 2);
    ck_assert(f->deliveries[0].lost && f->deliveries[0].sequence == 0);
    ck_assert(f->deliveries[1].lost && f->deliveries[1].sequence == 2);
    push(f, stream, 125);
    network_disconnect(f->network, stream, 0, f->now_ns); /* Still on its way. */
    take(f);
    push(f, stream, 125);
    finish(f, 5);
    ck_assert_uint_eq(f->deliveries[3].at_ns, 2 * LATENCY_NS + 1000 * US + 200);
    ck_assert_uint_eq(f->deliveries[4].at_ns, LATENCY_NS + 1500 * US + 100);
}

TEST(a_connection_that_breaks_may_keep_its_first_messages, 0)
{
    for (uint64_t keep = 0; keep <= 3; keep++) {
        uint32_t stream = connect(f, 0, 1);
        uint64_t start_ns = f->now_ns;
        f->count = 0;
        for (int i = 0; i < 3; i++)
            push(f, stream, 125000);
        pass(f, start_ns + LATENCY_NS + 50 * US);
        network_disconnect(f->network, stream, keep, f->now_ns);
        take(f);
        ck_assert_uint_eq(f->count, 3 - keep);
        push(f, stream, 125000); /* Behind what is kept. */
        finish(f, 4);
        for (uint64_t i = 0; i < 3; i++)
            ck_assert(f->deliveries[i].lost == (i < 3 - keep));
        uint64_t flowing_ns = LATENCY_NS + (keep + 1) * 100 * US;
        ck_assert_uint_eq(f->now_ns - start_ns,
                          keep > 0 ? flowing_ns : flowing_ns + LATENCY_NS + 50 * US);
    }
}

/* What is under way on them still arrives. */
TEST(closed_connections_leave_their_room_to_others, 0)
{
    uint32_t busy = connect(f, 0, 1), idle = connect(f, 0, 1);
    push(f, busy, 125000);
    network_close(f->network, idle);
    network_close(f->network, busy);
    ck_assert_uint_eq(connect(f, 3, 4), idle);
    ck_assert_uint_eq(connect(f, 3, 5), 2); /* Not yet free. */
    finish(f, 1);
    ck_assert(!f->deliveries[0].lost);
    ck_assert_uint_eq(f->now_ns, LATENCY_NS + 100 * US);
    ck_assert_uint_eq(connect(f, 6, 7), busy);
    push(f, busy, 125000); /* Between others than before. */
    push(f, connect(f, 0, 1), 125000);
    pass(f, NETWORK_NEVER);
    ck_assert_uint_eq(f->now_ns, 2 * (LATENCY_NS + 100 * US));
    push(f, busy, 125000);
    network_close(f->network, busy);
    network_disconnect(f->network, busy, 0, f->now_ns);
    network_disconnect(f->network, busy, 0, f->now_ns);
    take(f);
    ck_assert(f->count == 4 && f->deliveries[3].lost);
    ck_assert_uint_eq(connect(f, 6, 7), busy);
    ck_assert_uint_eq(connect(f, 6, 7), 4);
}

/* What has arrived may be answered while the rest of it is taken, again and again. */
TEST(who_takes_a_message_may_send, 0)
{
    uint32_t streams[32], count = 0;
    for (uint32_t i = 0; i < 32; i++)
        streams[i] = connect(f, i, 32 + i);
    for (uint32_t i = 0; i < 32; i++)
        push(f, streams[i], 1000);
    for (uint64_t next_ns; (next_ns = network_next(f->network)) != NETWORK_NEVER;) {
        f->now_ns = next_ns;
        network_advance(f->network, next_ns);
        for (struct delivery d; network_take(f->network, &d); count++)
            for (uint32_t copy = 0; copy < 2 && d.sequence + copy < 1000; copy++)
                push(f, d.connection, 1000);
    }
    ck_assert_uint_gt(count, 1000);
}

/* --- mishaps ----------------------------------------------------------------------------------------- */

/* One loses everything again and again, its timers doubling, until it is through; order is kept. */
TEST_PLAIN(losses_cost_timers_and_keep_the_order)
{
    struct network_options options = usual;
    options.loss = 0.2;
    options.jitter = (struct distribution){DISTRIBUTION_EXPONENTIAL, 20000, 0};
    static struct fixture f;
    open(&f, options, 0);
    uint32_t stream = connect(&f, 0, 1), local = connect(&f, 0, 0), lost = 0;
    for (uint32_t i = 0; i < 500; i++) {
        push(&f, stream, 1000);
        push(&f, local, 1000);
    }
    finish(&f, 1000);
    uint64_t last = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        const struct delivery *d = &f.deliveries[i];
        if (d->connection == local) {
            ck_assert_uint_eq(d->timers_ns, 0);
            ck_assert_uint_eq(d->latency_ns, 5 * US);
            continue;
        }
        ck_assert_uint_ge(d->sequence, last);
        ck_assert_uint_ge(d->begun_ns, d->latency_ns + d->timers_ns);
        ck_assert_uint_ge(d->latency_ns, LATENCY_NS);
        last = d->sequence;
        lost += d->timers_ns > 0;
    }
    ck_assert_uint_ge(lost, 70);
    ck_assert_uint_le(lost, 130);
    close(&f);
}

/* A buffer of three first windows lets three in at once; the others wait for 200 ms, those who are late
 * again for 400. Deep, all are there in n M / B. */
TEST_PLAIN(a_small_switch_makes_incast_wait_for_timers)
{
    struct network_options options = usual;
    options.switch_buffer_bytes = 3 * 14600;
    static struct fixture f;
    open(&f, options, 0);
    for (uint32_t i = 1; i <= 8; i++)
        push(&f, connect(&f, i, 0), 125000);
    finish(&f, 8);
    for (uint32_t i = 0; i < 8; i++) {
        const struct delivery *d = &f.deliveries[i];
        uint64_t timers_ns = i < 3 ? 0 : i < 6 ? 200 * MS : 600 * MS;
        ck_assert_uint_eq(d->timers_ns, timers_ns);
        ck_assert_uint_eq(d->at_ns, LATENCY_NS + timers_ns + (i < 6 ? 300 : 200) * US);
    }
    ck_assert(f.deliveries[0].sequence != 0 || f.deliveries[1].sequence != 1 ||
              f.deliveries[2].sequence != 2); /* A lot decides, and not who was named first. */
    close(&f);
}

TEST_PLAIN(who_is_alone_needs_no_buffer)
{
    struct network_options options = usual;
    options.switch_buffer_bytes = 1;
    static struct fixture f;
    open(&f, options, 0);
    uint32_t stream = connect(&f, 1, 0), local = connect(&f, 0, 0), second = connect(&f, 0, 0);
    for (uint32_t i = 0; i < 3; i++) {
        push(&f, stream, 125000);
        push(&f, local, 125000);
        push(&f, second, 125000);
    }
    finish(&f, 9);
    ck_assert_uint_eq(f.now_ns, LATENCY_NS + 300 * US);
    close(&f);
}

/* With all of it the same nanoseconds, from every compiler and on every machine. */
TEST_PLAIN(a_network_with_mishaps_has_the_nanoseconds_that_are_written_here)
{
    struct network_options options = usual;
    options.jitter = (struct distribution){DISTRIBUTION_LOGNORMAL, 20000, 0.5};
    options.loss = 0.05;
    options.switch_buffer_bytes = 100000;
    static struct fixture f;
    open(&f, options, 0);
    for (uint32_t i = 0; i < 320; i++)
        push(&f, connect(&f, 4 + i / 4 % 64, i % 4), 1000 + i * 7919u % 100000);
    pass(&f, NETWORK_NEVER);
    uint64_t all = 0;
    for (uint32_t i = 0; i < f.count; i++)
        all = all * 0x9E3779B97F4A7C15ull + f.deliveries[i].at_ns + f.deliveries[i].sequence;
    ck_assert_uint_eq(f.count, 320);
    ck_assert_uint_eq(all, 5958917015471031331ull);
    close(&f);
}

/* --- in turns -------------------------------------------------------------------------------------- */

static void expect_delivery(struct fixture *f, size_t i, uint64_t sequence, uint64_t begun_us,
                            uint64_t at_us)
{
    ck_assert_uint_eq(f->deliveries[i].sequence, sequence);
    ck_assert_uint_eq(f->deliveries[i].begun_ns, LATENCY_NS + begun_us * US);
    ck_assert_uint_eq(f->deliveries[i].at_ns, LATENCY_NS + at_us * US);
}

TEST(the_first_of_a_host_stays_first, 0)
{
    uint32_t first = connect(f, 0, 1), second = connect(f, 0, 2);
    push(f, first, 30 * RATE / 1000000);
    pass(f, 15 * US);
    push(f, second, 30 * RATE / 1000000);
    finish(f, 2);
    expect_delivery(f, 0, 0, 0, 30);
    expect_delivery(f, 1, 1, 15, 60);
}

/* A stream of bytes goes on while its first message still waits for the receiver's card. */
TEST(what_is_behind_on_a_connection_sets_off_before_that_is_there, 0)
{
    uint32_t stream = connect(f, 0, 2), beside = connect(f, 1, 2);
    push(f, stream, 20 * RATE / 1000000);
    push(f, stream, 20 * RATE / 1000000);
    push(f, stream, 0);
    push(f, beside, 20 * RATE / 1000000);
    finish(f, 4);
    expect_delivery(f, 0, 0, 0, 40);
    expect_delivery(f, 1, 3, 0, 40);
    expect_delivery(f, 2, 1, 40, 60);
    ck_assert_uint_eq(f->deliveries[3].sequence, 2);
}

TEST(a_broken_connection_keeps_its_first_and_leaves_its_turns, 0)
{
    uint32_t stream = connect(f, 0, 1), beside = connect(f, 0, 2);
    for (int i = 0; i < 4; i++)
        push(f, stream, 20 * RATE / 1000000);
    pass(f, LATENCY_NS + 5 * US);
    push(f, beside, 20 * RATE / 1000000); /* Its first byte is there after LATENCY_NS. */
    network_disconnect(f->network, stream, 1, f->now_ns);
    take(f);
    ck_assert_uint_eq(f->count, 3);
    for (size_t i = 0; i < 3; i++)
        ck_assert(f->deliveries[i].lost && f->deliveries[i].sequence == 1 + i);
    push(f, stream, 20 * RATE / 1000000);
    finish(f, 6);
    expect_delivery(f, 3, 0, 0, 20);
    ck_assert(f->deliveries[4].sequence == 4 && f->deliveries[5].sequence == 5);
    ck_assert_uint_eq(f->deliveries[4].at_ns, 2 * LATENCY_NS + 25 * US);
    ck_assert_uint_eq(f->deliveries[5].at_ns, 2 * LATENCY_NS + 45 * US);
}

int main(void)
{
    return suite_run("network", NULL);
}
