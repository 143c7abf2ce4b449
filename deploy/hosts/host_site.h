/* host_site.h - a site (site.h) of hosts from a list: the placement of processes, the ports of
 * servers, the keys of each process, and the lost hosts.
 *
 * A process is started by a few lines of shell on its host. They first read the process's part of
 * the job's keys from standard input into a private folder, and remove it when the process has
 * ended. Therefore no host has another's keys, no key is on a command line, and no key remains
 * after the launcher is gone.
 *
 * Threads: one. Ownership: borrowed objects outlive it. */

#ifndef DEPLOY_HOSTS_HOST_SITE_H
#define DEPLOY_HOSTS_HOST_SITE_H

#include "common/options/options.h"
#include "deploy/hosts/channel.h"
#include "deploy/hosts/host_report.h"
#include "deploy/hosts/job_keys.h"
#include "deploy/hosts/placement.h"
#include "deploy/launcher/site.h"

struct host_site {
    struct site site; /* For the launcher. */
    const char *ssh;
    const char *server_0_ssh; /* To server 0, with a port of it; NULL: as to others. */
    const struct host_list *list;
    struct placement *placement;
    const struct job_keys *keys; /* NULL: no keys. */
    const char *bin;             /* Folder of the remote programs. */
    const char *folder;          /* Working directory for relative paths, where it exists. */
    const char *lock;            /* Of a remote run directory of server 0; NULL: none. */
    bool *gone;                  /* [list->count], owned. */
    char address[ADDRESS_MAX];   /* The last one returned. */
    uint16_t port;               /* Of server 0; the others' follow. */
};

/* The first port from `base` on, in steps of the number of servers but at least 16, at which every
 * server has a free port on its host. Reports are of the list's hosts. 0: no checked port is free;
 * error names one that is taken. */
uint16_t host_site_port(const struct host_list *list, const struct placement *placement,
                        const struct host_report *reports, const struct host_wanted *wanted,
                        uint16_t last_port, struct error *error);
/* The number of ports to check for that. */
uint16_t host_site_ports(uint32_t servers);

/* The caller has set the other fields. STATUS_MEMORY. */
enum status host_site_open(struct host_site *site, struct error *error);
void host_site_close(struct host_site *site);

#endif
