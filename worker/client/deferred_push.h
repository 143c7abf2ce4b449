/* deferred_push.h - a gradient that is computed before its computation has a number. It waits
 * here for the rest of a round trip, and is then pushed.
 *
 * Threads: the session's. Time arrives as an argument. */

#ifndef WORKER_CLIENT_DEFERRED_PUSH_H
#define WORKER_CLIENT_DEFERRED_PUSH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/message.h"

struct deferred_push {
    bool waits;
    struct message_exchange what; /* As the trainer sent it. */
    struct frame *gradient;       /* One reference; NULL for a batch that is left out. */
    uint64_t since_us;
};

/* Takes a reference of its own. */
void deferred_push_keep(struct deferred_push *deferred, const struct message_exchange *what,
                        struct frame *gradient, uint64_t now_us);

/* Drop it. */
void deferred_push_forget(struct deferred_push *deferred);

#endif
