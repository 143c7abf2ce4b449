/* test_flows.c - the sharing of cards: against progressive filling as the textbook has it, in doubles,
 * and by what defines it: no card beyond its rate, and a bottleneck for every flow. */

#include "deploy/cluster/flows.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/clusters/random_cluster.h"
#include "tests/lib/suite.h"

#define SECOND 1000000000ull

/* --- by hand --------------------------------------------------------------------------------------- */

static struct flows *with_nics(const uint64_t *rates, uint32_t count)
{
    struct flows *flows = flows_create(rates, count);
    ck_assert_ptr_nonnull(flows);
    return flows;
}

static uint32_t begin(struct flows *flows, uint32_t first, uint32_t second, uint64_t bytes,
                      uint64_t tag, uint64_t now_ns)
{
    struct way way = {first, second};
    ck_assert_int_eq(flows_reserve(flows, way), STATUS_OK);
    return flows_begin(flows, way, bytes, tag, now_ns);
}

/* The next to end is the one of that tag, then, alone. */
static void ends(struct flows *flows, uint64_t tag, uint64_t at_ns)
{
    ck_assert_uint_eq(flows_next(flows), at_ns);
    size_t count;
    const uint64_t *tags = flows_advance(flows, at_ns, &count);
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_eq(tags[0], tag);
}

static double bytes_a_second(struct flows *flows, uint32_t flow)
{
    return (double)flows_rate(flows, flow) / FLOWS_RATE_UNIT;
}

TEST_PLAIN(a_flow_alone_has_the_slower_of_its_cards)
{
    struct flows *flows = with_nics((uint64_t[]){1000, 400, 50}, 3);
    ck_assert_uint_eq(flows_next(flows), FLOWS_NEVER);
    begin(flows, 0, 1, 1000, 7, 5);
    ends(flows, 7, 5 + 5 * SECOND / 2);
    begin(flows, 2, FLOWS_NO_NIC, 100, 8, 3 * SECOND);
    ends(flows, 8, 5 * SECOND);
    ck_assert_uint_eq(flows_next(flows), FLOWS_NEVER);
    ck_assert_uint_eq(flows_count(flows), 0);
    flows_free(flows);
}

/* a, 300 bytes, has all until b comes, at 1 s, then half; b, 300, ends alone. */
TEST_PLAIN(two_flows_on_a_card_have_half_each)
{
    struct flows *flows = with_nics((uint64_t[]){100, 1000, 1000}, 3);
    uint32_t a = begin(flows, 0, 1, 300, 0, 0);
    ck_assert_double_eq(bytes_a_second(flows, a), 100);
    uint32_t b = begin(flows, 0, 2, 300, 1, SECOND);
    ck_assert_double_eq(bytes_a_second(flows, a), 50);
    ck_assert_double_eq(bytes_a_second(flows, b), 50);
    ends(flows, 0, 5 * SECOND);
    ck_assert_double_eq(bytes_a_second(flows, b), 100);
    ends(flows, 1, 6 * SECOND);
    flows_free(flows);
}

/* Bertsekas and Gallager's kind of example: what one card's flows cannot use another's have. */
TEST_PLAIN(what_a_slow_card_leaves_goes_to_the_others)
{
    struct flows *flows = with_nics((uint64_t[]){90, 20, 1000, 60}, 4);
    uint32_t slow = begin(flows, 0, 1, 1000, 0, 0);
    uint32_t middle = begin(flows, 0, 2, 1000, 1, 0);
    uint32_t both = begin(flows, 0, 3, 1000, 2, 0);
    uint32_t apart = begin(flows, 2, 3, 1000, 3, 0);
    ck_assert_double_eq(bytes_a_second(flows, slow), 20);
    ck_assert_double_eq(bytes_a_second(flows, both), 30);
    ck_assert_double_eq(bytes_a_second(flows, apart), 30);
    ck_assert_double_eq(bytes_a_second(flows, middle), 40);
    flows_stop(flows, both, SECOND);
    ck_assert_double_eq(bytes_a_second(flows, apart), 60);
    ck_assert_double_eq(bytes_a_second(flows, middle), 70);
    ck_assert_uint_eq(flows_count(flows), 3);
    ends(flows, 1, SECOND + 960 * SECOND / 70);
    flows_free(flows);
}

/* The number of a flow that is stopped is another's soon; the end of that is its own. */
TEST_PLAIN(a_number_that_is_used_again_has_its_own_end)
{
    struct flows *flows = with_nics((uint64_t[]){100, 100}, 2);
    uint32_t first = begin(flows, 0, 1, 1000, 0, 0);
    ck_assert_uint_eq(flows_next(flows), 10 * SECOND);
    flows_stop(flows, first, SECOND);
    uint32_t second = begin(flows, 0, 1, 1000, 1, SECOND);
    ck_assert_uint_eq(second, first);
    ends(flows, 1, 11 * SECOND);
    flows_free(flows);
}

/* Two begin between which nobody asks what comes next. */
TEST_PLAIN(a_flow_is_served_from_its_beginning_on_whoever_asks)
{
    struct flows *flows = with_nics((uint64_t[]){100, 100, 100}, 3);
    begin(flows, 0, 1, 1000, 0, 0);
    begin(flows, 0, 2, 1000, 1, 2 * SECOND);
    ends(flows, 0, 18 * SECOND);
    ends(flows, 1, 20 * SECOND);
    flows_free(flows);
}

/* One goes and another comes at the same time, with a card that cannot have the same rate. */
TEST_PLAIN(who_takes_the_place_of_another_has_its_own_cards_rate)
{
    struct flows *flows = with_nics((uint64_t[]){100, 1000, 1000, 30}, 4);
    uint32_t first = begin(flows, 0, 1, 1000, 0, 0);
    uint32_t second = begin(flows, 0, 2, 1000, 1, 0);
    ck_assert_double_eq(bytes_a_second(flows, first), 50);
    flows_stop(flows, second, SECOND);
    uint32_t slow = begin(flows, 3, 0, 1000, 2, SECOND);
    ck_assert_double_eq(bytes_a_second(flows, slow), 30);
    ck_assert_double_eq(bytes_a_second(flows, first), 70);
    flows_free(flows);
}

TEST_PLAIN(a_flow_may_be_stopped_before_anybody_has_looked)
{
    struct flows *flows = with_nics((uint64_t[]){100, 1000, 1000}, 3);
    uint32_t first = begin(flows, 0, 1, 1000, 0, 0);
    ck_assert_double_eq(bytes_a_second(flows, first), 100);
    flows_stop(flows, begin(flows, 0, 2, 1000, 1, SECOND), SECOND);
    ck_assert_double_eq(bytes_a_second(flows, first), 100);
    flows_stop(flows, begin(flows, 0, 2, 1000, 1, SECOND), SECOND);
    uint32_t third = begin(flows, 0, 2, 450, 2, SECOND);
    ck_assert_double_eq(bytes_a_second(flows, first), 50);
    ck_assert_double_eq(bytes_a_second(flows, third), 50);
    ends(flows, 2, 10 * SECOND);
    ends(flows, 0, 10 * SECOND + 9 * SECOND / 2);
    flows_free(flows);
}

/* More at the same time than are looked at one by one. */
TEST_PLAIN(many_may_come_and_go_at_once)
{
    uint64_t rates[80];
    for (uint32_t c = 0; c < 80; c++)
        rates[c] = c < 40 ? 100 : 10000;
    struct flows *flows = with_nics(rates, 80);
    uint32_t stay[40], go[40];
    for (uint32_t c = 0; c < 40; c++)
        stay[c] = begin(flows, c, 40 + c, 1000, c, 0);
    ck_assert_double_eq(bytes_a_second(flows, stay[39]), 100);
    for (uint32_t c = 0; c < 40; c++)
        go[c] = begin(flows, 40 + c, 39 - c, 200, 40 + c, 0);
    for (uint32_t c = 0; c < 40; c++) {
        ck_assert_double_eq(bytes_a_second(flows, stay[c]), 50);
        ck_assert_double_eq(bytes_a_second(flows, go[c]), 50);
    }
    size_t count;
    ck_assert_uint_eq(flows_next(flows), 4 * SECOND);
    flows_advance(flows, 4 * SECOND, &count);
    ck_assert_uint_eq(count, 40);
    for (uint32_t c = 0; c < 40; c++)
        ck_assert_double_eq(bytes_a_second(flows, stay[c]), 100);
    flows_free(flows);
}

/* A third of a nanosecond's bytes is not waited for, and two thirds are. */
TEST_PLAIN(a_flow_ends_in_the_nearest_nanosecond)
{
    struct flows *flows = with_nics((uint64_t[]){3 * SECOND}, 1);
    begin(flows, 0, FLOWS_NO_NIC, 10, 0, 0);
    ends(flows, 0, 3);
    begin(flows, 0, FLOWS_NO_NIC, 11, 1, 10);
    ends(flows, 1, 14);
    flows_free(flows);
}

/* --- what defines the sharing ------------------------------------------------------------------------ */

#define NICS 24
#define LIVE 120

struct live {
    struct way way;
    uint32_t flow;
};

struct crowd {
    struct flows *flows;
    uint64_t rates[NICS], now_ns;
    struct live live[LIVE]; /* By tag; flow UINT32_MAX when it has ended. */
};

/* Every card's flows together, and the fastest of them. */
static void look(const struct crowd *crowd, double loads[NICS], double fastest[NICS])
{
    memset(loads, 0, NICS * sizeof *loads);
    memset(fastest, 0, NICS * sizeof *fastest);
    for (uint32_t i = 0; i < LIVE; i++) {
        if (crowd->live[i].flow == UINT32_MAX)
            continue;
        double rate = bytes_a_second(crowd->flows, crowd->live[i].flow);
        uint32_t nics[2] = {crowd->live[i].way.first, crowd->live[i].way.second};
        for (int side = 0; side < 2; side++) {
            loads[nics[side]] += rate;
            fastest[nics[side]] = fmax(fastest[nics[side]], rate);
        }
    }
}

/* Rates are rounded down to 1 / 65536 of a byte a second: so much for each flow may be missing. */
static void sharing_is_max_min_fair(const struct crowd *crowd)
{
    double loads[NICS], fastest[NICS], rounding = (double)LIVE / FLOWS_RATE_UNIT;
    look(crowd, loads, fastest);
    for (uint32_t c = 0; c < NICS; c++)
        ck_assert_msg(loads[c] <= (double)crowd->rates[c], "card %u carries %.17g of %lu", c,
                      loads[c], (unsigned long)crowd->rates[c]);
    for (uint32_t i = 0; i < LIVE; i++) {
        if (crowd->live[i].flow == UINT32_MAX)
            continue;
        double rate = bytes_a_second(crowd->flows, crowd->live[i].flow);
        uint32_t a = crowd->live[i].way.first, b = crowd->live[i].way.second;
        bool at_a = loads[a] > (double)crowd->rates[a] - rounding && rate >= fastest[a] - rounding;
        bool at_b = loads[b] > (double)crowd->rates[b] - rounding && rate >= fastest[b] - rounding;
        ck_assert_msg(at_a || at_b, "flow %u, with %.17g, has no bottleneck", i, rate);
    }
}

static void begin_some(struct crowd *crowd, int one_in)
{
    for (uint32_t i = 0; i < LIVE; i++) {
        if (crowd->live[i].flow != UINT32_MAX || rand() % one_in != 0)
            continue;
        uint32_t first = (uint32_t)rand() % (NICS / 2);
        uint32_t second = NICS / 2 + (uint32_t)rand() % (rand() % 2 ? 2 : NICS / 2);
        crowd->live[i].way = (struct way){first, second};
        crowd->live[i].flow =
            begin(crowd->flows, first, second, 1 + (uint64_t)rand() % 5000000, i, crowd->now_ns);
    }
}

TEST_TIMES(no_card_has_too_much_and_every_flow_has_a_bottleneck, 30)
{
    srand((unsigned)_i + 1);
    struct crowd crowd = {0};
    for (uint32_t c = 0; c < NICS; c++)
        crowd.rates[c] = rand() % 2 ? 1000000 : 100000 + (uint64_t)rand() % 10000000;
    for (uint32_t c = 0; c < NICS / 2; c++) /* Some or all of the senders are hardly a limit. */
        crowd.rates[c] *= _i % 3 == 0 || (_i % 3 == 1 && c % 3 != 0) ? 100 : 1;
    crowd.flows = with_nics(crowd.rates, NICS);
    for (uint32_t i = 0; i < LIVE; i++)
        crowd.live[i].flow = UINT32_MAX;
    size_t all = 0;
    for (int event = 0; event < 300; event++) {
        if (event % 5 == 0)
            begin_some(&crowd, event % 10 == 0 ? 3 : 30);
        sharing_is_max_min_fair(&crowd);
        uint64_t next_ns = flows_next(crowd.flows);
        if (next_ns == FLOWS_NEVER)
            continue;
        size_t count;
        const uint64_t *tags = flows_advance(crowd.flows, next_ns, &count);
        crowd.now_ns = next_ns;
        ck_assert_uint_gt(count, 0);
        for (size_t i = 0; i < count; i++)
            crowd.live[tags[i]].flow = UINT32_MAX;
        all += count;
    }
    ck_assert_uint_ge(all, 150);
    flows_free(crowd.flows);
}

/* --- the textbook ------------------------------------------------------------------------------------ */

/* All in seconds and bytes; a message is not there yet, or flows, or is gone. */
struct textbook {
    const struct random_cluster *cluster;
    double begins[RANDOM_MESSAGES_MOST], left[RANDOM_MESSAGES_MOST], rates[RANDOM_MESSAGES_MOST];
    double arrivals[RANDOM_MESSAGES_MOST];
    bool flowing[RANDOM_MESSAGES_MOST], set[RANDOM_MESSAGES_MOST];
};

/* The level at which a host's card would be full; host_count + h is its card down. */
static double level_of(const struct textbook *t, uint32_t nic)
{
    uint32_t hosts = t->cluster->host_count, host = nic % hosts, open = 0;
    double room =
        (double)(nic < hosts ? t->cluster->hosts[host].up_rate : t->cluster->hosts[host].down_rate);
    for (uint32_t i = 0; i < t->cluster->message_count; i++) {
        const struct random_message *m = &t->cluster->messages[i];
        if (!t->flowing[i] || (nic < hosts ? m->from : m->to) != host)
            continue;
        if (t->set[i])
            room -= t->rates[i];
        else
            open++;
    }
    return open > 0 ? room / open : INFINITY;
}

/* Again and again the card that is full first. */
static void textbook_fill(struct textbook *t)
{
    uint32_t hosts = t->cluster->host_count;
    memset(t->set, 0, sizeof t->set);
    for (;;) {
        uint32_t least = 0;
        for (uint32_t nic = 1; nic < 2 * hosts; nic++)
            if (level_of(t, nic) < level_of(t, least))
                least = nic;
        double level = level_of(t, least);
        if (isinf(level))
            return;
        for (uint32_t i = 0; i < t->cluster->message_count; i++) {
            const struct random_message *m = &t->cluster->messages[i];
            uint32_t host = least < hosts ? m->from : m->to;
            if (t->flowing[i] && !t->set[i] && host == least % hosts) {
                t->set[i] = true;
                t->rates[i] = level;
            }
        }
    }
}

/* The time until the next beginning or end. */
static double textbook_step(const struct textbook *t, double now)
{
    double step = INFINITY;
    for (uint32_t i = 0; i < t->cluster->message_count; i++)
        if (t->flowing[i])
            step = fmin(step, t->left[i] / t->rates[i]);
        else if (t->left[i] > 0)
            step = fmin(step, t->begins[i] - now);
    return step;
}

static void textbook_run(struct textbook *t)
{
    double now = 0, step;
    while (textbook_fill(t), step = textbook_step(t, now), !isinf(step)) {
        now += step;
        for (uint32_t i = 0; i < t->cluster->message_count; i++) {
            if (t->flowing[i]) {
                t->left[i] -= t->rates[i] * step;
                if (t->left[i] > 1e-5) /* Bytes: what is left by rounding is less. */
                    continue;
                t->left[i] = 0;
                t->flowing[i] = false;
                t->arrivals[i] = now;
            } else if (t->left[i] > 0 && t->begins[i] <= now + 1e-12) {
                t->flowing[i] = true;
            }
        }
    }
}

static void textbook_open(struct textbook *t, const struct random_cluster *cluster)
{
    *t = (struct textbook){.cluster = cluster};
    for (uint32_t i = 0; i < cluster->message_count; i++) {
        const struct random_message *m = &cluster->messages[i];
        uint64_t latency_ns = cluster->options.latency_ns + cluster->hosts[m->from].latency_ns +
                              cluster->hosts[m->to].latency_ns;
        t->begins[i] = (double)(m->start_ns + latency_ns) * 1e-9;
        t->left[i] = (double)m->bytes;
    }
}

TEST_TIMES(random_clusters_are_as_the_textbook_has_them, 20)
{
    struct random_cluster cluster;
    random_cluster_draw(&cluster, (uint64_t)_i + 1);
    static struct textbook textbook;
    textbook_open(&textbook, &cluster);
    textbook_run(&textbook);
    uint64_t arrivals_ns[RANDOM_MESSAGES_MOST];
    random_cluster_run(&cluster, arrivals_ns);
    for (uint32_t i = 0; i < cluster.message_count; i++) {
        double expected = textbook.arrivals[i] * 1e9;
        double took = expected - (double)cluster.messages[i].start_ns;
        double error = fabs((double)arrivals_ns[i] - expected);
        ck_assert_msg(took > 0 && error <= 1e-6 * took, "cluster %d, message %u: %lu, not %.1f ns",
                      _i, i, (unsigned long)arrivals_ns[i], expected);
    }
}

/* The same bits from every compiler, on every machine and in every kind of build. */
TEST_PLAIN(a_cluster_has_the_nanoseconds_that_are_written_here)
{
    struct random_cluster cluster;
    random_cluster_draw(&cluster, 4242);
    uint64_t arrivals_ns[RANDOM_MESSAGES_MOST], all = 0;
    random_cluster_run(&cluster, arrivals_ns);
    for (uint32_t i = 0; i < cluster.message_count; i++)
        all = all * 0x9E3779B97F4A7C15ull + arrivals_ns[i];
    ck_assert_uint_eq(cluster.message_count, 132);
    ck_assert_uint_eq(all, 9057957934041232160ull);
}

int main(void)
{
    return suite_run("flows", NULL);
}
