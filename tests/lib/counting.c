/* counting.c - gradients follow from (update, element), so the sum of all of them is known
 * beforehand. */

#include "tests/lib/counting.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/store/model_file.h"

/* Odd sizes, so that chunks and variables do not end together. */
static const struct variable variables[] = {
    {.name = "counting/kernel", .rank = 2, .shape = {61, 97}, .fan_in = 61, .fan_out = 97},
    {.name = "counting/bias", .rank = 1, .shape = {97}, .fan_in = 61, .fan_out = 97},
};
#define VARIABLES (sizeof variables / sizeof *variables)

enum status counting_job(struct job *job, struct error *error)
{
    job->variables = malloc(sizeof variables);
    if (job->variables == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    memcpy(job->variables, variables, sizeof variables);
    job->variable_count = VARIABLES;
    snprintf(job->model, sizeof job->model, "counting");
    snprintf(job->data, sizeof job->data, "counting");
    job->test_examples = 0;
    return job_check(job, error);
}

/* A file keeps its variables in the order of the declaration. */
static enum status check_variables(const struct model_file *file, struct error *error)
{
    bool same = file->variable_count == VARIABLES;
    for (uint32_t v = 0; same && v < VARIABLES; v++)
        same = strcmp(file->variables[v].name, variables[v].name) == 0 &&
               file->variables[v].rank == variables[v].rank &&
               memcmp(file->variables[v].shape, variables[v].shape, sizeof variables[v].shape) == 0;
    return same ? STATUS_OK
                : error_set(error, STATUS_MISMATCH, "%s has other variables", file->path);
}

static enum status check_values(const struct model_file *file, uint64_t steps, struct error *error)
{
    uint64_t offsets[VARIABLES];
    variables_layout(variables, VARIABLES, offsets);
    for (uint32_t v = 0; v < VARIABLES; v++)
        for (uint64_t i = 0; i < variable_elements(&variables[v]); i++) {
            int64_t sum = 0;
            for (uint64_t step = 0; step < steps; step++)
                sum -= counting_value(step, offsets[v] + i);
            float found = file->parameters[offsets[v] + i];
            if (found != (float)sum)
                return error_set(error, STATUS_MISMATCH,
                                 "%s[%" PRIu64 "] is %g; %" PRIu64 " updates make it %" PRId64,
                                 variables[v].name, i, (double)found, steps, sum);
        }
    return STATUS_OK;
}

enum status counting_check(const char *out, uint64_t steps, struct error *error)
{
    struct model_file file;
    enum status status = model_file_open(&file, &disk_posix, out, error);
    if (status != STATUS_OK)
        return status;
    status = check_variables(&file, error);
    if (status == STATUS_OK)
        status = check_values(&file, steps, error);
    model_file_close(&file);
    return status;
}
