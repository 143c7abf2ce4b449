/* axis.c - round numbers for ticks: 1, 2 or 5 times a power of ten, and for logarithmic axes 1, 2,
 * 3, 5 or powers alone. */

#include "deploy/figures/axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void axis_init(struct axis *axis, double from, double to, bool logarithmic)
{
    memset(axis, 0, sizeof(*axis));
    axis->from = from;
    axis->to = to;
    axis->logarithmic = logarithmic;
    axis->empty = true;
}

void axis_see(struct axis *axis, double value)
{
    /* Beyond 1e15 labels would not fit, and nothing we measure is there unless it has diverged. */
    if (!isfinite(value) || fabs(value) > 1e15 || (axis->logarithmic && value < 1e-15))
        return;
    if (axis->empty || value < axis->min)
        axis->min = value;
    if (axis->empty || value > axis->max)
        axis->max = value;
    axis->empty = false;
}

/* The largest of 1, 2 and 5 times a power of ten that is at most value (> 0). */
static double round_down(double value)
{
    double power = pow(10, floor(log10(value)));
    double digit = value / power;
    return power * (digit >= 5 ? 5 : digit >= 2 ? 2 : 1);
}

/* The smallest round step that gives at most `ticks` intervals. */
static double round_step(double range, size_t ticks)
{
    double least = range / (double)ticks;
    double step = round_down(least);
    while (step < least * (1 - 1e-9))
        step = round_down(step * 2.6); /* 1, 2, 5, 10, ... */
    return step;
}

static void add_tick(struct axis *axis, double value)
{
    if (axis->tick_count < AXIS_TICKS_MAX)
        axis->ticks[axis->tick_count++] = value;
}

static void fit_linear(struct axis *axis, size_t ticks, bool round)
{
    double step = round_step(axis->max - axis->min, ticks);
    if (round) {
        axis->min = floor(axis->min / step + 1e-9) * step;
        axis->max = ceil(axis->max / step - 1e-9) * step;
    }
    double first = ceil(axis->min / step - 1e-9);
    double last = floor(axis->max / step + 1e-9);
    for (size_t i = 0; i < AXIS_TICKS_MAX && first + (double)i <= last; i++)
        add_tick(axis, first + (double)i == 0 ? 0 : (first + (double)i) * step); /* Never "-0". */
    axis->decimals = step >= 1 ? 0 : (int)ceil(-log10(step) - 1e-9);
}

/* Ticks at 1, 2, 3 and 5 times the powers of ten, or the powers alone when there are many. */
static void fit_logarithmic(struct axis *axis, size_t ticks)
{
    static const double digits[] = {1, 2, 3, 5};
    double decades = log10(axis->max / axis->min);
    size_t digit_count = decades * 4 <= (double)ticks + 2 ? 4 : 1;
    double stride = digit_count == 1 ? fmax(1, ceil(decades / (double)ticks)) : 1;
    double smallest = 1;
    double lowest = floor(log10(axis->min));
    for (size_t n = 0; lowest + (double)n * stride <= log10(axis->max) + 1; n++) {
        double power = pow(10, lowest + (double)n * stride);
        for (size_t i = 0; i < digit_count; i++) {
            double value = digits[i] * power;
            if (value >= axis->min * (1 - 1e-9) && value <= axis->max * (1 + 1e-9)) {
                add_tick(axis, value);
                smallest = fmin(smallest, value);
            }
        }
    }
    axis->decimals = smallest >= 1 ? 0 : (int)ceil(-log10(smallest) - 1e-9);
    if (axis->tick_count < 3) { /* Less than a decade: round numbers serve better. */
        axis->tick_count = 0;
        fit_linear(axis, ticks, false);
    }
}

/* A range to show when there are no values, or all are one. */
static void widen(struct axis *axis)
{
    if (axis->empty) {
        axis->min = axis->logarithmic ? 0.1 : 0;
        axis->max = 1;
        return;
    }
    double size = fmax(fabs(axis->min), fabs(axis->max));
    if (axis->max - axis->min > size * 1e-9)
        return;
    if (axis->logarithmic) {
        axis->min /= 2;
        axis->max *= 2;
        return;
    }
    double half = size > 0 ? size / 2 : 1;
    axis->min = axis->min == 0 ? 0 : axis->min - half;
    axis->max += half;
}

void axis_fit(struct axis *axis, size_t ticks, bool round)
{
    widen(axis);
    if (axis->logarithmic) {
        /* A margin keeps lines off the frame. */
        double room = pow(axis->max / axis->min, 0.04);
        axis->min /= room;
        axis->max *= room;
        fit_logarithmic(axis, ticks);
    } else {
        fit_linear(axis, ticks, round);
    }
}

void axis_move(struct axis *axis, double from, double to)
{
    axis->from = from;
    axis->to = to;
}

void axis_whole_ticks(struct axis *axis, double first, double last, double most)
{
    double stride = fmax(1, ceil((last - first + 1) / most));
    axis->tick_count = 0;
    axis->decimals = 0;
    for (size_t i = 0; i < AXIS_TICKS_MAX && first + (double)i * stride <= last; i++)
        axis->ticks[axis->tick_count++] = first + (double)i * stride;
}

double axis_place(const struct axis *axis, double value)
{
    if (!(value > axis->min)) /* NaN too. */
        return axis->from;
    if (value >= axis->max)
        return axis->to;
    double part = axis->logarithmic ? log(value / axis->min) / log(axis->max / axis->min)
                                    : (value - axis->min) / (axis->max - axis->min);
    return axis->from + part * (axis->to - axis->from);
}

void axis_label(const struct axis *axis, size_t index, char *text, size_t bytes)
{
    char plain[AXIS_LABEL_MAX];
    double value = axis->ticks[index] * (axis->scale > 0 ? axis->scale : 1);
    int length = snprintf(plain, sizeof(plain), "%.*f", axis->decimals, value);
    if (axis->logarithmic && axis->decimals > 0) /* 1, not 1.00, among 0.05 and 0.2. */
        length = snprintf(plain, sizeof(plain), "%.6g", value);
    if (fabs(value) >= 1e8) /* Longer than the space. */
        snprintf(plain, sizeof(plain), "%.3g", value);
    if (axis->decimals > 0 || fabs(value) < 10000 || fabs(value) >= 1e8 ||
        length >= (int)sizeof(plain)) {
        snprintf(text, bytes, "%s", plain);
        return;
    }
    size_t out = 0; /* 12000 as "12,000". */
    for (int i = 0; i < length && out + 2 < bytes; i++) {
        text[out++] = plain[i];
        if (plain[i] != '-' && i + 1 < length && (length - 1 - i) % 3 == 0)
            text[out++] = ',';
    }
    text[out] = '\0';
}
