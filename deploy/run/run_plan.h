/* run_plan.h - what `run` and `simulate` are about to do: the folder that it goes to, and the lines that
 * tell people.
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
    struct workload workload; /* Looked at. */
    char out[DISK_PATH_MAX];
    struct board_place board; /* For TensorBoard. */
    FILE *voice;              /* Where people are told about it. */
    const char *cluster;      /* In virtual time: on what; NULL: on this machine. */
    const char *memory;       /* And what that takes of this machine. */
    const char *hosts;        /* Where processes are to be, in words; NULL: here. */
    bool out_made;            /* By us, empty: to be taken away again when nothing comes into it. */
};

/* --out as it was given, where such a run may begin or go on; or a fresh folder in runs/. Waits for those
 * who are about to leave it. And where --tensorboard puts what it is to have of it. */
enum status run_plan_find_out(struct run_plan *plan, struct error *error);

/* Onto its voice. */
void run_plan_print(const struct run_plan *plan);

#endif
