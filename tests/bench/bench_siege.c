/* bench_siege.c - what strangers without keys cost a job and its server: the reference job on
 * loopback, over TCP, alone and with hundreds at the server's door, in turn.
 *
 *     bench_siege [--json FILE] [--more] [--strangers N] [--kinds 0,1,...] [--epochs E] [--rounds R]
 *
 * Of each kind (siege.h), 800 unless told otherwise. Time is from when training is on, and the
 * strangers begin, to the end of the last worker. The strangers run at the lowest priority: what
 * they do themselves is their own cost, as if on another machine. Memory is what the server has
 * resident at most, beside what the same job took alone. By default only the kind that asks and
 * never reads is measured, in as many rounds as make a median; BENCH_KINDS=all has all. */

#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/file/disk.h"
#include "tests/bench/lib/folder.h"
#include "tests/lib/benchmark.h"
#include "tests/lib/observer.h"
#include "tests/lib/siege.h"

#define WORKERS  2
#define PATIENCE 120.0
#define PAUSE_US 2000
#define MIB      1048576.0
#define ALL_MIB  64  /* That strangers may take, in all; ps/server.h. */
#define SLOWDOWN 1.1 /* That a job may take longer. */
#define TEXT_MAX (DISK_PATH_MAX + 64)

struct trial {
    char programs[DISK_PATH_MAX], folder[FOLDER_PATH_MAX], address[ADDRESS_MAX];
    const char *epochs;
    bool besieged;
    enum siege_kind kind;
    uint32_t strangers;
    unsigned run;
    pid_t server, workers[WORKERS];
    double seconds;     /* Of the last run. */
    double busy;        /* Processor seconds of the server, in all runs ... */
    double busy_all;    /* ... and of the whole job. */
    double most;        /* Bytes resident in the server, at most, of all runs. */
    double connections; /* Of strangers, of the last run. */
    uint32_t open;      /* At its end. */
};

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(EXIT_FAILURE);
}

/* --- processes ----------------------------------------------------------------------------- */

static void find_programs(char path[DISK_PATH_MAX])
{
    char self[DISK_PATH_MAX - 32];
    ssize_t bytes = readlink("/proc/self/exe", self, sizeof self - 1);
    if (bytes < 0)
        fail("cannot find this program");
    self[bytes] = '\0';
    snprintf(path, DISK_PATH_MAX, "%s/../..", dirname(self));
}

/* Its output goes to a file, for whoever must find out why a measurement failed. */
static pid_t start(const struct trial *trial, const char *name, const char *const *arguments)
{
    char program[TEXT_MAX], log[TEXT_MAX];
    snprintf(program, sizeof program, "%s/syncopate-%s", trial->programs, name);
    snprintf(log, sizeof log, "%s/%s.log", trial->folder, name);
    fflush(NULL);
    pid_t child = fork();
    if (child < 0)
        fail("cannot start a process");
    if (child > 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (freopen(log, "a", stdout) == NULL || dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
        _exit(EXIT_FAILURE);
    execv(program, (char *const *)(uintptr_t)arguments);
    _exit(EXIT_FAILURE);
}

static void start_server(struct trial *trial)
{
    char port[TEXT_MAX], out[TEXT_MAX];
    double until = clock_now_seconds() + PATIENCE;
    snprintf(port, sizeof port, "%s/port-%u", trial->folder, trial->run);
    snprintf(out, sizeof out, "%s/run-%u", trial->folder, trial->run);
    const char *const arguments[] = {"syncopate-ps", "--ps-hosts", "127.0.0.1:0", "--port-file",
                                     port,           "--out",      out,           NULL};
    trial->server = start(trial, "ps", arguments);
    trial->address[0] = '\0';
    while (trial->address[0] == '\0' && clock_now_seconds() < until) {
        usleep(PAUSE_US);
        FILE *file = fopen(port, "r");
        if (file == NULL)
            continue;
        if (fgets(trial->address, sizeof trial->address, file) == NULL)
            trial->address[0] = '\0';
        fclose(file);
    }
    trial->address[strcspn(trial->address, "\n")] = '\0';
    if (trial->address[0] == '\0')
        fail("the server does not start");
}

static void start_workers(struct trial *trial)
{
    for (unsigned i = 0; i < WORKERS; i++) {
        const char *const arguments[] = {"syncopate-worker", "--ps-hosts",  trial->address,
                                         "--workers",        "2",           "--task-index",
                                         i == 0 ? "0" : "1", "--transport", "tcp",
                                         "--epochs",         trial->epochs, NULL};
        trial->workers[i] = start(trial, "worker", arguments);
    }
}

static void await_training(const struct trial *trial)
{
    struct observer observer;
    double until = clock_now_seconds() + PATIENCE;
    observer_open(&observer, trial->address);
    do {
        if (clock_now_seconds() > until)
            fail("the job does not start");
        usleep(PAUSE_US);
    } while (!observer_ask(&observer, PATIENCE) || !observer_state_is(&observer, "running"));
    observer_close(&observer);
}

static void look_at_memory(struct trial *trial)
{
    char path[64];
    double pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)trial->server);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return;
    if (fscanf(file, "%*f %lf", &pages) == 1 && pages * 4096 > trial->most)
        trial->most = pages * 4096;
    fclose(file);
}

/* Whether it has ended, and well. */
static bool has_ended(pid_t *process, double *busy)
{
    int status = 0;
    struct rusage usage;
    if (*process == 0)
        return true;
    if (wait4(*process, &status, WNOHANG, &usage) == 0)
        return false;
    *busy += (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
             (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail("a process of the job has failed; its log is in /tmp");
    *process = 0;
    return true;
}

/* One run; a piece's work. */
static void run(void *context)
{
    struct trial *trial = context;
    start_server(trial);
    start_workers(trial);
    await_training(trial);
    struct siege siege = {
        .address = trial->address, .kind = trial->kind, .count = trial->strangers};
    double began = clock_now_seconds();
    if (trial->besieged)
        siege_start(&siege);
    bool over = false;
    double workers = 0;
    while (!over) {
        usleep(PAUSE_US);
        look_at_memory(trial);
        over = true;
        for (unsigned i = 0; i < WORKERS; i++)
            over = has_ended(&trial->workers[i], &workers) && over;
    }
    trial->seconds = clock_now_seconds() - began;
    if (trial->besieged) {
        trial->connections = (double)atomic_load(&siege.shared->connections);
        trial->open = atomic_load(&siege.shared->open);
        siege_end(&siege);
    }
    double server = 0;
    while (!has_ended(&trial->server, &server))
        usleep(PAUSE_US);
    trial->busy += server;
    trial->busy_all += server + workers;
    trial->run++;
}

/* --- figures ------------------------------------------------------------------------------- */

static void show(struct benchmark *benchmark, const struct trial *besieged,
                 const struct trial *alone, const struct measured measured[2])
{
    char what[96];
    struct measured held = measure_value((besieged->most - alone->most) / MIB);
    snprintf(what, sizeof what, "%u %s: a job", besieged->strangers, siege_name(besieged->kind));
    benchmark_line(benchmark, &(struct figure){.what = what,
                                               .unit = "s",
                                               .is_time = true,
                                               .per_call = 1,
                                               .ours = &measured[0],
                                               .limit = &measured[1],
                                               .limit_name = "the same alone",
                                               .setting = "tcp",
                                               .target = {.ratio_most = SLOWDOWN}});
    snprintf(what, sizeof what, "%u %s: memory", besieged->strangers, siege_name(besieged->kind));
    benchmark_line(benchmark, &(struct figure){.what = what,
                                               .unit = "MiB",
                                               .is_time = true,
                                               .per_call = 1,
                                               .ours = &held,
                                               .setting = "tcp",
                                               .target = {.most = ALL_MIB}});
    benchmark_remark(
        benchmark,
        "the server had %.0f MiB at most, %.0f alone, and took %.2f s of a processor a "
        "run, %.2f alone; the whole job %.2f s, %.2f alone (%.2f times); %.0f connections, %u of "
        "them there at the end",
        besieged->most / MIB, alone->most / MIB, besieged->busy / besieged->run,
        alone->busy / alone->run, besieged->busy_all / besieged->run, alone->busy_all / alone->run,
        besieged->busy_all / alone->busy_all, besieged->connections, besieged->open);
}

/* --- the program --------------------------------------------------------------------------- */

/* Takes an option of this program's own out of the arguments. */
static const char *take(int *argc, char **argv, const char *name, const char *otherwise)
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

static bool is_wanted(const char *kinds, unsigned kind)
{
    char number[16], list[256];
    snprintf(number, sizeof number, ",%u,", kind);
    snprintf(list, sizeof list, ",%s,", kinds);
    return strcmp(kinds, "all") == 0 || strstr(list, number) != NULL;
}

int main(int argc, char **argv)
{
    struct benchmark benchmark;
    const char *environment = getenv("BENCH_KINDS");
    const char *kinds =
        take(&argc, argv, "--kinds", environment != NULL && environment[0] ? environment : "0");
    const char *epochs = take(&argc, argv, "--epochs", measure_is_smoke() ? "1" : "8");
    uint32_t strangers = (uint32_t)atoi(take(&argc, argv, "--strangers", "800"));
    unsigned rounds = (unsigned)atoi(take(&argc, argv, "--rounds", "3"));
    benchmark_open(&benchmark, "siege", argc, argv);
    for (unsigned kind = 0; kind < SIEGE_KINDS; kind++) {
        struct trial trials[2] = {
            {.epochs = epochs, .besieged = true, .kind = kind, .strangers = strangers},
            {.epochs = epochs}};
        struct measured measured[2];
        struct piece pieces[2];
        if (!is_wanted(kinds, kind))
            continue;
        for (int i = 0; i < 2; i++) {
            find_programs(trials[i].programs);
            folder_make(trials[i].folder);
            pieces[i] = (struct piece){.work = run,
                                       .context = &trials[i],
                                       .cold = true,
                                       .own_seconds = &trials[i].seconds};
        }
        measure_in_turn(pieces, 2, rounds, measured);
        show(&benchmark, &trials[0], &trials[1], measured);
        for (int i = 0; i < 2; i++)
            folder_remove(trials[i].folder);
    }
    return benchmark_close(&benchmark);
}
