/* step_figures.h - one step of each configuration of a comparison as a picture (swim_lane.h): the
 * typical step of the first of its runs with a trace, or else of its warm-up.
 *
 *     RUN/trace.spans                          of a run in virtual time, where tracing takes no
 *     time
 *     RUN/../../warm-up/ARM/trace.spans        else; RUN is .../runs/ARM-sSEED
 *
 * Configurations without a trace have no picture, and of very many the first have. A damaged trace
 * counts as missing.
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
    char caption[300];   /* The step, its run, and the path of the whole trace. */
    const char *label;   /* The configuration's; borrowed. */
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
