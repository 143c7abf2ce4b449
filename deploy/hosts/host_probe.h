/* host_probe.h - every host is asked what it has, a few at a time, before anything is started.
 *
 * Threads: one. */

#ifndef DEPLOY_HOSTS_HOST_PROBE_H
#define DEPLOY_HOSTS_HOST_PROBE_H

#include "deploy/hosts/channel.h"
#include "deploy/hosts/host_report.h"

#define HOST_PROBE_SECONDS 40 /* For each: a login, and a look at the data. */

struct host_probe {
    const char *ssh;
    const struct host_list *list;
    const char *bin;          /* Where the programs are, there. */
    const char *folder;       /* Where relative paths begin, where it is there. */
    const char *mark;         /* A file: whoever sees it shares the run's folder. */
    const char *data;         /* NULL: nobody needs any. */
    const char *instructions; /* NULL: the widest. */
    uint16_t first_port, last_port;
};

/* reports [list->count]. wanted: as host_report_read has it. STATUS_MEMORY. */
enum status host_probe_ask(const struct host_probe *host_probe, const struct host_wanted *wanted,
                           struct host_report *reports, struct error *error);

#endif
