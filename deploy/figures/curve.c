/* curve.c - reads pairs of each run, thins them by averaging neighbours, and joins runs at the
 * first one's places. */

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

/* Only what can be drawn, and never backwards in x. */
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

static void curve_point(struct curve *curve, double x, const struct trace *traces, size_t count)
{
    double sum = 0;
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        double y = trace_at(&traces[i], x);
        sum += y;
        low = fmin(low, y);
        high = fmax(high, y);
    }
    curve->x[curve->count] = x;
    curve->mean[curve->count] = sum / (double)count;
    curve->low[curve->count] = low;
    curve->high[curve->count++] = high;
}

static void curve_join(struct curve *curve, const struct trace *traces, size_t count)
{
    double from = -INFINITY, to = INFINITY; /* Where all of them reach. */
    for (size_t i = 0; i < count; i++) {
        from = fmax(from, traces[i].x[0]);
        to = fmin(to, traces[i].x[traces[i].count - 1]);
    }
    if (!curve_allocate(curve, traces[0].count + 2)) {
        curve_free(curve);
        return;
    }
    curve->runs = count;
    if (from > to)
        return;
    /* Its own ends too, or the lines of runs that differ in length would stop short. */
    curve_point(curve, from, traces, count);
    for (size_t i = 0; i < traces[0].count; i++)
        if (traces[0].x[i] > from && traces[0].x[i] < to)
            curve_point(curve, traces[0].x[i], traces, count);
    if (to > from)
        curve_point(curve, to, traces, count);
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
