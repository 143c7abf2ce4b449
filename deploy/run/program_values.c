/* program_values.c - asks a program for its initial values, and writes them as a model file. */

#include "deploy/run/program_values.h"

#include <stdlib.h>

#include "common/job/job_score.h"
#include "common/store/model_file.h"
#include "worker/source/source.h"

static bool gives(const struct source *source)
{
    for (uint32_t i = 0; i < source->variable_count; i++)
        if (source->variables[i].initializer == INITIALIZER_GIVEN)
            return true;
    return false;
}

static enum status write_values(struct source *source, uint64_t seed, const char *path, bool *any,
                                struct error *error)
{
    *any = gives(source);
    if (!*any)
        return STATUS_OK;
    enum status status = source_prepare(source, 1, LOSS_UNIT_DEFAULT, error);
    float *values =
        status == STATUS_OK ? aligned_alloc(64, (size_t)source->elements * sizeof *values) : NULL;
    if (status == STATUS_OK && values == NULL)
        status = error_set(error, STATUS_MEMORY, "out of memory for the initial values");
    if (status == STATUS_OK)
        status = source_initial(source, seed, values, error);
    if (status == STATUS_OK)
        status = model_file_write(&disk_posix, path, source->model, source->variables,
                                  source->variable_count, values, NULL, error);
    free(values);
    return status;
}

enum status program_values_write(const struct options *options, const char *path, bool *any,
                                 struct error *error)
{
    struct source *source = NULL;
    struct source_options of;
    struct error why = {0};
    *any = false;
    enum status status = source_options_of(&of, options, &why);
    of.look = true;
    if (status == STATUS_OK)
        status = source_open(&source, &of, &why);
    if (status == STATUS_OK) {
        status = write_values(source, options->job.seed, path, any, &why);
        source_close(&source);
    }
    return status == STATUS_OK ? STATUS_OK
                               : error_set(error, status, "--program \"%.100s\": %.380s",
                                           options->program, why.text);
}
