/* crew.c - one question, or one order, for all children. */

#include "deploy/launcher/crew.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/launcher/child_end.h"

enum status crew_init(struct crew *crew, const struct options *options, struct error *error)
{
    *crew = (struct crew){
        .max = (size_t)options->ps + options->workers,
        .servers = options->ps,
        .may_leave = options->ps > 0 && strcmp(options->on_term, "leave") == 0,
    };
    crew->children = calloc(crew->max, sizeof *crew->children);
    if (crew->children == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < crew->max; i++)
        child_init(&crew->children[i]);
    return STATUS_OK;
}

void crew_free(struct crew *crew)
{
    for (size_t i = 0; crew->children != NULL && i < crew->max; i++)
        child_free(&crew->children[i]);
    free(crew->children);
    *crew = (struct crew){0};
}

bool crew_is_worker(const struct crew *crew, const struct child *child)
{
    return child >= crew->children + crew->servers;
}

bool crew_left(const struct crew *crew, const struct child *child)
{
    return crew->may_leave && crew_is_worker(crew, child) && child->pid != 0 && !child->running &&
           child_exit_code(child) == EXIT_TERMINATED;
}

bool crew_failed(const struct crew *crew, const struct child *child, bool stopping)
{
    if (child->pid == 0 || child->running || child->told || child_exit_code(child) == EXIT_DONE ||
        crew_left(crew, child))
        return false;
    return !stopping || !child_stopped(child);
}

bool crew_any_alive(const struct crew *crew)
{
    for (size_t i = 0; i < crew->count; i++)
        if (child_is_alive(&crew->children[i]))
            return true;
    return false;
}

bool crew_others_ended(const struct crew *crew)
{
    for (size_t i = 1; i < crew->count; i++)
        if (child_is_alive(&crew->children[i]))
            return false;
    return crew->count == crew->max;
}

bool crew_workers_ended(const struct crew *crew)
{
    bool any_stayed = false;
    for (size_t i = crew->servers; i < crew->count; i++) {
        if (child_is_alive(&crew->children[i]))
            return false;
        any_stayed = any_stayed || !crew_left(crew, &crew->children[i]);
    }
    return any_stayed;
}

uint32_t crew_logins(const struct crew *crew)
{
    uint32_t count = 0;
    for (size_t i = 0; i < crew->count; i++)
        count += crew->children[i].running && !crew->children[i].up;
    return count;
}

uint32_t crew_restarts(const struct crew *crew)
{
    uint32_t count = 0;
    for (size_t i = 0; i < crew->count; i++)
        count += crew->children[i].restarts;
    return count;
}

double crew_restart_at(const struct crew *crew)
{
    double first = INFINITY;
    for (size_t i = 0; i < crew->count; i++)
        first = fmin(first, crew->children[i].restart_at);
    return first;
}

void crew_signal(struct crew *crew, int signal)
{
    for (size_t i = 0; i < crew->count; i++)
        child_signal(&crew->children[i], signal);
}

void crew_abandon(struct crew *crew)
{
    for (size_t i = 0; i < crew->count; i++)
        child_abandon(&crew->children[i]);
}

void crew_drop_restarts(struct crew *crew)
{
    for (size_t i = 0; i < crew->count; i++)
        crew->children[i].restart_at = INFINITY;
}
