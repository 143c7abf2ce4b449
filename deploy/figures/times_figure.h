/* times_figure.h - the parts of the workers' seconds: a stacked bar for each configuration, or for
 * each of its workers.
 *
 * Ownership: the caller owns the malloc'd picture; NULL without memory. Threads: plain values. */

#ifndef DEPLOY_FIGURES_TIMES_FIGURE_H
#define DEPLOY_FIGURES_TIMES_FIGURE_H

#include "deploy/conclusion/comparison.h"
#include "deploy/figures/plot.h"

/* A bar for each configuration, of its workers' mean. */
char *times_figure(const struct comparison *comparison, const struct canvas *canvas);
/* A bar for each worker. */
char *workers_figure(const struct comparison *comparison, const struct canvas *canvas);

#endif
