/* made_trace.h - spans of a cluster that is made up: workers that make steps together, or batches each for
 * itself, with a server; every time is known.
 *
 *     step s of worker w, from 1 s + s x 100 ms on, all in ms:
 *
 *     0         10 + w        30               31      40 to 99
 *     | computes | exchanges   | waits for last | ex-   |           of worker `last` it is computing until 30
 *                send         ps/0: takes, applies (31), sends      take (39)
 *
 * Threads: plain values. Ownership: made_trace_free, and the file is the caller's. */

#ifndef TESTS_LIB_TRACES_MADE_TRACE_H
#define TESTS_LIB_TRACES_MADE_TRACE_H

#include <stddef.h>

#include "common/trace/span_file.h"

#define MADE_MS UINT64_C(1000000)

struct made_trace {
    struct span *list; /* [count] in the order in which they ended, of all processes. */
    size_t count, capacity;
};

/* Workers 0 to workers - 1, of whom the last is slow. */
void made_trace_steps(struct made_trace *trace, uint32_t workers, uint64_t first, uint64_t count);
/* One more. */
void made_trace_add(struct made_trace *trace, const struct span *span);
void made_trace_free(struct made_trace *trace);

/* A span by such a clock. And a file: all in one region of a host; or every process in one of its own, those of `role` on a host
 * of their own whose clock is so much ahead and goes so many millionths faster. */
struct span made_trace_moved(const struct span *span, int64_t ahead_ns, double drift_ppm);
int made_trace_file(const struct made_trace *trace, uint64_t host);
int made_trace_hosts(const struct made_trace *trace, enum role role, int64_t ahead_ns,
                     double drift_ppm);

#endif
