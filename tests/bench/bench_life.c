/* bench_life.c - the whole life of a job with a large model, 361 MB and three steps: where its seconds
 * go, and what its start and its end take beside reading and writing the same bytes once.
 *
 *     bench_life [--json FILE] [--more]
 *
 * Start and end are all seconds of the command but those of steps and scores. The bytes are those of the
 * last checkpoint and the model file: the limit reads them, cold from the device or warm from the
 * page cache, and writes them to one file, flushed. Twice that is to be enough. */

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/run_phases.h"
#include "common/file/json.h"
#include "tests/bench/lib/job_command.h"
#include "tests/lib/benchmark.h"

#define ROUNDS      3
#define BLOCK_BYTES (4u << 20)
#define POLL_US     50000u
#define MODEL       "flatten, dense 9500 relu, dense 8700 relu, dense 10"
#define MODEL_BYTES 360812840.0

/* The most memory that a job's processes had, in bytes. */
struct peaks {
    atomic_bool over;
    double server, worker;
};

/* Runs of the job, and what the last one left. */
struct life_runs {
    struct job_command command;
    struct peaks peaks;
    double parts[RUN_PHASE_COUNT], total, around; /* Seconds; around: start and end. */
    double bytes;                                 /* Of the last checkpoint and the model. */
    char copy[FOLDER_PATH_MAX + 16];
    char *block; /* [BLOCK_BYTES] */
};

static _Noreturn void fail(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

/* --- memory -------------------------------------------------------------------------------- */

/* A number of /proc/ID/status, 0 where it is not there; the process's name into name[16]. */
static double status_of(const char *id, const char *field, char name[16])
{
    char path[300], line[256], found[32];
    double number, value = 0;
    snprintf(path, sizeof path, "/proc/%.200s/status", id);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        sscanf(line, "Name: %15s", name);
        if (sscanf(line, "%31[^:]: %lf", found, &number) == 2 && strcmp(found, field) == 0)
            value = number;
    }
    if (file != NULL)
        fclose(file);
    return value;
}

/* One of ours: the child of a child. */
static void note_process(struct peaks *peaks, const char *id)
{
    char name[16] = "", parent[32], unused[16];
    double kilobytes = status_of(id, "VmHWM", name);
    if (strncmp(name, "syncopate-", 10) != 0)
        return;
    snprintf(parent, sizeof parent, "%.0f", status_of(id, "PPid", unused));
    if ((pid_t)status_of(parent, "PPid", unused) != getpid())
        return;
    double *most = strcmp(name, "syncopate-ps") == 0 ? &peaks->server : &peaks->worker;
    *most = 1024 * kilobytes > *most ? 1024 * kilobytes : *most;
}

static void *watch(void *argument)
{
    struct peaks *peaks = argument;
    while (!atomic_load(&peaks->over)) {
        const struct dirent *entry;
        DIR *all = opendir("/proc");
        while (all != NULL && (entry = readdir(all)) != NULL)
            if (isdigit((unsigned char)entry->d_name[0]))
                note_process(peaks, entry->d_name);
        if (all != NULL)
            closedir(all);
        usleep(POLL_US);
    }
    return NULL;
}

/* --- pieces -------------------------------------------------------------------------------- */

static void read_parts(struct life_runs *runs, const char *out)
{
    char path[FOLDER_PATH_MAX + 64];
    struct json *root;
    struct error error;
    snprintf(path, sizeof path, "%s/run.json", out);
    if (json_read_file(&disk_posix, path, 1 << 24, &root, &error) != STATUS_OK)
        fail(error.text);
    for (enum run_phase i = 0; i < RUN_PHASE_COUNT; i++)
        runs->parts[i] = json_number(json_at(root, "parts"), run_phase_name(i));
    runs->total = json_number(root, "total_seconds");
    runs->around = runs->command.wall - runs->parts[RUN_PHASE_FIRST_STEP] -
                   runs->parts[RUN_PHASE_TRAINING] - runs->parts[RUN_PHASE_EVALUATION];
    json_release(&root);
}

static void last_run(const struct life_runs *runs, unsigned back, char out[FOLDER_PATH_MAX + 16])
{
    snprintf(out, FOLDER_PATH_MAX + 16, "%s/%u", runs->command.out, runs->command.run - back);
}

static void live(void *context)
{
    struct life_runs *runs = context;
    char out[FOLDER_PATH_MAX + 16];
    pthread_t watcher;
    atomic_store(&runs->peaks.over, false);
    if (pthread_create(&watcher, NULL, watch, &runs->peaks) != 0)
        fail("a thread");
    job_command_run(&runs->command);
    atomic_store(&runs->peaks.over, true);
    pthread_join(watcher, NULL);
    last_run(runs, 1, out);
    read_parts(runs, out);
    if (runs->command.run > 1) {
        last_run(runs, 2, out);
        folder_remove(out, NULL);
    }
}

static void move(struct life_runs *runs, int to, const char *path, bool cold)
{
    ssize_t count;
    int from = open(path, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        fail(path);
    if (cold && posix_fadvise(from, 0, 0, POSIX_FADV_DONTNEED) != 0)
        fail(path);
    while ((count = read(from, runs->block, BLOCK_BYTES)) > 0) {
        if (write(to, runs->block, (size_t)count) != count)
            fail(runs->copy);
        runs->bytes += (double)count;
    }
    if (count < 0)
        fail(path);
    close(from);
}

static void move_all(struct life_runs *runs, bool cold)
{
    char out[FOLDER_PATH_MAX + 16], path[FOLDER_PATH_MAX + 100];
    last_run(runs, 1, out);
    runs->bytes = 0;
    int to = open(runs->copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (to < 0)
        fail(runs->copy);
    snprintf(path, sizeof path, "%s/checkpoints/step-000000000003/part-0-of-1.safetensors", out);
    move(runs, to, path, cold);
    snprintf(path, sizeof path, "%s/model.safetensors", out);
    move(runs, to, path, cold);
    if (fsync(to) != 0)
        fail(runs->copy);
    close(to);
    unlink(runs->copy);
}

static void move_cold(void *context)
{
    move_all(context, true);
}

static void move_warm(void *context)
{
    move_all(context, false);
}

/* --- what is shown ------------------------------------------------------------------------- */

static void show_ratio(struct benchmark *benchmark, const struct life_runs *runs,
                       const struct measured *around, const struct measured *moved,
                       const char *name)
{
    benchmark_line(benchmark, &(struct figure){.what = "start and end, 361 MB, 3 steps",
                                               .unit = "s",
                                               .is_time = true,
                                               .per_call = 1,
                                               .limit_per_call = 2,
                                               .ours = around,
                                               .limit = moved,
                                               .limit_name = name,
                                               .bytes = runs->bytes,
                                               .setting = "sync 1 ps",
                                               .target = {.ratio_most = 1}});
}

static void show_parts(struct benchmark *benchmark, const struct life_runs *runs)
{
    char text[RUN_PHASE_COUNT * 32] = "";
    size_t used = 0;
    for (enum run_phase i = 0; i < RUN_PHASE_COUNT; i++)
        if (runs->parts[i] >= 0.005)
            used += (size_t)snprintf(text + used, sizeof text - used, ", %s %.2f",
                                     run_phase_name(i), runs->parts[i]);
    benchmark_remark(benchmark, "the last run took %.2f s, in run.json %.2f: %s",
                     runs->command.wall, runs->total, text + 2);
    benchmark_remark(benchmark,
                     "most memory: server %.2f GB, %.1f x the model, worker %.2f GB, %.1f x",
                     runs->peaks.server * 1e-9, runs->peaks.server / MODEL_BYTES,
                     runs->peaks.worker * 1e-9, runs->peaks.worker / MODEL_BYTES);
    benchmark_remark(
        benchmark,
        "server 6 x by its parts: values 3 (first ones, and two that workers read), slots "
        "2, a gradient 1, and for a cut that is not the last 2 more; what is shared is in both");
}

int main(int argc, char **argv)
{
    static const char *const job[] = {"--ps",    "1",      "--workers",      "1",       "--mode",
                                      "sync",    "--data", "synthetic:1000", "--model", MODEL,
                                      "--steps", "3",      "--seed",         "1",       NULL};
    struct benchmark benchmark;
    struct measured measured[3];
    struct life_runs runs = {.block = malloc(BLOCK_BYTES)};
    benchmark_open(&benchmark, "life", argc, argv);
    job_command_init(&runs.command, 1);
    runs.command.job = job;
    snprintf(runs.copy, sizeof runs.copy, "%s/copy", runs.command.out);
    if (runs.block == NULL)
        fail("memory");
    live(&runs); /* So that there is something to move, and the programs are in memory. */
    struct piece pieces[3] = {
        {.work = live, .context = &runs, .cold = true, .own_seconds = &runs.around},
        {.work = move_cold, .context = &runs, .cold = true},
        {.work = move_warm, .context = &runs, .cold = true}};
    measure_in_turn(pieces, 3, ROUNDS, measured);
    show_ratio(&benchmark, &runs, &measured[0], &measured[1], "2 x read cold, write");
    show_ratio(&benchmark, &runs, &measured[0], &measured[2], "2 x read warm, write");
    show_parts(&benchmark, &runs);
    job_command_free(&runs.command);
    free(runs.block);
    return benchmark_close(&benchmark);
}
