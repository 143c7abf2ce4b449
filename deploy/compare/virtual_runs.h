/* virtual_runs.h - runs in virtual time, as many in parallel as this process has processors, each a
 * child `syncopate simulate` with one processor.
 *
 * The caller waits for one run after another in the order of the plan; meanwhile later ones run as
 * well. Therefore the order of results does not depend on the order of finishing.
 *
 * SIGINT, SIGTERM and SIGHUP (but under nohup) are handled while it is open. The first asks every
 * child to stop cleanly, and no other is started; a second one, or the stop timeout, ends them.
 * Children die with their parent (children.h).
 *
 * Threads: one. */

#ifndef DEPLOY_COMPARE_VIRTUAL_RUNS_H
#define DEPLOY_COMPARE_VIRTUAL_RUNS_H

#include <limits.h>
#include <signal.h>

#include "common/options/options.h"
#include "common/process/stop_request.h"
#include "deploy/launcher/children.h"
#include "deploy/launcher/signal_file.h"

/* Options with `out`, and the name, of run number index. False: skip it. */
typedef bool virtual_run_fn(void *context, size_t index, struct options *options, char *out,
                            size_t out_bytes, char *name, size_t name_bytes);

struct virtual_runs {
    virtual_run_fn *run;
    void *context;
    void (*say)(void *context, const char *line); /* A child's warning. */
    struct child *children;                       /* [count], owned. */
    size_t count, next, side_by_side;
    char program[PATH_MAX];
    char **environment; /* [.., NULL], the array owned. */
    struct signal_file signals;
    struct stop_request request;
    int stop_signal; /* 0: none. */
    double stop_timeout, kill_at;
};

/* STATUS_MEMORY, STATUS_IO, STATUS_NOT_FOUND (no program). virtual_runs_close in any case. */
enum status virtual_runs_open(struct virtual_runs *runs, size_t count, double stop_timeout,
                              struct error *error);
void virtual_runs_close(struct virtual_runs *runs);

/* Wait for run number index: returns its exit code, and its time in *seconds. Unless it is
 * EXIT_DONE error has the reason in one line. */
int virtual_runs_await(struct virtual_runs *runs, size_t index, double *seconds,
                       struct error *error);

#endif
