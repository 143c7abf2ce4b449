/* spans.h - a trace in memory: its steps, and what all processes of a job did in those that are shown, on
 * one clock and in order of its beginnings.
 *
 *     spans_init(&spans);
 *     status = spans_add(&spans, file, "run.spans", &error);   once for each file
 *     status = spans_finish(&spans, 20, &error);
 *     ... spans.list, spans.steps ...
 *     spans_free(&spans);
 *
 * Bytes may come from anywhere, and nothing is believed that does not fit.
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
    size_t count; /* Spans that it has. */
};

/* A time of which something that a region had is lost. */
struct trace_hole {
    uint64_t from_ns, to_ns;
    uint16_t host;
};

struct spans {
    struct span *list; /* [count] */
    uint16_t *host_of; /* [count] until spans_finish, which knows no hosts any more. */
    size_t count, capacity;
    struct trace_step *steps; /* [step_count] */
    size_t step_count;
    struct trace_host *hosts; /* [host_count] */
    size_t host_count, reference;
    struct trace_place *places; /* [place_count] servers first, each by number. */
    size_t place_count;
    struct trace_hole *holes; /* [hole_count] */
    size_t hole_count, hole_capacity;
    uint64_t origin_ns; /* Where the trace begins: of the first span of a step that is shown. */
    uint64_t origin_unix_ns; /* By the wall's clock; 0: in virtual time. */
    bool virtual_time;
    uint64_t damaged; /* Segments that were left out. */
};

void spans_init(struct spans *spans);
void spans_free(struct spans *spans);

/* What a file has besides what is there. name: for people. STATUS_INVALID, STATUS_IO, STATUS_MEMORY. */
enum status spans_add(struct spans *spans, int file, const char *name, struct error *error);

/* All are there: put them on one clock and in order, find the steps and choose so many of them to be
 * shown; where a file says which were chosen, these are. STATUS_NOT_FOUND: there is no step.
 * STATUS_MEMORY. */
enum status spans_finish(struct spans *spans, uint32_t steps, struct error *error);

/* spans_add of what is at a path, and finish: a file, or a folder with files whose names end in .spans. */
enum status spans_read(struct spans *spans, const char *path, uint32_t steps, struct error *error);

/* The step to be shown when one is: the typical one; step_count: there is none. */
size_t spans_typical(const struct spans *spans);

/* Show so many steps at the most, of those that are shown: the typical one, and of the slowest, the first
 * and the last the same number. What is of none of them is forgotten. */
enum status spans_keep(struct spans *spans, uint32_t steps);

/* The number of a process among places; place_count: it is not there. */
size_t spans_place(const struct spans *spans, enum role role, uint32_t index);

/* Whether a span is of the time of a step. */
static inline bool spans_in(const struct trace_step *step, const struct span *span)
{
    return span->from_ns <= step->to_ns && span->to_ns >= step->from_ns;
}

#endif
