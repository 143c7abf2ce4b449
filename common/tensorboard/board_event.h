/* board_event.h - one event of TensorBoard's, as the bytes of its message (proto/tensorboard.proto): numbers,
 * histograms and texts at a step, or that a file begins, or a session.
 *
 *     const struct board_value values[] = {board_scalar("loss/train", 0.5)};
 *     const struct board_event event = {now, step, BOARD_VALUES, .values = values, .count = 1};
 *
 * Numbers are floats there. A histogram's buckets are the whole numbers v, from v - 1/2 to v + 1/2, without
 * those at either end that are empty: TensorBoard drops these, and draws the outermost from `min` and up
 * to `max`.
 *
 * Threads: values. Source: tensorflow/core/util/event.proto; tensorboard/data_compat.py. */

#ifndef COMMON_TENSORBOARD_BOARD_EVENT_H
#define COMMON_TENSORBOARD_BOARD_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/histogram.h"
#include "common/base/status.h"

#define BOARD_VALUES_MAX 8 /* In one event. */

/* The number counts when neither of the others is there. */
struct board_value {
    const char *tag; /* "loss/train": what stands before the slash is shown together. */
    double scalar;
    const char *text; /* Markdown. */
    const struct histogram *histogram;
};

static inline struct board_value board_scalar(const char *tag, double scalar)
{
    return (struct board_value){.tag = tag, .scalar = scalar};
}

static inline struct board_value board_text(const char *tag, const char *text)
{
    return (struct board_value){.tag = tag, .text = text};
}

static inline struct board_value board_histogram(const char *tag, const struct histogram *histogram)
{
    return (struct board_value){.tag = tag, .histogram = histogram};
}

enum board_event_kind {
    BOARD_FILE,       /* A file begins. */
    BOARD_START,      /* A session begins: of points there were those before `step` stand. */
    BOARD_STOP,       /* It has ended. */
    BOARD_CHECKPOINT, /* There is one. */
    BOARD_VALUES,
};

struct board_event {
    double wall_time; /* Seconds since 1970. */
    uint64_t step;
    enum board_event_kind kind;
    const struct board_value *values; /* [count], at most BOARD_VALUES_MAX. */
    size_t count;
};

/* The message in (*bytes)[before ... before + *count], malloc'd and the caller's, with `after` bytes of room
 * behind it. STATUS_MEMORY. */
enum status board_event_pack(const struct board_event *event, size_t before, size_t after,
                             uint8_t **bytes, size_t *count);

#endif
