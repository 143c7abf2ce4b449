/* curves_figure.h - loss and accuracy as lines, one for each configuration: the mean of its seeds,
 * with a band from the lowest to the highest, against the effort: seconds, updates, examples,
 * bytes.
 *
 * Up to CURVES_TOGETHER configurations share one frame, each with its name at its end. With more
 * that frame is an overview, and below it each has a small frame of its own with the others in grey
 * behind it.
 *
 * Ownership: the caller owns the malloc'd picture; NULL without memory. Threads: plain values. */

#ifndef DEPLOY_FIGURES_CURVES_FIGURE_H
#define DEPLOY_FIGURES_CURVES_FIGURE_H

#include "deploy/conclusion/conclusion.h"
#include "deploy/figures/curve_source.h"
#include "deploy/figures/plot.h"

#define CURVES_TOGETHER 6

char *curves_figure(const struct conclusion *conclusion, enum curve_y y, enum curve_x x,
                    const struct canvas *canvas);

#endif
