/* test_trace.c - from files of spans to what other programs show: rows that nest, arrows along the critical
 * path, no more bytes than are allowed, and read again what was written. */
/* promises: trace */

#include "deploy/trace/trace.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/random.h"
#include "common/file/json.h"
#include "deploy/trace/chrome.h"
#include "deploy/trace/critical.h"
#include "deploy/trace/lanes.h"
#include "tests/lib/scratch.h"
#include "tests/lib/suite.h"
#include "tests/lib/traces/made_trace.h"

struct read {
    struct made_trace made;
    struct spans spans;
};

static void finish(struct spans *spans, int file, uint32_t steps)
{
    struct error error;
    spans_init(spans);
    ck_assert_int_eq(spans_add(spans, file, "made up", &error), STATUS_OK);
    ck_assert_int_eq(spans_finish(spans, steps, &error), STATUS_OK);
    close(file);
}

/* Workers that make ten steps, all of which are shown. */
static void open_read(struct read *r, uint32_t workers)
{
    r->made = (struct made_trace){.list = NULL};
    made_trace_steps(&r->made, workers, 0, 10);
    finish(&r->spans, made_trace_file(&r->made, 7), 20);
}

static void close_read(struct read *r)
{
    spans_free(&r->spans);
    made_trace_free(&r->made);
}

#define TEST(name, workers) SUITE_TEST(name, struct read, r, open_read(r, workers), close_read(r))

/* --- rows ---------------------------------------------------------------------------------------- */

/* Whether every row's spans follow each other or lie within each other. */
static void must_nest(const struct spans *spans, const struct lanes *lanes)
{
    for (size_t row = 0; row < lanes->row_count; row++) {
        uint64_t ends[64];
        size_t depth = 0;
        for (size_t i = 0; i < spans->count; i++) {
            const struct span *span = &spans->list[i];
            if (lanes->row_of[i] != row)
                continue;
            ck_assert(span_is_of(span, lanes->rows[row].role, lanes->rows[row].index) &&
                      span->lane == lanes->rows[row].lane);
            while (depth > 0 && ends[depth - 1] <= span->from_ns)
                depth--;
            ck_assert(depth == 0 || span->to_ns <= ends[depth - 1]);
            ck_assert_uint_lt(depth, 64);
            ends[depth++] = span->to_ns;
        }
    }
}

TEST(spans_of_threads_lie_in_one_row_each, 3)
{
    struct lanes lanes;
    ck_assert_int_eq(lanes_make(&lanes, &r->spans), STATUS_OK);
    must_nest(&r->spans, &lanes);
    ck_assert_uint_eq(lanes.row_count, 1 + 3 * 4); /* The router; steps, trainer, session, front. */
    for (size_t i = 0; i < lanes.row_count; i++)
        ck_assert_uint_eq(lanes.rows[i].depth, 0);
    lanes_free(&lanes);
}

TEST_PLAIN(whatever_overlaps_has_a_row_of_its_own)
{
    struct made_trace made = {.list = NULL};
    struct random_sequence random;
    struct lanes lanes;
    struct spans spans;
    random_sequence_init(&random, 11, RANDOM_STREAM_SIMULATOR, 0);
    made_trace_steps(&made, 2, 0, 1);
    for (int i = 0; i < 400; i++) {
        struct span span =
            span_of(ROLE_PS, random_below(&random, 3),
                    (enum span_lane)(LANE_FRONT + random_below(&random, 3)), SPAN_APPLY);
        span.from_ns = 1000 * MADE_MS + random_below(&random, 900);
        span.to_ns = span.from_ns + random_below(&random, 50);
        made_trace_add(&made, &span);
    }
    finish(&spans, made_trace_file(&made, 7), 20);
    ck_assert_int_eq(lanes_make(&lanes, &spans), STATUS_OK);
    must_nest(&spans, &lanes);
    bool below = false;
    for (size_t i = 0; i < lanes.row_count; i++)
        below |= lanes.rows[i].depth > 0;
    ck_assert(below);
    lanes_free(&lanes);
    spans_free(&spans);
    made_trace_free(&made);
}

/* --- the critical path ----------------------------------------------------------------------------- */

TEST(the_path_leads_from_the_last_gradient_over_the_update_to_who_had_it_last, 4)
{
    struct critical path = critical_of(&r->spans, &r->spans.steps[5]);
    ck_assert_uint_eq(path.count, CRITICAL_PARTS);
    uint64_t before_ns = 0;
    for (size_t i = 0; i < CRITICAL_PARTS; i++) {
        const struct span *span = &r->spans.list[path.parts[i]];
        ck_assert_uint_eq(span->step, 5);
        ck_assert_uint_ge(span->to_ns, before_ns);
        before_ns = span->from_ns;
    }
    const struct span *compute = &r->spans.list[path.parts[CRITICAL_COMPUTE]];
    ck_assert_uint_eq(compute->index, 3);
    ck_assert_uint_eq(r->spans.list[path.parts[CRITICAL_APPLY]].other, 3);
}

TEST_PLAIN(what_is_not_in_a_trace_is_not_in_its_path)
{
    struct made_trace made = {.list = NULL}, some = {.list = NULL};
    struct spans spans;
    made_trace_steps(&made, 2, 0, 1);
    for (size_t i = 0; i < made.count; i++)
        if (made.list[i].kind != SPAN_APPLY)
            made_trace_add(&some, &made.list[i]);
    finish(&spans, made_trace_file(&some, 7), 20);
    struct critical path = critical_of(&spans, &spans.steps[0]);
    ck_assert_uint_eq(path.count, 2);
    ck_assert_uint_eq(path.parts[CRITICAL_APPLY], SIZE_MAX);
    spans_free(&spans);
    made_trace_free(&made);
    made_trace_free(&some);
}

/* --- what is whole ----------------------------------------------------------------------------------- */

/* A process that has written over what it did between 10 and 20 ms. */
TEST_PLAIN(a_step_of_which_something_is_lost_is_not_whole)
{
    struct made_trace made = {.list = NULL};
    struct spans spans;
    struct error error;
    made_trace_steps(&made, 2, 0, 4);
    int file = made_trace_file(&made, 7);
    struct region region = {.role = ROLE_PS, .index = 1, .slots = 2, .host = 7, .opened_ns = 1};
    ck_assert_int_eq(span_file_claim(file, &region, &error), STATUS_OK);
    for (uint32_t i = 0; i < 2; i++) {
        struct span span = span_of(ROLE_PS, 1, LANE_FRONT, SPAN_APPLY);
        span.from_ns = span.to_ns = 1000 * MADE_MS + (i == 0 ? 110 : 190) * MADE_MS;
        const struct segment segment = {i, 1, i == 0 ? 0 : 9, span.from_ns, span.to_ns};
        ck_assert_int_eq(span_file_put(file, &region, &segment, 0, &span, &error), STATUS_OK);
    }
    finish(&spans, file, 3);
    ck_assert_uint_eq(spans.step_count, 4);
    ck_assert(spans.steps[0].whole && !spans.steps[1].whole && spans.steps[2].whole);
    ck_assert_int_eq(spans.steps[1].reason, STEP_NOT_SHOWN);
    spans_free(&spans);
    made_trace_free(&made);
}

/* --- what other programs read -------------------------------------------------------------------------- */

struct events {
    size_t spans, steps, begun, passed, ended;
};

static struct json *written(struct spans *spans, uint64_t most, struct trace_written *told)
{
    char path[DISK_PATH_MAX];
    struct json *root;
    struct error error;
    scratch_path(path, "trace.json");
    const struct trace_request request = {path, NULL, 20, most};
    ck_assert_int_eq(trace_write(spans, &request, told, &error), STATUS_OK);
    ck_assert_int_eq(json_read_file(&disk_posix, path, 60 << 20, &root, &error), STATUS_OK);
    uint64_t bytes;
    ck_assert_int_eq(disk_posix.file_bytes(disk_posix.context, path, &bytes, &error), STATUS_OK);
    ck_assert_uint_eq(bytes, told->bytes);
    ck_assert_uint_le(bytes, most);
    return root;
}

static struct events count_events(const struct json *root)
{
    struct events events = {0};
    const struct json *list = json_at(root, "traceEvents");
    for (size_t i = 0; i < json_length(list, ""); i++) {
        const struct json *event = json_item(list, i);
        const char *phase = json_text(event, "ph"), *category = json_text(event, "cat");
        ck_assert_ptr_nonnull(phase);
        ck_assert(json_number(event, "pid") >= 1);
        events.spans += phase[0] == 'X';
        events.begun += phase[0] == 's';
        events.passed += phase[0] == 't';
        events.ended += phase[0] == 'f';
        events.steps +=
            phase[0] == 'X' && strcmp(category, "step") == 0 && json_number(event, "pid") == 1;
        ck_assert(phase[0] == 'M' || json_number(event, "ts") >= 0);
        ck_assert(phase[0] != 'X' || json_number(event, "dur") >= 0);
    }
    return events;
}

TEST(the_json_has_every_span_and_an_arrow_a_step, 3)
{
    struct trace_written told;
    struct json *root = written(&r->spans, TRACE_BYTES_MAX, &told);
    struct events events = count_events(root);
    ck_assert_uint_eq(told.shown, 10);
    ck_assert_uint_eq(events.spans, r->made.count + 10);
    ck_assert_uint_eq(events.steps, 10);
    ck_assert_uint_eq(events.begun, 10);
    ck_assert_uint_eq(events.passed, 10 * (CRITICAL_PARTS - 2));
    ck_assert_uint_eq(events.ended, 10);
    ck_assert_str_eq(json_text(root, "otherData.clock"), "monotonic");
    ck_assert_uint_eq(json_length(root, "otherData.hosts"), 1);
    const struct json *host = json_item(json_at(root, "otherData.hosts"), 0);
    ck_assert_str_eq(json_text(host, "processes"), "ps/0, worker/0, worker/1, worker/2");
    ck_assert(json_number(host, "clock_error_us") == 0);
    json_release(&root);
}

TEST_PLAIN(what_the_clocks_are_apart_and_how_wrong_that_may_be_is_said)
{
    struct made_trace made = {.list = NULL};
    struct spans spans;
    struct trace_written told;
    char text[400];
    made_trace_steps(&made, 2, 0, 3);
    finish(&spans, made_trace_hosts(&made, ROLE_WORKER, 3000000, 0), 20);
    struct json *root = written(&spans, TRACE_BYTES_MAX, &told);
    const struct json *host = json_item(json_at(root, "otherData.hosts"), 1);
    double error_us = json_number(host, "clock_error_us");
    ck_assert(error_us > 400 && error_us < 520);
    ck_assert(json_number(host, "clock_ahead_us") > 3000 - error_us &&
              json_number(host, "clock_ahead_us") < 3000 + error_us);
    trace_tell(&told, "x.json", text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "3 steps in x.json"));
    ck_assert_ptr_nonnull(strstr(text, "clocks of 2 hosts, at most 5"));
    json_release(&root);
    spans_free(&spans);
    made_trace_free(&made);
}

TEST(what_does_not_fit_is_fewer_steps_and_then_no_messages, 3)
{
    struct trace_written told;
    struct error error;
    uint64_t bytes;
    char text[400], path[DISK_PATH_MAX];
    struct json *root = written(&r->spans, 30000, &told);
    ck_assert_uint_gt(told.shown, 1);
    ck_assert_uint_lt(told.shown, 10);
    ck_assert_uint_eq(count_events(root).steps, told.shown);
    ck_assert(!told.without_messages);
    ck_assert_uint_eq(json_u64(root, "otherData.steps_shown", 0), told.shown);
    ck_assert_uint_eq(json_u64(root, "otherData.steps_asked_for", 0), 20);
    json_release(&root);
    const struct chrome_about about = {.asked = 20};
    ck_assert_int_eq(spans_keep(&r->spans, 1), STATUS_OK);
    ck_assert_int_eq(chrome_write(NULL, &r->spans, &about, &bytes), STATUS_OK);
    root = written(&r->spans, bytes - 100, &told);
    ck_assert_uint_eq(told.shown, 1);
    ck_assert(told.without_messages);
    trace_tell(&told, "x.json", text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "without messages"));
    json_release(&root);
    scratch_path(path, "trace.json");
    const struct trace_request request = {path, NULL, 20, 1000};
    ck_assert_int_eq(trace_write(&r->spans, &request, &told, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "one step alone"));
}

/* --- what ours read again ------------------------------------------------------------------------------- */

static void write_spans_of(struct read *r, const char *name, char *path)
{
    char json[DISK_PATH_MAX];
    struct trace_written told;
    struct error error;
    scratch_path(json, "trace.json");
    scratch_path(path, name);
    const struct trace_request request = {json, path, 20, TRACE_BYTES_MAX};
    ck_assert_int_eq(trace_write(&r->spans, &request, &told, &error), STATUS_OK);
}

TEST(what_was_chosen_stays_chosen_when_it_is_read_again, 3)
{
    char path[DISK_PATH_MAX];
    struct spans again;
    struct error error;
    ck_assert_int_eq(steps_choose(r->spans.steps, r->spans.step_count, 5), STATUS_OK);
    ck_assert_int_eq(spans_keep(&r->spans, 5), STATUS_OK);
    write_spans_of(r, "trace.spans", path);
    spans_init(&again);
    ck_assert_int_eq(spans_read(&again, path, 20, &error), STATUS_OK);
    ck_assert_uint_eq(again.count, r->spans.count);
    ck_assert_uint_eq(again.step_count, 5);
    for (size_t i = 0, k = 0; i < r->spans.step_count; i++)
        if (r->spans.steps[i].reason != STEP_NOT_SHOWN) {
            ck_assert_uint_eq(again.steps[k].step, r->spans.steps[i].step);
            ck_assert_int_eq(again.steps[k++].reason, r->spans.steps[i].reason);
        }
    ck_assert_int_eq(again.steps[spans_typical(&again)].reason, STEP_TYPICAL);
    spans_free(&again);
}

/* A worker computed from values that it took before the step that is shown. */
TEST(of_a_shown_computation_the_values_are_known, 3)
{
    size_t computed = 0, known = 0;
    ck_assert_int_eq(spans_keep(&r->spans, 1), STATUS_OK);
    for (size_t i = 0; i < r->spans.count; i++) {
        const struct span *span = &r->spans.list[i];
        bool taken = false;
        for (size_t k = 0; k < i; k++)
            taken |= r->spans.list[k].kind == SPAN_TAKE &&
                     r->spans.list[k].what == MESSAGE_RESULT &&
                     span_is_of(&r->spans.list[k], ROLE_WORKER, span->index);
        computed += span->kind == SPAN_COMPUTE;
        known += span->kind == SPAN_COMPUTE && taken;
    }
    ck_assert_uint_ge(computed, 3);
    ck_assert_uint_eq(known, computed);
}

TEST(files_of_a_folder_are_one_trace, 2)
{
    char path[DISK_PATH_MAX], folder[DISK_PATH_MAX];
    struct spans spans;
    struct error error;
    write_spans_of(r, "a.spans", path);
    write_spans_of(r, "b.spans", path);
    scratch_path(path, "c.txt");
    scratch_write(path, "words", 5);
    scratch_path(folder, ".");
    spans_init(&spans);
    ck_assert_int_eq(spans_read(&spans, folder, 20, &error), STATUS_OK);
    ck_assert_uint_eq(spans.count, 2 * r->spans.count);
    spans_free(&spans);
    ck_assert_int_eq(spans_read(&spans, path, 20, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "c.txt: no trace"));
    spans_free(&spans);
    scratch_path(path, "a.spans");
    unlink(path);
    scratch_path(path, "b.spans");
    unlink(path);
    ck_assert_int_eq(spans_read(&spans, folder, 20, &error), STATUS_NOT_FOUND);
    spans_free(&spans);
}

TEST_PLAIN(a_trace_without_a_step_is_none)
{
    struct made_trace made = {.list = NULL};
    struct spans spans;
    struct error error;
    const struct span span = span_of(ROLE_PS, 0, LANE_FRONT, SPAN_APPLY);
    made_trace_add(&made, &span);
    int file = made_trace_file(&made, 7);
    spans_init(&spans);
    ck_assert_int_eq(spans_add(&spans, file, "made up", &error), STATUS_OK);
    ck_assert_int_eq(spans_finish(&spans, 20, &error), STATUS_NOT_FOUND);
    close(file);
    spans_free(&spans);
    made_trace_free(&made);
}

int main(void)
{
    return suite_run("trace", scratch_add);
}
