/* critical.h - why a step took as long as it did: the chain of what had to happen one after the other, from
 * the gradient that came last to the worker that could go on last.
 *
 *     worker/3  computes ====> sends --.                              .--> takes the values
 *     ps/1                              '--> takes, applies ==> sends -'
 *
 * It is found backwards: the last values that a worker of the step took; who sent them, and after which
 * gradient was applied; whose that was, and what it had computed. What a trace does not have is left out,
 * so that a path may begin later than a step.
 *
 * Threads: plain values. */

#ifndef DEPLOY_TRACE_CRITICAL_H
#define DEPLOY_TRACE_CRITICAL_H

#include "deploy/trace/spans.h"

enum critical_part {
    CRITICAL_COMPUTE, /* The gradient that came last is computed, */
    CRITICAL_PUSH,    /* ... sent, */
    CRITICAL_HEARD,   /* ... taken, */
    CRITICAL_APPLY,   /* ... and applied, and so an update made; */
    CRITICAL_RELEASE, /* its values are sent, */
    CRITICAL_TAKEN,   /* ... and taken by whoever had them last. */
    CRITICAL_PARTS
};

/* Where each is in spans->list; SIZE_MAX: it is not there. */
struct critical {
    size_t parts[CRITICAL_PARTS];
    size_t count; /* How many are there. */
};

struct critical critical_of(const struct spans *spans, const struct trace_step *step);

#endif
