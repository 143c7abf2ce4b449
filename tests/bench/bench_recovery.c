/* bench_recovery.c - from kill -9 of a process of a job to the next step or update that the job makes.
 *
 *     bench_recovery [--json FILE] [--more]
 *
 * Two servers and two workers of the real programs, fixed ports, loopback. A killed process is
 * started again at once by us, or, for one row, never: then its work goes to the other worker when
 * --worker-timeout has passed, and a new process follows after the measurement. Steps are taken
 * from server 0's answers to STATUS, asked every 2 ms. With a server killed, "a step" is one after
 * the job has gone back to its newest checkpoint: every server has then served exchanges again.
 *
 * Sync has all rows; async those that differ, where all go back as well.
 *
 * BENCH_KILLS: kills a row, 5 unless set; the figures that count have 20. */

#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/file/disk.h"
#include "deploy/launcher/ports.h"
#include "tests/bench/lib/folder.h"
#include "tests/lib/benchmark.h"
#include "tests/lib/observer.h"

#define SERVERS        2
#define WORKERS        2
#define PATIENCE       60.0  /* Seconds for anything. */
#define PAUSE_US       2000  /* Between questions. */
#define SETTLE_US      50000 /* What was pushed before a kill may yet make a step. */
#define REST_US        1500000
#define ARGUMENTS_MAX  24
#define ARGUMENT_MAX   (DISK_PATH_MAX + 64)
#define WORKER_TIMEOUT "5" /* The default. */

struct cluster {
    const char *mode;
    char programs[DISK_PATH_MAX], folder[FOLDER_PATH_MAX];
    char hosts[SERVERS * 32], first[32];
    pid_t pids[SERVERS + WORKERS]; /* Servers, then workers. */
    struct observer observer;
};

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(EXIT_FAILURE);
}

/* --- the cluster ---------------------------------------------------------------------------- */

static void find_programs(char path[DISK_PATH_MAX])
{
    char self[DISK_PATH_MAX - 32];
    ssize_t bytes = readlink("/proc/self/exe", self, sizeof self - 1);
    if (bytes < 0)
        fail("cannot find this program");
    self[bytes] = '\0';
    snprintf(path, DISK_PATH_MAX, "%s/../..", dirname(self));
}

struct command {
    char words[ARGUMENTS_MAX][ARGUMENT_MAX];
    char *list[ARGUMENTS_MAX + 1];
    unsigned count;
};

static void add_word(struct command *command, int bytes)
{
    if (bytes < 0 || bytes >= ARGUMENT_MAX)
        fail("a path is too long");
    command->list[command->count] = command->words[command->count];
    command->list[++command->count] = NULL;
}

static void add(struct command *command, const char *name, const char *value)
{
    char *word = command->words[command->count];
    add_word(command, snprintf(word, ARGUMENT_MAX, "--%s=%s", name, value));
}

/* Its output goes to a file, for whoever must find out why a measurement failed. */
static _Noreturn void become(struct command *command, const char *log)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (freopen(log, "a", stdout) == NULL || dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
        _exit(EXIT_FAILURE);
    execv(command->list[0], command->list);
    _exit(EXIT_FAILURE);
}

static void start(struct cluster *cluster, unsigned process)
{
    static struct command command;
    char index[16], log[FOLDER_PATH_MAX + 32], out[FOLDER_PATH_MAX + 32];
    bool server = process < SERVERS;
    command.count = 0;
    snprintf(index, sizeof index, "%u", server ? process : process - SERVERS);
    snprintf(log, sizeof log, "%s/%s-%s.log", cluster->folder, server ? "ps" : "worker", index);
    snprintf(out, sizeof out, "%s/run", cluster->folder);
    add_word(&command, snprintf(command.words[0], ARGUMENT_MAX, "%s/syncopate-%s",
                                cluster->programs, server ? "ps" : "worker"));
    add(&command, "task-index", index);
    add(&command, "ps-hosts", cluster->hosts);
    add(&command, "worker-timeout", WORKER_TIMEOUT);
    if (server) {
        add(&command, "out", out);
    } else {
        add(&command, "workers", "2");
        add(&command, "mode", cluster->mode);
        add(&command, "model", "softmax");
        add(&command, "data", "synthetic:2000");
        add(&command, "steps", "1000000000");
        add(&command, "checkpoint-every", "500");
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        become(&command, log);
    if (child < 0)
        fail("cannot start a process");
    cluster->pids[process] = child;
}

static void kill_hard(struct cluster *cluster, unsigned process)
{
    if (kill(cluster->pids[process], SIGKILL) != 0 ||
        waitpid(cluster->pids[process], NULL, 0) != cluster->pids[process])
        fail("a process was not there to be killed");
}

/* Wait until `steps` more than the lowest number seen have been made. */
static void await_steps(struct cluster *cluster, uint64_t steps)
{
    double end = clock_now_seconds() + PATIENCE;
    uint64_t lowest = UINT64_MAX;
    while (clock_now_seconds() < end) {
        if (observer_ask(&cluster->observer, PATIENCE) &&
            observer_state_is(&cluster->observer, "running")) {
            uint64_t step = observer_step(&cluster->observer);
            lowest = step < lowest ? step : lowest;
            if (step >= lowest + steps)
                return;
        }
        usleep(PAUSE_US);
    }
    fprintf(stderr, "%s\n", cluster->observer.text);
    fail("the job makes no step");
}

static void cluster_open(struct cluster *cluster, const char *mode)
{
    *cluster = (struct cluster){.mode = mode};
    find_programs(cluster->programs);
    folder_make(cluster->folder);
    for (unsigned i = 0; i < SERVERS; i++) {
        uint16_t port;
        size_t used = strlen(cluster->hosts);
        if (port_hold(&port) < 0) /* Until this program ends. */
            fail("there is no port");
        snprintf(cluster->hosts + used, sizeof cluster->hosts - used, "%s127.0.0.1:%u",
                 i > 0 ? "," : "", port);
        if (i == 0)
            snprintf(cluster->first, sizeof cluster->first, "%s", cluster->hosts);
    }
    for (unsigned i = 0; i < SERVERS + WORKERS; i++)
        start(cluster, i);
    observer_open(&cluster->observer, cluster->first);
    await_steps(cluster, 1000);
}

static void cluster_close(struct cluster *cluster)
{
    observer_close(&cluster->observer);
    for (unsigned i = 0; i < SERVERS + WORKERS; i++)
        kill_hard(cluster, i);
    folder_remove(cluster->folder);
}

/* --- the measurements ----------------------------------------------------------------------- */

struct row {
    const char *what;
    unsigned process;
    bool comes_back;
};

static double measure_kill(struct cluster *cluster, const struct row *row)
{
    double killed = clock_now_seconds();
    kill_hard(cluster, row->process);
    if (row->comes_back)
        start(cluster, row->process);
    usleep(SETTLE_US);
    await_steps(cluster, 1);
    double took = clock_now_seconds() - killed;
    if (!row->comes_back)
        start(cluster, row->process);
    await_steps(cluster, 20);
    usleep(REST_US); /* For whoever came back to be one of them again, and a checkpoint. */
    return took;
}

static void measure_row(struct benchmark *benchmark, struct cluster *cluster, const struct row *row,
                        unsigned kills)
{
    struct measured measured = {.rounds = kills};
    char setting[32];
    snprintf(setting, sizeof setting, "%s %d ps", cluster->mode, SERVERS);
    for (unsigned i = 0; i < kills; i++)
        measured.seconds[i] = measure_kill(cluster, row);
    benchmark_line(benchmark, &(struct figure){.what = row->what,
                                               .unit = "s",
                                               .is_time = true,
                                               .per_call = 1,
                                               .ours = &measured,
                                               .setting = setting});
    struct spread spread = spread_of(measured.seconds, kills);
    benchmark_remark(benchmark, "of %u kills: p50 %.2f s, max %.2f s", kills, spread.median,
                     spread.most);
}

static unsigned read_kills(void)
{
    const char *text = getenv("BENCH_KILLS");
    int kills = text != NULL && text[0] != '\0' ? atoi(text) : 5;
    if (kills < 1 || kills > MEASURE_ROUNDS_MAX)
        fail("BENCH_KILLS takes a number from 1 to 32");
    return (unsigned)kills;
}

static void measure_mode(struct benchmark *benchmark, const char *mode, const struct row *rows,
                         size_t count)
{
    static struct cluster cluster;
    unsigned kills = read_kills();
    cluster_open(&cluster, mode);
    for (size_t i = 0; i < count; i++)
        measure_row(benchmark, &cluster, &rows[i], kills);
    cluster_close(&cluster);
}

int main(int argc, char **argv)
{
    static const struct row sync[] = {
        {"worker killed, started again: next step", SERVERS + 1, true},
        {"worker killed for good: next step", SERVERS + 1, false},
        {"server killed, started again: next step", 1, true},
        {"server 0 killed, started again: next step", 0, true},
    };
    static const struct row async[] = {
        {"server killed, started again: next update", 1, true},
        {"server 0 killed, started again: next update", 0, true},
    };
    struct benchmark benchmark;
    benchmark_open(&benchmark, "recovery", argc, argv);
    measure_mode(&benchmark, "sync", sync, sizeof sync / sizeof *sync);
    measure_mode(&benchmark, "async", async, sizeof async / sizeof *async);
    return benchmark_close(&benchmark);
}
