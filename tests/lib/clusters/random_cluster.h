/* random_cluster.h - clusters of unlike hosts and messages between them, drawn from a seed.
 *
 * Threads: pure. */

#ifndef TESTS_LIB_CLUSTERS_RANDOM_CLUSTER_H
#define TESTS_LIB_CLUSTERS_RANDOM_CLUSTER_H

#include <stdint.h>

#include "deploy/cluster/network.h"

#define RANDOM_HOSTS_MOST    16
#define RANDOM_MESSAGES_MOST 200

struct random_message {
    uint32_t from, to; /* Two hosts. */
    uint64_t start_ns, bytes;
};

struct random_cluster {
    struct network_options options;
    struct network_host hosts[RANDOM_HOSTS_MOST];
    struct random_message messages[RANDOM_MESSAGES_MOST]; /* By their start. */
    uint32_t host_count, message_count;
};

/* 3 to 16 hosts of 12.5 MB/s to 1.25 GB/s, some alike, each way for itself; 50 to 200 messages of 100 kB
 * to 20 MB, half of them to the same two hosts, beginning within a second, some at the same time. */
void random_cluster_draw(struct random_cluster *cluster, uint64_t seed);

/* The cluster's network, with a connection of its own for each message, of the message's number. */
struct network *random_cluster_network(const struct random_cluster *cluster);

/* When each message arrives in it. */
void random_cluster_run(const struct random_cluster *cluster,
                        uint64_t arrivals_ns[RANDOM_MESSAGES_MOST]);

#endif
