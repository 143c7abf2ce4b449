/* test_network_memory.c - a network whose n-th allocation fails says so where it says it may, and goes on
 * as if nothing had been: the same messages arrive in the same nanoseconds. */
/* wraps: malloc calloc realloc aligned_alloc */

#include "deploy/cluster/network.h"

#include "common/base/random.h"
#include "tests/lib/memory/scarcity.h"
#include "tests/lib/suite.h"

#define HOSTS    32
#define MESSAGES 200

/* Messages by their start, each on a connection of its own; half of them within a host. */
struct plan {
    struct network_host hosts[HOSTS];
    struct {
        uint32_t from, to;
        uint64_t start_ns, bytes;
    } messages[MESSAGES];
};

static void draw(struct plan *plan)
{
    struct random_sequence draws;
    random_sequence_init(&draws, 7, RANDOM_STREAM_PROBE, 77);
    for (uint32_t h = 0; h < HOSTS; h++)
        plan->hosts[h] = (struct network_host){12500000 + random_below(&draws, 1237500000),
                                               12500000 + random_below(&draws, 1237500000), 0};
    uint64_t start_ns = 0;
    for (uint32_t i = 0; i < MESSAGES; i++) {
        plan->messages[i].from = random_below(&draws, HOSTS);
        plan->messages[i].to = i % 2 ? plan->messages[i].from : random_below(&draws, HOSTS);
        plan->messages[i].start_ns = start_ns += random_below(&draws, 10000000);
        plan->messages[i].bytes = random_below(&draws, 20000000);
    }
}

/* A call that fails is made again; how often one did. (check's own assertions allocate.) */
struct history {
    unsigned failures;
    uint64_t arrivals; /* Of all, mixed. */
};

static bool works(struct history *history, enum status status)
{
    history->failures += status == STATUS_MEMORY;
    return status == STATUS_OK;
}

static void connect_all(struct network *network, const struct plan *plan, struct history *history)
{
    uint32_t connection;
    for (uint32_t i = 0; i < MESSAGES;)
        i += works(history, network_connect(network, plan->messages[i].from, plan->messages[i].to,
                                            0, &connection));
}

static void send_and_take(struct network *network, const struct plan *plan, struct history *history)
{
    for (uint32_t sent = 0, arrived = 0; arrived < MESSAGES;) {
        uint64_t next_ns = network_next(network);
        if (sent < MESSAGES && plan->messages[sent].start_ns < next_ns) {
            sent += works(history, network_send(network, sent, plan->messages[sent].bytes,
                                                plan->messages[sent].start_ns, NULL));
            continue;
        }
        network_advance(network, next_ns);
        for (struct delivery d; network_take(network, &d); arrived++)
            history->arrivals = history->arrivals * 31 + d.at_ns + d.sequence;
    }
}

/* With no memory for the network itself there is none. */
static struct history run(const struct plan *plan)
{
    struct history history = {0};
    const struct network_options options = {
        .seed = 7, .latency_ns = 500000, .loopback_rate = 100000000, .turn_bytes = 70000};
    struct network *network = network_create(&options, plan->hosts, HOSTS);
    if (network == NULL) {
        history.failures++;
        network = network_create(&options, plan->hosts, HOSTS);
    }
    connect_all(network, plan, &history);
    send_and_take(network, plan, &history);
    network_free(network);
    return history;
}

TEST_PLAIN(without_memory_nothing_is_sent_and_nothing_is_lost)
{
    static struct plan plan;
    draw(&plan);
    struct history whole = run(&plan);
    ck_assert_uint_eq(whole.failures, 0);
    unsigned n = 0;
    for (bool hit = true; hit;) {
        scarcity_arm(++n);
        struct history scarce = run(&plan);
        hit = scarcity_disarm();
        ck_assert_msg(scarce.failures == hit, "allocation %u: %u failures", n, scarce.failures);
        ck_assert_msg(scarce.arrivals == whole.arrivals, "allocation %u: others arrive", n);
    }
    ck_assert_uint_gt(n, 50);
}

int main(void)
{
    return suite_run("network_memory", NULL);
}
