/* event_file.c - finds a name, and puts whole records behind each other. */

#include "common/tensorboard/event_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/tensorboard/tfrecord.h"

#define NAME_START  "events.out.tfevents."
#define SECONDS_MAX UINT64_C(9999999999) /* Of ten digits, as all that sort by them have. */
#define NAMES_TRIED 100

/* --- the name ------------------------------------------------------------------------------ */

/* The newest of those that are there. */
static void note_name(void *argument, const char *name)
{
    uint64_t *newest = argument;
    size_t start = sizeof NAME_START - 1;
    if (strncmp(name, NAME_START, start) != 0 || strspn(name + start, "0123456789") != 10)
        return;
    uint64_t seconds = strtoull(name + start, NULL, 10);
    *newest = seconds > *newest ? seconds : *newest;
}

/* A name behind all others. */
static enum status choose_path(struct event_file *file, const char *folder, const char *by,
                               double wall_time, struct error *error)
{
    uint64_t newest = 0, seconds = wall_time > 0 ? (uint64_t)wall_time : 0;
    enum status status =
        file->disk->list_directory(file->disk->context, folder, note_name, &newest, error);
    if (status != STATUS_OK)
        return status;
    seconds = seconds > newest ? seconds : newest + 1;
    for (int i = 0; i < NAMES_TRIED && seconds <= SECONDS_MAX; i++, seconds++) {
        if (snprintf(file->path, sizeof file->path, "%s/" NAME_START "%010" PRIu64 ".%s", folder,
                     seconds, by) >= DISK_PATH_MAX)
            return error_set(error, STATUS_INVALID, "path is too long: %.300s...", folder);
        if (file->disk->look(file->disk->context, file->path) == DISK_NOTHING)
            return STATUS_OK;
    }
    return error_set(error, STATUS_EXISTS, "no name is left for a file in %.300s", folder);
}

/* --- records ------------------------------------------------------------------------------- */

/* Take back what was written of a record that did not fit. */
static bool mend(struct event_file *file)
{
    if (file->torn && ftruncate(file->file, file->bytes) == 0)
        file->torn = false;
    return !file->torn;
}

static enum status append(struct event_file *file, const uint8_t *record, size_t bytes,
                          struct error *error)
{
    ssize_t written = -1;
    if (file->file < 0)
        return STATUS_OK; /* A disk that keeps no lines. */
    if (mend(file))
        do
            written = write(file->file, record, bytes);
        while (written < 0 && errno == EINTR);
    if (written == (ssize_t)bytes) {
        file->bytes += written;
        return STATUS_OK;
    }
    int number = written < 0 ? errno : ENOSPC;
    file->torn |= written > 0;
    mend(file);
    return error_set(error, STATUS_IO, "cannot write %.300s: %s", file->path, strerror(number));
}

enum status event_file_add(struct event_file *file, const struct board_event *event,
                           struct error *error)
{
    uint8_t *record;
    size_t count;
    if (board_event_pack(event, TFRECORD_HEAD, TFRECORD_FOOT, &record, &count) != STATUS_OK)
        return error_set(error, STATUS_MEMORY, "cannot write %.300s: out of memory", file->path);
    tfrecord_frame(record, count);
    enum status status = append(file, record, TFRECORD_HEAD + count + TFRECORD_FOOT, error);
    free(record);
    return status;
}

/* --- opening ------------------------------------------------------------------------------- */

bool event_file_is_open(const struct event_file *file)
{
    return file->disk != NULL;
}

void event_file_close(struct event_file *file)
{
    if (file->disk != NULL)
        file->disk->close_log(file->disk->context, file->path, file->file);
    *file = (struct event_file){.file = -1};
}

/* As a log is opened (disk.h): not through a link that was put there since the name was chosen. */
static enum status open_new(struct event_file *file, const char *folder, struct error *error)
{
    char aside[DISK_PATH_MAX];
    struct error said = {0};
    enum status status =
        file->disk->open_log(file->disk->context, file->path, folder, &file->file, aside, &said);
    return status == STATUS_OK ? STATUS_OK : error_set(error, status, "%s", said.text);
}

enum status event_file_open(struct event_file *file, const struct disk *disk, const char *folder,
                            const char *by, double wall_time, struct error *error)
{
    const struct board_event first = {.wall_time = wall_time, .kind = BOARD_FILE};
    *file = (struct event_file){.disk = disk, .file = -1};
    enum status status = disk->make_directory(disk->context, folder, error);
    if (status == STATUS_OK)
        status = choose_path(file, folder, by, wall_time, error);
    if (status == STATUS_OK)
        status = open_new(file, folder, error);
    if (status != STATUS_OK) {
        *file = (struct event_file){.file = -1};
        return status;
    }
    status = event_file_add(file, &first, error);
    if (status == STATUS_OK)
        return status;
    disk->remove_tree(disk->context, file->path, NULL);
    event_file_close(file);
    return status;
}
