/* site.h - where the processes of a job run, when that is not here: what the launcher asks of
 * whoever knows the hosts.
 *
 * A process somewhere else is a child all the same: of what carries it there (ssh),
 * which passes on its standard input, output and error. It then runs under a few lines of shell,
 * which say on standard output, in lines of their own,
 *
 *     syncopate-up          we are there, and the program can be run
 *     syncopate-end 137     it has ended, with this exit code, or 128 and the signal's number
 *
 * So a start that failed (nothing was said) is told from a connection that broke (no end was told),
 * whatever the carrier's own exit codes are. Its standard input begins with what `carry` has for it
 * and goes on as any child's (parent.h); signals are passed that way, too. What else it prints is
 * for people.
 *
 * Threads: one. */

#ifndef DEPLOY_LAUNCHER_SITE_H
#define DEPLOY_LAUNCHER_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "deploy/launcher/arguments.h"

#define SITE_UP  "syncopate-up"
#define SITE_END "syncopate-end "

struct site {
    void *context;
    /* Processes are called by their slot: servers, then workers. */

    /* The name of the host that it is on, or goes to next. */
    const char *(*host)(void *context, size_t slot);
    /* Where a server listens, "beta:20000", as everybody knows it. */
    const char *(*address)(void *context, uint32_t server);
    /* The command line that brings `program` (its name first, "syncopate-ps") to its host, and what
     * its standard input begins with: *input, to be freed, NULL for nothing. */
    enum status (*carry)(void *context, size_t slot, const struct arguments *program,
                         struct arguments *command, char **input, struct error *error);
    /* The connection to it has broken, or cannot be made again. True: it goes on elsewhere, `host`
     * says where. */
    bool (*move)(void *context, size_t slot);

    const char *out; /* Where server 0 has the run directory, on its host. */
    bool elsewhere;  /* That is not the one here. */
    uint32_t logins; /* So many are started at once, at most. */
};

#endif
