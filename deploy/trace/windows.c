/* windows.c - describes a step by the sums of its spans, and writes windows of a trace. */

#include "deploy/trace/windows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/wording.h"
#include "deploy/trace/critical.h"

/* --- in words --------------------------------------------------------------------------------- */

/* The parts of a worker's time in a step. */
struct sums {
    uint64_t compute_ns, exchange_ns, wait_ns, score_ns;
};

static uint64_t part_in(const struct trace_step *step, const struct span *span)
{
    uint64_t from = span->from_ns > step->from_ns ? span->from_ns : step->from_ns;
    uint64_t to = span->to_ns < step->to_ns ? span->to_ns : step->to_ns;
    return to > from ? to - from : 0;
}

static struct sums sum_up(const struct spans *spans, const struct trace_step *step, uint32_t worker)
{
    struct sums sums = {0};
    for (size_t i = 0; i < spans->count; i++) {
        const struct span *span = &spans->list[i];
        if (!span_is_of(span, ROLE_WORKER, worker) || span->step != step->step)
            continue;
        uint64_t took_ns = part_in(step, span);
        sums.compute_ns += span->kind == SPAN_COMPUTE ? took_ns : 0;
        sums.exchange_ns += span->kind == SPAN_EXCHANGE ? took_ns : 0;
        sums.wait_ns += span->kind == SPAN_WAIT ? took_ns : 0;
        sums.score_ns += span->kind == SPAN_SCORE ? took_ns : 0;
    }
    return sums;
}

static struct wording duration(uint64_t ns)
{
    struct wording text = wording_duration(1e-9 * (double)ns);
    if (ns < 1000000)
        snprintf(text.text, sizeof text.text, "%.3f ms", 1e-6 * (double)ns);
    else if (ns < 100000000)
        snprintf(text.text, sizeof text.text, "%.1f ms", 1e-6 * (double)ns);
    return text;
}

/* Of the one worker of this batch. */
static void describe_batch(const struct spans *spans, const struct trace_step *step, char *text,
                           size_t size)
{
    struct sums sums = sum_up(spans, step, step->worker);
    wording_append(text, size, "Batch %" PRIu64 " took worker/%u %s: it computed for %s",
                   step->step, step->worker, duration(step->to_ns - step->from_ns).text,
                   duration(sums.compute_ns).text);
    if (sums.exchange_ns > 0)
        wording_append(text, size, ", exchanged for %s", duration(sums.exchange_ns).text);
    if (sums.wait_ns > 0)
        wording_append(text, size, ", waited for %s", duration(sums.wait_ns).text);
    wording_append(text, size, ".");
}

/* Whether a process had begun a later step before this gradient was computed: the step did not wait
 * for it. */
static bool is_too_late(const struct spans *spans, const struct span *compute)
{
    for (size_t i = 0; i < spans->count; i++) {
        const struct span *span = &spans->list[i];
        if (span->kind == SPAN_COMPUTE && span->step > compute->step &&
            span->from_ns < compute->to_ns && span->index != compute->index)
            return true;
    }
    return false;
}

/* Of all workers: the last gradient, and its cost for the others. */
static void describe_step(const struct spans *spans, const struct trace_step *step, char *text,
                          size_t size)
{
    struct critical path = critical_of(spans, step);
    size_t compute = path.parts[CRITICAL_COMPUTE];
    struct sums others = {0}, last = {0};
    uint32_t count = 0;
    for (size_t i = 0; i < spans->place_count; i++) {
        const struct trace_place *place = &spans->places[i];
        if (place->role != ROLE_WORKER)
            continue;
        struct sums sums = sum_up(spans, step, place->index);
        if (compute != SIZE_MAX && spans->list[compute].index == place->index) {
            last = sums;
            continue;
        }
        others.compute_ns += sums.compute_ns;
        others.wait_ns += sums.wait_ns;
        count++;
    }
    bool late = compute != SIZE_MAX && is_too_late(spans, &spans->list[compute]);
    wording_append(text, size, "Step %" PRIu64 " took %s%s", step->step,
                   duration(step->to_ns - step->from_ns).text,
                   late ? " until all were through with it" : "");
    if (compute != SIZE_MAX && count > 0)
        wording_append(text, size,
                       ": worker/%u was last with its gradient, after computing for %s%s; %s "
                       "computed for %s%s and waited for %s",
                       spans->list[compute].index, duration(last.compute_ns).text,
                       late ? ", too late: others had gone on without it" : "",
                       count > 1 ? "the others" : "the other",
                       duration(others.compute_ns / count).text, count > 1 ? " on the mean" : "",
                       duration(others.wait_ns / count).text);
    wording_append(text, size, ".");
}

void window_describe(const struct spans *spans, const struct trace_step *step, char *text,
                     size_t size)
{
    text[0] = '\0';
    if (step->workers > 1)
        describe_step(spans, step, text, size);
    else
        describe_batch(spans, step, text, size);
}

/* --- as JSON ---------------------------------------------------------------------------------- */

#define STEPS_READ 20   /* Of a trace at most. */
#define NEARNESS   1500 /* Gaps below this part of a window cannot be seen. */
#define HALF_MAX   (WINDOW_SPANS_MAX / 2)

struct window {
    struct json_writer *writer;
    const struct spans *spans;
    const struct trace_step *step;
    uint32_t chunk; /* Whose versions are written. */
    bool messages;  /* Those of servers, too. */
    size_t written;
};

static const char *kind_word(const struct span *span)
{
    static const char *const words[SPAN_KIND_COUNT] = {
        [SPAN_COMPUTE] = "compute", [SPAN_SCORE] = "score", [SPAN_EXCHANGE] = "exchange",
        [SPAN_WAIT] = "wait",       [SPAN_SEND] = "send",   [SPAN_TAKE] = "take",
        [SPAN_APPLY] = "apply",     [SPAN_WRITE] = "write"};
    return words[span->kind];
}

static bool brings_version(const struct window *w, const struct span *span)
{
    return w->step->workers == 1 && span->role == ROLE_WORKER && span->kind == SPAN_TAKE &&
           span->what == MESSAGE_RESULT && span->first == w->chunk;
}

static bool is_shown(const struct window *w, const struct span *span)
{
    bool message = span->kind == SPAN_SEND || span->kind == SPAN_TAKE;
    if (brings_version(w, span)) /* The one before this window says what a batch began from. */
        return span->from_ns <= w->step->to_ns;
    return span->kind != SPAN_STEP && spans_in(w->step, span) &&
           (!message || (w->messages && span->role == ROLE_PS));
}

static double place_ms(const struct spans *spans, uint64_t at_ns)
{
    return at_ns >= spans->origin_ns ? 1e-6 * (double)(at_ns - spans->origin_ns)
                                     : -1e-6 * (double)(spans->origin_ns - at_ns);
}

static void put_span(struct window *w, const struct span *span, uint64_t to_ns)
{
    size_t other = span->other == SPAN_NO_PEER || span->other_role == ROLE_NONE
                       ? w->spans->place_count
                       : spans_place(w->spans, (enum role)span->other_role, span->other);
    bool message = span->kind == SPAN_SEND || span->kind == SPAN_TAKE;
    json_writer_array_line(w->writer, NULL);
    json_writer_u64(w->writer, NULL, spans_place(w->spans, (enum role)span->role, span->index));
    json_writer_text(w->writer, NULL, kind_word(span));
    json_writer_decimals(w->writer, NULL, place_ms(w->spans, span->from_ns), 3);
    json_writer_decimals(w->writer, NULL, place_ms(w->spans, to_ns), 3);
    json_writer_u64(w->writer, NULL, span->step);
    json_writer_decimals(w->writer, NULL, other < w->spans->place_count ? (double)other : -1, 0);
    json_writer_decimals(w->writer, NULL, span->first == SPAN_NO_PEER ? -1 : (double)span->first,
                         0);
    json_writer_text(w->writer, NULL,
                     span->kind == SPAN_WAIT ? wait_name((enum wait)span->what)
                     : message               ? message_kind_name((enum message_kind)span->what)
                                             : "");
    json_writer_end(w->writer);
    w->written++;
}

static bool is_alike(const struct span *a, const struct span *b)
{
    return a->kind == b->kind &&
           (a->role == ROLE_PS || (a->step == b->step && a->other == b->other));
}

/* Of one process, neighbours that look like one are one. */
static void put_process(struct window *w, const struct trace_place *place)
{
    uint64_t near_ns = (w->step->to_ns - w->step->from_ns) / NEARNESS;
    for (enum span_kind kind = SPAN_COMPUTE; kind < SPAN_KIND_COUNT; kind++) {
        const struct span *first = NULL;
        uint64_t to_ns = 0;
        for (size_t i = 0; i < w->spans->count && w->written < WINDOW_SPANS_MAX; i++) {
            const struct span *span = &w->spans->list[i];
            if (span->kind != kind || !span_is_of(span, place->role, place->index) ||
                !is_shown(w, span))
                continue;
            bool joins = first != NULL && is_alike(first, span) && !brings_version(w, span) &&
                         span->from_ns < to_ns + near_ns;
            if (first != NULL && !joins)
                put_span(w, first, to_ns);
            if (!joins) {
                first = span;
                to_ns = span->to_ns;
            }
            to_ns = span->to_ns > to_ns ? span->to_ns : to_ns;
        }
        if (first != NULL)
            put_span(w, first, to_ns);
    }
}

static void put_path(struct window *w, bool one)
{
    struct critical path = critical_of(w->spans, w->step);
    json_writer_array_line(w->writer, "path");
    for (size_t i = 0; one && i < CRITICAL_PARTS; i++) {
        if (path.parts[i] == SIZE_MAX)
            continue;
        const struct span *span = &w->spans->list[path.parts[i]];
        bool ends = i == CRITICAL_COMPUTE || i == CRITICAL_APPLY;
        json_writer_array_line(w->writer, NULL);
        json_writer_u64(w->writer, NULL, spans_place(w->spans, (enum role)span->role, span->index));
        json_writer_decimals(w->writer, NULL,
                             place_ms(w->spans, ends ? span->to_ns : span->from_ns), 3);
        json_writer_end(w->writer);
    }
    json_writer_end(w->writer);
}

static void put_window(struct window *w, const char *reason)
{
    char text[WINDOW_TEXT_MAX] = "";
    bool one = strcmp(reason, "first") != 0; /* Step or batch, with words and a path. */
    if (one)
        window_describe(w->spans, w->step, text, sizeof text);
    size_t inside = 0;
    w->chunk = SPAN_NO_PEER;
    for (size_t i = 0; i < w->spans->count; i++) {
        const struct span *span = &w->spans->list[i];
        inside += spans_in(w->step, span);
        if (span->kind == SPAN_TAKE && span->what == MESSAGE_RESULT && span->first < w->chunk)
            w->chunk = span->first;
    }
    w->messages = inside < HALF_MAX;
    w->written = 0;
    json_writer_object(w->writer, NULL);
    json_writer_u64(w->writer, "step", w->step->step);
    json_writer_text(w->writer, "reason", reason);
    json_writer_bool(w->writer, "together", w->step->workers > 1);
    json_writer_u64(w->writer, "of", spans_place(w->spans, ROLE_WORKER, w->step->worker));
    json_writer_decimals(w->writer, "from", place_ms(w->spans, w->step->from_ns), 3);
    json_writer_decimals(w->writer, "to", place_ms(w->spans, w->step->to_ns), 3);
    json_writer_text(w->writer, "text", text);
    put_path(w, one);
    json_writer_array(w->writer, "spans");
    for (size_t i = 0; i < w->spans->place_count; i++)
        put_process(w, &w->spans->places[i]);
    json_writer_end(w->writer);
    json_writer_end(w->writer);
}

/* Of those that are shown the longest that is not another's; without scoring, if there is one. */
static size_t slowest_of(const struct spans *spans, size_t but)
{
    size_t slowest = spans->step_count;
    uint64_t most_ns = 0;
    for (size_t i = 0; i < spans->step_count; i++) {
        const struct trace_step *step = &spans->steps[i];
        uint64_t took_ns = step->to_ns - step->from_ns;
        if (i == but || step->reason == STEP_NOT_SHOWN || step->scored || took_ns <= most_ns)
            continue;
        slowest = i;
        most_ns = took_ns;
    }
    return slowest;
}

/* The first batches as one window: how workers come out of step. False: there are none. */
static bool first_of(const struct spans *spans, struct trace_step *window)
{
    size_t count = 0;
    for (size_t i = 0; i < spans->step_count; i++) {
        const struct trace_step *step = &spans->steps[i];
        if (step->workers > 1 || (step->reason != STEP_FIRST && step->reason != STEP_ALL))
            continue;
        if (count++ == 0)
            *window = *step;
        window->from_ns = step->from_ns < window->from_ns ? step->from_ns : window->from_ns;
        window->to_ns = step->to_ns > window->to_ns ? step->to_ns : window->to_ns;
    }
    return count > 1;
}

void windows_write_json(struct json_writer *writer, const char *name, const struct spans *spans)
{
    struct trace_step first;
    size_t typical = spans_typical(spans);
    size_t slowest = slowest_of(spans, typical);
    struct window w = {.writer = writer, .spans = spans};
    json_writer_object(writer, name);
    json_writer_bool(writer, "virtual", spans->virtual_time);
    json_writer_array_line(writer, "processes");
    for (size_t i = 0; i < spans->place_count; i++) {
        char text[40];
        snprintf(text, sizeof text, "%s/%u", role_name(spans->places[i].role),
                 spans->places[i].index);
        json_writer_text(writer, NULL, text);
    }
    json_writer_end(writer);
    json_writer_array(writer, "windows");
    if (typical < spans->step_count) {
        w.step = &spans->steps[typical];
        put_window(&w, "typical");
    }
    if (slowest < spans->step_count) {
        w.step = &spans->steps[slowest];
        put_window(&w, "slowest");
    }
    if (first_of(spans, &first)) {
        w.step = &first;
        put_window(&w, "first");
    }
    json_writer_end(writer);
    json_writer_end(writer);
}

void windows_write_json_of(struct json_writer *writer, const char *name, const char *path)
{
    struct spans spans;
    spans_init(&spans);
    if (spans_read(&spans, path, STEPS_READ, NULL) == STATUS_OK)
        windows_write_json(writer, name, &spans);
    spans_free(&spans);
}
