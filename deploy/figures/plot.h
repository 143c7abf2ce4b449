/* plot.h - a frame with two axes in a picture, for series; and the titles and keys around it.
 *
 *     y = plot_head(&svg, &canvas, "Training loss", "mean of 3 seeds");
 *     plot_begin(&plot, &svg, (struct area){left, y, right, bottom}, logarithmic);
 *     axis_see(&plot.x, ...); axis_see(&plot.y, ...);       every value to be shown
 *     axis_fit(&plot.x, ...); axis_fit(&plot.y, ...);
 *     plot_frame(&plot, true);
 *     plot_line(&plot, "line c0 d0", x, y, count); ...
 *
 * Every picture is drawn twice: wide, for paper and large screens, and narrow, for phones. There it
 * has its natural size as well, to keep its text readable.
 *
 * Ownership and errors: as svg.h. Threads: one owner. */

#ifndef DEPLOY_FIGURES_PLOT_H
#define DEPLOY_FIGURES_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "deploy/figures/axis.h"
#include "deploy/figures/svg.h"

#define PLOT_WIDTH  760.0
#define PLOT_NARROW 358.0

#define PLOT_SMALL      12.0 /* Font size of the style "small", */
#define PLOT_LABEL      13.0 /* "label" and "axis", */
#define PLOT_TITLE      16.0 /* and "title". */
#define PLOT_AXIS_SPACE 20.0 /* Below a frame, for tick labels. */

/* The size of a picture. */
struct canvas {
    double width;
    double margin; /* Left and right. */
    bool narrow;
};
struct canvas canvas_wide(void);
struct canvas canvas_narrow(void);

struct area {
    double left, top, right, bottom;
};

/* One entry of the legend. */
struct plot_key {
    char label[96];
    char style[32]; /* "line c0 d1": drawn as a line. "bar c2": as a box. */
};

struct plot {
    struct svg *svg; /* Borrowed. */
    struct axis x, y;
    struct area area; /* The frame. */
};

/* Title and subtitle, in as many lines as they need; returns the y below them. */
double plot_head(struct svg *svg, const struct canvas *canvas, const char *title,
                 const char *subtitle);

void plot_begin(struct plot *plot, struct svg *svg, struct area area, bool logarithmic_y);
/* Grid, frame and ticks, with labels of y on request; "no data" without values. */
void plot_frame(struct plot *plot, bool label_y);

/* Values, not coordinates; arrays of count. */
void plot_line(struct plot *plot, const char *style, const double *x, const double *y,
               size_t count);
void plot_band(struct plot *plot, const char *style, const double *x, const double *low,
               const double *high, size_t count);
void plot_dots(struct plot *plot, const char *style, const double *x, const double *y,
               size_t count);

/* A key's sample at (x, y), where y is its label's baseline; returns its width. */
double plot_sample(struct svg *svg, const char *style, double x, double y);

/* The legend alone, in rows from (left, top) on, at most right - left wide; returns the y below
 * it. */
double plot_legend(struct svg *svg, const struct plot_key *keys, size_t key_count, double left,
                   double right, double top);

#endif
