/* times_figure.c - a stacked bar for each worker, on one axis of seconds. */

#include "deploy/figures/times_figure.h"

#include <math.h>
#include <stdio.h>

#include "common/base/wording.h"
#include "deploy/figures/arm_style.h"

#define WORKERS_SHOWN    12 /* Bars of one arm. */
#define BAR_HEIGHT       16.0
#define BAR_PITCH        22.0
#define TIMES_LEFT       226.0
#define TIMES_RIGHT      (PLOT_WIDTH - 150.0)
#define TIMES_KIND_COUNT 5

struct times_kind {
    const char *label;
    const char *style;
    double (*seconds)(const struct worker_summary *worker);
};

static double computing(const struct worker_summary *worker)
{
    return worker->compute_seconds;
}

static double exchanging(const struct worker_summary *worker)
{
    return worker->exchange_seconds;
}

static double evaluating(const struct worker_summary *worker)
{
    return worker->evaluate_seconds;
}

static const struct times_kind times_kinds[TIMES_KIND_COUNT] = {
    {"computing gradients", "bar t0", computing},
    {"exchanging them for parameters", "bar t1", exchanging},
    {"waiting for others", "bar t2", worker_summary_wait},
    {"evaluating", "bar t3", evaluating},
    {"other", "bar t4", worker_summary_other},
};

/* Means over the group's runs into seconds[TIMES_KIND_COUNT]; returns their sum. */
static double worker_seconds(const struct group *group, size_t worker, double *seconds)
{
    double total = 0;
    for (size_t kind = 0; kind < TIMES_KIND_COUNT; kind++) {
        double sum = 0;
        size_t count = 0;
        for (size_t i = 0; i < group->record_count; i++) {
            const struct record *record = group->records[i];
            if (worker >= record->summary.worker_count)
                continue;
            double value = times_kinds[kind].seconds(&record->summary.workers[worker]);
            if (isfinite(value) && value > 0)
                sum += value;
            count++;
        }
        seconds[kind] = count ? sum / (double)count : 0;
        total += seconds[kind];
    }
    return total;
}

static size_t group_worker_count(const struct group *group)
{
    size_t count = 0;
    for (size_t i = 0; i < group->record_count; i++) {
        size_t workers = group->records[i]->summary.worker_count;
        count = workers > count ? workers : count;
    }
    return count;
}

static size_t group_rows(const struct group *group)
{
    size_t count = group_worker_count(group);
    return count > WORKERS_SHOWN ? WORKERS_SHOWN + 1 : count; /* One more to say so. */
}

static void times_bar(struct svg *svg, const struct axis *axis, const struct group *group,
                      size_t worker, double y)
{
    double seconds[TIMES_KIND_COUNT];
    double total = worker_seconds(group, worker, seconds);
    double sum = 0;
    char text[160];
    snprintf(text, sizeof(text), "worker %zu", worker);
    svg_text(svg, "axis", SVG_END, TIMES_LEFT - 8, y + BAR_HEIGHT - 4, text);
    for (size_t kind = 0; kind < TIMES_KIND_COUNT; kind++) {
        double x = axis_place(axis, sum);
        sum += seconds[kind];
        snprintf(text, sizeof(text), "%s, worker %zu: %s: %s", group->label, worker,
                 times_kinds[kind].label, wording_duration(seconds[kind]).text);
        if (seconds[kind] > 0) {
            svg_box_with_note(svg, times_kinds[kind].style, x, y, axis_place(axis, sum) - x,
                              BAR_HEIGHT, text);
        }
    }
    if (total > 0) {
        snprintf(text, sizeof(text), "%s, %.0f %% computing", wording_duration(total).text,
                 100 * seconds[0] / total);
        svg_text(svg, "small", SVG_START, axis_place(axis, total) + 6, y + BAR_HEIGHT - 4, text);
    }
}

/* The group's name and bars; returns the y below them. */
static double times_group(struct svg *svg, const struct axis *axis, const struct group *group,
                          double y)
{
    char text[64];
    size_t count = group_worker_count(group);
    svg_text(svg, "strong", SVG_START, 16, y + BAR_HEIGHT - 4, group->label);
    for (size_t i = 0; i < count && i < WORKERS_SHOWN; i++) {
        times_bar(svg, axis, group, i, y);
        y += BAR_PITCH;
    }
    if (count > WORKERS_SHOWN) {
        snprintf(text, sizeof(text), "and %zu more workers", count - WORKERS_SHOWN);
        svg_text(svg, "small", SVG_START, TIMES_LEFT + 6, y + 12, text);
        y += BAR_PITCH;
    }
    return y + 10;
}

static void times_axis(struct svg *svg, const struct axis *axis, double top, double bottom)
{
    char label[AXIS_LABEL_MAX];
    for (size_t i = 0; i < axis->tick_count; i++) {
        double x = axis_place(axis, axis->ticks[i]);
        svg_line(svg, "grid", x, top, x, bottom);
        axis_label(axis, i, label, sizeof(label));
        svg_text(svg, "axis", SVG_MIDDLE, x, bottom + 18, label);
    }
    svg_line(svg, "frame", TIMES_LEFT, top, TIMES_LEFT, bottom);
    svg_text(svg, "axis", SVG_MIDDLE, (TIMES_LEFT + TIMES_RIGHT) / 2, bottom + 40, "seconds");
}

/* Fits the axis of seconds to all bars. */
static void times_fit(struct axis *axis, const struct comparison *comparison)
{
    double seconds[TIMES_KIND_COUNT];
    axis_init(axis, TIMES_LEFT, TIMES_RIGHT, false);
    axis_see(axis, 0);
    for (size_t i = 0; i < comparison->group_count; i++) {
        const struct group *group = &comparison->groups[i];
        for (size_t worker = 0; worker < group_worker_count(group); worker++)
            axis_see(axis, worker_seconds(group, worker, seconds));
    }
    axis_fit(axis, 8, false);
}

static double times_height(const struct comparison *comparison)
{
    double height = 156; /* Title, legend and axis. */
    for (size_t i = 0; i < comparison->group_count; i++)
        height += (double)group_rows(&comparison->groups[i]) * BAR_PITCH + 10;
    return height;
}

/* Title, subtitle and legend; returns the y below them. */
static double times_head(struct svg *svg, const struct comparison *comparison, const char *title)
{
    struct plot_key keys[TIMES_KIND_COUNT] = {0};
    for (size_t kind = 0; kind < TIMES_KIND_COUNT; kind++) {
        snprintf(keys[kind].label, sizeof(keys[kind].label), "%s", times_kinds[kind].label);
        snprintf(keys[kind].style, sizeof(keys[kind].style), "%s", times_kinds[kind].style);
    }
    svg_text(svg, "title", SVG_START, 16, 28, title);
    svg_text(svg, "subtitle", SVG_START, 16, 47,
             arms_most_seeds(comparison) > 1 ? "each bar is one worker; mean over the seeds"
                                             : "each bar is one worker");
    return plot_legend(svg, keys, TIMES_KIND_COUNT, 16, PLOT_WIDTH - 16, 72);
}

char *figure_times(const struct comparison *comparison)
{
    static const char title[] = "What the workers' time went into";
    struct svg svg;
    struct axis axis;
    times_fit(&axis, comparison);
    double height = times_height(comparison);
    svg_open(&svg, PLOT_WIDTH, height, title,
             "Stacked bars: seconds each worker spent computing, exchanging, waiting, evaluating "
             "and otherwise.");
    double y = times_head(&svg, comparison, title);
    times_axis(&svg, &axis, y, height - 54);
    y += 4;
    for (size_t i = 0; i < comparison->group_count; i++)
        y = times_group(&svg, &axis, &comparison->groups[i], y);
    return svg_close(&svg);
}
