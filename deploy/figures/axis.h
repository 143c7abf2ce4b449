/* axis.h - maps values to coordinates, and chooses round numbers as labels.
 *
 * An axis derives its range from the values that it sees; values that are not finite are ignored,
 * and so are values that a logarithmic axis cannot show. A fitted axis always has a range of more
 * than zero: figures of empty or constant series need no special case.
 *
 * Threads: plain values. */

#ifndef DEPLOY_FIGURES_AXIS_H
#define DEPLOY_FIGURES_AXIS_H

#include <stdbool.h>
#include <stddef.h>

#define AXIS_TICKS_MAX 32
#define AXIS_LABEL_MAX 32

struct axis {
    double min, max; /* Of the values seen; after fitting, of the axis. */
    /* Coordinates of min and max; from > to is a vertical axis growing upwards. */
    double from, to;
    bool logarithmic; /* Set before the first value. */
    bool empty;       /* No value seen yet. */
    size_t tick_count;
    double ticks[AXIS_TICKS_MAX];
    int decimals; /* Decimals that distinguish the ticks. */
    double scale; /* Labels are ticks times this; 0: ticks. */
};

void axis_init(struct axis *axis, double from, double to, bool logarithmic);
void axis_see(struct axis *axis, double value);

/* Choose range and about `ticks` ticks. With `round` the range is extended to the next ticks. */
void axis_fit(struct axis *axis, size_t ticks, bool round);

void axis_move(struct axis *axis, double from, double to);

/* Replaces the ticks by at most `most` whole numbers from first to last. */
void axis_whole_ticks(struct axis *axis, double first, double last, double most);

/* The coordinate of value; values outside the range, or not finite, are put at the nearer end. */
double axis_place(const struct axis *axis, double value);

/* The text of tick number index, e.g. "0.25" or "12,000". */
void axis_label(const struct axis *axis, size_t index, char *text, size_t bytes);

#endif
