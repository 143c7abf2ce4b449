/* simulated_disk.c - files, and a list of pending changes with the former content: a kill can undo,
 * keep or tear them. */

#include "deploy/engine/simulated_disk.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"

/* A path held this before a change, and will if the change is undone. */
struct simulated_change {
    uint32_t writer;
    uint64_t begins_us, ends_us;
    char path[DISK_PATH_MAX];
    bool existed;
    uint8_t *data; /* [bytes] owned. */
    size_t bytes;
};

/* --- files --------------------------------------------------------------------------------- */

struct simulated_file *simulated_disk_find(struct simulated_disk *disk, const char *path)
{
    for (size_t i = 0; i < disk->file_count; i++)
        if (strcmp(disk->files[i].path, path) == 0)
            return &disk->files[i];
    return NULL;
}

static struct simulated_file *add_file(struct simulated_disk *disk, const char *path)
{
    struct simulated_file *files =
        array_room(disk->files, disk->file_count, &disk->file_capacity, sizeof *files);
    if (files == NULL)
        return NULL;
    disk->files = files;
    struct simulated_file *file = &disk->files[disk->file_count++];
    memset(file, 0, sizeof *file);
    snprintf(file->path, sizeof file->path, "%s", path);
    return file;
}

static void drop_file(struct simulated_disk *disk, struct simulated_file *file)
{
    size_t index = (size_t)(file - disk->files);
    free(file->data);
    disk->file_count--;
    memmove(file, file + 1, (disk->file_count - index) * sizeof *file);
}

/* The path holds data, which becomes the disk's. */
static bool put(struct simulated_disk *disk, const char *path, uint8_t *data, size_t bytes)
{
    struct simulated_file *file = simulated_disk_find(disk, path);
    if (file == NULL)
        file = add_file(disk, path);
    if (file == NULL)
        return false;
    free(file->data);
    file->data = data;
    file->bytes = bytes;
    return true;
}

static uint8_t *copy_of(const uint8_t *data, size_t bytes)
{
    uint8_t *copy = malloc(bytes > 0 ? bytes : 1);
    if (copy != NULL && bytes > 0)
        memcpy(copy, data, bytes);
    return copy;
}

/* --- pending changes -------------------------------------------------------------------------- */

static uint64_t cost_us(const struct simulated_disk *disk, size_t bytes)
{
    uint64_t transfer_us =
        disk->bytes_a_second > 0 ? bytes * UINT64_C(1000000) / disk->bytes_a_second : 0;
    return disk->latency_us + transfer_us;
}

uint64_t simulated_disk_done_us(const struct simulated_disk *disk, uint32_t writer)
{
    uint64_t done_us = disk->now_us;
    for (size_t i = 0; i < disk->change_count; i++)
        if (disk->changes[i].writer == writer && disk->changes[i].ends_us > done_us)
            done_us = disk->changes[i].ends_us;
    return done_us;
}

static void drop_change(struct simulated_disk *disk, size_t index)
{
    free(disk->changes[index].data);
    disk->change_count--;
    memmove(&disk->changes[index], &disk->changes[index + 1],
            (disk->change_count - index) * sizeof *disk->changes);
}

void simulated_disk_turn(struct simulated_disk *disk, uint32_t writer, uint64_t now_us)
{
    disk->writer = writer;
    disk->now_us = now_us;
    for (size_t i = disk->change_count; i-- > 0;)
        if (disk->changes[i].ends_us <= now_us)
            drop_change(disk, i);
}

/* Remember the content of the path before a change by so many bytes. */
static bool note_change(struct simulated_disk *disk, const char *path, size_t bytes)
{
    uint64_t took_us = cost_us(disk, bytes);
    if (took_us == 0 && disk->change_count == 0)
        return true; /* Durable at once. */
    struct simulated_change *changes =
        array_room(disk->changes, disk->change_count, &disk->change_capacity, sizeof *changes);
    if (changes == NULL)
        return false;
    disk->changes = changes;
    const struct simulated_file *file = simulated_disk_find(disk, path);
    struct simulated_change *change = &disk->changes[disk->change_count];
    memset(change, 0, sizeof *change);
    snprintf(change->path, sizeof change->path, "%s", path);
    change->writer = disk->writer;
    change->begins_us = simulated_disk_done_us(disk, disk->writer);
    change->ends_us = change->begins_us + took_us;
    change->existed = file != NULL;
    if (file != NULL && (change->data = copy_of(file->data, file->bytes)) == NULL)
        return false;
    change->bytes = file != NULL ? file->bytes : 0;
    disk->change_count++;
    return true;
}

static void undo(struct simulated_disk *disk, struct simulated_change *change)
{
    struct simulated_file *file = simulated_disk_find(disk, change->path);
    if (change->existed && put(disk, change->path, change->data, change->bytes))
        change->data = NULL; /* The disk's. */
    else if (!change->existed && file != NULL)
        drop_file(disk, file);
}

/* The result of a kill during a write to path: a part of the bytes, aside. */
static void tear(struct simulated_disk *disk, const char *path, const uint8_t *data, size_t bytes)
{
    char aside[DISK_PATH_MAX];
    size_t torn = random_below(&disk->random, (uint32_t)bytes + 1);
    uint8_t *copy = copy_of(data, torn);
    if (copy == NULL || snprintf(aside, sizeof aside, "%s" DISK_ASIDE, path) >= (int)sizeof aside ||
        !put(disk, aside, copy, torn))
        free(copy);
}

enum outcome { OUTCOME_OLD, OUTCOME_NEW, OUTCOME_TORN, OUTCOME_COUNT };

/* Of the change that a kill came into. */
static void settle(struct simulated_disk *disk, struct simulated_change *change)
{
    const struct simulated_file *file = simulated_disk_find(disk, change->path);
    enum outcome outcome = random_below(&disk->random, OUTCOME_COUNT);
    if (outcome == OUTCOME_TORN && file != NULL)
        tear(disk, change->path, file->data, file->bytes);
    if (outcome != OUTCOME_NEW)
        undo(disk, change);
}

void simulated_disk_unlock(struct simulated_disk *disk, uint32_t writer)
{
    for (size_t i = 0; i < disk->file_count; i++)
        if (writer == SIMULATED_ANYBODY || disk->files[i].locker == writer)
            disk->files[i].locked = false;
}

void simulated_disk_crash(struct simulated_disk *disk, uint32_t writer, uint64_t now_us)
{
    simulated_disk_turn(disk, writer, now_us);
    simulated_disk_unlock(disk, writer);
    for (size_t i = disk->change_count; i-- > 0;) {
        struct simulated_change *change = &disk->changes[i];
        if (change->writer != writer)
            continue;
        if (change->begins_us >= now_us)
            undo(disk, change);
        else
            settle(disk, change);
        drop_change(disk, i);
    }
}

/* --- faults -------------------------------------------------------------------------------- */

/* Counts down to 0; whether it has just got there. */
static bool is_due(uint64_t *countdown)
{
    return *countdown > 0 && --*countdown == 0;
}

static enum status refuse_dead(const char *path, struct error *error)
{
    return error_set(error, STATUS_IO, "cannot reach %.300s: the process is dead", path);
}

/* Why the disk takes no change, or NULL. */
static const char *fault(struct simulated_disk *disk, bool writing)
{
    if (disk->read_only)
        return "Read-only file system";
    if (is_due(&disk->fail_at))
        return "Input/output error";
    if (!writing)
        return NULL;
    disk->writes++;
    bool unlucky =
        disk->failing > 0 && random_unit_float(random_next(&disk->random)) < (float)disk->failing;
    return disk->full || unlucky ? "No space left on device" : NULL;
}

/* --- the table ----------------------------------------------------------------------------- */

static uint8_t *gather(const struct disk_piece *pieces, size_t piece_count, size_t *bytes)
{
    size_t at = 0;
    *bytes = 0;
    for (size_t i = 0; i < piece_count; i++)
        *bytes += pieces[i].bytes;
    uint8_t *data = malloc(*bytes > 0 ? *bytes : 1);
    for (size_t i = 0; data != NULL && i < piece_count; i++) {
        if (pieces[i].bytes > 0)
            memcpy(data + at, pieces[i].data, pieces[i].bytes);
        at += pieces[i].bytes;
    }
    return data;
}

/* The kill comes into this write. */
static enum status die_writing(struct simulated_disk *disk, const char *path, uint8_t *data,
                               size_t bytes, struct error *error)
{
    enum outcome outcome = random_below(&disk->random, OUTCOME_COUNT);
    disk->crashed = true;
    simulated_disk_unlock(disk, disk->writer);
    if (outcome == OUTCOME_TORN)
        tear(disk, path, data, bytes);
    if (outcome != OUTCOME_NEW || !put(disk, path, data, bytes))
        free(data);
    return refuse_dead(path, error);
}

static enum status write_file(void *context, const char *path, const struct disk_piece *pieces,
                              size_t piece_count, struct error *error)
{
    struct simulated_disk *disk = context;
    size_t bytes;
    if (disk->crashed)
        return refuse_dead(path, error);
    const char *reason = fault(disk, true);
    if (reason != NULL) {
        disk->failed++;
        return error_set(error, STATUS_IO, "cannot write %.300s: %s", path, reason);
    }
    uint8_t *data = gather(pieces, piece_count, &bytes);
    if (data != NULL && is_due(&disk->crash_at))
        return die_writing(disk, path, data, bytes, error);
    if (data == NULL || !note_change(disk, path, bytes) || !put(disk, path, data, bytes)) {
        free(data);
        return error_set(error, STATUS_MEMORY, "%.300s: out of memory", path);
    }
    return STATUS_OK;
}

/* In memory there is no gain from writing piece by piece. */
static enum status write_from(void *context, const char *path, uint64_t bytes,
                              const struct disk_source *source, struct error *error)
{
    struct disk_piece piece, all = {.bytes = 0};
    uint8_t *data = malloc(bytes > 0 ? bytes : 1);
    enum status status =
        data != NULL ? STATUS_OK : error_set(error, STATUS_MEMORY, "%.300s: out of memory", path);
    while (status == STATUS_OK) {
        status = source->next(source->context, &piece, error);
        if (status != STATUS_OK || piece.bytes == 0)
            break;
        assert(piece.bytes <= bytes - all.bytes);
        memcpy(data + all.bytes, piece.data, piece.bytes);
        all.bytes += piece.bytes;
    }
    all.data = data;
    if (status == STATUS_OK)
        status = write_file(context, path, &all, 1, error);
    free(data);
    return status;
}

static enum status refuse_missing(const struct simulated_disk *disk, const char *path,
                                  struct error *error)
{
    return disk->crashed ? refuse_dead(path, error)
                         : error_set(error, STATUS_NOT_FOUND, "%.300s: no such file", path);
}

/* As one change: bytes after `offset` are ignored after a crash. */
static enum status put_behind(void *context, const char *path, uint64_t offset,
                              const struct disk_piece *pieces, size_t piece_count,
                              struct error *error)
{
    struct simulated_disk *disk = context;
    struct disk_piece all[4] = {{NULL, 0}};
    const struct simulated_file *file = simulated_disk_find(disk, path);
    assert(piece_count < sizeof all / sizeof *all);
    if ((file != NULL ? file->bytes : 0) < offset)
        return error_set(error, STATUS_INVALID, "%.300s: is shorter than it was", path);
    if (offset > 0)
        all[0] = (struct disk_piece){file->data, offset};
    for (size_t i = 0; i < piece_count; i++)
        all[i + 1] = pieces[i];
    return write_file(context, path, all, piece_count + 1, error);
}

static enum status read_file(void *context, const char *path, size_t max_bytes, void **data,
                             size_t *bytes, struct error *error)
{
    struct simulated_disk *disk = context;
    const struct simulated_file *file = disk->crashed ? NULL : simulated_disk_find(disk, path);
    *data = NULL;
    *bytes = 0;
    if (file == NULL)
        return refuse_missing(disk, path, error);
    if (file->bytes > max_bytes)
        return error_set(error, STATUS_INVALID, "%.300s: too large", path);
    *data = copy_of(file->data, file->bytes);
    if (*data == NULL)
        return error_set(error, STATUS_MEMORY, "%.300s: out of memory", path);
    *bytes = file->bytes;
    return STATUS_OK;
}

static enum status read_start(void *context, const char *path, void *start, size_t most,
                              size_t *count, uint64_t *bytes, struct error *error)
{
    struct simulated_disk *disk = context;
    const struct simulated_file *file = disk->crashed ? NULL : simulated_disk_find(disk, path);
    *bytes = file != NULL ? file->bytes : 0;
    *count = *bytes < most ? (size_t)*bytes : most;
    if (*count > 0)
        memcpy(start, file->data, *count);
    return file != NULL ? STATUS_OK : refuse_missing(disk, path, error);
}

static enum status read_range(void *context, const char *path, uint64_t offset, void *to,
                              size_t count, struct error *error)
{
    struct simulated_disk *disk = context;
    const struct simulated_file *file = disk->crashed ? NULL : simulated_disk_find(disk, path);
    if (file == NULL)
        return refuse_missing(disk, path, error);
    if (offset > file->bytes || count > file->bytes - offset)
        return error_set(error, STATUS_IO, "%.300s: is shorter than that", path);
    if (count > 0)
        memcpy(to, file->data + offset, count);
    return STATUS_OK;
}

static enum status file_bytes(void *context, const char *path, uint64_t *bytes, struct error *error)
{
    struct simulated_disk *disk = context;
    const struct simulated_file *file = disk->crashed ? NULL : simulated_disk_find(disk, path);
    *bytes = file != NULL ? file->bytes : 0;
    return file != NULL ? STATUS_OK : refuse_missing(disk, path, error);
}

static enum status make_directory(void *context, const char *path, struct error *error)
{
    const struct simulated_disk *disk = context;
    if (disk->crashed)
        return refuse_dead(path, error);
    return STATUS_OK; /* A directory exists as soon as it holds a file. */
}

/* The part of a file's path below directory, or NULL. */
static const char *below(const char *path, const char *directory)
{
    size_t length = strlen(directory);
    bool inside = strncmp(path, directory, length) == 0 && path[length] == '/';
    return inside ? path + length + 1 : NULL;
}

bool simulated_disk_is_durable(const struct simulated_disk *disk, const char *prefix, uint64_t us)
{
    for (size_t i = 0; i < disk->change_count; i++)
        if (disk->changes[i].ends_us > us && !disk->changes[i].existed &&
            strncmp(disk->changes[i].path, prefix, strlen(prefix)) == 0)
            return false;
    return true;
}

static enum disk_kind look(void *context, const char *path)
{
    struct simulated_disk *disk = context;
    if (simulated_disk_find(disk, path) != NULL)
        return DISK_FILE;
    for (size_t i = 0; i < disk->file_count; i++)
        if (below(disk->files[i].path, path) != NULL)
            return DISK_FOLDER;
    return DISK_NOTHING;
}

struct names {
    char (*names)[DISK_PATH_MAX]; /* [count] owned. */
    size_t count;
};

static bool has_name(const struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->names[i], name) == 0)
            return true;
    return false;
}

/* The entries of a directory: several files may be of one. */
static bool collect(struct names *names, const struct simulated_disk *disk, const char *path)
{
    char name[DISK_PATH_MAX];
    *names = (struct names){.names = malloc((disk->file_count + 1) * sizeof *names->names)};
    for (size_t i = 0; names->names != NULL && i < disk->file_count; i++) {
        const char *rest = below(disk->files[i].path, path);
        if (rest == NULL)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(rest, "/"), rest);
        if (!has_name(names, name))
            memcpy(names->names[names->count++], name, sizeof name);
    }
    return names->names != NULL;
}

static enum status list_directory(void *context, const char *path,
                                  void (*each)(void *argument, const char *name), void *argument,
                                  struct error *error)
{
    const struct simulated_disk *disk = context;
    struct names names;
    if (disk->crashed)
        return refuse_dead(path, error);
    if (!collect(&names, disk, path))
        return error_set(error, STATUS_MEMORY, "%.300s: out of memory", path);
    /* The callback may remove files. */
    for (size_t i = 0; i < names.count; i++)
        each(argument, names.names[i]);
    free(names.names);
    return names.count > 0 ? STATUS_OK
                           : error_set(error, STATUS_NOT_FOUND, "%.300s: no such directory", path);
}

static enum status remove_one(struct simulated_disk *disk, struct simulated_file *file,
                              struct error *error)
{
    const char *reason = fault(disk, false);
    if (reason != NULL)
        return error_set(error, STATUS_IO, "cannot remove %.300s: %s", file->path, reason);
    if (is_due(&disk->crash_at)) {
        disk->crashed = true;
        simulated_disk_unlock(disk, disk->writer);
        error_set(error, STATUS_IO, "cannot remove %.300s: the process is dead", file->path);
        if (random_below(&disk->random, 2) == 0)
            drop_file(disk, file);
        return STATUS_IO;
    }
    if (!note_change(disk, file->path, 0))
        return error_set(error, STATUS_MEMORY, "%.300s: out of memory", file->path);
    drop_file(disk, file);
    return STATUS_OK;
}

static enum status remove_tree(void *context, const char *path, struct error *error)
{
    struct simulated_disk *disk = context;
    bool found = false;
    if (disk->crashed)
        return refuse_dead(path, error);
    for (size_t i = 0; i < disk->file_count;) {
        struct simulated_file *file = &disk->files[i];
        if (strcmp(file->path, path) != 0 && below(file->path, path) == NULL) {
            i++;
            continue;
        }
        found = true;
        enum status status = remove_one(disk, file, error);
        if (status != STATUS_OK)
            return status;
    }
    return found ? STATUS_OK : error_set(error, STATUS_NOT_FOUND, "%.300s: no such file", path);
}

static enum status check_folder(void *context, const char *path, struct error *error)
{
    const struct simulated_disk *disk = context;
    if (disk->crashed)
        return refuse_dead(path, error);
    if (disk->read_only)
        return error_set(error, STATUS_IO, "cannot write to %.300s: Read-only file system", path);
    return STATUS_OK;
}

/* --- logs ---------------------------------------------------------------------------------- */

static double seconds(void *context)
{
    const struct simulated_disk *disk = context;
    return (double)disk->now_us * 1e-6;
}

static enum status look_at_log(void *context, const char *path, const char *what,
                               struct error *error)
{
    struct simulated_disk *disk = context;
    const struct simulated_file *file = simulated_disk_find(disk, path);
    if (disk->crashed)
        return refuse_dead(path, error);
    if (file != NULL && file->locked)
        return error_set(error, STATUS_EXISTS, "another run is using %.300s: process %u", what,
                         file->locker);
    return STATUS_OK;
}

static enum status open_log(void *context, const char *path, const char *what, int *log,
                            char *aside, struct error *error)
{
    struct simulated_disk *disk = context;
    *log = -1;
    aside[0] = '\0';
    enum status status = look_at_log(context, path, what, error);
    if (status != STATUS_OK)
        return status;
    const char *reason = fault(disk, false);
    if (reason != NULL)
        return error_set(error, STATUS_IO, "cannot write %.300s: %s", path, reason);
    struct simulated_file *file = simulated_disk_find(disk, path);
    if (file == NULL)
        file = add_file(disk, path);
    if (file == NULL)
        return error_set(error, STATUS_MEMORY, "%.300s: out of memory", path);
    file->locked = true;
    file->locker = disk->writer;
    return STATUS_OK;
}

static void close_log(void *context, const char *path, int log)
{
    (void)log;
    struct simulated_disk *disk = context;
    struct simulated_file *file = simulated_disk_find(disk, path);
    if (file != NULL && file->locker == disk->writer)
        file->locked = false;
}

/* --- creation --------------------------------------------------------------------------------- */

void simulated_disk_init(struct simulated_disk *disk, uint64_t seed, uint32_t sub)
{
    memset(disk, 0, sizeof *disk);
    random_sequence_init(&disk->random, seed, RANDOM_STREAM_SIMULATOR, sub);
    disk->disk = (struct disk){.context = disk,
                               .write_file = write_file,
                               .write_from = write_from,
                               .put_behind = put_behind,
                               .append = put_behind,
                               .read_file = read_file,
                               .read_start = read_start,
                               .read_range = read_range,
                               .look = look,
                               .file_bytes = file_bytes,
                               .make_directory = make_directory,
                               .list_directory = list_directory,
                               .remove_tree = remove_tree,
                               .check_folder = check_folder,
                               .open_log = open_log,
                               .close_log = close_log,
                               .look_at_log = look_at_log,
                               .seconds = seconds};
}

void simulated_disk_free(struct simulated_disk *disk)
{
    for (size_t i = 0; i < disk->file_count; i++)
        free(disk->files[i].data);
    for (size_t i = 0; i < disk->change_count; i++)
        free(disk->changes[i].data);
    free(disk->files);
    free(disk->changes);
    memset(disk, 0, sizeof *disk);
}
