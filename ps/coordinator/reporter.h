/* reporter.h - the figures of a run for people: what run.json, progress lines and events of epochs,
 * windows and scores say. It listens: dispatch tells it what the machines have done, and no
 * machine asks it.
 *
 *     a state entered, a snapshot begun or over --[reporter_look]--> phases, faults
 *     a report that counts     --[reporter_report]--> batches, examples, spread; progress, windows
 *     a snapshot's step        --[reporter_look]--> its counts so far
 *     the same is a checkpoint --[reporter_mark_whole]--> what counts go back to [reporter_go_back]
 *     a score                  --[reporter_score]
 *     the end                  --[reporter_write]--> the summary
 *
 * Counts of members are in their places (membership.h: summary, verdicts).
 *
 * Threads: the coordinator's. Elapsed time is run_wall's. */

#ifndef PS_COORDINATOR_REPORTER_H
#define PS_COORDINATOR_REPORTER_H

#include "common/base/run_phases.h"
#include "common/trace/times.h"
#include "ps/coordinator/run.h"
#include "ps/coordinator/scorer.h"
#include "ps/coordinator/snapshot.h"
#include "ps/coordinator/training.h"
#include "ps/extension/staleness_totals.h"

struct reporter {
    struct run_summary summary;
    struct staleness_totals staleness; /* What servers say of it. */
    enum run_phase seen;               /* As of the last look. */
    bool beside;                       /* The same: a snapshot is being written. */
    /* Training has come to this step of a snapshot, whose counts are marked; NO_STEP: of none. */
    uint64_t marked_step;
    double counted_seconds; /* Of training, before summary.counted_from. */
    /* Of the checkpoint that counts were marked at, or where the session began. */
    uint64_t whole_step;
    /* As of the snapshot under way, and the checkpoint. */
    struct run_spread spread_snapshot, spread_whole;
    struct run_faults noted; /* The faults in run.json, but for `fenced`. */
    uint64_t noted_us;       /* When they were written. */
    double windows_from;     /* Training seconds at the end of the last window; NaN: not known. */
};

void reporter_init(struct reporter *r, uint64_t now_us);
enum status reporter_open(struct reporter *r, const struct run *run);

/* After each message and tick, and before figures are read. */
void reporter_look(struct reporter *r, struct run *run, const struct snapshot *snapshot,
                   const struct training *training, const struct scorer *scorer);
/* Training begins for the first time. */
void reporter_start(struct reporter *r, const struct run *run);
/* All go back to run.first_step; so many counted updates will be made again. */
void reporter_go_back(struct reporter *r, struct run *run, uint64_t again);
/* There is a checkpoint at run.whole. */
void reporter_mark_whole(struct reporter *r, struct run *run);

/* A worker's times: sums, of which the growth since its last report counts, whatever else becomes
 * of the message. A process that has lost its place is not heard any more. The seconds of
 * computing that are new. */
double reporter_take_times(struct run *run, const struct message *message,
                           const struct message_times *times);
/* A report that counts. */
void reporter_add_report(struct member *worker, const struct message_report *report);
void reporter_report(struct reporter *r, const struct run *run,
                     const struct message_report *report);
/* After the same: a progress line, and windows and epochs that are complete. */
void reporter_say_progress(struct reporter *r, struct run *run);
/* A score that is whole has held up training for so long. */
void reporter_score(struct reporter *r, const struct run *run, const struct evaluation *evaluation,
                    uint64_t held_up_us);
/* Have faults written down, so that a successor goes on counting. */
void reporter_note_faults(struct reporter *r, const struct run *run);
/* The results. False: without memory for them. */
bool reporter_write(struct reporter *r, struct run *run, enum run_state state, int exit_code,
                    const char *reason);

/* For observers. */
void reporter_describe(const struct reporter *r, const struct run *run, struct job_figures *job);

/* See common/base/invariant.h. */
void reporter_check(const struct reporter *r, uint64_t driven_us);

#endif
