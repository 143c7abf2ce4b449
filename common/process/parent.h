/* parent.h - whether whoever started this process is still there (--parent-stdin).
 *
 * A launcher holds the other end of our standard input. It writes one line at once, and nothing
 * more that counts; the end of the file is its death, however it died. That works alike through a
 * pipe, ssh, `kubectl exec -i` and `docker exec -i`, and needs neither /proc nor that we be its
 * child. A standard input that ends before the first line never had anybody behind it (it is
 * /dev/null in batch scripts, under `ssh -n` and exec without -i): better to say so than to end
 * at once each time.
 *
 * Threads: parent_greet in main; after it one thread. */

#ifndef COMMON_PROCESS_PARENT_H
#define COMMON_PROCESS_PARENT_H

#include <stdbool.h>

#include "common/base/status.h"

/* Whoever has lost his launcher ends within so many seconds, or --stop-timeout if that is less. */
#define PARENT_LOST_SECONDS 10.0

/* What a launcher writes at once. */
#define PARENT_GREETING "syncopate\n"

/* Take the first line from standard input, which must come within this time. */
enum status parent_greet(double seconds, struct error *error);

/* Whether it is gone by now. Does not wait; reads what is there. The descriptor to wait on is
 * standard input's. */
bool parent_is_gone(void);

#endif
