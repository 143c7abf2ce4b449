/* renewal.h - a run in virtual time that was cut off, taken away to be made from its beginning.
 *
 * To stop, and to go on from a checkpoint, is something that happens to a cluster: with modes that do not
 * wait another history comes of it, and other bits. What a comparison in virtual time comes to is to follow from its
 * plan alone, and not from when it was stopped.
 *
 * Threads: one. */

#ifndef DEPLOY_COMPARE_RENEWAL_H
#define DEPLOY_COMPARE_RENEWAL_H

#include "common/options/options.h"

/* Waits for who still has the folder `out`, which dies with a comparison that was killed. Where there is no such
 * run, or another one's, nothing is done: whoever makes the run finds out. */
void renewal_prepare(const struct options *options, const char *out,
                     void (*say)(void *context, const char *line), void *context);

#endif
