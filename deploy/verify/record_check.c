/* record_check.c - the files of all sessions, one after the other, through deploy/replay. */

#include "deploy/verify/record_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/store/checkpoint.h"
#include "common/store/run_record.h"
#include "deploy/replay/included.h"
#include "deploy/replay/replay.h"

static enum status compute(void *context, const float *parameters, const struct step_shape *shape,
                           float *gradient, struct tally *score, struct error *error)
{
    const struct simulated_work *work = context;
    struct node root = tree_root(shape->batch.leaves);
    if (simulated_work_is_bad(work, shape->step))
        return error_set(error, STATUS_DIVERGED, "it is not finite");
    simulated_work_node(work, shape, root, parameters, gradient);
    *score = (struct tally){.updates = 1, .examples = step_shape_examples(shape, work->job, root)};
    return STATUS_OK;
}

/* One session. */
static enum status go_through(struct replay *replay, struct included *included, bool bounds,
                              const char *path, const void *bytes, size_t count,
                              struct error *error)
{
    enum status status = replay_begin(replay, path, bytes, count, error);
    const struct run_record_reader *reader = replay_reader(replay);
    if (status == STATUS_OK)
        included_begin(included, included->bound, reader->segment.chunk_count);
    while (status == STATUS_OK) {
        status = replay_next(replay, error);
        if (status == STATUS_OK && bounds)
            status = included_interval(included, &reader->interval, error);
    }
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

static enum status go_through_all(struct replay *replay, struct simulated_disk *disk,
                                  const char *out, const struct job *job,
                                  const struct manifest_record *last, struct record_counts *counts,
                                  struct error *error)
{
    struct included included = {.bound = job->staleness_bound};
    enum status status = STATUS_OK;
    char path[DISK_PATH_MAX];
    for (uint64_t session = 1; session <= last->session && status == STATUS_OK; session++) {
        run_record_path(path, out, session);
        const struct simulated_file *file = simulated_disk_find(disk, path);
        bool ends = session == last->session;
        if (file == NULL || (ends && file->bytes < last->bytes))
            status =
                error_set(error, STATUS_INVALID, "the record is shorter than the checkpoint says");
        else
            status = go_through(replay, &included, job_mode(job)->bounds, path, file->data,
                                ends ? last->bytes : file->bytes, error);
    }
    counts->held += included.held;
    counts->required += included.required;
    included_free(&included);
    return status;
}

enum status record_check(struct simulated_disk *disk, const char *out, struct simulated_work *work,
                         uint64_t step, const float *values, struct record_counts *counts,
                         struct error *error)
{
    struct manifest manifest;
    struct replay *replay = NULL;
    char path[DISK_PATH_MAX];
    const struct replay_calls calls = {work, compute, NULL};
    checkpoint_path(path, out, step);
    snprintf(path + strlen(path), sizeof path - strlen(path), "/manifest.json");
    enum status status = manifest_read(&manifest, &disk->disk, path, error);
    if (status != STATUS_OK)
        return status;
    const struct manifest_record last = manifest.record;
    manifest_free(&manifest);
    status = replay_create(&replay, work->job, UINT64_MAX, &calls, error);
    if (status == STATUS_OK)
        status = go_through_all(replay, disk, out, work->job, &last, counts, error);
    if (status == STATUS_OK && replay_batches(replay) != step)
        status = error_set(error, STATUS_MISMATCH,
                           "the record ends at %" PRIu64 " and the checkpoint at %" PRIu64,
                           replay_batches(replay), step);
    const float *made = status == STATUS_OK ? replay_parameters(replay) : NULL;
    for (uint64_t i = 0; made != NULL && i < work->elements; i++)
        if (work->used[i] && memcmp(&made[i], &values[i], sizeof *made) != 0)
            status = error_set(error, STATUS_MISMATCH,
                               "the record replayed ends with other bits than the checkpoint");
    if (status == STATUS_OK) {
        counts->computations += replay_figures(replay)->computations;
        counts->entries += replay_figures(replay)->entries;
        counts->torn += replay_figures(replay)->torn;
    }
    replay_destroy(&replay);
    return status;
}
