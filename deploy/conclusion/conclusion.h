/* conclusion.h - what a comparison says: how each arm came to the target beside the reference, the arm that
 * comes first, and how sure that is.
 *
 * Runs of one seed are a pair. Every ratio is an arm's number over the reference's (statistics.h); its
 * interval, like that of a difference, is told of three pairs at least. Of one or two nothing is said but what
 * they came to. A run that never reached the target is infinite and takes part, and so does one that diverged;
 * of a run that failed otherwise nothing is known, and it takes none (target.h).
 *
 *     time = work / pace             ratios: seconds; examples; examples a second, to the target
 *     speed-up = reference's time / time
 *     hardware efficiency            pace for each worker over that of the reference
 *     statistical efficiency         reference's work / work
 *     speed-up x reference's workers / workers = hardware x statistical efficiency
 *
 * These hold where all runs of both reached the target. Pace is of pairs of which both did.
 *
 * Ownership: conclusion_free. Threads: plain values. */

#ifndef DEPLOY_CONCLUSION_CONCLUSION_H
#define DEPLOY_CONCLUSION_CONCLUSION_H

#include "common/file/json_writer.h"
#include "deploy/conclusion/comparison.h"
#include "deploy/conclusion/statistics.h"
#include "deploy/conclusion/target.h"

#define CONCLUSION_MARGIN 0.5  /* Points of accuracy, unless another one is asked for. */
#define CONCLUSION_ALIKE  0.02 /* Times within this part of each other are called alike. */

/* What is asked. */
struct question {
    double target_loss, target_accuracy; /* 0: none, one at most; accuracy is a part of 1. */
    double margin;                       /* Points within which accuracies are called equal. */
};

/* A number of every run of an arm, of those that did not reach the target INFINITY. */
struct reached {
    struct estimate mean;
    double median;  /* INFINITY where half of the runs or more did not. */
    double olympic; /* NaN of fewer than five. */
};

/* What is said of an arm's time to the first target, beside the reference's. */
enum word {
    WORD_NONE,  /* Of fewer than three pairs, and of the reference. */
    WORD_ALIKE, /* The interval is within CONCLUSION_ALIKE of 1. Asked first. */
    WORD_SOONER,
    WORD_LATER, /* p is at most 5 %, by Holm over all arms. */
    WORD_OPEN,  /* Cannot be told apart. */
    WORD_NEVER, /* No run reached it, and nothing is tested. */
    WORD_COUNT
};
/* "not told apart"; "" for none. */
const char *conclusion_word(enum word word);

/* An arm's way to one rung of the ladder. */
struct rung {
    size_t runs, count;             /* Known ones; those that reached it. */
    size_t outcomes[OUTCOME_COUNT]; /* How many runs had which. */
    struct estimate time;           /* Beside the reference; all NaN in itself. */
    double median;                  /* Of seconds. */
};

/* Whose gradients an update is made of. */
struct update {
    double computations, examples; /* Of workers; in each. */
};

struct config_conclusion {
    struct trials trials;
    struct rung rungs[TARGET_RUNGS];
    /* To the first rung. */
    struct reached seconds, batches, updates, examples, worker_seconds, bytes;
    /* Beside the reference; all NaN, of no pairs, in the reference itself. */
    struct estimate work, pace, cost;       /* Ratios; cost is of worker-seconds. */
    double speed_up, hardware, statistical; /* NaN where they cannot be told. */
    struct estimate accuracy;               /* Difference of test accuracies, in points. */
    struct estimate loss;                   /* Of final losses. */
    enum parity parity;                     /* Of accuracy. */
    double p;                               /* By Holm; NaN: not tested. */
    enum word word;
    double
        visible; /* The least relative difference of time that as many seeds show; NaN: not known. */
    struct update update;
    bool
        unequal_work; /* Significantly fewer examples than a sync reference of the same batch and rate. */
};

struct conclusion {
    struct target target;
    struct question question;
    const struct comparison *comparison; /* Borrowed. */
    struct config_conclusion
        *configs; /* [config_count], owned; of each group, the first is the reference. */
    size_t config_count;
};

/* STATUS_MEMORY; then, too, it may be freed. A target that guessing reaches is none (TARGET_NONE). */
enum status conclusion_make(struct conclusion *conclusion, const struct comparison *comparison,
                            const struct question *question, struct error *error);
void conclusion_free(struct conclusion *conclusion);

/* The ratio of seconds to a rung of one arm to those of another, as rung.time. */
struct estimate conclusion_time(const struct conclusion *conclusion, size_t rung, size_t config,
                                size_t reference);

bool conclusion_alike(const struct estimate *time);

/* Of those that take part the arm that is first to this rung, or last; group_count: none is. */
size_t conclusion_first(const struct conclusion *conclusion, size_t rung, bool last, size_t except);

/* A run's final loss and test accuracy: of one that diverged INFINITY and that of guessing. */
double conclusion_loss(const struct conclusion *conclusion, const struct trial *trial);
double conclusion_accuracy(const struct conclusion *conclusion, const struct trial *trial);
/* Their mean over an arm's known runs; NaN of none. */
typedef double trial_number_fn(const struct conclusion *conclusion, const struct trial *trial);
double conclusion_mean(const struct conclusion *conclusion, size_t config, trial_number_fn *number);

/* Updates a second over the whole run; and those of all runs of a group on average are group_spread's. */
double conclusion_pace(const struct record *record);

/* Members of an object that is open: of the comparison, and of arm number index. What is not known is null,
 * what is infinite "inf". */
void conclusion_write_json(struct json_writer *writer, const struct conclusion *conclusion);
void conclusion_write_config_json(struct json_writer *writer, const struct conclusion *conclusion,
                                  size_t index);
void conclusion_write_estimate(struct json_writer *writer, const char *name,
                               const struct estimate *estimate);

#endif
