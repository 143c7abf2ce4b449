/* staleness.h - how old gradients are. The staleness of a gradient in a chunk is the number of
 * the chunk's updates between the gradient's base version and its own, in modes in which
 * gradients grow stale.
 *
 * Each (gradient, chunk) counts once, also one that was left out because it is not finite: it is
 * an update by nothing. Updates undone by going back to a checkpoint do not count.
 *
 * The sum is known beforehand. Let a chunk have had U updates, of W workers, and let every
 * gradient's base be the version that its worker's gradient before had made (for the first: the
 * initial version). Then, for every chunk,
 *
 *     sum of staleness = U (W - 1) - sum over workers of the updates after its last one
 *
 * at any speeds: so the mean is about W - 1, and only the shape is news. A worker that began
 * later, came back, or read newer values before a batch (ssp) had a newer base. The difference
 * is `renewed`, so that always, in every chunk and so over all,
 *
 *     shape.sum + renewed = expected
 *
 * A going back begins anew with the checkpoint's values, in every chunk.
 *
 * Where several gradients make one update (--accumulate) a gradient's staleness is the updates
 * between its base and the version that it met. Its answer has the version that it left: one
 * more when it was its group's last, else the same. Let gradient i of n of a worker meet m_i and
 * leave l_i = m_i + c_i, c_i = 1 for a group's last; let its base be l_(i-1) + r_i, r_i being
 * renewed, and l_0 the initial version:
 *
 *     sum of (m_i - l_(i-1) - r_i) + sum of r_i = l_n - l_0 - sum of c_i
 *
 * Over all workers, with C of the U updates made by a gradient and the others by a snapshot,
 * which applies pending gradients,
 *
 *     shape.sum + renewed = U W - C - sum over workers of the updates after its last gradient
 *
 * which is the formula above where each gradient makes its own update. So the mean, of U G
 * gradients, is about (W - 1) / G. If a snapshot makes an update of a pending gradient, its
 * worker has that update renewed.
 *
 * Threads: plain values. */

#ifndef COMMON_JOB_STALENESS_H
#define COMMON_JOB_STALENESS_H

#include "common/figures/figures.h"

#endif
