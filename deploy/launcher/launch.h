/* launch.h - starts one job's servers and workers as child processes and watches them, here or,
 * with a site (site.h), on its hosts.
 *
 * The servers' ports are chosen in advance, and all processes start at once. Every child has
 * PR_SET_PDEATHSIG: none outlives the launcher.
 *
 * A child that ends unexpectedly is restarted after a moment, as the same task and on the same
 * address, and one line reports it (restart.h has the rule). When a child fails for good, the
 * others get SIGTERM and, after a deadline, SIGKILL; the first failing child's exit code and last
 * line explain it. But a run whose run.json says done is done, even if a process died at its end.
 * SIGINT and SIGTERM are passed on once as a request to stop cleanly; a second one ends the job at
 * once.
 *
 * With --ps 0 there is one process, a worker that trains alone.
 *
 * The output of children goes to out/logs/ps-0.log, worker-1.log, once the job has claimed `out`.
 *
 * On other hosts at most as many start at once as the site takes logins. A failed start ends the
 * job with a line that names the host. A process whose connection breaks is restarted until
 * --recovery-timeout: a worker on another host, if there is one; a server on the same, because all
 * processes have that address. Server 0 reports progress.
 *
 * Threads: one; not re-entrant with respect to signals. */

#ifndef DEPLOY_LAUNCHER_LAUNCH_H
#define DEPLOY_LAUNCHER_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/options/options.h"
#include "deploy/launcher/site.h"

/* Callbacks while a job runs. */
struct launch_watch {
    void *context;
    /* Called about five times a second with the run directory; may be NULL. */
    void (*tick)(void *context, const char *out);
    /* A line for the person: a child's warning, all its lines with --verbose, or the launcher's own
     * message. NULL: standard error. */
    void (*say)(void *context, const char *line);
    /* A line of progress, from server 0 on another host; may be NULL. */
    void (*tell)(void *context, const char *line);
    /* Orders for its processes; NULL: there are none. */
    const struct teaching *teaching;
};

/* Further results. */
struct launch_result {
    uint32_t restarts; /* The sum of restarts. */
    bool claimed;      /* The run.json in `out` is of this job. */
    /* EXIT_INTERRUPTED, EXIT_TERMINATED: a signal requested a stop, even if the job was completed;
     * else EXIT_DONE. */
    int stop_code;
};

/* Run the job of the options in directory `out`, to its end. site: the hosts; NULL: here. Returns
 * an enum exit_code; when it is not EXIT_DONE, error has one line. result may be NULL. */
int launch_job(const struct options *options, const char *out, const struct site *site,
               const struct launch_watch *watch, struct launch_result *result, struct error *error);

#endif
