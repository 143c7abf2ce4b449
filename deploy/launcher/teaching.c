/* teaching.c - orders as bytes of a pipe; SIGSTOP and SIGCONT by the clock. */

#include "deploy/launcher/teaching.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SLOW_SECONDS 0.1 /* Of which a slow process runs a quarter. */

static const struct {
    const char *name, *words;
} actions[] = {{"kill", "is killed"},
               {"stop", "is stopped for 5 s"},
               {"slow", "runs a quarter of the time, in pieces of 25 ms"},
               {"free", "runs at full speed again"}};
enum { KILL, STOP, SLOW, FREE, ACTIONS };

struct order {
    uint32_t action, slot;
};

enum status teaching_open(struct teaching *teaching, const struct options *options,
                          struct error *error)
{
    teaching->servers = options->ps;
    teaching->workers = options->workers;
    return pipe2(teaching->orders, O_CLOEXEC | O_NONBLOCK) == 0
               ? STATUS_OK
               : error_set(error, STATUS_IO, "--teach: there is no pipe: %s", strerror(errno));
}

void teaching_close(struct teaching *teaching)
{
    for (int i = 0; i < 2; i++)
        if (teaching->orders[i] > 0)
            close(teaching->orders[i]);
}

/* --- asking ---------------------------------------------------------------------------------- */

static bool read_order(const struct teaching *teaching, const char *path, struct order *order,
                       char text[TEACHING_TEXT_MAX])
{
    char action[8], role[8];
    unsigned index;
    int end = 0;
    if (sscanf(path, "/teach/%7[a-z]/%7[a-z]/%4u%n", action, role, &index, &end) != 3 ||
        path[end] != '\0')
        return false;
    bool worker = strcmp(role, "worker") == 0;
    if ((!worker && strcmp(role, "ps") != 0) ||
        index >= (worker ? teaching->workers : teaching->servers))
        return false;
    *order = (struct order){0, worker ? teaching->servers + index : index};
    while (order->action < ACTIONS && strcmp(actions[order->action].name, action) != 0)
        order->action++;
    if (order->action < ACTIONS)
        snprintf(text, TEACHING_TEXT_MAX, "%s/%u %s", role, index, actions[order->action].words);
    return order->action < ACTIONS;
}

unsigned teaching_ask(const struct teaching *teaching, const char *path,
                      char text[TEACHING_TEXT_MAX])
{
    struct order order;
    if (!read_order(teaching, path, &order, text))
        return 404;
    return write(teaching->orders[1], &order, sizeof order) == sizeof order ? 200 : 503;
}

/* --- doing ----------------------------------------------------------------------------------- */

bool teaching_take(const struct teaching *teaching, struct process_group *group, double now,
                   char text[TEACHING_TEXT_MAX])
{
    struct order order;
    if (read(teaching->orders[0], &order, sizeof order) != sizeof order ||
        order.slot >= group->count)
        return false;
    struct child *child = &group->children[order.slot];
    if (order.action == KILL)
        child_ask(child, SIGKILL);
    else if (order.action == STOP)
        child->stop_until = now + TEACHING_STOP_SECONDS;
    else
        child->slow = order.action == SLOW;
    snprintf(text, TEACHING_TEXT_MAX, "%s %s, as the page asks", child->name,
             actions[order.action].words);
    return true;
}

static bool is_to_stop(const struct child *child, double now)
{
    return now < child->stop_until || (child->slow && fmod(now, SLOW_SECONDS) >= SLOW_SECONDS / 4);
}

void teaching_turn(struct process_group *group, bool ends, double now)
{
    for (size_t i = 0; i < group->count; i++) {
        struct child *child = &group->children[i];
        bool stop = !ends && is_to_stop(child, now);
        if (stop != child->stopped)
            child_ask(child, stop ? SIGSTOP : SIGCONT);
        child->stopped = stop;
    }
}

double teaching_due(const struct process_group *group, double now)
{
    double due = INFINITY, phase = fmod(now, SLOW_SECONDS);
    for (size_t i = 0; i < group->count; i++) {
        const struct child *child = &group->children[i];
        if (now < child->stop_until)
            due = fmin(due, child->stop_until);
        else if (child->slow)
            due = fmin(due, now - phase + (child->stopped ? SLOW_SECONDS : SLOW_SECONDS / 4));
    }
    return due;
}
