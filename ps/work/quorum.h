/* quorum.h - on server 0, where a step does not wait for all its workers: decides which leaves
 * make each step, and adds up their scores.
 *
 *     reports of a step --> R workers have reported their whole runs: the set is decided
 *           |                                   |
 *           |                            it is sent (CLOSE), and kept
 *           '--> all leaves of the set are reported: the step is counted, the next one is open
 *
 * R is the number of declared workers without the backup ones, or all that have leaves if those
 * are fewer. A step with fewer leaves than workers waits for all that have a leaf: the others
 * would not help, and without one of them it might have no worker to make it (CONTRACT.md).
 *
 * A set is decided once. Sets are kept since the newest checkpoint, for the record of the next. After
 * a going back they are forgotten, and decided anew.
 *
 * Reports of nodes are kept as they come until the step is counted. The nodes are then those
 * that make the sum of gradients (pruned.h), each report once. A report that is not in the set,
 * or comes after its step, is dropped, and counted.
 *
 * Threads: the coordinator's. */

#ifndef PS_WORK_QUORUM_H
#define PS_WORK_QUORUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/job/tally.h"
#include "common/steps/leaf_set.h"
#include "common/wire/message.h"
#include "ps/work/policy.h"

#define QUORUM_NO_PLACE UINT32_MAX

struct reported_node {
    struct message_report report;
    uint32_t worker;
    double seconds; /* Its worker's computing time for it. */
    bool counts;    /* It is in the set of a counted step. */
};

/* Dropped since the session began; going back takes back what is made again. */
struct quorum_dropped {
    uint64_t examples; /* Of the steps made, those in no set: no update has them. */
    uint64_t reports;  /* Gradients that were computed and not used. */
    double seconds;    /* Their workers' computing time, together. */
};

struct quorum {
    const struct job *job;
    const struct policy *policy;   /* NULL: R decides. */
    struct leaf_set kept;          /* Leaves of the open step that the policy holds. */
    uint32_t required;             /* Workers: the declared ones without the backup workers. */
    uint32_t members;              /* Workers with a place now; 0: nothing is dealt. */
    uint64_t step;                 /* The open one. */
    struct reported_node *reports; /* [report_count] of the open step. Owned. */
    size_t report_count, report_capacity;
    struct leaf_set done;        /* Leaves reported by the workers that have them. */
    bool whole[JOB_WORKERS_MAX]; /* By place in the row: its run is whole. */
    uint32_t whole_count;
    /* Sets of the steps [first, end), in a list without its start. */
    uint64_t first, end;
    uint8_t *bytes; /* [byte_count] Owned. */
    size_t byte_count, byte_capacity;
    size_t *places; /* [end - first] where each set begins. Owned. */
    size_t place_capacity;
    struct quorum_dropped dropped;
    uint64_t examples_before; /* Dropped from steps before `first`. */
};

/* policy: NULL, or it decides. Borrowed. */
void quorum_init(struct quorum *quorum, const struct job *job, const struct policy *policy,
                 uint64_t first);
void quorum_free(struct quorum *quorum);

/* All go on from `step` of a checkpoint. */
void quorum_go_back(struct quorum *quorum, uint64_t step);
/* There is a whole checkpoint at this step: older sets are useless. */
void quorum_forget(struct quorum *quorum, uint64_t step);

/* The row of workers has changed: reports stay, but the workers that have to report are others. */
void quorum_deal(struct quorum *quorum, uint32_t members);

/* How many workers have to report the open step. */
uint32_t quorum_needed(const struct quorum *quorum);

enum quorum_result {
    QUORUM_KEPT,    /* More have to come. */
    QUORUM_STRANGE, /* It fits no step, or was here before. */
    QUORUM_LATE,    /* Its step is over: dropped. */
    QUORUM_COUNTED, /* The step is counted: see quorum_counted. */
    QUORUM_MEMORY,
};

/* A worker's report; `place`: in the row, QUORUM_NO_PLACE when it has none. */
enum quorum_result quorum_report(struct quorum *quorum, const struct message_report *report,
                                 uint32_t worker, uint32_t place, double seconds);
/* After QUORUM_COUNTED: the step's score. Its reports[report_count], with marks on those that
 * count, are there until quorum_go_on, which opens the next step. */
struct tally quorum_counted(const struct quorum *quorum);
void quorum_go_on(struct quorum *quorum);

/* Whether this place in the row has leaves that the open step waits for. */
bool quorum_owes(const struct quorum *quorum, uint32_t place);

/* --- announcing ------------------------------------------------------------------------------- */

/* The set of a step; false when it is not decided, or forgotten. */
bool quorum_set(const struct quorum *quorum, uint64_t step, struct leaf_set *set);
/* The sets of these steps, which are there, as a list behind so much room: a frame. NULL without
 * memory. */
struct frame *quorum_list(const struct quorum *quorum, size_t room, uint64_t first, uint64_t end);

/* See common/base/invariant.h. */
void quorum_check(const struct quorum *quorum);

#endif
