/* scored_file.c - a model file under a name of its own. */

#include "common/store/scored_file.h"

#include <stdio.h>

#include "common/store/model_file.h"
#include "common/store/run_directory.h"

enum status scored_file_write(const struct disk *disk, const char *out, const struct job *job,
                              uint64_t batches, const float *parameters, struct error *error)
{
    char folder[DISK_PATH_MAX], path[DISK_PATH_MAX];
    uint64_t epoch = job_epoch_ended(job, batches);
    if (snprintf(folder, sizeof folder, "%s/scored", out) >= (int)sizeof folder ||
        !run_directory_scored(path, out, epoch))
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
