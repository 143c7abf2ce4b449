/* run_venue.h - where `run` has its processes; all the rest of it, plan, progress, summary and
 * result, is the same for `launch`.
 *
 * Threads: one. */

#ifndef DEPLOY_COMMAND_RUN_VENUE_H
#define DEPLOY_COMMAND_RUN_VENUE_H

#include "deploy/command/command.h"
#include "deploy/launcher/site.h"
#include "deploy/run/run_plan.h"

/* Functions return an enum exit_code, with a line in error when it is not EXIT_DONE; NULL: there is
 * nothing to do. */
struct run_venue {
    const char *program; /* "syncopate launch", before whatever is said */
    void *context;
    /* Before anything is looked at: options that only the hosts say (how many workers). */
    int (*begin)(void *context, struct options *options, struct error *error);
    /* All is checked here, and the run's folder is known: look there, choose and prepare. */
    int (*open)(void *context, struct run_plan *plan, struct error *error);
    /* The site, once open; NULL: here. */
    const struct site *(*site)(void *context);
    /* The job has ended: have what came of it in the run's folder. */
    int (*bring)(void *context, struct run_plan *plan, struct error *error);
    void (*close)(void *context);
};

/* The whole command. */
int run_at(const struct run_venue *venue, const struct command_call *call);

#endif
