/* out_folder.h - the run directory of a launcher on this host: occupied for the job (occupancy.h),
 * and checked for the job's claim.
 *
 * Server 0 claims the folder by writing run.json, which is always a new file under that name.
 *
 * Threads: one. Ownership: the path is borrowed. Errors: an unreadable file counts as missing. */

#ifndef DEPLOY_LAUNCHER_OUT_FOLDER_H
#define DEPLOY_LAUNCHER_OUT_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "common/base/status.h"

struct out_folder {
    const char *path;
    int occupied;         /* See occupancy.h; -1: not. */
    struct stat run_json; /* Before the job; st_ino 0: missing. */
};

/* Remember its state, and occupy it if it exists. */
void out_folder_open(struct out_folder *folder, const char *path);
/* The same for a folder that did not exist yet. */
void out_folder_occupy(struct out_folder *folder);
/* The process is about to leave it: the next one only has to wait. */
void out_folder_let_go(struct out_folder *folder);

/* Its run.json was written since it was opened. */
bool out_folder_is_claimed(const struct out_folder *folder);
/* And says that the job is complete. */
bool out_folder_is_done(const struct out_folder *folder);

/* A folder for logs in it, text[bytes]; made if it is missing. A file in its place is moved aside.
 * note: a line for people about that, or "". */
enum status out_folder_make_logs(const struct out_folder *folder, char *text, size_t bytes,
                                 struct error *note, struct error *error);

#endif
