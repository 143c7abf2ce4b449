/* curves_figure.c - makes all curves, fits two axes to them, and draws the frame or frames. */

#include "deploy/figures/curves_figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/figures/config_style.h"
#include "deploy/figures/curve.h"
#include "deploy/figures/panels.h"

#define WIDE_HEIGHT   300.0 /* Of the frame of all configurations. */
#define NARROW_HEIGHT 230.0
#define SMALL_HEIGHT  116.0 /* Of each one's own. */
#define Y_LABELS      46.0
#define NAMES_WIDTH   190.0 /* Beside the frame, at most. */
#define NAME_LINE     15.0
#define LEADER        14.0 /* From the frame to a name, ... */
#define SAMPLE        20.0 /* ... of which this is before it: as its line is drawn. */

struct drawing {
    struct svg svg;
    const struct canvas *canvas;
    const struct conclusion *conclusion;
    const struct comparison *comparison;
    struct curve_source source;
    struct curve *curves; /* [group_count] */
    struct plot_key keys[COMPARISON_GROUPS_MAX];
    bool many;
};

/* --- words --------------------------------------------------------------------------------- */

static const struct {
    const char *title, *y, *description;
    bool logarithmic;
} words[CURVE_Y_COUNT] = {
    [CURVE_LOSS] = {"Training loss", "training loss (cross-entropy, logarithmic)",
                    "Line chart: training loss of each arm", true},
    [CURVE_ACCURACY] = {"Test accuracy", "test accuracy (%)",
                        "Line chart: test accuracy of each arm in percent", false},
    [CURVE_TEST_LOSS] = {"Test loss", "test loss (cross-entropy, logarithmic)",
                         "Line chart: test loss of each arm", true},
};

/* The meaning of a point, and of lines and bands with several seeds. */
static void write_subtitle(const struct drawing *d, char *text, size_t bytes)
{
    size_t seeds = configs_most_seeds(d->comparison);
    size_t used = (size_t)snprintf(text, bytes, "%s",
                                   d->source.y == CURVE_LOSS
                                       ? curve_source_of_losses(d->comparison)
                                       : "after each epoch, on examples never trained on");
    if (seeds > 1 && used < bytes)
        snprintf(text + used, bytes - used,
                 "; %s: the mean of up to %zu seeds, and the band from the lowest to the highest",
                 d->many ? "in the small frames" : "each", seeds);
}

/* --- curves ----------------------------------------------------------------------------------- */

static bool make_curves(struct drawing *d)
{
    size_t count = d->comparison->group_count;
    d->curves = calloc(count + 1, sizeof(*d->curves));
    for (size_t i = 0; d->curves != NULL && i < count; i++)
        curve_make(&d->curves[i], &d->comparison->groups[i], curve_source_pair, &d->source);
    return d->curves != NULL;
}

static void free_curves(struct drawing *d)
{
    for (size_t i = 0; i < d->comparison->group_count; i++)
        curve_free(&d->curves[i]);
    free(d->curves);
}

/* The target, if it is of the drawn quantity; else NaN. */
static double target_in(const struct drawing *d)
{
    const struct target *target = &d->conclusion->target;
    if (target->kind == TARGET_LOSS && d->source.y == CURVE_LOSS)
        return target->values[0];
    if (target->kind == TARGET_ACCURACY && d->source.y == CURVE_ACCURACY)
        return target->values[0] * 100;
    return NAN;
}

static void see_all(const struct drawing *d, struct axis *x, struct axis *y)
{
    axis_init(x, 0, 1, false);
    axis_init(y, 1, 0, words[d->source.y].logarithmic);
    for (size_t i = 0; i < d->comparison->group_count; i++) {
        const struct curve *curve = &d->curves[i];
        for (size_t point = 0; point < curve->count; point++) {
            axis_see(x, curve->x[point]);
            axis_see(y, curve->low[point]);
            axis_see(y, curve->high[point]);
        }
    }
    if (x->empty)
        return;
    axis_see(x, 0);
    axis_see(y, target_in(d));
}

/* The same range with about so many ticks. */
static void fit(const struct drawing *d, struct plot *plot, size_t x_ticks, size_t y_ticks)
{
    struct axis x, y;
    see_all(d, &x, &y);
    axis_fit(&x, x_ticks, false);
    axis_fit(&y, y_ticks, true);
    axis_move(&x, plot->x.from, plot->x.to);
    axis_move(&y, plot->y.from, plot->y.to);
    plot->x = x;
    plot->y = y;
}

/* --- series -------------------------------------------------------------------------------- */

static void draw_band(const struct drawing *d, struct plot *plot, size_t config)
{
    char style[32];
    const struct curve *curve = &d->curves[config];
    if (curve->runs < 2)
        return;
    config_style(style, sizeof(style), "band", &d->comparison->groups[config]);
    plot_band(plot, style, curve->x, curve->low, curve->high, curve->count);
}

static void draw_line(const struct drawing *d, struct plot *plot, size_t config)
{
    char style[32];
    const struct curve *curve = &d->curves[config];
    config_style(style, sizeof(style), "line", &d->comparison->groups[config]);
    plot_line(plot, style, curve->x, curve->mean, curve->count);
    if ((d->source.y != CURVE_LOSS && !d->many) || curve->count == 1) {
        config_style(style, sizeof(style), "dot", &d->comparison->groups[config]);
        plot_dots(plot, style, curve->x, curve->mean, curve->count);
    }
}

static void draw_target(const struct drawing *d, struct plot *plot)
{
    char text[64];
    double target = target_in(d);
    if (isnan(target) || plot->x.empty)
        return;
    double y = axis_place(&plot->y, target);
    svg_line(plot->svg, "target", plot->area.left, y, plot->area.right, y);
    snprintf(text, sizeof(text), "target: %s", target_text(&d->conclusion->target, 0).text);
    svg_text(plot->svg, "small", SVG_START, plot->area.left + 6, y - 4, text);
}

/* Bands first: lines stay on top. */
static void draw_together(const struct drawing *d, struct plot *plot)
{
    draw_target(d, plot);
    for (size_t i = 0; i < d->comparison->group_count && !d->many; i++) {
        config_begin(plot->svg, &d->comparison->groups[i]);
        draw_band(d, plot, i);
        config_end(plot->svg);
    }
    for (size_t i = 0; i < d->comparison->group_count; i++) {
        config_begin(plot->svg, &d->comparison->groups[i]);
        draw_line(d, plot, i);
        config_end(plot->svg);
    }
}

/* --- names --------------------------------------------------------------------------------- */

/* Above the frame, one below the other. */
static double names_above(struct drawing *d, double top)
{
    double left = d->canvas->margin + 34;
    double y = top + PLOT_LABEL;
    for (size_t i = 0; i < d->comparison->group_count; i++) {
        config_begin(&d->svg, &d->comparison->groups[i]);
        plot_sample(&d->svg, d->keys[i].style, d->canvas->margin, y);
        y = svg_paragraph(&d->svg, "label", PLOT_LABEL, left, y,
                          d->canvas->width - left - d->canvas->margin, d->keys[i].label) +
            2;
        config_end(&d->svg);
    }
    return y - PLOT_LABEL + 6;
}

/* The end of a line, with the name beside it. */
struct ending {
    size_t config;
    double x, y, name_y, height; /* name_y: the middle of its lines. */
    struct svg_lines lines;
};

static int by_y(const void *left, const void *right)
{
    const struct ending *a = left, *b = right;
    if (a->y < b->y || a->y > b->y)
        return a->y < b->y ? -1 : 1;
    return a->config < b->config ? -1 : a->config > b->config;
}

/* Names stand as near to their lines as others let them, in the same order. */
static void part_names(struct ending *endings, size_t count, double top, double bottom)
{
    double free_from = top;
    for (size_t i = 0; i < count; i++) {
        endings[i].name_y = fmax(endings[i].y, free_from + endings[i].height / 2);
        free_from = endings[i].name_y + endings[i].height / 2;
    }
    double free_to = bottom;
    for (size_t i = count; i-- > 0;) {
        endings[i].name_y = fmin(endings[i].name_y, free_to - endings[i].height / 2);
        free_to = endings[i].name_y - endings[i].height / 2;
    }
}

static void draw_name(struct drawing *d, const struct plot *plot, const struct ending *ending)
{
    double x = plot->area.right + LEADER;
    double y = ending->name_y - ending->height / 2 + NAME_LINE - 3;
    config_begin(&d->svg, &d->comparison->groups[ending->config]);
    svg_line(&d->svg, "leader", ending->x + 3, ending->y, x, ending->name_y);
    svg_line(&d->svg, d->keys[ending->config].style, x, ending->name_y, x + SAMPLE, ending->name_y);
    x += SAMPLE + 5;
    for (size_t i = 0; i < ending->lines.count; i++, y += NAME_LINE)
        svg_text(&d->svg, "label", SVG_START, x, y, ending->lines.text[i]);
    config_end(&d->svg);
}

static void names_beside(struct drawing *d, const struct plot *plot, double width)
{
    struct ending endings[CURVES_TOGETHER];
    size_t count = 0;
    for (size_t i = 0; i < d->comparison->group_count; i++) {
        const struct curve *curve = &d->curves[i];
        if (curve->count == 0)
            continue;
        struct ending *ending = &endings[count++];
        *ending = (struct ending){.config = i,
                                  .x = axis_place(&plot->x, curve->x[curve->count - 1]),
                                  .y = axis_place(&plot->y, curve->mean[curve->count - 1])};
        ending->height =
            NAME_LINE * (double)svg_wrap(&ending->lines, d->keys[i].label, width, PLOT_LABEL);
    }
    qsort(endings, count, sizeof(*endings), by_y);
    part_names(endings, count, plot->area.top - 8, plot->area.bottom + 8);
    for (size_t i = 0; i < count; i++)
        draw_name(d, plot, &endings[i]);
}

/* How much room names beside the frame want; 0: they stand elsewhere. */
static double names_width(const struct drawing *d)
{
    double width = 0;
    if (d->many || d->canvas->narrow)
        return 0;
    for (size_t i = 0; i < d->comparison->group_count; i++)
        width = fmax(width, svg_text_width(d->keys[i].label));
    return fmin(width, NAMES_WIDTH);
}

/* --- frames -------------------------------------------------------------------------------- */

/* All configurations in one; returns the y below. */
static double draw_overview(struct drawing *d, double top)
{
    struct plot plot;
    double names = names_width(d);
    if (d->canvas->narrow && !d->many)
        top = names_above(d, top);
    double left = d->canvas->margin;
    double right =
        d->canvas->width - d->canvas->margin - (names > 0 ? names + LEADER + SAMPLE + 5 : 6);
    svg_text(&d->svg, "axis", SVG_START, left, top + PLOT_LABEL + 4, words[d->source.y].y);
    top += PLOT_LABEL + 16;
    double bottom = top + (d->canvas->narrow ? NARROW_HEIGHT : WIDE_HEIGHT);
    plot_begin(&plot, &d->svg, (struct area){left + Y_LABELS, top, right, bottom},
               words[d->source.y].logarithmic);
    fit(d, &plot, d->canvas->narrow ? 4 : 8, 6);
    plot_frame(&plot, true);
    draw_together(d, &plot);
    if (names > 0)
        names_beside(d, &plot, names);
    svg_text(&d->svg, "axis", SVG_MIDDLE, (left + Y_LABELS + right) / 2,
             bottom + PLOT_AXIS_SPACE + 18, d->source.unit_name);
    return bottom + PLOT_AXIS_SPACE + 34;
}

/* All lines in a small frame at (0, 0), to stand behind each configuration's own. */
static void define_context(struct drawing *d, const char *name, double width)
{
    struct plot plot;
    svg_define(&d->svg, "context", name);
    plot_begin(&plot, &d->svg, (struct area){0, 0, width, SMALL_HEIGHT},
               words[d->source.y].logarithmic);
    fit(d, &plot, 3, 3);
    for (size_t i = 0; i < d->comparison->group_count; i++)
        plot_line(&plot, "all", d->curves[i].x, d->curves[i].mean, d->curves[i].count);
    svg_define_end(&d->svg);
}

static double draw_each(struct drawing *d, double top)
{
    char name[64];
    struct panels panels;
    panels_begin(&panels, d->canvas, d->keys, NULL, d->comparison->group_count, top, SMALL_HEIGHT);
    snprintf(name, sizeof(name), "%s-%s-%s", curve_y_name(d->source.y), curve_x_name(d->source.x),
             d->canvas->narrow ? "narrow" : "wide");
    define_context(d, name, panels.width);
    for (size_t i = 0; i < panels.count; i++) {
        struct plot plot;
        struct area area = panels_area(&panels, i);
        plot_begin(&plot, &d->svg, area, words[d->source.y].logarithmic);
        fit(d, &plot, 3, 3);
        config_begin(&d->svg, &d->comparison->groups[i]);
        panels_name(&panels, &d->svg, i);
        plot_frame(&plot, panels_first(&panels, i));
        svg_use(&d->svg, name, area.left, area.top);
        draw_band(d, &plot, i);
        draw_line(d, &plot, i);
        config_end(&d->svg);
    }
    double bottom = panels_bottom(&panels);
    svg_text(&d->svg, "axis", SVG_MIDDLE, d->canvas->width / 2, bottom + 6, d->source.unit_name);
    return bottom + 20;
}

char *curves_figure(const struct conclusion *conclusion, enum curve_y y, enum curve_x x,
                    const struct canvas *canvas)
{
    char subtitle[256], title[96], description[160];
    struct drawing d = {
        .canvas = canvas, .conclusion = conclusion, .comparison = conclusion->comparison};
    d.many = d.comparison->group_count > CURVES_TOGETHER;
    curve_source_set(&d.source, d.comparison, x, y);
    config_keys(d.keys, d.comparison, "line");
    if (!make_curves(&d))
        return NULL;
    write_subtitle(&d, subtitle, sizeof(subtitle));
    snprintf(title, sizeof(title), "%s against %s", words[y].title, curve_x_name(x));
    snprintf(description, sizeof(description), "%s against %s.", words[y].description,
             d.source.unit_name);
    svg_open(&d.svg, canvas->width, 0, title, description);
    double bottom = draw_overview(&d, plot_head(&d.svg, canvas, title, subtitle));
    if (d.many)
        bottom = draw_each(&d, bottom);
    svg_grow(&d.svg, bottom);
    free_curves(&d);
    return svg_close(&d.svg);
}
