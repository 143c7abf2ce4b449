/* figures.h - the pictures of a comparison: how the loss falls over time and over updates, test
 * accuracy, staleness, how far apart the chunks of a pull were, and what the workers' time went
 * into.
 *
 * A mode has its hue, a number of workers its shade of it; dashes differ as well, so that lines
 * which are equal to the bit still show. Runs that lack something leave it out of the picture.
 *
 * Ownership: figures_free. Threads: plain values. */

#ifndef DEPLOY_FIGURES_FIGURES_H
#define DEPLOY_FIGURES_FIGURES_H

#include <stddef.h>

#include "common/base/status.h"
#include "deploy/answer/comparison.h"

#define FIGURE_COUNT 6

struct figure {
    const char *name;    /* File name without ".svg". */
    const char *caption; /* What it shows and how to read it, in plain English. */
    char *svg;           /* The picture, owned. */
};

struct figures {
    struct figure items[FIGURE_COUNT];
};

/* STATUS_MEMORY is the only failure; figures_free is allowed after it. */
enum status figures_make(struct figures *figures, const struct comparison *comparison,
                         struct error *error);
void figures_free(struct figures *figures);

#endif
