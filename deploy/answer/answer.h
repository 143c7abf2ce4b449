/* answer.h - what a comparison says: how each arm came to the target beside the reference, the arm that
 * comes first, and how sure that is.
 *
 * Runs of one seed are a pair. Every ratio is an arm's number over the reference's, the geometric mean
 * over the pairs; its interval, like that of a difference, is told of three pairs at least (statistics.h).
 * Of one or two nothing is said but what they came to. A run that did not reach the target is infinite
 * and takes part; of a run that failed nothing is known, and it takes none.
 *
 *     time = work / pace             ratios: seconds; examples; examples a second, to the target
 *     speed-up = reference's time / time
 *     hardware efficiency            pace for each worker over that of the reference
 *     statistical efficiency         reference's work / work
 *     speed-up x reference's workers / workers = hardware x statistical efficiency
 *
 * These hold where all runs of both reached the target. Pace is of pairs of which both did.
 *
 * Ownership: answer_free. Threads: plain values. */

#ifndef DEPLOY_ANSWER_ANSWER_H
#define DEPLOY_ANSWER_ANSWER_H

#include "common/file/json_writer.h"
#include "deploy/answer/comparison.h"
#include "deploy/answer/statistics.h"
#include "deploy/answer/target.h"

#define ANSWER_MARGIN 0.5  /* Points of accuracy, unless another one is asked for. */
#define ANSWER_EFFECT 0.02 /* Of time, for which it is said how many seeds show it. */

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

struct arm_answer {
    size_t runs;  /* Of which it is known whether they reached it. */
    size_t count; /* That did. */
    struct reached seconds, batches, updates, examples, worker_seconds, bytes;
    /* Beside the reference; all NaN, of no pairs, in the reference itself. */
    struct estimate time, work, pace, cost; /* Ratios; cost is of worker-seconds. */
    double speed_up, hardware, statistical; /* NaN where they cannot be told. */
    struct estimate accuracy;               /* Difference of test accuracies, in points. */
    struct estimate loss;                   /* Of final losses. */
    enum parity parity;                     /* Of accuracy. */
    size_t seeds_needed;                    /* To tell ANSWER_EFFECT of time; 0: not known. */
    bool
        unequal_work; /* Significantly fewer examples than a sync reference of the same batch and rate. */
};

struct answer {
    struct target target;
    struct question question;
    const struct comparison *comparison; /* Borrowed. */
    struct arm_answer *arms; /* [comparison->group_count], owned; the first is the reference. */
};

/* STATUS_MEMORY; then, too, it may be freed. */
enum status answer_make(struct answer *answer, const struct comparison *comparison,
                        const struct question *question, struct error *error);
void answer_free(struct answer *answer);

/* The ratio of what the runs of one arm took to the target to those of another, as arm_answer's time. */
struct estimate answer_time(const struct answer *answer, const struct group *arm,
                            const struct group *reference);

/* Updates a second over the whole run; and those of all runs of a group on average are group_spread's. */
double answer_pace(const struct record *record);

/* Members of an object that is open: of the comparison, and of arm number index. What is not known is null,
 * what is infinite "inf". */
void answer_write_json(struct json_writer *writer, const struct answer *answer);
void answer_write_arm_json(struct json_writer *writer, const struct answer *answer, size_t index);
void answer_write_estimate(struct json_writer *writer, const char *name,
                           const struct estimate *estimate);

#endif
