/* host_probe.h - asks every host for its facts, a few at a time, before the first process starts.
 *
 * Threads: one. */

#ifndef DEPLOY_HOSTS_HOST_PROBE_H
#define DEPLOY_HOSTS_HOST_PROBE_H

#include "deploy/hosts/channel.h"
#include "deploy/hosts/host_report.h"

#define HOST_PROBE_SECONDS 40 /* For each: a login, and reading the data. A program adds to them. */

struct host_probe {
    const char *ssh;
    const struct host_list *list;
    const char *bin;          /* Folder of the remote programs. */
    const char *folder;       /* Working directory for relative paths, where it exists. */
    const char *mark;         /* A file: a host that sees it shares the run's folder. */
    const char *data;         /* NULL: no data needed. */
    const char *program;      /* Its command, where workers may be placed; NULL: without. */
    double start_seconds;     /* Of the program. */
    const char *instructions; /* NULL: the widest. */
    uint16_t first_port, last_port;
};

/* reports [list->count]. wanted: as host_report_read has it. STATUS_MEMORY. */
enum status host_probe_ask(const struct host_probe *host_probe, const struct host_wanted *wanted,
                           struct host_report *reports, struct error *error);

#endif
