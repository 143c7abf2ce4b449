/* ledger.h - counts what the updates scored: loss and correct predictions travel as one more node
 * of each step and are counted once, whoever reports them and how often.
 *
 * Nodes of one step may be cut differently, because its leaves were dealt anew on the way. As with
 * gradients a node at or below one that is here is ignored, and one above some that are here takes
 * their place. Sums are integers, so they do not depend on the order of arrival.
 *
 * Sync mode can go back to a step: what came after it is forgotten and counted again. How the
 * epoch stood at a step that may be gone back to must have been marked before it was passed.
 *
 * Threads: the coordinator's. */

#ifndef PS_COORDINATOR_LEDGER_H
#define PS_COORDINATOR_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/job.h"
#include "common/wire/message.h"
#include "ps/shard/batch_set.h"

#define LEDGER_OPEN_STEPS 4 /* Sync: workers are at most one step apart. */
#define LEDGER_MARKS      2 /* The newest whole checkpoint and the one being made. */

/* What a run of updates scored. */
struct tally {
    int64_t loss; /* 2^-24 nats. */
    uint64_t correct, examples, updates;
};

struct ledger_node {
    struct node node;
    struct tally tally;
};

struct open_step {
    uint64_t step;
    struct ledger_node *nodes; /* [node_count], siblings joined; owned. */
    uint32_t node_count, node_capacity;
};

/* The two latest epochs, by epoch % 2. */
struct ledger_epochs {
    uint64_t since;      /* The first update that counts here. */
    uint64_t numbers[2]; /* UINT64_MAX for none. */
    struct tally tallies[2];
};

/* What an epoch scored as it was trained: of all its updates that this session has counted. */
struct ledger_epoch {
    uint64_t number; /* From 0. */
    struct tally tally;
};

struct ledger_mark {
    uint64_t step; /* UINT64_MAX for none. */
    bool passed;   /* All updates before it have been counted. */
    struct ledger_epochs epochs;
};

struct ledger {
    const struct job *job;
    struct open_step open[LEDGER_OPEN_STEPS]; /* Sync: place step % LEDGER_OPEN_STEPS. */
    struct batch_set batches;                 /* Async. */
    struct tally window;                      /* Since ledger_take_window. */
    struct ledger_epochs epochs;
    struct ledger_epoch finished[2]; /* [finished_count], for ledger_take_epoch. */
    unsigned finished_count;
    struct ledger_mark marks[LEDGER_MARKS];
    uint64_t first;   /* Where this session's count starts. */
    uint64_t updates; /* In this session, each once. */
    uint64_t step;    /* Highest update counted whole, plus one. Async: see ledger_made. */
};

void ledger_init(struct ledger *ledger, const struct job *job, uint64_t first_step);
void ledger_free(struct ledger *ledger);

/* Count a report; false when it was counted before or does not fit the job. One of a bad gradient
 * counts its batch, which has no loss then. */
bool ledger_report(struct ledger *ledger, const struct message_report *report);

/* Sync: whether any of these leaves of the open step (number `step`) has not been reported. */
bool ledger_lacks(const struct ledger *ledger, struct node leaves);

/* Sync: a checkpoint will be made at this step. `whole`: the step of the newest that there is,
 * whose mark is kept. */
void ledger_mark(struct ledger *ledger, uint64_t step, uint64_t whole);

/* Sync: forget all updates from this step on. */
void ledger_go_back(struct ledger *ledger, uint64_t step);

/* What came in since the last call. */
struct tally ledger_take_window(struct ledger *ledger);

/* Updates made in all, earlier sessions included. Async: others with lower numbers may be under
 * way. */
uint64_t ledger_made(const struct ledger *ledger);

/* The epoch under way: that of the last update by the number of those made. A tally of nothing when
 * this session has counted none of it. */
struct ledger_epoch ledger_epoch_now(const struct ledger *ledger);

/* The next epoch that is complete, or that others have left behind so far that it is given up
 * (async, with a worker that holds up one batch for more than an epoch). False: there is none. To
 * be called after each ledger_report that counted. */
bool ledger_take_epoch(struct ledger *ledger, struct ledger_epoch *epoch);

double tally_loss(const struct tally *tally);     /* Mean; NaN for none. */
double tally_accuracy(const struct tally *tally); /* 0 to 1; NaN for none. */

#endif
