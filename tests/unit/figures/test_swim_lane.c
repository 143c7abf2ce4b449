/* test_swim_lane.c - the picture of a step says who did what, and for whom others waited. */
/* promises: trace */

#include "deploy/figures/swim_lane.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/suite.h"
#include "tests/lib/traces/made_trace.h"
#include "tests/lib/xml.h"

struct drawn {
    struct spans spans;
    char *wide, *narrow;
    char caption[SWIM_LANE_CAPTION_MAX];
};

static char *draw(const struct spans *spans, struct canvas canvas)
{
    char why[256];
    char *svg = swim_lane_svg(spans, &spans->steps[spans_typical(spans)], NULL, &canvas);
    ck_assert_ptr_nonnull(svg);
    const char *fault = xml_fault(svg, why, sizeof why);
    ck_assert_msg(fault == NULL, "%s", fault);
    return svg;
}

static void open_drawn(struct drawn *d, uint32_t workers)
{
    struct made_trace made = {.list = NULL};
    struct error error;
    made_trace_steps(&made, workers, 0, 3);
    int file = made_trace_file(&made, 7);
    spans_init(&d->spans);
    ck_assert_int_eq(spans_add(&d->spans, file, "made up", &error), STATUS_OK);
    ck_assert_int_eq(spans_finish(&d->spans, 20, &error), STATUS_OK);
    d->wide = draw(&d->spans, canvas_wide());
    d->narrow = draw(&d->spans, canvas_narrow());
    swim_lane_caption(&d->spans, &d->spans.steps[spans_typical(&d->spans)], d->caption,
                      sizeof d->caption);
    close(file);
    made_trace_free(&made);
}

static void close_drawn(struct drawn *d)
{
    free(d->wide);
    free(d->narrow);
    spans_free(&d->spans);
}

#define TEST(name, workers)                                                                        \
    SUITE_TEST(name, struct drawn, d, open_drawn(d, workers), close_drawn(d))

static size_t count_of(const char *text, const char *word)
{
    size_t count = 0;
    for (; (text = strstr(text, word)) != NULL; text += strlen(word))
        count++;
    return count;
}

TEST(every_process_has_a_lane_and_whoever_waits_says_for_whom, 4)
{
    for (int i = 0; i < 2; i++) {
        const char *svg = i == 0 ? d->wide : d->narrow;
        for (uint32_t worker = 0; worker < 4; worker++) {
            char name[32];
            snprintf(name, sizeof name, ">worker/%u</text>", worker);
            ck_assert_ptr_nonnull(strstr(svg, name));
        }
        ck_assert_ptr_nonnull(strstr(svg, ">ps/0</text>"));
        ck_assert_uint_eq(count_of(svg, "waits for worker/3:"), 3); /* Under the pointer. */
        ck_assert_uint_eq(count_of(svg, "\"line c3\""), 2);         /* The path, and its legend. */
    }
    ck_assert_uint_eq(count_of(d->wide, ">waits for worker/3</text>") +
                          count_of(d->wide, ">worker/3</text>"),
                      3 + 1);
    ck_assert_ptr_nonnull(strstr(d->wide, "worker/1 computes 1 leaf of step"));
}

TEST(the_caption_says_who_was_last_and_what_that_cost, 4)
{
    ck_assert_ptr_nonnull(strstr(d->caption, "worker/3 was last"));
    ck_assert_ptr_nonnull(strstr(d->caption, "computing for 30.0 ms"));
    ck_assert_ptr_nonnull(strstr(d->caption, "the others computed for 11.0 ms on the mean"));
    ck_assert_ptr_nonnull(strstr(d->caption, "waited for 18.0 ms"));
}

/* As with backup workers: worker 0 is at the next step while worker 3 still computes. */
TEST(who_was_too_late_is_said_to_be, 4)
{
    const struct trace_step *step = &d->spans.steps[spans_typical(&d->spans)];
    ck_assert_ptr_null(strstr(d->caption, "too late"));
    for (size_t i = 0; i < d->spans.count; i++) {
        struct span *span = &d->spans.list[i];
        if (span->kind == SPAN_COMPUTE && span->index == 0 && span->step == step->step + 1)
            span->from_ns = step->from_ns + 20 * MADE_MS;
    }
    swim_lane_caption(&d->spans, step, d->caption, sizeof d->caption);
    ck_assert_ptr_nonnull(strstr(d->caption, " until all were through with it: worker/3 was last"));
    ck_assert_ptr_nonnull(
        strstr(d->caption, "computing for 30.0 ms, too late: others had gone on without it; "));
}

/* Of 40 some, with the first that was ready and the last. */
TEST(of_many_workers_some_are_shown_and_how_many_is_said, 19)
{
    ck_assert_uint_eq(count_of(d->wide, "text-anchor=\"end\""), 14 + 1);
    ck_assert_ptr_nonnull(strstr(d->wide, "14 of 19 workers"));
    ck_assert_ptr_nonnull(strstr(d->wide, ">worker/0</text>"));
    ck_assert_ptr_nonnull(strstr(d->wide, ">worker/18</text>"));
}

TEST(one_worker_has_a_batch_of_its_own, 1)
{
    ck_assert_ptr_nonnull(strstr(d->caption, "took worker/0 99.0 ms: it computed for 30.0 ms"));
}

/* Whatever its length, also where a tick is at its very end. */
TEST(labels_of_time_stay_within_the_picture, 2)
{
    struct trace_step *step = &d->spans.steps[spans_typical(&d->spans)];
    uint64_t whole_ns = step->to_ns - step->from_ns;
    for (uint64_t tenths = 10; tenths <= 100; tenths++) {
        step->to_ns = step->from_ns + whole_ns * tenths / 10;
        char *svg = draw(&d->spans, canvas_narrow());
        static const char middle[] = "<text class=\"axis\" text-anchor=\"middle\" x=\"";
        for (const char *at = svg; (at = strstr(at, middle)) != NULL; at++) {
            char label[SVG_TEXT_MAX];
            double x = strtod(at + strlen(middle), NULL);
            const char *begin = strchr(at, '>') + 1;
            snprintf(label, sizeof label, "%.*s", (int)(strchr(begin, '<') - begin), begin);
            ck_assert_msg(x + svg_text_width(label) / 2 <= PLOT_NARROW, "%s is at %.1f", label, x);
        }
        free(svg);
    }
}

int main(void)
{
    return suite_run("swim_lane", NULL);
}
