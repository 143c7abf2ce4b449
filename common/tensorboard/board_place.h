/* board_place.h - where a run's event files for TensorBoard are, and who writes them.
 *
 *     --tensorboard tb --out runs/one                            tb/one
 *     --tensorboard tb --tensorboard-run sync/seed-1             tb/sync/seed-1
 *
 * TensorBoard calls every folder with event files a run, and shows those below one folder together.
 *
 * Threads: values. Units: seconds. */

#ifndef COMMON_TENSORBOARD_BOARD_PLACE_H
#define COMMON_TENSORBOARD_BOARD_PLACE_H

#include "common/file/disk.h"
#include "common/tensorboard/event_file.h"

struct board_place {
    char folder[DISK_PATH_MAX]; /* Of the run's event files; "": none are written. */
    char by[EVENT_FILE_BY_MAX]; /* Which process: "alpha.4711". */
    double date;                /* Seconds from 1970 to when disk->seconds() is 0. */
};

/* Of a run in `directory`, called `run` there or, when that is NULL, as the last part of the path `out` is;
 * `now`: what disk->seconds() says. STATUS_IO: the folder can neither be made nor written to; it is not
 * made yet. STATUS_INVALID: the path is too long. A NULL directory gives no folder. */
enum status board_place_find(struct board_place *place, const char *directory, const char *run,
                             const char *out, double now, struct error *error);

#endif
