/* stop_note.h - whoever may write to a run's directory may end the run by a note in it: OUT/stop.
 *
 * Looked for once a second by server 0, or by who trains alone; its first line says why. The note is taken away, and the
 * run stops at a checkpoint with exit code 0, when all who are in it have come: it has been trained enough. So an evaluator on another
 * host, or a script, needs neither the server's address nor a key.
 *
 * Threads: one of its own, which calls back. */

#ifndef COMMON_STORE_STOP_NOTE_H
#define COMMON_STORE_STOP_NOTE_H

#include "common/base/status.h"

#define STOP_NOTE_NAME "stop"

struct stop_note;

/* Calls enough(context, why) at most once. When there is no memory for it *note is NULL, and nobody
 * looks. */
void stop_note_watch(struct stop_note **note, const char *out,
                     void (*enough)(void *context, const char *why), void *context);
void stop_note_stop(struct stop_note **note);

#endif
