/* restore.c - reads manifests only, newest first, and compares their declaration with the job's. */

#include "common/store/restore.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/store/checkpoint.h"

#define NEWEST_MAX 16 /* Manifests that are tried. */

static enum status read_one(struct manifest *manifest, const char *directory, struct error *error)
{
    char file[DISK_PATH_MAX + 16];
    snprintf(file, sizeof file, "%s/manifest.json", directory);
    return manifest_read(manifest, &disk_posix, file, error);
}

/* Of a run's newest checkpoint with a readable manifest: all are of one job. */
static enum status read_newest(struct manifest *manifest, const char *out, struct error *error)
{
    uint64_t steps[NEWEST_MAX];
    size_t count = checkpoint_list(&disk_posix, out, steps, NEWEST_MAX);
    enum status status = STATUS_NOT_FOUND;
    for (size_t i = 0; i < count && i < NEWEST_MAX && status != STATUS_OK; i++) {
        char directory[DISK_PATH_MAX];
        checkpoint_path(directory, out, steps[i]);
        status = read_one(manifest, directory, error);
    }
    return status;
}

/* The caller's to free in any case. */
static enum status read_manifest(struct manifest *manifest, const char *path, struct error *error)
{
    bool of_run;
    enum status status = checkpoint_find(&disk_posix, path, &of_run, error);
    if (status != STATUS_OK)
        return status;
    return of_run ? read_newest(manifest, path, error) : read_one(manifest, path, error);
}

static enum status compare(const struct manifest *manifest, const struct job *job,
                           struct error *error)
{
    enum job_scope scope = job_has_read_data(job) ? JOB_SCOPE_RESUME : JOB_SCOPE_UNREAD;
    enum status status =
        job_compare(&manifest->job, "the checkpoint", job, "this job", scope, error);
    if (status == STATUS_OK && manifest->step > job->steps)
        status = error_set(error, STATUS_MISMATCH,
                           "the checkpoint is at step %" PRIu64 ", beyond the %" PRIu64
                           " steps of this job",
                           manifest->step, job->steps);
    return status;
}

static bool has_checkpoints(const char *out)
{
    uint64_t newest;
    return out != NULL && checkpoint_list(&disk_posix, out, &newest, 1) > 0;
}

enum status restore_check(const char *out, const char *restore, const struct job *job,
                          struct error *error)
{
    struct manifest manifest = {0};
    struct error why = {0};
    if (strcmp(restore, "auto") == 0 || strcmp(restore, "never") == 0 || has_checkpoints(out))
        return STATUS_OK;
    if (strlen(restore) >= DISK_PATH_MAX)
        return error_set(error, STATUS_INVALID, "--restore: the path is too long");
    enum status status = read_manifest(&manifest, restore, &why);
    if (status == STATUS_OK && job != NULL)
        status = compare(&manifest, job, &why);
    manifest_free(&manifest);
    if (status == STATUS_MISMATCH)
        return error_set(error, status, "--restore=%.150s: %.320s", restore, why.text);
    return status != STATUS_OK ? error_set(error, status, "--restore: %.450s", why.text) : status;
}
