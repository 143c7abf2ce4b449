/* cluster.h - a simulated cluster: hosts, network, and the time that everything takes on them.
 *
 * cluster_init gives the default cluster; a file (cluster_file.h) and options then change it, the
 * options last:
 *
 *     struct cluster cluster;
 *     cluster_init(&cluster);
 *     cluster_read(&cluster, text, bytes, path, &error);
 *     cluster_option(&cluster, "network", "10Gbit,50us", &error);
 *     cluster_option(&cluster, "link", "worker/7:100Mbit", &error);
 *     cluster_check(&cluster, servers, workers, &error);
 *
 * It holds nothing about a job. layout.h places a job's processes on hosts once their number is
 * known.
 *
 * Times are never measured here: the same description gives the same times, and so the same bits,
 * everywhere.
 *
 * Threads: plain values but for the lists.
 * Ownership: the lists, freed by cluster_free.
 * Units: bytes a second, nanoseconds; picoseconds for the time of one byte. */

#ifndef DEPLOY_CLUSTER_CLUSTER_H
#define DEPLOY_CLUSTER_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/compute/compute_time.h"
#include "common/job/job.h"
#include "deploy/cluster/places.h"

#define CLUSTER_HOSTS_MAX      (JOB_SERVERS_MAX + JOB_WORKERS_MAX)
#define CLUSTER_PROCESSORS_MAX 1024
#define CLUSTER_LATENCY_MOST   UINT64_C(10000000000) /* 10 s. */
#define CLUSTER_LOSS_MOST      0.5
#define CLUSTER_BUFFER_LEAST   UINT64_C(2048) /* One frame. */
#define CLUSTER_BUFFER_MOST    (UINT64_C(1) << 40)
#define CLUSTER_SEGMENT_MOST   UINT64_C(65535)
#define CLUSTER_OVERHEAD_MOST  UINT64_C(1000)
#define CLUSTER_MESSAGE_MOST   UINT64_C(10000000000) /* 10 s. */
#define CLUSTER_BYTE_MOST_PS   UINT64_C(1000000)     /* 1 us. */
#define CLUSTER_SCORE_MOST     UINT64_C(10000000000) /* 10 s. */
#define CLUSTER_SLOW_MOST      1000
#define CLUSTER_TEXT_MAX       128

/* The network bandwidth of a host, shared by all processes on it. */
struct cluster_nic {
    uint64_t up_bytes_per_second, down_bytes_per_second;
    uint64_t latency_ns; /* Of this host, each way, added to the network's. */
};

struct cluster_host {
    uint64_t processors;
    struct cluster_nic nic;
};

struct cluster_named {
    struct places processes;
    struct cluster_host host;
};

/* The hosts of these processes have this card; it overrides other settings. */
struct cluster_link {
    struct places processes;
    struct cluster_nic nic;
};

struct cluster_slow {
    uint64_t worker;
    double factor; /* 1 to CLUSTER_SLOW_MOST. */
};

/* The hosts of processes that no named host has. */
enum cluster_rest {
    CLUSTER_APART,    /* One host for each. */
    CLUSTER_TOGETHER, /* One host for all. */
    CLUSTER_REST_COUNT
};

/* The segments of a stream between hosts. */
struct cluster_segment {
    uint64_t bytes;          /* The largest segment. */
    uint64_t overhead_bytes; /* Overhead on the card for each segment. */
};

/* Processor time of a process beside computing and applying. */
struct cluster_handling {
    uint64_t message_ns;      /* For each message, sent or received, */
    uint64_t message_byte_ps; /* and for each byte of its payload. */
};

struct cluster {
    char about[CLUSTER_TEXT_MAX]; /* A description for people; may be "". */

    enum cluster_rest rest;
    struct cluster_host usual; /* The host of processes on no named host. */
    struct cluster_named *hosts;
    size_t host_count, host_capacity;
    struct cluster_link *links; /* Later ones win. */
    size_t link_count, link_capacity;

    uint64_t latency_ns;                /* One way, between any two hosts. */
    uint64_t loopback_bytes_per_second; /* Between processes of a host, both ways together. */
    uint64_t loopback_latency_ns;
    char jitter[CLUSTER_TEXT_MAX]; /* Like --compute, "exponential:20us"; "": none. */
    double loss;                   /* Probability for each sending of a message. */
    uint64_t switch_buffer_bytes;  /* Of the switch towards each host; 0: unlimited. */
    struct cluster_segment segment;

    char leaf_time[CLUSTER_TEXT_MAX]; /* Like --compute; never "". */
    char straggle[CLUSTER_TEXT_MAX];  /* Like --straggle; "": none. */
    char pause[CLUSTER_TEXT_MAX];     /* Like --pause; "": none. */
    /* Processor time to score one example; slow workers do not differ in it. */
    uint64_t score_example_ns;
    struct cluster_slow *slow; /* At most one entry for a worker. */
    size_t slow_count, slow_capacity;

    struct cluster_handling worker, server;
    uint64_t apply_byte_ps; /* A server's time for each byte of a gradient that it applies. */

    uint64_t memory_bytes; /* Of the simulating machine; 0: as its --memory says. */
};

/* The constants of the shipped file laptop.json: each process on a host of its own, 10 Gbit/s, 50
 * us apart. */
void cluster_init(struct cluster *cluster);
void cluster_free(struct cluster *cluster);

/* Apply an option of this name, without its dashes:
 *
 *     network        RATE[/RATE][,LATENCY]               of all hosts, up / down; latency
 *     link           PLACES:RATE[/RATE][,LATENCY];...    of the hosts of some; latency on top
 *     processors     N                                   of each host
 *     switch-buffer  BYTES                               0: unlimited
 *     jitter         DIST                                as --compute's
 *     loss           PROBABILITY
 *     compute        DIST                                time of a leaf
 *     straggle       P:DIST:F
 *     pause          P:DIST
 *     slow           WORKER:FACTOR,...                   replaces all slow workers
 *     memory         BYTES
 *
 * STATUS_INVALID: the cluster is unchanged, and error is the whole line, "--network=10: ...". */
enum status cluster_option(struct cluster *cluster, const char *name, const char *text,
                           struct error *error);

/* Appends; the item itself is valid. */
enum status cluster_add_host(struct cluster *cluster, const struct cluster_named *host);
enum status cluster_add_link(struct cluster *cluster, const struct cluster_link *link);
/* Replaces an earlier factor of that worker. */
enum status cluster_set_slow(struct cluster *cluster, uint64_t worker, double factor);

/* Whether the cluster fits a job of at most so many servers and workers, with those that join:
 * links and slow workers name no others. Named hosts may: one file serves jobs of many sizes.
 * STATUS_INVALID. */
enum status cluster_check(const struct cluster *cluster, uint32_t servers, uint32_t workers,
                          struct error *error);

/* Whether a text, in the form of --compute, is a valid jitter. STATUS_INVALID. */
enum status cluster_jitter_check(const char *text, struct error *error);

/* The computing time of worker number `worker`. The caller that draws from a trace sets the
 * trace. */
struct compute_time cluster_compute_time(const struct cluster *cluster, uint32_t worker);

/* In nanoseconds; constant 0 without jitter. */
struct distribution cluster_jitter(const struct cluster *cluster);

/* Processor time: of a message with so many bytes of payload, sent or received; of applying so many
 * bytes of a gradient. Integers, rounded down. */
uint64_t cluster_message_ns(const struct cluster_handling *handling, uint64_t bytes);
uint64_t cluster_apply_ns(const struct cluster *cluster, uint64_t bytes);

#endif
