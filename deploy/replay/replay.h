/* replay.h - makes every update of a record again.
 *
 *     for every segment (replay_begin)
 *         for every interval of it (replay_interval)
 *             a computation can be made when every chunk has reached its base version
 *             a chunk's entries are applied in their order, by the owners' own code (ps/shard)
 *
 * The chunks advance side by side, one entry each in turn, as far as their needs are there.
 * Therefore little is kept: of each chunk the versions that later computations begin from, and the
 * gradients that some chunks have applied and others have not.
 *
 * A segment without chunks is of a mode whose steps do not depend on the workers. Steps are made
 * one after the other, over the whole space, like `--ps 0`; of the recorded leaves, when a step did
 * not have all.
 *
 * The content of a gradient is up to the caller. Threads: one owner.
 * Errors: STATUS_INVALID, with a line, for an impossible history; the status of the gradient;
 *         STATUS_MEMORY. */

#ifndef DEPLOY_REPLAY_REPLAY_H
#define DEPLOY_REPLAY_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/job/job.h"
#include "common/job/tally.h"
#include "common/steps/step_shape.h"
#include "common/store/run_record.h"
#include "ps/work/policy.h"

struct replay;

struct replay_calls {
    void *context;
    /* The whole gradient of a batch at these parameters, both [elements] of the space, or that of
     * the leaves that count; score: its sums, those of one update. STATUS_DIVERGED when it is not
     * finite. */
    enum status (*gradient)(void *context, const float *parameters, const struct step_shape *shape,
                            float *gradient, struct tally *score, struct error *error);
    /* Optional. Every chunk after its first `batches`: the end of an epoch. */
    enum status (*passed)(void *context, uint64_t batches, const float *parameters,
                          struct error *error);
};

struct replay_figures {
    uint64_t computations, entries, skipped;
    uint64_t torn; /* Batches with entries of several computations. */
    uint64_t staleness_max;
    uint64_t counted,
        /* From the batch of replay_count_from on: entries without skips, and the staleness of
         * all. */
        counted_max;
    uint64_t versions_max, gradients_max; /* Kept at a time: of a chunk, and in all. */
    uint64_t bytes_max;                   /* Of both. */
};

/* until: stop when every chunk has had so many batches; UINT64_MAX: at the end. */
enum status replay_create(struct replay **replay, const struct job *job, uint64_t until,
                          const struct replay_calls *calls, struct error *error);
void replay_destroy(struct replay **replay);

/* Of a job with given initial values: these, [elements], which outlive the replay. */
void replay_give(struct replay *replay, const float *initial);

/* Asked about each gradient, at the first chunk that comes to it: applied with this rate in place of
 * the recorded one, or ignored. Any other answer is STATUS_PROGRAM. Borrowed. */
void replay_ask(struct replay *replay, const struct policy *policy);

/* See replay_figures; the default is 0. */
void replay_count_from(struct replay *replay, uint64_t batch);

/* The first segment begins with initial values, a later one with the last values of its
 * predecessor. One pass in advance finds the versions to keep: bytes[count] are the segment's
 * file. */
enum status replay_begin(struct replay *replay, const char *name, const void *bytes, size_t count,
                         struct error *error);
/* The next interval. STATUS_NOT_FOUND: this segment has no more, or `until` is reached. */
enum status replay_next(struct replay *replay, struct error *error);

/* The segment, and the latest interval. */
const struct run_record_reader *replay_reader(const struct replay *replay);

bool replay_is_over(const struct replay *replay); /* `until` is reached. */
const struct replay_figures *replay_figures(const struct replay *replay);

/* [elements] the current values; at `until`, after so many batches. */
const float *replay_parameters(struct replay *replay);
uint64_t replay_batches(const struct replay *replay);
uint64_t replay_version(const struct replay *replay); /* Updates of every chunk so far. */

/* The scores of an epoch's gradients (from 0), each at its base values: those applied to server 0's
 * first chunk, as in the run. NULL without batches. */
const struct tally *replay_epoch(const struct replay *replay, uint64_t epoch);

#endif
