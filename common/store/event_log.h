/* event_log.h - OUT/events.jsonl: the events of a run, one JSON object a line, and by its lock
 * (file_lock.h) the claim on the directory.
 *
 * A log never stops a run. A line is there whole or not at all. Lines that a full disk costs are
 * counted, and when there is room again a line says how many. A last line that a crash tore is
 * dropped. Any other file in its place (a pipe, a link, a folder, a file that is not ours to
 * write), and a damaged one, is set aside under another name; the new log then begins with
 *
 *     {"time": 0.000000, "event": "set_aside", "file": "events.jsonl.damaged-1"}
 *
 * so that readers can read on there. Damaged means: among the last EVENT_LOG_CHECKED_BYTES there
 * is a line that is not JSON, or longer than EVENT_LOG_LINE_MAX. Earlier bytes are not looked
 * at, so that opening takes a fraction of a second for any file; readers leave out what they
 * cannot read.
 *
 * Threads: one owner. Source: proto/CONTRACT.md section 5. */

#ifndef COMMON_STORE_EVENT_LOG_H
#define COMMON_STORE_EVENT_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/status.h"
#include "common/file/disk.h"
#include "common/file/file_lock.h"

#define EVENT_LOG_NAME          "events.jsonl"
#define EVENT_LOG_LINE_MAX      (64u << 10)
#define EVENT_LOG_CHECKED_BYTES (8u << 20)

/* Of the event that names the file set aside, and its member. */
#define EVENT_LOG_SET_ASIDE      "set_aside"
#define EVENT_LOG_SET_ASIDE_FILE "file"

struct event_log {
    const struct disk *disk; /* Borrowed; NULL: closed. */
    char path[DISK_PATH_MAX];
    int file;            /* -1: closed, or of a disk that keeps no lines. */
    off_t bytes;         /* Of whole lines. */
    bool torn;           /* Part of a lost line could not be taken back yet. */
    uint64_t lost;       /* Lines, in all. */
    uint64_t missing;    /* Lines since the last that could be written. */
    struct error error;  /* Why, if there are any. */
    struct error remark; /* The file set aside at open, a line for people; "" for none. */
};

/* Of an existing directory; locked until it is closed. STATUS_EXISTS when another process has
 * it, with a line that names it. */
enum status event_log_open(struct event_log *log, const struct disk *disk, const char *directory,
                           struct error *error);
void event_log_close(struct event_log *log);

/* The step of the last `progress` behind the last `start`, among the last EVENT_LOG_LINE_MAX
 * bytes; 0 without one. */
uint64_t event_log_step(const struct event_log *log);

/* Look only: STATUS_OK unless another process has it open. */
enum status event_log_look(const struct disk *disk, const char *directory, struct error *error);

/* Whether another process of the real disk has it open now, and which. */
bool event_log_is_held(const char *directory, struct lock_holder *holder);

/* Whether there is none, or an empty one. */
bool event_log_is_unused(const struct disk *disk, const char *directory);

/* Append {"time": time, "event": "name", members}. members is JSON text without newlines, or
 * NULL. A line that cannot be written is lost. */
void event_log_add(struct event_log *log, double time, const char *name, const char *members);

#endif
