/* shapes_figure.c - histograms side by side, as shares of what was counted. */

#include "deploy/figures/shapes_figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/figures/arm_style.h"

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
    arm_style(of_group, sizeof(of_group), "bar", series->group);
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
        axis_whole_ticks(&plot->x, 0, (double)last, 26);
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

char *figure_staleness(const struct comparison *comparison)
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

char *figure_spread(const struct comparison *comparison)
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
