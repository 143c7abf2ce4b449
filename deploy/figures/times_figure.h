/* times_figure.h - what the seconds of workers went into: a stacked bar for each arm, or for each of its
 * workers.
 *
 * Ownership: the picture is the caller's, malloc'd; NULL when memory ran out. Threads: plain values. */

#ifndef DEPLOY_FIGURES_TIMES_FIGURE_H
#define DEPLOY_FIGURES_TIMES_FIGURE_H

#include "deploy/conclusion/comparison.h"
#include "deploy/figures/plot.h"

/* A bar for each arm, of its workers' mean. */
char *times_figure(const struct comparison *comparison, const struct canvas *canvas);
/* A bar for each worker. */
char *workers_figure(const struct comparison *comparison, const struct canvas *canvas);

#endif
