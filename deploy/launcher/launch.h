/* launch.h - starts one job's servers and workers as child processes and watches them, here or,
 * with a site (site.h), on the hosts that it knows.
 *
 * Servers have ports that are chosen before, so that all start at once. Every child gets
 * PR_SET_PDEATHSIG, so nothing survives the launcher.
 *
 * A child that ends unexpectedly is started again after a moment, as the same task and on the same
 * address, and one line says so (restart.h has the rule). When a child fails for good, the others
 * are told to stop, given a deadline, then killed; the first failing child's exit code and last
 * line explain it. But a run whose run.json says done is done, whoever died on the way out. SIGINT
 * and SIGTERM are passed on once as a request to stop cleanly; a second one ends the job at once.
 *
 * With --ps 0 there is one process, a worker that trains alone.
 *
 * What children say goes to out/logs/ps-0.log, worker-1.log, once the job has claimed `out`.
 *
 * On other hosts they start in turn where there are more than the site takes logins at a time. One that cannot be started ends the job with a line
 * that names its host. One whose connection breaks is started again: a worker elsewhere, if there is
 * another host; a server where it was, since everybody knows it by that address, as often as
 * --recovery-timeout lasts. How training goes is what server 0 tells.
 *
 * Threads: one; not re-entrant with respect to signals. */

#ifndef DEPLOY_LAUNCHER_LAUNCH_H
#define DEPLOY_LAUNCHER_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/options/options.h"
#include "deploy/launcher/site.h"

/* What a caller wants to see while a job runs. */
struct launch_watch {
    void *context;
    /* Called about five times a second with the run directory; may be NULL. */
    void (*tick)(void *context, const char *out);
    /* A line for the person: a child's warning, all its lines with --verbose, or the launcher's own
     * remark. NULL: it goes to standard error. */
    void (*say)(void *context, const char *line);
    /* A line of how training goes, from server 0 on another host; may be NULL. */
    void (*tell)(void *context, const char *line);
};

/* What else is known when it is over. */
struct launch_result {
    uint32_t restarts; /* Processes that were started again. */
    bool claimed;      /* The run.json in `out` is of this job. */
    int stop_code; /* EXIT_INTERRUPTED, EXIT_TERMINATED: a signal asked to stop, also when the job was done
                        * all the same; else EXIT_DONE. */
};

/* Run the job that options describe in directory `out`, to its end. site: where; NULL: here. Returns
 * an enum exit_code; when it is not EXIT_DONE, error holds one line. result may be NULL. */
int launch_job(const struct options *options, const char *out, const struct site *site,
               const struct launch_watch *watch, struct launch_result *result, struct error *error);

#endif
