/* ledger.h - counts what the updates scored: loss and correct predictions travel as one more node
 * of each step and are counted once, whoever reports them and how often.
 *
 * Sums are integers, so they do not depend on the order of arrival.
 *
 * Threads: the coordinator's. */

#ifndef PS_LEDGER_H
#define PS_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job.h"
#include "common/message.h"
#include "ps/batch_set.h"

#define LEDGER_OPEN_STEPS 4 /* Sync: workers are at most one step apart. */

/* What a run of updates scored. */
struct tally {
    int64_t loss; /* 2^-24 nats. */
    uint64_t correct, examples, updates;
};

struct open_step {
    uint64_t step;
    struct tally tally;
    uint64_t leaves[TREE_LEAVES_MAX / 64]; /* Bits: counted. */
    uint32_t leaves_in;
};

struct ledger {
    const struct job *job;
    struct open_step open[LEDGER_OPEN_STEPS]; /* Sync: place step % LEDGER_OPEN_STEPS. */
    struct batch_set batches;                 /* Async. */
    struct tally window;                      /* Since ledger_take_window. */
    struct tally epochs[2];                   /* By epoch % 2. */
    uint64_t epoch_numbers[2];
    uint64_t updates; /* In this session. */
    uint64_t step;    /* Highest update counted whole, plus one. */
};

void ledger_init(struct ledger *ledger, const struct job *job, uint64_t first_step);

/* Count a report; false when it was counted before or does not fit the job. */
bool ledger_report(struct ledger *ledger, const struct message_report *report);

/* What came in since the last call. */
struct tally ledger_take_window(struct ledger *ledger);

/* The latest epoch that has anything. */
struct tally ledger_last_epoch(const struct ledger *ledger);

double tally_loss(const struct tally *tally);     /* Mean; NaN for none. */
double tally_accuracy(const struct tally *tally); /* 0 to 1; NaN for none. */

#endif
