/* replay.h - makes every update of a record again.
 *
 *     for every segment (replay_begin)
 *         for every stretch of it (replay_interval)
 *             a computation can be made when every chunk has reached its base version
 *             a chunk's entries are applied in their order, by the owners' own code (ps/shard)
 *
 * The chunks go on side by side, one entry each in turn, as far as what they need is there; so what
 * is kept is little: of each chunk the versions that computations yet to be made begin from, and the
 * gradients that some chunks have had and others have not.
 *
 * A segment without chunks is of a mode whose steps are the same whoever computes: they are made one
 * after the other, over the whole space, as `--ps 0` does; of the leaves that were recorded, where a
 * step was not made of all.
 *
 * Nothing here knows what a gradient is made of. Threads: one owner.
 * Errors: STATUS_INVALID, with a line, for a history that cannot have been; what the gradient says;
 * STATUS_MEMORY. */

#ifndef DEPLOY_REPLAY_REPLAY_H
#define DEPLOY_REPLAY_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/job/job.h"
#include "common/job/tally.h"
#include "common/job/windows.h"
#include "common/steps/step_shape.h"
#include "common/store/run_record.h"

struct replay;

struct replay_calls {
    void *context;
    /* The whole gradient of a batch at these parameters, both [elements] of the space, or that of the
     * leaves that count; score: its sums, those of one update. STATUS_DIVERGED when it is not finite. */
    enum status (*gradient)(void *context, const float *parameters, const struct step_shape *shape,
                            float *gradient, struct tally *score, struct error *error);
    /* Optional. Every chunk as it was after its first `batches`: the end of an epoch. */
    enum status (*passed)(void *context, uint64_t batches, const float *parameters,
                          struct error *error);
};

/* What was gone through so far. */
struct replay_figures {
    uint64_t computations, entries, skipped;
    uint64_t torn; /* Batches with entries of more than one computation. */
    uint64_t staleness_max;
    uint64_t counted,
        counted_max; /* From the batch on that replay_count_from said: entries that are no
                                    * skips, and the staleness of all. */
    uint64_t versions_max, gradients_max; /* Kept at a time: of a chunk, and in all. */
    uint64_t bytes_max;                   /* Of both. */
};

/* until: stop when every chunk has had so many batches; UINT64_MAX: do not. */
enum status replay_create(struct replay **replay, const struct job *job, uint64_t until,
                          const struct replay_calls *calls, struct error *error);
void replay_destroy(struct replay **replay);

/* Where steps are made of sets of leaves: the list (common/steps/leaf_set.h) of those from step 0 on, which
 * outlives the replay. */
void replay_take_sets(struct replay *replay, const void *list, size_t count);

/* See replay_figures; without it from the beginning. */
void replay_count_from(struct replay *replay, uint64_t batch);

/* The first segment begins with initial values, a later one with what the last one ended with. It is
 * looked through once beforehand for what has to be kept: bytes[count] are the segment's file. */
enum status replay_begin(struct replay *replay, const char *name, const void *bytes, size_t count,
                         struct error *error);
/* The next stretch. STATUS_NOT_FOUND: there is none in this segment any more, or `until` is reached.
 */
enum status replay_next(struct replay *replay, struct error *error);

/* The segment, and the stretch gone through last. */
const struct run_record_reader *replay_reader(const struct replay *replay);

bool replay_is_over(const struct replay *replay); /* Has come to `until`. */
const struct replay_figures *replay_figures(const struct replay *replay);

/* [elements] as they are now; at `until`, after so many batches. */
const float *replay_parameters(struct replay *replay);
uint64_t replay_batches(const struct replay *replay);
uint64_t replay_version(const struct replay *replay); /* Updates made of every chunk. */

/* What the gradients of an epoch (from 0) scored as they were made, each at the values that it was
 * made from: those that were applied to the first chunk of server 0's, as in the run. NULL when no batch
 * was had. */
const struct tally *replay_epoch(const struct replay *replay, uint64_t epoch);

/* The same of a window of --report-every (from 0); false when not all of its batches were. */
bool replay_window(const struct replay *replay, uint64_t number, struct window *window);

#endif
