/* bench_checkpoint.c - what checkpoints cost: the reference job with one every epoch beside the
 * same without, one checkpoint of its model, and reading it back.
 *
 *     bench_checkpoint [--json FILE] [--more] [--epochs E]
 *
 * In the job a thread of the server's writes them while training goes on; the job without writes
 * only the last one, as both do. One checkpoint is what a server does for it: part, manifest, and
 * making room, all durable; its limit is as many bytes in one file, flushed. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/store/checkpoint.h"
#include "tests/bench/lib/job_command.h"
#include "tests/lib/benchmark.h"

#define JOB_ROUNDS 5
#define CALLS      10   /* A round, of what takes milliseconds. */
#define EVERY      "94" /* Steps; an epoch has 938. */

/* The last checkpoint of a run of the job, to be written again and again. */
struct sample {
    char run[96], out[96], file[96];
    struct checkpoint_reader reader;
    struct checkpoint_shelf shelf;
    uint64_t step, bytes;
};

static void must(enum status status, const struct error *error)
{
    if (status == STATUS_OK)
        return;
    fprintf(stderr, "%s\n", error->text);
    exit(EXIT_FAILURE);
}

/* --- pieces -------------------------------------------------------------------------------- */

static void write_checkpoint(void *context)
{
    struct sample *sample = context;
    struct error error;
    struct checkpoint_part part;
    struct checkpoint_chunk chunk = {.first = 0, .count = sample->reader.elements};
    struct manifest manifest = sample->reader.manifest;
    const struct optimizer *optimizer = optimizer_find(manifest.job.optimizer.name);
    for (uint32_t i = 0; i < sample->reader.array_count; i++)
        chunk.arrays[i] = sample->reader.arrays[i];
    sample->step = sample->step % manifest.job.steps + 1;
    must(checkpoint_write_part(&disk_posix, sample->out, sample->step, 1, 0, 1,
                               optimizer_slots(optimizer), &chunk, 1, false, &part, &error),
         &error);
    manifest.step = sample->step;
    manifest.record = (struct manifest_record){0}; /* The run's goes beyond this step. */
    manifest.part_count = 1;
    manifest.parts = &part;
    must(checkpoint_write_manifest(&disk_posix, sample->out, &manifest, &error), &error);
    checkpoint_shelf_add(&sample->shelf, sample->step);
    must(checkpoint_prune(&disk_posix, sample->out, &sample->shelf, &error), &error);
    must(checkpoint_sweep(&disk_posix, sample->out, sample->step, &error), &error);
    sample->bytes = part.bytes;
}

static void write_plainly(void *context)
{
    const struct sample *sample = context;
    int file = open(sample->file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool written = file >= 0;
    for (uint32_t i = 0; i < sample->reader.array_count && written; i++) {
        size_t bytes = sample->reader.elements * sizeof(float);
        written = write(file, sample->reader.arrays[i], bytes) == (ssize_t)bytes;
    }
    if (!written || fsync(file) != 0) {
        perror(sample->file);
        exit(EXIT_FAILURE);
    }
    close(file);
}

static void reload(void *context)
{
    const struct sample *sample = context;
    struct checkpoint_reader reader;
    struct error error;
    must(checkpoint_open_newest(&reader, &disk_posix, sample->out, NULL, NULL, &error), &error);
    checkpoint_close(&reader);
}

static void read_plainly(void *context)
{
    const struct sample *sample = context;
    struct error error;
    void *data;
    size_t bytes;
    must(disk_posix.read_file(disk_posix.context, sample->file, SIZE_MAX, &data, &bytes, &error),
         &error);
    free(data);
}

/* --- what is shown ------------------------------------------------------------------------- */

/* Returns seconds of an epoch of the job without checkpoints. */
static double measure_job(struct benchmark *benchmark, struct job_command commands[2],
                          unsigned epochs)
{
    struct piece pieces[2];
    struct measured measured[2];
    for (int i = 0; i < 2; i++)
        pieces[i] = (struct piece){.work = job_command_run,
                                   .context = &commands[i],
                                   .cold = true,
                                   .own_seconds = &commands[i].trained};
    measure_in_turn(pieces, 2, JOB_ROUNDS, measured);
    benchmark_line(benchmark, &(struct figure){.what = "job, 10 checkpoints an epoch",
                                               .unit = "s",
                                               .is_time = true,
                                               .per_call = 1,
                                               .ours = &measured[0],
                                               .limit = &measured[1],
                                               .limit_name = "the last alone",
                                               .setting = "sync 1 ps",
                                               .target = {.ratio_most = 1.035}});
    return spread_of(measured[1].seconds, measured[1].rounds).median / epochs;
}

static double measure_one(struct benchmark *benchmark, struct sample *sample)
{
    struct piece pieces[2] = {{.work = write_checkpoint, .context = sample, .calls = CALLS},
                              {.work = write_plainly, .context = sample, .calls = CALLS}};
    struct measured measured[2];
    measure_in_turn(pieces, 2, MEASURE_ROUNDS, measured);
    benchmark_line(benchmark, &(struct figure){.what = "one checkpoint of the cnn, adam",
                                               .unit = "ms",
                                               .is_time = true,
                                               .per_call = 1e3,
                                               .ours = &measured[0],
                                               .limit = &measured[1],
                                               .limit_name = "one file, flushed",
                                               .bytes = (double)sample->bytes});
    return spread_of(measured[0].seconds, measured[0].rounds).median;
}

static void measure_reload(struct benchmark *benchmark, struct sample *sample)
{
    struct piece pieces[2] = {{.work = reload, .context = sample, .calls = CALLS},
                              {.work = read_plainly, .context = sample, .calls = CALLS}};
    struct measured measured[2];
    measure_in_turn(pieces, 2, MEASURE_ROUNDS, measured);
    benchmark_line(benchmark, &(struct figure){.what = "reading it back, checked",
                                               .unit = "ms",
                                               .is_time = true,
                                               .per_call = 1e3,
                                               .ours = &measured[0],
                                               .limit = &measured[1],
                                               .limit_name = "one file, cached",
                                               .bytes = (double)sample->bytes,
                                               .target = {.most = 1000}});
}

int main(int argc, char **argv)
{
    struct benchmark benchmark;
    struct job_command commands[2];
    struct sample sample = {.bytes = 0};
    struct error error;
    unsigned epochs = job_command_epochs(&argc, argv);
    benchmark_open(&benchmark, "checkpoint", argc, argv);
    for (int i = 0; i < 2; i++)
        job_command_init(&commands[i], epochs);
    commands[0].checkpoint_every = EVERY;
    commands[1].checkpoint_every = "0";
    double epoch = measure_job(&benchmark, commands, epochs);

    snprintf(sample.run, sizeof sample.run, "%s/0", commands[0].out);
    snprintf(sample.out, sizeof sample.out, "%s/again", commands[0].out);
    snprintf(sample.file, sizeof sample.file, "%s/file", commands[0].out);
    must(checkpoint_open_newest(&sample.reader, &disk_posix, sample.run, NULL, NULL, &error),
         &error);
    double one = measure_one(&benchmark, &sample);
    measure_reload(&benchmark, &sample);
    benchmark_remark(&benchmark, "one checkpoint is %.2f %% of an epoch of %.2f s",
                     100 * one / epoch, epoch);
    checkpoint_close(&sample.reader);
    for (int i = 0; i < 2; i++)
        job_command_free(&commands[i]);
    return benchmark_close(&benchmark);
}
