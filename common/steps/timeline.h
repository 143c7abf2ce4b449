/* timeline.h - which batch each step of an epoch has, where leaves that a step did not wait for are
 * computed at the epoch's end after all (--dropped requeue).
 *
 *     epoch e of 4 batches       step    0 1 2 3 | 4 5 | 6 ...
 *     (. a leaf that was dropped)       .   .. .  the
 *                                       ^made up of^ next epoch
 *
 * An epoch begins with a step for each of its batches, of which the sets (leaf_set.h) say what was
 * dropped: it is owed. When the last of these sets is known the epoch is closed: what is owed, in order
 * of (step, leaf), makes steps of as many leaves as a batch has, the last of them of fewer; nothing is
 * dropped from those. Then the next epoch begins. So whoever knows the sets of an epoch's batches knows
 * all its steps, and without them how many leaves and examples are owed is enough: only an epoch's very
 * last leaf can have fewer examples than the others, because batches are of whole leaves (job_check), and
 * if it is owed it is the last.
 *
 * In a job that requeues nothing the timeline is the job's: epochs of as many steps as batches.
 *
 * Threads: plain values; pure. */

#ifndef COMMON_STEPS_TIMELINE_H
#define COMMON_STEPS_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/job.h"
#include "common/steps/leaf_set.h"
#include "common/steps/step_shape.h"

struct timeline {
    uint64_t epoch;         /* From 0: the one that is under way ... */
    uint64_t first;         /* ... which begins with this step. */
    bool closed;            /* What it owes is known: */
    uint64_t owed;          /* so many leaves ... */
    uint64_t owed_examples; /* ... of so many examples. */
};

/* What the next batch of the epoch owes by its set; `batch`: its number in the epoch. With the last one
 * the epoch is closed. */
void timeline_note(struct timeline *timeline, const struct job *job, uint64_t batch,
                   const struct leaf_set *set);

/* Steps that are made of what is owed; 0 as long as that is not known. */
uint64_t timeline_made_up(const struct timeline *timeline, const struct job *job);
/* The first step behind the epoch's batches, and behind all of it. */
uint64_t timeline_batches_end(const struct timeline *timeline, const struct job *job);
uint64_t timeline_epoch_end(const struct timeline *timeline, const struct job *job);
/* The first step of which nothing can be said: of the next epoch it is known that it begins with its
 * batches. UINT64_MAX in a job that requeues nothing. */
uint64_t timeline_end(const struct timeline *timeline, const struct job *job);

/* Whether the step is made up; of a step in [first, timeline_end). */
bool timeline_is_made_up(const struct timeline *timeline, const struct job *job, uint64_t step);
/* What it is of; `first` of a made-up step is the number of the first owed leaf. */
struct batch_range timeline_batch(const struct timeline *timeline, const struct job *job,
                                  uint64_t step);
/* Whether it is the last of its epoch. */
bool timeline_ends(const struct timeline *timeline, const struct job *job, uint64_t step);

/* What a schedule counts at a step before which the epoch has had so many examples: whole batches of
 * examples. It is the step itself where nothing is dropped. */
uint64_t timeline_progress(const struct timeline *timeline, const struct job *job, uint64_t had);

/* Whether a step can be of such a batch (its `first` apart), with such a set, be its epoch's last or not,
 * and count for a schedule as step - lag: what anyone says of one, before it is reckoned with. */
bool timeline_allows(const struct job *job, uint64_t step, const struct batch_range *batch,
                     const struct leaf_set *set, bool ends, uint64_t lag);

/* The epoch is over: the next one. */
void timeline_go_on(struct timeline *timeline, const struct job *job);

#endif
