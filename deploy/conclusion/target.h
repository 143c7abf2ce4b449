/* target.h - what a comparison asks of its runs: how far training is to come, and whether and when a run came
 * so far. All of it follows from the runs' points and from how they ended.
 *
 * Window. A loss is judged by a mean of the last points of progress (record.h) that have `window` examples, each
 * point weighed by its examples: a 20th of the shortest run's examples, at least 2,000, at most a quarter of
 * them; the same for all runs, wherever in a run. So neither a lucky batch reaches a target, nor does it matter
 * how often progress is told.
 *
 * Start. The loss that training starts with: ln(classes), of guessing; where these are not known the median
 * first loss.
 *
 * End. The last such mean of a run. Of one that diverged it is INFINITY, and its test accuracy is that of
 * guessing. Of a run that failed otherwise nothing is known, and it is in no figure.
 *
 * Learned. A run has come half as far below the start as the best arm, that of the least median end. An arm
 * learns when more than half of its known runs have. Where the best stays within 1 % of the start none has.
 *
 * Ladder. Unless a target is asked for there are up to three, from the worst end of all runs that learned of
 * arms that learn, to that of the best arm, and the middle; only the first where they are within 2 % of the way.
 * Rounded up to four digits, and used so. So every run that learned reaches the first.
 *
 * Reached. A run reaches a loss at the first point whose mean is not above it, unless its end is more than a
 * tenth of the way back to the start: then it came back, and never reached it. An accuracy is reached with the
 * first score that is not below it, unless the last score has lost a tenth of the way back to guessing.
 *
 * Units: seconds by stopwatch.h, over all sessions. INFINITY: never. NaN: not known.
 * Source: MLPerf training (Mattson and others, 2020) for time to a target; runs that are censored take
 * part, as in survival analysis, and are not left out.
 * Threads: plain functions. */

#ifndef DEPLOY_CONCLUSION_TARGET_H
#define DEPLOY_CONCLUSION_TARGET_H

#include "deploy/conclusion/comparison.h"

#define TARGET_RUNGS 3

enum target_kind { TARGET_NONE, TARGET_LOSS, TARGET_ACCURACY };

/* How a run ended. */
enum trial_end { TRIAL_END_DONE, TRIAL_END_DIVERGED, TRIAL_END_UNKNOWN };

struct trial {
    uint64_t seed;
    enum trial_end trial_end;
    const struct record *record; /* NULL: it failed. */
    double end;
};

/* The runs of an arm. */
struct trials {
    struct trial *list; /* [count], owned. */
    size_t count, known;
    double median; /* Of the known ends. */
    bool learns;
};

struct target {
    enum target_kind kind;
    bool asked_for;
    double values[TARGET_RUNGS]; /* [count]; losses or parts of 1. The first is the easiest. */
    size_t count;
    double window, start; /* Examples, nats. */
    unsigned classes;     /* 0: not known. */
};

/* What became of a run's way to the target. */
enum outcome {
    OUTCOME_REACHED,
    OUTCOME_CAME_BACK,
    OUTCOME_SHORT,
    OUTCOME_DIVERGED,
    OUTCOME_UNKNOWN,
    OUTCOME_COUNT
};

/* What it took to get there. */
struct reach {
    enum outcome outcome;
    double seconds;
    double batches, updates, examples;
    double
        worker_seconds; /* Of all workers that were declared, whatever they did: with what was dropped. */
    double exchanged_bytes; /* Payload that workers had sent and received by then. */
};

/* Sets window, start and classes, and the trials of every group. list: of one group; room for all of its
 * runs. */
void target_set_settings(struct target *target, const struct comparison *comparison);
void target_set_trials(const struct target *target, const struct comparison *comparison,
                       size_t group, struct trials *trials);
/* The ladder of what all arms came to, and who learns: TARGET_NONE where nothing does. */
void target_set_ladder(struct target *target, struct trials *configs, size_t count);

struct reach target_reach(const struct target *target, size_t rung, const struct trial *trial);

/* Of guessing; NaN: not known. */
double target_guess(const struct target *target);

/* Examples in the batches up to this one. */
double target_examples(const struct record *record, double batches);

/* "loss 0.3524", "test accuracy 90 %" */
struct target_text {
    char text[48];
};
struct target_text target_text(const struct target *target, size_t rung);

#endif
