/* figures.h - the pictures of a comparison: how loss and test accuracy come about against seconds, updates,
 * examples and bytes, staleness, how far apart the chunks of a pull were, and what the workers' time
 * went into.
 *
 * A mode has its hue, a number of workers its shade of it; dashes differ as well, so that lines
 * which are equal to the bit still show. Runs that lack something leave it out of the picture.
 * Each is drawn wide and narrow (plot.h).
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
    const char *caption; /* What it shows and how to read it, in plain English. */
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
/* One of the others; NULL: there is none of this name. */
const struct figure *figures_find(const struct figures *figures, const char *name);

/* What all of one quantity say: to stand above them. */
const char *figures_about(enum curve_y y);

#endif
