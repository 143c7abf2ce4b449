/* conclusion_text.h - the answer in sentences: which configuration reaches the target first, in
 * which part of the reference's time, with what confidence, and whether the model is as good.
 *
 *     async reaches loss 0.35 in 0.71x sync's time [0.63, 0.80], 5 of 5 seeds: sooner;
 *     accuracy equal within 0.5 points (-0.12 [-0.31, +0.07]); equal batch.
 *
 * With several configurations beside the reference the sentence names the first and the last. It
 * counts the sooner, later, alike, indistinguishable ones, and those that never reach it. The table
 * (conclusion_table.h) has each. With fewer than three pairs of runs it gives the figures and adds
 * that the effect of seeds is not known.
 *
 * Threads: plain values. */

#ifndef DEPLOY_CONCLUSION_CONCLUSION_TEXT_H
#define DEPLOY_CONCLUSION_CONCLUSION_TEXT_H

#include <stdio.h>

#include "deploy/conclusion/conclusion.h"

struct conclusion_text {
    char text[768];
};

/* Sentence number `index` above the table, and below it; false after the last one. Of the head the
 * first is the answer, the last lists the settings that all configurations share. */
bool conclusion_head(const struct conclusion *conclusion, size_t index,
                     struct conclusion_text *sentence);
bool conclusion_foot(const struct conclusion *conclusion, size_t index,
                     struct conclusion_text *sentence);

/* A name in a sentence: "async", "sync, ps 2", "sync, 4 workers" where workers differ. */
struct conclusion_text conclusion_name(const struct comparison *comparison,
                                       const struct group *group);

/* "0.71", "12.5", "never" for an infinite ratio, "-" for an unknown one. "0.71 [0.63, 0.80]", or
 * without the interval; "0.71 [0.63, never] 94 %" when the level is below 95 %. */
struct conclusion_text conclusion_ratio(double ratio);
struct conclusion_text conclusion_ratio_interval(const struct estimate *ratio);
/* "-0.12 [-0.31, +0.07]" */
struct conclusion_text conclusion_points_interval(const struct estimate *points);
/* "41.2"; in the second form "2.1", with as many decimals. */
struct conclusion_text conclusion_seconds(double seconds, double like);
/* "950", "38.4 k", "1.20 M" */
struct conclusion_text conclusion_count(double count);

#endif
