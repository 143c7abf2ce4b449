/* scored_file.c - a model file under a name of its own. */

#include "common/store/scored_file.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "common/store/model_file.h"

static bool name_file(char path[DISK_PATH_MAX], const char *out, uint64_t epoch)
{
    return snprintf(path, DISK_PATH_MAX, "%s/scored/epoch-%" PRIu64 ".safetensors", out, epoch) <
           DISK_PATH_MAX;
}

enum status scored_file_write(const struct disk *disk, const char *out, const struct job *job,
                              uint64_t batches, const float *parameters, struct error *error)
{
    char folder[DISK_PATH_MAX], path[DISK_PATH_MAX];
    uint64_t epoch = job_epoch_ended(job, batches);
    if (snprintf(folder, sizeof folder, "%s/scored", out) >= (int)sizeof folder ||
        !name_file(path, out, epoch))
        return error_set(error, STATUS_INVALID, "path is too long: %.300s...", out);
    enum disk_kind kind = disk->look(disk->context, folder);
    if (kind != DISK_NOTHING && kind != DISK_FOLDER)
        return error_set(error, STATUS_IO, "cannot write to %.300s: it is %s", folder,
                         disk_kind_name(kind));
    enum status status = disk->make_directory(disk->context, folder, error);
    if (status != STATUS_OK)
        return status;
    return model_file_write(disk, path, job->model, job->variables, job->variable_count, parameters,
                            NULL, error);
}

uint64_t scored_file_count(const struct disk *disk, const char *out, const struct job *job,
                           uint64_t batches, uint64_t *missing)
{
    char path[DISK_PATH_MAX];
    uint64_t due = job_scores_between(job, 0, batches + 1), there = 0;
    for (uint64_t epoch = 1; epoch <= due; epoch++)
        there += name_file(path, out, epoch) && disk->look(disk->context, path) == DISK_FILE;
    *missing = due - there;
    return there;
}
