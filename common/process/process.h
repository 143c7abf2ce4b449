/* process.h - how every program of ours begins, whatever started it.
 *
 * A process inherits more than its arguments. A parent that ignores SIGCHLD makes waitpid useless,
 * one that blocks SIGTERM makes us deaf, and one that closed standard output would have the next
 * file that we open take its place, and what is printed go there. After process_begin
 *
 *   - descriptors 0 to 2 are open; what was closed cannot be read or written still, so that a
 *     result that cannot be had is an error all the same;
 *   - no signal is blocked, and none is ignored but those that a person or a shell had reason to:
 *     SIGHUP (nohup), SIGINT and SIGQUIT (a job in the background) and those of job control;
 *   - SIGHUP, unless ignored, ends the process with EXIT_TERMINATED, as it does later when there is
 *     something to end cleanly;
 *   - as process 1, of a container say, SIGINT and SIGTERM end it as they end any other, with
 *     128 and their number: the kernel would drop them;
 *   - SIGPIPE and SIGXFSZ are ignored: a reader that has gone and a file that may not grow are
 *     answers of write, EPIPE and EFBIG.
 *
 * Threads: first thing in main. */

#ifndef COMMON_PROCESS_PROCESS_H
#define COMMON_PROCESS_PROCESS_H

#include <signal.h>

void process_begin(void);

/* Add SIGINT and SIGHUP to the set, but those that this process was started to ignore: by nohup, or
 * by a script with &, so that a person's Ctrl-C is for another job. */
void process_add_heeded(sigset_t *set);

/* For a process that lives by receiving large payloads: have it keep the memory that it frees.
 *
 * libzmq allocates every payload it receives. By default glibc gives such memory back as soon as it
 * is freed, and the next payload pays for having it mapped and zeroed again: a quarter of an
 * exchange's time. Kept, it costs no more than the most that was ever under way at once: in one
 * arena, because gradients, which libzmq's thread allocates, and answers take turns in the same
 * memory. Otherwise each kind keeps what it ever took, nearly twice as much, and it takes long to
 * get there. */
void process_keep_memory(void);

#endif
