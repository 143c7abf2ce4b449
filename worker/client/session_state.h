/* session_state.h - a session from inside: for session.c, session_check.c and tests that spoil it.
 *
 * Threads: the session's. */

#ifndef WORKER_CLIENT_SESSION_STATE_H
#define WORKER_CLIENT_SESSION_STATE_H

#include "worker/client/announcements.h"
#include "worker/client/deferred_push.h"
#include "worker/client/exchange.h"
#include "worker/client/scoring.h"
#include "worker/client/session.h"
#include "worker/client/times.h"
#include "worker/mode/follow_mode.h"

enum trainer { IDLE, BUSY, DONE };

struct session {
    struct session_options options;
    struct joining joining;    /* Started with the first START. */
    struct envelope *envelope; /* Its. */
    enum trainer trainer;
    uint8_t *job_bytes; /* [job_size] the declaration. */
    uint32_t job_size;
    struct exchange exchange;
    struct replica replica;        /* Where workers make the updates too; else nothing. */
    struct follow follow;          /* What the mode makes of it; the steps that it is at. */
    struct deferred_push deferred; /* Computed, and its number is not here yet. */
    struct announcements announcements;
    struct scoring scoring; /* What is to be scored, beside training. */

    /* What server 0 has said. */
    struct message_start start; /* Of this generation; assignment 0: none yet. */
    struct frame *sets; /* Of which leaves the steps are made that are closed, as `start` has
                                 * told; NULL where steps are made of all. Owned. */
    bool rejoined;      /* Welcomed again since the last START. */

    /* The trainer's side. */
    bool start_told;              /* The trainer has heard of `start`. */
    uint32_t told_assignment;     /* Of the START it has heard last. */
    uint64_t work_generation;     /* In which WORK was given ... */
    uint64_t work_step;           /* ... last, and which step or batch. */
    bool abandoned;               /* START came since: the trainer finishes for others' sake. */
    bool all_at_once;             /* Of what it computes nothing may leave early any more. */
    bool have_parameters;         /* Of `step`, since the latest START. */
    uint64_t apart_below;         /* Gradients of lesser steps may still be held somewhere. */
    uint32_t rounds;              /* Of asking for the newest, since the last success. */
    uint64_t ask_at_us;           /* Ask for the newest then; 0: no need. */
    bool exchanged;               /* The exchange under way, or the last one, pushed a gradient. */
    struct times times;           /* Since the last report, for the next. */
    enum wait waited;             /* For what the trainer waits, as server 0 has said last, ... */
    uint32_t whom;                /* ... and one more than the worker that it is for, or 0. */
    uint64_t spread, part_spread; /* Of the parameters that are here; see version_skew.h. */
    uint64_t complete_us;         /* When the parameters were all here. */
    uint64_t scored_from_us, scored_to_us; /* When the trainer scored last. */

    /* Since when. */
    uint64_t waiting_us; /* The trainer waits, or server 0 has said something new. */
    uint64_t busy_us;    /* The trainer computes this one gradient or score. */
    uint64_t leave_us;   /* It was asked to leave. */
    uint64_t stopped_us; /* For how long this process was stopped while it computed that. */

    int leave_code; /* With which it is to leave. */
    bool end_told;  /* The trainer knows that it is over. */
};

/* See common/base/invariant.h. */
void session_check(const struct session *session);

#endif
