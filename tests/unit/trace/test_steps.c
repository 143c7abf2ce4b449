/* test_steps.c - which steps a trace has, and which of them are shown. */
/* promises: trace */

#include "deploy/trace/steps.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/suite.h"

static struct span step_span(uint32_t worker, uint64_t step, uint64_t from_ns, uint64_t to_ns)
{
    struct span span = span_of(ROLE_WORKER, worker, LANE_STEPS, SPAN_STEP);
    span.step = step;
    span.from_ns = from_ns;
    span.to_ns = to_ns;
    return span;
}

static struct trace_step *make(size_t count)
{
    struct trace_step *steps = calloc(count, sizeof *steps);
    for (size_t i = 0; i < count; i++)
        steps[i] = (struct trace_step){
            .step = i, .from_ns = 1000 * i, .to_ns = 1000 * i + 100 + i % 5, .whole = true};
    return steps;
}

static size_t shown(const struct trace_step *steps, size_t count, enum step_reason reason)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += steps[i].reason == reason;
    return found;
}

TEST_PLAIN(workers_that_make_a_step_together_make_one)
{
    const struct span spans[] = {step_span(0, 5, 100, 200), step_span(1, 5, 110, 260),
                                 step_span(0, 6, 200, 300), step_span(1, 6, 260, 290),
                                 step_span(0, 5, 900, 990)}; /* After all went back. */
    struct trace_step *steps;
    size_t count;
    ck_assert_int_eq(steps_find(spans, 5, &steps, &count), STATUS_OK);
    ck_assert_uint_eq(count, 3);
    ck_assert_uint_eq(steps[0].step, 5);
    ck_assert_uint_eq(steps[0].from_ns, 100);
    ck_assert_uint_eq(steps[0].to_ns, 260);
    ck_assert_uint_eq(steps[0].workers, 2);
    ck_assert_uint_eq(steps[0].worker, 1);
    ck_assert_uint_eq(steps[1].step, 6);
    ck_assert_uint_eq(steps[2].from_ns, 900);
    ck_assert_uint_eq(steps[2].workers, 1);
    free(steps);
}

TEST_PLAIN(the_first_the_last_the_slowest_and_a_typical_one_are_shown)
{
    struct trace_step *steps = make(300);
    steps[100].to_ns += 700;
    steps[200].to_ns += 800;
    steps[150].to_ns += 900;
    steps[150].scored = true;
    steps[250].to_ns += 950;
    steps[250].whole = false;
    ck_assert_int_eq(steps_choose(steps, 300, 10), STATUS_OK);
    ck_assert_uint_eq(shown(steps, 300, STEP_TYPICAL), 1);
    ck_assert_uint_eq(shown(steps, 300, STEP_FIRST), 3);
    ck_assert_uint_eq(shown(steps, 300, STEP_LAST), 3);
    ck_assert_uint_eq(shown(steps, 300, STEP_SLOWEST), 3);
    ck_assert_uint_eq(shown(steps, 300, STEP_NOT_SHOWN), 290);
    ck_assert(steps[0].reason == STEP_FIRST && steps[299].reason == STEP_LAST);
    ck_assert(steps[100].reason == STEP_SLOWEST && steps[200].reason == STEP_SLOWEST);
    ck_assert(steps[150].reason == STEP_NOT_SHOWN && steps[250].reason == STEP_NOT_SHOWN);
    for (size_t i = 0; i < 300; i++)
        if (steps[i].reason == STEP_TYPICAL)
            ck_assert_uint_eq(steps[i].to_ns - steps[i].from_ns, 102);
    free(steps);
}

TEST_PLAIN(as_many_as_are_asked_for_and_no_more)
{
    for (uint32_t wanted = 1; wanted < 40; wanted++) {
        struct trace_step *steps = make(25);
        ck_assert_int_eq(steps_choose(steps, 25, wanted), STATUS_OK);
        ck_assert_uint_eq(25 - shown(steps, 25, STEP_NOT_SHOWN), wanted < 25 ? wanted : 25);
        ck_assert_uint_eq(shown(steps, 25, STEP_TYPICAL), 1);
        free(steps);
    }
}

TEST_PLAIN(where_no_step_is_whole_they_are_shown_all_the_same)
{
    struct trace_step *steps = make(3);
    for (size_t i = 0; i < 3; i++)
        steps[i].whole = false;
    ck_assert_int_eq(steps_choose(steps, 3, 2), STATUS_OK);
    ck_assert_uint_eq(shown(steps, 3, STEP_NOT_SHOWN), 1);
    free(steps);
}

TEST_PLAIN(of_fewer_the_typical_one_stays_and_then_some_of_each)
{
    struct trace_step *steps = make(300);
    steps[200].to_ns += 800;
    ck_assert_int_eq(steps_choose(steps, 300, 20), STATUS_OK);
    ck_assert_int_eq(steps_keep(steps, 300, 4), STATUS_OK);
    ck_assert_uint_eq(shown(steps, 300, STEP_NOT_SHOWN), 296);
    ck_assert_uint_eq(shown(steps, 300, STEP_TYPICAL), 1);
    ck_assert(steps[200].reason == STEP_SLOWEST && steps[0].reason == STEP_FIRST &&
              steps[299].reason == STEP_LAST);
    ck_assert_int_eq(steps_keep(steps, 300, 1), STATUS_OK);
    ck_assert_uint_eq(shown(steps, 300, STEP_NOT_SHOWN), 299);
    ck_assert_uint_eq(shown(steps, 300, STEP_TYPICAL), 1);
    free(steps);
}

TEST_PLAIN(reasons_have_names)
{
    ck_assert_str_eq(step_reason_name(STEP_SLOWEST), "slowest");
    ck_assert_str_eq(step_reason_name(STEP_ALL), "");
}

int main(void)
{
    return suite_run("steps", NULL);
}
