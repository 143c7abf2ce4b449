/* points.h - the numbers of every run, for plotting or checking with other programs.
 *
 * points.csv, long: a line for each number on the way.
 *     arm,seed,metric,step,examples,seconds,value
 *     sync-w2,1,loss,12,768,0.41,2.301          of the examples since the point before
 *     sync-w2,1,exchanged_bytes,12,768,0.41,1507200   payload that workers had moved by then
 *     sync-w2,1,test_loss,157,10000,5.2,0.4975        a score
 * A score has exchanged_bytes_scored: it may be at the same step as a point, and later.
 *
 * runs.csv: a line for each run, what it was and what came of it. `end` is done, diverged or failed; of a
 * failed run nothing follows. `examples` are those trained on, and from planned_examples the window is
 * derived (target.h). After them the columns of compare.json (table.h).
 *
 * Configurations are in their order, the reference first. step counts batches, examples are those
 * in them, seconds are of training. Accuracies are between 0 and 1. What is not known has no line in
 * points.csv, and nothing between commas in runs.csv.
 *
 * Format: RFC 4180 but for its line ends, which are newlines; numbers read back exactly.
 * Threads: plain values. */

#ifndef DEPLOY_REPORT_POINTS_H
#define DEPLOY_REPORT_POINTS_H

#include <stdio.h>

#include "deploy/conclusion/comparison.h"

#define POINTS_DRAWN_MAX 20000 /* Of progress in a page; of more every second, third, ... */

/* A name with a comma or a quote in it is quoted. */
void points_write_name(FILE *stream, const char *name);

void points_write(FILE *stream, const struct comparison *comparison);
/* Only what the page draws. */
void points_write_drawn(FILE *stream, const struct comparison *comparison);
void points_write_runs(FILE *stream, const struct comparison *comparison);

#endif
