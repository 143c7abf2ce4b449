/* axis.h - maps values to places on paper, and picks round numbers to label.
 *
 * An axis learns its range from the values it is shown; values that are not finite are ignored, and
 * so is what a logarithmic axis cannot show. Fitted, it always has a range of more than zero, so
 * figures of empty or constant series need no special case.
 *
 * Threads: plain values. */

#ifndef DEPLOY_FIGURES_AXIS_H
#define DEPLOY_FIGURES_AXIS_H

#include <stdbool.h>
#include <stddef.h>

#define AXIS_TICKS_MAX 32
#define AXIS_LABEL_MAX 32

struct axis {
    double min, max;  /* Of the values seen; of what is shown, once fitted. */
    double from, to;  /* Places of min and max; from > to is a vertical axis growing upwards. */
    bool logarithmic; /* Set before values are shown. */
    bool empty;       /* No value seen yet. */
    size_t tick_count;
    double ticks[AXIS_TICKS_MAX];
    int decimals; /* Digits after the point that tell the ticks apart. */
    double scale; /* Labels are so many times the ticks; 0: they are the ticks. */
};

void axis_init(struct axis *axis, double from, double to, bool logarithmic);
void axis_see(struct axis *axis, double value);

/* Settle range and ticks, about `ticks` of them. With `round` the range grows to the next ticks. */
void axis_fit(struct axis *axis, size_t ticks, bool round);

/* Fitted, it is put elsewhere. */
void axis_move(struct axis *axis, double from, double to);

/* Other ticks than axis_fit's: whole numbers from first to last, at most `most` of them. */
void axis_whole_ticks(struct axis *axis, double first, double last, double most);

/* The place of value; values outside the range, or not finite, are put at its nearer end. */
double axis_place(const struct axis *axis, double value);

/* The text of tick number index, e.g. "0.25" or "12,000". */
void axis_label(const struct axis *axis, size_t index, char *text, size_t bytes);

#endif
