/* notes.h - warnings about the figures of a comparison, one sentence for each:
 *
 *     idle               a step has fewer leaves than there are workers: some never work
 *     crowded            more workers and servers than processors, and times are not
 *                        controlled (--compute): they take turns
 *     processor-bound    leaves took longer than --compute says
 *     noisy              other processes had more than RUN_NOISY of the processors' time during a
 *     run
 *
 * The latter three are only for real time.
 *
 * Threads: plain values. */

#ifndef DEPLOY_REPORT_NOTES_H
#define DEPLOY_REPORT_NOTES_H

#include "deploy/conclusion/comparison.h"

#define NOTE_TEXT_MAX 512

/* Number index; false when there are no more. */
bool note_at(const struct comparison *comparison, size_t index, char text[NOTE_TEXT_MAX]);

/* The part of the processors' time that other processes had; NaN when it is not known. */
double note_others_share(const struct record *record);
bool note_is_noisy(const struct record *record);

#endif
