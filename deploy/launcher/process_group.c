/* process_group.c - asks, or orders, all children. */

#include "deploy/launcher/process_group.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/launcher/child_end.h"

enum status process_group_init(struct process_group *group, const struct options *options,
                               struct error *error)
{
    *group = (struct process_group){
        .max = (size_t)options->ps + options->workers,
        .servers = options->ps,
        .may_leave = options->ps > 0 && strcmp(options->on_term, "leave") == 0,
    };
    group->children = calloc(group->max, sizeof *group->children);
    if (group->children == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < group->max; i++)
        child_init(&group->children[i]);
    return STATUS_OK;
}

void process_group_free(struct process_group *group)
{
    for (size_t i = 0; group->children != NULL && i < group->max; i++)
        child_free(&group->children[i]);
    free(group->children);
    *group = (struct process_group){0};
}

bool process_group_is_worker(const struct process_group *group, const struct child *child)
{
    return child >= group->children + group->servers;
}

bool process_group_left(const struct process_group *group, const struct child *child)
{
    return group->may_leave && process_group_is_worker(group, child) && child->pid != 0 &&
           !child->running && child_exit_code(child) == EXIT_TERMINATED;
}

bool process_group_failed(const struct process_group *group, const struct child *child,
                          bool stopping)
{
    if (child->pid == 0 || child->running || child->signalled ||
        child_exit_code(child) == EXIT_DONE || process_group_left(group, child))
        return false;
    return !stopping || !child_stopped(child);
}

bool process_group_any_alive(const struct process_group *group)
{
    for (size_t i = 0; i < group->count; i++)
        if (child_is_alive(&group->children[i]))
            return true;
    return false;
}

bool process_group_others_ended(const struct process_group *group)
{
    for (size_t i = 1; i < group->count; i++)
        if (child_is_alive(&group->children[i]))
            return false;
    return group->count == group->max;
}

bool process_group_workers_ended(const struct process_group *group)
{
    bool any_stayed = false;
    for (size_t i = group->servers; i < group->count; i++) {
        if (child_is_alive(&group->children[i]))
            return false;
        any_stayed = any_stayed || !process_group_left(group, &group->children[i]);
    }
    return any_stayed;
}

uint32_t process_group_logins(const struct process_group *group)
{
    uint32_t count = 0;
    for (size_t i = 0; i < group->count; i++)
        count += group->children[i].running && !group->children[i].up;
    return count;
}

uint32_t process_group_restarts(const struct process_group *group)
{
    uint32_t count = 0;
    for (size_t i = 0; i < group->count; i++)
        count += group->children[i].restarts;
    return count;
}

double process_group_restart_at(const struct process_group *group)
{
    double first = INFINITY;
    for (size_t i = 0; i < group->count; i++)
        first = fmin(first, group->children[i].restart_at);
    return first;
}

void process_group_signal(struct process_group *group, int signal)
{
    for (size_t i = 0; i < group->count; i++)
        child_signal(&group->children[i], signal);
}

void process_group_abandon(struct process_group *group)
{
    for (size_t i = 0; i < group->count; i++)
        child_abandon(&group->children[i]);
}

void process_group_drop_restarts(struct process_group *group)
{
    for (size_t i = 0; i < group->count; i++)
        group->children[i].restart_at = INFINITY;
}
