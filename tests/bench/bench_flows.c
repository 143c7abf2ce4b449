/* bench_flows.c - what the network of a cluster in virtual time costs: processor time a message, of
 * workers that send to all servers at once and are answered, again and again. Messages of unlike sizes, so
 * that none end at the same time and rates change with each. */

#include <assert.h>
#include <stdlib.h>
#include <time.h>

#include "deploy/cluster/network.h"
#include "tests/lib/benchmark.h"

#define RATE 1250000000ull /* 10 Gbit/s. */

struct crowd {
    uint32_t workers, servers;
    uint64_t bytes;
    unsigned rounds; /* Of messages there and back, by each worker with each server. */
    bool alike;      /* All of this size; or of half of it to half as much again. */
    double seconds;  /* Of the processor, that the last run took. */
};

static struct network *make_network(const struct crowd *crowd)
{
    uint32_t hosts = crowd->workers + crowd->servers, connection;
    struct network_options options = {.seed = 1, .latency_ns = 50000, .loopback_rate = RATE};
    struct network_host *list = calloc(hosts, sizeof *list);
    assert(list != NULL);
    for (uint32_t h = 0; h < hosts; h++)
        list[h] = (struct network_host){RATE, RATE, 0};
    struct network *network = network_create(&options, list, hosts);
    free(list);
    assert(network != NULL);
    for (uint32_t pair = 0; pair < crowd->workers * crowd->servers; pair++) {
        uint32_t worker = pair / crowd->servers, server = crowd->workers + pair % crowd->servers;
        enum status there = network_connect(network, worker, server, 0, &connection);
        enum status back = network_connect(network, server, worker, 0, &connection);
        assert(there == STATUS_OK && back == STATUS_OK);
    }
    return network;
}

static void send_all(struct network *network, const struct crowd *crowd)
{
    for (uint32_t pair = 0; pair < crowd->workers * crowd->servers; pair++) {
        uint64_t bytes =
            crowd->alike ? crowd->bytes : crowd->bytes / 2 + pair * 7919ull % crowd->bytes;
        enum status status = network_send(network, 2 * pair, bytes, 0, NULL);
        assert(status == STATUS_OK);
    }
}

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The other connection of a pair is the way back. */
static void run_crowd(void *context)
{
    struct crowd *crowd = context;
    double before = processor_seconds();
    struct network *network = make_network(crowd);
    send_all(network, crowd);
    uint64_t left = 2ull * crowd->rounds * crowd->workers * crowd->servers, next_ns;
    uint64_t under_way = (uint64_t)crowd->workers * crowd->servers;
    while ((next_ns = network_next(network)) != NETWORK_NEVER) {
        network_advance(network, next_ns);
        for (struct delivery d; network_take(network, &d); left--) {
            if (left <= under_way)
                continue;
            enum status status = network_send(network, d.connection ^ 1, d.bytes, next_ns, NULL);
            assert(status == STATUS_OK);
        }
    }
    assert(left == 0);
    network_free(network);
    crowd->seconds = processor_seconds() - before;
}

static void show(struct benchmark *benchmark, const char *what, struct crowd crowd, double most)
{
    struct piece piece = {
        .work = run_crowd, .context = &crowd, .cold = true, .own_seconds = &crowd.seconds};
    struct measured measured;
    measure_in_turn(&piece, 1, MEASURE_ROUNDS, &measured);
    double messages = 2.0 * crowd.rounds * crowd.workers * crowd.servers;
    benchmark_line(benchmark, &(struct figure){.what = what,
                                               .unit = "us",
                                               .is_time = true,
                                               .per_call = 1e6 / messages,
                                               .ours = &measured,
                                               .limit_name = "processor time a message",
                                               .target = {.most = most}});
}

int main(int argc, char **argv)
{
    struct benchmark benchmark;
    benchmark_open(&benchmark, "flows", argc, argv);
    show(&benchmark, "64 x 4, 100 kB", (struct crowd){64, 4, 100000, 20, false, 0}, 5);
    show(&benchmark, "1,000 x 16, 2 kB, unlike", (struct crowd){1000, 16, 2000, 1, false, 0}, 10);
    show(&benchmark, "1,000 x 16, 2 kB, alike", (struct crowd){1000, 16, 2000, 1, true, 0}, 10);
    return benchmark_close(&benchmark);
}
