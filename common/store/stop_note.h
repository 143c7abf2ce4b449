/* stop_note.h - ends a run by a note in its directory, OUT/stop.
 *
 * Server 0, or a worker that trains alone, looks for it once a second; its first line gives the
 * reason. The note is removed, and the run stops at a checkpoint with exit code 0, when all its
 * members have joined: it has been trained enough. So an evaluator on another host, or a script,
 * needs neither the server's address nor a key.
 *
 * Threads: one of its own, which calls back. */

#ifndef COMMON_STORE_STOP_NOTE_H
#define COMMON_STORE_STOP_NOTE_H

#include "common/base/status.h"

#define STOP_NOTE_NAME "stop"

struct stop_note;

/* Calls enough(context, why) at most once. Without memory *note is NULL, and nothing is watched. */
void stop_note_watch(struct stop_note **note, const char *out,
                     void (*enough)(void *context, const char *why), void *context);
void stop_note_stop(struct stop_note **note);

#endif
