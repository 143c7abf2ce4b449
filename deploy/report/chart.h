/* chart.h - a number of every run of some comparisons against another: what `syncopate figure` draws.
 *
 * A name is a setting in which configurations differ (momentum, workers, backup-workers), mode, arm, comparison
 * (its folder), or a number of a run: those of compare.json (table.h), with time and work, the seconds and
 * examples to the comparison's target; ms_per_update; step_p50 and step_p99, milliseconds of a batch
 * in windows of --report-every. A diverged run's loss, and the time of a run that missed the target, are infinite.
 *
 * Ownership: chart_free. Threads: plain values. */

#ifndef DEPLOY_REPORT_CHART_H
#define DEPLOY_REPORT_CHART_H

#include <stdio.h>

#include "common/file/json_writer.h"
#include "deploy/conclusion/comparison.h"

struct chart_question {
    const char *x;
    const char *y, *by; /* Lists, "step_p50,step_p99": a line for each, or for each combination. */
    bool
        ratio; /* y over that of the same line and seed at its least x, or the first that is no number. */
};

struct chart_row;
struct chart {
    struct chart_question question;
    struct chart_row *rows; /* [count], owned. */
    size_t count;
    char cluster[256]; /* Of virtual time; "". */
};

/* Adds the runs of a comparison's folder. STATUS_INVALID: nothing has this name; else as reopened_read. */
enum status chart_add(struct chart *chart, const char *path, struct error *error);
void chart_free(struct chart *chart);

/* Once all are there: a line for each run, line,x,comparison,arm,seed,y,beside (what y is divided by). */
void chart_write_csv(FILE *stream, struct chart *chart);
/* "lines": [{"label", "points": [{"x", "value", "low", "high", "runs"}]}], an infinite number as "inf". The value is
 * the median, of a ratio the mean over pairs. */
void chart_write_json(struct json_writer *writer, struct chart *chart);

#endif
