/* curves_figure.h - loss and accuracy as lines, one for each arm: the mean of its seeds, with a
 * band from the lowest to the highest.
 *
 * Ownership: the picture is the caller's, malloc'd; NULL when memory ran out. Threads: plain values. */

#ifndef DEPLOY_FIGURES_CURVES_FIGURE_H
#define DEPLOY_FIGURES_CURVES_FIGURE_H

#include "deploy/answer/comparison.h"

char *figure_loss_over_time(const struct comparison *comparison);
char *figure_loss_over_step(const struct comparison *comparison);
char *figure_accuracy(const struct comparison *comparison);

#endif
