/* folder_rendezvous.h - how processes on several hosts learn where a job's servers are when nobody can tell them
 * but a folder that all of them share: every server leaves its address there, and everybody waits until
 * all are in.
 *
 *     DIR/ps-0    2008940545        the job, so that what an older one left is not taken for it
 *                 alpha:45123
 *
 * Files are written aside and renamed (disk.h), so nobody reads half of one.
 *
 * Threads: any. */

#ifndef DEPLOY_LAUNCHER_FOLDER_RENDEZVOUS_H
#define DEPLOY_LAUNCHER_FOLDER_RENDEZVOUS_H

#include <stdint.h>

#include "common/base/status.h"

/* Leave the address of a server; the folder is made. job: a line of text. */
enum status folder_rendezvous_leave(const char *folder, const char *job, uint32_t server,
                                    const char *address, struct error *error);

/* "host:port,..." of all servers into *ps_hosts, the caller's to free. STATUS_TIMEOUT after `seconds`,
 * with a line that names the first that has not come. */
enum status folder_rendezvous_gather(const char *folder, const char *job, uint32_t servers,
                                     double seconds, char **ps_hosts, struct error *error);

#endif
