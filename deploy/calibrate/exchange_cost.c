/* exchange_cost.c - starts two processes and reads their processor time when they end. */

#include "deploy/calibrate/exchange_cost.h"

#include <errno.h>
#include <fcntl.h>
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
#include "common/file/folder.h"
#include "common/file/json.h"

#define PATIENCE_SECONDS 60.0
#define LOOK_US          2000
#define FEW              50 /* Updates. */
#define MANY_BYTES       (256u << 20)
#define MANY_MOST        2050
#define MANY_LEAST       250
/* The duration of many updates, estimated from few: hosts and builds are slow. */
#define MANY_SECONDS 15.0
#define PATH_ROOM    (DISK_PATH_MAX + 64)

/* The cost of a run of so many updates. */
struct trial {
    double worker_cpu, server_cpu, computing, exchanging; /* Seconds. */
};

struct pair {
    const char *programs, *transport;
    char folder[DISK_PATH_MAX]; /* Ours, removed at the end. */
    pid_t server, worker;       /* 0: not there. */
    const atomic_int *stop;
};

static bool is_stopped(const struct pair *pair)
{
    return atomic_load(pair->stop) != 0;
}

static enum status report_stop(struct error *error)
{
    return error_set(error, STATUS_INTERRUPTED, "stopped; nothing is kept");
}

/* A pid, or -1 with errno. The output of the process goes to the folder's `log`. */
static pid_t start(const struct pair *pair, const char *program, const char *const *arguments)
{
    char path[PATH_ROOM], log[PATH_ROOM];
    snprintf(path, sizeof path, "%s/%s", pair->programs, program);
    snprintf(log, sizeof log, "%s/log", pair->folder);
    pid_t parent = getpid(), pid = fork();
    if (pid != 0)
        return pid;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (getppid() != parent || out < 0 || in < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 ||
        dup2(out, 2) < 0)
        _exit(127);
    execv(path, (char *const *)(uintptr_t)arguments); /* Which changes none of them. */
    _exit(127);
}

static enum status await(const struct pair *pair, pid_t *pid, const char *who, double *cpu,
                         struct error *error)
{
    struct rusage used;
    int how = 0;
    pid_t ended;
    double end = clock_now_seconds() + PATIENCE_SECONDS;
    while ((ended = wait4(*pid, &how, WNOHANG, &used)) == 0 && clock_now_seconds() < end &&
           !is_stopped(pair))
        usleep(LOOK_US);
    if (ended != 0)
        *pid = 0;
    if (is_stopped(pair)) /* A terminal's Ctrl-C has ended it, too. */
        return report_stop(error);
    if (ended == 0)
        return error_set(error, STATUS_IO, "%s has not ended within %.0f s", who, PATIENCE_SECONDS);
    if (ended < 0 || !WIFEXITED(how) || WEXITSTATUS(how) != 0)
        return error_set(error, STATUS_IO,
                         "%s, which was started to measure exchanges, failed (%d)", who,
                         WIFEXITED(how) ? WEXITSTATUS(how) : -1);
    *cpu = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    return STATUS_OK;
}

static void finish(pid_t *pid)
{
    if (*pid <= 0)
        return;
    kill(*pid, SIGKILL);
    waitpid(*pid, NULL, 0);
    *pid = 0;
}

/* The server's address, once it listens. */
static enum status find_address(const struct pair *pair, const char *path, char address[128],
                                struct error *error)
{
    double end = clock_now_seconds() + PATIENCE_SECONDS;
    address[0] = '\0';
    while (clock_now_seconds() < end && !is_stopped(pair)) {
        FILE *file = fopen(path, "re");
        bool whole = file != NULL && fgets(address, 128, file) != NULL && strchr(address, '\n');
        if (file != NULL)
            fclose(file);
        if (whole) {
            address[strcspn(address, "\n")] = '\0';
            return STATUS_OK;
        }
        usleep(LOOK_US);
    }
    if (is_stopped(pair))
        return report_stop(error);
    return error_set(error, STATUS_IO, "the server that was started does not listen");
}

static enum status read_times(const char *out, struct trial *trial, struct error *error)
{
    char path[PATH_ROOM + 16];
    struct json *root = NULL;
    snprintf(path, sizeof path, "%s/run.json", out);
    enum status status = json_read_file(&disk_posix, path, 1u << 20, &root, error);
    if (status != STATUS_OK)
        return status;
    const struct json *worker = json_item(json_at(root, "worker_details"), 0);
    trial->computing = json_number(worker, "compute_seconds");
    trial->exchanging = json_number(worker, "exchange_seconds");
    json_release(&root);
    return STATUS_OK;
}

static enum status run(struct pair *pair, uint32_t width, unsigned updates, struct trial *trial,
                       struct error *error)
{
    char out[PATH_ROOM], port[PATH_ROOM], address[128], model[64], steps[16];
    snprintf(out, sizeof out, "%s/run-%u", pair->folder, updates);
    snprintf(port, sizeof port, "%s/port-%u", pair->folder, updates);
    snprintf(model, sizeof model, "flatten, dense %u relu, dense 10", width);
    snprintf(steps, sizeof steps, "%u", updates);
    const char *const server[] = {"syncopate-ps", "--ps-hosts", "127.0.0.1:0", "--port-file", port,
                                  "--out",        out,          "--quiet",     NULL};
    pair->server = start(pair, "syncopate-ps", server);
    if (pair->server < 0)
        return error_set(error, STATUS_IO, "cannot start syncopate-ps: %s", strerror(errno));
    enum status status = find_address(pair, port, address, error);
    if (status != STATUS_OK)
        return status;
    const char *const worker[] = {"syncopate-worker",
                                  "--ps-hosts",
                                  address,
                                  "--workers",
                                  "1",
                                  "--mode=async",
                                  "--model",
                                  model,
                                  "--data",
                                  "synthetic:4096",
                                  "--micro-batch",
                                  "1",
                                  "--worker-batch",
                                  "1",
                                  "--steps",
                                  steps,
                                  "--optimizer",
                                  "sgd",
                                  "--learning-rate",
                                  "0.0001",
                                  "--checkpoint-every",
                                  "0",
                                  "--record",
                                  "off",
                                  "--transport",
                                  pair->transport,
                                  "--quiet",
                                  NULL};
    pair->worker = start(pair, "syncopate-worker", worker);
    if (pair->worker < 0)
        return error_set(error, STATUS_IO, "cannot start syncopate-worker: %s", strerror(errno));
    status = await(pair, &pair->worker, "syncopate-worker", &trial->worker_cpu, error);
    if (status == STATUS_OK)
        status = await(pair, &pair->server, "syncopate-ps", &trial->server_cpu, error);
    return status == STATUS_OK ? read_times(out, trial, error) : status;
}

static enum status open_folder(struct pair *pair, struct error *error)
{
    const char *where = getenv("TMPDIR");
    int length = snprintf(pair->folder, sizeof pair->folder, "%s/syncopate-calibrate-XXXXXX",
                          where != NULL && where[0] != '\0' ? where : "/tmp");
    if (length < 0 || (size_t)length >= sizeof pair->folder || mkdtemp(pair->folder) == NULL)
        return error_set(error, STATUS_IO, "cannot make a folder to work in, %s: %s", pair->folder,
                         strerror(errno));
    return STATUS_OK;
}

/* Enough for the clock's resolution, as few as the size and the host's speed allow. */
static unsigned choose_many(uint64_t bytes, const struct trial *few)
{
    uint64_t by_size = MANY_BYTES / bytes;
    unsigned many = by_size > MANY_MOST    ? MANY_MOST
                    : by_size < MANY_LEAST ? MANY_LEAST
                                           : (unsigned)by_size;
    double each = (few->computing + few->exchanging) / FEW;
    if (!(each * many > MANY_SECONDS))
        return many;
    double fit = MANY_SECONDS / each;
    return fit > 2.0 * FEW ? (unsigned)fit : 2 * FEW;
}

enum status exchange_cost_measure(struct exchange_cost *cost, const char *programs,
                                  const char *transport, uint32_t width, const atomic_int *stop,
                                  struct error *error)
{
    struct pair pair = {.programs = programs, .transport = transport, .stop = stop};
    struct trial few, many;
    cost->bytes = (UINT64_C(795) * width + 10) * sizeof(float);
    unsigned updates = 0;
    enum status status = open_folder(&pair, error);
    if (status != STATUS_OK)
        return status;
    status = run(&pair, width, FEW, &few, error);
    if (status == STATUS_OK) {
        updates = choose_many(cost->bytes, &few);
        status = run(&pair, width, updates, &many, error);
    }
    finish(&pair.worker);
    finish(&pair.server);
    enum status removed = folder_remove(pair.folder, status == STATUS_OK ? error : NULL);
    if (status == STATUS_OK)
        status = removed;
    if (status != STATUS_OK)
        return status;
    double each = 1e9 / (updates - FEW);
    double computing = many.computing - few.computing;
    cost->worker_ns = (many.worker_cpu - few.worker_cpu - computing) * each;
    cost->server_ns = (many.server_cpu - few.server_cpu) * each;
    cost->wall_ns = (many.exchanging - few.exchanging) * each;
    return STATUS_OK;
}
