/* curves_figure.c - fits the axes to all arms, then draws bands, lines and dots. */

#include "deploy/figures/curves_figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "deploy/figures/arm_style.h"
#include "deploy/figures/curve.h"

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
    arm_style(style, sizeof(style), "line", group);
    plot_line(plot, style, curve->x, curve->mean, curve->count);
    if (dots || curve->count == 1) {
        arm_style(style, sizeof(style), "dot", group);
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
            arm_style(style, sizeof(style), "band", &comparison->groups[i]);
            plot_band(plot, style, curves[i].x, curves[i].low, curves[i].high, curves[i].count);
        }
    }
    for (size_t i = 0; i < comparison->group_count; i++)
        curve_draw(plot, &curves[i], &comparison->groups[i], dots);
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
    axis_whole_ticks(axis, first, last, 15);
}

/* What the picture says below its title, and what lines and bands are when there are seeds. */
static void curves_subtitle(char *text, size_t bytes, const struct comparison *comparison,
                            const char *subtitle)
{
    size_t seeds = arms_most_seeds(comparison);
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
    arm_keys(keys, comparison, "line");
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

char *figure_loss_over_time(const struct comparison *comparison)
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

char *figure_loss_over_step(const struct comparison *comparison)
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

char *figure_accuracy(const struct comparison *comparison)
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
