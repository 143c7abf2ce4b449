/* run_plan.h - the plan of `run` and `simulate` before they start: the run's folder, and the lines
 * that describe it.
 *
 * Threads: one. */

#ifndef DEPLOY_RUN_RUN_PLAN_H
#define DEPLOY_RUN_RUN_PLAN_H

#include <stdbool.h>
#include <stdio.h>

#include "common/file/disk.h"
#include "common/options/options.h"
#include "common/tensorboard/board_place.h"
#include "worker/workload.h"

struct run_plan {
    struct options options;
    struct workload workload; /* Inspected, not read. */
    char out[DISK_PATH_MAX];
    char initial[DISK_PATH_MAX]; /* options.initial, where the program gave the values. */
    struct board_place board;    /* For TensorBoard. */
    FILE *voice;                 /* The stream of its lines. */
    const char *cluster;         /* In virtual time: the cluster; NULL: on this machine. */
    const char *memory;          /* And its memory on this machine. */
    const char *hosts;           /* The hosts of processes as text; NULL: here. */
    const char *page;            /* The address of the job's page; NULL: none. */
    bool out_made;               /* Created here, empty: removed again if it stays empty. */
};

/* The folder of --out, where such a run may begin or resume; or a new folder in runs/. Waits for
 * processes that are about to leave it. Also finds the folder of --tensorboard. */
enum status run_plan_find_out(struct run_plan *plan, struct error *error);

/* Of a run that has not begun nothing is left. */
void run_plan_free(struct run_plan *plan);

/* To its voice. */
void run_plan_print(const struct run_plan *plan);
/* After a run: what to type next. Not with --quiet. */
void run_plan_print_next(const struct run_plan *plan);

#endif
