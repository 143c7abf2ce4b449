/* curve.c - reads pairs of each run, thins them by averaging neighbours, and joins runs: point by
 * point, or at the first one's x. */

#include "deploy/figures/curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One run's pairs. */
struct trace {
    double *x, *y; /* [count], owned. */
    size_t count;
};

static void trace_free(struct trace *trace)
{
    free(trace->x);
    free(trace->y);
    memset(trace, 0, sizeof(*trace));
}

/* Only finite pairs, and never backwards in x. */
static void trace_read(struct trace *trace, const struct record *record, curve_pair_fn *pair,
                       const void *context)
{
    *trace = (struct trace){.count = 0};
    size_t pairs = 0;
    double x = 0, y = 0;
    while (pair(record, context, pairs, &x, &y))
        pairs++;
    trace->x = malloc((pairs + 1) * sizeof(double));
    trace->y = malloc((pairs + 1) * sizeof(double));
    if (trace->x == NULL || trace->y == NULL) {
        trace_free(trace);
        return;
    }
    for (size_t i = 0; i < pairs; i++) {
        pair(record, context, i, &x, &y);
        if (isfinite(x) && isfinite(y) && (trace->count == 0 || x > trace->x[trace->count - 1])) {
            trace->x[trace->count] = x;
            trace->y[trace->count++] = y;
        }
    }
}

/* Averages neighbours, in place, into at most CURVE_POINTS_MAX runs of equal length. */
static void trace_thin(struct trace *trace)
{
    size_t bins = trace->count < CURVE_POINTS_MAX ? trace->count : CURVE_POINTS_MAX;
    for (size_t bin = 0; bin < bins; bin++) {
        size_t first = bin * trace->count / bins;
        size_t end = (bin + 1) * trace->count / bins;
        double x = 0, y = 0;
        for (size_t i = first; i < end; i++) {
            x += trace->x[i];
            y += trace->y[i];
        }
        trace->x[bin] = x / (double)(end - first); /* bin <= first: nothing is lost. */
        trace->y[bin] = y / (double)(end - first);
    }
    trace->count = bins;
}

static double trace_at(const struct trace *trace, double x)
{
    size_t i = 1;
    while (i + 1 < trace->count && trace->x[i] < x)
        i++;
    if (trace->count == 1)
        return trace->y[0];
    double part = (x - trace->x[i - 1]) / (trace->x[i] - trace->x[i - 1]);
    part = fmin(1, fmax(0, part));
    return trace->y[i - 1] + part * (trace->y[i] - trace->y[i - 1]);
}

static int curve_allocate(struct curve *curve, size_t count)
{
    curve->x = malloc((count + 1) * sizeof(double));
    curve->mean = malloc((count + 1) * sizeof(double));
    curve->low = malloc((count + 1) * sizeof(double));
    curve->high = malloc((count + 1) * sizeof(double));
    return curve->x != NULL && curve->mean != NULL && curve->low != NULL && curve->high != NULL;
}

static void curve_add(struct curve *curve, double x, const double *y, size_t count)
{
    double sum = 0;
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        sum += y[i];
        low = fmin(low, y[i]);
        high = fmax(high, y[i]);
    }
    curve->x[curve->count] = x;
    curve->mean[curve->count] = sum / (double)count;
    curve->low[curve->count] = low;
    curve->high[curve->count++] = high;
}

/* y: room for [count]. */
static void curve_add_at(struct curve *curve, double x, const struct trace *traces, double *y,
                         size_t count)
{
    for (size_t i = 0; i < count; i++)
        y[i] = trace_at(&traces[i], x);
    curve_add(curve, x, y, count);
}

/* The k-th point of one run belongs to the k-th of the others: the same epoch's score. */
static void join_by_number(struct curve *curve, const struct trace *traces, double *y, size_t count,
                           size_t points)
{
    for (size_t k = 0; k < points; k++) {
        double x = 0;
        for (size_t i = 0; i < count; i++) {
            x += traces[i].x[k] / (double)count;
            y[i] = traces[i].y[k];
        }
        curve_add(curve, x, y, count);
    }
}

/* From where all of them begin to where the first one ends. */
static void join_by_place(struct curve *curve, const struct trace *traces, double *y, size_t count,
                          double from, double to)
{
    /* Its own ends too, or the lines of runs that differ in length would stop short. */
    curve_add_at(curve, from, traces, y, count);
    for (size_t i = 0; i < traces[0].count; i++)
        if (traces[0].x[i] > from && traces[0].x[i] < to)
            curve_add_at(curve, traces[0].x[i], traces, y, count);
    if (to > from)
        curve_add_at(curve, to, traces, y, count);
}

static void curve_join(struct curve *curve, const struct trace *traces, size_t count)
{
    double from = -INFINITY, to = INFINITY; /* The range that all of them cover. */
    size_t fewest = traces[0].count, most = fewest;
    for (size_t i = 0; i < count; i++) {
        from = fmax(from, traces[i].x[0]);
        to = fmin(to, traces[i].x[traces[i].count - 1]);
        fewest = traces[i].count < fewest ? traces[i].count : fewest;
        most = traces[i].count > most ? traces[i].count : most;
    }
    double *y = malloc(count * sizeof(*y));
    if (y == NULL || !curve_allocate(curve, traces[0].count + 2)) {
        curve_free(curve);
    } else {
        curve->runs = count;
        if (fewest == most || from > to)
            join_by_number(curve, traces, y, count, fewest);
        else
            join_by_place(curve, traces, y, count, from, to);
    }
    free(y);
}

void curve_make(struct curve *curve, const struct group *group, curve_pair_fn *pair,
                const void *context)
{
    memset(curve, 0, sizeof(*curve));
    struct trace *traces = calloc(group->record_count + 1, sizeof(*traces));
    size_t count = 0;
    for (size_t i = 0; traces != NULL && i < group->record_count; i++) {
        trace_read(&traces[count], group->records[i], pair, context);
        trace_thin(&traces[count]);
        if (traces[count].count > 0)
            count++;
        else
            trace_free(&traces[count]);
    }
    if (count > 0)
        curve_join(curve, traces, count);
    for (size_t i = 0; i < count; i++)
        trace_free(&traces[i]);
    free(traces);
}

void curve_free(struct curve *curve)
{
    free(curve->x);
    free(curve->mean);
    free(curve->low);
    free(curve->high);
    memset(curve, 0, sizeof(*curve));
}
