/* shapes_figure.h - what share of an arm's gradients had which staleness, and which spread.
 *
 * Ownership: the picture is the caller's, malloc'd; NULL when memory ran out. Threads: plain values. */

#ifndef DEPLOY_FIGURES_SHAPES_FIGURE_H
#define DEPLOY_FIGURES_SHAPES_FIGURE_H

#include "deploy/answer/comparison.h"

char *figure_staleness(const struct comparison *comparison);
char *figure_spread(const struct comparison *comparison);

#endif
