/* steps.h - the steps of a trace, and a selection for people: the first, the last, the slowest, and
 * a typical one.
 *
 * Where workers make a step together (sync) it lasts from the first worker's begin to the last
 * worker's end; otherwise each batch is a step of one worker.
 *
 * Threads: plain values. Units: nanoseconds on the trace's clock. */

#ifndef DEPLOY_TRACE_STEPS_H
#define DEPLOY_TRACE_STEPS_H

#include <stddef.h>

#include "common/base/status.h"
#include "common/trace/span.h"

/* The reason for selecting a step; with several, the first of them. */
enum step_reason {
    STEP_NOT_SHOWN,
    STEP_TYPICAL, /* The nearest to the median duration. */
    STEP_SLOWEST,
    STEP_FIRST,
    STEP_LAST,
    STEP_ALL, /* There are no more. */
    STEP_REASON_COUNT
};

struct trace_step {
    uint64_t step; /* Or batch. */
    uint64_t from_ns, to_ns;
    uint32_t workers; /* The number of its workers, */
    uint32_t worker;  /* and the last one of them. */
    bool scored;      /* It includes scoring, which made it longer. */
    bool whole;       /* All spans of all processes in its time are here. */
    enum step_reason reason;
};

/* From the spans of this many steps at most, ordered by their beginnings. The caller owns *steps.
 * STATUS_MEMORY. */
enum status steps_find(const struct span *spans, size_t count, struct trace_step **steps,
                       size_t *step_count);

/* Give at most so many steps a reason, and the others none. Steps that are not whole are only used
 * when none is whole. A step with scoring is neither slow nor typical, if there are others.
 * STATUS_MEMORY. */
enum status steps_choose(struct trace_step *steps, size_t count, uint32_t wanted);

/* Of the selected steps keep so many: the typical one, and equally many of each other reason.
 * STATUS_MEMORY. */
enum status steps_keep(struct trace_step *steps, size_t count, uint32_t wanted);

/* "typical", "slowest", "first", "last", "" */
const char *step_reason_name(enum step_reason reason);

#endif
