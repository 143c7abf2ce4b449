/* plot.c - titles, keys, frame and ticks; series go through the two axes to svg.h. */

#include "deploy/figures/plot.h"

#include <stdlib.h>
#include <string.h>

#define LEGEND_ROW  20.0
#define LEGEND_LINE 26.0

struct canvas canvas_wide(void)
{
    return (struct canvas){.width = PLOT_WIDTH, .margin = 8, .narrow = false};
}

struct canvas canvas_narrow(void)
{
    return (struct canvas){.width = PLOT_NARROW, .margin = 4, .narrow = true};
}

/* --- words and keys ------------------------------------------------------------------------ */

double plot_head(struct svg *svg, const struct canvas *canvas, const char *title,
                 const char *subtitle)
{
    double width = canvas->width - 2 * canvas->margin;
    double y =
        svg_paragraph(svg, "title", PLOT_TITLE, canvas->margin, 24, width, title) - PLOT_TITLE;
    if (subtitle[0] != '\0')
        y = svg_paragraph(svg, "subtitle", PLOT_LABEL, canvas->margin, y + PLOT_LABEL + 2, width,
                          subtitle) -
            PLOT_LABEL;
    return y + 4;
}

double plot_sample(struct svg *svg, const char *style, double x, double y)
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
        x += plot_sample(svg, keys[i].style, x, y) + 7;
        svg_text(svg, "label", SVG_START, x, y, keys[i].label);
        x += text_width + 16;
    }
    return key_count ? y + LEGEND_ROW : y;
}

/* --- the frame ----------------------------------------------------------------------------- */

void plot_begin(struct plot *plot, struct svg *svg, struct area area, bool logarithmic_y)
{
    memset(plot, 0, sizeof(*plot));
    plot->svg = svg;
    plot->area = area;
    axis_init(&plot->x, area.left, area.right, false);
    axis_init(&plot->y, area.bottom, area.top, logarithmic_y);
}

static void ticks_of_x(struct plot *plot)
{
    char label[AXIS_LABEL_MAX];
    for (size_t i = 0; i < plot->x.tick_count; i++) {
        double x = axis_place(&plot->x, plot->x.ticks[i]);
        svg_line(plot->svg, "frame", x, plot->area.bottom, x, plot->area.bottom + 4);
        axis_label(&plot->x, i, label, sizeof(label));
        /* The last one stays within the picture. */
        double half = svg_text_width(label) / 2;
        bool at_end = i > 0 && x + half > plot->area.right + 6;
        svg_text(plot->svg, "axis", at_end ? SVG_END : SVG_MIDDLE,
                 at_end ? plot->area.right + 6 : x, plot->area.bottom + 17, label);
    }
}

void plot_frame(struct plot *plot, bool label_y)
{
    const struct area *area = &plot->area;
    char label[AXIS_LABEL_MAX];
    for (size_t i = 0; i < plot->y.tick_count; i++) {
        double y = axis_place(&plot->y, plot->y.ticks[i]);
        svg_line(plot->svg, "grid", area->left, y, area->right, y);
        axis_label(&plot->y, i, label, sizeof(label));
        if (label_y)
            svg_text(plot->svg, "axis", SVG_END, area->left - 6, y + 4.5, label);
    }
    ticks_of_x(plot);
    svg_line(plot->svg, "frame", area->left, area->bottom, area->right, area->bottom);
    if (plot->x.empty || plot->y.empty)
        svg_text(plot->svg, "subtitle", SVG_MIDDLE, (area->left + area->right) / 2,
                 (area->top + area->bottom) / 2, "no data were recorded");
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
        svg_polyline(plot->svg, style, px, py, count);
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
        svg_band(plot->svg, style, px, plow, phigh, count);
    free(px);
    free(plow);
    free(phigh);
}

void plot_dots(struct plot *plot, const char *style, const double *x, const double *y, size_t count)
{
    for (size_t i = 0; i < count; i++)
        svg_dot(plot->svg, style, axis_place(&plot->x, x[i]), axis_place(&plot->y, y[i]), 4);
}
