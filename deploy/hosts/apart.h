/* apart.h - the run directory of a server 0 that does not share our disk: brought there before a run
 * that goes on, and back at its end, with tar.
 *
 * On that host it is in the user's ~/.cache/syncopate, under a name that follows from the one here,
 * for as long as it takes: once it is here the one there is removed. Until then OUT/elsewhere says
 * whose disk has the newest, so that whoever goes on with the run looks there first, also when the
 * launcher was killed.
 *
 * Threads: one. Errors: STATUS_UNREACHABLE, STATUS_IO, with a line that names the host and the
 * folder. */

#ifndef DEPLOY_HOSTS_APART_H
#define DEPLOY_HOSTS_APART_H

#include "common/file/disk.h"
#include "deploy/hosts/carrier.h"

struct apart {
    const char *ssh;
    struct host host;
    char out[DISK_PATH_MAX];      /* Here. */
    char path[DISK_PATH_MAX];     /* There. */
    char lock[DISK_PATH_MAX + 8]; /* There: whoever trains in it holds it. */
};

/* Where it is on a host where the user's home is this. */
void apart_place(struct apart *apart, const char *ssh, const struct host *host, const char *home,
                 const char *out);

/* What an earlier launch has left elsewhere, brought here. *found: there was something to bring. */
enum status apart_recover(const char *ssh, const char *out, bool *found, struct error *error);

/* Take a run that is here there, if there is one, and note where it is. */
enum status apart_send(const struct apart *apart, struct error *error);
/* Bring back what a run has left there, if one has begun, and then apart_drop. */
enum status apart_bring(const struct apart *apart, struct error *error);

/* Take it away there, and the note here. What is left there after all is a pity, and no more. */
void apart_drop(const struct apart *apart);

/* OUT/elsewhere, read and written: pure but for its file. STATUS_NOT_FOUND. */
enum status apart_read_note(struct apart *apart, const char *ssh, const char *out,
                            struct error *error);
enum status apart_write_note(const struct apart *apart, struct error *error);

#endif
