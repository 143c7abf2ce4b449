/* cluster.h - a cluster that is not there: hosts, network, and how long everything takes on them.
 *
 * It begins as the cluster that holds when nobody says anything (cluster_init); a file
 * (cluster_file.h) and options then say more, the options last:
 *
 *     struct cluster cluster;
 *     cluster_init(&cluster);
 *     cluster_read(&cluster, text, bytes, path, &error);
 *     cluster_option(&cluster, "network", "10Gbit,50us", &error);
 *     cluster_option(&cluster, "link", "worker/7:100Mbit", &error);
 *     cluster_check(&cluster, servers, workers, &error);
 *
 * It says nothing of a job: which of its processes is on which host, follows when it is known how many
 * there are (layout.h).
 *
 * Times are never measured here: the same description gives the same times, and so the same bits,
 * everywhere.
 *
 * Threads: plain values but for the lists. Ownership: the lists, freed by cluster_free. Units: bytes a
 * second, nanoseconds; picoseconds for what one byte takes. */

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
#define CLUSTER_BUFFER_LEAST   UINT64_C(2048) /* A frame. */
#define CLUSTER_BUFFER_MOST    (UINT64_C(1) << 40)
#define CLUSTER_SEGMENT_MOST   UINT64_C(65535)
#define CLUSTER_OVERHEAD_MOST  UINT64_C(1000)
#define CLUSTER_TURN_LEAST     UINT64_C(1448)
#define CLUSTER_TURN_MOST      (UINT64_C(1) << 30)
#define CLUSTER_MESSAGE_MOST   UINT64_C(10000000000) /* 10 s. */
#define CLUSTER_BYTE_MOST_PS   UINT64_C(1000000)     /* 1 us. */
#define CLUSTER_SCORE_MOST     UINT64_C(10000000000) /* 10 s. */
#define CLUSTER_SLOW_MOST      1000
#define CLUSTER_TEXT_MAX       128

/* What a host, with all processes that are on it, has of the network. */
struct cluster_nic {
    uint64_t up_bytes_per_second, down_bytes_per_second;
    uint64_t latency_ns; /* Its own, each way, on top of everybody's. */
};

struct cluster_host {
    uint64_t processors;
    struct cluster_nic nic;
};

/* A host of which it is said who is on it. */
struct cluster_named {
    struct places processes;
    struct cluster_host host;
};

/* The hosts of these processes have this card, whatever else is said of them. */
struct cluster_link {
    struct places processes;
    struct cluster_nic nic;
};

struct cluster_slow {
    uint64_t worker;
    double factor; /* 1 to CLUSTER_SLOW_MOST. */
};

/* Where those are whom no named host has. */
enum cluster_rest {
    CLUSTER_APART,    /* Each on a host of its own. */
    CLUSTER_TOGETHER, /* All on one. */
    CLUSTER_REST_COUNT
};

/* What streams are cut into, between hosts. */
struct cluster_segment {
    uint64_t bytes;          /* Of a stream, at most. */
    uint64_t overhead_bytes; /* What it takes of a card on top. */
};

/* What a process's processor does beside computing and applying. */
struct cluster_handling {
    uint64_t message_ns;      /* For a message, sent or received, ... */
    uint64_t message_byte_ps; /* ... and for each byte of its payload. */
};

struct cluster {
    char about[CLUSTER_TEXT_MAX]; /* For people; may be "". */

    enum cluster_rest rest;
    struct cluster_host usual; /* Of whoever is on no named host. */
    struct cluster_named *hosts;
    size_t host_count, host_capacity;
    struct cluster_link *links; /* Later ones win. */
    size_t link_count, link_capacity;

    uint64_t latency_ns;                /* One way, between any two hosts. */
    uint64_t loopback_bytes_per_second; /* Between processes of a host, both ways together. */
    uint64_t loopback_latency_ns;
    char jitter[CLUSTER_TEXT_MAX]; /* As --compute's, "exponential:20us"; "": none. */
    double loss;                   /* Of a message, each time it is sent. */
    uint64_t switch_buffer_bytes;  /* Of the switch towards each host; 0: deep. */
    struct cluster_segment segment;
    uint64_t turn_bytes; /* Of a stream, that a card sends before another's; 0: a fair mix. */

    char leaf_time[CLUSTER_TEXT_MAX]; /* As --compute's; never "". */
    char straggle[CLUSTER_TEXT_MAX];  /* As --straggle's; "": nobody does. */
    char pause[CLUSTER_TEXT_MAX];     /* As --pause's; "": nobody does. */
    uint64_t score_example_ns; /* Of a processor, to score one example; nobody is slow at it. */
    struct cluster_slow *slow; /* Each worker once. */
    size_t slow_count, slow_capacity;

    struct cluster_handling worker, server;
    uint64_t apply_byte_ps; /* A server's, for each byte of a gradient that it applies. */

    uint64_t memory_bytes; /* Of the machine that simulates; 0: as its --memory says. */
};

/* The constants of the shipped file laptop.json, each process on a host of its own, 10 Gbit/s and 50 us
 * apart. */
void cluster_init(struct cluster *cluster);
void cluster_free(struct cluster *cluster);

/* What an option of this name says, without its dashes:
 *
 *     network        RATE[/RATE][,LATENCY]               of all hosts, up / down; latency between any two
 *     link           PLACES:RATE[/RATE][,LATENCY];...    of the hosts of some; latency on top
 *     processors     N                                   of each host
 *     switch-buffer  BYTES                               0: deep
 *     turns          BYTES                               of a stream; 0: a fair mix
 *     jitter         DIST                                as --compute's
 *     loss           PROBABILITY
 *     compute        DIST                                time of a leaf
 *     straggle       P:DIST:F
 *     pause          P:DIST
 *     slow           WORKER:FACTOR,...                   in place of all that were slow
 *     memory         BYTES
 *
 * STATUS_INVALID: the cluster is as it was, and error is the whole line, "--network=10: ...". */
enum status cluster_option(struct cluster *cluster, const char *name, const char *text,
                           struct error *error);

/* Put behind the others; what is of their kind in the description is right by itself. */
enum status cluster_add_host(struct cluster *cluster, const struct cluster_named *host);
enum status cluster_add_link(struct cluster *cluster, const struct cluster_link *link);
/* In place of what was said of that worker. */
enum status cluster_set_slow(struct cluster *cluster, uint64_t worker, double factor);

/* Whether it is a cluster for a job of at most so many servers and workers, with those that join:
 * links and slow workers name nobody else. (Named hosts may: one file serves jobs of many sizes.)
 * STATUS_INVALID. */
enum status cluster_check(const struct cluster *cluster, uint32_t servers, uint32_t workers,
                          struct error *error);

/* Whether a text, as --compute's, can be a jitter. STATUS_INVALID. */
enum status cluster_jitter_check(const char *text, struct error *error);

/* How long worker number `worker` computes; where that is traced, whoever draws sets the trace. */
struct compute_time cluster_compute_time(const struct cluster *cluster, uint32_t worker);

/* In nanoseconds; constant 0 where there is none. */
struct distribution cluster_jitter(const struct cluster *cluster);

/* Processor time: a message with so many bytes of payload, sent or received; so many bytes of a
 * gradient applied. In whole numbers, rounded down. */
uint64_t cluster_message_ns(const struct cluster_handling *handling, uint64_t bytes);
uint64_t cluster_apply_ns(const struct cluster *cluster, uint64_t bytes);

/* Whether both say the same, member by member, but for memory_bytes. */
bool cluster_equal(const struct cluster *a, const struct cluster *b);

#endif
