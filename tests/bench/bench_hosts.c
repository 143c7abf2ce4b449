/* bench_hosts.c - what a job makes of a network's rate: real programs in namespaces of their own, a server
 * or a worker on each (namespaces.h), in turn with iperf3 between the same hosts, both ways at once.
 *
 *     bench_hosts [--json FILE] [--more]
 *
 * The job is a dense layer so wide that a step is its exchange: every worker pushes a gradient of as many
 * bytes as the model has and pulls its values, of one example each. Values come back when all workers have pushed
 * their chunk: one chunk of each is what a step waits for its first values, and at its end for the last, and so
 * chunks are small where several share a slow line. For each rate and congestion control:
 *
 *   exchange   payload both ways, of all workers, by a step's seconds less those that its workers computed
 *              (the mean of their compute_seconds); beside iperf3's between each worker and each server
 *   step       all of its seconds; beside max(M/B, nM/(kB)), which the busiest link takes for the payload
 *              one way (n workers, k servers, M bytes of the model, B of the rate). B is what the link
 *              takes with all headers, which no exchange can have: the remark says what they leave
 *   processor  seconds of the host that took most, by those of training
 *
 * A step's seconds are the mean of all windows of --report-every 1 but the first, in which the first values
 * travel: starting, evaluating and the end are not in them. All of a process's processor seconds are counted,
 * starting and the end as well, and of the network those that the kernel counts to whoever made it work;
 * the rest of what links cost is told as others at work, who make a line noisy. Two hosts on a machine of two
 * processors may be slower than their link: the same pair without a limit shows whether they are.
 * Linux, as root, with iperf3; else it is skipped. */

#include <libgen.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file/disk.h"
#include "common/file/json.h"
#include "common/store/run_window.h"
#include "tests/bench/lib/folder.h"
#include "tests/bench/lib/namespaces.h"
#include "tests/lib/benchmark.h"

#define HOSTS_MAX   8
#define PAIRS_MAX   16
#define ROUNDS      5
#define LINE_BYTES  1024
#define EVENT_BYTES 8192
#define IMAGE       784
#define CLASSES     10
#define IPERF_S     3
#define FIRST_PORT  5200
#define RATIO_LEAST 0.95 /* Of iperf3. */
#define BOUND_LEAST 0.90 /* Of the payload at the rate itself. */
#define CORES_MOST  1
/* Of a full frame, as links count them: Ethernet's header of 14 bytes, IP's of 20 and TCP's of 32. */
#define FRAME_BYTES   1514
#define FRAME_PAYLOAD 1448

struct setting {
    const char *name, *rate; /* NULL: no limit. */
    double bits_a_second;
    unsigned workers, servers;
    unsigned width; /* Of the dense layer. */
    unsigned steps;
    const char *chunk; /* --chunk-bytes; "0": as the workers choose. */
    bool bound;        /* The rate is one that the hosts' processors can be asked for. */
};

static const struct setting settings[] = {
    {"1 Gbit/s, 4 x 2", "1gbit", 1e9, 4, 2, 4096, 16, "64K", true},
    {"10 Gbit/s, 1 x 1", "10gbit", 1e10, 1, 1, 8192, 80, "0", false},
    {"no limit, 1 x 1", NULL, 0, 1, 1, 8192, 80, "0", false},
};

struct run {
    const struct setting *setting;
    char programs[DISK_PATH_MAX];
    char folder[FOLDER_PATH_MAX];
    struct namespaces network;
    unsigned rounds; /* So far: */
    double step[ROUNDS], compute[ROUNDS], cores[ROUNDS], all_cores[ROUNDS];
    double exchange_s; /* Of the last. */
    double iperf_s;    /* What iperf3 would have taken for a step's payload, the last time. */
};

static _Noreturn void fail(struct run *run, const char *what)
{
    namespaces_remove(&run->network);
    fprintf(stderr, "%s\n", what);
    exit(EXIT_FAILURE);
}

static double model_bytes(const struct setting *s)
{
    return 4.0 * (IMAGE * s->width + s->width + s->width * CLASSES + CLASSES);
}

/* Both ways, of all workers. */
static double step_bytes(const struct setting *s)
{
    return 2 * model_bytes(s) * s->workers;
}

/* --- a job ---------------------------------------------------------------------------------- */

/* Servers are hosts 1 to k, workers the others. */
static pid_t start_process(const struct run *run, const char *servers, unsigned host)
{
    char line[LINE_BYTES];
    const struct setting *s = run->setting;
    bool serves = host <= s->servers;
    int used = snprintf(line, sizeof line, "exec %s/syncopate-%s --task-index %u --ps-hosts %s ",
                        run->programs, serves ? "ps" : "worker",
                        host - 1 - (serves ? 0 : s->servers), servers);
    if (serves)
        snprintf(line + used, sizeof line - (size_t)used, "--insecure --out %s/run >/dev/null 2>&1",
                 run->folder);
    else
        snprintf(
            line + used, sizeof line - (size_t)used,
            "--workers %u --mode sync --model 'flatten, dense %u relu, dense %d' --optimizer sgd "
            "--data synthetic:100 --seed 1 --steps %u --report-every 1 --global-batch %u "
            "--micro-batch 1 --chunk-bytes %s --checkpoint-every 0 --record off >/dev/null 2>&1",
            s->workers, s->width, CLASSES, s->steps, s->workers, s->chunk);
    return namespaces_start(host, line);
}

static double mean_step(struct run *run)
{
    char path[DISK_PATH_MAX], line[EVENT_BYTES];
    double seconds = 0, batches = 0;
    snprintf(path, sizeof path, "%s/run/events.jsonl", run->folder);
    FILE *events = fopen(path, "r");
    while (events != NULL && fgets(line, sizeof line, events) != NULL) {
        struct json *event;
        struct error error;
        if (strstr(line, "\"window\"") == NULL ||
            json_parse(line, strlen(line), path, &event, &error) != STATUS_OK)
            continue;
        struct run_window window;
        figures_read(run_window_rows(), event, &window);
        if (window.number > 1) {
            seconds += window.seconds;
            batches += (double)window.batches;
        }
        json_release(&event);
    }
    if (events != NULL)
        fclose(events);
    if (!(seconds > 0))
        fail(run, "a job between namespaces has not said how long its steps took");
    return seconds / batches;
}

static void read_run(struct run *run, double most_cpu_seconds, double all_cpu_seconds)
{
    char path[DISK_PATH_MAX];
    struct json *root;
    struct error error;
    double compute = 0;
    snprintf(path, sizeof path, "%s/run/run.json", run->folder);
    if (json_read_file(&disk_posix, path, 1 << 24, &root, &error) != STATUS_OK)
        fail(run, error.text);
    const struct json *workers = json_at(root, "worker_details");
    size_t count = json_length(workers, "");
    for (size_t i = 0; i < count; i++)
        compute += json_number(json_item(workers, i), "compute_seconds");
    unsigned round = run->rounds++;
    run->step[round] = mean_step(run);
    run->compute[round] = compute / (double)count / run->setting->steps;
    run->cores[round] = most_cpu_seconds / json_number(root, "seconds");
    run->all_cores[round] = all_cpu_seconds / json_number(root, "seconds");
    run->exchange_s = run->step[round] - run->compute[round];
    json_release(&root);
}

static void train(void *context)
{
    struct run *run = context;
    char servers[LINE_BYTES / 2], line[LINE_BYTES];
    pid_t processes[HOSTS_MAX];
    unsigned hosts = run->setting->servers + run->setting->workers;
    size_t used = 0;
    double most = 0, all = 0;
    bool well = true;
    for (unsigned i = 1; i <= run->setting->servers; i++)
        used += (size_t)snprintf(servers + used, sizeof servers - used,
                                 "%s" NAMESPACES_NETWORK ".%u:7000", i > 1 ? "," : "", i);
    for (unsigned i = 0; i < hosts; i++)
        processes[i] = start_process(run, servers, i + 1);
    for (unsigned i = 0; i < hosts; i++) {
        double cpu_seconds = 0;
        well = namespaces_await(processes[i], &cpu_seconds) && well;
        most = cpu_seconds > most ? cpu_seconds : most;
        all += cpu_seconds;
    }
    if (!well)
        fail(run, "a job between namespaces has failed");
    read_run(run, most, all);
    snprintf(line, sizeof line, "%s/run", run->folder);
    folder_remove(line, NULL);
}

/* --- iperf3 --------------------------------------------------------------------------------- */

/* Bits a second that came, both ways: "[  5][TX-C] 0.00-3.00 sec 342 MBytes 957123 Kbits/sec receiver". (What it
 * says in JSON of both ways at once names a member twice.) */
static double read_iperf(struct run *run, const char *path)
{
    char line[LINE_BYTES];
    double bits = 0;
    FILE *said = fopen(path, "r");
    while (said != NULL && fgets(line, sizeof line, said) != NULL) {
        char *unit = strstr(line, " Kbits/sec");
        if (unit == NULL || strstr(unit, "receiver") == NULL)
            continue;
        *unit = '\0';
        bits += 1e3 * atof(strrchr(line, ' '));
    }
    if (said != NULL)
        fclose(said);
    if (!(bits > 0))
        fail(run, "iperf3 has not said how much came");
    return bits;
}

/* Each worker with each server at once; the first second, in which connections find their rate, is left
 * out. A server may be slower to listen than its client to come. */
static void blast(void *context)
{
    struct run *run = context;
    const struct setting *s = run->setting;
    char line[LINE_BYTES];
    pid_t listening[PAIRS_MAX], talking[PAIRS_MAX];
    unsigned pairs = s->workers * s->servers;
    double bits = 0, ignored = 0;
    bool well = true;
    for (unsigned i = 0; i < pairs; i++) {
        unsigned server = 1 + i % s->servers, worker = 1 + s->servers + i / s->servers;
        snprintf(line, sizeof line, "exec iperf3 -s -1 -p %u >/dev/null 2>&1", FIRST_PORT + i);
        listening[i] = namespaces_start(server, line);
        snprintf(line, sizeof line,
                 "for i in 1 2 3 4 5 6 7 8 9; do sleep 0.2; iperf3 -c " NAMESPACES_NETWORK
                 ".%u -p %u --bidir -t %d -O 1 -f k >%s/iperf.%u 2>/dev/null && exit; done; exit 1",
                 server, FIRST_PORT + i, IPERF_S, run->folder, i);
        talking[i] = namespaces_start(worker, line);
    }
    for (unsigned i = 0; i < pairs; i++)
        well = namespaces_await(talking[i], &ignored) && well;
    for (unsigned i = 0; i < pairs && well; i++)
        well = namespaces_await(listening[i], &ignored);
    if (!well)
        fail(run, "iperf3 between namespaces has failed");
    for (unsigned i = 0; i < pairs; i++) {
        snprintf(line, sizeof line, "%s/iperf.%u", run->folder, i);
        bits += read_iperf(run, line);
    }
    run->iperf_s = 8 * step_bytes(s) / bits;
}

/* --- what is shown -------------------------------------------------------------------------- */

/* The same rounds, of other values. */
static struct measured of_rounds(const struct measured *measured, const double *values)
{
    struct measured others = *measured;
    memcpy(others.seconds, values, measured->rounds * sizeof *values);
    return others;
}

/* Seconds of the busiest link for the payload one way, were there nothing else on it. */
static double least_step_s(const struct setting *s)
{
    double links = s->workers > s->servers ? (double)s->workers / s->servers : 1;
    return links * model_bytes(s) * 8 / s->bits_a_second;
}

static void show_step(struct benchmark *benchmark, const struct run *run,
                      const struct measured *measured, const char *algorithm)
{
    const struct setting *s = run->setting;
    char what[96];
    double bounds[ROUNDS];
    for (unsigned i = 0; i < ROUNDS; i++)
        bounds[i] = least_step_s(s);
    struct measured step = of_rounds(measured, run->step), bound = of_rounds(measured, bounds);
    snprintf(what, sizeof what, "step, %s", s->name);
    benchmark_line(benchmark,
                   &(struct figure){.what = what,
                                    .unit = "Gbit/s",
                                    .per_call = 8e-9 * step_bytes(s),
                                    .ours = &step,
                                    .limit = &bound,
                                    .limit_name = "max(M/B, nM/(kB))",
                                    .setting = algorithm,
                                    .target = {.ratio_least = s->bound ? BOUND_LEAST : 0}});
}

/* Of what the ratios are. */
static void remark_step(struct benchmark *benchmark, const struct run *run)
{
    const struct setting *s = run->setting;
    double step = spread_of(run->step, ROUNDS).median;
    double compute = spread_of(run->compute, ROUNDS).median;
    benchmark_remark(
        benchmark, "a step %.1f ms, of which its workers compute %.1f; M %.1f MB, --chunk-bytes %s",
        1e3 * step, 1e3 * compute, 1e-6 * model_bytes(s), s->chunk);
    if (s->rate == NULL)
        return;
    double least = least_step_s(s), framed = least * FRAME_BYTES / FRAME_PAYLOAD;
    benchmark_remark(
        benchmark,
        "the formula %.1f ms; with headers, %d of %d bytes are payload: %.1f, of which "
        "a step is %.3f, without computing %.3f",
        1e3 * least, FRAME_PAYLOAD, FRAME_BYTES, 1e3 * framed, framed / step,
        framed / (step - compute));
}

static void show(struct benchmark *benchmark, const struct run *run,
                 const struct measured measured[2], const char *algorithm)
{
    const struct setting *s = run->setting;
    char what[96];
    snprintf(what, sizeof what, "exchange, %s", s->name);
    benchmark_line(benchmark,
                   &(struct figure){.what = what,
                                    .unit = "Gbit/s",
                                    .per_call = 8e-9 * step_bytes(s),
                                    .ours = &measured[0],
                                    .limit = &measured[1],
                                    .limit_name = "iperf3 --bidir",
                                    .setting = algorithm,
                                    .target = {.ratio_least = s->rate != NULL ? RATIO_LEAST : 0}});
    if (s->rate != NULL)
        show_step(benchmark, run, &measured[0], algorithm);
    remark_step(benchmark, run);
    struct measured cores = of_rounds(&measured[0], run->cores);
    snprintf(what, sizeof what, "processor, %s", s->name);
    benchmark_line(benchmark, &(struct figure){.what = what,
                                               .unit = "cores a host",
                                               .is_time = true,
                                               .per_call = 1,
                                               .ours = &cores,
                                               .setting = algorithm,
                                               .target = {.most = CORES_MOST}});
    benchmark_remark(benchmark, "all hosts %.2f of this machine's %ld processors",
                     spread_of(run->all_cores, ROUNDS).median, sysconf(_SC_NPROCESSORS_ONLN));
}

static void measure(struct benchmark *benchmark, struct run *run, const char *algorithm)
{
    const struct setting *s = run->setting;
    const struct piece pieces[2] = {
        {.work = train, .context = run, .own_seconds = &run->exchange_s, .cold = true},
        {.work = blast, .context = run, .own_seconds = &run->iperf_s, .cold = true}};
    struct measured measured[2];
    if (!namespaces_make(&run->network, s->servers + s->workers, s->rate, s->bits_a_second)) {
        benchmark_remark(benchmark, "%s, %s: skipped, no network of its own can be made", s->name,
                         algorithm);
        return;
    }
    if (namespaces_set_congestion_control(&run->network, algorithm)) {
        run->rounds = 0;
        measure_in_turn(pieces, 2, ROUNDS, measured);
        show(benchmark, run, measured, algorithm);
    } else {
        benchmark_remark(benchmark, "%s, %s: skipped, the kernel does not have it", s->name,
                         algorithm);
    }
    namespaces_remove(&run->network);
}

static void find_programs(struct run *run)
{
    char self[DISK_PATH_MAX - 32];
    ssize_t bytes = readlink("/proc/self/exe", self, sizeof self - 1);
    if (bytes < 0)
        fail(run, "cannot find this program");
    self[bytes] = '\0';
    snprintf(run->programs, sizeof run->programs, "%s/../..", dirname(self));
}

int main(int argc, char **argv)
{
    static const char *const algorithms[] = {"cubic", "bbr"};
    struct benchmark benchmark;
    struct run run = {0};
    benchmark_open(&benchmark, "hosts", argc, argv);
    find_programs(&run);
    folder_make(run.folder);
    bool able = system("command -v iperf3 >/dev/null") == 0;
    if (!able)
        benchmark_remark(&benchmark, "hosts: skipped, iperf3 is not here");
    for (size_t i = 0; able && i < sizeof settings / sizeof *settings; i++) {
        run.setting = &settings[i];
        for (size_t j = 0; j < 2; j++)
            measure(&benchmark, &run, algorithms[j]);
    }
    folder_remove(run.folder, NULL);
    return benchmark_close(&benchmark);
}
