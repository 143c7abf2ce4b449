/* leases.h - async: leases batches to workers.
 *
 * Batches are given out in order, a few at a time to each worker, so a slow one takes fewer. A
 * lost worker's batches go to others first. At a gate no later batch is given out until every
 * earlier one has been applied everywhere: there the model is a snapshot, and a checkpoint can
 * be taken that any number of servers can read.
 *
 *     leased: [done ......... done | open open done open | next ... gate ) not yet
 *
 * When all servers have gone back to a checkpoint every batch from there on is given out again,
 * as if it had never been.
 *
 * Threads: the coordinator's. */

#ifndef PS_WORK_LEASES_H
#define PS_WORK_LEASES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "ps/shard/batch_set.h"

/* One being computed and one to go on with, so that no worker waits for a round trip. */
#define LEASES_A_WORKER 2

struct leases {
    uint32_t worker_count;
    uint64_t next;  /* First batch not given out since the last going back. */
    uint64_t gate;  /* Batches from here on wait. */
    uint64_t limit; /* There are no batches from here on. */
    struct batch_set done;
    uint64_t (*held)[LEASES_A_WORKER]; /* [worker_count]; UINT64_MAX for a free place. Owned. */
    uint64_t *returned;                /* [returned_count] to be given out again. Owned. */
    uint32_t returned_count, returned_capacity;
};

enum status leases_init(struct leases *leases, uint32_t worker_count, uint64_t first,
                        uint64_t limit);
void leases_free(struct leases *leases);

/* Make room for at least so many workers. */
enum status leases_grow(struct leases *leases, uint32_t worker_count);

/* Whether there is a batch that can be given out now. */
bool leases_has_more(const struct leases *leases);

/* Give the worker one more batch, if it has a free place and there is one before the gate. */
bool leases_take(struct leases *leases, uint32_t worker, uint64_t *batch);

/* Every chunk has answered for this batch of the worker's. Repeats change nothing. */
void leases_finish(struct leases *leases, uint32_t worker, uint64_t batch);

/* The worker's batches, earliest first; how many. */
unsigned leases_held(const struct leases *leases, uint32_t worker,
                     uint64_t batches[LEASES_A_WORKER]);

/* The worker is gone: its batches are for others. */
void leases_return(struct leases *leases, uint32_t worker);

/* Give everything from `first` on out again. */
void leases_go_back(struct leases *leases, uint64_t first);

/* Whether every batch given out is done. */
bool leases_drained(const struct leases *leases);

/* Give out no more: the job ends with the batches given out. */
void leases_stop(struct leases *leases);

/* Whether all batches of the worker are done. */
bool leases_idle(const struct leases *leases, uint32_t worker);

/* Whether there is no batch to give out any more, unless a worker is lost. */
bool leases_exhausted(const struct leases *leases);

/* See common/base/invariant.h. */
void leases_check(const struct leases *leases);

#endif
