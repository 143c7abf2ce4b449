/* spans.h - a trace in memory: its steps, and the spans of all processes of a job in the selected
 * steps, on one clock and ordered by their beginnings.
 *
 *     spans_init(&spans);
 *     status = spans_add(&spans, file, "run.spans", &error);   once for each file
 *     status = spans_finish(&spans, 20, &error);
 *     ... spans.list, spans.steps ...
 *     spans_free(&spans);
 *
 * The bytes are untrusted: every field is checked.
 *
 * Threads: one owner. Ownership: all arrays. Units: nanoseconds. */

#ifndef DEPLOY_TRACE_SPANS_H
#define DEPLOY_TRACE_SPANS_H

#include <stddef.h>

#include "common/base/status.h"
#include "common/trace/span_file.h"
#include "deploy/trace/clocks.h"
#include "deploy/trace/steps.h"

#define TRACE_SPANS_MAX (16u << 20) /* 900 MB of memory. */

/* A process, or several one after the other in its place. */
struct trace_place {
    enum role role;
    uint32_t index;
    uint16_t host;
    size_t count; /* Its spans. */
};

/* An interval with lost spans of a region. */
struct trace_hole {
    uint64_t from_ns, to_ns;
    uint16_t host;
};

struct spans {
    struct span *list; /* [count] */
    uint16_t *host_of; /* [count] until spans_finish, which drops the hosts. */
    size_t count, capacity;
    struct trace_step *steps; /* [step_count] */
    size_t step_count;
    struct trace_host *hosts; /* [host_count] */
    size_t host_count, reference;
    struct trace_place *places; /* [place_count] servers first, each by number. */
    size_t place_count;
    struct trace_hole *holes; /* [hole_count] */
    size_t hole_count, hole_capacity;
    uint64_t origin_ns;      /* The start of the trace: of the first span of a selected step. */
    uint64_t origin_unix_ns; /* By the wall clock; 0: in virtual time. */
    bool virtual_time;
    uint64_t damaged; /* Skipped segments. */
};

void spans_init(struct spans *spans);
void spans_free(struct spans *spans);

/* Add the content of a file. name: for people. STATUS_INVALID, STATUS_IO, STATUS_MEMORY. */
enum status spans_add(struct spans *spans, int file, const char *name, struct error *error);

/* After all files: convert to one clock, sort, find the steps and select so many of them; a
 * selection in a file has priority. STATUS_NOT_FOUND: there is no step. STATUS_MEMORY. */
enum status spans_finish(struct spans *spans, uint32_t steps, struct error *error);

/* spans_add for a path, and finish: a file, or a folder with files whose names end in .spans. */
enum status spans_read(struct spans *spans, const char *path, uint32_t steps, struct error *error);

/* The step to show when there is room for one: the typical one; step_count: none. */
size_t spans_typical(const struct spans *spans);

/* Keep at most so many of the selected steps: the typical one, and equally many of the slowest,
 * first and last. Spans of no kept step are dropped. */
enum status spans_keep(struct spans *spans, uint32_t steps);

/* The index of a process in places; place_count: missing. */
size_t spans_place(const struct spans *spans, enum role role, uint32_t index);

/* Whether a span is within a step's time. */
static inline bool spans_in(const struct trace_step *step, const struct span *span)
{
    return span->from_ns <= step->to_ns && span->to_ns >= step->from_ns;
}

#endif
