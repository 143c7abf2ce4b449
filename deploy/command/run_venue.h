/* run_venue.h - the place of a `run`'s processes. Plan, progress, summary and result are the same
 * for `launch`.
 *
 * Threads: one. */

#ifndef DEPLOY_COMMAND_RUN_VENUE_H
#define DEPLOY_COMMAND_RUN_VENUE_H

#include "deploy/command/command.h"
#include "deploy/launcher/site.h"
#include "deploy/run/run_plan.h"

/* Functions return an enum exit_code, with a line in error when it is not EXIT_DONE; NULL: no
 * action. */
struct run_venue {
    const char *program; /* "syncopate launch", before every message. */
    void *context;
    /* Before any check: options that follow from the hosts (the number of workers). */
    int (*begin)(void *context, struct options *options, struct error *error);
    /* All checks here have passed, and the run's folder is known: check the hosts, place and
     * prepare. */
    int (*open)(void *context, struct run_plan *plan, struct error *error);
    /* The site, once open; NULL: here. */
    const struct site *(*site)(void *context);
    /* The job has ended: bring its result to the run's folder. */
    int (*bring)(void *context, struct run_plan *plan, struct error *error);
    void (*close)(void *context);
};

int run_at(const struct run_venue *venue, const struct command_call *call);

#endif
