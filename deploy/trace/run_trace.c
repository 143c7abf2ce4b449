/* run_trace.c - creates a memfd, and reads it at the end. */

#include "deploy/trace/run_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/wording.h"
#include "common/file/disk.h"
#include "deploy/trace/trace.h"

#define TRACE_FROM                                                                                 \
    80 /* Descriptors below it are others': the children's own, and the process log. */

/* Of a virtual cluster: as much as a real one's processes have, but where they are many no more
 * than its steps may need. */
#define VIRTUAL_SLOTS 256u
#define STEP_SLOTS    400u /* 13 MB: of some 500 workers. */

enum status run_trace_open(struct run_trace *trace, struct options *options, struct error *error)
{
    trace->file = -1;
    if (!options->traced)
        return STATUS_OK;
    int file = memfd_create("syncopate-trace", 0);
    trace->file = file >= 0 ? fcntl(file, F_DUPFD, TRACE_FROM) : -1;
    if (trace->file < 0)
        error_set(error, STATUS_IO, "cannot make memory for a trace: %s", strerror(errno));
    if (file >= 0)
        close(file);
    snprintf(trace->name, sizeof trace->name, "fd:%d", trace->file);
    options->trace = trace->name;
    return trace->file >= 0 ? STATUS_OK : STATUS_IO;
}

void run_trace_close(struct run_trace *trace)
{
    if (trace->file >= 0)
        close(trace->file);
    trace->file = -1;
}

static uint32_t slots_of(uint32_t processes, uint32_t steps)
{
    uint64_t slots = (uint64_t)processes * REGION_SLOTS;
    uint64_t most = VIRTUAL_SLOTS + (uint64_t)steps * STEP_SLOTS;
    most = most < REGION_SLOTS_MAX ? most : REGION_SLOTS_MAX;
    return (uint32_t)(slots < most ? slots : most);
}

/* Twice for reading. */
uint64_t run_trace_memory(uint32_t processes, uint32_t steps)
{
    return 2 * (uint64_t)slots_of(processes, steps) * SEGMENT_BYTES + TRACE_BYTES_MAX;
}

enum status run_trace_recorder(const struct run_trace *trace, uint32_t processes, uint32_t steps,
                               struct recorder **recorder, struct error *error)
{
    *recorder = NULL;
    if (trace->file < 0)
        return STATUS_OK;
    const struct region region = {.role = ROLE_NONE, .slots = slots_of(processes, steps)};
    int file = fcntl(trace->file, F_DUPFD_CLOEXEC, 0);
    if (file < 0)
        return error_set(error, STATUS_IO, "cannot make a trace: %s", strerror(errno));
    return recorder_begin(recorder, file, &region, steps, error);
}

enum status run_trace_finish(const struct run_trace *trace, const char *out, uint32_t steps,
                             char *line, size_t size, struct error *error)
{
    char json[DISK_PATH_MAX + 16], kept[DISK_PATH_MAX + 16];
    struct spans spans;
    struct trace_written written;
    snprintf(json, sizeof json, "%s/" TRACE_JSON_NAME, out);
    snprintf(kept, sizeof kept, "%s/" TRACE_SPANS_NAME, out);
    const struct trace_request request = {json, kept, steps, TRACE_BYTES_MAX};
    spans_init(&spans);
    enum status status = spans_add(&spans, trace->file, "--trace", error);
    if (status == STATUS_OK)
        status = spans_finish(&spans, steps, error);
    if (status == STATUS_OK)
        status = trace_write(&spans, &request, &written, error);
    if (status == STATUS_OK)
        trace_tell(&written, json, line, size);
    spans_free(&spans);
    return status;
}
