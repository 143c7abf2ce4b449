/* recorded.c - the newest manifest names the last session's file and its valid length; earlier
 * files are whole. */

#include "deploy/replay/recorded.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/kernels/kernels.h"
#include "common/store/checkpoint.h"
#include "common/store/initial.h"
#include "common/store/manifest.h"

/* Any fault of a record means that there is none to replay, except lack of memory. */
static enum status unfit(enum status status, const struct error *why, struct error *error)
{
    if (status == STATUS_OK)
        return status;
    return error_set(error, status == STATUS_MEMORY ? status : STATUS_MISMATCH, "%s", why->text);
}

/* --- how far it goes ----------------------------------------------------------------------- */

static enum status read_newest(struct recorded *recorded, const struct disk *disk, const char *path,
                               struct manifest *manifest, struct error *error)
{
    uint64_t steps[16];
    char name[DISK_PATH_MAX + 16];
    size_t count = checkpoint_list(disk, path, steps, sizeof steps / sizeof *steps);
    enum status status = STATUS_NOT_FOUND;
    if (count == 0)
        return error_set(error, status, "%.300s: has no checkpoint, and so no record up to one",
                         path);
    if (count > sizeof steps / sizeof *steps)
        count = sizeof steps / sizeof *steps;
    for (size_t i = 0; i < count && status != STATUS_OK; i++) {
        checkpoint_path(recorded->checkpoint, path, steps[i]);
        snprintf(name, sizeof name, "%s/manifest.json", recorded->checkpoint);
        status = manifest_read(manifest, disk, name, error);
    }
    return status;
}

/* --- the files ----------------------------------------------------------------------------- */

static enum status read_file(struct recorded *recorded, const struct disk *disk, const char *path,
                             uint64_t session, struct error *error)
{
    struct recorded_file *file = &recorded->files[recorded->file_count];
    run_record_path(file->name, path, session);
    enum status status = disk->read_file(disk->context, file->name, RUN_RECORD_BYTES_MAX,
                                         &file->bytes, &file->count, error);
    recorded->file_count += status == STATUS_OK;
    return status;
}

static enum status read_files(struct recorded *recorded, const struct disk *disk, const char *path,
                              uint64_t count, struct error *error)
{
    enum status status = STATUS_OK;
    recorded->files = calloc(count, sizeof *recorded->files);
    if (recorded->files == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory for a record");
    for (uint64_t session = 1; session <= count && status == STATUS_OK; session++)
        status = read_file(recorded, disk, path, session, error);
    return status;
}

/* --- do the files belong to this run, and to each other? -------------------------------------- */

static enum status check_kind(const struct recorded *recorded,
                              const struct run_record_reader *reader, bool first,
                              struct error *error)
{
    const struct run_record_segment *segment = &reader->segment;
    uint8_t digest[DIGEST_BYTES];
    job_hash(&recorded->found.job, JOB_SCOPE_RESUME, digest);
    if (memcmp(digest, segment->declaration, DIGEST_BYTES) != 0)
        return error_set(error, STATUS_MISMATCH,
                         "%s: is the record of a run of another declaration than run.json has",
                         reader->name);
    if (segment->instructions >= RUN_RECORD_OTHERS)
        return error_set(
            error, STATUS_MISMATCH,
            "%s: its gradients were computed by other programs than syncopate-worker, and "
            "cannot be repeated",
            reader->name);
    if (!first && recorded->plain != (segment->instructions == KERNELS_PLAIN))
        return error_set(error, STATUS_MISMATCH,
                         "%s: was made with other instructions than the session before",
                         reader->name);
    return STATUS_OK;
}

static enum status check_place(const struct run_record_reader *reader, uint64_t session,
                               const struct run_record_snapshot *end, struct error *error)
{
    const struct run_record_segment *s = &reader->segment;
    if (s->session != session)
        return error_set(error, STATUS_INVALID,
                         "%s: damaged: it is of session %" PRIu64 ", and %" PRIu64 " has its place",
                         reader->name, s->session, session);
    if (session == 1 && s->batches > 0)
        return error_set(error, STATUS_MISMATCH,
                         "%s: begins at batch %" PRIu64
                         ", from another run's checkpoint, and a replay begins at the beginning",
                         reader->name, s->batches);
    if (s->batches != end->batches || s->version != end->version ||
        s->computation < end->computation)
        return error_set(error, STATUS_INVALID,
                         "%s: damaged: it begins at batch %" PRIu64 ", version %" PRIu64
                         ", and the session before ends at %" PRIu64 ", %" PRIu64,
                         reader->name, s->batches, s->version, end->batches, end->version);
    return STATUS_OK;
}

/* The newest checkpoint, of the last session: its session and the length of that file. */
struct newest {
    uint64_t run_id, bytes;
};

static enum status check_last(struct recorded_file *file, const struct run_record_reader *reader,
                              const struct newest *newest, struct error *error)
{
    if (reader->segment.run_id != newest->run_id)
        return error_set(error, STATUS_MISMATCH,
                         "%s: is the record of run %016" PRIx64
                         ", and the newest checkpoint is of run %016" PRIx64,
                         reader->name, reader->segment.run_id, newest->run_id);
    if (file->count < newest->bytes || newest->bytes < reader->at)
        return error_set(error, STATUS_INVALID,
                         "%.300s: damaged: it has %zu bytes, and %" PRIu64
                         " when the newest checkpoint was written",
                         file->name, file->count, newest->bytes);
    file->count = newest->bytes; /* Bytes after them have no checkpoint. */
    return STATUS_OK;
}

/* Workers may join that were not declared: run.json says how many there were, of one session that
 * has never gone back. */
static enum status check_workers(const struct recorded *recorded,
                                 const struct run_record_reader *reader, struct error *error)
{
    const struct run_summary *summary = &recorded->record.summary;
    bool known =
        summary->worker_count > 0 && recorded->file_count == 1 && summary->faults.generation == 0;
    for (uint32_t i = 0; i < reader->interval.computation_count; i++) {
        const struct run_record_computation *c = &reader->interval.computations[i];
        if (known && c->worker >= summary->worker_count)
            return error_set(error, STATUS_INVALID,
                             "%s: damaged: computation %" PRIu64 " is of worker/%" PRIu32
                             ", and the run has had %" PRIu32 " workers",
                             reader->name, c->number, c->worker, summary->worker_count);
        if (c->clock != 0 && !job_mode(&recorded->found.job)->bounds)
            return error_set(error, STATUS_INVALID,
                             "%s: damaged: computation %" PRIu64 " is at clock %" PRIu64
                             ", and workers have no clocks in this mode",
                             reader->name, c->number, c->clock);
    }
    return STATUS_OK;
}

/* Of which leaves its steps were made. */
static enum status check_sets(const struct recorded *recorded,
                              const struct run_record_reader *reader, struct error *error)
{
    const struct job *job = &recorded->found.job;
    const struct run_record_interval *s = &reader->interval;
    uint64_t wanted = job_mode(job)->sets ? s->to.batches - s->from.batches : 0;
    if (s->sets.left == wanted && (wanted == 0 || leaf_sets_fit(s->sets, job)))
        return STATUS_OK;
    return error_set(error, STATUS_INVALID,
                     "%s: damaged: the steps from %" PRIu64 " to %" PRIu64
                     " do not have the leaves of their job",
                     reader->name, s->from.batches, s->to.batches);
}

static enum status check_file(struct recorded *recorded, uint32_t index,
                              const struct newest *newest, struct error *error)
{
    struct recorded_file *file = &recorded->files[index];
    struct run_record_reader reader;
    enum status status =
        run_record_reader_open(&reader, file->name, file->bytes, file->count, error);
    if (status == STATUS_OK)
        status = check_kind(recorded, &reader, index == 0, error);
    if (status == STATUS_OK)
        status = check_place(&reader, index + 1, &recorded->end, error);
    if (status == STATUS_OK && index + 1 == recorded->file_count)
        status = check_last(file, &reader, newest, error);
    if (status == STATUS_OK)
        recorded->plain = reader.segment.instructions == KERNELS_PLAIN;
    reader.count = file->count;
    recorded->bytes += file->count;
    while (status == STATUS_OK && (status = run_record_reader_next(&reader, error)) == STATUS_OK) {
        status = check_workers(recorded, &reader, error);
        if (status == STATUS_OK)
            status = check_sets(recorded, &reader, error);
    }
    recorded->end = reader.interval.to;
    run_record_reader_close(&reader);
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

static enum status read_record(struct recorded *recorded, const struct disk *disk, const char *path,
                               struct error *error)
{
    struct manifest manifest = {0};
    enum status status = read_newest(recorded, disk, path, &manifest, error);
    if (status != STATUS_OK)
        return status;
    const struct manifest_record last = manifest.record;
    uint64_t step = manifest.step;
    bool off = manifest.job.record != RECORDING_ON;
    const struct newest newest = {manifest.run_id, manifest.record.bytes};
    manifest_free(&manifest);
    if (last.session == 0)
        return error_set(error, STATUS_NOT_FOUND, "%.300s: has no record (%s)", path,
                         off ? "--record off" : "nothing was recorded of its beginning");
    if (last.batches < step)
        return error_set(error, STATUS_MISMATCH,
                         "%.300s: its record ends at batch %" PRIu64
                         ", and the run went on to %" PRIu64
                         " without one, so that it cannot be made again",
                         path, last.batches, step);
    status = read_files(recorded, disk, path, last.session, error);
    recorded->end = (struct run_record_snapshot){.computation = 1};
    for (uint32_t i = 0; i < recorded->file_count && status == STATUS_OK; i++)
        status = check_file(recorded, i, &newest, error);
    if (status == STATUS_OK && recorded->end.batches != step)
        status = error_set(
            error, STATUS_INVALID,
            "%s: damaged: it ends at batch %" PRIu64 ", and the newest checkpoint is at %" PRIu64,
            recorded->files[recorded->file_count - 1].name, recorded->end.batches, step);
    return status;
}

enum status recorded_open(struct recorded *recorded, const struct disk *disk, const char *path,
                          struct error *error)
{
    struct error why = {0};
    memset(recorded, 0, sizeof *recorded);
    enum status status = run_directory_find(&recorded->found, disk, path, error);
    if (status == STATUS_OK)
        status = record_read(&recorded->record, path, error);
    if (status != STATUS_OK)
        return status;
    status = unfit(read_record(recorded, disk, path, &why), &why, error);
    if (status != STATUS_OK || !job_has_given(&recorded->found.job))
        return status;
    return unfit(initial_read(&recorded->found.job, disk, path, NULL, &recorded->initial, &why),
                 &why, error);
}

void recorded_close(struct recorded *recorded)
{
    for (uint32_t i = 0; i < recorded->file_count; i++)
        free(recorded->files[i].bytes);
    free(recorded->files);
    free(recorded->initial);
    record_free(&recorded->record);
    job_free(&recorded->found.job);
    memset(recorded, 0, sizeof *recorded);
}
