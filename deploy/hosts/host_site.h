/* host_site.h - a site (site.h) of hosts from a list: who sits where, which port each server has,
 * the keys that each process is given, and which hosts are gone.
 *
 * A process is started by a few lines of shell on its host, which first take what it needs of the
 * job's keys from their standard input, into a folder of its own that nobody else may read, and
 * remove it when the process has ended: so no host has another's keys, no key stands on a command
 * line, and nothing is left when the launcher is gone.
 *
 * Threads: one. Ownership: what is borrowed outlives it. */

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
    const struct host_list *list;
    struct placement *placement;
    const struct job_keys *keys; /* NULL: none are used. */
    const char *bin;             /* Of the programs, there. */
    const char *folder;          /* Where relative paths begin, where it is there. */
    const char *lock;            /* Of server 0's directory there, when it is apart; NULL: none. */
    bool *gone;                  /* [list->count], owned. */
    char address[ADDRESS_MAX];   /* Told last. */
    uint16_t port;               /* Of server 0; the others' follow. */
};

/* The first port from `base` on, in steps of as many as there are servers but 16 at least, at which
 * every server finds its own free on its host: reports are of the list's hosts. 0: there is none
 * among those that were asked about; error names one that is taken. */
uint16_t host_site_port(const struct host_list *list, const struct placement *placement,
                        const struct host_report *reports, const struct host_wanted *wanted,
                        uint16_t last_port, struct error *error);
/* How many ports to ask about for that. */
uint16_t host_site_ports(uint32_t servers);

/* The rest of the fields are set. STATUS_MEMORY. */
enum status host_site_open(struct host_site *site, struct error *error);
void host_site_close(struct host_site *site);

#endif
