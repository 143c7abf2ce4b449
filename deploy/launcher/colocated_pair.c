/* colocated_pair.c - a loop on two pipes and a signalfd, with the deadlines stop_at and kill_at. */

#include "deploy/launcher/colocated_pair.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/process/parent.h"
#include "deploy/launcher/child_end.h"
#include "deploy/launcher/signal_file.h"

#define TICK_MS           200
#define STOP_EXTRA        5.0  /* Beyond --stop-timeout, which the roles keep by themselves. */
#define EXPLAIN_SECONDS   1.0  /* For the other to say more about a failure, and end by itself. */
#define TERMINATE_SECONDS 10.0 /* At most, between SIGTERM and SIGKILL. */

struct colocated_pair {
    struct child children[2];
    struct signal_file signals;
    double stop_seconds, stop_at, kill_at;
    bool has_parent;
    int code; /* Of the first that failed. */
};

/* Whole lines of both, one after the other. */
static void pass_line(void *context, const char *line, enum log_level level)
{
    (void)context;
    (void)level;
    fprintf(stderr, "%s\n", line);
}

static bool any_runs(const struct colocated_pair *pair)
{
    return pair->children[0].running || pair->children[1].running;
}

static void signal_both(struct colocated_pair *pair, int number)
{
    for (int i = 0; i < 2; i++)
        if (pair->children[i].running)
            kill(pair->children[i].pid, number);
}

static void pass_signals(struct colocated_pair *pair)
{
    int number;
    while ((number = signal_file_next(&pair->signals)) != 0)
        signal_both(pair, number);
}

static int code_of(const struct child *child)
{
    int code = child_exit_code(child);
    return code >= 0 ? code : 128 + WTERMSIG(child->wait_status);
}

/* One has ended: how long the other may still take. */
static void on_end(struct colocated_pair *pair, struct child *child, struct error *error,
                   double now)
{
    int code = code_of(child);
    bool by_us = isfinite(pair->kill_at);                               /* Its end is our doing. */
    bool stopped = code == EXIT_INTERRUPTED || code == EXIT_TERMINATED; /* On request. */
    if (code != EXIT_DONE && pair->code == EXIT_DONE && !by_us) {
        pair->code = code;
        if (!stopped)
            child_describe_end(child, error->text, sizeof error->text);
    }
    double patience =
        code == EXIT_DONE || stopped ? pair->stop_seconds + STOP_EXTRA : EXPLAIN_SECONDS;
    pair->stop_at = fmin(pair->stop_at, now + patience);
}

static void reap(struct colocated_pair *pair, struct error *error, double now)
{
    for (int i = 0; i < 2; i++) {
        struct child *child = &pair->children[i];
        if (!child->running)
            continue;
        child_reap(child, now);
        if (child->running)
            continue;
        child_read(child, pass_line, NULL);
        on_end(pair, child, error, now);
    }
}

static void keep_deadlines(struct colocated_pair *pair, double now)
{
    if (now >= pair->kill_at) {
        signal_both(pair, SIGKILL);
        pair->kill_at = INFINITY;
        pair->stop_at = INFINITY;
    } else if (now >= pair->stop_at && !isfinite(pair->kill_at)) {
        signal_both(pair, SIGTERM);
        pair->stop_at = INFINITY;
        pair->kill_at = now + fmin(pair->stop_seconds, TERMINATE_SECONDS);
    }
}

/* The children's own standard inputs are ours to end. */
static void lose_parent(struct colocated_pair *pair, double now)
{
    pair->has_parent = false;
    for (int i = 0; i < 2; i++) {
        if (pair->children[i].leash >= 0)
            close(pair->children[i].leash);
        pair->children[i].leash = -1;
    }
    pair->stop_at = fmin(pair->stop_at, now + PARENT_LOST_SECONDS);
}

/* A request by its line is a signal, and passed on as one. */
static void look_for_parent(struct colocated_pair *pair, double now)
{
    char word;
    enum parent_news news = PARENT_SILENT;
    while (pair->has_parent && (news = parent_look(&word)) == PARENT_ASKS)
        signal_both(pair, word == PARENT_INTERRUPTS ? SIGINT
                          : word == PARENT_KILLS    ? SIGKILL
                                                    : SIGTERM);
    if (news == PARENT_GONE)
        lose_parent(pair, now);
}

static void watch(struct colocated_pair *pair, struct error *error)
{
    while (any_runs(pair)) {
        struct pollfd polls[] = {{.fd = pair->signals.file, .events = POLLIN},
                                 {.fd = pair->children[0].output, .events = POLLIN},
                                 {.fd = pair->children[1].output, .events = POLLIN},
                                 {.fd = pair->has_parent ? STDIN_FILENO : -1, .events = POLLIN}};
        poll(polls, sizeof polls / sizeof *polls, TICK_MS);
        double now = clock_now_seconds();
        pass_signals(pair);
        for (int i = 0; i < 2; i++)
            child_read(&pair->children[i], pass_line, NULL);
        look_for_parent(pair, now);
        reap(pair, error, now);
        keep_deadlines(pair, now);
    }
}

static enum status start(struct colocated_pair *pair, const struct colocated_role roles[2],
                         struct error *error)
{
    double now = clock_now_seconds();
    enum status status = STATUS_OK;
    for (int i = 0; i < 2 && status == STATUS_OK; i++)
        status = child_start(&pair->children[i], roles[i].name, &roles[i].program, now, error);
    if (status != STATUS_OK) /* One that runs has nothing to lose yet. */
        signal_both(pair, SIGKILL);
    return status;
}

int colocated_pair_run(const struct colocated_role roles[2], double stop_seconds, bool has_parent,
                       struct error *error)
{
    struct colocated_pair pair = {
        .signals = {.file = -1},
        .stop_seconds = stop_seconds,
        .stop_at = INFINITY,
        .kill_at = INFINITY,
        .has_parent = has_parent,
        .code = EXIT_DONE,
    };
    for (int i = 0; i < 2; i++)
        child_init(&pair.children[i]);
    enum status status = signal_file_open(&pair.signals, error);
    if (status == STATUS_OK)
        status = start(&pair, roles, error);
    if (pair.signals.file >= 0)
        watch(&pair, status == STATUS_OK ? error : &(struct error){0});
    for (int i = 0; i < 2; i++)
        child_free(&pair.children[i]);
    signal_file_close(&pair.signals);
    return status == STATUS_OK ? pair.code : EXIT_CANNOT_OPEN;
}
