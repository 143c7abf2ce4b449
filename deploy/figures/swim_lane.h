/* swim_lane.h - one step of a trace (deploy/trace/spans.h) as a picture: a lane for each worker and
 * server with its activities from left to right; a white space names the process that it waited
 * for.
 *
 *     worker/0  |##computes##|ex|      waits for worker/1       |ex|
 *     worker/1  |##############computes###############|ex|      |ex|
 *     ps/0                    |.|                       |.apply.|
 *               0            10            20            30            40 ms
 *
 * A line follows the critical path (deploy/trace/critical.h): from the last gradient over the
 * update to the last worker to receive values.
 *
 *     struct spans spans;
 *     spans_init(&spans);
 *     if (spans_read(&spans, "OUT/trace.spans", 20, &error) == STATUS_OK) {
 *         const struct trace_step *step = &spans.steps[spans_typical(&spans)];
 *         const struct canvas canvas = canvas_wide();
 *         char *svg = swim_lane_svg(&spans, step, NULL, &canvas);    malloc'd; NULL: out of memory
 *     }
 *     spans_free(&spans);
 *
 * Of many workers some are shown, from the first with a finished gradient to the last.
 *
 * Threads: plain values. Ownership and errors: as svg.h. */

#ifndef DEPLOY_FIGURES_SWIM_LANE_H
#define DEPLOY_FIGURES_SWIM_LANE_H

#include <stddef.h>

#include "deploy/figures/plot.h"
#include "deploy/trace/spans.h"

#define SWIM_LANE_CAPTION_MAX 400

/* step: one of spans->steps. title: NULL for "Step 17, typical". The caption is below it. */
char *swim_lane_svg(const struct spans *spans, const struct trace_step *step, const char *title,
                    const struct canvas *canvas);

/* A description of the step in a sentence or two. */
void swim_lane_caption(const struct spans *spans, const struct trace_step *step, char *text,
                       size_t size);

#endif
