/* config_style.h - how an arm looks in every figure: a hue for each mode, a shade of it for each number of
 * workers, and dashes in turn, so that lines which are equal to the bit can all be seen.
 *
 * Threads: plain values. */

#ifndef DEPLOY_FIGURES_CONFIG_STYLE_H
#define DEPLOY_FIGURES_CONFIG_STYLE_H

#include <stddef.h>

#include "deploy/conclusion/comparison.h"
#include "deploy/figures/plot.h"

/* Class names for a shape, "line", "bar", "dot" or "band". */
void config_style(char *style, size_t bytes, const char *shape, const struct group *group);

/* All that is drawn of an arm between these is told apart by its class, "arm a3", and has its name for the
 * pointer: so that a page can let one stand out. */
void config_begin(struct svg *svg, const struct group *group);
void config_end(struct svg *svg);

/* A key for each arm: keys[comparison->group_count]. */
void config_keys(struct plot_key *keys, const struct comparison *comparison, const char *shape);

/* Of the arm that has most. */
size_t configs_most_seeds(const struct comparison *comparison);

#endif
