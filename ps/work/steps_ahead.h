/* steps_ahead.h - on server 0: what START tells a worker of steps that are made of what was dropped
 * (common/steps/timeline.h), and up to which step.
 *
 * A worker is told of which leaves its own runs of such steps are made, and START is a small message:
 * so of as many steps as fit for whichever worker, and of two at least, the step that some chunk may
 * still be at and the next. When training comes to what was told last, work is dealt again.
 *
 * Threads: the coordinator's. */

#ifndef PS_WORK_STEPS_AHEAD_H
#define PS_WORK_STEPS_AHEAD_H

#include "common/base/frame.h"
#include "common/steps/owed.h"
#include "common/wire/message.h"
#include "ps/work/quorum.h"

/* Of what is owed, in a START, but where two steps need more. Two sets (quorum_within) fit beside it. */
#define STEPS_AHEAD_BYTES 768

struct steps_ahead {
    const struct quorum *quorum;
    uint64_t step;            /* As of this open step: */
    uint32_t members;         /* ... for so many, */
    struct timeline timeline; /* ... of the step before it. */
    uint64_t from, end;       /* It is told of which leaves these steps are made ... */
    uint64_t known_end;       /* ... and of all before this one what they are. */
    struct owed_leaf *owed;   /* [owed_count] of the timeline, if it is closed. Owned. */
    size_t owed_count;
    uint64_t owed_epoch;
};

void steps_ahead_free(struct steps_ahead *ahead);

/* As of now, for so many workers. STATUS_MEMORY. */
enum status steps_ahead_look(struct steps_ahead *ahead, const struct quorum *quorum,
                             uint32_t members);

/* To the worker with this place in the row: the fields of START; and its payload, the list of sets with
 * what its own steps are made of behind it. NULL without memory. */
void steps_ahead_say(const struct steps_ahead *ahead, struct message_start *start);
struct frame *steps_ahead_put(const struct steps_ahead *ahead, const struct frame *sets,
                              uint32_t place);

#endif
