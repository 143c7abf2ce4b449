/* interleaving.h - the runs of a comparison in the order in which they are made, and what is known of each.
 *
 * Seeds are the outer loop, so that whatever changes on the machine in the course of the day meets every arm
 * alike, and a comparison that is ended early has whole rounds; and every round begins with another arm, so
 * that none is always the first.
 *
 * Ownership: rounds borrow their arms and the folder's path; interleaving_free. Threads: plain values. */

#ifndef DEPLOY_COMPARE_INTERLEAVING_H
#define DEPLOY_COMPARE_INTERLEAVING_H

#include "common/file/disk.h"
#include "deploy/compare/boards.h"
#include "deploy/compare/configs.h"

#define INTERLEAVING_RUNS     "runs" /* The folder with the folders of the runs. */
#define INTERLEAVING_NAME_MAX (CONFIG_TEXT_MAX + 32)

struct interleaving {
    const struct configs *configs;
    const char *out; /* The comparison's folder. */
    size_t run_count;
    bool *kept;              /* [run_count], owned. It was there already, whole. */
    const char *tensorboard; /* Of the runs' event files. NULL, until it is set: there are none. */
    char (*boards)[BOARDS_NAME_MAX]; /* [run_count], owned. What they are called there. */
    double *took; /* [run_count], owned. Seconds, from start to end; 0: not made now, or failed. */
};

/* One of the runs. */
struct interleaved_run {
    struct options options;
    struct config config;             /* "sync-w2", "ssp-3-w2" */
    char name[INTERLEAVING_NAME_MAX]; /* "sync-w2-s1" */
    char out[DISK_PATH_MAX];
};

/* STATUS_INVALID: more runs than a comparison has. STATUS_MEMORY. */
enum status interleaving_init(struct interleaving *interleaving, const struct configs *configs,
                              uint32_t seeds, const char *out, struct error *error);
void interleaving_free(struct interleaving *interleaving);

/* Which arm run number `index` is of. */
size_t interleaving_config(const struct interleaving *interleaving, size_t index);
/* Whether no run of its arm comes after it. */
bool interleaving_is_last(const struct interleaving *interleaving, size_t index);
/* Run number `index`, from 0; what it has is borrowed from it and from the arms. */
void interleaving_run(struct interleaved_run *run, const struct interleaving *interleaving,
                      size_t index);

/* Look which runs are there, whole, and need not be made. */
void interleaving_look(struct interleaving *interleaving);

/* How long the runs from number `from` on will take one after the other, by those of the same arm, else by
 * all; 0: not known. */
double interleaving_seconds_left(const struct interleaving *interleaving, size_t from);

#endif
