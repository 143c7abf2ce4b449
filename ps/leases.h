/* leases.h - async: which worker computes which batch.
 *
 * Batches are given out in order, a few at a time to each worker, so a slow one takes fewer. At a
 * gate no later batch is given out until every earlier one has been applied everywhere: there the
 * model is a cut, and a checkpoint can be taken that any number of servers can read.
 *
 *     leased: [done ......... done | open open done open | next ... gate ) not yet
 *
 * Threads: the coordinator's. */

#ifndef PS_LEASES_H
#define PS_LEASES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "ps/batch_set.h"

/* One being computed and one to go on with, so that no worker waits for a round trip. */
#define LEASES_A_WORKER 2

struct leases {
    uint32_t worker_count;
    uint64_t next;  /* First batch never given out. */
    uint64_t gate;  /* Batches from here on wait. */
    uint64_t limit; /* There are no batches from here on. */
    struct batch_set done;
    uint64_t (*held)[LEASES_A_WORKER]; /* [worker_count]; UINT64_MAX for a free place. Owned. */
};

enum status leases_init(struct leases *leases, uint32_t worker_count, uint64_t first,
                        uint64_t limit);
void leases_free(struct leases *leases);

/* Give the worker one more batch, if it has a free place and there is one before the gate. */
bool leases_take(struct leases *leases, uint32_t worker, uint64_t *batch);

/* Every chunk has answered for this batch of the worker's. Repeats change nothing. */
void leases_finish(struct leases *leases, uint32_t worker, uint64_t batch);

/* Whether every batch given out is done. */
bool leases_drained(const struct leases *leases);

/* No more than what has been given out: that is where the job ends. */
void leases_stop(struct leases *leases);

/* Whether the worker has no batch that is not done. */
bool leases_idle(const struct leases *leases, uint32_t worker);

/* Whether the worker will get no batch any more. */
bool leases_exhausted(const struct leases *leases);

#endif
