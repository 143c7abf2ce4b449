/* config.h - what a mode of a comparison does about stale gradients, sums of them and locking, and what
 * came of it.
 *
 * One command line gives such options to all modes; each mode takes those it has a use for. So it
 * is said of every mode which it had, and where the others had some, that it had none.
 *
 * Threads: plain values. */

#ifndef DEPLOY_REPORT_CONFIG_H
#define DEPLOY_REPORT_CONFIG_H

#include <stdio.h>

#include "deploy/conclusion/comparison.h"

/* As it can be typed: "--staleness-rate inverse --max-staleness 2"; "" for nothing. */
struct config_text {
    char text[192];
};
struct config_text config_text(const struct record *record);

/* Of the gradients that servers received, counted by chunk, the part that was more than
 * --max-staleness updates old: sent back to be computed again, or lost. NaN where that was not so. */
double config_sent_back(const struct record *record);
double config_lost(const struct record *record);

/* What --staleness-rate left of the schedule's learning rate, on average over gradients and chunks,
 * from 0 to 1. NaN without it; also of sums of gradients by `inverse`, whose rate is by the oldest of
 * each sum, which is not recorded. */
double config_rate(const struct record *record);

/* The part of the gradients that --delay-compensation moved: whatever others had overtaken. */
double config_moved(const struct record *record);

/* Whether any run has anything to be said here. */
bool configs_differ(const struct comparison *comparison);

/* A line for each named arm, what it was given; and one for each mode, those with options first, but for
 * what is told already: nothing at all where none had any. */
void configs_write_text(FILE *stream, const struct comparison *comparison);
void configs_write_html(FILE *stream, const struct comparison *comparison);

/* A line for each group of which the four numbers above tell something. */
void configs_write_effects(FILE *stream, const struct comparison *comparison);
void configs_write_effects_html(FILE *stream, const struct comparison *comparison);

#endif
