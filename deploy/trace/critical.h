/* critical.h - the critical path of a step: the chain of dependent activities from the last
 * gradient to the last worker that could continue.
 *
 *     worker/3  computes ====> sends --.                              .--> takes the values
 *     ps/1                              '--> takes, applies ==> sends -'
 *
 * It is found backwards: the last values that a worker of the step received; their sender, and the
 * gradient that was applied before; its worker, and its computation. Activities that a trace lacks
 * are left out: a path may begin later than a step.
 *
 * Threads: plain values. */

#ifndef DEPLOY_TRACE_CRITICAL_H
#define DEPLOY_TRACE_CRITICAL_H

#include "deploy/trace/spans.h"

enum critical_part {
    CRITICAL_COMPUTE, /* The last gradient is computed, */
    CRITICAL_PUSH,    /* sent, */
    CRITICAL_HEARD,   /* received, */
    CRITICAL_APPLY,   /* and applied, which completes an update; */
    CRITICAL_RELEASE, /* its values are sent, */
    CRITICAL_TAKEN,   /* and received by the last worker. */
    CRITICAL_PARTS
};

/* The index of each in spans->list; SIZE_MAX: missing. */
struct critical {
    size_t parts[CRITICAL_PARTS];
    size_t count; /* The number of parts found. */
};

struct critical critical_of(const struct spans *spans, const struct trace_step *step);

#endif
