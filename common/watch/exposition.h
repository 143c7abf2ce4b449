/* exposition.h - figures as Prometheus reads them: its text format, version 0.0.4.
 *
 *     exposition_metric(out, "syncopate_job_step", GAUGE, "Updates made.");
 *     exposition_sample(out, "syncopate_job_step", step);
 *     exposition_sample_of(out, "syncopate_worker_up", "worker", "3", 1);
 *
 * Names are the caller's to make well: a metric is begun once, and its samples follow it. Values of
 * labels and help may be any text.
 *
 * Threads: the stream's. */

#ifndef COMMON_WATCH_EXPOSITION_H
#define COMMON_WATCH_EXPOSITION_H

#include <stdio.h>

#define EXPOSITION_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum metric_kind { METRIC_GAUGE, METRIC_COUNTER, METRIC_HISTOGRAM };

/* HELP and TYPE. help: of what exactly, in which units. */
void exposition_metric(FILE *out, const char *name, enum metric_kind kind, const char *help);

/* NaN and infinities have words of their own. */
void exposition_sample(FILE *out, const char *name, double value);
void exposition_sample_of(FILE *out, const char *name, const char *label, const char *label_value,
                          double value);
void exposition_sample_of_two(FILE *out, const char *name, const char *label,
                              const char *label_value, const char *second, const char *second_value,
                              double value);

#endif
