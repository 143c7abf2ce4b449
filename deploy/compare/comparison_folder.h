/* comparison_folder.h - OUT of a comparison, while it is under way: made, or gone on with, and nobody
 * else's meanwhile.
 *
 *     OUT/plan.json     what was asked for (plan_file.h): by it the same command, or one of more arms or
 *                       seeds, is known to go on
 *     OUT/runs/         a folder for every run
 *
 * A folder is made at once, so that one that cannot be written is known before hours of training; what we
 * made and nothing came into is taken away again.
 *
 * Threads: one. */

#ifndef DEPLOY_COMPARE_COMPARISON_FOLDER_H
#define DEPLOY_COMPARE_COMPARISON_FOLDER_H

#include "common/file/disk.h"
#include "deploy/compare/plan.h"

struct comparison_folder {
    char path[DISK_PATH_MAX];
    int occupied;  /* It is ours as long as this is open; -1: there are no such locks. */
    bool out_made; /* By us: to be taken away again when nothing comes into it. */
    bool goes_on;  /* There is a comparison of the same plan already ... */
    bool begun;    /* ... or this is its beginning, and the plan is written there. */
};

/* At out, or, when that is NULL, in a new one with the date in its name. STATUS_EXISTS: something else is
 * there, or another comparison under way; STATUS_MISMATCH: one of another plan. comparison_folder_close in
 * any case. */
enum status comparison_folder_open(struct comparison_folder *folder, const char *out,
                                   const struct plan *plan, struct error *error);
void comparison_folder_close(struct comparison_folder *folder);

#endif
