/* trace.h - the files made from a trace: trace.json for other programs (chrome.h), and trace.spans
 * for ours (spans.h). Both are written aside and renamed when whole.
 *
 * A trace has at most TRACE_BYTES_MAX: steps are left out to keep this limit, then the messages of
 * the last step; a single step that is still too long is not written. A sentence reports it.
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

struct trace_written {
    uint64_t bytes; /* Of the JSON. */
    size_t shown;   /* Steps. */
    bool without_messages;
    uint64_t damaged;
    size_t hosts, unknown; /* Hosts, and those without messages to find their clock. */
    uint64_t error_ns;     /* The largest of the known errors. */
};

/* spans: finished; loses the steps that do not fit. */
enum status trace_write(struct spans *spans, const struct trace_request *request,
                        struct trace_written *written, struct error *error);

/* For people, in a few sentences. */
void trace_tell(const struct trace_written *written, const char *path, char *text, size_t size);

#endif
