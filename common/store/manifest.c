/* manifest.c - the manifest's JSON, written and read back; every field is checked before use. */

#include "common/store/manifest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/job/job_json.h"
#include "common/store/run_record.h"

#define MANIFEST_BYTES_MAX ((size_t)64 << 20)

/* The text behind what the last member guards: TAIL_START, 64 digits, TAIL_END. */
#define TAIL_START ",\n  \"blake2b\": \""
#define TAIL_END   "\"\n}\n"
#define TAIL_BYTES (sizeof TAIL_START - 1 + 2 * HASH_BYTES + sizeof TAIL_END - 1)

_Static_assert(HASH_BYTES == DIGEST_BYTES, "digests are BLAKE2b-256");

void manifest_free(struct manifest *manifest)
{
    job_free(&manifest->job);
    free(manifest->parts);
    memset(manifest, 0, sizeof *manifest);
}

void checkpoint_part_name(char name[CHECKPOINT_PART_NAME_MAX], uint32_t server,
                          uint32_t server_count, uint64_t generation)
{
    char suffix[32] = "";
    if (generation > 0)
        snprintf(suffix, sizeof suffix, ".g%" PRIu64, generation);
    snprintf(name, CHECKPOINT_PART_NAME_MAX, "part-%" PRIu32 "-of-%" PRIu32 "%s.safetensors",
             server, server_count, suffix);
}

bool checkpoint_is_part_name(const char *name, uint32_t server, uint32_t server_count)
{
    char expected[CHECKPOINT_PART_NAME_MAX];
    const char *suffix = strstr(name, ".g");
    uint64_t generation = suffix == NULL ? 0 : strtoull(suffix + 2, NULL, 10);
    checkpoint_part_name(expected, server, server_count, generation);
    return strcmp(name, expected) == 0;
}

/* --- writing ------------------------------------------------------------------------------- */

static void write_tally(struct json_writer *writer, const struct tally *tally)
{
    json_writer_u64(writer, "updates", tally->updates);
    json_writer_u64(writer, "examples", tally->examples);
    json_writer_u64(writer, "correct", tally->correct);
    json_writer_u64(writer, "loss", (uint64_t)tally->loss);
}

static void write_members(struct json_writer *writer, const struct manifest *manifest)
{
    json_writer_text(writer, "format", CHECKPOINT_FORMAT);
    json_writer_id(writer, "run_id", manifest->run_id);
    json_writer_u64(writer, "step", manifest->step);
    json_writer_object(writer, "epoch_so_far");
    write_tally(writer, &manifest->so_far.epoch);
    json_writer_end(writer);
    if (manifest->so_far.window.tally.updates > 0) {
        json_writer_object(writer, "window_so_far");
        json_writer_u64(writer, "first", manifest->so_far.window.first);
        write_tally(writer, &manifest->so_far.window.tally);
        json_writer_end(writer);
    }
    json_writer_object(writer, "record");
    json_writer_u64(writer, "session", manifest->record.session);
    json_writer_u64(writer, "bytes", manifest->record.bytes);
    json_writer_u64(writer, "computation", manifest->record.computation);
    json_writer_u64(writer, "batches", manifest->record.batches);
    json_writer_end(writer);
    job_write_json(writer, "job", &manifest->job);
    json_writer_array(writer, "parts");
    for (uint32_t i = 0; i < manifest->part_count; i++) {
        json_writer_object_line(writer, NULL);
        json_writer_text(writer, "file", manifest->parts[i].name);
        json_writer_u64(writer, "bytes", manifest->parts[i].bytes);
        json_writer_hex(writer, "blake2b", manifest->parts[i].digest, DIGEST_BYTES);
        json_writer_end(writer);
    }
    json_writer_end(writer);
}

enum status manifest_write(const struct disk *disk, const char *path,
                           const struct manifest *manifest, struct error *error)
{
    struct json_writer writer;
    json_writer_init(&writer, false);
    json_writer_object(&writer, NULL);
    write_members(&writer, manifest);
    enum status status = STATUS_MEMORY;
    if (!writer.failed) {
        uint8_t digest[HASH_BYTES];
        hash_bytes(writer.text, writer.bytes, digest);
        json_writer_hex(&writer, "blake2b", digest, sizeof digest);
        json_writer_end(&writer);
        json_writer_raw(&writer, "\n", 1);
    }
    if (writer.failed) {
        error_set(error, STATUS_MEMORY, "no memory to write %.300s", path);
    } else {
        const struct disk_piece piece = {writer.text, writer.bytes};
        status = disk->write_file(disk->context, path, &piece, 1, error);
    }
    json_writer_free(&writer);
    return status;
}

/* --- reading ------------------------------------------------------------------------------- */

static enum status check_digest(const char *text, size_t bytes, const char *path,
                                struct error *error)
{
    char expected[TAIL_BYTES + 1];
    bool intact = bytes > TAIL_BYTES;
    if (intact) {
        uint8_t digest[HASH_BYTES];
        char digits[2 * HASH_BYTES + 1];
        hash_bytes(text, bytes - TAIL_BYTES, digest);
        hash_hex(digest, sizeof digest, digits);
        snprintf(expected, sizeof expected, "%s%s%s", TAIL_START, digits, TAIL_END);
        intact = memcmp(text + bytes - TAIL_BYTES, expected, TAIL_BYTES) == 0;
    }
    if (!intact)
        return error_set(error, STATUS_INVALID,
                         "%.300s: damaged, cut off or changed by hand: its checksum does not match",
                         path);
    return STATUS_OK;
}

static enum status read_part(struct checkpoint_part *part, uint32_t index, uint32_t count,
                             const struct json *object, const char *path, struct error *error)
{
    struct json_fields fields;
    json_fields_init(&fields, object, path, error);
    json_fields_copy(&fields, "file", part->name, sizeof part->name);
    /* A name of our own making cannot lead out of the directory. */
    if (!checkpoint_is_part_name(part->name, index, count))
        json_fields_refuse(&fields, "file", "is not the name of this part");
    part->bytes = json_fields_u64(&fields, "bytes", INT64_MAX);
    json_fields_hex(&fields, "blake2b", part->digest, DIGEST_BYTES);
    return json_fields_end(&fields);
}

static enum status read_parts(struct manifest *manifest, const struct json *list, const char *path,
                              struct error *error)
{
    manifest->part_count = (uint32_t)json_length(list, "");
    if (manifest->part_count == 0)
        return error_set(error, STATUS_INVALID, "%.300s: names no parts", path);
    manifest->parts = calloc(manifest->part_count, sizeof *manifest->parts);
    if (manifest->parts == NULL)
        return error_set(error, STATUS_MEMORY, "no memory to read %.300s", path);
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < manifest->part_count && status == STATUS_OK; i++)
        status = read_part(&manifest->parts[i], i, manifest->part_count, json_item(list, i), path,
                           error);
    return status;
}

static void read_tally(struct tally *tally, struct json_fields *fields)
{
    tally->updates = json_fields_u64(fields, "updates", UINT64_MAX);
    tally->examples = json_fields_u64(fields, "examples", UINT64_MAX);
    tally->correct = json_fields_u64(fields, "correct", tally->examples);
    tally->loss = (int64_t)json_fields_u64(fields, "loss", UINT64_MAX);
}

static enum status read_epoch(struct tally *tally, const struct json *object, const char *path,
                              struct error *error)
{
    struct json_fields fields;
    json_fields_init(&fields, object, path, error);
    read_tally(tally, &fields);
    return json_fields_end(&fields);
}

/* It may be missing. */
static enum status read_window(struct window_so_far *window, const struct json *object,
                               const char *path, struct error *error)
{
    struct json_fields fields;
    if (object == NULL)
        return STATUS_OK;
    json_fields_init(&fields, object, path, error);
    window->first = json_fields_u64(&fields, "first", UINT64_MAX);
    read_tally(&window->tally, &fields);
    return json_fields_end(&fields);
}

static enum status read_record(struct manifest_record *record, const struct json *object,
                               const char *path, struct error *error)
{
    struct json_fields fields;
    json_fields_init(&fields, object, path, error);
    record->session = json_fields_u64(&fields, "session", RUN_RECORD_SESSIONS_MAX);
    record->bytes = json_fields_u64(&fields, "bytes", INT64_MAX);
    record->computation = json_fields_u64(&fields, "computation", RUN_RECORD_NUMBER_END);
    record->batches = json_fields_u64(&fields, "batches", INT64_MAX);
    return json_fields_end(&fields);
}

/* The epoch's updates before the checkpoint's step, or none: parts are not reported. */
static bool is_of_the_step(const struct manifest *manifest)
{
    uint64_t before = manifest->step % job_steps_per_epoch(&manifest->job);
    return manifest->so_far.epoch.updates <= before;
}

static bool is_before_the_step(const struct window_so_far *window, uint64_t step)
{
    return window->first <= step && window->tally.updates <= step - window->first;
}

static enum status read_members(struct manifest *manifest, const struct json *root,
                                const char *path, struct error *error)
{
    struct json_fields fields;
    json_fields_init(&fields, root, path, error);
    if (strcmp(json_fields_text(&fields, "format"), CHECKPOINT_FORMAT) != 0)
        json_fields_refuse(&fields, "format", "is not " CHECKPOINT_FORMAT);
    manifest->run_id = json_fields_id(&fields, "run_id");
    manifest->step = json_fields_u64(&fields, "step", UINT64_MAX);
    const struct json *so_far = json_fields_object(&fields, "epoch_so_far");
    const struct json *window = json_at(root, "window_so_far") != NULL
                                    ? json_fields_object(&fields, "window_so_far")
                                    : NULL;
    const struct json *record = json_fields_object(&fields, "record");
    const struct json *job = json_fields_object(&fields, "job");
    const struct json *parts = json_fields_array(&fields, "parts", JOB_SERVERS_MAX);
    json_fields_text(&fields, "blake2b"); /* Checked already. */
    enum status status = json_fields_end(&fields);
    if (status == STATUS_OK)
        status = read_epoch(&manifest->so_far.epoch, so_far, path, error);
    if (status == STATUS_OK)
        status = read_window(&manifest->so_far.window, window, path, error);
    if (status == STATUS_OK)
        status = read_record(&manifest->record, record, path, error);
    if (status == STATUS_OK)
        status = job_read_json(&manifest->job, job, path, error);
    if (status == STATUS_OK)
        status = read_parts(manifest, parts, path, error);
    if (status == STATUS_OK && manifest->step > manifest->job.steps)
        status = error_set(error, STATUS_INVALID,
                           "%.300s: step %" PRIu64 " is beyond the job's %" PRIu64, path,
                           manifest->step, manifest->job.steps);
    if (status == STATUS_OK && manifest->record.batches > manifest->step)
        status = error_set(error, STATUS_INVALID,
                           "%.300s: the record goes up to batch %" PRIu64 ", beyond step %" PRIu64,
                           path, manifest->record.batches, manifest->step);
    if (status == STATUS_OK && !is_before_the_step(&manifest->so_far.window, manifest->step))
        status = error_set(error, STATUS_INVALID,
                           "%.300s: window_so_far is not of batches before step %" PRIu64, path,
                           manifest->step);
    if (status == STATUS_OK && !is_of_the_step(manifest))
        status =
            error_set(error, STATUS_INVALID,
                      "%.300s: epoch_so_far has more updates than the epoch before step %" PRIu64,
                      path, manifest->step);
    return status;
}

enum status manifest_read(struct manifest *manifest, const struct disk *disk, const char *path,
                          struct error *error)
{
    memset(manifest, 0, sizeof *manifest);
    void *text;
    size_t bytes;
    enum status status =
        disk->read_file(disk->context, path, MANIFEST_BYTES_MAX, &text, &bytes, error);
    if (status != STATUS_OK)
        return status;
    struct json *root = NULL;
    status = check_digest(text, bytes, path, error);
    if (status == STATUS_OK)
        status = json_parse(text, bytes, path, &root, error);
    if (status == STATUS_OK)
        status = read_members(manifest, root, path, error);
    json_release(&root);
    free(text);
    if (status != STATUS_OK)
        manifest_free(manifest);
    return status;
}
