/* steps.h - the steps of a trace, and which of them are worth looking at: the first, the last, those that
 * took longest, and one that took as long as most.
 *
 * Where workers make a step together (sync) it lasts from the first that begins with it to the last that
 * is through; otherwise each batch is a step by itself, with one worker.
 *
 * Threads: plain values. Units: nanoseconds on the trace's clock. */

#ifndef DEPLOY_TRACE_STEPS_H
#define DEPLOY_TRACE_STEPS_H

#include <stddef.h>

#include "common/base/status.h"
#include "common/trace/span.h"

/* Why a step is shown; a step that has several has the first of them. */
enum step_reason {
    STEP_NOT_SHOWN,
    STEP_TYPICAL, /* It took nearest to the median. */
    STEP_SLOWEST,
    STEP_FIRST,
    STEP_LAST,
    STEP_ALL, /* There are no more. */
    STEP_REASON_COUNT
};

struct trace_step {
    uint64_t step; /* Or batch. */
    uint64_t from_ns, to_ns;
    uint32_t workers; /* How many made it, ... */
    uint32_t worker;  /* ... and who of them was through last. */
    bool scored;      /* Something was scored meanwhile: it took so much longer. */
    bool whole;       /* Of all processes all is here that they did then. */
    enum step_reason reason;
};

/* From the spans of steps that are among so many, in order of their beginnings. *steps is the caller's.
 * STATUS_MEMORY. */
enum status steps_find(const struct span *spans, size_t count, struct trace_step **steps,
                       size_t *step_count);

/* Give so many at the most their reasons, and none to the others. Those that are not whole are only taken
 * where none is; and one in which something was scored is neither slow nor typical, if there are others.
 * STATUS_MEMORY. */
enum status steps_choose(struct trace_step *steps, size_t count, uint32_t wanted);

/* Of those that have a reason leave so many: the typical one, and of the others as many of each.
 * STATUS_MEMORY. */
enum status steps_keep(struct trace_step *steps, size_t count, uint32_t wanted);

/* "typical", "slowest", "first", "last", "" */
const char *step_reason_name(enum step_reason reason);

#endif
