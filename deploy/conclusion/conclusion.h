/* conclusion.h - the conclusion of a comparison: how each configuration reached the target relative
 * to the reference, which one is first, and with what confidence.
 *
 * Runs of one seed are a pair. Every ratio is a configuration's number over the reference's
 * (statistics.h). An interval of a ratio or of a difference needs at least three pairs; with one or
 * two pairs there are only the values. A run that never reached the target counts as infinite, and
 * so does a run that diverged. A run that failed otherwise has no number and is left out
 * (target.h).
 *
 *     time = work / pace             ratios: seconds; examples; examples a second, to the target
 *     speed-up = reference's time / time
 *     hardware efficiency            pace for each worker over that of the reference
 *     statistical efficiency         reference's work / work
 *     speed-up x reference's workers / workers = hardware x statistical efficiency
 *
 * These hold where all runs of both configurations reached the target. Pace counts the pairs in
 * which both runs did.
 *
 * Ownership: conclusion_free. Threads: plain values. */

#ifndef DEPLOY_CONCLUSION_CONCLUSION_H
#define DEPLOY_CONCLUSION_CONCLUSION_H

#include "common/file/json_writer.h"
#include "deploy/conclusion/comparison.h"
#include "deploy/conclusion/statistics.h"
#include "deploy/conclusion/target.h"

#define CONCLUSION_MARGIN 0.5  /* Points of accuracy; the default. */
#define CONCLUSION_ALIKE  0.02 /* Times whose ratio is within this of 1 are called alike. */

struct question {
    /* 0: none; at most one is given. Accuracy is between 0 and 1. */
    double target_loss, target_accuracy;
    double margin; /* Points within which accuracies are called equal. */
};

/* One number of every run of a configuration: INFINITY for a run that did not reach the target. */
struct reached {
    struct estimate mean;
    double median;  /* INFINITY when at least half of the runs did not. */
    double olympic; /* NaN with fewer than five runs. */
};

/* A configuration's time to the first target relative to the reference's, as a word. */
enum word {
    WORD_NONE,  /* Fewer than three pairs, or the reference itself. */
    WORD_ALIKE, /* The interval is within CONCLUSION_ALIKE of 1. Checked first. */
    WORD_SOONER,
    WORD_LATER, /* p is at most 5 %, by Holm over all configurations. */
    WORD_OPEN,  /* No significant difference. */
    WORD_NEVER, /* No run reached the target; there is no test. */
    WORD_COUNT
};
/* "not told apart"; "" for none. */
const char *conclusion_word(enum word word);

/* A configuration's results at one rung of the ladder. */
struct rung {
    size_t runs, count;             /* Runs with a known end; runs that reached the rung. */
    size_t outcomes[OUTCOME_COUNT]; /* Runs with each outcome. */
    struct estimate time;           /* Relative to the reference; all NaN for the reference. */
    double median;                  /* Seconds. */
};

struct update {
    double computations, examples; /* Workers that contribute; examples of each. */
};

struct config_conclusion {
    struct trials trials;
    struct rung rungs[TARGET_RUNGS];
    /* All up to the first rung. */
    struct reached seconds, batches, updates, examples, worker_seconds, bytes;
    /* Relative to the reference; all NaN, with no pairs, for the reference. */
    struct estimate work, pace, cost;       /* Ratios; cost is of worker-seconds. */
    double speed_up, hardware, statistical; /* NaN when they are not defined. */
    struct estimate accuracy;               /* Difference of test accuracies, in points. */
    struct estimate loss;                   /* Final losses. */
    enum parity parity;                     /* Of the accuracy. */
    double p;                               /* By Holm; NaN: no test. */
    enum word word;
    double visible; /* The smallest relative difference of time that this number of seeds can show;
                  * NaN: not known. */
    struct update update;
    /* Significantly fewer examples than a sync reference of the same batch and rate. */
    bool unequal_work;
};

struct conclusion {
    struct target target;
    struct question question;
    const struct comparison *comparison; /* Borrowed. */
    struct config_conclusion
        *configs; /* [config_count], owned; the first of each group is the reference. */
    size_t config_count;
};

/* STATUS_MEMORY: the answer can still be freed. A target that guessing reaches gives
 * TARGET_NONE. */
enum status conclusion_make(struct conclusion *conclusion, const struct comparison *comparison,
                            const struct question *question, struct error *error);
void conclusion_free(struct conclusion *conclusion);

/* The ratio of seconds to a rung of one configuration to those of another, like rung.time. */
struct estimate conclusion_time(const struct conclusion *conclusion, size_t rung, size_t config,
                                size_t reference);

bool conclusion_alike(const struct estimate *time);

/* The first configuration, or the last, to reach this rung; group_count: none did. */
size_t conclusion_first(const struct conclusion *conclusion, size_t rung, bool last, size_t except);

/* A run's final loss and test accuracy. After divergence: INFINITY and the accuracy of guessing. */
double conclusion_loss(const struct conclusion *conclusion, const struct trial *trial);
double conclusion_accuracy(const struct conclusion *conclusion, const struct trial *trial);
/* The mean over a configuration's known runs; NaN without any. */
typedef double trial_number_fn(const struct conclusion *conclusion, const struct trial *trial);
double conclusion_mean(const struct conclusion *conclusion, size_t config, trial_number_fn *number);

/* Updates a second over the whole run. group_spread gives the average over a group. */
double conclusion_pace(const struct record *record);

/* Members of an open object: of the comparison, and of configuration number `index`. An unknown
 * number is null, an infinite one is "inf". */
void conclusion_write_json(struct json_writer *writer, const struct conclusion *conclusion);
void conclusion_write_config_json(struct json_writer *writer, const struct conclusion *conclusion,
                                  size_t index);

#endif
