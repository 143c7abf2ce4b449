/* run_trace.h - what `run` and `simulate` do for --trace: memory that processes keep their spans in, and at
 * the end the files that are made of it, OUT/trace.json and OUT/trace.spans.
 *
 * The memory is a file without a name, which children inherit, so that nothing is left of it however this
 * ends, and what a process that was killed has kept is there.
 *
 * Threads: one. Ownership: run_trace_close. */

#ifndef DEPLOY_TRACE_RUN_TRACE_H
#define DEPLOY_TRACE_RUN_TRACE_H

#include "common/options/options.h"
#include "common/trace/recorder.h"

struct run_trace {
    int file; /* -1: nothing is traced. */
    char name[16];
};

/* Nothing without --trace. Real processes are told by options->trace. STATUS_IO. */
enum status run_trace_open(struct run_trace *trace, struct options *options, struct error *error);
void run_trace_close(struct run_trace *trace);

/* How much memory such a trace may take of a cluster in virtual time, while it is made and at the end. */
uint64_t run_trace_memory(uint32_t processes, uint32_t steps);

/* For a cluster in virtual time, of so many processes; NULL: nothing is traced. recorder_close is the
 * caller's. */
enum status run_trace_recorder(const struct run_trace *trace, uint32_t processes, uint32_t steps,
                               struct recorder **recorder, struct error *error);

/* All have ended: write the files in the run's folder, and say so in a line for people. STATUS_NOT_FOUND:
 * there was no step. */
enum status run_trace_finish(const struct run_trace *trace, const char *out, uint32_t steps,
                             char *line, size_t size, struct error *error);

#endif
