/* site.h - the launcher's interface to the hosts of a job's processes, when these are not all here.
 *
 * A process elsewhere is still a child: of the program that connects to its host (ssh), which
 * passes on its standard input, output and error. There it runs under a few lines of shell, which
 * print on standard output, in lines of their own,
 *
 *     syncopate-up          the host is reached, and the program can be run
 *     syncopate-end 137     it has ended, with this exit code, or 128 and the signal's number
 *
 * This distinguishes a failed start (no first line) from a broken connection (no second line),
 * whatever the exit codes of ssh are. Its standard input begins with the input of `carry` and
 * continues like any child's (parent.h); signals are passed that way, too. Its other output is for
 * people.
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

    /* The name of its host, or of the next one. */
    const char *(*host)(void *context, size_t slot);
    /* The address of a server, "beta:20000", for all processes. */
    const char *(*address)(void *context, uint32_t server);
    /* The command line that runs `program` (its name first, "syncopate-ps") on its host, and the
     * beginning of its standard input: *input, which the caller frees, NULL for none. */
    enum status (*carry)(void *context, size_t slot, const struct arguments *program,
                         struct arguments *command, char **input, struct error *error);
    /* The connection to it has broken, or cannot be made again. True: it moves to another host,
     * `host` has its name. */
    bool (*move)(void *context, size_t slot);

    const char *out; /* The run directory of server 0, on its host. */
    bool elsewhere;  /* It is not the one here. */
    uint32_t logins; /* The maximum number of simultaneous starts. */
};

#endif
