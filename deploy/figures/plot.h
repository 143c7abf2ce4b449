/* plot.h - a picture with a title, a legend, a frame and two axes, into which series are drawn.
 *
 *     plot_open(&plot, &words, keys, key_count, logarithmic_y);
 *     axis_see(&plot.x, ...); axis_see(&plot.y, ...);       every value to be shown
 *     axis_fit(&plot.x, ...); axis_fit(&plot.y, ...);
 *     plot_frame(&plot);
 *     plot_line(&plot, "line c0 d0", x, y, count); ...
 *     text = plot_close(&plot);
 *
 * Ownership and errors: as svg.h. Threads: one owner. */

#ifndef DEPLOY_FIGURES_PLOT_H
#define DEPLOY_FIGURES_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "deploy/figures/axis.h"
#include "deploy/figures/svg.h"

#define PLOT_WIDTH  760.0
#define PLOT_HEIGHT 430.0

struct plot_words {
    const char *title, *subtitle; /* subtitle may be "". */
    const char *description;      /* For those who cannot see it. */
    const char *x, *y;            /* Axis titles, with units. */
};

/* One entry of the legend. */
struct plot_key {
    char label[96];
    char style[32]; /* "line c0 d1": drawn as a line. "bar c2": as a box. */
};

struct plot {
    struct svg svg;
    struct plot_words words;
    struct axis x, y;
    double left, top, right, bottom; /* The frame. */
};

void plot_open(struct plot *plot, const struct plot_words *words, const struct plot_key *keys,
               size_t key_count, bool logarithmic_y);
/* Grid, frame, ticks, axis titles; "no data" where there is none. */
void plot_frame(struct plot *plot);
char *plot_close(struct plot *plot);

/* Values, not places; arrays of count. */
void plot_line(struct plot *plot, const char *style, const double *x, const double *y,
               size_t count);
void plot_band(struct plot *plot, const char *style, const double *x, const double *low,
               const double *high, size_t count);
void plot_dots(struct plot *plot, const char *style, const double *x, const double *y,
               size_t count);

/* The legend alone, in rows from (left, top) on, at most right - left wide; returns the y below it.
 */
double plot_legend(struct svg *svg, const struct plot_key *keys, size_t key_count, double left,
                   double right, double top);

#endif
