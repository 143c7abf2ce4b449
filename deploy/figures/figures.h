/* figures.h - the pictures of a comparison: loss and test accuracy against seconds, updates,
 * examples and bytes, staleness, version skew of reads, and the parts of the workers' time.
 *
 * A mode has its hue, a number of workers its shade of it; dashes differ as well, which keeps lines
 * with equal bits visible. Runs without a figure are left out of its picture. Each is drawn wide
 * and narrow (plot.h).
 *
 * Ownership: figures_free. Threads: plain values. */

#ifndef DEPLOY_FIGURES_FIGURES_H
#define DEPLOY_FIGURES_FIGURES_H

#include <stddef.h>

#include "common/base/status.h"
#include "deploy/conclusion/conclusion.h"
#include "deploy/figures/curve_source.h"

#define FIGURE_CURVES (CURVE_Y_COUNT * CURVE_X_COUNT)
#define FIGURE_COUNT  (FIGURE_CURVES + 4)

struct figure {
    char name[32];       /* File name without ".svg": "loss-seconds", "staleness". */
    const char *caption; /* Content and reading of the picture, in plain English. */
    char *wide, *narrow; /* The picture, owned. */
};

struct figures {
    struct figure items[FIGURE_COUNT]; /* First those of figures_curve. */
};

/* STATUS_MEMORY is the only failure; figures_free is allowed after it. */
enum status figures_make(struct figures *figures, const struct conclusion *conclusion,
                         struct error *error);
void figures_free(struct figures *figures);

const struct figure *figures_curve(const struct figures *figures, enum curve_y y, enum curve_x x);
/* One of the others; NULL: no figure has this name. */
const struct figure *figures_find(const struct figures *figures, const char *name);

/* The text that all figures of one quantity share, above them. */
const char *figures_about(enum curve_y y);

#endif
