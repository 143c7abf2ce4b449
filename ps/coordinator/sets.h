/* sets.h - where a step is made of the leaves of some workers (ps/work/quorum.h): announces decided
 * sets.
 *
 *     reports --[sets_report]--> decided --> servers have it: CLOSE
 *                                   '------> counted [sets_count_step], in START [sets_of_start]
 *
 * A set is repeated [sets_repeat] until no server can lack it. It is in the record before a
 * checkpoint that has it [snapshot_collect].
 *
 * In modes whose steps have all leaves nothing happens here.
 *
 * Threads: the coordinator's. */

#ifndef PS_COORDINATOR_SETS_H
#define PS_COORDINATOR_SETS_H

#include "ps/coordinator/run.h"

struct sets {
    enum event_kind said; /* Whether steps can do without some workers: as the last line said. */
};

/* A worker's report, of so many seconds. */
enum quorum_result sets_report(const struct run *run, const struct packet *packet, double seconds);
/* After QUORUM_COUNTED: the step is made, as far as it is known here. */
void sets_count_step(struct run *run);
/* Send what is decided once more. */
struct effect sets_repeat(const struct run *run, const struct member *server);
/* The work is dealt anew; and the sets of START: NULL without any, and without memory. */
void sets_deal(struct sets *s, const struct run *run);
struct frame *sets_of_start(const struct run *run);

#endif
