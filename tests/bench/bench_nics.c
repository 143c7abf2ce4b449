/* bench_nics.c - what a message in virtual time costs: of the processor, by itself, when workers send to all
 * servers at once and are answered, again and again; and with the cores of both its ends, in whole jobs
 * whose workers compute nothing, over cards and, as the limit, over wires that take always as long; and
 * over cards where all that is handled takes shared processors, and, as the limit, nothing does. */

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "deploy/cluster/network.h"
#include "deploy/engine/simulated_network.h"
#include "deploy/simulate/timetable.h"
#include "tests/lib/benchmark.h"
#include "tests/lib/clusters/virtual_job.h"

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* --- by themselves ------------------------------------------------------------------------------------- */

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
    struct network_options options = {
        .seed = 1, .latency_ns = 50000, .loopback_rate = RATE, .turn_bytes = NICS_TURN_BYTES};
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

static void show_crowd(struct benchmark *benchmark, const char *what, struct crowd crowd,
                       double most)
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

/* --- in whole jobs ---------------------------------------------------------------------------------- */

/* A job, and what its last run was. */
struct load {
    struct virtual_job_options options;
    bool plain;          /* Not over cards. */
    bool timed;          /* By a timetable. */
    double us_a_message; /* Of the processor. */
    uint64_t messages;
};

static void carry_plainly(void *context, struct simulated_network *network, uint64_t now_ns,
                          struct parcel *parcel)
{
    (void)context;
    simulated_network_lands(network, parcel, now_ns + 50000);
}

static uint64_t no_time(void *context, struct random_sequence *random,
                        const struct simulated_process *process)
{
    (void)context;
    (void)random;
    (void)process;
    return 0;
}

static uint64_t some_time(void *context, struct random_sequence *random,
                          const struct simulated_process *process)
{
    (void)context;
    (void)process;
    return random_below(random, 1000000);
}

static const struct timing up_to_a_millisecond = {.queue_ns = no_time, .compute_ns = some_time};

static void run_load(void *context)
{
    struct load *load = context;
    struct virtual_job *job = malloc(sizeof *job);
    double before = processor_seconds();
    if (load->plain)
        load->options.channel.carry = carry_plainly;
    virtual_job_open(job, &load->options);
    virtual_job_run(job);
    load->messages = job->engine.network.counts.sent;
    virtual_job_close(job);
    load->us_a_message = (processor_seconds() - before) * 1e6 / (double)load->messages;
    free(job);
}

/* On hosts of 4 processors, each process on its own or all on one. A leaf takes a millisecond or so. */
static void run_timed(void *context)
{
    struct load *load = context;
    const struct virtual_job_options *from = &load->options;
    struct job job = {.seed = 7, .examples = 100000, .batch = from->workers, .micro_batch = 1};
    struct cluster cluster = *from->cluster;
    struct layout layout;
    struct timetable timetable;
    struct error error;
    enum status status = layout_make(&layout, &cluster, from->servers, from->workers, &error);
    assert(status == STATUS_OK);
    const struct timetable_options options = {.cluster = &cluster, .layout = &layout, .job = &job};
    status = timetable_init(&timetable, &options, &error);
    assert(status == STATUS_OK);
    load->options.timing = timetable_timing(&timetable);
    run_load(load);
    timetable_free(&timetable);
    layout_free(&layout);
}

static void show_loads(struct benchmark *benchmark, const char *what, struct load loads[2],
                       const char *limit_name)
{
    struct piece pieces[2];
    struct measured measured[2];
    for (int i = 0; i < 2; i++)
        pieces[i] = (struct piece){.work = loads[i].timed ? run_timed : run_load,
                                   .context = &loads[i],
                                   .cold = true,
                                   .own_seconds = &loads[i].us_a_message};
    measure_in_turn(pieces, 2, 3, measured);
    benchmark_line(benchmark, &(struct figure){.what = what,
                                               .unit = "us",
                                               .is_time = true,
                                               .per_call = 1,
                                               .ours = &measured[0],
                                               .limit = &measured[1],
                                               .limit_name = limit_name,
                                               .target = {.most = 10}});
    benchmark_remark(benchmark, "processor time of all, a message; %.0f thousand messages",
                     (double)loads[0].messages * 1e-3);
}

static void show_job(struct benchmark *benchmark, const char *what,
                     struct virtual_job_options options)
{
    options.unchecked = true;
    struct load loads[] = {{.options = options}, {.options = options, .plain = true}};
    show_loads(benchmark, what, loads, "plain wires");
}

static void show_processors(struct benchmark *benchmark, const char *what, enum cluster_rest rest,
                            struct virtual_job_options options)
{
    struct cluster cluster;
    struct error error;
    cluster_init(&cluster);
    cluster.rest = rest;
    enum status status = cluster_option(&cluster, "compute", "lognormal:1ms,0.3", &error);
    assert(status == STATUS_OK);
    options.unchecked = true;
    options.cluster = &cluster;
    struct load loads[] = {{.options = options, .timed = true}, {.options = options}};
    show_loads(benchmark, what, loads, "no time");
    cluster_free(&cluster);
}

/* Every worker's link is another, and messages are never as far away: rates change at all cards at once. */
static void show_unlike(struct benchmark *benchmark)
{
    struct cluster cluster;
    struct error error;
    char link[80];
    cluster_init(&cluster);
    cluster_option(&cluster, "jitter", "exponential:50us", &error);
    for (int i = 0; i < 1000; i++) {
        snprintf(link, sizeof link, "worker/%d:%dMbit", i, 50 + i * 7919 % 1000);
        cluster_option(&cluster, "link", link, &error);
    }
    show_job(benchmark, "1,000 x 16, 2 kB, async, unlike",
             (struct virtual_job_options){.mode = MODE_ASYNC,
                                          .servers = 16,
                                          .workers = 1000,
                                          .chunk_floats = 496,
                                          .steps = 10000,
                                          .cluster = &cluster,
                                          .timing = up_to_a_millisecond});
    cluster_free(&cluster);
}

int main(int argc, char **argv)
{
    struct benchmark benchmark;
    benchmark_open(&benchmark, "cards", argc, argv);
    show_crowd(&benchmark, "64 x 4, 100 kB", (struct crowd){64, 4, 100000, 20, false, 0}, 5);
    show_crowd(&benchmark, "1,000 x 16, 2 kB, unlike", (struct crowd){1000, 16, 2000, 1, false, 0},
               10);
    show_crowd(&benchmark, "1,000 x 16, 2 kB, alike", (struct crowd){1000, 16, 2000, 1, true, 0},
               10);
    show_job(
        &benchmark, "64 x 4, 64 KiB, sync",
        (struct virtual_job_options){
            .mode = MODE_SYNC, .servers = 4, .workers = 64, .chunk_floats = 16384, .steps = 100});
    show_job(&benchmark, "64 x 4, 64 KiB, async",
             (struct virtual_job_options){.mode = MODE_ASYNC,
                                          .servers = 4,
                                          .workers = 64,
                                          .chunk_floats = 16384,
                                          .steps = 6400,
                                          .timing = up_to_a_millisecond});
    show_job(
        &benchmark, "1,000 x 16, 2 kB, sync",
        (struct virtual_job_options){
            .mode = MODE_SYNC, .servers = 16, .workers = 1000, .chunk_floats = 496, .steps = 10});
    show_job(&benchmark, "1,000 x 16, 2 kB, sync, unlike",
             (struct virtual_job_options){.mode = MODE_SYNC,
                                          .servers = 16,
                                          .workers = 1000,
                                          .chunk_floats = 496,
                                          .steps = 10,
                                          .timing = up_to_a_millisecond});
    show_job(&benchmark, "1,000 x 16, 2 kB, async",
             (struct virtual_job_options){.mode = MODE_ASYNC,
                                          .servers = 16,
                                          .workers = 1000,
                                          .chunk_floats = 496,
                                          .steps = 10000,
                                          .timing = up_to_a_millisecond});
    show_unlike(&benchmark);
    const struct virtual_job_options few = {
        .mode = MODE_ASYNC, .servers = 4, .workers = 64, .chunk_floats = 16384, .steps = 6400};
    const struct virtual_job_options many = {
        .mode = MODE_SYNC, .servers = 16, .workers = 1000, .chunk_floats = 496, .steps = 10};
    show_processors(&benchmark, "64 x 4, async, processors", CLUSTER_APART, few);
    show_processors(&benchmark, "64 x 4, async, on one host", CLUSTER_TOGETHER, few);
    show_processors(&benchmark, "1,000 x 16, sync, processors", CLUSTER_APART, many);
    show_processors(&benchmark, "1,000 x 16, sync, on one host", CLUSTER_TOGETHER, many);
    return benchmark_close(&benchmark);
}
