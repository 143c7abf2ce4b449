/* board.h - a run as TensorBoard shows it: event files, written by the writer of the run's events.jsonl, of
 * the same events (run_directory.h) at the same time.
 *
 *     start, generation     a new file, with SessionLog START: TensorBoard forgets what was undone
 *     progress              loss/train accuracy/train speed/images_per_second staleness/mean staleness/max
 *                           learning_rate
 *     epoch                 loss/epoch accuracy/epoch, staleness/gradients: a histogram
 *     window                loss/window accuracy/window speed/window_seconds
 *     evaluation            loss/test accuracy/test loss/regularisation
 *     assignment            cluster/workers
 *     checkpoint            SessionLog CHECKPOINT, and a line of `log`
 *     all but waiting       a line of the text `log`
 *
 * A point's step is the run's: batches done. Its time is the wall's or, in a cluster that is not there, the
 * virtual time since the process began, after the date at which it really did.
 *
 * START is at the first step that is (again) to be made, because TensorBoard drops the points at that step,
 * too, and those at the step that is gone on from stand. At step 0 it is at 0: nothing stands.
 *
 * Of several texts at one step TensorBoard keeps the last; so it is all that was said there.
 *
 * A file that cannot be written costs events, and one line. It is tried again with the next
 * event, in a new file when the old one is torn.
 *
 * Threads: one owner. Ownership: borrows disk and job. Units: seconds.
 * Source: tensorboard/backend/event_processing/plugin_event_accumulator.py (_Purge). */

#ifndef COMMON_TENSORBOARD_BOARD_H
#define COMMON_TENSORBOARD_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/histogram.h"
#include "common/job/job.h"
#include "common/process/log_once.h"
#include "common/tensorboard/board_place.h"
#include "common/tensorboard/board_queue.h"
#include "common/tensorboard/event_file.h"

struct json;
struct run_summary;

#define BOARD_LINES_MAX 4096

struct board {
    const struct disk *disk; /* NULL: nothing is written. */
    struct board_place place;
    const struct job *job;
    struct event_file file;
    bool begun;              /* Training has: there is something to tell. */
    uint64_t step;           /* Of the last event. */
    struct log_once trouble; /* Of files that cannot be written. */
    struct error remark;
    struct board_queue windows, epochs;
    uint64_t lines_step; /* Of what is in ... */
    char lines[BOARD_LINES_MAX];
};

/* job: the declaration, which may still be empty: it is read when training starts. */
void board_open(struct board *board, const struct disk *disk, const struct board_place *place,
                const struct job *job);
void board_close(struct board *board);

/* An event of events.jsonl: members is JSON without braces, or NULL. staleness: of all gradients so far;
 * NULL, or empty, where that is not known. */
void board_event(struct board *board, const char *name, const char *members,
                 const struct histogram *staleness);

/* How it ended. */
void board_end(struct board *board, const struct run_summary *summary);

/* A line for people since the last call: what cannot be written. False: none. */
bool board_take_remark(struct board *board, struct error *remark);

#endif
