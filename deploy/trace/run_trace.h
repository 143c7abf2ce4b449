/* run_trace.h - --trace of `run` and `simulate`: memory for the spans of processes, and at the end
 * the files made from it, OUT/trace.json and OUT/trace.spans.
 *
 * The memory is a file without a name, which children inherit. It never remains, and it has the
 * spans of a process that was killed.
 *
 * Threads: one. Ownership: run_trace_close. */

#ifndef DEPLOY_TRACE_RUN_TRACE_H
#define DEPLOY_TRACE_RUN_TRACE_H

#include "common/options/options.h"
#include "common/trace/recorder.h"

struct run_trace {
    int file; /* -1: no tracing. */
    char name[16];
};

/* No effect without --trace. Real processes get it by options->trace. STATUS_IO. */
enum status run_trace_open(struct run_trace *trace, struct options *options, struct error *error);
void run_trace_close(struct run_trace *trace);

/* The maximum memory of such a trace of a cluster in virtual time, during the run and at the
 * end. */
uint64_t run_trace_memory(uint32_t processes, uint32_t steps);

/* For a cluster in virtual time, of so many processes; NULL: no tracing. The caller calls
 * recorder_close. */
enum status run_trace_recorder(const struct run_trace *trace, uint32_t processes, uint32_t steps,
                               struct recorder **recorder, struct error *error);

/* After all processes have ended: write the files to the run's folder, and return a line for
 * people. STATUS_NOT_FOUND: there was no step. */
enum status run_trace_finish(const struct run_trace *trace, const char *out, uint32_t steps,
                             char *line, size_t size, struct error *error);

#endif
