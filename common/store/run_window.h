/* run_window.h - the score of a window of --report-every, in events.jsonl, run.json and lines
 * for people.
 *
 *     {"event": "window", "window": 4, "from": 30, "step": 40, "every": 10, "batches": 10,
 *      "loss": 0.45, "accuracy": 0.87, "examples": 640, "of": 640, "seconds": 0.53, ...}
 *
 * The window is of the batches from + 1 to step, counted from 1; the job's last may have fewer
 * than `every`. `batches` of them are counted: all, unless the first part was scored in an
 * unknown session. `examples` are those of the means, `of` all of them. `seconds` are of
 * training, from the end of the window reported before; null where training went back or began
 * within.
 *
 * Threads: plain values. */

#ifndef COMMON_STORE_RUN_WINDOW_H
#define COMMON_STORE_RUN_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/events/event.h"
#include "common/figures/figures.h"
#include "common/job/windows.h"

struct run_window run_window_of(const struct job *job, const struct window *window, double seconds);

/* For an event at this time of training. */
struct event run_window_event(const struct run_window *window, double training_seconds);

/* "batches 41 to 43, the last 3  loss 0.4512  accuracy 87.06 %  0.53 s", the first `emphasis` letters of
 * which name it. */
#define RUN_WINDOW_TEXT_MAX 192
void run_window_describe(const struct run_window *window, char text[RUN_WINDOW_TEXT_MAX],
                         size_t *emphasis);

#endif
