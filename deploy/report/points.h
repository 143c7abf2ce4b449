/* points.h - every number of every run of a comparison, in long form, for plotting or checking with
 * other programs.
 *
 *     configuration,seed,metric,step,examples,seconds,value
 *     sync-w2,1,loss,12,768,0.41,2.301          a point of progress: of the examples since the
 *     previous one
 *     sync-w2,1,exchanged_bytes,12,768,0.41,1507200   payload that workers had moved by then
 *     sync-w2,1,test_loss,157,10000,5.2,0.4975        a score
 *     sync-w2,1,run_seconds,471,30000,15.6,15.6       of the whole run: as in the table (table.h)
 *
 * A score has exchanged_bytes_scored: it may be at the same step as a point, and later.
 * Configurations are in their order, the reference first. step counts batches, examples are those
 * in them, seconds are of training. Every run has run_fate: 0 done, 1 diverged, 2 failed otherwise;
 * a run that failed has no other line. The others have run_workers, run_batch and run_leaf
 * (examples), run_accumulate, run_classes, and run_planned_examples, from which the window is
 * derived (target.h). Accuracies are between 0 and 1. An unknown number has no line.
 *
 * Format: RFC 4180 but for its line ends, which are newlines; numbers read back exactly.
 * Threads: plain values. */

#ifndef DEPLOY_REPORT_POINTS_H
#define DEPLOY_REPORT_POINTS_H

#include <stdio.h>

#include "deploy/conclusion/comparison.h"

void points_write(FILE *stream, const struct comparison *comparison);

#endif
