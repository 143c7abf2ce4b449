/* sample_job.c - variables and fields with a value of their own each. */

#include "tests/lib/sample_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

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

struct job sample_job(void)
{
    struct job job = {
        .mode = MODE_SYNC,
        .seed = UINT64_MAX - 5, /* Beyond what a JSON reader keeps as an integer. */
        .model = "flatten, dense 5 relu, dense 10",
        .optimizer = optimizer_find("adam")->defaults,
        .schedule = {SCHEDULE_STEP, 0.1, 7, 40, 1.0 / 3, 0},
        .data = "d\xC3\xA9j\xC3\xA0 \"vu\"",
        .data_digest = {1, 2, 0xAB, 0xFF},
        .examples = 60001,
        .test_examples = 10000,
        .batch = 64,
        .micro_batch = 16,
        .steps = 2000,
        .checkpoint_every = 938,
        .record = RECORDING_ON,
        .chunk_bytes = 4096,
        .worker_count = 3,
        .server_count = 2,
    };
    job.variables = calloc(3, sizeof *job.variables);
    job.servers = calloc(2, sizeof *job.servers);
    ck_assert_ptr_nonnull(job.variables);
    ck_assert_ptr_nonnull(job.servers);
    snprintf(job.optimizer.name, sizeof job.optimizer.name, "adam");
    job.optimizer.epsilon = 1.1754945e-38f; /* Floats that need all their digits. */
    job.optimizer.beta2 = 0.99900001f;
    add_variable(&job, "dense1/kernel", 7, 5);
    add_variable(&job, "dense1/bias", 0, 5);
    add_variable(&job, "dense2/kernel", 5, 10);
    strcpy(job.servers[0], "alpha:2222");
    strcpy(job.servers[1], "[::1]:2222");
    struct error error;
    ck_assert_msg(job_check(&job, &error) == STATUS_OK, "%s", error.text);
    return job;
}
