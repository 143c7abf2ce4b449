/* points.h - every number of every run of a comparison, in long form, for whoever draws or checks with other
 * programs.
 *
 *     arm,seed,metric,step,examples,seconds,value
 *     sync-w2,1,loss,12,768,0.41,2.301          a point of progress: of the examples since the one before
 *     sync-w2,1,exchanged_bytes,12,768,0.41,1507200   payload that workers had moved by then
 *     sync-w2,1,test_accuracy,157,10000,5.2,0.8975    a score
 *     sync-w2,1,run_seconds,471,30000,15.6,15.6       of the whole run: as the table has it (table.h)
 *
 * A score has exchanged_bytes_scored: it may be told at the same place as a point, and later.
 * Arms are in their order, the reference first. step counts batches, examples are those in them, seconds are
 * of training. Of every run there is run_fate: 0 done, 1 diverged, 2 failed otherwise; of one that failed
 * nothing else. Also run_workers, run_batch and run_leaf (examples), run_accumulate, run_classes, and
 * run_planned_examples, from which the window is (target.h). Accuracies are parts of 1. What is not known
 * has no line.
 *
 * Format: RFC 4180 but for its line ends, which are newlines; numbers read back exactly.
 * Threads: plain values. */

#ifndef DEPLOY_REPORT_POINTS_H
#define DEPLOY_REPORT_POINTS_H

#include <stdio.h>

#include "deploy/conclusion/comparison.h"

void points_write(FILE *stream, const struct comparison *comparison);

#endif
