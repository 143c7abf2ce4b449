/* owed.h - which leaves the steps at the end of an epoch are made of (timeline.h): an array of them in
 * order of (batch, leaf), and how a part of it is written down for a worker.
 *
 *     run of leaves that follow each other in one batch: batches from the run before to this one,
 *     its first leaf, and how many; all varints
 *
 * Threads: plain values; pure. */

#ifndef COMMON_STEPS_OWED_H
#define COMMON_STEPS_OWED_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/base/varint.h"
#include "common/steps/timeline.h"

#define OWED_RUN_BYTES_MAX ((size_t)3 * VARINT_BYTES_MAX)

/* What is owed by the sets of an epoch's batches, of which the list (leaf_set.h) has those from step
 * `first` on, in order: [*count], malloc'd, the caller's; NULL and 0 for none. STATUS_INVALID: the list
 * does not have all; STATUS_MEMORY. */
enum status owed_list(const struct timeline *timeline, const struct job *job, const void *list,
                      size_t bytes, struct owed_leaf **owed, size_t *count);

/* The bytes that these leaves take, which follow those of *batch; written to `to` unless that is NULL.
 * *batch becomes that of the last. */
size_t owed_put(uint8_t *to, const struct owed_leaf *owed, size_t count, uint64_t *batch);

/* So many leaves of the epoch, from anyone's bytes. False: they are not there, or such leaves are not. */
bool owed_take(struct varint_input *input, const struct job *job, uint64_t epoch,
               struct owed_leaf *owed, size_t count, uint64_t *batch);

#endif
