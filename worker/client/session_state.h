/* session_state.h - the fields of a session, for session.c, session_check.c and tests that spoil
 * them.
 *
 * Threads: the session's. */

#ifndef WORKER_CLIENT_SESSION_STATE_H
#define WORKER_CLIENT_SESSION_STATE_H

#include "common/trace/times.h"
#include "worker/client/announcements.h"
#include "worker/client/exchange.h"
#include "worker/client/scoring.h"
#include "worker/client/session.h"
#include "worker/mode/follow_mode.h"

enum trainer_phase { IDLE, BUSY, DONE };

/* What becomes of a gradient whose computing is overtaken: by a START of the same generation, which
 * may have given its leaves to others, or by another generation. */
enum abandoned { NOT_ABANDONED, FOR_OTHERS, IN_VAIN };

struct session {
    struct session_options options;
    struct joining joining;    /* Started with the first START. */
    struct envelope *envelope; /* The one of `joining`. */
    enum trainer_phase trainer;
    struct exchange exchange;
    struct replica replica; /* Where workers make the updates too; else empty. */
    struct follow follow;   /* The mode's state, and the steps that it is at. */
    struct announcements announcements;
    struct scoring scoring; /* Shares of scores, beside training. */

    /* From server 0. */
    struct message_start start; /* Of this generation; assignment 0: none yet. */
    /* Leaf sets of the closed steps, from `start`; NULL where steps are made of all leaves.
     * Owned. */
    struct frame *sets;
    uint64_t start_ticket; /* This worker's when the last START came. */
    bool rejoined;         /* Welcomed again since. */

    /* The trainer's side. */
    bool start_passed;        /* The trainer has `start`. */
    enum abandoned abandoned; /* What it computes; when that is finished, it begins anew. */
    bool all_at_once;         /* No part of what it computes may leave early any more. */
    bool have_parameters;     /* Of `step`, since the latest START. */
    uint64_t apart_below;     /* Gradients of lesser steps may still be in a server's hands. */
    uint32_t rounds;          /* Of asking for the newest, since the last success. */
    uint64_t ask_at_us;       /* Ask for the newest then; 0: no need. */
    struct times times;       /* Since the last report. */
    enum wait waited;         /* What the trainer waits for, by server 0's last word. */
    uint32_t whom;            /* One more than the worker that it waits for, or 0. */
    uint64_t complete_us;     /* When all parameters were here. */

    /* Times of begin. */
    uint64_t waiting_us; /* The trainer waits, or server 0 has said something new. */
    uint64_t busy_us;    /* The trainer computes this one gradient or score. */
    uint64_t leave_us;   /* It was asked to leave. */
    uint64_t stopped_us; /* How long this process was stopped while it computed that. */

    int leave_code;  /* Its exit code when it leaves. */
    bool end_passed; /* The trainer knows the end. */
};

/* See common/base/invariant.h. */
void session_check(const struct session *session);

#endif
