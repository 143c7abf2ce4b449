/* update.h - one update of any interval of the parameter space.
 *
 * With --l2 F the gradient of a kernel has 2 F w more, w being the value when the update is
 * made, and not the gradient's base. A bias has none, as with Keras' regularizers.
 *
 * A rule is elementwise, but one that spares biases, or l2, has to know the variables. A kernel
 * is a variable of more than one axis, a bias one of a single axis. An interval that spans
 * several is updated piece by piece, so the borders of chunks decide no bit.
 *
 * A running average (variable.average, a rate m) is no matter of the rule: w += m (sum / examples - w),
 * without l2, decay or slots.
 *
 * Threads: pure, but for the arrays of the update. */

#ifndef COMMON_JOB_UPDATE_H
#define COMMON_JOB_UPDATE_H

#include "common/job/job.h"

/* Update the elements from `first` of the parameter space on, as many as update->count, by the
 * job's rule. offsets: variables_layout's of the job. update->settings and ->bias are set here. */
void update_apply(const struct job *job, const uint64_t *offsets, uint64_t first,
                  const struct optimizer_update *update);

#endif
