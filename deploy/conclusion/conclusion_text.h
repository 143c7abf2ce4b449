/* conclusion_text.h - the answer in sentences: which arm comes to the target first, in what part of the reference's
 * time, how sure that is, and whether what came out is as good.
 *
 *     async reaches loss 0.35 in 0.71x sync's time [0.63, 0.80], 5 of 5 seeds: sooner; accuracy equal within 0.5
 *     points (-0.12 [-0.31, +0.07]); equal batch.
 *
 * Of several arms beside the reference the first and the last are named, and it is told how many of all are
 * sooner, later, alike, not told apart, or never there; the table (conclusion_table.h) has each. Of fewer than three
 * pairs of runs the figures are told, and that nothing is known of what seeds do by chance.
 *
 * Threads: plain values. */

#ifndef DEPLOY_CONCLUSION_CONCLUSION_TEXT_H
#define DEPLOY_CONCLUSION_CONCLUSION_TEXT_H

#include <stdio.h>

#include "deploy/conclusion/conclusion.h"

struct conclusion_text {
    char text[768];
};

/* Sentence number index of those that come first, and of those that stand below the table; false when there
 * are no more. The first of the former is the answer, the last of them what is the same for all. */
bool conclusion_head(const struct conclusion *conclusion, size_t index,
                     struct conclusion_text *sentence);
bool conclusion_foot(const struct conclusion *conclusion, size_t index,
                     struct conclusion_text *sentence);

/* What an arm is called in a sentence: "async", "sync, ps 2", "sync, 4 workers" where workers differ. */
struct conclusion_text conclusion_name(const struct comparison *comparison,
                                       const struct group *group);

/* "0.71", "12.5", "never" for what is infinite, "-" for what is not known; "0.71 [0.63, 0.80]", without an
 * interval where there is none; "0.71 [0.63, never] 94 %" where it holds less than 95 %. */
struct conclusion_text conclusion_ratio(double ratio);
struct conclusion_text conclusion_ratio_interval(const struct estimate *ratio);
/* "-0.12 [-0.31, +0.07]" */
struct conclusion_text conclusion_points_interval(const struct estimate *points);
/* "41.2", and with as many decimals "2.1". */
struct conclusion_text conclusion_seconds(double seconds, double like);
/* "950", "38.4 k", "1.20 M" */
struct conclusion_text conclusion_count(double count);

#endif
