/* bench_scaling.c - what a byte costs as models and jobs grow: from 100 thousand to 100 million
 * parameters with one worker, and from 1 to 64 workers on one server. And what memory a server
 * takes, beside what it may.
 *
 * The server is a process of its own, on TCP loopback and with shared memory, and nothing but the
 * server is in its processor seconds; workers are sessions with their threads in one other process,
 * and compute nothing. Bytes are gradients and parameters, both ways, of all workers.
 *
 *     bench_scaling [--json FILE] [--more]      takes about a minute */

#include <stdio.h>

#include "common/optimizer/optimizer.h"
#include "tests/bench/contenders/contender.h"
#include "tests/bench/contenders/raw_tcp.h"
#include "tests/bench/contenders/syncopate_pair.h"
#include "tests/bench/lib/folder.h"
#include "tests/bench/lib/network.h"
#include "tests/lib/benchmark.h"

#define ROUNDS      7
#define POINTS_MAX  8
#define FLAT        1.25 /* Times as dear as a smaller job, at most. */
#define MIB         1048576.0
#define PROGRAM_MIB 50       /* That a server may take besides. */
#define WORKER_SIZE 1000000u /* Parameters while workers grow. */

/* One size of job. */
struct point {
    struct syncopate_pair_setting setting;
    struct contender contender;
    struct piece round;
    double server_cpu[MEASURE_ROUNDS_MAX]; /* Seconds of an exchange, all workers once. */
    unsigned rounds;
};

struct series {
    const char *name;
    struct point points[POINTS_MAX];
    unsigned count;
    char folder[FOLDER_PATH_MAX];
};

static double moved(const struct point *point)
{
    return 2.0 * (double)point->setting.bytes * point->setting.workers;
}

static void add(struct series *series, uint64_t parameters, uint32_t workers, enum mode mode,
                const char *transport, const char *optimizer)
{
    struct point *point = &series->points[series->count++];
    point->setting = (struct syncopate_pair_setting){.folder = series->folder,
                                                     .bytes = parameters * sizeof(float),
                                                     .mode = mode,
                                                     .workers = workers,
                                                     .transport = transport,
                                                     .optimizer = optimizer};
    contender_start(&point->contender, &syncopate_pair, &point->setting);
    point->round = contender_piece(&point->contender, false);
}

static void run_round(void *context)
{
    struct point *point = context;
    point->round.work(point->round.context);
    point->server_cpu[point->rounds++] = point->contender.server_cpu;
}

/* --- memory --------------------------------------------------------------------------------- */

/* What issue 3 allows a server, bytes. A worker's window is one step's gradient. */
static double allowed(const struct syncopate_pair_setting *setting)
{
    double values = (double)setting->bytes;
    double slots = optimizer_find(setting->optimizer)->slot_count;
    double nodes = setting->mode == MODE_SYNC ? 0.5 * setting->workers : 0;
    return values * (2 + slots + nodes + setting->workers) + PROGRAM_MIB * MIB;
}

static void show_memory(struct benchmark *benchmark, const struct point *point, const char *name)
{
    char what[96];
    const struct syncopate_pair_setting *setting = &point->setting;
    struct measured peak = measure_value((double)contender_server_peak(&point->contender) / MIB);
    struct measured bound = measure_value(allowed(setting) / MIB);
    char where[32];
    snprintf(what, sizeof what, "server's peak, %s", name);
    snprintf(where, sizeof where, "%s, %s", setting->transport, setting->optimizer);
    benchmark_line(benchmark, &(struct figure){.what = what,
                                               .unit = "MiB",
                                               .is_time = true,
                                               .per_call = 1,
                                               .ours = &peak,
                                               .limit = &bound,
                                               .limit_name = "allowed",
                                               .setting = where,
                                               .target = {.ratio_most = 1}});
}

/* --- a series ------------------------------------------------------------------------------- */

static void name_point(char name[64], const struct point *point)
{
    double parameters = (double)point->setting.bytes / sizeof(float);
    snprintf(name, 64, "%g million, %u worker%s, %s", parameters * 1e-6, point->setting.workers,
             point->setting.workers > 1 ? "s" : "", mode_name(point->setting.mode));
}

static void show_point(struct benchmark *benchmark, const struct point *point,
                       const struct measured *measured)
{
    char name[64];
    name_point(name, point);
    benchmark_line(benchmark, &(struct figure){.what = name,
                                               .unit = "GB/s",
                                               .per_call = moved(point) * 1e-9,
                                               .ours = measured,
                                               .bytes = moved(point) * point->contender.calls,
                                               .setting = point->setting.transport});
}

/* Processor seconds of the server alone for a GB. */
static double server_cost(const struct point *point)
{
    return spread_of(point->server_cpu, point->rounds).median / (moved(point) * 1e-9);
}

static double time_cost(const struct point *point, const struct measured *measured)
{
    return spread_of(measured->seconds, measured->rounds).median / (moved(point) * 1e-9);
}

/* How many times as dear a byte becomes, at most, from a smaller job to a larger: a small job pays
 * for each message what a large one spreads over many bytes, which is no failure to scale. */
static double growth_of(const double *costs, unsigned count)
{
    double growth = 0;
    for (unsigned i = 0; i < count; i++)
        for (unsigned j = i + 1; j < count; j++)
            growth = costs[j] > growth * costs[i] ? costs[j] / costs[i] : growth;
    return growth;
}

static void show_growth(struct benchmark *benchmark, const char *series, const char *of,
                        const double *costs, unsigned count)
{
    char what[96], all[256] = "";
    size_t used = 0;
    struct spread spread = spread_of(costs, count);
    struct measured growth = measure_value(growth_of(costs, count));
    snprintf(what, sizeof what, "%s: %s", series, of);
    for (unsigned i = 0; i < count && used < sizeof all; i++)
        used += (size_t)snprintf(all + used, sizeof all - used, " %.3f", costs[i]);
    benchmark_line(benchmark, &(struct figure){.what = what,
                                               .unit = "larger / smaller",
                                               .is_time = true,
                                               .per_call = 1,
                                               .ours = &growth,
                                               .target = {.most = FLAT}});
    benchmark_remark(benchmark, "%s, seconds per GB:%s; the dearest is x %.2f the cheapest", of,
                     all, spread.most / spread.least);
}

static void measure(struct benchmark *benchmark, struct series *series)
{
    struct piece pieces[POINTS_MAX];
    struct measured measured[POINTS_MAX];
    double server[POINTS_MAX], wall[POINTS_MAX];
    char name[64];
    for (unsigned i = 0; i < series->count; i++) {
        pieces[i] = series->points[i].round;
        pieces[i].work = run_round;
        pieces[i].context = &series->points[i];
    }
    measure_in_turn(pieces, series->count, ROUNDS, measured);
    for (unsigned i = 0; i < series->count; i++) {
        show_point(benchmark, &series->points[i], &measured[i]);
        server[i] = server_cost(&series->points[i]);
        wall[i] = time_cost(&series->points[i], &measured[i]);
    }
    show_growth(benchmark, series->name, "server's CPU a byte", server, series->count);
    show_growth(benchmark, series->name, "time a byte", wall, series->count);
    for (unsigned i = 0; i < series->count; i++) {
        name_point(name, &series->points[i]);
        show_memory(benchmark, &series->points[i], name);
        contender_stop(&series->points[i].contender);
    }
}

static void measure_sizes(struct benchmark *benchmark, enum mode mode)
{
    struct series series = {.name = mode == MODE_SYNC ? "sizes, sync" : "sizes, async"};
    folder_make(series.folder);
    for (uint64_t parameters = 100000; parameters <= 100000000; parameters *= 10)
        add(&series, parameters, 1, mode, "tcp", "sgd");
    measure(benchmark, &series);
    folder_remove(series.folder);
}

static void measure_workers(struct benchmark *benchmark, enum mode mode, const char *transport)
{
    char name[32];
    struct series series = {.name = name};
    snprintf(name, sizeof name, "workers, %s, %s", mode_name(mode), transport);
    folder_make(series.folder);
    for (uint32_t workers = 1; workers <= 64; workers *= 4)
        add(&series, WORKER_SIZE, workers, mode, transport, "adam");
    measure(benchmark, &series);
    folder_remove(series.folder);
}

int main(int argc, char **argv)
{
    struct benchmark benchmark;
    char control[16];
    benchmark_open(&benchmark, "scaling", argc, argv);
    if (network_own())
        network_set_congestion_control("cubic");
    raw_tcp_congestion_control(control);
    benchmark_remark(&benchmark,
                     "one server, workers are sessions in one process; TCP loopback, %s", control);
    measure_sizes(&benchmark, MODE_ASYNC);
    measure_sizes(&benchmark, MODE_SYNC);
    measure_workers(&benchmark, MODE_ASYNC, "tcp");
    measure_workers(&benchmark, MODE_SYNC, "tcp");
    measure_workers(&benchmark, MODE_SYNC, "shm");
    benchmark_remark(&benchmark,
                     "allowed: 2 copies of the values + optimizer slots + (sync) half the nodes "
                     "pushed a step + a window (one gradient) a worker + %d MiB",
                     PROGRAM_MIB);
    return benchmark_close(&benchmark);
}
