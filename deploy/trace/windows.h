/* windows.h - the typical and the slowest step of a trace, and its first batches: in words, and as JSON for the
 * page, which draws them (deploy/page/source.js has the shape).
 *
 * Neighbouring spans of one kind that are too near to be seen apart are one.
 *
 * Threads: plain values. */

#ifndef DEPLOY_TRACE_WINDOWS_H
#define DEPLOY_TRACE_WINDOWS_H

#include "common/file/json_writer.h"
#include "deploy/trace/spans.h"

#define WINDOW_TEXT_MAX  400
#define WINDOW_SPANS_MAX 3000 /* Beyond it messages are left out, then the end. */

/* Which step took how long, and why. */
void window_describe(const struct spans *spans, const struct trace_step *step, char *text,
                     size_t size);

/* Finished spans, as the member `name`. */
void windows_write_json(struct json_writer *writer, const char *name, const struct spans *spans);

/* The same of a file or folder; nothing is written where it cannot be read. */
void windows_write_json_of(struct json_writer *writer, const char *name, const char *path);

#endif
