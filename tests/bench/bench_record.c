/* bench_record.c - what the record of an async run costs: processor time an update more than the
 * same job takes with --record off, and bytes an update in OUT/record.
 *
 *     bench_record [--json FILE] [--more]
 *
 * Whole commands, in turn with and without: launcher, server and workers, all threads, from the start
 * to the last byte of the last checkpoint, which has the record behind it. The model is the smallest,
 * so that the record is beside as little else as it ever is. */

#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/lib/job_command.h"
#include "tests/lib/benchmark.h"

#define UPDATES      40000
#define UPDATES_TEXT "40000"
#define ROUNDS       7
#define MOST_US      20 /* An update. */
#define MODEL_BYTES  "64K"
#define SMALL_BYTES  "4K"

#define JOB(chunk_bytes, record)                                                                   \
    "--mode", "async", "--ps", "1", "--workers", "2", "--model", "softmax", "--data",              \
        "synthetic:2000", "--worker-batch", "8", "--steps", UPDATES_TEXT, "--checkpoint-every",    \
        "0", "--chunk-bytes", chunk_bytes, "--record", record, NULL

struct comparison {
    const char *name; /* "one chunk" */
    const char *with[32], *without[32];
};

static const struct comparison comparisons[] = {
    {"one chunk", {JOB(MODEL_BYTES, "on")}, {JOB(MODEL_BYTES, "off")}},
    {"8 chunks", {JOB(SMALL_BYTES, "on")}, {JOB(SMALL_BYTES, "off")}},
};

/* Neither says anything of the other when both, or none, have recorded. */
static void check_recorded(const struct job_command commands[2])
{
    if (commands[0].record_bytes > 0 && commands[1].record_bytes == 0)
        return;
    fprintf(stderr, "with --record on there are %.0f bytes of record, with off %.0f\n",
            commands[0].record_bytes, commands[1].record_bytes);
    exit(EXIT_FAILURE);
}

/* Processor time, round by round: what the one took more than the other beside it. */
static struct measured difference(const struct measured measured[2])
{
    struct measured more = measured[0];
    for (unsigned i = 0; i < more.rounds; i++)
        more.seconds[i] = measured[0].cpu_seconds[i] - measured[1].cpu_seconds[i];
    return more;
}

static void show(struct benchmark *benchmark, const struct comparison *comparison,
                 const struct job_command commands[2], const struct measured measured[2])
{
    char what[64];
    struct measured more = difference(measured);
    struct measured bytes = measure_value(commands[0].record_bytes / UPDATES);
    snprintf(what, sizeof what, "record, %s, processor time", comparison->name);
    benchmark_line(benchmark, &(struct figure){.what = what,
                                               .unit = "us",
                                               .is_time = true,
                                               .per_call = 1e6 / UPDATES,
                                               .ours = &more,
                                               .limit_name = "on less off, an update",
                                               .setting = "async 1 ps",
                                               .target = {.most = MOST_US}});
    snprintf(what, sizeof what, "record, %s, bytes an update", comparison->name);
    benchmark_line(benchmark, &(struct figure){.what = what,
                                               .unit = "B",
                                               .is_time = true,
                                               .per_call = 1,
                                               .ours = &bytes,
                                               .setting = "async 1 ps"});
    benchmark_remark(benchmark, "processor time an update: %.1f us with, %.1f us without",
                     1e6 / UPDATES * spread_of(measured[0].cpu_seconds, ROUNDS).median,
                     1e6 / UPDATES * spread_of(measured[1].cpu_seconds, ROUNDS).median);
}

static void compare(struct benchmark *benchmark, const struct comparison *comparison)
{
    struct job_command commands[2];
    struct piece pieces[2];
    struct measured measured[2];
    for (unsigned i = 0; i < 2; i++) {
        job_command_init(&commands[i], 1);
        commands[i].job = i == 0 ? comparison->with : comparison->without;
        pieces[i] = (struct piece){.work = job_command_run, .context = &commands[i], .cold = true};
    }
    measure_in_turn(pieces, 2, ROUNDS, measured);
    check_recorded(commands);
    show(benchmark, comparison, commands, measured);
    for (unsigned i = 0; i < 2; i++)
        job_command_free(&commands[i]);
}

int main(int argc, char **argv)
{
    struct benchmark benchmark;
    benchmark_open(&benchmark, "record", argc, argv);
    for (unsigned i = 0; i < sizeof comparisons / sizeof *comparisons; i++)
        compare(&benchmark, &comparisons[i]);
    return benchmark_close(&benchmark);
}
