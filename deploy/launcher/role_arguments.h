/* role_arguments.h - the command lines of a job's servers and workers: what only the launcher knows of
 * them, and every option that is theirs (arguments.h).
 *
 * Threads: plain values. Ownership: lists are the caller's to free; the rest is borrowed.
 * Errors: as of arguments.h. */

#ifndef DEPLOY_LAUNCHER_ROLE_ARGUMENTS_H
#define DEPLOY_LAUNCHER_ROLE_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/options/options.h"
#include "deploy/launcher/arguments.h"

struct role {
    uint32_t index;
    const char *ps_hosts; /* Addresses of the servers; "" when there are none. */
    const char *out;      /* The run directory, if it has it; NULL: it has not. */
    bool tells;  /* A server: how training goes; not how it ended, which the launcher does. */
    bool shares; /* A worker: data is in memory that it has as CHILD_WORD. */
};

void role_arguments_server(struct arguments *arguments, const struct options *options,
                           const struct role *role);

void role_arguments_worker(struct arguments *arguments, const struct options *options,
                           const struct role *role);

#endif
