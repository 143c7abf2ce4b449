/* staleness_ledger.h - what all servers say of staleness (ps/shard/staleness_book.h), put together at
 * server 0 so that updates which are undone are not in it:
 *
 *     a server says     live                 twice a second, and with each cut
 *     CUT_TAKEN         live -> at_cut       the figures as of that cut
 *     the manifest      at_cut -> kept       that cut is the newest checkpoint
 *     going back        kept -> earlier      and what was said since is forgotten, as it is undone
 *
 * The whole is what `earlier` and all `live` add up to. A process that becomes server 0 in the middle
 * of a run begins anew. Of a run that goes back to an older checkpoint than the newest (it is damaged)
 * nothing is known up to there, and nothing is kept. Without memory for a number, figures lack it.
 *
 * Threads: the coordinator's. */

#ifndef PS_WORK_STALENESS_LEDGER_H
#define PS_WORK_STALENESS_LEDGER_H

#include "ps/shard/staleness_book.h"

struct ledger_place {
    struct staleness_tally live, at_cut, kept;
};

struct staleness_ledger {
    struct ledger_place *servers; /* [server_count], owned. */
    uint32_t server_count;
    uint64_t kept_step; /* Of `kept`. */
    struct staleness_tally earlier;
};

/* Training begins, or goes on, at this step. */
enum status staleness_ledger_init(struct staleness_ledger *ledger, uint32_t server_count,
                                  uint64_t step);
void staleness_ledger_free(struct staleness_ledger *ledger);

/* What a server says now; of two the one that has counted more is the later. What is no tally is not
 * looked at. */
void staleness_ledger_hear(struct staleness_ledger *ledger, uint32_t server,
                           const struct frame *frame);

/* It has taken its cut, with what it has just said. */
void staleness_ledger_cut(struct staleness_ledger *ledger, uint32_t server);

/* The cut at this step is a checkpoint. */
void staleness_ledger_keep(struct staleness_ledger *ledger, uint64_t step);

void staleness_ledger_go_back(struct staleness_ledger *ledger, uint64_t step);

/* Add up all; `tally` is the caller's to free, and is empty before. */
void staleness_ledger_total(const struct staleness_ledger *ledger, struct staleness_tally *tally);

/* How stale the gradients of all were, a struct histogram; NULL of nothing, and without memory. */
struct frame *staleness_ledger_shape(const struct staleness_ledger *ledger);

/* Mean and maximum alone; NaN and 0 of nothing. */
double staleness_ledger_mean(const struct staleness_ledger *ledger, uint64_t *max);

#endif
