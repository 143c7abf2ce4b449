/* config.h - a mode's options for stale gradients, sums of gradients and locking, and their
 * effects.
 *
 * One command line gives such options to all modes; each mode uses some of them. Therefore the
 * report lists them for every mode, and says so for a mode without any when others have some.
 *
 * Threads: plain values. */

#ifndef DEPLOY_REPORT_CONFIG_H
#define DEPLOY_REPORT_CONFIG_H

#include <stdio.h>

#include "deploy/conclusion/comparison.h"

/* As it can be typed: "--staleness-rate inverse --max-staleness 2"; "" for none. */
struct config_text {
    char text[192];
};
struct config_text config_text(const struct record *record);

/* The part of the gradients at the servers, counted by chunk, that were more than --max-staleness
 * updates old: sent back to be computed again, or lost. NaN without that option. */
double config_sent_back(const struct record *record);
double config_lost(const struct record *record);

/* The factor by which --staleness-rate reduced the schedule's learning rate, the mean over
 * gradients and chunks, from 0 to 1. NaN without it, and for sums of gradients by `inverse`: their
 * rate depends on the oldest of each sum, which is not recorded. */
double config_rate(const struct record *record);

/* The part of the gradients that --delay-compensation changed: all with staleness above 0. */
double config_moved(const struct record *record);

/* A line for each named configuration with its options; then one for each mode, those with options
 * first, without repetition. Nothing when no mode has any. */
void configs_write_text(FILE *stream, const struct comparison *comparison);

#endif
