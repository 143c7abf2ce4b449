/* times_figure.c - rows of bars on one axis of seconds, with the configuration's name above its
 * bars and their sum beside each. */

#include "deploy/figures/times_figure.h"

#include <math.h>
#include <stdio.h>

#include "common/base/wording.h"
#include "deploy/figures/config_style.h"
#include "deploy/figures/time_kinds.h"

#define WORKERS_SHOWN 12 /* Bars of one configuration. */
#define BAR_HEIGHT    16.0
#define BAR_PITCH     21.0
#define WORKER_NAMES  76.0  /* Left of bars of workers. */
#define TOTALS        170.0 /* Right of bars. */

struct drawing {
    struct svg svg;
    const struct canvas *canvas;
    const struct comparison *comparison;
    bool workers; /* Each its own bar. */
    struct axis axis;
};

/* --- bars ---------------------------------------------------------------------------------- */

static void see_all(struct drawing *d)
{
    double seconds[TIME_KINDS];
    double left = d->canvas->margin + (d->workers ? WORKER_NAMES : 0);
    axis_init(&d->axis, left,
              d->canvas->width - d->canvas->margin - (d->canvas->narrow ? 8 : TOTALS), false);
    axis_see(&d->axis, 0);
    for (size_t i = 0; i < d->comparison->group_count; i++) {
        const struct group *group = &d->comparison->groups[i];
        size_t count = d->workers ? time_workers(group) : 0;
        axis_see(&d->axis, time_of_config(group, seconds));
        for (size_t worker = 0; worker < count; worker++)
            axis_see(&d->axis, time_of_worker(group, worker, seconds));
    }
    axis_fit(&d->axis, d->canvas->narrow ? 4 : 8, false);
}

/* who: "async, 4 workers, worker 0" */
static void draw_bar(struct drawing *d, const char *who, const double seconds[TIME_KINDS], double y)
{
    double sum = 0;
    char note[SVG_TEXT_MAX];
    for (size_t kind = 0; kind < TIME_KINDS; kind++) {
        double x = axis_place(&d->axis, sum);
        sum += seconds[kind];
        snprintf(note, sizeof(note), "%s: %s: %s", who, time_kind(kind)->label,
                 wording_duration(seconds[kind]).text);
        if (seconds[kind] > 0)
            svg_box_with_note(&d->svg, time_kind(kind)->style, x, y, axis_place(&d->axis, sum) - x,
                              BAR_HEIGHT, note);
    }
}

/* "12.4 s, 71 % computing" */
static void put_total(char *text, size_t bytes, const double seconds[TIME_KINDS], double total)
{
    snprintf(text, bytes, "%s, %.0f %% computing", wording_duration(total).text,
             100 * seconds[0] / total);
}

/* The configuration's name, and on small screens its sum at the other side; returns the y of its
 * first bar. */
static double draw_name(struct drawing *d, const struct group *group, double y)
{
    return svg_paragraph(&d->svg, "label strong", PLOT_LABEL, d->canvas->margin, y + PLOT_LABEL,
                         d->canvas->width - 2 * d->canvas->margin, group->label) -
           PLOT_LABEL + 1;
}

/* Beside the bar, or below it without room there. */
static double draw_total(struct drawing *d, const double seconds[TIME_KINDS], double total,
                         double y)
{
    char text[96];
    if (!(total > 0))
        return y + BAR_PITCH;
    put_total(text, sizeof(text), seconds, total);
    if (d->canvas->narrow) {
        svg_text(&d->svg, "small", SVG_END, axis_place(&d->axis, d->axis.max),
                 y + BAR_HEIGHT + PLOT_SMALL + 1, text);
        return y + BAR_PITCH + PLOT_SMALL + 2;
    }
    svg_text(&d->svg, "small", SVG_START, axis_place(&d->axis, total) + 6, y + BAR_HEIGHT - 4,
             text);
    return y + BAR_PITCH;
}

static double draw_config(struct drawing *d, const struct group *group, double y)
{
    double seconds[TIME_KINDS];
    double total = time_of_config(group, seconds);
    y = draw_name(d, group, y);
    draw_bar(d, group->label, seconds, y);
    return draw_total(d, seconds, total, y) + 4;
}

static double draw_workers(struct drawing *d, const struct group *group, double y)
{
    char text[SVG_TEXT_MAX];
    double seconds[TIME_KINDS];
    size_t count = time_workers(group);
    y = draw_name(d, group, y);
    for (size_t i = 0; i < count && i < WORKERS_SHOWN; i++) {
        double total = time_of_worker(group, i, seconds);
        snprintf(text, sizeof(text), "worker %zu", i);
        svg_text(&d->svg, "axis", SVG_END, d->axis.from - 6, y + BAR_HEIGHT - 4, text);
        snprintf(text, sizeof(text), "%s, worker %zu", group->label, i);
        draw_bar(d, text, seconds, y);
        y = draw_total(d, seconds, total, y);
    }
    if (count > WORKERS_SHOWN) {
        snprintf(text, sizeof(text), "and %zu more workers", count - WORKERS_SHOWN);
        svg_text(&d->svg, "small", SVG_START, d->axis.from + 6, y + 12, text);
        y += BAR_PITCH;
    }
    return y + 6;
}

/* --- around them --------------------------------------------------------------------------- */

static void draw_axis(struct drawing *d, double y)
{
    char label[AXIS_LABEL_MAX];
    svg_line(&d->svg, "frame", d->axis.from, y, d->axis.to, y);
    for (size_t i = 0; i < d->axis.tick_count; i++) {
        double x = axis_place(&d->axis, d->axis.ticks[i]);
        svg_line(&d->svg, "frame", x, y, x, y + 4);
        axis_label(&d->axis, i, label, sizeof(label));
        svg_text(&d->svg, "axis", i == 0 ? SVG_START : SVG_MIDDLE, x, y + 17, label);
    }
}

static double draw_legend(struct drawing *d, double top)
{
    struct plot_key keys[TIME_KINDS];
    size_t count = 0;
    for (size_t kind = 0; kind < TIME_KINDS; kind++) {
        if (!time_kind_used(d->comparison, kind))
            continue;
        snprintf(keys[count].label, sizeof(keys->label), "%s", time_kind(kind)->label);
        snprintf(keys[count++].style, sizeof(keys->style), "%s", time_kind(kind)->style);
    }
    return plot_legend(&d->svg, keys, count, d->canvas->margin,
                       d->canvas->width - d->canvas->margin, top + 14);
}

static const char *unit_of(const struct comparison *comparison)
{
    bool modelled =
        comparison->record_count > 0 && comparison->records[0]->config.cluster[0] != '\0';
    return modelled ? "virtual seconds" : "seconds";
}

static char *draw(struct drawing *d, const char *title, const char *subtitle)
{
    see_all(d);
    svg_open(&d->svg, d->canvas->width, 0, title,
             "Stacked bars: seconds that workers spent computing, exchanging, waiting, scoring and "
             "otherwise.");
    double y = draw_legend(d, plot_head(&d->svg, d->canvas, title, subtitle)) - 8;
    for (size_t i = 0; i < d->comparison->group_count; i++) {
        const struct group *group = &d->comparison->groups[i];
        config_begin(&d->svg, group);
        y = d->workers ? draw_workers(d, group, y) : draw_config(d, group, y);
        config_end(&d->svg);
    }
    draw_axis(d, y + 2);
    svg_text(&d->svg, "axis", SVG_MIDDLE, (d->axis.from + d->axis.to) / 2, y + 38,
             unit_of(d->comparison));
    svg_grow(&d->svg, y + 50);
    return svg_close(&d->svg);
}

char *times_figure(const struct comparison *comparison, const struct canvas *canvas)
{
    struct drawing d = {.canvas = canvas, .comparison = comparison};
    return draw(&d, "What the seconds went into",
                configs_most_seeds(comparison) > 1
                    ? "each bar is an arm: its workers' mean, and that of its seeds"
                    : "each bar is an arm: its workers' mean");
}

char *workers_figure(const struct comparison *comparison, const struct canvas *canvas)
{
    struct drawing d = {.canvas = canvas, .comparison = comparison, .workers = true};
    return draw(&d, "What each worker's seconds went into",
                configs_most_seeds(comparison) > 1
                    ? "each bar is one worker: the mean over the seeds"
                    : "each bar is one worker");
}
