/* parent.h - whether the launcher of this process is still there (--parent-stdin).
 *
 * A launcher holds the other end of our standard input. It writes one line at once; after it only
 * three bytes count, each a request as a signal is, for where signals do not get to (ssh); the end
 * of the file is its death, however it died. That works alike through a
 * pipe, ssh, `kubectl exec -i` and `docker exec -i`, and needs neither /proc nor that we be its
 * child. A standard input that ends before the first line never had a launcher behind it (it is
 * /dev/null in batch scripts, under `ssh -n` and exec without -i): that is an error of its own.
 *
 * Threads: parent_greet in main; after it one thread. */

#ifndef COMMON_PROCESS_PARENT_H
#define COMMON_PROCESS_PARENT_H

#include <stdbool.h>

#include "common/base/status.h"

/* A process that has lost its launcher ends within so many seconds, or --stop-timeout if that is less. */
#define PARENT_LOST_SECONDS 10.0

/* What a launcher writes at once. */
#define PARENT_GREETING "syncopate\n"

/* Take the first line from standard input, which must come within this time. */
enum status parent_greet(double seconds, struct error *error);

/* What it may ask for afterwards: what a terminal makes of Ctrl-C, and of Ctrl-\. */
#define PARENT_INTERRUPTS '\003' /* As SIGINT. */
#define PARENT_TERMINATES '\024' /* As SIGTERM. */
#define PARENT_KILLS      '\034' /* As SIGKILL: the end, at once. */

enum parent_news { PARENT_SILENT, PARENT_GONE, PARENT_ASKS };

/* What there is of it by now. Does not wait. PARENT_ASKS: *word is one of the three; there may be
 * more. The descriptor to wait on is standard input's. */
enum parent_news parent_look(char *word);

#endif
