/* config_style.h - the look of a configuration in every figure: a hue for each mode, a shade of it
 * for each number of workers, and alternating dashes that keep lines with equal bits visible.
 *
 * Threads: plain values. */

#ifndef DEPLOY_FIGURES_CONFIG_STYLE_H
#define DEPLOY_FIGURES_CONFIG_STYLE_H

#include <stddef.h>

#include "deploy/conclusion/comparison.h"
#include "deploy/figures/plot.h"

/* Class names for a shape, "line", "bar", "dot" or "band". */
void config_style(char *style, size_t bytes, const char *shape, const struct group *group);

/* Shapes of a configuration between these share its class, "arm a3", and its name as a tooltip: a
 * page can highlight one. */
void config_begin(struct svg *svg, const struct group *group);
void config_end(struct svg *svg);

/* A key for each configuration: keys[comparison->group_count]. */
void config_keys(struct plot_key *keys, const struct comparison *comparison, const char *shape);

/* The maximum over the configurations. */
size_t configs_most_seeds(const struct comparison *comparison);

#endif
