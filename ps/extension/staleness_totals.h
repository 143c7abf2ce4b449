/* staleness_totals.h - adds up all servers' counts of staleness (ps/extension/staleness_counters.h)
 * at server 0, without those of undone updates:
 *
 *     a server reports  live                        twice a second, and with each snapshot
 *     CUT_TAKEN         live -> at_snapshot         the figures as of that snapshot
 *     the manifest      at_snapshot -> kept         that snapshot is the newest checkpoint
 *     going back        kept -> earlier             later reports are forgotten, as they are undone
 *
 * The whole is the sum of `earlier` and all `live`. A process that becomes server 0 in the
 * middle of a run begins anew. Of a run that goes back to an older checkpoint than the newest
 * (it is damaged) nothing is known up to there, and nothing is kept. Without memory for a
 * number, figures lack it.
 *
 * Threads: the coordinator's. */

#ifndef PS_EXTENSION_STALENESS_TOTALS_H
#define PS_EXTENSION_STALENESS_TOTALS_H

#include "ps/extension/staleness_counters.h"

struct totals_place {
    struct staleness_tally live, at_snapshot, kept;
};

struct staleness_totals {
    struct totals_place *servers; /* [server_count], owned. */
    uint32_t server_count;
    uint64_t kept_step; /* Of `kept`. */
    struct staleness_tally earlier;
};

/* Training begins, or goes on, at this step. */
enum status staleness_totals_init(struct staleness_totals *totals, uint32_t server_count,
                                  uint64_t step);
void staleness_totals_free(struct staleness_totals *totals);

/* A server's report; of two the one that has counted more is the later. Others than tallies are
 * ignored. */
void staleness_totals_hear(struct staleness_totals *totals, uint32_t server,
                           const struct frame *frame);

/* Its last report is as of its snapshot. */
void staleness_totals_snapshot(struct staleness_totals *totals, uint32_t server);

/* The snapshot at this step is a checkpoint. */
void staleness_totals_keep(struct staleness_totals *totals, uint64_t step);

void staleness_totals_go_back(struct staleness_totals *totals, uint64_t step);

/* Add up all; `tally` is the caller's to free, and is empty before. */
void staleness_totals_sum(const struct staleness_totals *totals, struct staleness_tally *tally);

/* The staleness of all gradients, a struct histogram; NULL of none, and without memory. */
struct frame *staleness_totals_shape(const struct staleness_totals *totals);

/* Mean and maximum alone; NaN and 0 of none. */
double staleness_totals_mean(const struct staleness_totals *totals, uint64_t *max);

#endif
