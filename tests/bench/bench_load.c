/* bench_load.c - hundreds of workers on one server for a long time: what it holds, whom it serves.
 *
 *     bench_load [--json FILE] [--more] [--seconds S] [--workers W] [--only async,tcp]
 *
 * For each mode, on TCP loopback and with shared memory: S seconds (10, or BENCH_SECONDS) of W
 * (256) workers that compute nothing, sessions with their threads in a few processes. The last
 * third of the time is trouble: some workers take a tenth of a second more for each update (async;
 * in sync all would), and a process with some of them is stopped (SIGSTOP). All others should not
 * notice.
 *
 * Waits are for an answer to a push, as the worker's trainer sees it. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/file/disk.h"
#include "common/kernels/kernels.h"
#include "common/optimizer/optimizer.h"
#include "common/options/options.h"
#include "common/process/log.h"
#include "common/process/process.h"
#include "common/wire/message.h"
#include "ps/server.h"
#include "tests/bench/lib/folder.h"
#include "tests/lib/benchmark.h"
#include "tests/lib/crowd.h"

#define PARAMETERS    122000u /* The reference model's, about. */
#define OPTIMIZER     "adam"
#define PROCESSES     4 /* Of equal workers. */
#define UPDATES       (1u << 22)
#define START_SECONDS 120
#define LOSE_SECONDS  5 /* As by default: by then a stopped worker is lost. */
#define SLOW_US       100000
#define MIB           1048576.0
#define PROGRAM_MIB   50
#define RINGS         (256u << 10) /* Bytes: two for each worker that shares memory; window.c. */
#define CONNECTION    25600        /* Bytes that libzmq takes for one. */
#define LONG_SECONDS  120          /* From here on it makes sense to look for growth. */

enum phase { WARMING, CALM, LOSING, TROUBLE, PHASES };

/* What may be asked for. */
struct wanted {
    double seconds;
    uint32_t workers;
    const char *only;
};

/* One second. */
struct sample {
    double seconds; /* Since the start. */
    double updates; /* Of the equal workers so far, in this phase. */
    double memory;  /* Bytes resident. */
    enum phase phase;
};

struct trial {
    const struct wanted *wanted;
    enum mode mode;
    const char *transport;
    char name[32];
    char folder[FOLDER_PATH_MAX];
    struct job job;
    struct variable variable;
    char servers[1][ADDRESS_MAX];
    pid_t server;
    struct crowd crowd;
    uint32_t equal, slow, stopped; /* Workers, by task index in this order. */
    uint32_t stopped_process;
    struct sample *samples; /* [sample_count] */
    size_t sample_count, sample_room;
    double phase_seconds[PHASES];
    double memory_before; /* Resident before the first worker. */
};

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(EXIT_FAILURE);
}

/* --- the server ---------------------------------------------------------------------------- */

static void serve(const struct trial *trial, int tell)
{
    struct error error;
    struct server *server;
    struct transport *transport;
    prctl(PR_SET_NAME, "bench-ps");
    log_init("bench/ps", LOG_ERROR, LOG_FORMAT_TEXT);
    kernels_init();
    process_keep_memory();
    if (transport_create(&transport, strcmp(trial->transport, "tcp") != 0, &error) != STATUS_OK)
        fail(error.text);
    struct server_options options = {.transport = transport,
                                     .disk = &disk_posix,
                                     .listen = "127.0.0.1:0",
                                     .out = trial->folder,
                                     .owner_threads = -1,
                                     .deadlines = {.start = START_SECONDS,
                                                   .silence = LOSE_SECONDS,
                                                   .recovery = START_SECONDS,
                                                   .progress = START_SECONDS,
                                                   .stop = START_SECONDS},
                                     .max_bad_gradients = 10};
    if (server_create(&server, &options, &error) != STATUS_OK)
        fail(error.text);
    const char *address = server_address(server);
    if (write(tell, address, strlen(address) + 1) < 0)
        fail("cannot say where the server is");
    int code = server_run(server, &error);
    fprintf(stderr, "the server has ended with %d: %s\n", code, error.text);
}

static void start_server(struct trial *trial)
{
    int ends[2];
    pid_t parent = getpid();
    fflush(NULL);
    if (pipe(ends) != 0 || (trial->server = fork()) < 0)
        fail("cannot fork");
    if (trial->server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            serve(trial, ends[1]);
        _exit(EXIT_FAILURE);
    }
    close(ends[1]);
    if (read(ends[0], trial->servers[0], ADDRESS_MAX - 1) <= 0)
        fail("the server did not start");
    close(ends[0]);
}

/* Bytes resident in the server. */
static double server_memory(const struct trial *trial)
{
    char path[64], line[128];
    double kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)trial->server);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "VmRSS: %lf", &kib) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return kib * 1024;
}

/* --- the job ------------------------------------------------------------------------------- */

/* Of one variable, without a model, and with more updates than anybody will see. */
static void make_job(struct trial *trial)
{
    struct job *job = &trial->job;
    snprintf(trial->variable.name, sizeof trial->variable.name, "w");
    trial->variable.rank = 1;
    trial->variable.shape[0] = PARAMETERS;
    job->mode = trial->mode;
    job->variables = &trial->variable;
    job->variable_count = 1;
    job->optimizer = optimizer_find(OPTIMIZER)->defaults;
    job->schedule.learning_rate = 1e-6;
    snprintf(job->model, sizeof job->model, "none");
    snprintf(job->data, sizeof job->data, "none");
    job->micro_batch = 1;
    job->batch = trial->mode == MODE_SYNC ? trial->wanted->workers : 1;
    job->steps = UPDATES;
    job->examples = (uint64_t)UPDATES * job->batch;
    job->worker_count = trial->wanted->workers;
    job->server_count = 1;
    job->servers = trial->servers;
}

static void share_out(struct trial *trial)
{
    uint32_t workers = trial->wanted->workers;
    bool async = trial->mode == MODE_ASYNC;
    trial->slow = async ? workers / 16 : 0;
    trial->stopped = workers / 16;
    trial->equal = workers - trial->slow - trial->stopped;
}

static void start_workers(struct trial *trial)
{
    uint32_t first = 0, workers = trial->wanted->workers;
    crowd_init(&trial->crowd, &trial->job, trial->transport, workers);
    for (uint32_t i = 0; i < PROCESSES; i++) {
        uint32_t end = trial->equal * (i + 1) / PROCESSES;
        crowd_start(&trial->crowd, first, end - first);
        first = end;
    }
    if (trial->slow > 0)
        crowd_start(&trial->crowd, trial->equal, trial->slow);
    trial->stopped_process = crowd_start(&trial->crowd, trial->equal + trial->slow, trial->stopped);
    if (!crowd_wait(&trial->crowd, 0, workers, START_SECONDS))
        fail("the workers did not start");
}

/* --- the time ------------------------------------------------------------------------------ */

static void take_sample(struct trial *trial, enum phase phase, double began)
{
    if (trial->sample_count == trial->sample_room)
        return;
    trial->samples[trial->sample_count++] =
        (struct sample){.seconds = clock_now_seconds() - began,
                        .updates = (double)crowd_updates(&trial->crowd, phase, 0, trial->equal),
                        .memory = server_memory(trial),
                        .phase = phase};
}

static void check_server(const struct trial *trial)
{
    int status;
    if (waitpid(trial->server, &status, WNOHANG) == 0)
        return;
    fprintf(stderr, "the server has ended with %s %d\n", WIFSIGNALED(status) ? "signal" : "code",
            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    exit(EXIT_FAILURE);
}

static void watch(struct trial *trial, enum phase phase, double seconds, double began)
{
    double entered = clock_now_seconds(), now = entered;
    crowd_enter(&trial->crowd, phase);
    take_sample(trial, phase, began);
    for (double next = entered + 1; now < entered + seconds; next += 1) {
        while ((now = clock_now_seconds()) < next && now < entered + seconds)
            nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        check_server(trial);
        take_sample(trial, phase, began);
    }
    trial->phase_seconds[phase] = clock_now_seconds() - entered;
}

static void make_trouble(struct trial *trial)
{
    for (uint32_t i = trial->equal; i < trial->equal + trial->slow; i++)
        atomic_store(&trial->crowd.shared->workers[i].delay_us, SLOW_US);
    kill(trial->crowd.processes[trial->stopped_process], SIGSTOP);
}

static void run(struct trial *trial)
{
    double seconds = trial->wanted->seconds, began;
    trial->sample_room = (size_t)(2 * seconds) + 16;
    trial->samples = calloc(trial->sample_room, sizeof *trial->samples);
    if (trial->samples == NULL)
        fail("out of memory");
    start_server(trial);
    make_job(trial);
    trial->memory_before = server_memory(trial);
    start_workers(trial);
    began = clock_now_seconds();
    watch(trial, WARMING, seconds / 6 < 30 ? seconds / 6 : 30, began);
    watch(trial, CALM, seconds / 2, began);
    make_trouble(trial);
    watch(trial, LOSING, LOSE_SECONDS + 2, began);
    watch(trial, TROUBLE, seconds / 3, began);
}

static void end(struct trial *trial)
{
    crowd_end(&trial->crowd);
    kill(trial->server, SIGKILL);
    waitpid(trial->server, NULL, 0);
    crowd_free(&trial->crowd);
    free(trial->samples);
}

/* --- figures ------------------------------------------------------------------------------- */

static double rate(const struct trial *trial, enum phase phase)
{
    return (double)crowd_updates(&trial->crowd, phase, 0, trial->equal) /
           trial->phase_seconds[phase];
}

/* Of the samples of a phase between two shares of it. */
static double rate_between(const struct trial *trial, enum phase phase, double from, double to)
{
    const struct sample *first = NULL, *last = NULL;
    double begin = -1, length = trial->phase_seconds[phase];
    for (size_t i = 0; i < trial->sample_count; i++) {
        const struct sample *sample = &trial->samples[i];
        if (sample->phase != phase)
            continue;
        begin = begin < 0 ? sample->seconds : begin;
        double share = (sample->seconds - begin) / length;
        if (share >= from && first == NULL)
            first = sample;
        if (share <= to + 1e-9)
            last = sample;
    }
    if (first == NULL || last == NULL || last->seconds <= first->seconds)
        return 0;
    return (last->updates - first->updates) / (last->seconds - first->seconds);
}

/* Bytes a second, by least squares; 0 when it shrinks. */
static double slope(const struct trial *trial, enum phase phase)
{
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (size_t i = 0; i < trial->sample_count; i++) {
        const struct sample *sample = &trial->samples[i];
        if (sample->phase != phase)
            continue;
        n++;
        x += sample->seconds;
        y += sample->memory;
        xx += sample->seconds * sample->seconds;
        xy += sample->seconds * sample->memory;
    }
    double spread = n * xx - x * x;
    return spread > 0 && n * xy > x * y ? (n * xy - x * y) / spread : 0;
}

static double peak(const struct trial *trial, enum phase phase)
{
    double most = 0;
    for (size_t i = 0; i < trial->sample_count; i++)
        if (trial->samples[i].phase == phase && trial->samples[i].memory > most)
            most = trial->samples[i].memory;
    return most;
}

/* What ps/server.h comes to here: the model, and at most a gradient coming in and an answer going out
 * for each worker, or the memory that it shares. */
static double allowed(const struct trial *trial)
{
    double values = PARAMETERS * sizeof(float);
    double slots = optimizer_find(OPTIMIZER)->slot_count, workers = trial->wanted->workers;
    double copies = trial->mode == MODE_SYNC ? 3 + workers / 2 + 1 : 2;
    double rings = strcmp(trial->transport, "tcp") != 0 ? RINGS : 0;
    return values * (copies + slots + 2 * workers) + (CONNECTION + rings) * workers +
           PROGRAM_MIB * MIB;
}

/* Of the updates of equal workers: 1 when all made as many. R. Jain, D. Chiu, W. Hawe 1984. */
static void fairness(const struct trial *trial, enum phase phase, double *jain, double *range)
{
    double sum = 0, squares = 0, least = 1e300, most = 0;
    for (uint32_t i = 0; i < trial->equal; i++) {
        double updates = (double)crowd_updates(&trial->crowd, phase, i, 1);
        sum += updates;
        squares += updates * updates;
        least = updates < least ? updates : least;
        most = updates > most ? updates : most;
    }
    *jain = squares > 0 ? sum * sum / (trial->equal * squares) : 0;
    *range = most > 0 ? least / most : 0;
}

static void line(struct benchmark *benchmark, const struct trial *trial, const char *what,
                 const char *unit, double value, struct figure_target target)
{
    char full[96];
    struct measured measured = measure_value(value);
    snprintf(full, sizeof full, "%s: %s", trial->name, what);
    benchmark_line(benchmark, &(struct figure){.what = full,
                                               .unit = unit,
                                               .is_time = true,
                                               .per_call = 1,
                                               .ours = &measured,
                                               .setting = trial->transport,
                                               .target = target});
}

/* Ten points of a phase: updates a second, and memory at the end of each. */
static void show_course(struct benchmark *benchmark, const struct trial *trial, enum phase phase)
{
    char rates[128] = "", memory[128] = "";
    size_t rates_used = 0, memory_used = 0;
    double begin = -1, length = trial->phase_seconds[phase];
    unsigned tenth = 1;
    for (size_t i = 0; i < trial->sample_count; i++) {
        const struct sample *sample = &trial->samples[i];
        if (sample->phase != phase)
            continue;
        begin = begin < 0 ? sample->seconds : begin;
        if ((sample->seconds - begin) / length < 0.1 * tenth - 0.01 || tenth > 10)
            continue;
        rates_used += (size_t)snprintf(rates + rates_used, sizeof rates - rates_used, " %.0f",
                                       rate_between(trial, phase, 0.1 * (tenth - 1), 0.1 * tenth));
        memory_used += (size_t)snprintf(memory + memory_used, sizeof memory - memory_used, " %.0f",
                                        sample->memory / MIB);
        tenth++;
    }
    benchmark_remark(benchmark, "by tenths of the time: updates a second%s; MiB%s", rates, memory);
}

static void show_memory(struct benchmark *benchmark, const struct trial *trial, enum phase phase,
                        const char *what)
{
    char full[96];
    struct measured ours = measure_value(peak(trial, phase) / MIB);
    struct measured bound = measure_value(allowed(trial) / MIB);
    snprintf(full, sizeof full, "%s: %s", trial->name, what);
    benchmark_line(benchmark, &(struct figure){.what = full,
                                               .unit = "MiB",
                                               .is_time = true,
                                               .per_call = 1,
                                               .ours = &ours,
                                               .limit = &bound,
                                               .limit_name = "allowed",
                                               .setting = trial->transport,
                                               .target = {.ratio_most = 1}});
}

static void show_phase(struct benchmark *benchmark, const struct trial *trial, enum phase phase)
{
    double jain, range;
    bool calm = phase == CALM;
    uint32_t all = trial->equal;
    double median = crowd_wait_quantile(&trial->crowd, phase, 0, all, 0.5);
    double longest = crowd_wait_longest(&trial->crowd, phase, 0, all);
    const struct figure_target none = {0};
    fairness(trial, phase, &jain, &range);
    line(benchmark, trial, calm ? "updates a second" : "the same in trouble", "1/s",
         rate(trial, phase), none);
    line(benchmark, trial, calm ? "Jain's index of updates" : "the same in trouble", "", jain,
         (struct figure_target){.least = 0.99});
    benchmark_remark(benchmark,
                     "%u equal workers: least / most updates %.3f; waits: median %.1f ms, p99 "
                     "%.1f, longest %.1f",
                     all, range, median / 1e3,
                     crowd_wait_quantile(&trial->crowd, phase, 0, all, 0.99) / 1e3, longest / 1e3);
    line(benchmark, trial, calm ? "longest wait / median" : "the same in trouble", "x",
         median > 0 ? longest / median : 0, (struct figure_target){.most = 20});
    show_memory(benchmark, trial, phase, calm ? "server's memory" : "the same in trouble");
    if (trial->wanted->seconds < LONG_SECONDS)
        return;
    show_course(benchmark, trial, phase);
    line(benchmark, trial, calm ? "its growth" : "the same in trouble", "KiB/s",
         slope(trial, phase) / 1024, (struct figure_target){.most = 20});
}

static void show(struct benchmark *benchmark, const struct trial *trial)
{
    double first = rate_between(trial, CALM, 0, 0.25), last = rate_between(trial, CALM, 0.75, 1);
    show_phase(benchmark, trial, CALM);
    if (trial->wanted->seconds >= LONG_SECONDS)
        line(benchmark, trial, "last quarter / first, updates", "x", first > 0 ? last / first : 0,
             (struct figure_target){.least = 0.9});
    show_phase(benchmark, trial, TROUBLE);
    line(benchmark, trial, "in trouble / calm, updates", "x",
         rate(trial, TROUBLE) / rate(trial, CALM), (struct figure_target){.least = 0.8});
    benchmark_remark(
        benchmark,
        "%.0f s warm, %.0f calm, %.0f until the stopped are lost (longest wait %.1f s), %.0f of "
        "trouble: %u slow, %u stopped; the server had %.0f MiB before anybody came",
        trial->phase_seconds[WARMING], trial->phase_seconds[CALM], trial->phase_seconds[LOSING],
        crowd_wait_longest(&trial->crowd, LOSING, 0, trial->equal) / 1e6,
        trial->phase_seconds[TROUBLE], trial->slow, trial->stopped, trial->memory_before / MIB);
}

/* --- the program --------------------------------------------------------------------------- */

static void measure(struct benchmark *benchmark, const struct wanted *wanted, enum mode mode,
                    const char *transport)
{
    struct trial trial = {.wanted = wanted, .mode = mode, .transport = transport};
    snprintf(trial.name, sizeof trial.name, "%u workers, %s", wanted->workers, mode_name(mode));
    const char *name = mode_name(mode);
    if (wanted->only != NULL &&
        (strncmp(wanted->only, name, strlen(name)) != 0 || strstr(wanted->only, transport) == NULL))
        return;
    share_out(&trial);
    folder_make(trial.folder);
    run(&trial);
    show(benchmark, &trial);
    end(&trial);
    folder_remove(trial.folder);
}

/* Takes an option of this program's own out of the arguments. */
static const char *take_option(int *argc, char **argv, const char *name, const char *otherwise)
{
    for (int i = 1; i + 1 < *argc; i++)
        if (strcmp(argv[i], name) == 0) {
            const char *value = argv[i + 1];
            *argc -= 2;
            memmove(&argv[i], &argv[i + 2], (size_t)(*argc - i) * sizeof *argv);
            return value;
        }
    return otherwise;
}

int main(int argc, char **argv)
{
    struct benchmark benchmark;
    const char *seconds = getenv("BENCH_SECONDS");
    struct wanted wanted = {
        .seconds = atof(take_option(&argc, argv, "--seconds", seconds != NULL ? seconds : "10")),
        .workers = (uint32_t)atoi(
            take_option(&argc, argv, "--workers", measure_is_smoke() ? "64" : "256")),
        .only = take_option(&argc, argv, "--only", NULL)};
    benchmark_open(&benchmark, "load", argc, argv);
    if (wanted.seconds < 1 || wanted.workers < 32 || wanted.workers > JOB_WORKERS_MAX)
        fail("--seconds takes a number from 1, --workers one from 32 to 1024");
    measure(&benchmark, &wanted, MODE_ASYNC, "tcp");
    measure(&benchmark, &wanted, MODE_ASYNC, "shm");
    measure(&benchmark, &wanted, MODE_SYNC, "tcp");
    measure(&benchmark, &wanted, MODE_SYNC, "shm");
    benchmark_remark(
        &benchmark,
        "allowed: the model, a gradient and an answer for each worker, 25 KiB a "
        "connection (256 more with shared memory) and %d MiB; in sync half the nodes of a step",
        PROGRAM_MIB);
    return benchmark_close(&benchmark);
}
