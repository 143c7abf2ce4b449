/* launch.c - the launcher's loop waits on the children's pipes and on signals taken as bytes from a
 * signalfd, so there are no handlers and no globals. Everything that may take long has a moment at
 * which patience ends:
 *
 *     a child dies --- restart_delay ---> restart_at: once more, --max-restarts times
 *     a child fails --- 1 s: do others say why? ---> terminate_at: SIGTERM
 *                                       |--- stop timeout, 10 s at most ---> kill_at: SIGKILL
 *     SIGINT, SIGTERM: passed to server 0 --- stop timeout and 5 s ---> kill_at: SIGKILL
 *     server 0 ends, or all workers do --- the same ---> terminate_at */

#include "deploy/launcher/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/wording.h"
#include "common/file/disk.h"
#include "common/file/json.h"
#include "common/process/log.h"
#include "common/process/log_once.h"
#include "common/process/stop_request.h"
#include "common/store/occupancy.h"
#include "deploy/launcher/arguments.h"
#include "deploy/launcher/children.h"
#include "deploy/launcher/ports.h"
#include "deploy/launcher/programs.h"
#include "deploy/launcher/restart.h"
#include "worker/data/shared_dataset.h"

#define TICK_SECONDS       0.2
#define ANNOUNCE_SECONDS   0.01 /* Between looks for a server's address, while servers start. */
#define EXPLAIN_SECONDS    1.0  /* For other children to say more about a failure. */
#define TERMINATE_SECONDS  10.0 /* At most, between SIGTERM and SIGKILL after a failure. */
#define GIVE_UP_SECONDS    0.3  /* Either, when the start timed out: there is nothing to be lost. */
#define STOP_EXTRA_SECONDS 5.0  /* Beyond --stop-timeout, which the job keeps by itself. */
#define ABANDON_SECONDS    2.0  /* Then who was to be killed elsewhere is left to end by itself. */
#define KILLED_SECONDS     10.0 /* For the kernel to take a killed process away. */
#define RUN_JSON_BYTES_MAX (16u << 20)

extern char **environ;

/* A model that is larger than the processor's caches lives in fresh memory at first, and that is dear in
 * pages of 4 KiB: a second or two a GiB. glibc asks for pages of 2 MiB when it is told before a program
 * begins, and not later. Small jobs take as many pages as before, but for the last of a process. */
#define LARGE_PAGES "GLIBC_TUNABLES=glibc.malloc.hugetlb=1"

/* Where a server listens. */
struct place {
    char address[ADDRESS_MAX];
    int held;   /* The socket that holds its port, see ports.h; -1: none. */
    bool known; /* It has listened there. */
};

struct launcher {
    const struct options *options;
    const char *out;
    const struct site *site; /* NULL: here. */
    const struct launch_watch *watch;
    char programs[PATH_MAX]; /* Folder of the role programs. */
    char **environment;      /* [.., NULL], the array owned; strings borrowed. */
    struct place *places;    /* [options->ps], owned. */

    struct child *children; /* [child_max], owned; servers, then workers. */
    size_t child_count, child_max;
    struct pollfd *polls; /* [1 + 2 child_max], owned. */

    int signals;  /* signalfd, or -1. */
    int occupied; /* The run directory, see occupancy.h; -1: not. */
    int data;     /* Memory in which workers here have their data, shared_dataset.h; -1: none. */
    sigset_t mask_before;

    struct stop_request request;
    int stop_signal; /* The first SIGINT, SIGTERM or SIGHUP; 0: none. */
    bool at_once;    /* Somebody has lost patience. */
    bool failed;     /* A child has failed for good, or could not be started again. */
    bool gave_up;    /* The start timed out. */
    double began;
    struct error start_error; /* Why it could not; "" when it could. */
    double terminate_at, kill_at, tick_at;
    double killed_at; /* INFINITY: not yet. */
    bool logs_open;
    struct log_once log_once;
    struct stat run_json; /* As it was before; st_ino 0: not there. */
};

static void say(void *context, const char *line)
{
    struct launcher *launcher = context;
    if (launcher->watch != NULL && launcher->watch->say != NULL)
        launcher->watch->say(launcher->watch->context, line);
    else
        fprintf(stderr, "%s\n", line);
}

/* The launcher's own remark. */
static void remark(struct launcher *launcher, enum log_level level, const char *text)
{
    char line[LOG_LINE_MAX];
    if (level > LOG_WARNING && launcher->options->quiet)
        return;
    log_remark(level, text, line);
    say(launcher, line);
}

/* A child's line: all of them with --verbose, else those that somebody should see. What is an error
 * is told at the end, of whoever is to blame. */
static void hear(void *context, const char *line, enum log_level level)
{
    const struct launcher *launcher = context;
    if (launcher->options->verbose || level == LOG_WARNING)
        say(context, line);
}

/* One who speaks, and from where. */
struct speaker {
    struct launcher *launcher;
    const struct child *child;
};

/* The same of one on another host. What it is called stands before everything but JSON, which says
 * so itself. */
static void hear_from_afar(void *context, const char *line, enum log_level level)
{
    const struct speaker *speaker = context;
    char named[CHILD_LINE_MAX + CHILD_HOST_MAX + 40];
    snprintf(named, sizeof named, "[%s %s] %s", speaker->child->name, speaker->child->host, line);
    hear(speaker->launcher, line[0] == '{' ? line : named, level);
}

/* How training goes, of whoever knows: server 0. */
static void hear_voice(void *context, const char *line, enum log_level level)
{
    const struct speaker *speaker = context;
    const struct launch_watch *watch = speaker->launcher->watch;
    (void)level;
    if (watch != NULL && watch->tell != NULL && speaker->child == speaker->launcher->children)
        watch->tell(watch->context, line);
}

/* Logs that cannot be written are no reason to end a job. */
static void listen_to(struct launcher *launcher, struct child *child)
{
    char line[CHILD_LINE_MAX];
    struct speaker speaker = {launcher, child};
    if (child->carried) {
        child_read_voice(child, hear_voice, &speaker);
        child_read(child, hear_from_afar, &speaker);
    } else
        child_read(child, hear, launcher);
    if (child_lost_log(child, line, sizeof line) && log_once_add(&launcher->log_once, line))
        remark(launcher, LOG_WARNING, line);
}

/* --- preparing ------------------------------------------------------------------------------- */

/* Whether the user has settings for the C library himself: then they are all there are. */
static bool is_tuned(const char *entry)
{
    return strncmp(entry, LARGE_PAGES, strchr(LARGE_PAGES, '=') - LARGE_PAGES + 1) == 0;
}

/* Options go by command line alone. */
static enum status make_environment(struct launcher *launcher, struct error *error)
{
    size_t count = 0, used = 0;
    while (environ[count] != NULL)
        count++;
    launcher->environment = calloc(count + 2, sizeof *launcher->environment);
    if (launcher->environment == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    static char large_pages[] = LARGE_PAGES;
    bool tuned = false;
    for (size_t i = 0; i < count; i++) {
        tuned = tuned || is_tuned(environ[i]);
        if (!arguments_environment_is_option(environ[i]))
            launcher->environment[used++] = environ[i];
    }
    if (!tuned)
        launcher->environment[used++] = large_pages;
    return STATUS_OK;
}

/* SIGINT and SIGTERM always; SIGHUP unless nohup has it ignored. */
static enum status take_signals(struct launcher *launcher, struct error *error)
{
    sigset_t mask;
    struct sigaction hangup;
    sigemptyset(&mask);
    sigaddset(&mask, SIGINT);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGCHLD);
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
        sigaddset(&mask, SIGHUP);
    sigprocmask(SIG_BLOCK, &mask, &launcher->mask_before);
    launcher->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (launcher->signals >= 0)
        return STATUS_OK;
    sigprocmask(SIG_SETMASK, &launcher->mask_before, NULL);
    return error_set(error, STATUS_IO, "cannot watch signals: %s", strerror(errno));
}

static void stat_run_json(const struct launcher *launcher, struct stat *state)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/run.json", launcher->out);
    if (stat(path, state) != 0)
        *state = (struct stat){0};
}

static enum status prepare(struct launcher *launcher, struct error *error)
{
    const struct options *options = launcher->options;
    launcher->child_max = (size_t)options->ps + options->workers;
    launcher->children = calloc(launcher->child_max, sizeof *launcher->children);
    launcher->polls = calloc(1 + 2 * launcher->child_max, sizeof *launcher->polls);
    launcher->places = calloc((size_t)options->ps + 1, sizeof *launcher->places);
    if (launcher->children == NULL || launcher->polls == NULL || launcher->places == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < launcher->child_max; i++)
        child_init(&launcher->children[i]);
    for (uint32_t i = 0; i < options->ps; i++)
        launcher->places[i].held = -1;
    stat_run_json(launcher, &launcher->run_json);
    launcher->occupied = occupancy_take(launcher->out, false);
    if (launcher->site == NULL && options->workers > 1)
        launcher->data = shared_dataset_create();

    enum status status = STATUS_OK;
    if (launcher->site == NULL)
        status = programs_find(launcher->programs, error);
    if (status == STATUS_OK)
        status = make_environment(launcher, error);
    if (status == STATUS_OK)
        status = take_signals(launcher, error);
    return status;
}

/* Signals that came meanwhile are dropped with the signalfd still there to read them, so that an
 * impatient third Ctrl-C does not cut the summary off. */
static void drop_signals(struct launcher *launcher)
{
    struct signalfd_siginfo info;
    if (launcher->signals < 0)
        return;
    while (read(launcher->signals, &info, sizeof info) == sizeof info)
        continue;
    close(launcher->signals);
    sigprocmask(SIG_SETMASK, &launcher->mask_before, NULL);
}

static void clean_up(struct launcher *launcher)
{
    for (size_t i = 0; launcher->children != NULL && i < launcher->child_max; i++)
        child_free(&launcher->children[i]);
    drop_signals(launcher);
    if (launcher->occupied >= 0)
        close(launcher->occupied);
    if (launcher->data >= 0)
        close(launcher->data);
    for (uint32_t i = 0; launcher->places != NULL && i < launcher->options->ps; i++)
        if (launcher->places[i].held >= 0)
            close(launcher->places[i].held);
    free(launcher->children);
    free(launcher->polls);
    free(launcher->places);
    free(launcher->environment);
}

/* --- watching -------------------------------------------------------------------------------- */

static bool may_go_on(const struct launcher *launcher)
{
    return !launcher->failed && launcher->stop_signal == 0;
}

/* Running, or about to be again. */
static bool is_alive(const struct child *child)
{
    return child->running || !isinf(child->restart_at);
}

static bool any_alive(const struct launcher *launcher)
{
    for (size_t i = 0; i < launcher->child_count; i++)
        if (is_alive(&launcher->children[i]))
            return true;
    return false;
}

static void signal_all(struct launcher *launcher, int signal)
{
    for (size_t i = 0; i < launcher->child_count; i++)
        child_signal(&launcher->children[i], signal);
}

static void kill_all(struct launcher *launcher, double now)
{
    signal_all(launcher, SIGKILL);
    launcher->killed_at = now;
    launcher->terminate_at = launcher->kill_at = INFINITY;
}

/* The end is near: nobody is started again. */
static void drop_restarts(struct launcher *launcher)
{
    for (size_t i = 0; i < launcher->child_count; i++)
        launcher->children[i].restart_at = INFINITY;
}

/* The run directory is left: whoever wants it next need only wait. */
static void let_go(struct launcher *launcher)
{
    if (launcher->occupied >= 0)
        close(launcher->occupied);
    launcher->occupied = -1;
}

/* The first request goes to whoever coordinates, which stops the others; a second one ends all. */
static void on_stop_signal(struct launcher *launcher, int signal, double now)
{
    enum stop_wish wish = stop_request_take(&launcher->request, signal, now);
    if (wish == STOP_AT_ONCE) {
        launcher->at_once = true;
        kill_all(launcher, now);
    }
    if (wish != STOP_CLEANLY)
        return;
    launcher->stop_signal = signal;
    let_go(launcher);
    if (launcher->child_count == 0)
        return;
    drop_restarts(launcher);
    remark(launcher, LOG_INFO,
           signal == SIGINT ? "stopping at a checkpoint (Ctrl-C again to end at once)"
                            : "stopping at a checkpoint (a second signal ends all at once)");
    if (launcher->children[0].running && launcher->children[0].up)
        child_ask(&launcher->children[0], signal == SIGINT ? SIGINT : SIGTERM);
    else
        launcher->terminate_at = now;
    launcher->kill_at =
        fmin(launcher->kill_at, now + launcher->options->deadlines.stop + STOP_EXTRA_SECONDS);
}

static void read_signals(struct launcher *launcher, double now)
{
    struct signalfd_siginfo info;
    while (read(launcher->signals, &info, sizeof info) == sizeof info)
        if (info.ssi_signo != SIGCHLD)
            on_stop_signal(launcher, (int)info.ssi_signo, now);
}

/* Ended as a process does that was asked to: by its protocol, or too young to have one. */
static bool child_stopped(const struct child *child)
{
    int code = child_exit_code(child);
    if (code < 0)
        return WTERMSIG(child->wait_status) == SIGINT || WTERMSIG(child->wait_status) == SIGTERM;
    return code == EXIT_INTERRUPTED || code == EXIT_TERMINATED;
}

/* A worker that was asked to go, and went (--on-term leave). */
static bool child_left(const struct launcher *launcher, const struct child *child)
{
    const struct options *options = launcher->options;
    return options->ps > 0 && strcmp(options->on_term, "leave") == 0 &&
           child >= launcher->children + options->ps && child->pid != 0 && !child->running &&
           child_exit_code(child) == EXIT_TERMINATED;
}

static bool child_failed(const struct launcher *launcher, const struct child *child)
{
    if (child->pid == 0 || child->running || child->told || child_exit_code(child) == EXIT_DONE ||
        child_left(launcher, child))
        return false;
    return launcher->stop_signal == 0 || !child_stopped(child);
}

/* And not all by leaving: then server 0 waits for others, and knows for how long. */
static bool workers_ended(const struct launcher *launcher)
{
    bool any_stayed = false;
    for (size_t i = launcher->options->ps; i < launcher->child_count; i++) {
        if (is_alive(&launcher->children[i]))
            return false;
        any_stayed = any_stayed || !child_left(launcher, &launcher->children[i]);
    }
    return any_stayed;
}

/* Server 0 claims the folder by writing run.json, which is always a new file under that name. */
static bool claimed(const struct launcher *launcher)
{
    struct stat run_json;
    if (launcher->site != NULL && launcher->site->apart) /* Nobody else has the folder here. */
        return launcher->child_count > 0 && launcher->children[0].up;
    stat_run_json(launcher, &run_json);
    return run_json.st_ino != 0 && (run_json.st_ino != launcher->run_json.st_ino ||
                                    run_json.st_mtim.tv_sec != launcher->run_json.st_mtim.tv_sec ||
                                    run_json.st_mtim.tv_nsec != launcher->run_json.st_mtim.tv_nsec);
}

/* Whether the job itself says that it is complete, in a run.json written since we began. */
static bool run_is_done(const struct launcher *launcher)
{
    char path[PATH_MAX];
    struct json *run = NULL;
    const struct child *first = launcher->children;
    if (launcher->site != NULL && launcher->site->apart)
        return launcher->child_count > 0 && first->pid != 0 && !first->running &&
               child_exit_code(first) == EXIT_DONE;
    snprintf(path, sizeof path, "%s/run.json", launcher->out);
    if (!claimed(launcher) ||
        json_read_file(&disk_posix, path, RUN_JSON_BYTES_MAX, &run, NULL) != STATUS_OK)
        return false;
    const char *state = json_text(run, "state");
    bool done = state != NULL && strcmp(state, "done") == 0;
    json_release(&run);
    return done;
}

/* Nobody is left whom server 0 could tell anything. */
static bool others_ended(const struct launcher *launcher)
{
    for (size_t i = 1; i < launcher->child_count; i++)
        if (is_alive(&launcher->children[i]))
            return false;
    return launcher->child_count == launcher->child_max;
}

/* A first start that fails would fail again: a key, a path or a name is wrong. */
static bool has_come(const struct child *child)
{
    return child->up || child->restarts > 0;
}

/* Whether its end is one to start it again after: nobody has decided yet how the job ends. */
static bool may_restart(const struct launcher *launcher, const struct child *child)
{
    const struct child *first = launcher->children;
    bool worker = child >= first + launcher->options->ps;
    return !launcher->failed && launcher->stop_signal == 0 && has_come(child) &&
           restart_may_help(child, child == first) && (child == first || is_alive(first)) &&
           restart_allowed(child, launcher->options, worker) &&
           !(others_ended(launcher) && run_is_done(launcher));
}

static void on_child_end(struct launcher *launcher, struct child *child, double now)
{
    double patience = INFINITY;
    if (child_failed(launcher, child) && may_restart(launcher, child)) {
        child->restart_at = now + restart_delay(child);
        return;
    }
    if (child == launcher->children)
        drop_restarts(launcher);
    if (child_failed(launcher, child)) {
        launcher->failed = true;
        launcher->gave_up = launcher->gave_up || child_exit_code(child) == EXIT_START_TIMEOUT;
        drop_restarts(launcher);
        patience = !has_come(child) ? 0 : launcher->gave_up ? GIVE_UP_SECONDS : EXPLAIN_SECONDS;
    } else if (child == launcher->children && launcher->stop_signal != 0) {
        patience = EXPLAIN_SECONDS;
    } else if (child == launcher->children || workers_ended(launcher)) {
        const struct deadlines *deadlines = &launcher->options->deadlines;
        /* All may have left with 0 (syncopate leave): then server 0 waits for others, see above. */
        bool done = child == launcher->children || run_is_done(launcher);
        patience = (done ? deadlines->stop : fmax(deadlines->stop, deadlines->recovery)) +
                   STOP_EXTRA_SECONDS;
    }
    /* A server 0 that came back after the end waits for nobody. */
    if (launcher->children[0].restarts > 0 && others_ended(launcher) && run_is_done(launcher))
        patience = fmin(patience, EXPLAIN_SECONDS);
    launcher->terminate_at = fmin(launcher->terminate_at, now + patience);
}

static void reap_children(struct launcher *launcher, double now)
{
    for (size_t i = 0; i < launcher->child_count; i++) {
        struct child *child = &launcher->children[i];
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

/* What stands in the place of OUT/logs and is no folder is set aside. */
static enum status clear_log_folder(struct launcher *launcher, const char *folder,
                                    struct error *error)
{
    char aside[DISK_PATH_MAX];
    enum disk_kind kind = disk_posix.look(disk_posix.context, folder);
    if (kind == DISK_NOTHING || kind == DISK_FOLDER)
        return STATUS_OK;
    enum status status = disk_set_aside(folder, aside, error);
    if (status != STATUS_OK)
        return status;
    struct error said;
    error_set(&said, STATUS_OK, "%.200s is %s, not a folder; it is now %.200s", folder,
              disk_kind_name(kind), aside);
    remark(launcher, LOG_WARNING, said.text);
    return STATUS_OK;
}

static void open_log(struct launcher *launcher, struct child *child)
{
    char folder[DISK_PATH_MAX + 8];
    struct error trouble = {0};
    snprintf(folder, sizeof folder, "%s/logs", launcher->out);
    enum status status = clear_log_folder(launcher, folder, &trouble);
    if (status == STATUS_OK)
        status = disk_posix.make_directory(disk_posix.context, folder, &trouble);
    if (status == STATUS_OK)
        child_open_log(child, folder, &trouble);
    if (trouble.text[0] != '\0')
        remark(launcher, LOG_WARNING, trouble.text);
}

/* Only a folder that the job has claimed gets logs: one that was refused stays as it is, and one
 * that was empty is found empty by server 0. */
static void open_logs(struct launcher *launcher)
{
    if (launcher->logs_open || !claimed(launcher))
        return;
    launcher->logs_open = true;
    if (launcher->occupied < 0 && may_go_on(launcher)) /* It was not there before. */
        launcher->occupied = occupancy_take(launcher->out, false);
    for (size_t i = 0; i < launcher->child_count; i++)
        open_log(launcher, &launcher->children[i]);
}

static void tick(struct launcher *launcher, double now)
{
    if (now < launcher->tick_at)
        return;
    launcher->tick_at = now + TICK_SECONDS;
    open_logs(launcher);
    if (launcher->watch != NULL && launcher->watch->tick != NULL)
        launcher->watch->tick(launcher->watch->context, launcher->out);
}

static void keep_deadlines(struct launcher *launcher, double now)
{
    if (!isinf(launcher->terminate_at) || !isinf(launcher->kill_at)) /* It ends, in any case. */
        let_go(launcher);
    if (now >= launcher->terminate_at) {
        signal_all(launcher, SIGTERM);
        launcher->terminate_at = INFINITY;
        double most = launcher->gave_up ? GIVE_UP_SECONDS : TERMINATE_SECONDS;
        launcher->kill_at =
            fmin(launcher->kill_at, now + fmin(launcher->options->deadlines.stop, most));
    }
    if (now >= launcher->kill_at)
        kill_all(launcher, now);
    if (now >= launcher->killed_at + ABANDON_SECONDS)
        for (size_t i = 0; i < launcher->child_count; i++)
            child_abandon(&launcher->children[i]);
}

static void restart_due(struct launcher *launcher, double now);

/* Seconds until there is something to do, `seconds` at most. */
static double until_due(const struct launcher *launcher, double seconds)
{
    double now = clock_now_seconds();
    seconds = fmin(seconds, fmax(fmin(launcher->terminate_at, launcher->kill_at) - now, 0));
    for (size_t i = 0; i < launcher->child_count; i++)
        seconds = fmin(seconds, fmax(launcher->children[i].restart_at - now, 0));
    return seconds;
}

/* Wait for something to happen, `seconds` at most, and deal with it. */
static void turn(struct launcher *launcher, double seconds)
{
    size_t count = 0;
    launcher->polls[count++] = (struct pollfd){.fd = launcher->signals, .events = POLLIN};
    for (size_t i = 0; i < launcher->child_count; i++) {
        const struct child *child = &launcher->children[i];
        if (child->output >= 0)
            launcher->polls[count++] = (struct pollfd){.fd = child->output, .events = POLLIN};
        if (child->voice >= 0)
            launcher->polls[count++] = (struct pollfd){.fd = child->voice, .events = POLLIN};
    }
    poll(launcher->polls, count, (int)ceil(1e3 * until_due(launcher, seconds)));

    double now = clock_now_seconds();
    read_signals(launcher, now);
    for (size_t i = 0; i < launcher->child_count; i++)
        listen_to(launcher, &launcher->children[i]);
    reap_children(launcher, now);
    restart_due(launcher, now);
    tick(launcher, now);
    keep_deadlines(launcher, now);
}

/* --- starting -------------------------------------------------------------------------------- */

/* The child at `slot` has been started, or not. */
static enum status started(struct launcher *launcher, size_t slot, enum status status)
{
    if (status == STATUS_OK && slot == launcher->child_count)
        launcher->child_count++;
    if (status == STATUS_OK && launcher->logs_open)
        open_log(launcher, &launcher->children[slot]);
    return status;
}

/* The same on another host. */
static enum status start_elsewhere(struct launcher *launcher, size_t slot, const char *name,
                                   const struct arguments *arguments, struct error *error)
{
    const struct site *site = launcher->site;
    struct arguments command = {0};
    char *input = NULL;
    enum status status = site->carry(site->context, slot, arguments, &command, &input, error);
    struct child_program program = {.arguments = arguments_list(&command),
                                    .environment = launcher->environment,
                                    .carried = true,
                                    .host = site->host(site->context, slot),
                                    .input = input};
    if (status == STATUS_OK && program.arguments == NULL)
        status = error_set(error, STATUS_MEMORY, "out of memory");
    if (status == STATUS_OK) {
        program.path = program.arguments[0];
        status = child_start(&launcher->children[slot], name, &program, clock_now_seconds(), error);
    }
    if (input != NULL)
        explicit_bzero(input, strlen(input)); /* It may hold keys. */
    free(input);
    arguments_free(&command);
    return started(launcher, slot, status);
}

/* Start the child at `slot`, for the first time or again. */
static enum status start_child(struct launcher *launcher, size_t slot, const char *role,
                               uint32_t index, const struct arguments *arguments, bool announces,
                               bool shares, struct error *error)
{
    char name[32], path[PATH_MAX + 32];
    snprintf(name, sizeof name, "%s/%u", role, index);
    if (launcher->site != NULL)
        return start_elsewhere(launcher, slot, name, arguments, error);
    snprintf(path, sizeof path, "%s/syncopate-%s", launcher->programs, role);
    struct child_program program = {.path = path,
                                    .arguments = arguments_list(arguments),
                                    .environment = launcher->environment,
                                    .announces = announces,
                                    .share = shares ? launcher->data : 0};
    if (program.arguments == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    if (access(path, X_OK) != 0)
        return error_set(error, STATUS_NOT_FOUND, "cannot run %s: %s", path, strerror(errno));
    enum status status =
        child_start(&launcher->children[slot], name, &program, clock_now_seconds(), error);
    return started(launcher, slot, status);
}

/* Choose a port for a server, for as long as the job lives. */
static enum status hold_place(struct place *place, struct error *error)
{
    uint16_t port = 0;
    place->held = port_hold(&port);
    if (place->held < 0)
        return error_set(error, STATUS_IO, "there is no free port on 127.0.0.1: %s",
                         strerror(errno));
    snprintf(place->address, sizeof place->address, "127.0.0.1:%u", port);
    return STATUS_OK;
}

/* "known,known,known" */
static char *join_hosts(const struct launcher *launcher, uint32_t count)
{
    size_t room = ((size_t)count + 1) * ADDRESS_MAX;
    char *text = calloc(1, room);
    for (uint32_t i = 0; text != NULL && i < count; i++)
        wording_append(text, room, "%s%s", i > 0 ? "," : "", launcher->places[i].address);
    return text;
}

/* What a server on another host is told: where the run directory is there, which only server 0 has,
 * and to tell how training goes, but not how it ended, which we do. */
static void add_for_site(const struct launcher *launcher, uint32_t index,
                         struct arguments *arguments)
{
    if (index > 0)
        return;
    arguments_add(arguments, "out", "%s", launcher->site->out);
    arguments_add(arguments, "log-every", "%.17g", launcher->options->log_every);
    arguments_add(arguments, "tell", "progress");
}

/* A server here knows those before it; the others it learns from the job. */
static enum status start_server(struct launcher *launcher, uint32_t index, struct error *error)
{
    bool here = launcher->site == NULL;
    char *hosts = join_hosts(launcher, here ? index + 1 : launcher->options->ps);
    if (hosts == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    struct arguments arguments;
    arguments_init(&arguments, "syncopate-ps");
    arguments_add(&arguments, "job-name", "ps");
    arguments_add(&arguments, "parent-stdin", "true");
    arguments_add(&arguments, "task-index", "%u", index);
    arguments_add(&arguments, "ps-hosts", "%s", hosts);
    bool announces = !launcher->places[index].known;
    if (announces)
        arguments_add(&arguments, "port-file", "fd:%d", CHILD_WORD);
    if (here)
        arguments_add(&arguments, "out", "%s", launcher->out);
    else
        add_for_site(launcher, index, &arguments);
    arguments_add_options(&arguments, launcher->options, OPTION_PS);
    enum status status =
        start_child(launcher, index, "ps", index, &arguments, announces, false, error);
    arguments_free(&arguments);
    free(hosts);
    return status;
}

static enum status start_worker(struct launcher *launcher, uint32_t index, struct error *error)
{
    uint32_t servers = launcher->options->ps;
    char *hosts = join_hosts(launcher, servers);
    if (hosts == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    struct arguments arguments;
    arguments_init(&arguments, "syncopate-worker");
    arguments_add(&arguments, "job-name", "worker");
    arguments_add(&arguments, "parent-stdin", "true");
    arguments_add(&arguments, "task-index", "%u", index);
    arguments_add(&arguments, "workers", "%u", launcher->options->workers);
    if (servers == 0)
        arguments_add(&arguments, "ps", "0");
    else
        arguments_add(&arguments, "ps-hosts", "%s", hosts);
    if (launcher->options->job.colocated)
        arguments_add(&arguments, "ps", "colocated");
    if (servers == 0) /* Else server 0 writes the run directory. */
        arguments_add(&arguments, "out", "%s", launcher->out);
    bool shares = launcher->data >= 0;
    if (shares)
        arguments_add(&arguments, "data-fd", "%d", CHILD_WORD);
    arguments_add_options(&arguments, launcher->options, OPTION_WORKER);
    enum status status = start_child(launcher, (size_t)servers + index, "worker", index, &arguments,
                                     false, shares, error);
    arguments_free(&arguments);
    free(hosts);
    return status;
}

static enum status await_server(struct launcher *launcher, uint32_t index, struct error *error)
{
    struct child *server = &launcher->children[index];
    double deadline = launcher->began + launcher->options->deadlines.start;
    const char *address;
    while ((address = child_announced(server)) == NULL) {
        if (!may_go_on(launcher))
            return STATUS_OK;
        if (clock_now_seconds() > deadline)
            return error_set(error, STATUS_TIMEOUT,
                             "ps/%u did not say where it listens within %s (--start-timeout)",
                             index, wording_duration(launcher->options->deadlines.start).text);
        turn(launcher, ANNOUNCE_SECONDS);
    }
    snprintf(launcher->places[index].address, ADDRESS_MAX, "%s", address);
    launcher->places[index].known = true;
    return STATUS_OK;
}

/* Those who are on their way to another host. */
static uint32_t count_logins(const struct launcher *launcher)
{
    uint32_t count = 0;
    for (size_t i = 0; i < launcher->child_count; i++)
        count += launcher->children[i].running && !launcher->children[i].up;
    return count;
}

/* sshd drops who comes in a crowd. Whoever does not get through is given up by what carries it. */
static void await_login(struct launcher *launcher)
{
    while (may_go_on(launcher) && count_logins(launcher) >= launcher->site->logins)
        turn(launcher, TICK_SECONDS);
}

/* All addresses are known, and nobody is waited for. */
static enum status start_afar(struct launcher *launcher, struct error *error)
{
    const struct site *site = launcher->site;
    uint32_t servers = launcher->options->ps, workers = launcher->options->workers;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < servers; i++) {
        snprintf(launcher->places[i].address, ADDRESS_MAX, "%s", site->address(site->context, i));
        launcher->places[i].known = true;
    }
    for (uint32_t i = 0; i < servers + workers && status == STATUS_OK; i++) {
        await_login(launcher);
        if (!may_go_on(launcher))
            break;
        status = i < servers ? start_server(launcher, i, error)
                             : start_worker(launcher, i - servers, error);
    }
    return status;
}

static enum status start_servers(struct launcher *launcher, struct error *error)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < launcher->options->ps && status == STATUS_OK; i++) {
        status = hold_place(&launcher->places[i], error);
        if (status == STATUS_OK && may_go_on(launcher))
            status = start_server(launcher, i, error);
        if (status == STATUS_OK)
            status = await_server(launcher, i, error);
    }
    return status;
}

static enum status start_workers(struct launcher *launcher, struct error *error)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < launcher->options->workers && status == STATUS_OK; i++)
        if (may_go_on(launcher))
            status = start_worker(launcher, i, error);
    return status;
}

/* --- starting again ----------------------------------------------------------------------------
 */

static void say_restart(struct launcher *launcher, size_t slot, bool moved)
{
    const struct child *child = &launcher->children[slot];
    char text[CHILD_LINE_MAX], line[CHILD_LINE_MAX + 64 + CHILD_HOST_MAX];
    if (child->cut)
        child_explain(child, text, sizeof text);
    else
        child_describe_end(child, text, sizeof text);
    if (moved)
        snprintf(line, sizeof line, "%s; started again on %s (restart %u)", text,
                 launcher->site->host(launcher->site->context, slot), child->restarts + 1);
    else if (child->cut)
        snprintf(line, sizeof line, "%s; started again there (restart %u)", text,
                 child->restarts + 1);
    else
        snprintf(line, sizeof line, "%s; started again (restart %u of %u)", text,
                 child->restarts + 1, launcher->options->max_restarts);
    remark(launcher, LOG_WARNING, line);
}

static void restart(struct launcher *launcher, size_t slot)
{
    uint32_t servers = launcher->options->ps;
    struct child *child = &launcher->children[slot];
    const struct site *site = launcher->site;
    bool moved = child->cut && site->move(site->context, slot);
    say_restart(launcher, slot, moved);
    enum status status =
        slot < servers ? start_server(launcher, (uint32_t)slot, &launcher->start_error)
                       : start_worker(launcher, (uint32_t)(slot - servers), &launcher->start_error);
    if (status == STATUS_OK)
        return;
    launcher->failed = true;
    child->restart_at = INFINITY;
    launcher->terminate_at = 0;
}

static void restart_due(struct launcher *launcher, double now)
{
    for (size_t i = 0; i < launcher->child_count; i++)
        if (launcher->children[i].restart_at <= now)
            restart(launcher, i);
}

/* --- ending ---------------------------------------------------------------------------------- */

/* Until every child has ended. A killed process that the kernel does not give back is given up. */
static void watch_to_the_end(struct launcher *launcher)
{
    while (any_alive(launcher)) {
        turn(launcher, TICK_SECONDS);
        if (clock_now_seconds() > launcher->killed_at + KILLED_SECONDS)
            return;
    }
}

/* How much a failure explains; lower is better. A lost cluster is what the others saw of it. */
static int failure_rank(const struct child *child)
{
    int code = child_exit_code(child);
    if (!has_come(child))
        return -1;
    if (code >= EXIT_TRAINING_FAILED && code <= EXIT_UNAUTHENTICATED)
        return 0;
    if (code < 0)
        return 1;
    return code == EXIT_CLUSTER_LOST ? 3 : 2;
}

static const struct child *find_culprit(const struct launcher *launcher)
{
    const struct child *culprit = NULL;
    for (size_t i = 0; i < launcher->child_count; i++) {
        const struct child *child = &launcher->children[i];
        if (!child_failed(launcher, child))
            continue;
        if (culprit == NULL || failure_rank(child) < failure_rank(culprit) ||
            (failure_rank(child) == failure_rank(culprit) && child->ended < culprit->ended))
            culprit = child;
    }
    return culprit;
}

static int blame(const struct launcher *launcher, const struct child *child, struct error *error)
{
    char text[sizeof error->text];
    child_explain(child, text, sizeof text);
    int code = child_exit_code(child);
    if (!has_come(child)) {
        error_set(error, STATUS_UNREACHABLE, "%s", text);
        return EXIT_CANNOT_OPEN;
    }
    if (child->log >= 0 && child->error[0] == '\0')
        error_set(error, STATUS_LOST, "%.400s (%.90s/logs has more)", text, launcher->out);
    else
        error_set(error, STATUS_LOST, "%s", text);
    if (child->restarts > 0)
        wording_append(error->text, sizeof error->text, " (after %s)",
                       wording_counted(child->restarts, "restart", "restarts").text);
    if (code == 126 || code == 127) /* The loader's, for want of a library, or of memory for it. */
        return EXIT_CANNOT_OPEN;
    bool ours = (code >= EXIT_TRAINING_FAILED && code <= EXIT_UNAUTHENTICATED) ||
                code == EXIT_INTERRUPTED || code == EXIT_TERMINATED;
    return ours ? code : EXIT_CLUSTER_LOST;
}

static int stopped(const struct launcher *launcher, struct error *error)
{
    int code = launcher->stop_signal == SIGINT ? EXIT_INTERRUPTED : EXIT_TERMINATED;
    const struct child *first = launcher->child_count > 0 ? &launcher->children[0] : NULL;
    if (launcher->at_once) {
        error_set(error, STATUS_INTERRUPTED,
                  "ended at once by a second signal; the last complete checkpoint stands");
        return code;
    }
    if (first != NULL && WIFSIGNALED(first->wait_status) && !isinf(launcher->killed_at)) {
        error_set(error, STATUS_TIMEOUT,
                  "the job did not stop within %s (--stop-timeout) and was killed; the last "
                  "complete checkpoint stands",
                  wording_duration(launcher->options->deadlines.stop).text);
        return EXIT_CLUSTER_LOST;
    }
    error_set(error, STATUS_INTERRUPTED, "stopped by %s",
              launcher->stop_signal == SIGINT ? "Ctrl-C (SIGINT)" : "a signal");
    return code;
}

static bool coordinator_stopped(const struct launcher *launcher)
{
    return launcher->child_count == 0 || child_stopped(&launcher->children[0]);
}

/* Nothing comes of a death after the end but a missing farewell. */
static bool died_after_the_end(const struct launcher *launcher, const struct child *child)
{
    return restart_may_help(child, child == launcher->children) && run_is_done(launcher);
}

/* The exit code of the whole, from how the children ended. */
static int judge(const struct launcher *launcher, struct error *error)
{
    const struct child *culprit = find_culprit(launcher);
    bool stop = launcher->stop_signal != 0;
    if (stop && (launcher->at_once || coordinator_stopped(launcher)))
        return stopped(launcher, error);
    if (launcher->start_error.text[0] != '\0') {
        *error = launcher->start_error;
        return EXIT_CANNOT_OPEN;
    }
    if (culprit != NULL && died_after_the_end(launcher, culprit))
        return EXIT_DONE;
    if (culprit != NULL)
        return blame(launcher, culprit, error);
    for (size_t i = 0; i < launcher->child_count; i++) {
        const struct child *child = &launcher->children[i];
        if (!child->running && child_exit_code(child) == EXIT_DONE)
            continue;
        if (!stop && child_left(launcher, child))
            continue;
        if (!stop && child->told && run_is_done(launcher))
            continue;
        if (stop)
            return stopped(launcher, error);
        error_set(error, STATUS_TIMEOUT, "%s had to be stopped: it did not end with the others",
                  child->name);
        return EXIT_CLUSTER_LOST;
    }
    return EXIT_DONE;
}

/* A crash often says more than its last line. */
static void say_tail(struct launcher *launcher)
{
    const struct child *child = find_culprit(launcher);
    if (child == NULL || child->error[0] != '\0' || launcher->logs_open ||
        launcher->options->verbose)
        return;
    size_t kept = child->tail_count < CHILD_TAIL ? child->tail_count : CHILD_TAIL;
    for (size_t i = child->tail_count - kept; kept > 1 && i + 1 < child->tail_count; i++)
        say(launcher, child->tail[i % CHILD_TAIL]);
}

static int exit_code_of_start(enum status status)
{
    if (status == STATUS_MEMORY)
        return EXIT_TRAINING_FAILED;
    return status == STATUS_TIMEOUT ? EXIT_START_TIMEOUT : EXIT_CANNOT_OPEN;
}

static uint32_t count_restarts(const struct launcher *launcher)
{
    uint32_t count = 0;
    for (size_t i = 0; i < launcher->child_count; i++)
        count += launcher->children[i].restarts;
    return count;
}

int launch_job(const struct options *options, const char *out, const struct site *site,
               const struct launch_watch *watch, struct launch_result *result, struct error *error)
{
    struct launcher launcher = {
        .options = options,
        .out = out,
        .site = site,
        .watch = watch,
        .signals = -1,
        .occupied = -1,
        .data = -1,
        .began = clock_now_seconds(),
        .terminate_at = INFINITY,
        .kill_at = INFINITY,
        .killed_at = INFINITY,
    };
    enum status status = prepare(&launcher, error);
    if (status == STATUS_OK && site != NULL)
        status = start_afar(&launcher, error);
    if (status == STATUS_OK && site == NULL)
        status = start_servers(&launcher, error);
    if (status == STATUS_OK && site == NULL)
        status = start_workers(&launcher, error);

    int code = exit_code_of_start(status);
    if (status != STATUS_OK) {
        launcher.failed = true;
        launcher.gave_up = status == STATUS_TIMEOUT;
        launcher.terminate_at = 0;
        drop_restarts(&launcher);
    }
    if (launcher.signals >= 0)
        watch_to_the_end(&launcher);
    open_logs(&launcher); /* A short job may end between two looks. */
    if (status == STATUS_OK) {
        code = judge(&launcher, error);
        if (code != EXIT_DONE)
            say_tail(&launcher);
    }
    if (result != NULL)
        *result = (struct launch_result){count_restarts(&launcher), claimed(&launcher)};
    clean_up(&launcher);
    return code;
}
