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
 * Where several gradients make one update (--accumulate) a gradient's staleness is the updates between
 * its base and the version that it met; the answer brings what it left: one more when it was its
 * group's last, else the same. Let gradient i of n of a worker meet m_i and leave l_i = m_i + c_i, c_i =
 * 1 for a group's last, let it begin from l_(i-1) + r_i, r_i being renewed, and l_0 be the beginning:
 *
 *     sum of (m_i - l_(i-1) - r_i) + sum of r_i = l_n - l_0 - sum of c_i
 *
 * Of all workers that is, with C of the U updates made by a gradient and the others by a cut, which
 * applies what is held,
 *
 *     shape.sum + renewed = U W - C - sum over workers of the updates after its last gradient
 *
 * which is the above where each makes its own. So the mean, of U G gradients, is about (W - 1) / G.
 * Whoever's gradient was held when a cut made an update of it has that one renewed.
 *
 * Threads: plain values. */

#ifndef COMMON_JOB_STALENESS_H
#define COMMON_JOB_STALENESS_H

#include "common/figures/figures.h"

#endif
