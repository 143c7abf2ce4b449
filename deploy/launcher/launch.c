/* launch.c - the launcher's loop waits for the children's pipes, and for signals as bytes of a
 * signalfd, without handlers or globals. Everything that may take long has a deadline:
 *
 *     a child dies --- restart_delay ---> restart_at: once more, --max-restarts times
 *     a child fails --- 1 s: for others' reasons ---> terminate_at: SIGTERM
 *                                       |--- stop timeout, 10 s at most ---> kill_at: SIGKILL
 *     SIGINT, SIGTERM: passed to server 0 --- stop timeout and 5 s ---> kill_at: SIGKILL
 *     server 0 ends, or all workers do --- the same ---> terminate_at */

#include "deploy/launcher/launch.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/wording.h"
#include "common/file/disk.h"
#include "common/process/file_limit.h"
#include "common/process/log.h"
#include "common/process/stop_request.h"
#include "deploy/launcher/child_end.h"
#include "deploy/launcher/ending.h"
#include "deploy/launcher/listener.h"
#include "deploy/launcher/out_folder.h"
#include "deploy/launcher/process_group.h"
#include "deploy/launcher/restart.h"
#include "deploy/launcher/signal_file.h"
#include "deploy/launcher/starter.h"
#include "deploy/launcher/teaching.h"

#define TICK_SECONDS      0.2
#define EXPLAIN_SECONDS   1.0  /* For other children to say more about a failure. */
#define TERMINATE_SECONDS 10.0 /* At most, between SIGTERM and SIGKILL after a failure. */
/* Either, when the start timed out: there are no results to lose. */
#define GIVE_UP_SECONDS    0.3
#define STOP_EXTRA_SECONDS 5.0 /* Beyond --stop-timeout, which the job keeps by itself. */
/* Then remote processes that should be killed are left to end by themselves. */
#define ABANDON_SECONDS 2.0
#define KILLED_SECONDS  10.0 /* For the kernel to take a killed process away. */

struct launcher {
    const struct options *options;
    const struct site *site; /* NULL: here. */
    const struct launch_watch *watch;

    struct process_group group;
    struct starter starter;
    struct listener listener;
    struct out_folder folder;
    bool logs_open; /* In it. */

    struct signal_file signals;
    struct pollfd *polls; /* [2 + 2 group.max], owned. */

    struct stop_request request;
    int stop_signal;          /* The first SIGINT, SIGTERM or SIGHUP; 0: none. */
    bool at_once;             /* A second signal has come. */
    bool failed;              /* A child has failed for good, or could not be started again. */
    bool gave_up;             /* The start timed out. */
    struct error start_error; /* Why it could not; "" when it could. */
    double terminate_at, kill_at, tick_at;
    double killed_at; /* INFINITY: not yet. */
};

/* --- preparing ------------------------------------------------------------------------------- */

static enum status prepare(struct launcher *launcher, const char *out, struct error *error)
{
    const struct options *options = launcher->options;
    out_folder_open(&launcher->folder, out);
    enum status status = process_group_init(&launcher->group, options, error);
    /* Children here have the same limit; of one on another host there are a third of the files
     * here. */
    if (status == STATUS_OK)
        status = file_limit_check((uint32_t)(launcher->site != NULL ? (launcher->group.max + 2) / 3
                                                                    : launcher->group.max),
                                  error);
    if (status != STATUS_OK)
        return status;
    launcher->polls = calloc(2 + 2 * launcher->group.max, sizeof *launcher->polls);
    if (launcher->polls == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    status = starter_open(&launcher->starter, options, out, launcher->site, error);
    if (status == STATUS_OK)
        status = signal_file_open(&launcher->signals, error);
    return status;
}

/* Later signals are dropped while the signalfd can still read them: a third Ctrl-C must not
 * interrupt the summary. */
static void drop_signals(struct launcher *launcher)
{
    while (launcher->signals.file >= 0 && signal_file_next(&launcher->signals) != 0)
        continue;
    signal_file_close(&launcher->signals);
}

static void clean_up(struct launcher *launcher)
{
    process_group_free(&launcher->group);
    drop_signals(launcher);
    out_folder_let_go(&launcher->folder);
    starter_close(&launcher->starter);
    free(launcher->polls);
}

/* --- watching -------------------------------------------------------------------------------- */

static bool may_go_on(const struct launcher *launcher)
{
    return !launcher->failed && launcher->stop_signal == 0;
}

/* The run directory is on another host: then only server 0's process knows the result. */
static bool is_apart(const struct launcher *launcher)
{
    return launcher->site != NULL && launcher->site->elsewhere;
}

/* Whether the run directory is the job's by now. */
static bool claimed(const struct launcher *launcher)
{
    if (is_apart(launcher))
        return launcher->group.count > 0 && launcher->group.children[0].up;
    return out_folder_is_claimed(&launcher->folder);
}

/* Whether run.json says that the job is complete. */
static bool run_is_done(const struct launcher *launcher)
{
    const struct child *first = launcher->group.children;
    if (is_apart(launcher))
        return launcher->group.count > 0 && first->pid != 0 && !first->running &&
               child_exit_code(first) == EXIT_DONE;
    return out_folder_is_done(&launcher->folder);
}

static void kill_all(struct launcher *launcher, double now)
{
    process_group_signal(&launcher->group, SIGKILL);
    launcher->killed_at = now;
    launcher->terminate_at = launcher->kill_at = INFINITY;
}

/* The first request goes to the coordinator, which stops the others; a second one ends all. */
static void on_stop_signal(struct launcher *launcher, int signal, double now)
{
    struct child *first = launcher->group.children;
    enum stop_action action = stop_request_take(&launcher->request, signal, now);
    if (action == STOP_AT_ONCE) {
        launcher->at_once = true;
        kill_all(launcher, now);
    }
    if (action != STOP_CLEANLY)
        return;
    launcher->stop_signal = signal;
    out_folder_let_go(&launcher->folder);
    if (launcher->group.count == 0)
        return;
    process_group_drop_restarts(&launcher->group);
    listener_remark(&launcher->listener, LOG_INFO,
                    signal == SIGINT
                        ? "stopping at a checkpoint (Ctrl-C again to end at once)"
                        : "stopping at a checkpoint (a second signal ends all at once)");
    if (first->running && first->up)
        child_ask(first, signal == SIGINT ? SIGINT : SIGTERM);
    else
        launcher->terminate_at = now;
    launcher->kill_at =
        fmin(launcher->kill_at, now + launcher->options->deadlines.stop + STOP_EXTRA_SECONDS);
}

static void read_signals(struct launcher *launcher, double now)
{
    int signal;
    while ((signal = signal_file_next(&launcher->signals)) != 0)
        on_stop_signal(launcher, signal, now);
}

/* Whether it may be restarted after its end: the end of the job is not decided yet. */
static bool may_restart(const struct launcher *launcher, const struct child *child)
{
    const struct child *first = launcher->group.children;
    return may_go_on(launcher) && child_has_come(child) &&
           restart_may_help(child, child == first) && (child == first || child_is_alive(first)) &&
           restart_allowed(child, launcher->options,
                           process_group_is_worker(&launcher->group, child)) &&
           !(process_group_others_ended(&launcher->group) && run_is_done(launcher));
}

static void on_child_end(struct launcher *launcher, struct child *child, double now)
{
    const struct deadlines *deadlines = &launcher->options->deadlines;
    const struct process_group *group = &launcher->group;
    const struct child *first = group->children;
    bool stopping = launcher->stop_signal != 0,
         failed = process_group_failed(group, child, stopping);
    double patience = INFINITY;
    if (failed && may_restart(launcher, child)) {
        child->restart_at = now + restart_delay(child);
        return;
    }
    if (child == first || failed)
        process_group_drop_restarts(&launcher->group);
    if (failed) {
        launcher->failed = true;
        launcher->gave_up = launcher->gave_up || child_exit_code(child) == EXIT_START_TIMEOUT;
        patience = !child_has_come(child) ? 0
                   : launcher->gave_up    ? GIVE_UP_SECONDS
                                          : EXPLAIN_SECONDS;
    } else if (child == first && stopping) {
        patience = EXPLAIN_SECONDS;
    } else if (child == first || process_group_workers_ended(group)) {
        /* All may have left with 0 (syncopate leave): then server 0 waits for others
         * (process_group.h). */
        bool done = child == first || run_is_done(launcher);
        patience = (done ? deadlines->stop : fmax(deadlines->stop, deadlines->recovery)) +
                   STOP_EXTRA_SECONDS;
    }
    /* A server 0 that was restarted after the end waits for no peers. */
    if (first->restarts > 0 && process_group_others_ended(group) && run_is_done(launcher))
        patience = fmin(patience, EXPLAIN_SECONDS);
    launcher->terminate_at = fmin(launcher->terminate_at, now + patience);
}

static void listen_to(struct launcher *launcher, struct child *child)
{
    listener_hear(&launcher->listener, child, child == launcher->group.children);
}

static void reap_children(struct launcher *launcher, double now)
{
    for (size_t i = 0; i < launcher->group.count; i++) {
        struct child *child = &launcher->group.children[i];
        if (!child->running)
            continue;
        child_reap(child, now);
        if (child->running)
            continue;
        listen_to(launcher, child);
        child_conclude(child);
        on_child_end(launcher, child, now);
    }
}

static void open_log(struct launcher *launcher, struct child *child)
{
    char folder[DISK_PATH_MAX + 8];
    struct error note = {0}, trouble = {0};
    if (out_folder_make_logs(&launcher->folder, folder, sizeof folder, &note, &trouble) ==
        STATUS_OK)
        child_open_log(child, folder, &trouble);
    if (note.text[0] != '\0')
        listener_remark(&launcher->listener, LOG_WARNING, note.text);
    if (trouble.text[0] != '\0')
        listener_remark(&launcher->listener, LOG_WARNING, trouble.text);
}

/* Only a folder that the job has claimed gets logs: a refused one stays unchanged, and an empty one
 * is still empty for server 0. */
static void open_logs(struct launcher *launcher)
{
    if (launcher->logs_open || !claimed(launcher))
        return;
    launcher->logs_open = true;
    if (may_go_on(launcher)) /* It may not have been there before. */
        out_folder_occupy(&launcher->folder);
    for (size_t i = 0; i < launcher->group.count; i++)
        open_log(launcher, &launcher->group.children[i]);
}

static void tick(struct launcher *launcher, double now)
{
    if (now < launcher->tick_at)
        return;
    launcher->tick_at = now + TICK_SECONDS;
    open_logs(launcher);
    if (launcher->watch != NULL && launcher->watch->tick != NULL)
        launcher->watch->tick(launcher->watch->context, launcher->folder.path);
}

static void keep_deadlines(struct launcher *launcher, double now)
{
    bool ends = !isinf(launcher->terminate_at) || !isinf(launcher->kill_at); /* In any case. */
    if (ends)
        out_folder_let_go(&launcher->folder);
    teaching_turn(&launcher->group, ends, now);
    if (now >= launcher->terminate_at) {
        process_group_signal(&launcher->group, SIGTERM);
        launcher->terminate_at = INFINITY;
        double most = launcher->gave_up ? GIVE_UP_SECONDS : TERMINATE_SECONDS;
        launcher->kill_at =
            fmin(launcher->kill_at, now + fmin(launcher->options->deadlines.stop, most));
    }
    if (now >= launcher->kill_at)
        kill_all(launcher, now);
    if (now >= launcher->killed_at + ABANDON_SECONDS)
        process_group_abandon(&launcher->group);
}

static bool teaching_is_open(const struct launcher *launcher)
{
    return launcher->watch != NULL && launcher->watch->teaching != NULL;
}

static void obey_teacher(struct launcher *launcher, double now)
{
    char text[TEACHING_TEXT_MAX];
    while (teaching_is_open(launcher) &&
           teaching_take(launcher->watch->teaching, &launcher->group, now, text))
        listener_remark(&launcher->listener, LOG_INFO, text);
}

static void restart_due(struct launcher *launcher, double now);

/* Seconds until the next action, `seconds` at most. */
static double until_due(const struct launcher *launcher, double seconds)
{
    double due = fmin(launcher->terminate_at, launcher->kill_at), now = clock_now_seconds();
    due = fmin(due, process_group_restart_at(&launcher->group));
    due = fmin(due, teaching_due(&launcher->group, now));
    return fmin(seconds, fmax(due - now, 0));
}

/* Wait for something to happen, `seconds` at most, and deal with it. */
static void turn(struct launcher *launcher, double seconds)
{
    size_t count = 0;
    launcher->polls[count++] = (struct pollfd){.fd = launcher->signals.file, .events = POLLIN};
    if (teaching_is_open(launcher))
        launcher->polls[count++] =
            (struct pollfd){.fd = launcher->watch->teaching->orders[0], .events = POLLIN};
    for (size_t i = 0; i < launcher->group.count; i++) {
        const struct child *child = &launcher->group.children[i];
        if (child->output >= 0)
            launcher->polls[count++] = (struct pollfd){.fd = child->output, .events = POLLIN};
        if (child->voice >= 0)
            launcher->polls[count++] = (struct pollfd){.fd = child->voice, .events = POLLIN};
    }
    poll(launcher->polls, count, (int)ceil(1e3 * until_due(launcher, seconds)));

    double now = clock_now_seconds();
    read_signals(launcher, now);
    for (size_t i = 0; i < launcher->group.count; i++)
        listen_to(launcher, &launcher->group.children[i]);
    reap_children(launcher, now);
    restart_due(launcher, now);
    obey_teacher(launcher, now);
    tick(launcher, now);
    keep_deadlines(launcher, now);
}

/* --- starting -------------------------------------------------------------------------------- */

/* Start the child at `slot`, for the first time or again. */
static enum status start_child(struct launcher *launcher, size_t slot, struct error *error)
{
    struct child *child = &launcher->group.children[slot];
    enum status status = starter_start(&launcher->starter, slot, child, error);
    if (status == STATUS_OK && slot == launcher->group.count)
        launcher->group.count++;
    if (status == STATUS_OK && launcher->logs_open)
        open_log(launcher, child);
    return status;
}

/* sshd drops connections when many come at once. ssh itself gives up a login that fails. */
static void await_login(struct launcher *launcher)
{
    while (may_go_on(launcher) && process_group_logins(&launcher->group) >= launcher->site->logins)
        turn(launcher, TICK_SECONDS);
}

static enum status start_all(struct launcher *launcher, struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t slot = 0; slot < launcher->group.max && status == STATUS_OK; slot++) {
        if (launcher->site != NULL)
            await_login(launcher);
        if (!may_go_on(launcher))
            break;
        status = start_child(launcher, slot, error);
    }
    return status;
}

/* --- starting again -------------------------------------------------------------------------- */

static void restart(struct launcher *launcher, size_t slot)
{
    struct child *child = &launcher->group.children[slot];
    const struct site *site = launcher->site;
    char line[RESTART_LINE_MAX];
    bool moved = child->cut && site->move(site->context, slot);
    restart_describe(child, moved ? site->host(site->context, slot) : NULL, launcher->options,
                     line);
    listener_remark(&launcher->listener, LOG_WARNING, line);
    if (start_child(launcher, slot, &launcher->start_error) == STATUS_OK)
        return;
    launcher->failed = true;
    child->restart_at = INFINITY;
    launcher->terminate_at = 0;
}

static void restart_due(struct launcher *launcher, double now)
{
    for (size_t i = 0; i < launcher->group.count; i++)
        if (launcher->group.children[i].restart_at <= now)
            restart(launcher, i);
}

/* --- ending ---------------------------------------------------------------------------------- */

/* Until every child has ended. A killed process that the kernel does not give back is given up. */
static void watch_to_the_end(struct launcher *launcher)
{
    while (process_group_any_alive(&launcher->group)) {
        turn(launcher, TICK_SECONDS);
        if (clock_now_seconds() > launcher->killed_at + KILLED_SECONDS)
            return;
    }
}

/* The exit code of the whole, from how the children ended. */
static int judge(const struct launcher *launcher, struct error *error)
{
    const struct ending ending = {.out = launcher->folder.path,
                                  .stop_seconds = launcher->options->deadlines.stop,
                                  .stop_signal = launcher->stop_signal,
                                  .at_once = launcher->at_once,
                                  .killed = !isinf(launcher->killed_at),
                                  .done = run_is_done(launcher),
                                  .start_error = launcher->start_error};
    return ending_judge(&ending, &launcher->group, error);
}

/* Like the log: the lines before the failed process's last one. */
static void say_tail(const struct launcher *launcher)
{
    const struct child *child = ending_culprit(&launcher->group, launcher->stop_signal != 0);
    if (child != NULL && child->error[0] == '\0' && !launcher->logs_open &&
        !launcher->options->verbose)
        listener_say_tail(&launcher->listener, child);
}

int launch_job(const struct options *options, const char *out, const struct site *site,
               const struct launch_watch *watch, struct launch_result *result, struct error *error)
{
    struct launcher launcher = {
        .options = options,
        .site = site,
        .watch = watch,
        .listener = {.watch = watch, .quiet = options->quiet, .verbose = options->verbose},
        .starter = {.data = -1},
        .signals = {.file = -1},
        .terminate_at = INFINITY,
        .kill_at = INFINITY,
        .killed_at = INFINITY,
    };
    enum status status = prepare(&launcher, out, error);
    if (status == STATUS_OK)
        status = start_all(&launcher, error);

    int code = status == STATUS_MEMORY ? EXIT_TRAINING_FAILED : EXIT_CANNOT_OPEN;
    if (status != STATUS_OK) {
        launcher.failed = true;
        launcher.terminate_at = 0;
        process_group_drop_restarts(&launcher.group);
    }
    if (launcher.signals.file >= 0)
        watch_to_the_end(&launcher);
    open_logs(&launcher); /* A short job may end between two looks. */
    if (status == STATUS_OK) {
        code = judge(&launcher, error);
        if (code != EXIT_DONE)
            say_tail(&launcher);
    }
    if (result != NULL)
        *result = (struct launch_result){.restarts = process_group_restarts(&launcher.group),
                                         .claimed = claimed(&launcher),
                                         .stop_code = ending_stop_code(launcher.stop_signal)};
    clean_up(&launcher);
    return code;
}
