/* shapes_figure.h - what share of an arm's gradients had which staleness, and which spread: a small frame
 * for each arm that has any, with the same axes.
 *
 * Bars are of one number each, or of several where the numbers are many; the last has what is beyond it.
 *
 * Ownership: the picture is the caller's, malloc'd; NULL when memory ran out. Threads: plain values. */

#ifndef DEPLOY_FIGURES_SHAPES_FIGURE_H
#define DEPLOY_FIGURES_SHAPES_FIGURE_H

#include "deploy/conclusion/comparison.h"
#include "deploy/figures/plot.h"

char *staleness_figure(const struct comparison *comparison, const struct canvas *canvas);
char *spread_figure(const struct comparison *comparison, const struct canvas *canvas);

#endif
