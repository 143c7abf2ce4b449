/* panels.h - small frames side by side in rows, one for each configuration, with its name above it
 * and with the same axes: readable where one frame would be a tangle.
 *
 *     panels_begin(&panels, &canvas, keys, count, top, 110);
 *     for each: plot_begin(&plot, &svg, panels_area(&panels, i), ...); ...
 *               plot_frame(&plot, panels_first(&panels, i));
 *               panels_name(&panels, &svg, i);
 *     y = panels_bottom(&panels);
 *
 * Threads: plain values. Ownership: keys are borrowed. */

#ifndef DEPLOY_FIGURES_PANELS_H
#define DEPLOY_FIGURES_PANELS_H

#include "deploy/figures/plot.h"

struct panel_note {
    char text[64];
};

struct panels {
    const struct plot_key *keys;    /* [count]; of style "" without a sample. */
    const struct panel_note *notes; /* [count], a line below each name; or NULL. */
    size_t count, columns;
    double left, top; /* Of the first frame, and its name. */
    double width, height, gap;
    double name_height; /* Of the longest name. */
};

/* height: of a frame. */
void panels_begin(struct panels *panels, const struct canvas *canvas, const struct plot_key *keys,
                  const struct panel_note *notes, size_t count, double top, double height);
struct area panels_area(const struct panels *panels, size_t index);
/* Whether it is the first of its row, which has labels at its side. */
bool panels_first(const struct panels *panels, size_t index);
void panels_name(const struct panels *panels, struct svg *svg, size_t index);
/* Below the last row and the labels of its ticks. */
double panels_bottom(const struct panels *panels);

#endif
