/* times_figure.h - what the seconds of each arm's workers went into.
 *
 * Ownership: the picture is the caller's, malloc'd; NULL when memory ran out. Threads: plain values. */

#ifndef DEPLOY_FIGURES_TIMES_FIGURE_H
#define DEPLOY_FIGURES_TIMES_FIGURE_H

#include "deploy/answer/comparison.h"

char *figure_times(const struct comparison *comparison);

#endif
