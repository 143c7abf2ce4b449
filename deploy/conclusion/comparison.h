/* comparison.h - several finished runs, grouped by configuration. Runs of one configuration differ
 * in their seed alone; configurations differ in the varied settings: mode, number of workers,
 * learning rate or others.
 *
 * Ownership: a comparison owns its records; groups borrow them. Threads: plain values. */

#ifndef DEPLOY_CONCLUSION_COMPARISON_H
#define DEPLOY_CONCLUSION_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/progress/record.h"

#define COMPARISON_FORMAT     "syncopate-comparison-2" /* In compare.json. */
#define COMPARISON_GROUPS_MAX 64
#define COMPARISON_RUNS_MAX   1024
#define CONFIG_TEXT_MAX       96
#define CONFIG_GIVEN_MAX      256

/* A configuration. Its name is in the names of its runs' folders: no '/' and no ':'. */
struct config {
    char name[CONFIG_TEXT_MAX]; /* "sync-w2" */
    char
        label[CONFIG_TEXT_MAX]; /* For people: "sync, 2 workers"; "": derived from mode, workers and
                              * `varied`. */
    char varied[CONFIG_TEXT_MAX]; /* The other varied settings, "learning-rate 0.1, ps 2"; or "". */
    char given[CONFIG_GIVEN_MAX]; /* The options of a named one: "--mode async --ps 2"; or "". */
};

/* The runs of a configuration. */
struct group {
    struct config config;
    char mode_text[32]; /* Of the first run, like the number of workers. */
    uint32_t workers;
    char label[CONFIG_TEXT_MAX]; /* Never empty; unique among groups. */
    unsigned index;              /* In order of appearance. */
    /* For hue and shade. Groups may share one of them, never both. */
    unsigned mode_index, workers_index;
    const struct record **records; /* [record_count], owned list of borrowed records. */
    size_t record_count;
};

/* A run without figures. */
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
    struct failed_run *failed; /* [failed_count], owned; in the order in which they were added. */
    size_t failed_count;
    size_t planned; /* All runs, including those to come; 0: only those that are here. */
    struct group groups[COMPARISON_GROUPS_MAX];
    size_t group_count;
};

void comparison_init(struct comparison *comparison);
void comparison_free(struct comparison *comparison);

/* Read the run at `path` and add it to the group of this configuration. */
enum status comparison_add(struct comparison *comparison, const struct config *config,
                           const char *path, struct error *error);

/* Add a run that was read already. STATUS_OK: the comparison owns the malloc'd record; otherwise
 * the caller still does. STATUS_MEMORY; STATUS_INVALID: there are too many. */
enum status comparison_take(struct comparison *comparison, const struct config *config,
                            struct record *record, struct error *error);
/* Return all records to the caller and empty the comparison as comparison_free does. */
void comparison_give_back(struct comparison *comparison);

/* Make a group, which may stay without runs. STATUS_INVALID: there are too many. */
enum status comparison_group(struct comparison *comparison, const struct config *config,
                             const char *mode_text, uint32_t workers, struct error *error);
/* Note a failed run of an existing group. STATUS_MEMORY; STATUS_INVALID: there are too many. */
enum status comparison_fail(struct comparison *comparison, const struct failed_run *run,
                            struct error *error);
size_t comparison_to_come(const struct comparison *comparison);
/* The progress: "4 of 12 runs so far, 1 of them failed"; "" when all runs are here without
 * failure. */
struct progress_text {
    char text[96];
} comparison_progress(const struct comparison *comparison);

#define COMPARISON_SPREAD_MIN 3 /* Fewer runs have no meaningful deviation. */

/* One number of every run of a group. */
struct spread {
    double mean; /* NaN when no run has it. */
    /* Sample standard deviation; NaN with fewer than COMPARISON_SPREAD_MIN runs. */
    double deviation;
    size_t count; /* Runs that have the number. */
};
typedef double record_number_fn(const struct record *record);
/* Whether a run has an accuracy; programs may score by loss alone. */
bool comparison_has_accuracy(const struct comparison *comparison);
struct spread group_spread(const struct group *group, record_number_fn *number);

/* Whether training reached values that are not finite, detected by the run or not. */
bool record_diverged(const struct record *record);
bool failed_run_diverged(const struct failed_run *run);

/* The mean over workers; NaN when nothing was recorded. */
double record_wait_seconds(const struct record *record);

/* Seconds of training times declared workers. */
double record_worker_seconds(const struct record *record);

/* Payload bytes that its workers sent and received, over all sessions. */
double record_exchanged_bytes(const struct record *record);

/* The part of all steps' examples that no update used; NaN for a mode whose steps wait for all. */
double record_dropped(const struct record *record);

/* See run_summary_longer. */
double record_longer(const struct record *record);

/* The evidence about sync training. For each seed, sync runs that differ only in the number of
 * workers are compared: are their parameters equal to the bit? */
struct bits_verdict {
    size_t seeds;   /* Seeds with runs to compare; 0: no verdict. */
    bool equal;     /* For all seeds. */
    char text[256]; /* "sync: the same bits for 1 and 2 workers: 3f2a91c0..." or the warning. */
};
void comparison_bits(const struct comparison *comparison, struct bits_verdict *verdict);

#endif
