/* virtual_runs.h - runs in virtual time, as many side by side as this process has processors, each a child
 * `syncopate simulate` that takes one of them.
 *
 * Whoever asks for a run waits until that one has ended; meanwhile those after it are made as well. So
 * results come in the order of the plan, whichever is done first, and a comparison has the same arms in
 * the same order every time.
 *
 * SIGINT, SIGTERM and SIGHUP (but under nohup) are taken while it is open: the first asks every child to
 * stop cleanly, and no other is started; a second one, or the time for stopping, ends them. Children die
 * with whoever started them (children.h).
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

/* Of run number index: its options with `out`, and its name. False: it is not to be made. */
typedef bool virtual_run_fn(void *context, size_t index, struct options *options, char *out,
                            size_t out_bytes, char *name, size_t name_bytes);

struct virtual_runs {
    virtual_run_fn *run;
    void *context;
    void (*say)(void *context, const char *line); /* What a child warns of. */
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

/* Until run number index has ended: its exit code, and what it took in *seconds. Where it is not
 * EXIT_DONE error says why in one line. */
int virtual_runs_await(struct virtual_runs *runs, size_t index, double *seconds,
                       struct error *error);

#endif
