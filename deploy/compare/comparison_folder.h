/* comparison_folder.h - the folder OUT of a comparison in progress: created or resumed, and locked.
 *
 *     OUT/plan.json     the plan (plan_file.h): the same command, or one with more configurations
 *     or
 *                       seeds, resumes the comparison
 *     OUT/runs/         a folder for every run
 *
 * The folder is created at once: an unwritable one fails before hours of training. A created folder
 * that stays empty is removed again.
 *
 * Threads: one. */

#ifndef DEPLOY_COMPARE_COMPARISON_FOLDER_H
#define DEPLOY_COMPARE_COMPARISON_FOLDER_H

#include "common/file/disk.h"
#include "deploy/compare/plan.h"

struct comparison_folder {
    char path[DISK_PATH_MAX];
    int occupied;  /* Locked while this is open; -1: the file system has no locks. */
    bool out_made; /* Created here: removed again if it stays empty. */
    bool goes_on;  /* A comparison of the same plan is resumed; */
    bool begun;    /* or a new one has begun, and the plan is written. */
};

/* At `out`, or for NULL in a new folder with the date in its name. STATUS_EXISTS: the folder has
 * other files, or a comparison in progress; STATUS_MISMATCH: a comparison of another plan. Call
 * comparison_folder_close in any case. */
enum status comparison_folder_open(struct comparison_folder *folder, const char *out,
                                   const struct plan *plan, struct error *error);
void comparison_folder_close(struct comparison_folder *folder);

#endif
