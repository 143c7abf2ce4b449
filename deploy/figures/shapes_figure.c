/* shapes_figure.c - adds up the histograms of a configuration's runs, and draws them as shares. */

#include "deploy/figures/shapes_figure.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/figures/config_style.h"
#include "deploy/figures/panels.h"

#define BARS_MAX     60
#define BARS_MIN     5 /* Fewer would be absurdly wide. */
#define SHAPES_MAX   2
#define HEIGHT       104.0
#define HEIGHT_ALONE 170.0 /* Of one row. */

typedef const struct histogram *shape_fn(const struct record *record);

struct shapes_figure {
    const char *title, *subtitle, *description;
    const char *x, *number; /* Below the frames, and in notes. */
    struct {
        shape_fn *of;
        const char *name, *style; /* In the legend, and of the bars beside the configuration's. */
    } shapes[SHAPES_MAX];
    size_t shape_count;
};

/* The counts of a configuration's runs. */
struct config_shapes {
    const struct group *group;
    struct histogram shapes[SHAPES_MAX];
};

struct drawing {
    struct svg svg;
    const struct canvas *canvas;
    const struct shapes_figure *figure;
    struct config_shapes *configs; /* [count], owned */
    size_t count;
    size_t bars, wide; /* How many, of how many numbers each. */
    double most;       /* The greatest share, percent. */
    struct plot_key keys[COMPARISON_GROUPS_MAX];
    struct panel_note notes[COMPARISON_GROUPS_MAX];
};

/* --- counts ----------------------------------------------------------------------------------- */

static bool take_shapes(struct config_shapes *config, const struct shapes_figure *figure,
                        const struct group *group)
{
    bool any = false;
    memset(config, 0, sizeof(*config));
    config->group = group;
    for (size_t shape = 0; shape < figure->shape_count; shape++) {
        for (size_t i = 0; i < group->record_count; i++)
            histogram_merge(&config->shapes[shape], figure->shapes[shape].of(group->records[i]));
        any = any || histogram_used(&config->shapes[shape]) > 0;
    }
    return any;
}

static double counted(const struct histogram *histogram)
{
    double sum = 0;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        sum += (double)histogram->buckets[i];
    return sum;
}

/* Percent in bar number `bar`. */
static double share(const struct drawing *d, const struct histogram *histogram, size_t bar)
{
    double sum = 0, all = counted(histogram);
    size_t from = bar * d->wide, to = bar + 1 == d->bars ? HISTOGRAM_BUCKETS : from + d->wide;
    for (size_t i = from; i < to && i < HISTOGRAM_BUCKETS; i++)
        sum += (double)histogram->buckets[i];
    return all > 0 ? 100 * sum / all : 0;
}

/* Bars up to where nearly all of every configuration is. */
static void set_bars(struct drawing *d)
{
    uint64_t last = BARS_MIN - 1;
    for (size_t i = 0; i < d->count; i++) {
        for (size_t shape = 0; shape < d->figure->shape_count; shape++) {
            uint64_t nearly = histogram_quantile(&d->configs[i].shapes[shape], 0.999);
            last = nearly > last ? nearly : last;
        }
    }
    last = last < HISTOGRAM_EXACT - 1 ? last : HISTOGRAM_EXACT - 1;
    d->wide = last / BARS_MAX + 1;
    d->bars = last / d->wide + 1;
    for (size_t i = 0; i < d->count; i++)
        for (size_t shape = 0; shape < d->figure->shape_count; shape++)
            for (size_t bar = 0; bar < d->bars; bar++)
                d->most = fmax(d->most, share(d, &d->configs[i].shapes[shape], bar));
}

/* --- drawn --------------------------------------------------------------------------------- */

static void set_name(struct drawing *d, const struct config_shapes *config)
{
    const struct histogram *first = &config->shapes[0];
    snprintf(d->keys[d->count].label, sizeof(d->keys->label), "%s", config->group->label);
    d->keys[d->count].style[0] = '\0';
    snprintf(d->notes[d->count].text, sizeof(d->notes->text), "mean %.2f, p99 %" PRIu64,
             histogram_mean(first), histogram_quantile(first, 0.99));
}

/* "3", "12 to 15", "60 and more" */
static void put_range(char *text, size_t bytes, const struct drawing *d, size_t bar,
                      const struct histogram *histogram)
{
    size_t first = bar * d->wide;
    if (bar + 1 == d->bars && histogram->max >= first + d->wide)
        snprintf(text, bytes, "%zu and more", first);
    else if (d->wide > 1)
        snprintf(text, bytes, "%zu to %zu", first, first + d->wide - 1);
    else
        snprintf(text, bytes, "%zu", first);
}

static void draw_bars(struct drawing *d, const struct plot *plot,
                      const struct config_shapes *config, size_t shape)
{
    char style[48], of_config[24], range[48], note[SVG_TEXT_MAX];
    config_style(of_config, sizeof(of_config), "bar", config->group);
    snprintf(style, sizeof(style), "%s%s", of_config, d->figure->shapes[shape].style);
    double width = 0.84 / (double)d->figure->shape_count;
    for (size_t bar = 0; bar < d->bars; bar++) {
        double percent = share(d, &config->shapes[shape], bar);
        if (!(percent > 0))
            continue;
        double from = (double)bar - 0.42 + width * (double)shape;
        double x = axis_place(&plot->x, from), end = axis_place(&plot->x, from + width);
        double y = axis_place(&plot->y, percent);
        put_range(range, sizeof(range), d, bar, &config->shapes[shape]);
        snprintf(note, sizeof(note), "%s%s%s: %s %s: %.2f %%", config->group->label,
                 d->figure->shape_count > 1 ? ", " : "",
                 d->figure->shape_count > 1 ? d->figure->shapes[shape].name : "", d->figure->number,
                 range, percent);
        svg_box_with_note(&d->svg, style, x, y, fmax(end - x - 0.5, 0.5), plot->area.bottom - y,
                          note);
    }
}

/* Places are numbers of bars, labels numbers of updates. */
static void fit(const struct drawing *d, struct plot *plot)
{
    axis_see(&plot->x, -0.6);
    axis_see(&plot->x, (double)d->bars - 0.4);
    axis_see(&plot->y, 0);
    axis_see(&plot->y, d->most);
    axis_fit(&plot->x, 5, false);
    axis_fit(&plot->y, 4, true);
    axis_whole_ticks(&plot->x, 0, (double)d->bars - 1, (plot->area.right - plot->area.left) / 34);
    plot->x.scale = (double)d->wide;
}

static double draw_panels(struct drawing *d, double top)
{
    struct panels panels;
    panels_begin(&panels, d->canvas, d->keys, d->notes, d->count, top,
                 d->count <= 2 && !d->canvas->narrow ? HEIGHT_ALONE : HEIGHT);
    for (size_t i = 0; i < d->count; i++) {
        struct plot plot;
        plot_begin(&plot, &d->svg, panels_area(&panels, i), false);
        fit(d, &plot);
        config_begin(&d->svg, d->configs[i].group);
        panels_name(&panels, &d->svg, i);
        plot_frame(&plot, panels_first(&panels, i));
        for (size_t shape = 0; shape < d->figure->shape_count; shape++)
            draw_bars(d, &plot, &d->configs[i], shape);
        config_end(&d->svg);
    }
    double bottom = panels_bottom(&panels);
    double left = d->canvas->margin;
    return svg_paragraph(&d->svg, "axis", PLOT_LABEL, left, bottom + 6, d->canvas->width - 2 * left,
                         d->figure->x);
}

/* Which bars are which, where there are two for each number. */
static double draw_legend(struct drawing *d, double top)
{
    struct plot_key keys[SHAPES_MAX];
    for (size_t i = 0; i < d->figure->shape_count; i++) {
        snprintf(keys[i].label, sizeof(keys[i].label), "%s", d->figure->shapes[i].name);
        snprintf(keys[i].style, sizeof(keys[i].style), "bar c12%s", d->figure->shapes[i].style);
    }
    return plot_legend(&d->svg, keys, d->figure->shape_count, d->canvas->margin,
                       d->canvas->width - d->canvas->margin, top + 14);
}

static char *draw(const struct shapes_figure *figure, const struct comparison *comparison,
                  const struct canvas *canvas)
{
    struct drawing d = {.canvas = canvas, .figure = figure};
    d.configs = calloc(COMPARISON_GROUPS_MAX, sizeof(*d.configs));
    if (d.configs == NULL)
        return NULL;
    for (size_t i = 0; i < comparison->group_count; i++) {
        if (!take_shapes(&d.configs[d.count], figure, &comparison->groups[i]))
            continue;
        set_name(&d, &d.configs[d.count]);
        d.count++;
    }
    set_bars(&d);
    svg_open(&d.svg, canvas->width, 0, figure->title, figure->description);
    double y = plot_head(&d.svg, canvas, figure->title, figure->subtitle);
    if (d.count == 0) {
        svg_text(&d.svg, "axis", SVG_START, canvas->margin, y + 24, "no data were recorded");
        y += 34;
    } else {
        y = figure->shape_count > 1 ? draw_legend(&d, y) : y;
        y = draw_panels(&d, y);
    }
    svg_grow(&d.svg, y);
    free(d.configs);
    return svg_close(&d.svg);
}

/* --- the figures --------------------------------------------------------------------------- */

static const struct histogram *staleness_shape(const struct record *record)
{
    return &record->summary.staleness.shape;
}

static const struct histogram *pull_shape(const struct record *record)
{
    return &record->summary.spread.pulls;
}

static const struct histogram *part_shape(const struct record *record)
{
    return &record->summary.spread.parts;
}

char *staleness_figure(const struct comparison *comparison, const struct canvas *canvas)
{
    static const struct shapes_figure figure = {
        .title = "Staleness of the gradients",
        .subtitle = "share of each arm's gradients, percent; counted chunk by chunk",
        .description = "Small bar charts, one for each arm: share of gradients by the number of "
                       "updates made to a chunk since its parameters were read.",
        .x = "updates made between reading the parameters and applying the gradient",
        .number = "staleness",
        .shapes = {{staleness_shape, "", ""}},
        .shape_count = 1,
    };
    return draw(&figure, comparison, canvas);
}

char *spread_figure(const struct comparison *comparison, const struct canvas *canvas)
{
    static const struct shapes_figure figure = {
        .title = "Spread of a pull",
        .subtitle = "share of each arm's gradients, percent",
        .description = "Small bar charts, one for each arm: share of gradients by how many updates "
                       "the newest chunk that they were made from was ahead of the oldest.",
        .x = "newest version less the oldest, of the chunks that a gradient was made from",
        .number = "spread",
        .shapes = {{pull_shape, "all chunks", ""}, {part_shape, "one part", " part"}},
        .shape_count = SHAPES_MAX,
    };
    return draw(&figure, comparison, canvas);
}
