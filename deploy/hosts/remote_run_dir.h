/* remote_run_dir.h - the run directory of a server 0 that does not share our disk: brought there before a run
 * that goes on, and back at its end, with tar.
 *
 * On that host it is in the user's ~/.cache/syncopate, under a name that follows from the one here,
 * for as long as it takes: once it is here the one there is removed. Until then OUT/elsewhere says
 * whose disk has the newest, so that whoever goes on with the run looks there first, also when the
 * launcher was killed.
 *
 * Threads: one. Errors: STATUS_UNREACHABLE, STATUS_IO, with a line that names the host and the
 * folder. */

#ifndef DEPLOY_HOSTS_REMOTE_RUN_DIR_H
#define DEPLOY_HOSTS_REMOTE_RUN_DIR_H

#include "common/file/disk.h"
#include "deploy/hosts/channel.h"

struct remote_run_dir {
    const char *ssh;
    struct host host;
    char out[DISK_PATH_MAX];      /* Here. */
    char path[DISK_PATH_MAX];     /* There. */
    char lock[DISK_PATH_MAX + 8]; /* There: whoever trains in it holds it. */
};

/* Where it is on a host where the user's home is this. */
void remote_run_dir_place(struct remote_run_dir *remote_dir, const char *ssh,
                          const struct host *host, const char *home, const char *out);

/* What an earlier launch has left elsewhere, brought here. *found: there was something to bring. */
enum status remote_run_dir_recover(const char *ssh, const char *out, bool *found,
                                   struct error *error);

/* Take a run that is here there, if there is one, and note where it is. */
enum status remote_run_dir_send(const struct remote_run_dir *remote_dir, struct error *error);
/* Bring back what a run has left there, if one has begun, and then remote_run_dir_drop. */
enum status remote_run_dir_bring(const struct remote_run_dir *remote_dir, struct error *error);

/* Take it away there, and the note here. What is left there after all is a pity, and no more. */
void remote_run_dir_drop(const struct remote_run_dir *remote_dir);

/* OUT/elsewhere, read and written: pure but for its file. STATUS_NOT_FOUND. */
enum status remote_run_dir_read_note(struct remote_run_dir *remote_dir, const char *ssh,
                                     const char *out, struct error *error);
enum status remote_run_dir_write_note(const struct remote_run_dir *remote_dir, struct error *error);

#endif
