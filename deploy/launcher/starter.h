/* starter.h - starts a job's servers and workers, for the first time or again: here, or with a site
 * (site.h) on the hosts that it knows.
 *
 * Processes are called by their slot: servers, then workers. A server here has a port for as long as the job
 * lives (ports.h), chosen before it starts, and is told of those before it; the others it learns from the
 * job. On a site all addresses are known before. Options go by command line alone (role_arguments.h): the
 * environment is ours without them. Workers here share their data in memory (shared_dataset.h).
 *
 * Threads: one, see children.h. Ownership: options, out and site are borrowed for as long as it lives. */

#ifndef DEPLOY_LAUNCHER_STARTER_H
#define DEPLOY_LAUNCHER_STARTER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/address/address.h"
#include "common/options/options.h"
#include "deploy/launcher/children.h"
#include "deploy/launcher/site.h"

/* Where a server listens. */
struct server_place {
    char address[ADDRESS_MAX];
    int held;   /* The socket that holds its port, see ports.h; -1: none. */
    bool known; /* It has listened there. */
};

struct starter {
    const struct options *options;
    const char *out;
    const struct site *site;     /* NULL: here. */
    char programs[PATH_MAX];     /* Folder of the role programs here. */
    char **environment;          /* [.., NULL], the array owned; strings borrowed. */
    struct server_place *places; /* [options->ps], owned. */
    int data;                    /* That workers here share; -1: none. */
};

/* Finds the programs, here. To be closed, also when it fails. */
enum status starter_open(struct starter *starter, const struct options *options, const char *out,
                         const struct site *site, struct error *error);
void starter_close(struct starter *starter);

/* Choose a port here for a server. */
enum status starter_hold_port(struct starter *starter, uint32_t server, struct error *error);

/* That is where a server listens. */
void starter_know(struct starter *starter, uint32_t server, const char *address);

/* Start the process of that slot as `child`. A server that is not known yet announces where it listens
 * (child_announced). */
enum status starter_start(struct starter *starter, size_t slot, struct child *child,
                          struct error *error);

#endif
