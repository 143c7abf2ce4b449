/* checkpoint.c - writes parts and the manifest, finds, verifies, loads and removes checkpoints.
 * Reading maps each tensor of each part to its place in the whole, and insists that the tensors
 * tile it. */

#include "common/store/checkpoint.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/beside.h"
#include "common/base/hash.h"
#include "common/store/safetensors.h"

#define MANIFEST_NAME "manifest.json"

/* A run waits while checkpoints are read to see whether they are whole, so only a few are read
 * at a time. They are more than are kept by default, which are thus always known at once. */
#define READS_A_PRUNING 8

#define BLOCK_BYTES (1u << 20) /* Read at once, where the whole is not. */

/* --- names --------------------------------------------------------------------------------- */

/* "directory/name" into path. */
static enum status join(char path[DISK_PATH_MAX], const char *directory, const char *name,
                        struct error *error)
{
    if (snprintf(path, DISK_PATH_MAX, "%s/%s", directory, name) < DISK_PATH_MAX)
        return STATUS_OK;
    return error_set(error, STATUS_INVALID, "path is too long: %.300s...", directory);
}

void checkpoint_path(char *path, const char *out, uint64_t step)
{
    snprintf(path, DISK_PATH_MAX, "%s/checkpoints/step-%012" PRIu64, out, step);
}

/* The number written by digits alone, as %u writes it; *end is the rest. */
static bool parse_digits(const char *text, const char **end, uint64_t *number)
{
    uint64_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return false;
    *end = at;
    *number = value;
    return at > text;
}

/* The step of a directory called step-%012u, and no other. */
static bool parse_step(const char *name, uint64_t *step)
{
    const char *end;
    if (strncmp(name, "step-", 5) != 0 || !parse_digits(name + 5, &end, step))
        return false;
    char canonical[64];
    snprintf(canonical, sizeof canonical, "step-%012" PRIu64, *step);
    return strcmp(name, canonical) == 0;
}

/* --- writing ------------------------------------------------------------------------------- */

/* The name of array number `index` of a chunk. */
static const char *array_name(const struct slots *slots, uint32_t index)
{
    return index == 0 ? "values" : slots->names[index - 1];
}

static void describe_part(struct safetensors_writer *writer, uint64_t step,
                          const struct slots *slots, const struct checkpoint_chunk *chunks,
                          uint32_t chunk_count)
{
    char text[96];
    snprintf(text, sizeof text, "%" PRIu64, step);
    safetensors_writer_metadata(writer, "format", CHECKPOINT_FORMAT);
    safetensors_writer_metadata(writer, "step", text);
    if (chunk_count > 0 && chunks[0].version != step) {
        snprintf(text, sizeof text, "%" PRIu64, chunks[0].version);
        safetensors_writer_metadata(writer, "version", text);
    }
    for (uint32_t i = 0; i < chunk_count; i++) {
        for (uint32_t array = 0; array < 1 + slots->count; array++) {
            snprintf(text, sizeof text, "chunk-%" PRIu64 "/%s", chunks[i].first,
                     array_name(slots, array));
            safetensors_writer_tensor(writer, text, &chunks[i].count, 1, chunks[i].arrays[array]);
        }
    }
}

/* One part while it is written, for the thread that measures it. */
struct measuring {
    const struct safetensors_writer *writer;
    struct checkpoint_part *part;
};

static void measure(void *argument)
{
    const struct measuring *measuring = argument;
    const struct safetensors_writer *writer = measuring->writer;
    struct hash hash;
    hash_init(&hash);
    measuring->part->bytes = 0;
    for (size_t i = 0; i < writer->piece_count; i++) {
        hash_update(&hash, writer->pieces[i].data, writer->pieces[i].bytes);
        measuring->part->bytes += writer->pieces[i].bytes;
    }
    hash_final(&hash, measuring->part->digest);
}

/* One piece against the bytes of the file from an offset on. */
static enum status compare_piece(const struct disk *disk, const char *path, uint64_t offset,
                                 const struct disk_piece *piece, uint8_t *block,
                                 struct error *error)
{
    const uint8_t *data = piece->data;
    for (size_t at = 0; at < piece->bytes; at += BLOCK_BYTES) {
        size_t some = piece->bytes - at < BLOCK_BYTES ? piece->bytes - at : BLOCK_BYTES;
        enum status status = disk->read_range(disk->context, path, offset + at, block, some, error);
        if (status != STATUS_OK)
            return status;
        if (memcmp(block, data + at, some) != 0)
            return error_set(error, STATUS_IO, "%.300s: is not what was written to it", path);
    }
    return STATUS_OK;
}

static enum status read_back(const struct disk *disk, const char *path,
                             const struct safetensors_writer *writer, struct error *error)
{
    uint64_t offset = 0;
    enum status status = STATUS_OK;
    uint8_t *block = malloc(BLOCK_BYTES);
    if (block == NULL)
        return error_set(error, STATUS_MEMORY, "no memory to read %.300s", path);
    for (size_t i = 0; i < writer->piece_count && status == STATUS_OK; i++) {
        status = compare_piece(disk, path, offset, &writer->pieces[i], block, error);
        offset += writer->pieces[i].bytes;
    }
    free(block);
    return status;
}

/* The digest is of the bytes in memory, which stay unchanged, and so is the file. It takes
 * longer than all else. */
static enum status write_measured(const struct disk *disk, const char *path,
                                  const struct safetensors_writer *writer, bool proven,
                                  struct checkpoint_part *part, struct error *error)
{
    struct beside beside;
    struct measuring measuring = {writer, part};
    beside_start(&beside, writer->data_bytes, measure, &measuring);
    enum status status =
        disk->write_file(disk->context, path, writer->pieces, writer->piece_count, error);
    if (status == STATUS_OK && proven)
        status = read_back(disk, path, writer, error);
    beside_join(&beside);
    return status;
}

/* A symbolic link leads to a place that may be another's: nothing is written or removed there. */
static bool is_link(const struct disk *disk, const char *path)
{
    return disk->look(disk->context, path) == DISK_LINK;
}

static enum status make_place(const struct disk *disk, const char *out, const char *directory,
                              struct error *error)
{
    char all[DISK_PATH_MAX];
    enum status status = join(all, out, "checkpoints", error);
    if (status != STATUS_OK)
        return status;
    if (is_link(disk, all) || is_link(disk, directory))
        return error_set(error, STATUS_IO, "cannot write to %.300s: it is a symbolic link",
                         is_link(disk, all) ? all : directory);
    return disk->make_directory(disk->context, directory, error);
}

enum status checkpoint_write_part(const struct disk *disk, const char *out, uint64_t step,
                                  uint64_t generation, uint32_t server, uint32_t server_count,
                                  struct slots slots, const struct checkpoint_chunk *chunks,
                                  uint32_t chunk_count, bool proven, struct checkpoint_part *part,
                                  struct error *error)
{
    char directory[DISK_PATH_MAX], path[DISK_PATH_MAX];
    checkpoint_path(directory, out, step);
    checkpoint_part_name(part->name, server, server_count, generation);
    enum status status = join(path, directory, part->name, error);
    if (status == STATUS_OK)
        status = make_place(disk, out, directory, error);
    if (status != STATUS_OK)
        return status;

    struct safetensors_writer writer;
    safetensors_writer_init(&writer);
    describe_part(&writer, step, &slots, chunks, chunk_count);
    status = safetensors_writer_finish(&writer, error);
    if (status == STATUS_OK)
        status = write_measured(disk, path, &writer, proven, part, error);
    safetensors_writer_free(&writer);
    return status;
}

/* A manifest vouches for its parts, so they must be there before it. A server may have written
 * its own to a directory of the same name on another host. */
static enum status check_parts(const struct disk *disk, const char *directory,
                               const struct manifest *manifest, struct error *error)
{
    char path[DISK_PATH_MAX];
    for (uint32_t i = 0; i < manifest->part_count; i++) {
        const struct checkpoint_part *part = &manifest->parts[i];
        uint64_t bytes;
        if (!checkpoint_is_part_name(part->name, i, manifest->part_count))
            return error_set(error, STATUS_INVALID, "\"%.64s\" is not the name of part %" PRIu32,
                             part->name, i);
        if (join(path, directory, part->name, error) != STATUS_OK ||
            disk->file_bytes(disk->context, path, &bytes, error) != STATUS_OK)
            return STATUS_INVALID;
        if (bytes != part->bytes)
            return error_set(error, STATUS_INVALID,
                             "%.300s: has %" PRIu64 " bytes, but its writer says %" PRIu64, path,
                             bytes, part->bytes);
    }
    return STATUS_OK;
}

/* A name that a manifest does not list. */
struct tidying {
    const struct disk *disk;
    const char *directory;
    const struct manifest *manifest;
};

/* But not a file being written aside under a part's name: the last snapshot of a run may be made
 * twice at the same step, and its second part, with the same bytes, be under way. */
static void tidy_entry(void *argument, const char *name)
{
    const struct tidying *tidying = argument;
    const struct manifest *manifest = tidying->manifest;
    char path[DISK_PATH_MAX];
    if (strcmp(name, MANIFEST_NAME) == 0)
        return;
    for (uint32_t i = 0; i < manifest->part_count; i++) {
        size_t length = strlen(manifest->parts[i].name);
        if (strncmp(name, manifest->parts[i].name, length) == 0 &&
            (name[length] == '\0' || strcmp(name + length, DISK_ASIDE) == 0))
            return;
    }
    if (join(path, tidying->directory, name, NULL) == STATUS_OK)
        tidying->disk->remove_tree(tidying->disk->context, path, NULL);
}

/* A left-over file does no harm but to take room, so neither does failing to remove it. */
static void tidy(const struct disk *disk, const char *directory, const struct manifest *manifest)
{
    struct tidying tidying = {disk, directory, manifest};
    if (is_link(disk, directory))
        return;
    disk->list_directory(disk->context, directory, tidy_entry, &tidying, NULL);
}

enum status checkpoint_write_manifest(const struct disk *disk, const char *out,
                                      const struct manifest *manifest, struct error *error)
{
    char directory[DISK_PATH_MAX], path[DISK_PATH_MAX];
    checkpoint_path(directory, out, manifest->step);
    enum status status = join(path, directory, MANIFEST_NAME, error);
    if (status == STATUS_OK)
        status = check_parts(disk, directory, manifest, error);
    if (status == STATUS_OK)
        status = manifest_write(disk, path, manifest, error);
    if (status == STATUS_OK)
        tidy(disk, directory, manifest);
    return status;
}

/* --- what there is ------------------------------------------------------------------------- */

struct listing_entry {
    uint64_t step;
    bool has_manifest; /* Or it cannot be looked into: no reason to remove anything in it. */
};

struct listing {
    struct listing_entry *entries; /* [count], newest first, owned. */
    size_t count, capacity;
    bool failed;
};

static void note_step(void *argument, const char *name)
{
    struct listing *listing = argument;
    uint64_t step;
    if (!parse_step(name, &step) || listing->failed)
        return;
    struct listing_entry *entries =
        array_room(listing->entries, listing->count, &listing->capacity, sizeof *entries);
    if (entries == NULL) {
        listing->failed = true;
        return;
    }
    listing->entries = entries;
    listing->entries[listing->count++] = (struct listing_entry){.step = step};
}

static void note_manifest(void *argument, const char *name)
{
    bool *found = argument;
    *found = *found || strcmp(name, MANIFEST_NAME) == 0;
}

static int newest_first(const void *a, const void *b)
{
    const struct listing_entry *x = a, *y = b;
    return x->step > y->step ? -1 : x->step < y->step;
}

/* The caller frees listing->entries in any case. */
static enum status list_all(struct listing *listing, const struct disk *disk, const char *out,
                            struct error *error)
{
    char path[DISK_PATH_MAX];
    memset(listing, 0, sizeof *listing);
    enum status status = join(path, out, "checkpoints", error);
    if (status != STATUS_OK)
        return status;
    status = disk->list_directory(disk->context, path, note_step, listing, error);
    if (listing->failed)
        status = error_set(error, STATUS_MEMORY, "no memory to list %.300s", path);
    if (status != STATUS_OK)
        return status == STATUS_NOT_FOUND ? STATUS_OK : status;
    for (size_t i = 0; i < listing->count; i++) {
        struct listing_entry *entry = &listing->entries[i];
        checkpoint_path(path, out, entry->step);
        status =
            disk->list_directory(disk->context, path, note_manifest, &entry->has_manifest, NULL);
        entry->has_manifest |= status != STATUS_OK && status != STATUS_NOT_FOUND;
    }
    if (listing->count > 0)
        qsort(listing->entries, listing->count, sizeof *listing->entries, newest_first);
    return STATUS_OK;
}

size_t checkpoint_list(const struct disk *disk, const char *out, uint64_t *steps, size_t max)
{
    struct listing listing;
    size_t found = 0;
    if (list_all(&listing, disk, out, NULL) == STATUS_OK) {
        for (size_t i = 0; i < listing.count; i++) {
            if (!listing.entries[i].has_manifest)
                continue;
            if (found < max)
                steps[found] = listing.entries[i].step;
            found++;
        }
    }
    free(listing.entries);
    return found;
}

static enum status remove_checkpoint(const struct disk *disk, const char *out,
                                     struct listing_entry entry, struct error *error)
{
    char directory[DISK_PATH_MAX], manifest[DISK_PATH_MAX];
    checkpoint_path(directory, out, entry.step);
    enum status status = STATUS_OK;
    /* Without its manifest it is no checkpoint any more, after any interruption. */
    bool folder =
        disk->look(disk->context, directory) == DISK_FOLDER; /* A link is removed as such. */
    if (entry.has_manifest && folder && join(manifest, directory, MANIFEST_NAME, NULL) == STATUS_OK)
        status = disk->remove_tree(disk->context, manifest, error);
    if (status == STATUS_OK || status == STATUS_NOT_FOUND)
        status = disk->remove_tree(disk->context, directory, error);
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

/* --- keeping ------------------------------------------------------------------------------- */

static bool is_on_shelf(const struct checkpoint_shelf *shelf, uint64_t step)
{
    for (uint32_t i = 0; i < shelf->count; i++)
        if (shelf->steps[i] == step)
            return true;
    return false;
}

uint32_t checkpoint_shelf_keep(const struct checkpoint_shelf *shelf)
{
    return shelf->keep == 0 ? CHECKPOINTS_KEPT : shelf->keep;
}

void checkpoint_shelf_add(struct checkpoint_shelf *shelf, uint64_t step)
{
    uint32_t oldest = 0, keep = checkpoint_shelf_keep(shelf);
    shelf->newest = step;
    if (keep == CHECKPOINTS_ALL || is_on_shelf(shelf, step))
        return;
    if (shelf->count < keep) {
        shelf->steps[shelf->count++] = step;
        return;
    }
    for (uint32_t i = 1; i < shelf->count; i++)
        if (shelf->steps[i] < shelf->steps[oldest])
            oldest = i;
    shelf->steps[oldest] = step;
}

/* Whether a checkpoint is whole. Reads it unless this process knows. */
static enum status inspect(const struct disk *disk, const char *out, uint64_t step,
                           const struct checkpoint_shelf *shelf, struct error *error)
{
    char directory[DISK_PATH_MAX];
    struct checkpoint_reader reader;
    if (is_on_shelf(shelf, step))
        return STATUS_OK;
    checkpoint_path(directory, out, step);
    enum status status = checkpoint_open_headers(&reader, disk, directory, error);
    if (status != STATUS_OK)
        return status;
    status = checkpoint_verify(&reader, error);
    if (status == STATUS_OK)
        tidy(disk, directory, &reader.manifest);
    checkpoint_close(&reader);
    return status;
}

/* Keep the knowledge of those that a pruning did not come to. */
static void keep_knowledge(struct checkpoint_shelf *whole, const struct checkpoint_shelf *shelf,
                           uint64_t before)
{
    uint32_t keep = checkpoint_shelf_keep(whole);
    for (uint32_t i = 0; i < shelf->count && whole->count < keep; i++)
        if (shelf->steps[i] < before)
            whole->steps[whole->count++] = shelf->steps[i];
}

/* Move those that are older than enough whole ones to the front of listing; *superfluous counts
 * them. */
static enum status choose_superfluous(struct listing *listing, const struct disk *disk,
                                      const char *out, struct checkpoint_shelf *shelf,
                                      size_t *superfluous, struct error *error)
{
    struct checkpoint_shelf whole = {.keep = shelf->keep, .newest = shelf->newest};
    uint32_t keep = checkpoint_shelf_keep(shelf), reads = 0;
    *superfluous = 0;
    for (size_t i = 0; i < listing->count; i++) {
        struct listing_entry entry = listing->entries[i];
        bool wanted = shelf->count > 0 && entry.step == shelf->newest;
        if (whole.count == keep && !wanted)
            listing->entries[(*superfluous)++] = entry;
        if (whole.count == keep || !entry.has_manifest)
            continue;
        if (!is_on_shelf(shelf, entry.step) && reads++ == READS_A_PRUNING) {
            keep_knowledge(&whole, shelf, entry.step);
            break;
        }
        enum status status = inspect(disk, out, entry.step, shelf, error);
        if (status == STATUS_MEMORY)
            return status; /* Says nothing about the checkpoint. */
        if (status == STATUS_OK)
            whole.steps[whole.count++] = entry.step;
    }
    *shelf = whole;
    return STATUS_OK;
}

enum status checkpoint_prune(const struct disk *disk, const char *out,
                             struct checkpoint_shelf *shelf, struct error *error)
{
    struct listing listing;
    size_t superfluous = 0;
    if (checkpoint_shelf_keep(shelf) == CHECKPOINTS_ALL)
        return STATUS_OK;
    enum status status = list_all(&listing, disk, out, error);
    if (status == STATUS_OK)
        status = choose_superfluous(&listing, disk, out, shelf, &superfluous, error);
    while (status == STATUS_OK && superfluous > 0)
        status = remove_checkpoint(disk, out, listing.entries[--superfluous], error);
    free(listing.entries);
    return status;
}

enum status checkpoint_sweep(const struct disk *disk, const char *out, uint64_t before,
                             struct error *error)
{
    struct listing listing;
    enum status status = list_all(&listing, disk, out, error);
    for (size_t i = 0; i < listing.count && status == STATUS_OK; i++) {
        struct listing_entry entry = listing.entries[i];
        if (!entry.has_manifest && entry.step < before)
            status = remove_checkpoint(disk, out, entry, error);
    }
    free(listing.entries);
    return status;
}

/* --- reading ------------------------------------------------------------------------------- */

static enum status no_memory(const char *path, struct error *error)
{
    return error_set(error, STATUS_MEMORY, "no memory to read %.300s", path);
}

static enum status check_metadata(const struct safetensors_file *file, const char *path,
                                  uint64_t step, struct error *error)
{
    char expected[32];
    snprintf(expected, sizeof expected, "%" PRIu64, step);
    const char *format = safetensors_metadata(file, "format");
    const char *found = safetensors_metadata(file, "step");
    if (format == NULL || strcmp(format, CHECKPOINT_FORMAT) != 0)
        return error_set(error, STATUS_INVALID, "%.300s: is not a part of a checkpoint", path);
    if (found == NULL || strcmp(found, expected) != 0)
        return error_set(error, STATUS_INVALID, "%.300s: is of step %.32s, not %s", path,
                         found != NULL ? found : "none", expected);
    return STATUS_OK;
}

/* Of a job in which batches may make an update together. All parts have the same version, but
 * for those without a chunk. Without a version each batch has made its own. */
static enum status check_version(struct checkpoint_reader *reader,
                                 const struct safetensors_file *file, const char *path,
                                 struct error *error)
{
    const char *text = safetensors_metadata(file, "version"), *end = text;
    uint64_t version = reader->manifest.step;
    if (!job_accumulates(&reader->manifest.job) || file->tensor_count == 0)
        return STATUS_OK;
    if (text != NULL &&
        (!parse_digits(text, &end, &version) || *end != '\0' || version > reader->manifest.step))
        return error_set(error, STATUS_INVALID,
                         "%.300s: is of version %.32s, which cannot be at step %" PRIu64, path,
                         text, reader->manifest.step);
    if (reader->run_count > 0 && reader->version != version)
        return error_set(error, STATUS_INVALID,
                         "%.300s: is of version %" PRIu64 ", and another part of %" PRIu64, path,
                         version, reader->version);
    reader->version = version;
    return STATUS_OK;
}

/* The tensor's place, from its name "chunk-<first>/<array>". */
static enum status place(const struct checkpoint_reader *reader, const char *path,
                         const struct safetensors_tensor *tensor, struct checkpoint_run *run,
                         struct error *error)
{
    const struct slots slots = job_slots(&reader->manifest.job);
    const char *end = tensor->name;
    bool valid = strncmp(tensor->name, "chunk-", 6) == 0 && safetensors_is_f32(tensor) &&
                 tensor->rank == 1 && parse_digits(tensor->name + 6, &end, &run->first) &&
                 *end == '/';
    for (run->array = 0; valid && run->array < reader->array_count; run->array++)
        if (strcmp(end + 1, array_name(&slots, run->array)) == 0)
            return STATUS_OK;
    return error_set(error, STATUS_INVALID,
                     "%.300s: tensor \"%.64s\" does not belong into a checkpoint with %s", path,
                     tensor->name, reader->manifest.job.optimizer.name);
}

/* The data are behind `start` bytes of the file. */
static enum status add_runs(struct checkpoint_reader *reader, uint32_t part, const char *path,
                            const struct safetensors_file *file, uint64_t start,
                            struct error *error)
{
    struct checkpoint_run *runs =
        realloc(reader->runs, (reader->run_count + file->tensor_count + 1) * sizeof *runs);
    enum status status = STATUS_OK;
    if (runs == NULL)
        return no_memory(path, error);
    reader->runs = runs;
    for (size_t i = 0; i < file->tensor_count && status == STATUS_OK; i++) {
        const struct safetensors_tensor *tensor = &file->tensors[i];
        struct checkpoint_run *run = &runs[reader->run_count++];
        *run = (struct checkpoint_run){
            .part = part, .count = tensor->elements, .offset = start + tensor->begin};
        status = place(reader, path, tensor, run, error);
    }
    return status;
}

/* The header of a part, and the bytes before it; *bytes is the caller's to free in any case. */
static enum status read_header(const struct disk *disk, const char *path, uint64_t expected,
                               void **bytes, size_t *count, struct error *error)
{
    uint8_t start[SAFETENSORS_START];
    uint64_t file_bytes = 0, header_bytes;
    enum status status =
        disk->read_start(disk->context, path, start, sizeof start, count, &file_bytes, error);
    /* A manifest without its parts is a damaged checkpoint, and not "no checkpoint". */
    if (status == STATUS_NOT_FOUND)
        return error_set(error, STATUS_INVALID, "%.300s is missing", path);
    if (status == STATUS_OK && file_bytes != expected)
        status = error_set(error, STATUS_INVALID,
                           "%.300s: has %" PRIu64 " bytes, but the manifest says %" PRIu64, path,
                           file_bytes, expected);
    if (status == STATUS_OK)
        status = safetensors_look(start, *count, file_bytes, path, error);
    if (status != STATUS_OK)
        return status;
    memcpy(&header_bytes, start, 8);
    *count = 8 + (size_t)header_bytes;
    *bytes = malloc(*count);
    if (*bytes == NULL)
        return no_memory(path, error);
    return disk->read_range(disk->context, path, 0, *bytes, *count, error);
}

static enum status index_part(struct checkpoint_reader *reader, uint32_t index, struct error *error)
{
    const struct checkpoint_part *part = &reader->manifest.parts[index];
    struct safetensors_file file = {0};
    char path[DISK_PATH_MAX];
    void *bytes = NULL;
    size_t count;
    enum status status = join(path, reader->path, part->name, error);
    if (status == STATUS_OK)
        status = read_header(reader->disk, path, part->bytes, &bytes, &count, error);
    if (status == STATUS_OK)
        status = safetensors_open_header(&file, bytes, count, part->bytes, path, error);
    if (status == STATUS_OK)
        status = check_metadata(&file, path, reader->manifest.step, error);
    if (status == STATUS_OK)
        status = check_version(reader, &file, path, error);
    if (status == STATUS_OK)
        status = add_runs(reader, index, path, &file, count, error);
    safetensors_close(&file);
    free(bytes);
    return status;
}

static int by_element(const void *a, const void *b)
{
    const struct checkpoint_run *x = a, *y = b;
    if (x->array != y->array)
        return x->array < y->array ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static int by_offset(const void *a, const void *b)
{
    const struct checkpoint_run *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Sorted runs cover each array's whole space, every element once. */
static enum status check_cover(const struct checkpoint_reader *reader, struct error *error)
{
    const struct slots slots = job_slots(&reader->manifest.job);
    size_t next = 0;
    for (uint32_t array = 0; array < reader->array_count; array++) {
        uint64_t end = 0, elements = reader->elements;
        for (; next < reader->run_count && reader->runs[next].array == array; next++) {
            const struct checkpoint_run *run = &reader->runs[next];
            if (run->first != end || run->count == 0 || run->count > elements - end)
                return error_set(error, STATUS_INVALID,
                                 "%.300s/%s: %s of elements %" PRIu64 " to %" PRIu64
                                 " do not fit to those before, which end at %" PRIu64,
                                 reader->path, reader->manifest.parts[run->part].name,
                                 array_name(&slots, array), run->first, run->first + run->count,
                                 end);
            end += run->count;
        }
        if (end != elements)
            return error_set(error, STATUS_INVALID,
                             "%.300s: its parts hold %s of only %" PRIu64 " of %" PRIu64
                             " elements",
                             reader->path, array_name(&slots, array), end, elements);
    }
    return STATUS_OK;
}

enum status checkpoint_open_headers(struct checkpoint_reader *reader, const struct disk *disk,
                                    const char *path, struct error *error)
{
    char manifest[DISK_PATH_MAX];
    memset(reader, 0, sizeof *reader);
    reader->disk = disk;
    snprintf(reader->path, sizeof reader->path, "%s", path);
    enum status status = join(manifest, path, MANIFEST_NAME, error);
    if (status == STATUS_OK)
        status = manifest_read(&reader->manifest, disk, manifest, error);
    if (status != STATUS_OK)
        return status;
    const struct job *job = &reader->manifest.job;
    reader->version = reader->manifest.step;
    reader->elements = variables_room(job->variables, job->variable_count);
    reader->array_count = 1 + job_slots(job).count; /* job_check has looked at it. */
    for (uint32_t i = 0; status == STATUS_OK && i < reader->manifest.part_count; i++)
        status = index_part(reader, i, error);
    if (status == STATUS_OK) {
        qsort(reader->runs, reader->run_count, sizeof *reader->runs, by_element);
        status = check_cover(reader, error);
    }
    /* A flipped bit is a better reason than what it did to a header. */
    struct error flipped;
    if (status == STATUS_INVALID && checkpoint_verify(reader, &flipped) == STATUS_INVALID)
        error_set(error, status, "%s", flipped.text);
    if (status != STATUS_OK)
        checkpoint_close(reader);
    return status;
}

/* A part of which a reader reads piece by piece. */
struct passage {
    const struct disk *disk;
    char path[DISK_PATH_MAX];
    uint64_t at; /* Bytes of the file that are read. */
    struct hash hash;
    uint8_t *block; /* [BLOCK_BYTES] */
};

/* Up to `end`, into `to`, or, where that is NULL, nowhere. */
static enum status pass(struct passage *passage, uint64_t end, void *to, struct error *error)
{
    enum status status = STATUS_OK;
    uint8_t *next = to;
    while (status == STATUS_OK && passage->at < end) {
        size_t some = end - passage->at < BLOCK_BYTES ? (size_t)(end - passage->at) : BLOCK_BYTES;
        uint8_t *bytes = next != NULL ? next : passage->block;
        status = passage->disk->read_range(passage->disk->context, passage->path, passage->at,
                                           bytes, some, error);
        if (status == STATUS_OK)
            hash_update(&passage->hash, bytes, some);
        passage->at += some;
        next = next != NULL ? next + some : NULL;
    }
    return status;
}

/* A part against its digest, and on the way its arrays into those that there are; for them runs
 * are in order of offset. */
static enum status read_part(const struct checkpoint_reader *reader, uint32_t index, uint8_t *block,
                             struct error *error)
{
    const struct checkpoint_part *part = &reader->manifest.parts[index];
    struct passage passage = {.disk = reader->disk, .block = block};
    uint8_t digest[DIGEST_BYTES];
    hash_init(&passage.hash);
    enum status status = join(passage.path, reader->path, part->name, error);
    for (size_t i = 0; i < reader->run_count && status == STATUS_OK; i++) {
        const struct checkpoint_run *run = &reader->runs[i];
        float *array = reader->arrays[run->array];
        if (run->part != index || array == NULL)
            continue;
        status = pass(&passage, run->offset, NULL, error);
        if (status == STATUS_OK)
            status =
                pass(&passage, run->offset + run->count * sizeof(float), array + run->first, error);
    }
    if (status == STATUS_OK)
        status = pass(&passage, part->bytes, NULL, error);
    hash_final(&passage.hash, digest);
    if (status == STATUS_OK && memcmp(digest, part->digest, DIGEST_BYTES) != 0)
        status =
            error_set(error, STATUS_INVALID,
                      "%.300s: damaged: its checksum is not the one in the manifest", passage.path);
    return status;
}

enum status checkpoint_verify(const struct checkpoint_reader *reader, struct error *error)
{
    uint8_t *block = malloc(BLOCK_BYTES);
    enum status status = block != NULL ? STATUS_OK : no_memory(reader->path, error);
    for (uint32_t i = 0; i < reader->manifest.part_count && status == STATUS_OK; i++)
        if (!reader->proven[i])
            status = read_part(reader, i, block, error);
    free(block);
    return status;
}

static enum status open_arrays(struct checkpoint_reader *reader, const struct disk *disk,
                               const char *path, bool values_alone, struct error *error)
{
    enum status status = checkpoint_open_headers(reader, disk, path, error);
    if (status != STATUS_OK)
        return status;
    reader->array_count = values_alone ? 1 : reader->array_count;
    for (uint32_t i = 0; i < reader->array_count && status == STATUS_OK; i++) {
        /* The parts hold as many bytes: a forged size cannot ask for more. */
        reader->arrays[i] = aligned_alloc(64, reader->elements * sizeof(float));
        if (reader->arrays[i] == NULL)
            status =
                error_set(error, STATUS_MEMORY, "no memory for the parameters of %.300s", path);
    }
    qsort(reader->runs, reader->run_count, sizeof *reader->runs, by_offset);
    if (status == STATUS_OK)
        status = checkpoint_verify(reader, error);
    if (status != STATUS_OK)
        checkpoint_close(reader);
    return status;
}

enum status checkpoint_open(struct checkpoint_reader *reader, const struct disk *disk,
                            const char *path, struct error *error)
{
    return open_arrays(reader, disk, path, false, error);
}

enum status checkpoint_open_values(struct checkpoint_reader *reader, const struct disk *disk,
                                   const char *path, struct error *error)
{
    return open_arrays(reader, disk, path, true, error);
}

/* Try them from the newest on. */
static enum status open_first_whole(struct checkpoint_reader *reader, const struct disk *disk,
                                    const char *out, const struct listing *listing,
                                    void (*damaged)(void *argument, const char *line),
                                    void *argument, struct error *error)
{
    size_t tried = 0;
    for (size_t i = 0; i < listing->count; i++) {
        if (!listing->entries[i].has_manifest)
            continue;
        tried++;
        char path[DISK_PATH_MAX];
        struct error reason;
        checkpoint_path(path, out, listing->entries[i].step);
        enum status status = checkpoint_open(reader, disk, path, &reason);
        if (status == STATUS_OK)
            return STATUS_OK;
        if (status == STATUS_MEMORY) /* Says nothing about the checkpoint. */
            return error_set(error, status, "%s", reason.text);
        if (damaged != NULL)
            damaged(argument, reason.text);
    }
    if (tried == 0)
        return error_set(error, STATUS_NOT_FOUND, "there is no checkpoint in %.300s", out);
    if (tried == 1)
        return error_set(error, STATUS_INVALID, "the only checkpoint in %.300s is not whole", out);
    return error_set(error, STATUS_INVALID, "none of the %zu checkpoints in %.300s is whole", tried,
                     out);
}

enum status checkpoint_open_newest(struct checkpoint_reader *reader, const struct disk *disk,
                                   const char *out,
                                   void (*damaged)(void *argument, const char *line),
                                   void *argument, struct error *error)
{
    struct listing listing;
    memset(reader, 0, sizeof *reader);
    enum status status = list_all(&listing, disk, out, error);
    if (status == STATUS_OK)
        status = open_first_whole(reader, disk, out, &listing, damaged, argument, error);
    free(listing.entries);
    return status;
}

enum status checkpoint_find(const struct disk *disk, const char *path, bool *of_run,
                            struct error *error)
{
    bool has_manifest = false;
    uint64_t newest;
    *of_run = false;
    enum status status =
        disk->list_directory(disk->context, path, note_manifest, &has_manifest, error);
    enum disk_kind kind = disk->look(disk->context, path);
    if (status != STATUS_OK && (kind == DISK_NOTHING || kind == DISK_FOLDER || kind == DISK_LINK))
        return status;
    if (has_manifest)
        return STATUS_OK;
    *of_run = status == STATUS_OK && checkpoint_list(disk, path, &newest, 1) > 0;
    if (*of_run)
        return STATUS_OK;
    return error_set(error, STATUS_NOT_FOUND,
                     "%.300s is neither a checkpoint (a folder with " MANIFEST_NAME
                     ") nor a run with one",
                     path);
}

/* The result of checkpoint_find: the checkpoint itself, or the run's newest whole one. */
static enum status open_named(struct checkpoint_reader *reader, const struct disk *disk,
                              const char *path, void (*damaged)(void *argument, const char *line),
                              void *argument, struct error *error)
{
    bool of_run;
    memset(reader, 0, sizeof *reader);
    enum status status = checkpoint_find(disk, path, &of_run, error);
    if (status != STATUS_OK)
        return status;
    return of_run ? checkpoint_open_newest(reader, disk, path, damaged, argument, error)
                  : checkpoint_open(reader, disk, path, error);
}

enum status checkpoint_resume(struct checkpoint_reader *reader, const struct disk *disk,
                              const char *out, const char *restore, bool *passed_over,
                              void (*damaged)(void *argument, const char *line), void *argument,
                              struct error *error)
{
    bool named = strcmp(restore, "auto") != 0 && strcmp(restore, "never") != 0;
    enum status status = checkpoint_open_newest(reader, disk, out, damaged, argument, error);
    *passed_over = named && status == STATUS_OK;
    if (!named || (status != STATUS_NOT_FOUND && status != STATUS_INVALID))
        return status;
    status = open_named(reader, disk, restore, damaged, argument, error);
    /* A checkpoint that was named by hand and is missing is an error of another kind. */
    return status == STATUS_NOT_FOUND ? STATUS_IO : status;
}

void checkpoint_close(struct checkpoint_reader *reader)
{
    manifest_free(&reader->manifest);
    for (uint32_t i = 0; i < CHECKPOINT_ARRAYS_MAX; i++)
        free(reader->arrays[i]);
    free(reader->runs);
    memset(reader, 0, sizeof *reader);
}

/* --- values, piece by piece ---------------------------------------------------------------- */

/* The run of values that holds this element; those of array 0 are the first. */
static const struct checkpoint_run *run_of(const struct checkpoint_reader *reader, uint64_t element)
{
    const struct checkpoint_run *run = reader->runs;
    while (element - run->first >= run->count)
        run++;
    return run;
}

enum status checkpoint_read_values(const struct checkpoint_reader *reader, uint64_t first,
                                   uint64_t count, float *to, struct error *error)
{
    assert(first <= reader->elements && count <= reader->elements - first);
    while (count > 0) {
        char path[DISK_PATH_MAX];
        const struct checkpoint_run *run = run_of(reader, first);
        uint64_t skipped = first - run->first, some = run->count - skipped;
        some = some < count ? some : count;
        enum status status =
            join(path, reader->path, reader->manifest.parts[run->part].name, error);
        if (status == STATUS_OK)
            status = reader->disk->read_range(reader->disk->context, path,
                                              run->offset + skipped * sizeof(float), to,
                                              (size_t)some * sizeof(float), error);
        if (status != STATUS_OK)
            return status;
        to += some;
        first += some;
        count -= some;
    }
    return STATUS_OK;
}

void checkpoint_trust(struct checkpoint_reader *reader, uint32_t index,
                      const struct checkpoint_part *part)
{
    assert(index < reader->manifest.part_count);
    const struct checkpoint_part *expected = &reader->manifest.parts[index];
    reader->proven[index] = strcmp(part->name, expected->name) == 0 &&
                            part->bytes == expected->bytes &&
                            memcmp(part->digest, expected->digest, DIGEST_BYTES) == 0;
}

uint64_t checkpoint_unproven(const struct checkpoint_reader *reader)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < reader->manifest.part_count; i++)
        bytes += reader->proven[i] ? 0 : reader->manifest.parts[i].bytes;
    return bytes;
}
