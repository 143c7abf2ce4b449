/* event_file.h - one of TensorBoard's event files: records (tfrecord.h) of events (board_event.h), each in
 * the file when event_file_add returns, so that TensorBoard follows a run while it goes on.
 *
 *     FOLDER/events.out.tfevents.1700000000.alpha.4711       seconds, and `by`: who writes it
 *
 * A file is always a new one: TensorBoard reads on from where it was, so that nothing that was written is
 * changed, and what a killed process may have left torn is never appended to. TensorBoard takes a
 * folder's files in the order of their names, one after the other. So the seconds are those of now, or
 * as many more as put the name behind all that are there; and nothing stands in the place of it.
 *
 * A record is in the file whole or not at all: what a full disk took of one is taken back.
 *
 * Threads: one owner. Errors: as disk.h; STATUS_MEMORY.
 * Source: tensorflow/core/util/events_writer.cc; tensorboard/backend/event_processing/directory_watcher.py. */

#ifndef COMMON_TENSORBOARD_EVENT_FILE_H
#define COMMON_TENSORBOARD_EVENT_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/file/disk.h"
#include "common/tensorboard/board_event.h"

#define EVENT_FILE_BY_MAX 80 /* Bytes of `by`, with its end. */

struct event_file {
    const struct disk *disk; /* Borrowed; NULL: none is open. */
    char path[DISK_PATH_MAX];
    int file;    /* -1: of a disk that keeps no lines. */
    off_t bytes; /* Of whole records. */
    bool torn;   /* What there is of another could not be taken back yet. */
};

/* Begin a file, in a folder that is made when it is not there. What is there of one that could not be begun
 * is removed. */
enum status event_file_open(struct event_file *file, const struct disk *disk, const char *folder,
                            const char *by, double wall_time, struct error *error);
void event_file_close(struct event_file *file);

bool event_file_is_open(const struct event_file *file);

enum status event_file_add(struct event_file *file, const struct board_event *event,
                           struct error *error);

#endif
