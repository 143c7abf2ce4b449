/* statistics.h - counts the scores of updates: loss and correct predictions travel as one more
 * node of each step and are counted once, however often they are reported.
 *
 * Nodes of one step may be cut differently, because its leaves were dealt anew on the way. As
 * with gradients a node at or below one that is here is ignored, and one above some that are
 * here takes their place. Sums are integers, so they do not depend on the order of arrival.
 *
 * Training can go back to a checkpoint: later counts are forgotten and made again. A checkpoint has
 * the sums of its epoch before it, so that the epoch in which a run goes on is counted whole. They
 * are noted when training passes its step, which must have been marked before.
 *
 * Threads: the coordinator's. */

#ifndef PS_WORK_STATISTICS_H
#define PS_WORK_STATISTICS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/job.h"
#include "common/job/tally.h"
#include "common/job/windows.h"
#include "common/wire/message.h"
#include "ps/shard/batch_set.h"

#define STATISTICS_OPEN_STEPS 4 /* Sync: workers are at most one step apart. */

struct statistics_node {
    struct node node;
    struct tally tally;
};

struct open_step {
    uint64_t step;
    struct statistics_node *nodes; /* [node_count], siblings joined; owned. */
    uint32_t node_count;
    size_t node_capacity;
};

/* The two latest epochs, by epoch % 2. */
struct statistics_epochs {
    uint64_t since;      /* The first update that counts here. */
    uint64_t numbers[2]; /* UINT64_MAX for none. */
    struct tally tallies[2];
};

/* What an epoch scored as it was trained: of all its updates, or of those that have been counted
 * (its first part is unknown when the checkpoint that a run went on from did not tell it). */
struct statistics_epoch {
    uint64_t number; /* From 0. */
    struct tally tally;
};

/* Of the checkpoint being made. */
struct statistics_mark {
    uint64_t step; /* UINT64_MAX for none. */
    bool passed;   /* All updates before it have been counted: */
    struct tally_so_far so_far;
};

struct statistics {
    const struct job *job;
    struct open_step open[STATISTICS_OPEN_STEPS]; /* Sync: place step % STATISTICS_OPEN_STEPS. */
    struct batch_set batches;                     /* Async. */
    struct tally window;                          /* Since statistics_take_window. */
    struct statistics_epochs epochs;
    struct statistics_epoch finished[2]; /* [finished_count], for statistics_take_epoch. */
    unsigned finished_count;
    struct windows windows;
    struct window whole; /* For statistics_take_whole, if ... */
    bool has_whole;      /* ... there is one. */
    struct statistics_mark mark;
    uint64_t first;   /* Where this session's count starts. */
    uint64_t updates; /* In this session, each once. */
    uint64_t step;    /* Highest update counted whole, plus one. Async: see statistics_made. */
};

/* `so_far`: what the epoch and the window of first_step had scored before it, as far as it is
 * known. STATUS_MEMORY. */
enum status statistics_init(struct statistics *statistics, const struct job *job,
                            uint64_t first_step, const struct tally_so_far *so_far);
void statistics_free(struct statistics *statistics);

/* Count a report; false when it was counted before or does not fit the job. One of a bad gradient
 * counts its batch, which has no loss then. */
bool statistics_report(struct statistics *statistics, const struct message_report *report);

/* The step is whole: what it scored, of one update. For modes that find that out themselves. */
void statistics_count_step(struct statistics *statistics, uint64_t step, const struct tally *tally);

/* Sync: whether any of these leaves of the open step (number `step`) has not been reported. */
bool statistics_lacks(const struct statistics *statistics, struct node leaves);

/* A checkpoint will be made at this step; async: all before it, and nothing else, is counted. */
void statistics_mark(struct statistics *statistics, uint64_t step);

/* What the epoch and the window of the marked step had scored before it, for its checkpoint. Of no
 * updates where that is their first step, or not all before it is counted. */
struct tally_so_far statistics_so_far(const struct statistics *statistics, uint64_t step);

/* Forget all updates from this step on; how many had been counted. `so_far`: as above. */
uint64_t statistics_go_back(struct statistics *statistics, uint64_t step,
                            const struct tally_so_far *so_far);

/* What came in since the last call. */
struct tally statistics_take_window(struct statistics *statistics);

/* Updates made in all, earlier sessions included. Async: others with lower numbers may be under
 * way. */
uint64_t statistics_made(const struct statistics *statistics);

/* The epoch under way: that of the last update by the number of those made. A tally of nothing when
 * this session has counted none of it. */
struct statistics_epoch statistics_epoch_now(const struct statistics *statistics);

/* The next epoch that is complete, or that others have left behind so far that it is given up
 * (async, with a worker that holds up one batch for more than an epoch). False: there is none. To
 * be called after each statistics_report that counted. */
bool statistics_take_epoch(struct statistics *statistics, struct statistics_epoch *epoch);

/* The window of --report-every that the last report has completed, if it has. To be called after each
 * statistics_report that counted. */
bool statistics_take_whole(struct statistics *statistics, struct window *window);

/* See common/base/invariant.h; also that all epochs have been taken. */
void statistics_check(const struct statistics *statistics);

#endif
