/* out_folder.h - the run directory as a launcher here has it: occupied for the job (occupancy.h), and
 * looked at to see whether the job has claimed it.
 *
 * Server 0 claims the folder by writing run.json, which is always a new file under that name.
 *
 * Threads: one. Ownership: the path is borrowed. Errors: what cannot be looked at is not there. */

#ifndef DEPLOY_LAUNCHER_OUT_FOLDER_H
#define DEPLOY_LAUNCHER_OUT_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "common/base/status.h"

struct out_folder {
    const char *path;
    int occupied;         /* See occupancy.h; -1: not. */
    struct stat run_json; /* As it was before the job; st_ino 0: not there. */
};

/* Remember how it is, and occupy it if it is there. */
void out_folder_open(struct out_folder *folder, const char *path);
/* The same, of one that was not there yet. */
void out_folder_occupy(struct out_folder *folder);
/* It is left: whoever wants it next need only wait. */
void out_folder_let_go(struct out_folder *folder);

/* Its run.json was written since it was opened. */
bool out_folder_is_claimed(const struct out_folder *folder);
/* And says that the job is complete. */
bool out_folder_is_done(const struct out_folder *folder);

/* A place for logs in it, text[bytes]; made if it was not there. What stands in its place and is no folder
 * is set aside. note: a line for people about that, or "". */
enum status out_folder_make_logs(const struct out_folder *folder, char *text, size_t bytes,
                                 struct error *note, struct error *error);

#endif
