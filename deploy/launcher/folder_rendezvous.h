/* folder_rendezvous.h - the exchange of the servers' addresses through a folder that all hosts
 * share: every server leaves its address there, and all processes wait until they are complete.
 *
 *     DIR/ps-0    2008940545        the job, which distinguishes it from older files
 *                 alpha:45123
 *
 * Files are written aside and renamed (disk.h): a reader never sees a part of one.
 *
 * Threads: any. */

#ifndef DEPLOY_LAUNCHER_FOLDER_RENDEZVOUS_H
#define DEPLOY_LAUNCHER_FOLDER_RENDEZVOUS_H

#include <stdint.h>

#include "common/base/status.h"

/* Leave the address of a server; the folder is made. job: a line of text. */
enum status folder_rendezvous_leave(const char *folder, const char *job, uint32_t server,
                                    const char *address, struct error *error);

/* "host:port,..." of all servers into *ps_hosts, which the caller frees. STATUS_TIMEOUT after
 * `seconds`, with a line that names the first missing one. */
enum status folder_rendezvous_gather(const char *folder, const char *job, uint32_t servers,
                                     double seconds, char **ps_hosts, struct error *error);

#endif
