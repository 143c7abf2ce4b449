/* samples.c - a job with something in every field, and a disk in memory that takes what it is
 * given. */

#include "tests/fuzz/lib/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

static void add_variable(struct job *job, const char *name, uint64_t rows, uint64_t columns)
{
    struct variable *variable = &job->variables[job->variable_count++];
    snprintf(variable->name, sizeof variable->name, "%s", name);
    variable->rank = rows > 0 ? 2 : 1;
    variable->shape[0] = rows > 0 ? rows : columns;
    variable->shape[1] = rows > 0 ? columns : 0;
    variable->initializer = rows > 0 ? INITIALIZER_GLOROT_UNIFORM : INITIALIZER_ZEROS;
    variable->fan_in = rows;
    variable->fan_out = columns;
}

struct job samples_job(const char *optimizer, enum mode mode)
{
    struct job job = {
        .mode = mode,
        .use_locking = mode == MODE_ASYNC,
        .backup_workers = mode == MODE_BACKUP ? 1 : 0,
        .seed = 42,
        .model = "flatten, dense 4",
        .optimizer = optimizer_find(optimizer)->defaults,
        .schedule = {SCHEDULE_STEP, 0.1, 7, 40, 0.5, 0},
        .data = "synthetic",
        .data_digest = {1, 2, 3},
        .examples = 600,
        .test_examples = 100,
        .batch = 64,
        .micro_batch = 16,
        .steps = 100,
        .checkpoint_every = 10,
        .chunk_bytes = 64,
        .worker_count = 3,
        .server_count = 2,
    };
    struct error error;
    job.variables = calloc(2, sizeof *job.variables);
    job.servers = calloc(2, sizeof *job.servers);
    fuzz_must(job.variables != NULL && job.servers != NULL, "there is memory for a sample");
    snprintf(job.optimizer.name, sizeof job.optimizer.name, "%s", optimizer);
    add_variable(&job, "kernel", 3, 4);
    add_variable(&job, "bias", 0, 4);
    strcpy(job.servers[0], "alpha:2222");
    strcpy(job.servers[1], "[::1]:2222");
    fuzz_must(job_check(&job, &error) == STATUS_OK, "a sample passes job_check");
    return job;
}

void samples_put(struct simulated_disk *disk, const char *path, const void *bytes, size_t count)
{
    const struct disk_piece piece = {bytes, count};
    enum status status = disk->disk.write_file(disk, path, &piece, 1, NULL);
    fuzz_must(status == STATUS_OK, "a disk in memory takes a file");
}
