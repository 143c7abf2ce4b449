/* trace.h - the files that are made of a trace: trace.json, which other programs show (chrome.h), and
 * trace.spans, which ours read again (spans.h). Both are written aside and put in their place whole.
 *
 * A trace is at most TRACE_BYTES_MAX long: where the steps that were asked for have more to show, fewer
 * are, and if one alone has, messages are left out of it; what then is too long is not written. All of
 * that is said.
 *
 * Threads: one owner. Errors: STATUS_MEMORY, STATUS_IO, STATUS_INVALID (one step is too much). */

#ifndef DEPLOY_TRACE_TRACE_H
#define DEPLOY_TRACE_TRACE_H

#include "common/base/status.h"
#include "deploy/trace/spans.h"

#define TRACE_BYTES_MAX  UINT64_C(50000000)
#define TRACE_JSON_NAME  "trace.json"
#define TRACE_SPANS_NAME "trace.spans"

struct trace_request {
    const char *json, *spans; /* Paths; spans: NULL for none. */
    uint32_t steps;
    uint64_t bytes_max;
};

/* What came of it. */
struct trace_told {
    uint64_t bytes; /* Of the JSON. */
    size_t shown;   /* Steps. */
    bool without_messages;
    uint64_t damaged;
    size_t hosts, unknown; /* Hosts, and those that no message says the clock of. */
    uint64_t error_ns;     /* The greatest of those that are known. */
};

/* spans: finished; loses what does not fit. */
enum status trace_write(struct spans *spans, const struct trace_request *request,
                        struct trace_told *told, struct error *error);

/* For people, in a sentence or some. */
void trace_tell(const struct trace_told *told, const char *path, char *text, size_t size);

#endif
