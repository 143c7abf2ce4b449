/* target.h - how far training is to come, and what it took a run to come so far.
 *
 * A loss is reached by a trailing mean: of the last points of progress (see record.h) as many as it takes
 * to have a 20th of the examples that the whole run is to train on, each point weighed by its examples;
 * fewer than these are no mean yet. The target is reached at the first point whose mean is not above it.
 * So neither a lucky batch reaches it, nor does it matter how often progress is told, but for this: a run
 * is there at a point, never between two.
 *
 * An accuracy is that of the model on examples never trained on, and is reached with the first score that
 * is not below it.
 *
 * Unless one is asked for, the target is a loss: the median, over the seeds of the reference arm, of their
 * final losses (`train_loss` of run.json, the mean over the last epoch). The reference is the arm that
 * comes first. It is never the best run's, which nobody but the best would reach.
 *
 * Units: seconds by training_clock.h, over all sessions. INFINITY: not reached. NaN: there is nothing to
 * tell it from.
 * Source: MLPerf training (Mattson and others, 2020) for time to a target; runs that are censored take
 * part, as in survival analysis, and are not left out.
 * Threads: plain functions. */

#ifndef DEPLOY_ANSWER_TARGET_H
#define DEPLOY_ANSWER_TARGET_H

#include "deploy/answer/comparison.h"

#define TARGET_TRAILING_PART 20

enum target_kind { TARGET_NONE, TARGET_LOSS, TARGET_ACCURACY };

struct target {
    enum target_kind kind;
    double value;   /* Of a loss, or a part of 1. */
    bool asked_for; /* It is not the reference's own. */
};

/* What it took to get there. */
struct reach {
    double seconds;
    double batches, updates, examples;
    double
        worker_seconds; /* Of all workers that were declared, whatever they did: with what was dropped. */
    double exchanged_bytes; /* Payload that workers had sent and received by then. */
};

/* The reference arm's own. TARGET_NONE where it has no loss. */
struct target target_of(const struct comparison *comparison);

struct reach target_reach(const struct target *target, const struct record *record);

/* Examples in the batches up to this one. */
double target_examples(const struct record *record, double batches);

/* "loss 0.3524", "test accuracy 90.00 %" */
struct target_text {
    char text[48];
};
struct target_text target_text(const struct target *target);

#endif
