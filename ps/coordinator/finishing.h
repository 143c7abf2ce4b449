/* finishing.h - a stop, the last checkpoint's deadlines, and FINISHED to all members.
 *
 *     any --[finishing_stop]--> before training: EFFECT_STOPPED;  else EFFECT_STOPPING, at most
 *                            deadlines.stop long [finishing_watch]
 *     RUNNING --all workers are done--> CLOSING: the last snapshot, then (run.closed) the summary;
 *                            each with a deadline [finishing_watch]
 *     any --[finishing_finish]--> FINISHING: [finishing_tell_members] again and again
 *                            --all have said BYE [finishing_hear], or a deadline
 *                              [finishing_tick]--> OVER
 *
 * What can be trusted: exit_code is that of a stop before FINISHING, and final from there on;
 * the reason is "" before.
 *
 * Threads: the coordinator's. Time arrives as an argument. */

#ifndef PS_COORDINATOR_FINISHING_H
#define PS_COORDINATOR_FINISHING_H

#include "ps/coordinator/run.h"

#define WATCHERS_MAX 16

struct finishing {
    uint64_t stop_us;
    int exit_code;
    char reason[MESSAGE_TEXT_MAX];
    uint64_t sent_us; /* When members heard last of the end. */
    /* Peers that wait for the end: the last that asked, by number % WATCHERS_MAX. */
    uint64_t watchers[WATCHERS_MAX];
    uint64_t watcher_count; /* Of all that asked; PEER_LOCAL: not any more. */
    bool turned_away;       /* A process was asked to wait for the end. */
    bool own_router_left;   /* Although it had never become a member. */
    bool known;             /* A process of an earlier run has spoken. */
};

/* --- a stop -------------------------------------------------------------------------------- */

/* A process was asked to stop (a signal): an exit code of a clean stop. */
struct effect finishing_stop(struct finishing *f, struct run *run, int exit_code,
                             const char *reason);
/* STOP of a member: as a process was asked, or because it has failed. */
struct effect finishing_hear_stop(struct finishing *f, struct run *run,
                                  const struct packet *packet);
/* It found no worker, and chunks that are not all at one version. */
struct effect finishing_deserted(const struct finishing *f, const struct run *run);
/* Deadlines of a stop, and of CLOSING. `taken`: all servers have taken the last snapshot. */
struct effect finishing_watch(const struct finishing *f, const struct run *run, bool taken);
/* Whether a process that wants to join is too late; it has its answer then. */
bool finishing_turn_away(struct finishing *f, const struct run *run, const struct packet *packet);

/* --- the end ------------------------------------------------------------------------------- */

void finishing_finish(struct finishing *f, const struct run *run, int exit_code,
                      const char *reason);
void finishing_tell_members(struct finishing *f, const struct run *run);
/* To observers that asked, once: they hear no more. */
void finishing_tell_watchers(const struct finishing *f, const struct run *run,
                             const struct message_status_answer *answer);
/* To any peer that asks. */
void finishing_answer(const struct finishing *f, const struct run *run,
                      const struct packet *packet);
/* A message after the end, but JOIN that is refused, STATUS and DISMISS. These three:
 * EFFECT_OVER when all have heard of the end. */
struct effect finishing_hear(struct finishing *f, const struct run *run,
                             const struct packet *packet, struct member *member);
/* An observer asks. */
struct effect finishing_note_watcher(struct finishing *f, const struct run *run,
                                     const struct packet *packet);
/* Also after a deadline; else members hear again. */
struct effect finishing_tick(struct finishing *f, const struct run *run);

#endif
