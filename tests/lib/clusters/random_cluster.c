/* random_cluster.c - draws by random.h, and an event loop as short as it can be. */

#include "tests/lib/clusters/random_cluster.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/random.h"

static int by_start(const void *a, const void *b)
{
    uint64_t x = ((const struct random_message *)a)->start_ns;
    uint64_t y = ((const struct random_message *)b)->start_ns;
    return (x > y) - (x < y);
}

static uint64_t draw_rate(struct random_sequence *draws)
{
    static const uint64_t usual[] = {12500000, 125000000, 1250000000};
    if (random_below(draws, 2) == 0)
        return usual[random_below(draws, 3)];
    return 12500000 + random_below(draws, 1237500000);
}

void random_cluster_draw(struct random_cluster *cluster, uint64_t seed)
{
    struct random_sequence draws;
    random_sequence_init(&draws, seed, RANDOM_STREAM_PROBE, 77);
    *cluster = (struct random_cluster){
        .options = {.seed = seed, .latency_ns = random_below(&draws, 2000000), .loopback_rate = 1},
        .host_count = 3 + random_below(&draws, RANDOM_HOSTS_MOST - 2),
        .message_count = 50 + random_below(&draws, RANDOM_MESSAGES_MOST - 49),
    };
    for (uint32_t h = 0; h < cluster->host_count; h++)
        cluster->hosts[h] = (struct network_host){draw_rate(&draws), draw_rate(&draws),
                                                  h % 2 ? 0 : random_below(&draws, 300000)};
    for (uint32_t i = 0; i < cluster->message_count; i++) {
        struct random_message *message = &cluster->messages[i];
        uint32_t targets = random_below(&draws, 2) ? cluster->host_count : 2;
        message->to = random_below(&draws, targets);
        message->from =
            (message->to + 1 + random_below(&draws, cluster->host_count - 1)) % cluster->host_count;
        message->bytes = 100000 + random_below(&draws, 19900000);
        message->start_ns = random_below(&draws, 4) ? random_below(&draws, 1000000000) : 250000000;
    }
    qsort(cluster->messages, cluster->message_count, sizeof *cluster->messages, by_start);
}

struct network *random_cluster_network(const struct random_cluster *cluster)
{
    struct network *network =
        network_create(&cluster->options, cluster->hosts, cluster->host_count);
    assert(network != NULL);
    for (uint32_t i = 0; i < cluster->message_count; i++) {
        const struct random_message *message = &cluster->messages[i];
        uint32_t connection;
        enum status status = network_connect(network, message->from, message->to, 0, &connection);
        assert(status == STATUS_OK && connection == i);
    }
    return network;
}

void random_cluster_run(const struct random_cluster *cluster,
                        uint64_t arrivals_ns[RANDOM_MESSAGES_MOST])
{
    struct network *network = random_cluster_network(cluster);
    uint32_t sent = 0, arrived = 0;
    while (arrived < cluster->message_count) {
        uint64_t next_ns = network_next(network);
        if (sent < cluster->message_count && cluster->messages[sent].start_ns < next_ns) {
            const struct random_message *message = &cluster->messages[sent];
            enum status status =
                network_send(network, sent, message->bytes, message->start_ns, NULL);
            assert(status == STATUS_OK);
            sent++;
            continue;
        }
        network_advance(network, next_ns);
        for (struct delivery delivery; network_take(network, &delivery); arrived++)
            arrivals_ns[delivery.connection] = delivery.at_ns;
    }
    network_free(network);
}
