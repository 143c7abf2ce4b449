/* shapes_figure.h - the distribution of staleness, and of version skew, over a configuration's
 * gradients: a small frame for each configuration that has any, with the same axes.
 *
 * A bar is for one number, or for several where there are many; the last one includes larger
 * numbers.
 *
 * Ownership: the caller owns the malloc'd picture; NULL without memory. Threads: plain values. */

#ifndef DEPLOY_FIGURES_SHAPES_FIGURE_H
#define DEPLOY_FIGURES_SHAPES_FIGURE_H

#include "deploy/conclusion/comparison.h"
#include "deploy/figures/plot.h"

char *staleness_figure(const struct comparison *comparison, const struct canvas *canvas);
char *spread_figure(const struct comparison *comparison, const struct canvas *canvas);

#endif
