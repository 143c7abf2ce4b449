/* bench_overlap.c - a step over a slow network, with gradients that leave while the rest of them is
 * computed and without: real programs in namespaces of their own (namespaces.h).
 *
 *     bench_overlap [--json FILE] [--more]
 *
 * One leaf a worker, as large as makes computing and transfer alike: that is where most can be hidden. The
 * step is beside what it cannot be shorter than, the longer of computing (what the workers say it took)
 * and transfer (the values' bytes at the rate, one way). All of it is in one epoch, for a score at an
 * epoch's end takes one more transfer. Linux, as root; else it is skipped. */

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file/disk.h"
#include "common/file/json.h"
#include "tests/bench/lib/folder.h"
#include "tests/bench/lib/namespaces.h"
#include "tests/lib/benchmark.h"

#define PAIRS_MAX  2
#define HOSTS_MAX  (2 * PAIRS_MAX)
#define ROUNDS     5
#define BYTES      487744.0 /* Of the cnn. */
#define LINE_BYTES 1024

struct setting {
    const char *name, *rate;
    double bits_a_second;
    unsigned pairs; /* So many servers and workers. */
    unsigned leaf;  /* Examples. */
    unsigned steps;
};

static const struct setting settings[] = {
    {"step, 1 Gbit/s, 1 + 1", "1gbit", 1e9, 1, 64, 100},
    {"step, 100 Mbit/s, 1 + 1", "100mbit", 1e8, 1, 512, 20},
    {"step, 1 Gbit/s, 2 + 2", "1gbit", 1e9, 2, 64, 100},
    {"step, 100 Mbit/s, 2 + 2", "100mbit", 1e8, 2, 512, 20},
};

struct run {
    const struct setting *setting;
    const char *programs, *folder;
    struct namespaces *network;
    bool overlap;
    double step, compute; /* Seconds a step. */
};

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(EXIT_FAILURE);
}

/* --- a run ---------------------------------------------------------------------------------- */

static pid_t start_process(const struct run *run, bool serves, unsigned index)
{
    char line[LINE_BYTES];
    const struct setting *s = run->setting;
    int used =
        snprintf(line, sizeof line,
                 "exec %s/syncopate-%s --task-index %u --ps-hosts " NAMESPACES_NETWORK ".1:7000%s ",
                 run->programs, serves ? "ps" : "worker", index,
                 s->pairs > 1 ? "," NAMESPACES_NETWORK ".2:7000" : "");
    if (serves)
        snprintf(line + used, sizeof line - (size_t)used, "--insecure --out %s/run >/dev/null 2>&1",
                 run->folder);
    else
        snprintf(line + used, sizeof line - (size_t)used,
                 "--workers %u --mode sync --model cnn --data synthetic:%u --seed 1 --steps %u "
                 "--global-batch %u --micro-batch %u --chunk-bytes 32K --chunks-at-layers "
                 "--checkpoint-every 0%s "
                 ">/dev/null 2>&1",
                 s->pairs, s->steps * s->pairs * s->leaf, s->steps, s->pairs * s->leaf, s->leaf,
                 run->overlap ? " --overlap" : "");
    return namespaces_start(1 + index + (serves ? 0 : s->pairs), line);
}

static void read_run(struct run *run)
{
    char path[DISK_PATH_MAX];
    struct json *root;
    struct error error;
    snprintf(path, sizeof path, "%s/run/run.json", run->folder);
    if (json_read_file(&disk_posix, path, 1 << 24, &root, &error) != STATUS_OK)
        fail(error.text);
    const struct json *workers = json_at(root, "worker_details");
    size_t count = json_length(workers, "");
    run->step = json_number(root, "seconds") / run->setting->steps;
    run->compute = 0;
    for (size_t i = 0; i < count; i++)
        run->compute += json_number(json_item(workers, i), "compute_seconds");
    run->compute /= (double)count * run->setting->steps;
    json_release(&root);
}

static void train(void *context)
{
    struct run *run = context;
    char folder[LINE_BYTES];
    pid_t children[HOSTS_MAX];
    unsigned count = 0;
    double cpu_seconds = 0;
    bool well = true;
    for (unsigned i = 0; i < run->setting->pairs; i++) {
        children[count++] = start_process(run, true, i);
        children[count++] = start_process(run, false, i);
    }
    for (unsigned i = 0; i < count; i++)
        well = namespaces_await(children[i], &cpu_seconds) && well;
    if (!well) {
        namespaces_remove(run->network);
        fail("a job over a slow network has failed");
    }
    read_run(run);
    snprintf(folder, sizeof folder, "%s/run", run->folder);
    folder_remove(folder, NULL);
}

/* --- what is shown -------------------------------------------------------------------------- */

static void show(struct benchmark *benchmark, const struct run runs[2],
                 const struct measured measured[2])
{
    const struct setting *s = runs[0].setting;
    double transfer = BYTES * 8 / s->bits_a_second;
    double compute = runs[1].compute, most = compute > transfer ? compute : transfer;
    char setting[48];
    snprintf(setting, sizeof setting, "leaf of %u", s->leaf);
    benchmark_line(benchmark, &(struct figure){.what = s->name,
                                               .unit = "ms",
                                               .is_time = true,
                                               .per_call = 1e3,
                                               .ours = &measured[0],
                                               .limit = &measured[1],
                                               .limit_name = "without --overlap",
                                               .setting = setting});
    benchmark_remark(benchmark,
                     "computing %.1f ms, transfer %.1f ms: %.2f x the longer; without --overlap "
                     "%.2f x, of their sum %.2f x",
                     1e3 * compute, 1e3 * transfer,
                     spread_of(measured[0].seconds, measured[0].rounds).median / most,
                     spread_of(measured[1].seconds, measured[1].rounds).median / most,
                     spread_of(measured[1].seconds, measured[1].rounds).median /
                         (compute + transfer));
}

int main(int argc, char **argv)
{
    struct benchmark benchmark;
    char self[DISK_PATH_MAX - 32], programs[DISK_PATH_MAX], folder[FOLDER_PATH_MAX];
    benchmark_open(&benchmark, "overlap", argc, argv);
    ssize_t bytes = readlink("/proc/self/exe", self, sizeof self - 1);
    if (bytes < 0)
        fail("cannot find this program");
    self[bytes] = '\0';
    snprintf(programs, sizeof programs, "%s/../..", dirname(self));
    folder_make(folder);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const struct setting *s = &settings[i];
        struct namespaces network;
        struct run runs[2] = {{s, programs, folder, &network, true, 0, 0},
                              {s, programs, folder, &network, false, 0, 0}};
        const struct piece pieces[2] = {
            {.work = train, .context = &runs[0], .own_seconds = &runs[0].step, .cold = true},
            {.work = train, .context = &runs[1], .own_seconds = &runs[1].step, .cold = true}};
        struct measured measured[2];
        if (!namespaces_make(&network, 2 * s->pairs, s->rate, s->bits_a_second)) {
            benchmark_remark(&benchmark, "%s: skipped, no network of its own can be made", s->name);
            continue;
        }
        measure_in_turn(pieces, 2, ROUNDS, measured);
        namespaces_remove(&network);
        show(&benchmark, runs, measured);
    }
    folder_remove(folder, NULL);
    return benchmark_close(&benchmark);
}
