/* remote_run_dir.h - the run directory of a server 0 that does not share our disk: copied there
 * before a resumed run, and back at its end, with tar.
 *
 * On that host it is in the user's ~/.cache/syncopate, under a name derived from the local path,
 * until the end of the run: once it is copied back the remote one is removed. Until then
 * OUT/elsewhere names the host with the newest state. The next launch looks there first, also after
 * the launcher was killed.
 *
 * Threads: one.
 * Errors: STATUS_UNREACHABLE, STATUS_IO, with a line that names the host and the folder. */

#ifndef DEPLOY_HOSTS_REMOTE_RUN_DIR_H
#define DEPLOY_HOSTS_REMOTE_RUN_DIR_H

#include "common/file/disk.h"
#include "deploy/hosts/channel.h"

struct remote_run_dir {
    const char *ssh;
    struct host host;
    char out[DISK_PATH_MAX];      /* Local. */
    char path[DISK_PATH_MAX];     /* Remote. */
    char lock[DISK_PATH_MAX + 8]; /* Remote: held by the process that trains in it. */
};

/* Its path on a host where this is the user's home. */
void remote_run_dir_place(struct remote_run_dir *remote_dir, const char *ssh,
                          const struct host *host, const char *home, const char *out);

/* Copies the state of an earlier launch back from its host. *found: there was one. */
enum status remote_run_dir_recover(const char *ssh, const char *out, bool *found,
                                   struct error *error);

/* Copy a local run there, if there is one, and note its place. */
enum status remote_run_dir_send(const struct remote_run_dir *remote_dir, struct error *error);
/* Copy the state of a run back, if one has begun, and then remote_run_dir_drop. */
enum status remote_run_dir_bring(const struct remote_run_dir *remote_dir, struct error *error);

/* Remove the remote directory, and the local note. Failures are ignored. */
void remote_run_dir_drop(const struct remote_run_dir *remote_dir);

#endif
