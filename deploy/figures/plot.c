/* plot.c - margins, frame, ticks and legend; series go through the two axes to svg.h. */

#include "deploy/figures/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEFT_MARGIN   72.0
#define RIGHT_MARGIN  22.0
#define BOTTOM_MARGIN 56.0
#define LEGEND_ROW    20.0
#define LEGEND_LINE   26.0

/* Draws a key's sample at (x, y) and returns how wide it is. */
static double key_sample(struct svg *svg, const char *style, double x, double y)
{
    if (strncmp(style, "bar", 3) == 0) {
        svg_box(svg, style, x, y - 10, 14, 12);
        return 14;
    }
    svg_line(svg, style, x, y - 4, x + LEGEND_LINE, y - 4);
    return LEGEND_LINE;
}

double plot_legend(struct svg *svg, const struct plot_key *keys, size_t key_count, double left,
                   double right, double top)
{
    double x = left;
    double y = top;
    for (size_t i = 0; i < key_count; i++) {
        double text_width = svg_text_width(keys[i].label);
        if (i > 0 && x + LEGEND_LINE + 7 + text_width > right) {
            x = left;
            y += LEGEND_ROW;
        }
        x += key_sample(svg, keys[i].style, x, y) + 7;
        svg_text(svg, "label", SVG_START, x, y, keys[i].label);
        x += text_width + 16;
    }
    return key_count ? y + LEGEND_ROW : y;
}

void plot_open(struct plot *plot, const struct plot_words *words, const struct plot_key *keys,
               size_t key_count, bool logarithmic_y)
{
    memset(plot, 0, sizeof(*plot));
    plot->words = *words;
    plot->left = LEFT_MARGIN;
    plot->right = PLOT_WIDTH - RIGHT_MARGIN;

    svg_open(&plot->svg, PLOT_WIDTH, PLOT_HEIGHT, words->title, words->description);
    svg_text(&plot->svg, "title", SVG_START, plot->left, 28, words->title);
    svg_text(&plot->svg, "subtitle", SVG_START, plot->left, 47, words->subtitle);
    double y = plot_legend(&plot->svg, keys, key_count, plot->left, plot->right, 72);
    plot->top = y - 4;
    /* Many groups need many rows of legend; the frame keeps some height all the same. */
    plot->bottom = fmax(PLOT_HEIGHT - BOTTOM_MARGIN, plot->top + 40);

    axis_init(&plot->x, plot->left, plot->right, false);
    axis_init(&plot->y, plot->bottom, plot->top, logarithmic_y);
}

void plot_frame(struct plot *plot)
{
    struct svg *svg = &plot->svg;
    char label[AXIS_LABEL_MAX];
    for (size_t i = 0; i < plot->y.tick_count; i++) {
        double y = axis_place(&plot->y, plot->y.ticks[i]);
        svg_line(svg, "grid", plot->left, y, plot->right, y);
        axis_label(&plot->y, i, label, sizeof(label));
        svg_text(svg, "axis", SVG_END, plot->left - 8, y + 4.5, label);
    }
    for (size_t i = 0; i < plot->x.tick_count; i++) {
        double x = axis_place(&plot->x, plot->x.ticks[i]);
        svg_line(svg, "frame", x, plot->bottom, x, plot->bottom + 5);
        axis_label(&plot->x, i, label, sizeof(label));
        svg_text(svg, "axis", SVG_MIDDLE, x, plot->bottom + 19, label);
    }
    svg_line(svg, "frame", plot->left, plot->bottom, plot->right, plot->bottom);
    double middle = (plot->left + plot->right) / 2;
    svg_text(svg, "axis", SVG_MIDDLE, middle, plot->bottom + 42, plot->words.x);
    svg_text_upwards(svg, "axis", 20, (plot->top + plot->bottom) / 2, plot->words.y);
    if (plot->x.empty || plot->y.empty) {
        svg_text(svg, "subtitle", SVG_MIDDLE, middle, (plot->top + plot->bottom) / 2,
                 "no data were recorded");
    }
}

char *plot_close(struct plot *plot)
{
    return svg_close(&plot->svg);
}

/* --- series -------------------------------------------------------------------------------- */

/* Places of values on an axis, malloc'd; NULL when memory ran out. */
static double *places(const struct axis *axis, const double *values, size_t count)
{
    double *place = malloc((count ? count : 1) * sizeof(*place));
    for (size_t i = 0; place != NULL && i < count; i++)
        place[i] = axis_place(axis, values[i]);
    return place;
}

void plot_line(struct plot *plot, const char *style, const double *x, const double *y, size_t count)
{
    double *px = places(&plot->x, x, count);
    double *py = places(&plot->y, y, count);
    if (px != NULL && py != NULL)
        svg_polyline(&plot->svg, style, px, py, count);
    free(px);
    free(py);
}

void plot_band(struct plot *plot, const char *style, const double *x, const double *low,
               const double *high, size_t count)
{
    double *px = places(&plot->x, x, count);
    double *plow = places(&plot->y, low, count);
    double *phigh = places(&plot->y, high, count);
    if (px != NULL && plow != NULL && phigh != NULL)
        svg_band(&plot->svg, style, px, plow, phigh, count);
    free(px);
    free(plow);
    free(phigh);
}

void plot_dots(struct plot *plot, const char *style, const double *x, const double *y, size_t count)
{
    for (size_t i = 0; i < count; i++)
        svg_dot(&plot->svg, style, axis_place(&plot->x, x[i]), axis_place(&plot->y, y[i]), 4);
}
