/* recorder.h - takes the spans of a process as they end, and keeps what is of the first steps, the last
 * and the slowest, in bounded memory and room on the disk, however long the run is.
 *
 *     recorder_open(&recorder, "run.spans", ROLE_WORKER, 3, 20, &error);
 *     recorder_span(recorder, &span); ...
 *     recorder_close(&recorder);
 *
 * Which steps there are it sees by itself: a worker's from what it computes, and at a server from what
 * it hears. Spans go to a buffer, and from there to a segment of the file (span_file.h): one that has
 * nothing of a step that is kept (keeper.h) is written over first. So of a run that is not long
 * everything is there. What the buffer has goes out every tenth of a second as well, so that a process
 * that is killed has left it.
 *
 * A recorder that is NULL takes everything and does nothing: so nearly all processes run. When the file
 * cannot be written any more that is said once, and the process goes on.
 *
 * Threads: recorder_span and recorder_heard from any; open and close from one.
 * Ownership: the caller's until recorder_close. Errors: STATUS_IO, STATUS_MEMORY. */

#ifndef COMMON_TRACE_RECORDER_H
#define COMMON_TRACE_RECORDER_H

#include "common/events/event.h"
#include "common/trace/span_file.h"

#define TRACE_STEPS_MAX 1000u

struct recorder;

/* In the name of a process of this host. where: see span_file_open; NULL: *recorder is NULL. */
enum status recorder_open(struct recorder **recorder, const char *where, enum role role,
                          uint32_t index, uint32_t steps, struct error *error);

/* In a file that is open and becomes the recorder's, for what the region says. */
enum status recorder_begin(struct recorder **recorder, int file, const struct region *region,
                           uint32_t steps, struct error *error);

/* What is left is written. */
void recorder_close(struct recorder **recorder);

/* One has ended. */
void recorder_span(struct recorder *recorder, const struct span *span);
struct span_listener recorder_spans(struct recorder *recorder);

/* One of its own process begins now, and ends now. Without a recorder, or from_ns, it is none. */
struct span recorder_begins(const struct recorder *recorder, enum span_lane lane,
                            enum span_kind kind);
void recorder_ends(struct recorder *recorder, struct span *span);

/* From now on *listener, which may not outlive the recorder, takes events through it: those that say
 * what a trainer has done, and in how many microseconds, are spans. */
void recorder_listen(struct recorder *recorder, struct listener *listener);

/* A server has heard that a worker's gradient of a step, or that it asks for values to score. */
void recorder_heard(struct recorder *recorder, const struct message *message, uint64_t at_ns);

#endif
