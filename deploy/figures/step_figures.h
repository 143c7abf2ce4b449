/* step_figures.h - one step of each arm of a comparison as a picture (swim_lane.h): the typical one of the
 * first of its runs that left a trace, or else of its warm-up.
 *
 *     RUN/trace.spans                          of a run in virtual time, where tracing takes none
 *     RUN/../../warm-up/ARM/trace.spans        else; RUN is .../runs/ARM-sSEED
 *
 * Arms without have none, and of very many arms the first have. What is damaged is as if it were not there.
 *
 * Threads: plain values. Ownership: step_figures_free. */

#ifndef DEPLOY_FIGURES_STEP_FIGURES_H
#define DEPLOY_FIGURES_STEP_FIGURES_H

#include <stddef.h>

#include "common/base/status.h"
#include "deploy/conclusion/comparison.h"

#define STEP_FIGURES_MAX 16

struct step_figure {
    char name[60];       /* File name without ".svg": "step-async-w4". */
    char caption[300];   /* Which step of which run it is, and where the whole trace is. */
    const char *label;   /* The arm's; borrowed. */
    char *wide, *narrow; /* The picture, owned. */
};

struct step_figures {
    struct step_figure items[STEP_FIGURES_MAX];
    size_t count;
};

/* STATUS_MEMORY is the only failure; step_figures_free is allowed after it. */
enum status step_figures_make(struct step_figures *figures, const struct comparison *comparison,
                              struct error *error);
void step_figures_free(struct step_figures *figures);

#endif
