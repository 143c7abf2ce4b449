/* target.h - the target of a comparison, and whether and when each run reached it. All of it
 * follows from the runs' points and from their ends.
 *
 * Window. A loss is judged by the mean of the last points of progress (record.h) that have `window`
 * examples, each point weighed by its examples. The window is a 20th of the shortest run's
 * examples, at least 2,000, at most a quarter of them; it is the same everywhere in all runs. Thus
 * a lucky batch reaches no target, and the interval of progress does not matter.
 *
 * Start. The loss at the start of training: ln(classes), of guessing; without classes the median
 * first loss.
 *
 * End. The last such mean of a run. After divergence it is INFINITY, and the test accuracy is that
 * of guessing. A run that failed otherwise has no end and is in no figure.
 *
 * Learned. A run learned when it came half as far below the start as the best configuration, which
 * has the smallest median end. A configuration learns when more than half of its known runs have.
 * Where the best stays within 1 % of the start no configuration learns.
 *
 * Ladder. Without a given target there are up to three: the worst end of all runs that learned of
 * configurations that learn, the end of the best configuration, and the middle. There is only the
 * first where the ends are within 2 % of the way. Each is rounded up to four digits. Thus every run
 * that learned reaches the first.
 *
 * Reached. A run reaches a loss at the first point whose mean is not above it. When its end is more
 * than a tenth of the way back to the start, it came back and never reached it. A run reaches an
 * accuracy with the first score that is not below it, unless the last score has lost a tenth of the
 * way back to guessing.
 *
 * Units: seconds by run_phases.h, over all sessions. INFINITY: never. NaN: not known.
 * Source: MLPerf training (Mattson and others, 2020) for time to a target; censored runs count, as
 *         in survival analysis, and are not left out.
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

/* The runs of a configuration. */
struct trials {
    struct trial *list; /* [count], owned. */
    size_t count, known;
    double median; /* Of the known ends. */
    bool learns;
};

struct target {
    enum target_kind kind;
    bool asked_for;
    /* [count]; losses, or accuracies between 0 and 1. The first is the easiest. */
    double values[TARGET_RUNGS];
    size_t count;
    double window, start; /* Examples, nats. */
    unsigned classes;     /* 0: not known. */
};

/* The result of a run's way to the target. */
enum outcome {
    OUTCOME_REACHED,
    OUTCOME_CAME_BACK,
    OUTCOME_SHORT,
    OUTCOME_DIVERGED,
    OUTCOME_UNKNOWN,
    OUTCOME_COUNT
};

/* The effort until the target. */
struct reach {
    enum outcome outcome;
    double seconds;
    double batches, updates, examples;
    double worker_seconds;  /* Of all declared workers, including dropped gradients. */
    double exchanged_bytes; /* Payload that workers had sent and received until then. */
};

/* Sets window, start and classes, and the trials of every group. list: of one group, with room for
 * all of its runs. */
void target_set_settings(struct target *target, const struct comparison *comparison);
void target_set_trials(const struct target *target, const struct comparison *comparison,
                       size_t group, struct trials *trials);
/* Derives the ladder from the ends of all configurations, and which configurations learn.
 * TARGET_NONE when none learns. */
void target_set_ladder(struct target *target, struct trials *configs, size_t count);

struct reach target_reach(const struct target *target, size_t rung, const struct trial *trial);

/* The accuracy of guessing; NaN: not known. */
double target_guess(const struct target *target);

/* Examples in the batches up to this one. */
double target_examples(const struct record *record, double batches);

/* "loss 0.3524", "test accuracy 90 %" */
struct target_text {
    char text[48];
};
struct target_text target_text(const struct target *target, size_t rung);

#endif
