/* rounds.h - the runs of a comparison in the order in which they are made, and what is known of each.
 *
 * Seeds are the outer loop, so that whatever changes on the machine in the course of the day meets every arm
 * alike, and a comparison that is ended early has whole rounds; and every round begins with another arm, so
 * that none is always the first.
 *
 * Ownership: rounds borrow their arms and the folder's path; rounds_free. Threads: plain values. */

#ifndef DEPLOY_COMPARE_ROUNDS_H
#define DEPLOY_COMPARE_ROUNDS_H

#include "common/file/disk.h"
#include "deploy/compare/arms.h"
#include "deploy/compare/boards.h"

#define ROUNDS_RUNS     "runs" /* The folder with the folders of the runs. */
#define ROUNDS_NAME_MAX (ARM_TEXT_MAX + 32)

struct rounds {
    const struct arms *arms;
    const char *out; /* The comparison's folder. */
    size_t run_count;
    bool *kept;              /* [run_count], owned. It was there already, whole. */
    const char *tensorboard; /* Of the runs' event files. NULL, until it is set: there are none. */
    char (*boards)[BOARDS_NAME_MAX]; /* [run_count], owned. What they are called there. */
    double *took; /* [run_count], owned. Seconds, from start to end; 0: not made now, or failed. */
};

/* One of the runs. */
struct round_run {
    struct options options;
    struct arm arm;             /* "sync-w2", "ssp-3-w2" */
    char name[ROUNDS_NAME_MAX]; /* "sync-w2-s1" */
    char out[DISK_PATH_MAX];
};

/* STATUS_INVALID: more runs than a comparison has. STATUS_MEMORY. */
enum status rounds_init(struct rounds *rounds, const struct arms *arms, uint32_t seeds,
                        const char *out, struct error *error);
void rounds_free(struct rounds *rounds);

/* Which arm run number `index` is of. */
size_t rounds_arm(const struct rounds *rounds, size_t index);
/* Whether no run of its arm comes after it. */
bool rounds_is_last(const struct rounds *rounds, size_t index);
/* Run number `index`, from 0; what it has is borrowed from it and from the arms. */
void rounds_run(struct round_run *run, const struct rounds *rounds, size_t index);

/* Look which runs are there, whole, and need not be made. */
void rounds_look(struct rounds *rounds);

/* How long the runs from number `from` on will take one after the other, by those of the same arm, else by
 * all; 0: not known. */
double rounds_seconds_left(const struct rounds *rounds, size_t from);

#endif
