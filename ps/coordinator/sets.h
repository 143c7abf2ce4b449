/* sets.h - where a step is made of the leaves of some workers (ps/work/quorum.h): has decided
 * sets written down, and announces them.
 *
 *     decided --[sets_tell]--> with the set writer --[sets_written]--> written
 *        '-- not recorded ----------------------------------------------^  |
 *     counted [sets_count_step]  <-- servers have it: CLOSE, in START <--[sets_tell]
 *
 * dealt and announced <= quorum.written <= quorum.end: no set is announced before it is written
 * down. A set is repeated [sets_repeat] until no server can lack it.
 *
 * In modes whose steps have all leaves nothing happens here.
 *
 * Threads: the coordinator's. */

#ifndef PS_COORDINATOR_SETS_H
#define PS_COORDINATOR_SETS_H

#include "common/process/log_once.h"
#include "ps/coordinator/run.h"

/* Sets of earlier steps than these: */
struct sets {
    uint64_t sent;           /* Are with the set writer. */
    uint64_t written;        /* Are written down. */
    uint64_t announced;      /* Servers have them. */
    uint64_t dealt;          /* Workers have them, by START. */
    uint64_t again;          /* Were sent before all went back. */
    bool ended;              /* No more are written down. */
    enum event_kind said;    /* Whether steps can do without some workers: as the last line said. */
    struct log_once foreign; /* The run is another's. */
};

/* All go on from run.first_step, with the sets that were sent from there on: a list, or NULL. */
enum status sets_begin(struct sets *s, const struct run *run, const struct frame *list);
/* A worker's report, of so many seconds. */
enum quorum_result sets_report(const struct run *run, const struct packet *packet, double seconds);
/* After QUORUM_COUNTED: the step is made, as far as it is known here. */
void sets_count_step(const struct sets *s, struct run *run);
/* Send decided sets that are written down; else have them written. */
struct effect sets_tell(struct sets *s, const struct run *run);
struct effect sets_repeat(const struct sets *s, const struct run *run, const struct member *server);
/* Whether more can be sent. */
bool sets_written(struct sets *s, const struct run *run, const struct order_written *written);
/* The work is dealt anew; and the sets of START: NULL without any, and without memory. */
void sets_deal(struct sets *s, const struct run *run);
struct frame *sets_of_start(const struct sets *s, const struct run *run);

#endif
