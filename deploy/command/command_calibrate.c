/* syncopate calibrate: measures this host as a cluster file, for syncopate simulate. */

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/wording.h"
#include "common/file/disk.h"
#include "common/kernels/kernels.h"
#include "common/process/signals.h"
#include "deploy/calibrate/computing_cost.h"
#include "deploy/calibrate/exchange_cost.h"
#include "deploy/cluster/cluster_file.h"
#include "deploy/command/command.h"
#include "deploy/launcher/programs.h"

#define LEAF_SECONDS  5.0
#define SCORE_SECONDS 1.0
#define ROUNDS        5
#define NARROW        1  /* Width of the small model, some 3 KB, ... */
#define MIDDLE        32 /* ... of one between them, some 100 KB, by which the line is tried, ... */
#define WIDE          256    /* ... and of the large one, some 800 KB. */
#define MESSAGES      4      /* Of an async update at each end: deploy/VIRTUAL.md. */
#define THREAD_NS     5000.0 /* From one thread to another, twice an exchange: deploy/VIRTUAL.md. */
#define LOOPBACK_MOST 1e12   /* Bytes a second, where the processors' share explains all. */

/* The printed results; each figure has the spread of its measurements. */
struct costs {
    struct quartiles leaf_ns, score_ns, apply_byte_ns, sgd_byte_ns;
    struct quartiles worker_message_ns, worker_byte_ns, server_message_ns, server_byte_ns;
    struct quartiles latency_ns, loopback;          /* Bytes a second. */
    struct quartiles narrow_ns, middle_ns, wide_ns; /* Of a whole exchange. */
    struct quartiles
        line_ns; /* The middle value by the line through the small and the large one. */
};

/* --- measuring ------------------------------------------------------------------------------- */

/* The workload of a worker that trains alone, a leaf a step. */
static int read_workload(struct workload *workload, const struct options *given,
                         struct error *error)
{
    char leaf[16], seed[24];
    struct options options;
    snprintf(leaf, sizeof leaf, "%u", given->job.micro_batch);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)given->job.seed);
    bool asks = given->program != NULL;
    const char *arguments[] = {"calibrate",
                               "--ps",
                               "0",
                               "--micro-batch",
                               leaf,
                               "--global-batch",
                               leaf,
                               "--seed",
                               seed,
                               "--out",
                               "unused",
                               asks ? "--program" : "--model",
                               asks ? given->program : given->model,
                               asks ? NULL : "--data",
                               given->data};
    int count = (int)(sizeof arguments / sizeof *arguments) - (asks ? 2 : 0);
    if (options_parse(&options, OPTION_WORKER, "syncopate calibrate", count,
                      (char **)(uintptr_t)arguments, error) != OPTIONS_RUN)
        return EXIT_USAGE;
    memcpy(options.data_settings, given->data_settings, sizeof options.data_settings);
    options.check_leaves = 0; /* A leaf is to take its own time. */
    return workload_read(workload, &options, error);
}

static int measure_computing(struct costs *costs, const struct options *options,
                             struct error *error)
{
    struct workload workload = {0};
    int code = read_workload(&workload, options, error);
    enum status status = STATUS_OK;
    if (code == EXIT_DONE) {
        status = computing_cost_leaf(&workload, LEAF_SECONDS, &costs->leaf_ns, error);
        if (status == STATUS_OK)
            status = computing_cost_score(&workload, SCORE_SECONDS, &costs->score_ns, error);
        if (status == STATUS_OK)
            status = computing_cost_apply("sgd", &costs->sgd_byte_ns, error);
        if (status == STATUS_OK)
            status =
                computing_cost_apply(options->job.optimizer.name, &costs->apply_byte_ns, error);
        code = status == STATUS_OK ? EXIT_DONE : command_exit_code(status);
    }
    workload_free(&workload);
    return code;
}

/* Costs are not negative, though a measurement may be. */
static double positive(double value, double least)
{
    return value > least ? value : least;
}

/* A straight line through both sizes: the cost of each message and each byte at an end. applied:
 * time a byte of the gradient that is not the message's. */
static void divide(double narrow_ns, double wide_ns, double narrow_bytes, double wide_bytes,
                   double applied, double *message_ns, double *byte_ns)
{
    double slope = (wide_ns - narrow_ns) / (wide_bytes - narrow_bytes);
    double handled = positive(slope - applied, 0);
    *message_ns = positive((narrow_ns - (handled + applied) * narrow_bytes) / MESSAGES, 1);
    *byte_ns = positive(handled / 2, 1e-3); /* There and back. */
}

/* The small, the middle and the large exchange. */
static enum status measure_sizes(struct exchange_cost sizes[3], const char *programs,
                                 const char *transport, const atomic_int *stop, struct error *error)
{
    static const uint32_t widths[3] = {NARROW, MIDDLE, WIDE};
    for (unsigned i = 0; i < 3; i++) {
        enum status status =
            exchange_cost_measure(&sizes[i], programs, transport, widths[i], stop, error);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status measure_exchange(struct costs *costs, const char *programs,
                                    const char *transport, const atomic_int *stop,
                                    struct error *error)
{
    double values[10][ROUNDS];
    double applied = costs->sgd_byte_ns.median;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct exchange_cost sizes[3];
        enum status status = measure_sizes(sizes, programs, transport, stop, error);
        if (status != STATUS_OK)
            return status;
        const struct exchange_cost narrow = sizes[0], middle = sizes[1], wide = sizes[2];
        double from = (double)narrow.bytes, to = (double)wide.bytes;
        divide(narrow.worker_ns, wide.worker_ns, from, to, 0, &values[0][i], &values[1][i]);
        divide(narrow.server_ns, wide.server_ns, from, to, applied, &values[2][i], &values[3][i]);
        /* The latency of a message that is no work; and of a byte. */
        double work = 2 * (values[0][i] + values[2][i]) + applied * from;
        values[4][i] = positive((narrow.wall_ns - work - 2 * THREAD_NS) / 2, 0);
        double byte_ns = (wide.wall_ns - narrow.wall_ns) / (to - from);
        double left = byte_ns - applied - 2 * (values[1][i] + values[3][i]);
        values[5][i] = left > 0 ? fmin(2e9 / left, LOOPBACK_MOST) : LOOPBACK_MOST;
        values[6][i] = narrow.wall_ns;
        values[7][i] = wide.wall_ns;
        values[8][i] = middle.wall_ns;
        values[9][i] = narrow.wall_ns + byte_ns * ((double)middle.bytes - from);
    }
    struct quartiles *const all[] = {&costs->worker_message_ns, &costs->worker_byte_ns,
                                     &costs->server_message_ns, &costs->server_byte_ns,
                                     &costs->latency_ns,        &costs->loopback,
                                     &costs->narrow_ns,         &costs->wide_ns,
                                     &costs->middle_ns,         &costs->line_ns};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        *all[i] = quartiles_of(values[i], ROUNDS);
    return STATUS_OK;
}

/* --- the result ------------------------------------------------------------------------------ */

/* sigma of a log-normal time with these quartiles: they are 1.349 of it apart in the logarithm. */
static void describe_leaf(const struct quartiles *leaf_ns, char text[CLUSTER_TEXT_MAX])
{
    double sigma = log(leaf_ns->high / leaf_ns->low) / 1.349;
    if (sigma < 0.005)
        snprintf(text, CLUSTER_TEXT_MAX, "constant:%.3fus", leaf_ns->median * 1e-3);
    else
        snprintf(text, CLUSTER_TEXT_MAX, "lognormal:%.3fus,%.3f", leaf_ns->median * 1e-3, sigma);
}

static void describe(struct cluster *cluster, const struct costs *costs,
                     const struct options *options)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    snprintf(cluster->about, sizeof cluster->about,
             "Measured by syncopate calibrate: %.40s, leaves of %u, %s, %s; its card is not.",
             options->program != NULL ? options->program : options->model, options->job.micro_batch,
             options->job.optimizer.name, options->transport);
    cluster->rest = CLUSTER_TOGETHER;
    cluster->usual.processors = processors > 0 ? (uint64_t)processors : 1;
    describe_leaf(&costs->leaf_ns, cluster->leaf_time);
    cluster->score_example_ns = (uint64_t)ceil(costs->score_ns.median);
    cluster->worker.message_ns = (uint64_t)costs->worker_message_ns.median;
    cluster->worker.message_byte_ps = (uint64_t)(1000 * costs->worker_byte_ns.median);
    cluster->server.message_ns = (uint64_t)costs->server_message_ns.median;
    cluster->server.message_byte_ps = (uint64_t)(1000 * costs->server_byte_ns.median);
    cluster->apply_byte_ps = (uint64_t)ceil(1000 * costs->apply_byte_ns.median);
    cluster->loopback_latency_ns = (uint64_t)costs->latency_ns.median;
    cluster->loopback_bytes_per_second = (uint64_t)costs->loopback.median;
}

static void print_line(FILE *out, const char *what, struct quartiles figure, double scale,
                       const char *unit)
{
    fprintf(out, "%-34s %10.3f %-6s half of them %.3f to %.3f\n", what, figure.median * scale, unit,
            figure.low * scale, figure.high * scale);
}

static void print_costs(FILE *out, const struct costs *costs, const struct cluster *cluster)
{
    fprintf(out, "%-34s %10llu\n", "processors", (unsigned long long)cluster->usual.processors);
    print_line(out, "a leaf's gradient", costs->leaf_ns, 1e-6, "ms");
    print_line(out, "scoring an example", costs->score_ns, 1e-3, "us");
    print_line(out, "applying a gradient, a byte", costs->apply_byte_ns, 1e3, "ps");
    print_line(out, "a message, worker", costs->worker_message_ns, 1e-3, "us");
    print_line(out, "... and a byte of it", costs->worker_byte_ns, 1e3, "ps");
    print_line(out, "a message, server", costs->server_message_ns, 1e-3, "us");
    print_line(out, "... and a byte of it", costs->server_byte_ns, 1e3, "ps");
    print_line(out, "on its way, between processes", costs->latency_ns, 1e-3, "us");
    if (costs->loopback.median < LOOPBACK_MOST)
        print_line(out, "... bytes a second", costs->loopback, 1e-9, "GB/s");
    else
        fputs(
            "... bytes a second                 no limit seen: the processors' part explains all\n",
            out);
    print_line(out, "a whole exchange of 3.2 KB", costs->narrow_ns, 1e-3, "us");
    print_line(out, "a whole exchange of 102 KB", costs->middle_ns, 1e-3, "us");
    print_line(out, "... by the line through the others", costs->line_ns, 1e-3, "us");
    print_line(out, "a whole exchange of 814 KB", costs->wide_ns, 1e-3, "us");
}

static enum status write_cluster(const struct cluster *cluster, const char *path,
                                 struct error *error)
{
    struct json_writer writer;
    enum status status;
    json_writer_init(&writer, false);
    cluster_write(cluster, &writer, NULL);
    if (path == NULL)
        return command_print_json(&writer, error);
    json_writer_raw(&writer, "\n", 1);
    const struct disk_piece piece = {writer.text, writer.bytes};
    if (writer.failed)
        status = error_set(error, STATUS_MEMORY, "no memory to write %.300s", path);
    else
        status = disk_posix.write_file(disk_posix.context, path, &piece, 1, error);
    json_writer_free(&writer);
    return status;
}

/* A minute of measuring should not end with a file that cannot be written. */
static enum status try_out(const char *path, struct error *error)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash == NULL)
        snprintf(folder, sizeof folder, ".");
    else
        slash[slash == folder ? 1 : 0] = '\0';
    if (disk_posix.look(disk_posix.context, path) == DISK_FOLDER)
        return error_set(error, STATUS_IO, "cannot write %.300s: it is a folder", path);
    if (access(folder, W_OK | X_OK) != 0)
        return error_set(error, STATUS_IO, "cannot write %.300s: %s: %s", path, folder,
                         strerror(errno));
    return STATUS_OK;
}

static void request_stop(void *context, int exit_code)
{
    atomic_store((atomic_int *)context, exit_code);
}

/* Measures the host's figures; an exit code. */
static int measure(struct costs *costs, const struct options *options, const char *programs,
                   struct error *error)
{
    struct signals signals;
    atomic_int stop = 0;
    const struct signals_options requests = {.context = &stop, .stop = request_stop};
    if (signals_start(&signals, &requests) != STATUS_OK) {
        error_set(error, STATUS_MEMORY, "cannot start a thread");
        return EXIT_TRAINING_FAILED;
    }
    int code = measure_computing(costs, options, error);
    enum status status = STATUS_OK;
    if (code == EXIT_DONE) {
        status = measure_exchange(costs, programs, options->transport, &stop, error);
        code = status == STATUS_INTERRUPTED ? atomic_load(&stop) : command_exit_code(status);
    }
    signals_stop(&signals);
    return code;
}

int command_calibrate(const struct command_call *call, struct error *error)
{
    const struct options *options = &call->options;
    struct costs costs;
    struct cluster cluster;
    char programs[PATH_MAX];
    signals_block();
    kernels_init();
    enum status status = programs_find(programs, error);
    if (status == STATUS_OK && options->out != NULL)
        status = try_out(options->out, error);
    if (status != STATUS_OK)
        return command_exit_code(status);
    int code = measure(&costs, options, programs, error);
    if (code != EXIT_DONE)
        return code;
    cluster_init(&cluster);
    describe(&cluster, &costs, options);
    if (!options->quiet)
        print_costs(options->out != NULL ? stdout : stderr, &costs, &cluster);
    status = write_cluster(&cluster, options->out, error);
    cluster_free(&cluster);
    return status == STATUS_OK ? EXIT_DONE : command_exit_code(status);
}
