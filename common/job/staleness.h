/* staleness.h - how old the gradients were: of every gradient that a chunk has had, in a mode in which
 * gradients grow stale, the updates of that chunk between the version it was made from and its own.
 *
 * Each (gradient, chunk) counts once, also one that was left out because it is not finite: it is an
 * update by nothing. What was undone by going back to a checkpoint is not in it.
 *
 * What it has to sum up to is known. Let a chunk have had U updates, of W workers, and let every
 * worker hold, for each gradient, what its gradient before had made (for its first: what all
 * began with). Then, for every chunk,
 *
 *     sum of staleness = U (W - 1) - sum over workers of the updates after its last one
 *
 * whatever anybody's speed: so the mean is about W - 1, and only the shape says anything. Who began
 * later, came back, or was given newer values before a batch (ssp) held more than that; what that took
 * off is `renewed`, so that always, in every chunk and so over all,
 *
 *     shape.sum + renewed = expected
 *
 * A going back begins anew with the checkpoint's values, in every chunk.
 *
 * Threads: plain values. */

#ifndef COMMON_JOB_STALENESS_H
#define COMMON_JOB_STALENESS_H

#include "common/base/histogram.h"

struct staleness {
    struct histogram shape;
    uint64_t expected; /* The right side above, over all chunks; shape.sum is the left one. */
    uint64_t renewed;  /* Updates that gradients were made from which no gradient of that worker had
                        * brought it, nor the beginning. */
};

/* One worker's part of it. */
struct staleness_share {
    uint64_t count, sum, max;
};

#endif
