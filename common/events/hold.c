/* hold.c - points are read from the environment when the process begins, and looked for at each event. */

#include "common/events/hold.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void stop_at(const struct hold_point *point)
{
    char path[PATH_MAX + 4], byte;
    snprintf(path, sizeof path, "%s.go", point->fifo);
    int out = open(point->fifo, O_WRONLY | O_CLOEXEC); /* Waits for the test. */
    if (out < 0 || dprintf(out, "%s\n", event_rows[point->kind].name) < 0)
        abort();
    close(out);
    int in = open(path, O_RDONLY | O_CLOEXEC);
    if (in < 0 || read(in, &byte, 1) < 0)
        abort();
    close(in);
}

static void take(void *context, const struct event *event)
{
    struct hold *hold = context;
    if ((hold->next.kinds >> event->kind & 1) != 0)
        hold->next.take(hold->next.context, event);
    for (unsigned i = 0; i < hold->count; i++) {
        struct hold_point *point = &hold->points[i];
        bool there = point->any_step || event->step == point->step || event->version == point->step;
        if (point->kind == event->kind && there && !atomic_flag_test_and_set(&point->reached))
            stop_at(point);
    }
}

static enum event_kind kind_named(const char *name)
{
    unsigned kind = 0;
    while (kind < EVENT_KIND_COUNT && strcmp(event_rows[kind].name, name) != 0)
        kind++;
    return (enum event_kind)kind;
}

void hold_begin(struct hold *hold, const char *role, unsigned index, struct listener *listener)
{
    char who[32], here[32], name[32];
    const char *text = getenv("TEST_HOLD");
    *hold = (struct hold){.next = *listener};
    snprintf(here, sizeof here, "%s/%u", role, index);
    for (; text != NULL && *text != '\0'; text += strcspn(text, ";"), text += *text == ';') {
        struct hold_point point = {.reached = ATOMIC_FLAG_INIT};
        if (sscanf(text, "%31s %31[a-z_]:%llu %4095[^;]", who, name, &point.step, point.fifo) !=
            4) {
            point.any_step = true;
            if (sscanf(text, "%31s %31[a-z_] %4095[^;]", who, name, point.fifo) != 3)
                abort();
        }
        point.kind = kind_named(name);
        if (point.kind == EVENT_KIND_COUNT || hold->count == HOLD_POINTS_MAX)
            abort();
        if (strcmp(who, here) == 0)
            hold->points[hold->count++] = point;
    }
    if (hold->count > 0)
        *listener = (struct listener){.kinds = UINT64_MAX, .take = take, .context = hold};
}
