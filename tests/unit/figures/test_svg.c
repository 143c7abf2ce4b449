/* test_svg.c - drawings are well-formed whatever is drawn. xml.h is the checker, and is checked
 * first. */

#include "deploy/figures/svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/figures/axis.h"
#include "deploy/figures/plot.h"
#include "tests/lib/suite.h"
#include "tests/lib/xml.h"

static void must_be_well_formed(const char *text)
{
    char why[256];
    const char *fault = xml_fault(text, why, sizeof why);
    ck_assert_msg(fault == NULL, "%s", fault);
}

static char *escaped(const char *text, size_t max_bytes)
{
    char *result = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&result, &bytes);
    ck_assert_ptr_nonnull(stream);
    svg_escape(stream, text, max_bytes);
    fclose(stream);
    return result;
}

static void must_escape(const char *text, size_t max_bytes, const char *expected)
{
    char *result = escaped(text, max_bytes);
    ck_assert_str_eq(result, expected);
    free(result);
}

TEST_PLAIN(the_checker_notices_what_is_not_well_formed)
{
    static const char *const wrong[] = {
        "",           "<a>",           "</a>",        "<a></b>",      "<a/><b/>", "<a x=y/>",
        "<a>&</a>",   "<a>&nbsp;</a>", "<a>\x01</a>", "<a x=\"<\"/>", "text",     "<a><b></a></b>",
        "<a x=\"1/>",
    };
    char why[256];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(xml_fault(wrong[i], why, sizeof why) != NULL, "not noticed: %s", wrong[i]);
    must_be_well_formed("<a x=\"1\"><b/>text &lt; &amp;</a>\n");
}

TEST_PLAIN(text_is_escaped)
{
    must_escape("a < b & c > \"d\"", 100, "a &lt; b &amp; c &gt; &quot;d&quot;");
    must_escape("</text><script>", 100, "&lt;/text&gt;&lt;script&gt;");
    must_escape("two\nlines\tand\x01\x7f", 100, "two lines and??");
    must_escape("", 100, "");
}

TEST_PLAIN(what_is_not_utf8_becomes_question_marks)
{
    must_escape("gr\xc3\xbc\xc3\x9f", 100, "gr\xc3\xbc\xc3\x9f");
    must_escape("\xf0\x9f\x8e\xb5", 100, "\xf0\x9f\x8e\xb5");
    must_escape("\xff\xfe", 100, "??");
    must_escape("cut \xc3", 100, "cut ?");
    must_escape("\xc0\xaf", 100, "??");           /* "/" in a longer form than it needs. */
    must_escape("\xed\xa0\x80", 100, "???");      /* Half of a pair of UTF-16. */
    must_escape("\xef\xbf\xbf", 100, "???");      /* U+FFFF. */
    must_escape("\xf4\x90\x80\x80", 100, "????"); /* Beyond Unicode. */
}

TEST_PLAIN(text_is_cut_between_characters)
{
    must_escape("abc", 2, "ab");
    must_escape("a\xc3\xbc", 2, "a");
    must_escape("a\xc3\xbc", 3, "a\xc3\xbc");
}

TEST_PLAIN(every_shape_is_well_formed_whatever_the_numbers)
{
    static const double x[] = {0, NAN, INFINITY};
    static const double y[] = {-INFINITY, 1, 1e300};
    struct svg svg;
    svg_open(&svg, 100, 100, "<title> & \"more\"", "\xff</desc>");
    svg_line(&svg, "grid", NAN, 1, INFINITY, 2);
    svg_box(&svg, "bar c0", 1, 2, -5, NAN);
    svg_box_with_note(&svg, "bar c0", 1, 2, 3, 4, "</rect>");
    svg_dot(&svg, "dot c1", 1, 2, 3);
    svg_text(&svg, "label", SVG_MIDDLE, 1, 2, "a<b");
    svg_text(&svg, "axis", SVG_MIDDLE, 1, 2, "&amp;");
    svg_polyline(&svg, "line c0 d1", x, y, 3);
    svg_band(&svg, "band c0", x, y, y, 3);
    svg_polyline(&svg, "line c0 d1", x, y, 0);
    char *text = svg_close(&svg);
    ck_assert_ptr_nonnull(text);
    must_be_well_formed(text);
    ck_assert_ptr_null(strstr(text, "nan"));
    ck_assert_ptr_null(strstr(text, "inf"));
    ck_assert_ptr_null(strstr(text, "width=\"-"));
    free(text);
}

static void fit(struct axis *axis, bool logarithmic, double low, double high, bool round)
{
    axis_init(axis, 0, 100, logarithmic);
    axis_see(axis, low);
    axis_see(axis, high);
    axis_fit(axis, 6, round);
}

static void must_label(const struct axis *axis, const char *labels)
{
    char all[512] = "";
    char label[AXIS_LABEL_MAX];
    for (size_t i = 0; i < axis->tick_count; i++) {
        axis_label(axis, i, label, sizeof label);
        strcat(strcat(all, i ? " " : ""), label);
    }
    ck_assert_str_eq(all, labels);
}

TEST_PLAIN(ticks_are_round_numbers)
{
    struct axis axis;
    fit(&axis, false, 0, 48.3, false);
    must_label(&axis, "0 10 20 30 40");
    fit(&axis, false, 86.2, 91.3, true);
    must_label(&axis, "86 87 88 89 90 91 92");
    fit(&axis, false, 0, 93800, false);
    must_label(&axis, "0 20,000 40,000 60,000 80,000");
    fit(&axis, false, -0.3, 0.3, false);
    must_label(&axis, "-0.3 -0.2 -0.1 0.0 0.1 0.2 0.3");
    fit(&axis, true, 0.17, 2.3, false);
    must_label(&axis, "0.2 0.3 0.5 1 2");
    fit(&axis, true, 1e-6, 1, false);
    must_label(&axis, "1e-05 0.001 0.1");
    fit(&axis, true, 0.30, 0.34, false);
    ck_assert_uint_ge(axis.tick_count, 3);
}

TEST_PLAIN(an_axis_of_nothing_or_of_one_value_has_a_range)
{
    static const double values[] = {0, 5, -5, 1e-300, 1e15, -1e15};
    struct axis axis;
    for (int logarithmic = 0; logarithmic < 2; logarithmic++) {
        axis_init(&axis, 0, 100, logarithmic);
        axis_see(&axis, NAN);
        axis_see(&axis, INFINITY);
        axis_fit(&axis, 6, true);
        ck_assert(axis.empty && axis.max > axis.min && axis.tick_count > 0);
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            fit(&axis, logarithmic, values[i], values[i], true);
            ck_assert(axis.max > axis.min);
            ck_assert(isfinite(axis_place(&axis, values[i])));
        }
    }
}

TEST_PLAIN(places_stay_within_the_frame)
{
    struct axis axis;
    fit(&axis, false, 0, 10, false);
    ck_assert_double_eq_tol(axis_place(&axis, 5), 50, 1e-9);
    ck_assert_double_eq(axis_place(&axis, -1), 0);
    ck_assert_double_eq(axis_place(&axis, 11), 100);
    ck_assert_double_eq(axis_place(&axis, NAN), 0);
    ck_assert_double_eq(axis_place(&axis, INFINITY), 100);
    fit(&axis, true, 0.1, 10, false);
    ck_assert_double_eq_tol(axis_place(&axis, 1), 50, 1e-9);
    ck_assert_double_eq(axis_place(&axis, 0), 0);
    ck_assert_double_eq(axis_place(&axis, -3), 0);
}

TEST_PLAIN(a_plot_without_data_says_so)
{
    struct svg svg;
    struct plot plot;
    svg_open(&svg, 200, 100, "t", "d");
    plot_begin(&plot, &svg, (struct area){20, 10, 190, 80}, true);
    axis_fit(&plot.x, 10, false);
    axis_fit(&plot.y, 10, false);
    plot_frame(&plot, true);
    char *text = svg_close(&svg);
    ck_assert_ptr_nonnull(text);
    must_be_well_formed(text);
    ck_assert_ptr_nonnull(strstr(text, "no data were recorded"));
    free(text);
}

TEST_PLAIN(a_text_is_broken_between_words_into_lines_that_fit)
{
    struct svg_lines lines;
    ck_assert_uint_eq(svg_wrap(&lines, "sync+backup:1, 4 workers", 100, 13), 2);
    ck_assert_str_eq(lines.text[0], "sync+backup:1,");
    ck_assert_str_eq(lines.text[1], "4 workers");
    ck_assert_uint_eq(svg_wrap(&lines, "sync+backup:1, 4 workers", 1000, 13), 1);
    ck_assert_uint_eq(svg_wrap(&lines, "sync+backup:1, 4 workers", 150, 6.5), 1); /* Small ones. */
    ck_assert_uint_eq(svg_wrap(&lines, "one-word-that-is-wider-than-the-line", 10, 13), 1);
    ck_assert_uint_eq(svg_wrap(&lines, "", 100, 13), 0);
    ck_assert_uint_eq(svg_wrap(&lines, "a b c d e f g h i j k l", 1, 13), SVG_LINES_MAX);
}

TEST_PLAIN(a_picture_is_as_high_as_it_has_grown_and_stands_in_a_page_without_its_style)
{
    struct svg svg;
    char *page = NULL;
    size_t bytes = 0;
    svg_open(&svg, 100, 0, "t", "d");
    svg_group(&svg, "arm a3", "</title> & more");
    svg_line(&svg, "line c0", 1, 2, 3, 4);
    svg_group_end(&svg);
    svg_define(&svg, "context", "behind");
    svg_define_end(&svg);
    svg_use(&svg, "behind", 5, 6);
    svg_grow(&svg, 77);
    char *text = svg_close(&svg);
    must_be_well_formed(text);
    ck_assert_ptr_nonnull(strstr(text, "viewBox=\"0 0 100 77\""));
    ck_assert_ptr_nonnull(strstr(text, "font-family"));
    FILE *stream = open_memstream(&page, &bytes);
    svg_put_inline(stream, text);
    fclose(stream);
    must_be_well_formed(page);
    ck_assert_ptr_null(strstr(page, "font-family"));
    ck_assert_ptr_nonnull(strstr(page, "class=\"line c0\""));
    free(page);
    free(text);
}

TEST_PLAIN(a_legend_breaks_into_rows_that_fit)
{
    struct plot_key keys[30];
    struct svg svg;
    for (size_t i = 0; i < 30; i++) {
        snprintf(keys[i].label, sizeof keys[i].label, "async, %zu workers", i);
        snprintf(keys[i].style, sizeof keys[i].style, i % 2 ? "bar c0" : "line c1 d1");
    }
    svg_open(&svg, PLOT_WIDTH, 700, "t", "d");
    double y = plot_legend(&svg, keys, 30, 10, 400, 0);
    char *text = svg_close(&svg);
    ck_assert_double_ge(y, 10 * 20); /* Two or three in a row. */
    for (const char *at = text; (at = strstr(at, "text-anchor=\"start\" x=\"")) != NULL; at++)
        ck_assert_double_lt(strtod(at + strlen("text-anchor=\"start\" x=\""), NULL), 400);
    free(text);
}

int main(void)
{
    return suite_run("svg", NULL);
}
