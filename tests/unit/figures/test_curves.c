/* test_curves.c - lines of few arms and of many, against each scale: names that do not cover each other,
 * frames of their own, and nothing beyond the picture's edges. */

#include "deploy/figures/curves_figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/figures/figures.h"
#include "tests/lib/runs/runs.h"
#include "tests/lib/suite.h"
#include "tests/lib/xml.h"

struct scene {
    char folder[64];
    struct comparison comparison;
    struct conclusion conclusion;
    struct error error;
};

static void scene_init(struct scene *scene)
{
    memset(scene, 0, sizeof *scene);
    runs_make(scene->folder);
    comparison_init(&scene->comparison);
}

static void scene_free(struct scene *scene)
{
    conclusion_free(&scene->conclusion);
    comparison_free(&scene->comparison);
    runs_remove(scene->folder);
}

#define TEST(name) SUITE_TEST(name, struct scene, scene, scene_init(scene), scene_free(scene))

/* So many arms of two seeds, all with nearly the same losses. */
static void take_configs(struct scene *scene, unsigned count)
{
    for (unsigned i = 0; i < 2 * count; i++) {
        char name[32], path[128];
        struct config config = {.label = ""};
        snprintf(name, sizeof name, "arm%u-s%u", i / 2, i % 2);
        snprintf(config.name, sizeof config.name, "arm%u", i / 2);
        snprintf(config.label, sizeof config.label, "an arm with rather a long name, number %u",
                 i / 2);
        struct made_run run = {name, "sync", "aaaa", 2, i % 2, 0.3 + 0.0001 * i, 0.9};
        runs_finished(scene->folder, &run);
        snprintf(path, sizeof path, "%s/%s", scene->folder, name);
        ck_assert_int_eq(comparison_add(&scene->comparison, &config, path, &scene->error),
                         STATUS_OK);
    }
    struct question question = {.margin = CONCLUSION_MARGIN};
    ck_assert_int_eq(
        conclusion_make(&scene->conclusion, &scene->comparison, &question, &scene->error),
        STATUS_OK);
}

static char *drawn(const struct scene *scene, enum curve_y y, enum curve_x x, bool narrow)
{
    char why[256];
    struct canvas canvas = narrow ? canvas_narrow() : canvas_wide();
    char *svg = curves_figure(&scene->conclusion, y, x, &canvas);
    ck_assert_ptr_nonnull(svg);
    const char *fault = xml_fault(svg, why, sizeof why);
    ck_assert_msg(fault == NULL, "%s", fault);
    return svg;
}

static unsigned count_of(const char *text, const char *what)
{
    unsigned count = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at += strlen(what))
        count++;
    return count;
}

static double number_behind(const char *at, const char *name)
{
    const char *place = strstr(at, name);
    ck_assert_ptr_nonnull(place);
    return strtod(place + strlen(name), NULL);
}

/* Every text begins and ends within the picture, as far as its width is known. */
static void must_stay_inside(const char *svg)
{
    double width = number_behind(svg, "viewBox=\"0 0 ");
    const char *box = strstr(svg, "viewBox=\"0 0 ");
    double height = strtod(strchr(box + strlen("viewBox=\"0 0 "), ' '), NULL);
    for (const char *at = svg; (at = strstr(at, "<text class=")) != NULL; at++) {
        char text[SVG_TEXT_MAX];
        const char *begin = strchr(at, '>') + 1;
        snprintf(text, sizeof text, "%.*s", (int)(strchr(begin, '<') - begin), begin);
        double size = strncmp(at, "<text class=\"title", 18) == 0 ? PLOT_TITLE : PLOT_LABEL;
        double wide = svg_text_width(text) * size / PLOT_LABEL;
        double x = number_behind(at, " x=\""), y = number_behind(at, " y=\"");
        bool end = strncmp(strstr(at, "anchor=\"") + 8, "end", 3) == 0;
        bool middle = strncmp(strstr(at, "anchor=\"") + 8, "middle", 6) == 0;
        double from = end ? x - wide : middle ? x - wide / 2 : x;
        ck_assert_msg(from >= -1 && from + wide <= width + 1 && y > 8 && y <= height,
                      "\"%s\" is at %.0f to %.0f, %.0f", text, from, from + wide, y);
    }
}

/* Nearly the same endings: names in order below each other, none over another. */
TEST(names_of_lines_that_end_together_are_parted)
{
    take_configs(scene, CURVES_TOGETHER);
    char *svg = drawn(scene, CURVE_LOSS, CURVE_SECONDS, false);
    double before = -INFINITY;
    unsigned lines = 0;
    for (const char *at = svg; (at = strstr(at, "<text class=\"label\"")) != NULL; at++) {
        double y = number_behind(at, " y=\"");
        ck_assert_double_ge(fabs(y - before), 14.9);
        before = y;
        lines++;
    }
    ck_assert_uint_eq(lines, 2 * CURVES_TOGETHER); /* Each in two lines. */
    ck_assert_uint_eq(count_of(svg, "class=\"band c"), CURVES_TOGETHER);
    must_stay_inside(svg);
    free(svg);
}

TEST(of_many_arms_each_has_a_frame_with_the_others_behind_it)
{
    take_configs(scene, CURVES_TOGETHER + 1);
    char *svg = drawn(scene, CURVE_LOSS, CURVE_SECONDS, false);
    ck_assert_uint_eq(count_of(svg, "<use href=\"#loss-seconds-wide\""), CURVES_TOGETHER + 1);
    ck_assert_uint_eq(count_of(svg, "id=\"loss-seconds-wide\""), 1);
    ck_assert_uint_eq(count_of(svg, "class=\"band c"), CURVES_TOGETHER + 1); /* Each in its own. */
    for (unsigned i = 0; i <= CURVES_TOGETHER; i++) {
        char what[32];
        snprintf(what, sizeof what, "class=\"arm a%u\"", i);
        ck_assert_uint_eq(count_of(svg, what), 2);
    }
    must_stay_inside(svg);
    free(svg);
}

TEST(pictures_for_small_screens_have_all_words_inside)
{
    static const unsigned counts[] = {1, 2, 5};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        take_configs(scene, counts[i]);
        for (enum curve_y y = 0; y < CURVE_Y_COUNT; y++) {
            char *svg = drawn(scene, y, CURVE_UPDATES, true);
            ck_assert_ptr_nonnull(strstr(svg, "viewBox=\"0 0 358 "));
            must_stay_inside(svg);
            free(svg);
        }
        conclusion_free(&scene->conclusion);
        comparison_free(&scene->comparison);
        comparison_init(&scene->comparison);
    }
    take_configs(scene, 12);
    char *svg = drawn(scene, CURVE_ACCURACY, CURVE_EXAMPLES, true);
    must_stay_inside(svg);
    free(svg);
}

TEST(scales_have_units_in_which_numbers_are_short)
{
    take_configs(scene, 2);
    char *svg = drawn(scene, CURVE_LOSS, CURVE_BYTES, false); /* Nobody has counted any. */
    ck_assert_ptr_nonnull(strstr(svg, "no data were recorded"));
    free(svg);
    for (size_t i = 0; i < scene->comparison.record_count; i++) {
        struct record *record = scene->comparison.records[i];
        for (size_t point = 0; point < record->point_count; point++)
            record->points[point].exchanged_bytes = (double)(point + 1) * 7340032;
        record->exchanged_bytes = 73400320;
    }
    svg = drawn(scene, CURVE_LOSS, CURVE_BYTES, false);
    ck_assert_ptr_nonnull(strstr(svg, ">MiB moved by all workers<"));
    ck_assert_ptr_nonnull(strstr(svg, ">70<"));
    free(svg);
    svg = drawn(scene, CURVE_LOSS, CURVE_EXAMPLES, false); /* 200 batches of 64. */
    ck_assert_ptr_nonnull(strstr(svg, ">examples<"));
    ck_assert_ptr_nonnull(strstr(svg, ">12,000<"));
    free(svg);
    for (size_t i = 0; i < scene->comparison.record_count; i++)
        scene->comparison.records[i]->global_batch = 65536;
    svg = drawn(scene, CURVE_LOSS, CURVE_EXAMPLES, false);
    ck_assert_ptr_nonnull(strstr(svg, ">million examples<"));
    ck_assert_ptr_nonnull(strstr(svg, ">12<"));
    free(svg);
    svg = drawn(scene, CURVE_LOSS, CURVE_SECONDS, false);
    ck_assert_ptr_nonnull(strstr(svg, ">seconds of training<"));
    free(svg);
    snprintf(scene->comparison.records[0]->config.cluster,
             sizeof scene->comparison.records[0]->config.cluster, "64 hosts");
    svg = drawn(scene, CURVE_LOSS, CURVE_SECONDS, false);
    ck_assert_ptr_nonnull(strstr(svg, ">virtual seconds of training<"));
    free(svg);
}

TEST(the_target_is_drawn_where_it_is_of_what_is_drawn)
{
    take_configs(scene, 2);
    char *svg = drawn(scene, CURVE_LOSS, CURVE_SECONDS, false);
    ck_assert_ptr_nonnull(strstr(svg, ">target: loss 0.4"));
    free(svg);
    svg = drawn(scene, CURVE_TEST_LOSS, CURVE_SECONDS, false);
    ck_assert_ptr_null(strstr(svg, ">target"));
    free(svg);
}

TEST(figures_have_names_and_both_sizes)
{
    struct figures figures;
    take_configs(scene, 2);
    ck_assert_int_eq(figures_make(&figures, &scene->conclusion, &scene->error), STATUS_OK);
    ck_assert_str_eq(figures_curve(&figures, CURVE_TEST_LOSS, CURVE_BYTES)->name,
                     "test-loss-bytes");
    ck_assert_ptr_null(figures_find(&figures, "nothing"));
    for (size_t i = 0; i < FIGURE_COUNT; i++) {
        ck_assert_ptr_nonnull(strstr(figures.items[i].wide, "viewBox=\"0 0 760 "));
        ck_assert_ptr_nonnull(strstr(figures.items[i].narrow, "viewBox=\"0 0 358 "));
        must_stay_inside(figures.items[i].wide);
        must_stay_inside(figures.items[i].narrow);
    }
    figures_free(&figures);
}

int main(void)
{
    return suite_run("curves", NULL);
}
