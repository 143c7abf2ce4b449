/* test_network_memory.c - a network whose n-th allocation fails says so where it says it may, and goes on
 * as if nothing had been: the same messages arrive in the same nanoseconds. */
/* wraps: malloc calloc realloc aligned_alloc */

#include "deploy/cluster/network.h"

#include "tests/lib/clusters/random_cluster.h"
#include "tests/lib/memory/scarcity.h"
#include "tests/lib/suite.h"

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

static void connect_all(struct network *network, const struct random_cluster *cluster,
                        struct history *history)
{
    uint32_t connection;
    for (uint32_t i = 0; i < cluster->message_count;)
        i += works(history, network_connect(network, cluster->messages[i].from,
                                            cluster->messages[i].to, 0, &connection));
}

static void send_and_take(struct network *network, const struct random_cluster *cluster,
                          struct history *history)
{
    for (uint32_t sent = 0, arrived = 0; arrived < cluster->message_count;) {
        uint64_t next_ns = network_next(network);
        const struct random_message *message = &cluster->messages[sent];
        if (sent < cluster->message_count && message->start_ns < next_ns) {
            sent += works(history,
                          network_send(network, sent, message->bytes, message->start_ns, NULL));
            continue;
        }
        network_advance(network, next_ns);
        for (struct delivery d; network_take(network, &d); arrived++)
            history->arrivals = history->arrivals * 31 + d.at_ns + d.sequence;
    }
}

/* With no memory for the network itself there is none. */
static struct history run(const struct random_cluster *cluster)
{
    struct history history = {0};
    struct network *network =
        network_create(&cluster->options, cluster->hosts, cluster->host_count);
    if (network == NULL) {
        history.failures++;
        network = network_create(&cluster->options, cluster->hosts, cluster->host_count);
    }
    connect_all(network, cluster, &history);
    send_and_take(network, cluster, &history);
    network_free(network);
    return history;
}

static void fail_each_allocation(const struct random_cluster *cluster)
{
    struct history whole = run(cluster);
    ck_assert_uint_eq(whole.failures, 0);
    unsigned n = 0;
    for (bool hit = true; hit;) {
        scarcity_arm(++n);
        struct history scarce = run(cluster);
        hit = scarcity_disarm();
        ck_assert_msg(scarce.failures == hit, "allocation %u: %u failures", n, scarce.failures);
        ck_assert_msg(scarce.arrivals == whole.arrivals, "allocation %u: others arrive", n);
    }
    ck_assert_uint_gt(n, 50);
}

TEST_PLAIN(without_memory_nothing_is_sent_and_nothing_is_lost)
{
    static struct random_cluster cluster;
    random_cluster_draw(&cluster, 7);
    fail_each_allocation(&cluster);
    cluster.options.turn_bytes = 70000;
    fail_each_allocation(&cluster);
}

int main(void)
{
    return suite_run("network_memory", NULL);
}
