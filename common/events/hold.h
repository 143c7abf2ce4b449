/* hold.h - hold points: in programs of checked builds (build/MODE/checked) a process that reaches an event stops there
 * until a test lets it go on. So "while it writes a part" is a fact in a script, and no race.
 *
 *     TEST_HOLD="ps/1 writes:40 FIFO;worker/0 given FIFO"
 *
 * The first thread of ps/1 that says the event `writes` (event_rows.inc) of step or version 40 opens FIFO, writes the
 * event's name as a line, opens FIFO.go, and goes on when it has read a byte there, or its end. A point holds once.
 * Scripts: tests/processes/lib.sh, holds.
 *
 * Threads: `take` from any. Ownership: `next` is copied. */

#ifndef COMMON_EVENTS_HOLD_H
#define COMMON_EVENTS_HOLD_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "common/events/event.h"

#define HOLD_POINTS_MAX 4

struct hold {
    struct listener next; /* Hears all that the points hear, first. */
    unsigned count;
    struct hold_point {
        enum event_kind kind;
        unsigned long long step;
        bool any_step;
        char fifo[PATH_MAX];
        atomic_flag reached;
    } points[HOLD_POINTS_MAX];
};

/* The points of this process ("ps", 1) that the environment names; *listener hears on through them. A point that
 * cannot be understood ends the process. */
void hold_begin(struct hold *hold, const char *role, unsigned index, struct listener *listener);

#endif
