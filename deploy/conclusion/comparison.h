/* comparison.h - several finished runs, grouped by arm: runs of one arm differ in nothing but their
 * seed, arms in whatever was varied, be it the mode, the number of workers or a rate.
 *
 * Ownership: a comparison owns its records; groups borrow them. Threads: plain values. */

#ifndef DEPLOY_CONCLUSION_COMPARISON_H
#define DEPLOY_CONCLUSION_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/progress/record.h"

#define COMPARISON_FORMAT     "syncopate-comparison-2" /* Of compare.json. */
#define COMPARISON_GROUPS_MAX 64
#define COMPARISON_RUNS_MAX   1024
#define CONFIG_TEXT_MAX       96
#define CONFIG_GIVEN_MAX      256

/* What is compared, under its name: of its runs' folders, too, so without '/' and ':'. */
struct config {
    char name[CONFIG_TEXT_MAX]; /* "sync-w2" */
    char label
        [CONFIG_TEXT_MAX]; /* For people: "sync, 2 workers"; "" for mode, workers and `varied`. */
    char varied[CONFIG_TEXT_MAX]; /* What else was varied, "learning-rate 0.1, ps 2"; or "". */
    char given
        [CONFIG_GIVEN_MAX]; /* Of one that was named, with what: "--mode async --ps 2"; or "". */
};

/* The runs of an arm. */
struct group {
    struct config config;
    char mode_text[32]; /* Of its first run, like the number of workers. */
    uint32_t workers;
    char label[CONFIG_TEXT_MAX]; /* Never empty; no other group has it. */
    unsigned index;              /* In order of appearance. */
    /* For hue and shade: equal for equal ones, but no two arms have both. */
    unsigned mode_index, workers_index;
    const struct record **records; /* [record_count], owned list of borrowed records. */
    size_t record_count;
};

/* A run of which there are no figures. */
struct failed_run {
    char name[CONFIG_TEXT_MAX + 32]; /* "sync-w2-s1" */
    char config[CONFIG_TEXT_MAX];    /* "sync-w2" */
    uint64_t seed;
    int exit_code;
    char reason[256]; /* One line. */
};

struct comparison {
    struct record **records; /* [record_count], owned; in the order in which they were added. */
    size_t record_count;
    struct failed_run *failed; /* [failed_count], owned; likewise. */
    size_t failed_count;
    size_t planned; /* Runs in all, those to come as well; 0: those that are here. */
    struct group groups[COMPARISON_GROUPS_MAX];
    size_t group_count;
};

void comparison_init(struct comparison *comparison);
void comparison_free(struct comparison *comparison);

/* Read the run at path and add it to the group of this arm. */
enum status comparison_add(struct comparison *comparison, const struct config *config,
                           const char *path, struct error *error);

/* A run that was read already. When it is taken it is the comparison's, and malloc'd; else it is still the
 * caller's. STATUS_MEMORY; STATUS_INVALID: there are too many. */
enum status comparison_take(struct comparison *comparison, const struct config *config,
                            struct record *record, struct error *error);
/* All records are the caller's again; then it is as comparison_free leaves it. */
void comparison_give_back(struct comparison *comparison);

/* Have a group for this arm, which may stay without runs. STATUS_INVALID: there are too many. */
enum status comparison_group(struct comparison *comparison, const struct config *config,
                             const char *mode_text, uint32_t workers, struct error *error);
/* Note that a run has failed; its arm's group is there. STATUS_MEMORY; STATUS_INVALID: there are too many. */
enum status comparison_fail(struct comparison *comparison, const struct failed_run *run,
                            struct error *error);
/* Runs that are still to come. */
size_t comparison_to_come(const struct comparison *comparison);
/* How far it is: "4 of 12 runs so far, 1 of them failed"; "" when all are here and well. */
struct progress_text {
    char text[96];
} comparison_progress(const struct comparison *comparison);

#define COMPARISON_SPREAD_MIN 3 /* Of fewer runs a deviation says nothing. */

/* One number of every run of a group. */
struct spread {
    double mean;      /* NaN when no run has it. */
    double deviation; /* Sample standard deviation; NaN of fewer than COMPARISON_SPREAD_MIN. */
    size_t count;     /* Runs that have the number. */
};
typedef double record_number_fn(const struct record *record);
struct spread group_spread(const struct group *group, record_number_fn *number);

/* Whether training came to values that are not finite: it ended for that, or did not notice. */
bool record_diverged(const struct record *record);
bool failed_run_diverged(const struct failed_run *run);

/* Of a worker on average; NaN when nothing was recorded. */
double record_wait_seconds(const struct record *record);

/* Seconds of training times the workers that were declared. */
double record_worker_seconds(const struct record *record);

/* Payload that its workers sent and received, over all sessions. */
double record_exchanged_bytes(const struct record *record);

/* Of the examples of all steps, the part that no update was made of; NaN where a step waits for all. */
double record_dropped(const struct record *record);

/* See run_summary_longer. */
double record_longer(const struct record *record);

/* What the runs prove about sync training: for each seed with sync runs of several numbers of
 * workers that are alike in all else that was varied, whether the parameters came out the same to the bit. */
struct bits_verdict {
    size_t seeds;   /* Seeds with something to compare; 0: nothing can be said. */
    bool equal;     /* For all of them. */
    char text[256]; /* "sync: the same bits for 1 and 2 workers: 3f2a91c0..." or the warning. */
};
void comparison_bits(const struct comparison *comparison, struct bits_verdict *verdict);

#endif
