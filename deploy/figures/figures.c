/* figures.c - one function a figure: fit the axes to what is shown, then draw bands, lines, bars
 * and keys. */

#include "deploy/figures/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/wording.h"
#include "deploy/figures/curve.h"
#include "deploy/figures/plot.h"

#define WORKERS_SHOWN    12 /* Bars of one group in the figure of times. */
#define BAR_HEIGHT       16.0
#define BAR_PITCH        22.0
#define TIMES_LEFT       226.0
#define TIMES_RIGHT      (PLOT_WIDTH - 150.0)
#define TIMES_KIND_COUNT 5

/* --- what is drawn ------------------------------------------------------------------------- */

/* Where there are windows of --report-every, their means are drawn; else those of progress. */
static int loss_of_window(const struct record *record, size_t index, double *y)
{
    if (index >= record->window_count)
        return 0;
    *y = record->windows[index].window.loss;
    return 1;
}

static int loss_over_time(const struct record *record, size_t index, double *x, double *y)
{
    if (record->window_count > 0) {
        *x = index < record->window_count ? record->windows[index].training_seconds : 0;
        return loss_of_window(record, index, y);
    }
    if (index >= record->point_count)
        return 0;
    *x = record->points[index].training_seconds;
    *y = record->points[index].loss;
    return 1;
}

static int loss_over_step(const struct record *record, size_t index, double *x, double *y)
{
    if (record->window_count > 0) {
        *x = index < record->window_count ? (double)record->windows[index].window.end : 0;
        return loss_of_window(record, index, y);
    }
    if (index >= record->point_count)
        return 0;
    *x = record->points[index].step;
    *y = record->points[index].loss;
    return 1;
}

static int accuracy_over_epoch(const struct record *record, size_t index, double *x, double *y)
{
    if (index >= record->evaluation_count)
        return 0;
    *x = record->evaluations[index].epoch;
    *y = record->evaluations[index].test_accuracy * 100;
    return 1;
}

/* --- curves -------------------------------------------------------------------------------- */

/* A hue for each mode, a shade for each number of workers, and dashes in turn, so that lines which
 * are equal to the bit can all be seen. */
static void group_style(char *style, size_t bytes, const char *shape, const struct group *group)
{
    unsigned colour = group->mode_index % SVG_HUES * SVG_SHADES + group->workers_index % SVG_SHADES;
    snprintf(style, bytes, "%s c%u d%u", shape, colour, group->index % SVG_DASHES);
}

static void group_keys(struct plot_key *keys, const struct comparison *comparison,
                       const char *shape)
{
    for (size_t i = 0; i < comparison->group_count; i++) {
        const struct group *group = &comparison->groups[i];
        snprintf(keys[i].label, sizeof(keys[i].label), "%s", group->label);
        group_style(keys[i].style, sizeof(keys[i].style), shape, group);
    }
}

static void curve_show(struct plot *plot, const struct curve *curve)
{
    for (size_t i = 0; i < curve->count; i++) {
        axis_see(&plot->x, curve->x[i]);
        axis_see(&plot->y, curve->low[i]);
        axis_see(&plot->y, curve->high[i]);
    }
}

static void curve_draw(struct plot *plot, const struct curve *curve, const struct group *group,
                       bool dots)
{
    char style[32];
    group_style(style, sizeof(style), "line", group);
    plot_line(plot, style, curve->x, curve->mean, curve->count);
    if (dots || curve->count == 1) {
        group_style(style, sizeof(style), "dot", group);
        plot_dots(plot, style, curve->x, curve->mean, curve->count);
    }
}

/* Bands first, so that no line is under one. */
static void curves_draw(struct plot *plot, const struct comparison *comparison,
                        const struct curve *curves, bool dots)
{
    char style[32];
    for (size_t i = 0; i < comparison->group_count; i++) {
        if (curves[i].runs > 1) {
            group_style(style, sizeof(style), "band", &comparison->groups[i]);
            plot_band(plot, style, curves[i].x, curves[i].low, curves[i].high, curves[i].count);
        }
    }
    for (size_t i = 0; i < comparison->group_count; i++)
        curve_draw(plot, &curves[i], &comparison->groups[i], dots);
}

/* Whole numbers only, at most `most` of them. */
static void whole_ticks(struct axis *axis, double first, double last, double most)
{
    double stride = fmax(1, ceil((last - first + 1) / most));
    axis->tick_count = 0;
    axis->decimals = 0;
    for (size_t i = 0; i < AXIS_TICKS_MAX && first + (double)i * stride <= last; i++)
        axis->ticks[axis->tick_count++] = first + (double)i * stride;
}

/* Epochs are few and whole. */
static void fit_epochs(struct axis *axis)
{
    axis_fit(axis, 10, false);
    if (axis->empty)
        return;
    double first = ceil(axis->min);
    double last = floor(axis->max);
    axis->min -= (axis->max - axis->min) * 0.03;
    axis->max += (axis->max - axis->min) * 0.03;
    whole_ticks(axis, first, last, 15);
}

static size_t most_seeds(const struct comparison *comparison)
{
    size_t most = 0;
    for (size_t i = 0; i < comparison->group_count; i++) {
        size_t count = comparison->groups[i].record_count;
        most = count > most ? count : most;
    }
    return most;
}

/* What the picture says below its title, and what lines and bands are when there are seeds. */
static void curves_subtitle(char *text, size_t bytes, const struct comparison *comparison,
                            const char *subtitle)
{
    size_t seeds = most_seeds(comparison);
    if (seeds > 1)
        snprintf(text, bytes, "%s; mean of %zu seeds, the band from the lowest to the highest",
                 subtitle, seeds);
    else
        snprintf(text, bytes, "%s", subtitle);
}

/* What a point of the losses is a mean over. */
static const char *losses_subtitle(const struct comparison *comparison)
{
    size_t runs = 0, windowed = 0;
    for (size_t i = 0; i < comparison->group_count; i++) {
        runs += comparison->groups[i].record_count;
        for (size_t j = 0; j < comparison->groups[i].record_count; j++)
            windowed += comparison->groups[i].records[j]->window_count > 0;
    }
    return windowed == 0
               ? "cross-entropy, means over a fortieth of an epoch each, logarithmic scale"
           : windowed == runs
               ? "cross-entropy, means over --report-every batches each, logarithmic scale"
               : "cross-entropy, means over --report-every batches each or, without, a "
                 "fortieth of an epoch, logarithmic scale";
}

struct curve_figure {
    struct plot_words words; /* Without a subtitle: losses_subtitle. */
    curve_pair_fn *pair;
    bool logarithmic; /* In y. */
    bool epochs;      /* x counts epochs: whole ticks, and a dot for each. */
};

static char *draw_curves(const struct curve_figure *figure, const struct comparison *comparison)
{
    struct plot_key keys[COMPARISON_GROUPS_MAX];
    struct curve *curves = calloc(COMPARISON_GROUPS_MAX, sizeof(*curves));
    if (curves == NULL)
        return NULL;
    char subtitle[SVG_TEXT_MAX];
    struct plot_words words = figure->words;
    curves_subtitle(subtitle, sizeof(subtitle), comparison,
                    words.subtitle != NULL ? words.subtitle : losses_subtitle(comparison));
    words.subtitle = subtitle;

    struct plot plot;
    group_keys(keys, comparison, "line");
    plot_open(&plot, &words, keys, comparison->group_count, figure->logarithmic);
    for (size_t i = 0; i < comparison->group_count; i++) {
        curve_make(&curves[i], &comparison->groups[i], figure->pair);
        curve_show(&plot, &curves[i]);
    }
    if (figure->epochs) {
        fit_epochs(&plot.x);
    } else {
        axis_see(&plot.x, 0);
        axis_fit(&plot.x, 10, false);
    }
    axis_fit(&plot.y, 6, true);
    plot_frame(&plot);
    curves_draw(&plot, comparison, curves, figure->epochs);
    for (size_t i = 0; i < comparison->group_count; i++)
        curve_free(&curves[i]);
    free(curves);
    return plot_close(&plot);
}

static char *draw_loss_over_time(const struct comparison *comparison)
{
    static const struct curve_figure figure = {
        {"Training loss over time", NULL,
         "Line chart: training loss of each mode against seconds of training.",
         "seconds of training", "training loss"},
        loss_over_time,
        true,
        false};
    return draw_curves(&figure, comparison);
}

static char *draw_loss_over_step(const struct comparison *comparison)
{
    static const struct curve_figure figure = {
        {"Training loss over batches", NULL,
         "Line chart: training loss of each mode against the number of batches done.", "batches",
         "training loss"},
        loss_over_step,
        true,
        false};
    return draw_curves(&figure, comparison);
}

static char *draw_accuracy(const struct comparison *comparison)
{
    static const struct curve_figure figure = {
        {"Test accuracy after each epoch", "examples never trained on",
         "Line chart: test accuracy of each mode in percent against epochs.", "epochs",
         "test accuracy (%)"},
        accuracy_over_epoch,
        false,
        true};
    return draw_curves(&figure, comparison);
}

/* --- staleness and spread ------------------------------------------------------------------ */

#define BARS       65 /* 0, 1, ..., 63, and 64 or more. */
#define SHAPES_MAX 2

typedef const struct histogram *shape_fn(const struct record *record);

/* The bars of one group and one of the figure's shapes. */
struct series {
    const struct group *group;
    size_t shape;
    double shares[BARS]; /* Percent. */
};

struct bars_figure {
    struct plot_words words;
    const char *subtitle_cut; /* Where the last bar holds the rest. */
    const char *number;       /* What the bars are by. */
    struct {
        shape_fn *of;
        const char *suffix, *style; /* Of the key, and of the bars beside the group's. */
    } shapes[SHAPES_MAX];
    size_t shape_count;
};

/* Percent of what the group's runs counted, by number; 0 when there is nothing. */
static int take_shares(const struct group *group, shape_fn *of, double shares[BARS])
{
    double sum = 0;
    memset(shares, 0, BARS * sizeof(*shares));
    for (size_t i = 0; i < group->record_count; i++) {
        const struct histogram *shape = of(group->records[i]);
        for (size_t bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
            shares[bucket < BARS ? bucket : BARS - 1] += (double)shape->buckets[bucket];
            sum += (double)shape->buckets[bucket];
        }
    }
    for (size_t bucket = 0; bucket < BARS && sum > 0; bucket++)
        shares[bucket] *= 100 / sum;
    return sum > 0;
}

/* All series with something in them, malloc'd; NULL when memory ran out. */
static struct series *make_series(const struct bars_figure *figure,
                                  const struct comparison *comparison, size_t *count)
{
    struct series *all = calloc((size_t)COMPARISON_GROUPS_MAX * SHAPES_MAX, sizeof(*all));
    *count = 0;
    for (size_t i = 0; all != NULL && i < comparison->group_count; i++) {
        for (size_t shape = 0; shape < figure->shape_count; shape++) {
            struct series *series = &all[*count];
            *series = (struct series){.group = &comparison->groups[i], .shape = shape};
            *count += take_shares(series->group, figure->shapes[shape].of, series->shares) ? 1 : 0;
        }
    }
    return all;
}

static size_t last_bar(const struct series *all, size_t count)
{
    size_t last = 4; /* Fewer bars would be absurdly wide. */
    for (size_t i = 0; i < count; i++)
        for (size_t bucket = last + 1; bucket < BARS; bucket++)
            last = all[i].shares[bucket] > 0 ? bucket : last;
    return last;
}

static void series_style(char *style, size_t bytes, const struct bars_figure *figure,
                         const struct series *series)
{
    char of_group[24];
    group_style(of_group, sizeof(of_group), "bar", series->group);
    snprintf(style, bytes, "%s%s", of_group, figure->shapes[series->shape].style);
}

static void series_keys(struct plot_key *keys, const struct bars_figure *figure,
                        const struct series *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        snprintf(keys[i].label, sizeof(keys[i].label), "%s%s", all[i].group->label,
                 figure->shapes[all[i].shape].suffix);
        series_style(keys[i].style, sizeof(keys[i].style), figure, &all[i]);
    }
}

/* The bars of series number `index` of `count`, side by side with the others' around each value. */
static void draw_series(struct plot *plot, const struct bars_figure *figure,
                        const struct series *series, size_t index, size_t count)
{
    char style[32];
    char note[160];
    series_style(style, sizeof(style), figure, series);
    double width = 0.84 / (double)count;
    for (size_t bucket = 0; bucket < BARS; bucket++) {
        if (!(series->shares[bucket] > 0))
            continue;
        double x = axis_place(&plot->x, (double)bucket - 0.42 + width * (double)index);
        double end = axis_place(&plot->x, (double)bucket - 0.42 + width * (double)(index + 1));
        double y = axis_place(&plot->y, series->shares[bucket]);
        snprintf(note, sizeof(note), "%s%s: %s %zu: %.2f %%", series->group->label,
                 figure->shapes[series->shape].suffix, figure->number, bucket,
                 series->shares[bucket]);
        svg_box_with_note(&plot->svg, style, x, y, fmax(end - x - 1, 0.5), plot->bottom - y, note);
    }
}

static void fit_bars(struct plot *plot, size_t count, size_t last)
{
    if (count > 0) {
        axis_see(&plot->x, -0.6);
        axis_see(&plot->x, (double)last + 0.6);
        axis_see(&plot->y, 0);
        axis_see(&plot->y, 100);
    }
    axis_fit(&plot->x, 10, false);
    axis_fit(&plot->y, 5, true);
    if (!plot->x.empty)
        whole_ticks(&plot->x, 0, (double)last, 26);
}

static char *draw_bars(const struct bars_figure *figure, const struct comparison *comparison)
{
    struct plot_key keys[COMPARISON_GROUPS_MAX * SHAPES_MAX];
    struct plot_words words = figure->words;
    struct plot plot;
    size_t count;
    struct series *all = make_series(figure, comparison, &count);
    if (all == NULL)
        return NULL;
    size_t last = last_bar(all, count);
    if (last == BARS - 1)
        words.subtitle = figure->subtitle_cut;
    series_keys(keys, figure, all, count);
    plot_open(&plot, &words, keys, count, false);
    fit_bars(&plot, count, last);
    plot_frame(&plot);
    for (size_t i = 0; i < count; i++)
        draw_series(&plot, figure, &all[i], i, count);
    free(all);
    return plot_close(&plot);
}

static const struct histogram *staleness_shape(const struct record *record)
{
    return &record->summary.staleness.shape;
}

static char *draw_staleness(const struct comparison *comparison)
{
    static const struct bars_figure figure = {
        .words = {"Staleness of the gradients, chunk by chunk", "share of each run's gradients",
                  "Bar chart: share of gradients by the number of updates made to a chunk since "
                  "its parameters were read.",
                  "updates made between reading the parameters and applying the gradient",
                  "gradients (%)"},
        .subtitle_cut = "share of each run's gradients; the last bar holds 64 and more",
        .number = "staleness",
        .shapes = {{staleness_shape, "", ""}},
        .shape_count = 1,
    };
    return draw_bars(&figure, comparison);
}

static const struct histogram *pull_shape(const struct record *record)
{
    return &record->summary.spread.pulls;
}

static const struct histogram *part_shape(const struct record *record)
{
    return &record->summary.spread.parts;
}

static char *draw_spread(const struct comparison *comparison)
{
    static const struct bars_figure figure = {
        .words = {"Spread of a pull", "share of each run's gradients",
                  "Bar chart: share of gradients by how many updates the newest chunk that they "
                  "were made from was ahead of the oldest.",
                  "newest version less the oldest, of the chunks that a gradient was made from",
                  "gradients (%)"},
        .subtitle_cut = "share of each run's gradients; the last bar holds 64 and more",
        .number = "spread",
        .shapes = {{pull_shape, ", all chunks", ""}, {part_shape, ", one part", " part"}},
        .shape_count = SHAPES_MAX,
    };
    return draw_bars(&figure, comparison);
}

/* --- where the time went ------------------------------------------------------------------- */

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
             most_seeds(comparison) > 1 ? "each bar is one worker; mean over the seeds"
                                        : "each bar is one worker");
    return plot_legend(svg, keys, TIMES_KIND_COUNT, 16, PLOT_WIDTH - 16, 72);
}

static char *draw_times(const struct comparison *comparison)
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

/* --- all of them --------------------------------------------------------------------------- */

static const struct {
    const char *name;
    char *(*draw)(const struct comparison *comparison);
    const char *caption;
} drawings[FIGURE_COUNT] = {
    {"loss-time", draw_loss_over_time,
     "How fast the loss falls on the clock: what somebody who waits for a model sees. A mode can "
     "make "
     "more updates a second and still be no further, when each of them helps less. The clock "
     "stands while the model is evaluated and saved: it is that of the table's seconds."},
    {"loss-step", draw_loss_over_step,
     "The same losses against the number of batches: how much each helped, however long it "
     "took. Each makes an update, or with --accumulate several make one. Synchronous lines for "
     "different numbers of workers lie on each other, because the "
     "updates are the same to the bit; the dashes let the lower lines show. An asynchronous update "
     "is made from parameters that others have changed meanwhile, and may help less."},
    {"accuracy-epoch", draw_accuracy,
     "The share of right answers on the test set after each epoch. In sync mode the model is "
     "exactly "
     "the epoch's last version; in async mode it is read while others update it, as any worker "
     "would read it."},
    {"staleness", draw_staleness,
     "How many updates others made between a worker's reading of the parameters and the use of the "
     "gradient it computed from them. In sync mode it is 0 by construction. In async mode it is "
     "about the number of workers less one, more for a worker slower than the rest. Ssp limits by "
     "how many batches workers may be apart; whoever has waited for that computes from the newest "
     "parameters, which lowers it. Of the updates that stand: what was undone when all went back "
     "to a "
     "checkpoint is not in it. Below: what has to be the same, added up in every chunk; renewed "
     "are "
     "updates that workers were given when they joined, came back or pulled anew."},
    {"spread", draw_spread,
     "What a gradient was made from need not be of one version: how far the newest chunk was ahead "
     "of the oldest, of all chunks, and within the chunks of one variable on one server, which "
     "--use-locking makes 0. Sync has one version of all, and is not here."},
    {"time", draw_times,
     "What each worker did all the while. Waiting is time at the barrier, for the slowest of the "
     "workers: the price of sync mode. Async and ssp have none; there it is time without a batch, "
     "at the gate of a checkpoint and where ssp's bound is reached. Exchanging is all between "
     "asking for parameters, most often with a gradient, and having them, the waiting left out. "
     "What "
     "was done for updates that were undone is in it. Other is what is left of the time from a "
     "worker's first START to its last word: joining, and being told that there is no more. "
     "Together that is every second of it."},
};

enum status figures_make(struct figures *figures, const struct comparison *comparison,
                         struct error *error)
{
    memset(figures, 0, sizeof(*figures));
    for (size_t i = 0; i < FIGURE_COUNT; i++) {
        figures->items[i].name = drawings[i].name;
        figures->items[i].caption = drawings[i].caption;
        figures->items[i].svg = drawings[i].draw(comparison);
        if (figures->items[i].svg == NULL)
            return error_set(error, STATUS_MEMORY, "out of memory");
    }
    return STATUS_OK;
}

void figures_free(struct figures *figures)
{
    for (size_t i = 0; i < FIGURE_COUNT; i++)
        free(figures->items[i].svg);
    memset(figures, 0, sizeof(*figures));
}
