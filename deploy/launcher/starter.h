/* starter.h - starts and restarts a job's servers and workers: here, or with a site (site.h) on its
 * hosts.
 *
 * Processes are identified by their slot: servers, then workers. A server here has a port during
 * the whole job (ports.h); a site has its own. Therefore all addresses are known before the first
 * start. Options are passed by command line only (arguments.h): the environment is ours without
 * them. Workers here share their data in memory (shared_dataset.h).
 *
 * Threads: one, see children.h. Ownership: options, out and site are borrowed for as long as it
 *          lives. */

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

struct starter {
    const struct options *options;
    const char *out;
    const struct site *site; /* NULL: here. */
    char programs[PATH_MAX]; /* Folder of the role programs here. */
    char **environment;      /* [.., NULL], the array owned; strings borrowed. */
    char *hosts;             /* Of the servers, "127.0.0.1:7000,127.0.0.1:7001", owned. */
    int *held;               /* [options->ps] sockets that hold their ports here, or -1; owned. */
    int data;                /* The file that workers here share; -1: none. */
};

/* Finds the programs and ports, here. Call starter_close in any case. */
enum status starter_open(struct starter *starter, const struct options *options, const char *out,
                         const struct site *site, struct error *error);
void starter_close(struct starter *starter);

enum status starter_start(struct starter *starter, size_t slot, struct child *child,
                          struct error *error);

#endif
