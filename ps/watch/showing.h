/* showing.h - a server shows its state now and then: to a service manager, and on the board of its
 * pages (watched.h).
 *
 * Threads: the router's. Ownership: borrows all. */

#ifndef PS_WATCH_SHOWING_H
#define PS_WATCH_SHOWING_H

#include "common/process/notify.h"
#include "ps/coordinator/coordinator.h"
#include "ps/router/router.h"
#include "ps/watch/watched.h"

struct showing {
    struct notify *notify;       /* NULL: none. */
    struct watched_board *board; /* NULL: none. */
    uint64_t shown_us;           /* When it was last shown. */
    bool checkpoint_known;       /* The newest checkpoint at the first look is known. */
    uint64_t checkpoint_seen;    /* One more than its step; 0: there is none. */
    double checkpoint_unix_seconds;
    /* Since when each member does what it does, in the step that it is in. */
    struct showing_since {
        enum watched_doing doing;
        uint64_t step, since_us;
    } since[WATCHED_WORKERS_MAX + JOB_SERVERS_MAX];
    struct watched watched;
};

/* Shows it, if that is due. not_taken: what the router does not know of; coordinator: NULL but on
 * server 0. */
void showing_turn(struct showing *showing, struct router *router,
                  const struct coordinator *coordinator, const struct not_taken *not_taken,
                  uint64_t now_us);

#endif
