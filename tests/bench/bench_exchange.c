/* bench_exchange.c - one exchange over ZeroMQ on loopback: push a gradient, SGD applied, fresh
 * parameters back. One server and one worker, each with its own threads, in this process; real
 * sockets. Both directions are counted. */

#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/kernels.h"
#include "common/log.h"
#include "ps/server.h"
#include "tests/lib/measure.h"
#include "worker/client.h"

#define EXCHANGES_A_ROUND 5

struct bench {
    struct server *server;
    struct client *client;
    struct work work;
    struct frame *gradient;
};

static void *serve(void *server)
{
    struct error reason;
    server_run(server, &reason);
    return NULL;
}

static void exchange(void *context)
{
    struct bench *bench = context;
    struct push push = {.step = bench->work.step,
                        .node = {0, 1},
                        .examples = 1,
                        .last = true,
                        .score = {.examples = 1}};
    client_push(bench->client, &push, bench->gradient);
    if (client_next(bench->client, &bench->work) != STATUS_OK) {
        fprintf(stderr, "%s\n", client_exit_reason(bench->client));
        exit(EXIT_FAILURE);
    }
}

/* One variable of `bytes`, SGD, more steps than are measured. */
static void make_job(struct job *job, struct variable *variable, char (*servers)[ADDRESS_MAX],
                     uint64_t bytes, uint64_t chunk_bytes)
{
    memset(job, 0, sizeof *job);
    memset(variable, 0, sizeof *variable);
    snprintf(variable->name, sizeof variable->name, "w");
    variable->rank = 1;
    variable->shape[0] = bytes / sizeof(float);
    job->mode = MODE_SYNC;
    job->variables = variable;
    job->variable_count = 1;
    job->optimizer = optimizer_find("sgd")->defaults;
    job->schedule.learning_rate = 0.01;
    snprintf(job->model, sizeof job->model, "none");
    snprintf(job->data, sizeof job->data, "none");
    job->examples = 1u << 20;
    job->batch = job->micro_batch = 1;
    job->steps = 1u << 20;
    job->chunk_bytes = chunk_bytes;
    job->worker_count = job->server_count = 1;
    job->servers = servers;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static void measure(uint64_t bytes, uint64_t chunk_bytes)
{
    struct error error;
    struct transport *transport;
    struct bench bench;
    struct job job;
    struct variable variable;
    char servers[1][ADDRESS_MAX];
    pthread_t thread;
    char out[] = "/tmp/syncopate-bench-XXXXXX";
    if (mkdtemp(out) == NULL)
        exit(EXIT_FAILURE);
    if (transport_zmq_create(&transport, &error) != STATUS_OK)
        exit(EXIT_FAILURE);
    struct server_options options = {.transport = transport,
                                     .disk = &disk_posix,
                                     .listen = "127.0.0.1:0",
                                     .out = out,
                                     .owner_threads = -1,
                                     .start_timeout = 30,
                                     .worker_timeout = 30,
                                     .stop_timeout = 30};
    if (server_create(&bench.server, &options, &error) != STATUS_OK)
        exit(EXIT_FAILURE);
    snprintf(servers[0], ADDRESS_MAX, "%s", server_address(bench.server));
    make_job(&job, &variable, servers, bytes, chunk_bytes);
    struct client_options client_options = {.transport = transport,
                                            .job = &job,
                                            .start_timeout = 30,
                                            .worker_timeout = 30,
                                            .progress_timeout = 30};
    pthread_create(&thread, NULL, serve, bench.server);
    if (client_open(&bench.client, &client_options, &error) != STATUS_OK ||
        client_next(bench.client, &bench.work) != STATUS_OK) {
        fprintf(stderr, "the job does not start\n");
        exit(EXIT_FAILURE);
    }
    bench.gradient = client_gradient(bench.client);
    memset(bench.gradient->data, 0, bench.gradient->bytes);

    struct spread spread;
    unsigned calls = bytes >= (8u << 20) ? EXCHANGES_A_ROUND : 20 * EXCHANGES_A_ROUND;
    measure_pair(exchange, &bench, NULL, NULL, calls, &spread, NULL);
    printf("%8llu KiB in chunks of %5llu KiB  %9.1f us (%.1f to %.1f)  %5.2f GB/s\n",
           (unsigned long long)bytes >> 10, (unsigned long long)chunk_bytes >> 10,
           spread.median * 1e6, spread.least * 1e6, spread.most * 1e6,
           2 * (double)bytes / spread.median * 1e-9);

    client_request_stop(bench.client, EXIT_INTERRUPTED);
    while (!bench.work.enough)
        exchange(&bench);
    client_done(bench.client);
    client_close(&bench.client);
    pthread_join(thread, NULL);
    server_destroy(&bench.server);
    transport->operations->destroy(&transport);
    nftw(out, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    char control[64] = "?";
    FILE *file = fopen("/proc/sys/net/ipv4/tcp_congestion_control", "r");
    if (file != NULL) {
        if (fscanf(file, "%63s", control) != 1)
            control[0] = '?';
        fclose(file);
    }
    log_init("bench", LOG_ERROR);
    kernels_init();
    printf("exchange over TCP loopback (%s), median of rounds; both directions counted\n", control);
    measure(4u << 10, 64u << 10);
    measure(64u << 10, 64u << 10);
    measure(488u << 10, 64u << 10);
    measure(488u << 10, 256u << 10);
    measure(1u << 20, 64u << 10);
    measure(1u << 20, 256u << 10);
    measure(64u << 20, 256u << 10);
    measure(64u << 20, 1u << 20);
    return 0;
}
