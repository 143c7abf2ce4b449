/* event_log.c - appends whole lines under a lock, mends a last line that a crash tore, and sets
 * other files aside. */

#include "common/store/event_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/events/event.h"
#include "common/file/json.h"
#include "common/file/json_writer.h"

static void log_path(char path[DISK_PATH_MAX], const char *directory)
{
    snprintf(path, DISK_PATH_MAX, "%.*s/" EVENT_LOG_NAME, DISK_PATH_MAX - 32, directory);
}

/* --- looking ------------------------------------------------------------------------------- */

enum status event_log_look(const struct disk *disk, const char *directory, struct error *error)
{
    char path[DISK_PATH_MAX];
    log_path(path, directory);
    return disk->look_at_log(disk->context, path, directory, error);
}

bool event_log_is_held(const char *directory, struct lock_holder *holder)
{
    char path[DISK_PATH_MAX];
    int file;
    log_path(path, directory);
    if (disk_open(path, O_RDONLY, &file, NULL) != STATUS_OK)
        return false;
    bool held = file_lock_is_held(file, holder);
    close(file);
    return held;
}

bool event_log_is_unused(const struct disk *disk, const char *directory)
{
    char path[DISK_PATH_MAX];
    uint64_t bytes;
    log_path(path, directory);
    enum disk_kind kind = disk->look(disk->context, path);
    if (kind != DISK_FILE)
        return kind == DISK_NOTHING;
    return disk->file_bytes(disk->context, path, &bytes, NULL) == STATUS_OK && bytes == 0;
}

/* --- what is in it ------------------------------------------------------------------------- */

static bool read_at(int file, char *data, size_t bytes, off_t offset)
{
    while (bytes > 0) {
        ssize_t got = pread(file, data, bytes, offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        data += got;
        bytes -= (size_t)got;
        offset += got;
    }
    return true;
}

/* Whether text[bytes] is lines of JSON, and less than a line behind them; *whole: their end. */
static bool are_lines(const char *text, size_t bytes, size_t *whole)
{
    const char *end;
    for (*whole = 0; (end = memchr(text + *whole, '\n', bytes - *whole)) != NULL;) {
        const char *line = text + *whole;
        struct json *event = NULL;
        enum status status =
            end > line && (size_t)(end - line) > EVENT_LOG_LINE_MAX ? STATUS_INVALID : STATUS_OK;
        if (status == STATUS_OK && end > line)
            status = json_parse(line, (size_t)(end - line), "", &event, NULL);
        json_release(&event);
        if (status == STATUS_INVALID)
            return false;
        *whole = (size_t)(end - text) + 1;
    }
    return bytes - *whole <= EVENT_LOG_LINE_MAX;
}

/* Whether the end of the file is a log's; then *bytes are those without a torn last line. */
static bool is_sound(int file, off_t *bytes)
{
    struct stat about;
    if (fstat(file, &about) != 0)
        return false;
    off_t size = about.st_size;
    off_t start = size > EVENT_LOG_CHECKED_BYTES ? size - EVENT_LOG_CHECKED_BYTES : 0;
    size_t count = (size_t)(size - start), skipped = 0, whole = 0;
    *bytes = size;
    char *text = malloc(count + 1);
    if (text == NULL)
        return true; /* Nothing speaks against it. */
    if (!read_at(file, text, count, start)) {
        free(text);
        return false;
    }
    if (start > 0) { /* In the middle of a line. */
        const char *newline = memchr(text, '\n', count);
        skipped = newline != NULL ? (size_t)(newline - text) + 1 : 0;
    }
    bool sound = are_lines(text + skipped, count - skipped, &whole);
    free(text);
    *bytes = start + (off_t)(skipped + whole);
    return sound && (*bytes == size || ftruncate(file, *bytes) == 0);
}

/* The step in an event; `last` when it has none. */
static uint64_t step_after(const char *event, uint64_t last)
{
    static const char progress[] = "\"event\": \"progress\", \"step\": ";
    static const char start[] = "\"event\": \"start\"";
    if (strncmp(event, progress, sizeof progress - 1) == 0)
        return strtoull(event + sizeof progress - 1, NULL, 10);
    return strncmp(event, start, sizeof start - 1) == 0 ? 0 : last;
}

uint64_t event_log_step(const struct event_log *log)
{
    uint64_t step = 0;
    char *text = calloc(1, EVENT_LOG_LINE_MAX + 1);
    size_t bytes = log->bytes < (off_t)EVENT_LOG_LINE_MAX ? (size_t)log->bytes : EVENT_LOG_LINE_MAX;
    if (text != NULL && log->file >= 0 &&
        read_at(log->file, text, bytes, log->bytes - (off_t)bytes))
        for (const char *at = text; (at = strstr(at, "\"event\": \"")) != NULL; at++)
            step = step_after(at, step);
    free(text);
    return step;
}

/* --- appending ----------------------------------------------------------------------------- */

/* Take back the written part of a line that did not fit. */
static bool mend(struct event_log *log)
{
    if (log->torn && ftruncate(log->file, log->bytes) == 0)
        log->torn = false;
    return !log->torn;
}

/* The whole line, or nothing of it. */
static bool append(struct event_log *log, const char *line, size_t bytes)
{
    ssize_t written = -1;
    if (mend(log))
        do
            written = write(log->file, line, bytes);
        while (written < 0 && errno == EINTR);
    if (written == (ssize_t)bytes) {
        log->bytes += written;
        return true;
    }
    int number = written < 0 ? errno : ENOSPC;
    error_set(&log->error, STATUS_IO, "cannot write %.300s: %s", log->path, strerror(number));
    log->torn |= written > 0;
    mend(log);
    return false;
}

/* {"time": time, "event": "name", members} */
static bool append_event(struct event_log *log, double time, const char *name, const char *members)
{
    struct json_writer line;
    json_writer_init(&line, false);
    json_writer_object_line(&line, NULL);
    json_writer_decimals(&line, "time", time, 6);
    json_writer_text(&line, "event", name);
    if (members[0] != '\0') {
        json_writer_raw(&line, ", ", 2);
        json_writer_raw(&line, members, strlen(members));
    }
    json_writer_end(&line);
    json_writer_raw(&line, "\n", 1);
    if (line.failed)
        error_set(&log->error, STATUS_MEMORY, "no memory for an event");
    bool appended = !line.failed && append(log, line.text, line.bytes);
    json_writer_free(&line);
    return appended;
}

/* After lost lines: their number. */
static bool append_gap(struct event_log *log, double time)
{
    char members[EVENT_MEMBERS_MAX];
    if (log->missing == 0)
        return true;
    const struct event event = {.kind = EVENT_EVENTS_LOST, .count = log->missing};
    event_members(&event, members, sizeof members);
    if (!append_event(log, time, event_rows[event.kind].name, members))
        return false;
    log->missing = 0;
    return true;
}

void event_log_add(struct event_log *log, double time, const char *name, const char *members)
{
    /* A disk that keeps no lines. */
    if (log->file < 0)
        return;
    if (append_gap(log, time) && append_event(log, time, name, members != NULL ? members : ""))
        return;
    log->lost++;
    log->missing++;
}

/* --- opening ------------------------------------------------------------------------------- */

static void tell_of(struct event_log *log, const char *aside)
{
    char members[EVENT_MEMBERS_MAX];
    const struct event event = {.kind = EVENT_SET_ASIDE, .file = strrchr(aside, '/') + 1};
    event_members(&event, members, sizeof members);
    event_log_add(log, 0, EVENT_LOG_SET_ASIDE, members);
}

/* The log, in its place or, after one that was set aside, anew; locked. */
static enum status open_locked(struct event_log *log, const char *directory, struct error *error)
{
    char aside[DISK_PATH_MAX];
    struct error said;
    enum status status =
        log->disk->open_log(log->disk->context, log->path, directory, &log->file, aside, &said);
    if (status != STATUS_OK)
        return error_set(error, status, "%s", said.text);
    if (aside[0] != '\0') {
        log->remark = said;
        tell_of(log, aside);
    }
    return STATUS_OK;
}

/* Goes on with a file that cannot be moved, on a new line. */
static void keep_damaged(struct event_log *log, const struct error *why)
{
    off_t size = lseek(log->file, 0, SEEK_END);
    log->bytes = size > 0 ? size : 0;
    append(log, "\n", 1);
    error_set(&log->remark, STATUS_OK, "%.200s is damaged: %.250s", log->path, why->text);
}

/* Both files are locked for a moment, so that no other process comes in between. */
static enum status begin_anew(struct event_log *log, const char *directory, struct error *error)
{
    char aside[DISK_PATH_MAX];
    struct error why;
    int damaged = log->file;
    if (disk_set_aside(log->path, aside, &why) != STATUS_OK) {
        keep_damaged(log, &why);
        return STATUS_OK;
    }
    log->bytes = 0;
    enum status status = open_locked(log, directory, error);
    close(damaged);
    if (status != STATUS_OK)
        return status;
    error_set(&log->remark, STATUS_OK,
              "%.200s is damaged; it is now %.200s, and a new one was begun", log->path, aside);
    tell_of(log, aside);
    return STATUS_OK;
}

enum status event_log_open(struct event_log *log, const struct disk *disk, const char *directory,
                           struct error *error)
{
    *log = (struct event_log){.disk = disk, .file = -1};
    log_path(log->path, directory);
    enum status status = open_locked(log, directory, error);
    if (status == STATUS_OK && log->file >= 0 && !is_sound(log->file, &log->bytes))
        status = begin_anew(log, directory, error);
    if (status != STATUS_OK)
        *log = (struct event_log){.file = -1};
    return status;
}

void event_log_close(struct event_log *log)
{
    if (log->disk != NULL)
        log->disk->close_log(log->disk->context, log->path, log->file);
    *log = (struct event_log){.file = -1};
}
