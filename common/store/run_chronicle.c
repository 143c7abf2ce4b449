/* run_chronicle.c - chooses the file, how much of it counts, and appends to that. */

#include "common/store/run_chronicle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/kernels/kernels.h"

static bool folder_path(const struct run_chronicle *c, char path[DISK_PATH_MAX])
{
    return snprintf(path, DISK_PATH_MAX, "%s/" RUN_RECORD_FOLDER, c->out) < DISK_PATH_MAX - 32;
}

/* --- beginning ----------------------------------------------------------------------------- */

/* Files of sessions after the current one. */
struct clearing {
    struct run_chronicle *chronicle;
    enum status status;
    struct error *error;
};

static void clear_entry(void *argument, const char *name)
{
    struct clearing *clearing = argument;
    const struct run_chronicle *c = clearing->chronicle;
    char path[DISK_PATH_MAX], *end;
    uint64_t session = strtoull(name, &end, 10);
    if (end == name || strcmp(end, ".log") != 0 || session <= c->found.session ||
        clearing->status != STATUS_OK)
        return;
    run_record_path(path, c->out, session);
    clearing->status = c->disk->remove_tree(c->disk->context, path, clearing->error);
}

static enum status clear_later(struct run_chronicle *c, const char *folder, struct error *error)
{
    struct clearing clearing = {c, STATUS_OK, error};
    enum status status =
        c->disk->list_directory(c->disk->context, folder, clear_entry, &clearing, error);
    return status == STATUS_OK || status == STATUS_NOT_FOUND ? clearing.status : status;
}

/* The folder is there, and has no more than the checkpoint knows of. */
static enum status make_place(struct run_chronicle *c, struct error *error)
{
    char folder[DISK_PATH_MAX], path[DISK_PATH_MAX];
    if (!folder_path(c, folder))
        return error_set(error, STATUS_INVALID, "path is too long: %.300s...", c->out);
    enum disk_kind kind = c->disk->look(c->disk->context, folder);
    if (kind != DISK_NOTHING && kind != DISK_FOLDER)
        return error_set(error, STATUS_IO, "cannot write to %.300s: it is %s", folder,
                         disk_kind_name(kind));
    enum status status = c->disk->make_directory(c->disk->context, folder, error);
    run_record_path(path, c->out, c->found.session);
    uint64_t bytes = 0;
    bool there = c->found.session > 0 &&
                 c->disk->file_bytes(c->disk->context, path, &bytes, NULL) == STATUS_OK;
    if (!there) /* The checkpoint is another run's, whose record is elsewhere. */
        c->found.session = 0;
    else if (bytes < c->found.bytes)
        error_set(&c->remark, STATUS_INVALID,
                  "%.300s has %" PRIu64 " bytes, and %" PRIu64
                  " when the checkpoint was written: this run cannot be replayed",
                  path, bytes, c->found.bytes);
    if (status == STATUS_OK && there && bytes > c->found.bytes)
        status = c->disk->put_behind(c->disk->context, path, c->found.bytes, NULL, 0, error);
    return status == STATUS_OK ? clear_later(c, folder, error) : status;
}

/* Whether the record ends before the checkpoint. */
static void note_end(struct run_chronicle *c, uint64_t step)
{
    c->ended = c->found.batches < step;
    c->step = c->ended ? c->found.batches : step;
    if (c->ended && c->on && c->remark.text[0] == '\0')
        error_set(&c->remark, STATUS_NOT_FOUND,
                  "the record of this run ends at batch %" PRIu64
                  ": nothing more of it is recorded, and it cannot be replayed",
                  c->step);
}

void run_chronicle_end(struct run_chronicle *chronicle)
{
    chronicle->ended = true;
}

bool run_chronicle_has_ended(const struct run_chronicle *chronicle, uint64_t *batches)
{
    *batches = chronicle->on ? chronicle->step : chronicle->found.batches;
    return chronicle->on ? chronicle->ended : chronicle->found.session > 0;
}

enum status run_chronicle_open(struct run_chronicle *chronicle, const struct disk *disk,
                               const char *out, bool on, const struct manifest_record *found,
                               uint64_t step, uint64_t version, uint64_t generation,
                               struct error *error)
{
    struct run_chronicle *c = chronicle;
    memset(c, 0, sizeof *c);
    c->on = on;
    c->instructions = kernels_instructions();
    c->disk = disk;
    c->found = *found;
    c->found.computation = found->computation > 0 ? found->computation : 1;
    c->version = version;
    c->generation = generation;
    c->generation_due = true;
    snprintf(c->out, sizeof c->out, "%s", out);
    run_record_writer_init(&c->writer);
    enum status status = on ? make_place(c, error) : STATUS_OK;
    note_end(c, step);
    c->session = c->found.session + (on && !c->ended);
    if (status == STATUS_OK && c->session > RUN_RECORD_SESSIONS_MAX)
        status = error_set(error, STATUS_INVALID, "%.300s has been gone on with too often", out);
    return status;
}

void run_chronicle_close(struct run_chronicle *chronicle)
{
    free(chronicle->marks);
    run_record_writer_free(&chronicle->writer);
    memset(chronicle, 0, sizeof *chronicle);
}

/* Forget marks of later checkpoints. */
void run_chronicle_go_back(struct run_chronicle *chronicle, const struct manifest_record *found,
                           uint64_t step, uint64_t version, uint64_t generation)
{
    struct run_chronicle *c = chronicle;
    bool ours = found->session == c->session;
    while (c->mark_count > 0 && (!ours || c->marks[c->mark_count - 1].bytes > found->bytes))
        c->mark_count--;
    if (found->computation > 0)
        c->found.computation = found->computation;
    c->ended = found->batches < step;
    c->step = c->ended ? found->batches : step;
    c->version = version;
    c->generation = generation;
    c->generation_due = true;
}

/* --- writing ------------------------------------------------------------------------------- */

static enum status write_segment(struct run_chronicle *c, const struct job *job, uint64_t run_id,
                                 const struct partition *partition)
{
    struct run_record_segment segment = {
        .run_id = run_id,
        .session = c->session,
        .instructions = c->instructions,
        .worker_count = job->worker_count,
        .server_count = job->server_count,
        .batches = c->step,
        .version = c->version,
        .computation = c->found.computation,
        .chunk_count = partition != NULL ? partition->chunk_count : 0,
    };
    job_hash(job, JOB_SCOPE_RESUME, segment.declaration);
    segment.elements = calloc(segment.chunk_count + 1, sizeof *segment.elements);
    if (segment.elements == NULL)
        return STATUS_MEMORY;
    for (uint32_t i = 0; i < segment.chunk_count; i++)
        segment.elements[i] = partition->chunks[i].count;
    run_record_writer_segment(&c->writer, &segment);
    free(segment.elements);
    return STATUS_OK;
}

struct run_record_writer *run_chronicle_begin(struct run_chronicle *chronicle,
                                              const struct job *job, uint64_t run_id,
                                              const struct partition *partition,
                                              struct error *error)
{
    struct run_chronicle *c = chronicle;
    run_record_writer_free(&c->writer);
    run_record_writer_init(&c->writer);
    if (c->mark_count > 0) {
        run_record_writer_resume(&c->writer, partition != NULL ? partition->chunk_count : 0,
                                 c->marks[c->mark_count - 1].last);
    } else if (write_segment(c, job, run_id, partition) != STATUS_OK) {
        error_set(error, STATUS_MEMORY, "out of memory for the record");
        return NULL;
    }
    if (c->generation_due)
        run_record_writer_generation(&c->writer, c->generation);
    return &c->writer;
}

enum status run_chronicle_write(struct run_chronicle *chronicle,
                                const struct run_record_snapshot *cut, struct error *error)
{
    struct run_chronicle *c = chronicle;
    char path[DISK_PATH_MAX];
    uint64_t offset = c->mark_count > 0 ? c->marks[c->mark_count - 1].bytes : 0;
    struct run_chronicle_mark *marks =
        array_room(c->marks, c->mark_count, &c->mark_capacity, sizeof *marks);
    c->marks = marks != NULL ? marks : c->marks;
    run_record_writer_snapshot(&c->writer, cut);
    if (run_record_writer_finish(&c->writer) != STATUS_OK || marks == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory for the record");
    c->next.bytes = offset + c->writer.count;
    c->next_computation = cut->computation;
    c->next_step = cut->batches;
    c->next_version = cut->version;
    memcpy(c->next.last, c->writer.bytes + c->writer.count - sizeof c->next.last,
           sizeof c->next.last);
    run_record_path(path, c->out, c->session);
    const struct disk_piece piece = {c->writer.bytes, c->writer.count};
    return c->disk->put_behind(c->disk->context, path, offset, &piece, 1, error);
}

struct manifest_record run_chronicle_record(const struct run_chronicle *chronicle)
{
    const struct run_chronicle *c = chronicle;
    if (!c->on)
        return c->found;
    if (!c->ended)
        return (struct manifest_record){c->session, c->next.bytes, c->next_computation,
                                        c->next_step};
    struct manifest_record record = c->found;
    if (c->mark_count > 0)
        record = (struct manifest_record){.session = c->session,
                                          .bytes = c->marks[c->mark_count - 1].bytes};
    record.batches = c->step;
    record.computation = c->next_computation > 0 ? c->next_computation : c->found.computation;
    return record;
}

void run_chronicle_commit(struct run_chronicle *chronicle, uint64_t step)
{
    struct run_chronicle *c = chronicle;
    if (!c->on || c->ended)
        return;
    c->marks[c->mark_count++] = c->next; /* There is room for it. */
    c->step = step;
    c->version = c->next_version;
    c->generation_due = false;
}

uint64_t run_chronicle_next(const struct run_chronicle *chronicle)
{
    uint64_t found = chronicle->found.computation, next = chronicle->next_computation;
    return next > found ? next : found;
}

void run_chronicle_size(const struct run_chronicle *chronicle, uint64_t *files, uint64_t *bytes)
{
    const struct run_chronicle *c = chronicle;
    char path[DISK_PATH_MAX];
    uint64_t one;
    *files = *bytes = 0;
    for (uint64_t session = 1; c->disk != NULL && session <= c->session; session++) {
        run_record_path(path, c->out, session);
        if (c->disk->file_bytes(c->disk->context, path, &one, NULL) != STATUS_OK)
            continue;
        ++*files;
        *bytes += one;
    }
}
