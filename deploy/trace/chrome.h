/* chrome.h - a trace as the JSON that Perfetto, Chrome's about:tracing and speedscope read (the
 * Trace Event Format): a process for each of the job's, a thread for each lane, and complete events
 * that are strictly nested in it; times in microseconds from the beginning of the trace.
 *
 * Arrows (flows) only show the critical path of each shown step. "otherData" has the run, the steps
 * and the clocks.
 *
 * Threads: one owner. Errors: STATUS_MEMORY, STATUS_IO. */

#ifndef DEPLOY_TRACE_CHROME_H
#define DEPLOY_TRACE_CHROME_H

#include <stdio.h>

#include "common/base/status.h"
#include "deploy/trace/spans.h"

struct chrome_about {
    uint32_t asked;        /* Requested steps. */
    uint64_t bytes_max;    /* The limit of its size. */
    bool without_messages; /* Messages are left out to keep the limit. */
};

/* out: NULL counts the bytes alone. *bytes: written, or to be written. */
enum status chrome_write(FILE *out, const struct spans *spans, const struct chrome_about *about,
                         uint64_t *bytes);

#endif
