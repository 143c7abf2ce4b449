/* bench_job.c - the reference job, whole command and all: `syncopate run --mode sync --ps 1
 * --workers 2` on Fashion-MNIST with test accuracy, beside the same gradients with no exchange.
 *
 *     bench_job [--json FILE] [--more] [--epochs E]
 *
 * Issue 3's rows J1 and J2 are about ten epochs; fewer (2 unless BENCH_EPOCHS or --epochs says
 * otherwise) are scaled plainly: what an epoch took times ten, and the rest of the command once. */

#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/lib/job_command.h"
#include "tests/bench/lib/lone_workers.h"
#include "tests/lib/benchmark.h"

#define EPOCHS 10
#define ROUNDS 3

struct scaled {
    struct job_command command;
    double ten_epochs[MEASURE_ROUNDS_MAX]; /* Seconds, of every run so far. */
};

/* What the epochs took scaled to ten, and the rest of the command once. */
static void run_command(void *context)
{
    struct scaled *scaled = context;
    struct job_command *command = &scaled->command;
    unsigned run = command->run;
    job_command_run(command);
    if (run < MEASURE_ROUNDS_MAX)
        scaled->ten_epochs[run] =
            command->wall - command->trained + command->trained * EPOCHS / atoi(command->epochs);
}

/* --- what is shown -------------------------------------------------------------------------- */

static void show(struct benchmark *benchmark, const struct scaled *scaled, unsigned epochs,
                 const struct measured measured[2])
{
    const struct job_command *command = &scaled->command;
    struct measured wall = measured[0];
    bool whole = epochs == EPOCHS;
    for (unsigned i = 0; i < wall.rounds; i++)
        wall.seconds[i] = scaled->ten_epochs[i];
    char what[64];
    snprintf(what, sizeof what, "ten epochs, whole command%s", whole ? "" : ", scaled");
    benchmark_line(benchmark, &(struct figure){.what = what,
                                               .unit = "s",
                                               .is_time = true,
                                               .per_call = 1,
                                               .ours = &wall,
                                               .setting = "sync 1 ps",
                                               .target = {.most = 10}});
    benchmark_line(benchmark, &(struct figure){.what = "training, images/s",
                                               .unit = "images/s",
                                               .per_call = 1,
                                               .ours = &measured[0],
                                               .limit = &measured[1],
                                               .limit_name = "gradients alone, 2 cores",
                                               .setting = "sync 1 ps",
                                               .target = {.ratio_least = 0.85}});
    struct measured accuracy = measure_value(100 * command->accuracy);
    benchmark_line(benchmark, &(struct figure){.what = whole ? "test accuracy"
                                                             : "test accuracy, not trained out",
                                               .unit = "%",
                                               .is_time = true,
                                               .per_call = 1,
                                               .ours = &accuracy,
                                               .limit_name = "PyTorch 90.9, margin 0.6",
                                               .target = {.least = whole ? 90.3 : 0}});
    benchmark_remark(benchmark,
                     "%u epochs, the last run: command %.2f s = training %.2f + evaluation %.2f + "
                     "checkpoints %.2f + start and end %.2f",
                     epochs, command->wall, command->training, command->evaluation,
                     command->checkpoint,
                     command->wall - command->training - command->evaluation - command->checkpoint);
    benchmark_remark(benchmark,
                     "a worker: %.2f s computing, %.2f exchanging, %.2f waiting at the barrier",
                     command->compute, command->exchange, command->wait);
}

/* --- the program ---------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
    struct benchmark benchmark;
    struct scaled scaled;
    unsigned epochs = job_command_epochs(&argc, argv);
    benchmark_open(&benchmark, "job", argc, argv);
    job_command_init(&scaled.command, epochs);
    struct lone_workers lone = {JOB_COMMAND_MODEL, "fashion-mnist", JOB_COMMAND_WORKERS, epochs, 0};
    struct piece pieces[2] = {{.work = run_command,
                               .context = &scaled,
                               .cold = true,
                               .own_seconds = &scaled.command.per_image},
                              {.work = lone_workers_run,
                               .context = &lone,
                               .cold = true,
                               .own_seconds = &lone.seconds_per_image}};
    struct measured measured[2];
    measure_in_turn(pieces, 2, ROUNDS, measured);
    show(&benchmark, &scaled, epochs, measured);
    job_command_free(&scaled.command);
    return benchmark_close(&benchmark);
}
