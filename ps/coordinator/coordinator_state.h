/* coordinator_state.h - the machines of the coordinator, for the files that see them all:
 *
 *   coordinator.c        dispatch: calls machines, and acts on their effects
 *   describe.c           the job's state, for observers and in answers to members
 *   coordinator_check.c  invariants over several machines
 *
 *          coordinator.c      dispatch; what a machine says to the others goes through it
 *    .-----------+-------------------------------------------------------------.
 *    v           v          v        v      v        v         v                v
 *  members  gathering  training    sets  scorer  snapshot  finishing          reporter
 *    members, their     the work: leases,  the snapshot     the end    listens, and may look
 *    leashes; going     deals, reports,                                at all machines
 *    back and on        scores
 *                  run.h: what all of them see
 *
 * Threads: the coordinator's. */

#ifndef PS_COORDINATOR_COORDINATOR_STATE_H
#define PS_COORDINATOR_COORDINATOR_STATE_H

#include "ps/coordinator/finishing.h"
#include "ps/coordinator/gathering.h"
#include "ps/coordinator/members.h"
#include "ps/coordinator/reporter.h"
#include "ps/coordinator/sets.h"

struct coordinator {
    struct run run;
    struct members members;
    struct awaited awaited;
    struct gathering gathering;
    struct training training;
    struct sets sets;
    struct scorer scorer;
    struct snapshot snapshot;
    struct finishing finishing;
    struct reporter reporter;
};

/* See common/base/invariant.h. */
void coordinator_check(const struct coordinator *c);

/* What a member waits for, in the answer to its sign of life: text[MESSAGE_TEXT_MAX]. */
void coordinator_describe_wait(const struct coordinator *c, const struct message *message,
                               char *text);

#endif
