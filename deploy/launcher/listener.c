/* listener.c - selects lines of processes, and prefixes those from other hosts. */

#include "deploy/launcher/listener.h"

#include <stdio.h>

#include "common/process/log.h"
#include "deploy/launcher/launch.h"

/* The process and the receiver of its lines. */
struct speaker {
    const struct listener *listener;
    const struct child *child;
    bool coordinates;
};

/* A line for the person. */
static void say_line(const struct listener *listener, const char *line)
{
    const struct launch_watch *watch = listener->watch;
    if (watch != NULL && watch->say != NULL)
        watch->say(watch->context, line);
    else
        fprintf(stderr, "%s\n", line);
}

void listener_remark(const struct listener *listener, enum log_level level, const char *text)
{
    char line[LOG_LINE_MAX];
    if (level > LOG_WARNING && listener->quiet)
        return;
    log_remark(level, text, line);
    say_line(listener, line);
}

static void hear(void *context, const char *line, enum log_level level)
{
    const struct speaker *speaker = context;
    if (speaker->listener->verbose || level == LOG_WARNING)
        say_line(speaker->listener, line);
}

/* The same for a process on another host. Its name precedes each line but JSON, which has it. */
static void hear_from_afar(void *context, const char *line, enum log_level level)
{
    const struct speaker *speaker = context;
    char named[CHILD_LINE_MAX + CHILD_HOST_MAX + 40];
    snprintf(named, sizeof named, "[%s %s] %s", speaker->child->name, speaker->child->host, line);
    hear(context, line[0] == '{' ? line : named, level);
}

static void hear_voice(void *context, const char *line, enum log_level level)
{
    const struct speaker *speaker = context;
    const struct launch_watch *watch = speaker->listener->watch;
    (void)level;
    if (watch != NULL && watch->tell != NULL && speaker->coordinates)
        watch->tell(watch->context, line);
}

void listener_hear(struct listener *listener, struct child *child, bool coordinates)
{
    char line[CHILD_LINE_MAX];
    struct speaker speaker = {listener, child, coordinates};
    if (child->carried) {
        child_read_voice(child, hear_voice, &speaker);
        child_read(child, hear_from_afar, &speaker);
    } else
        child_read(child, hear, &speaker);
    if (child_lost_log(child, line, sizeof line) && log_once_add(&listener->log_once, line))
        listener_remark(listener, LOG_WARNING, line);
}

void listener_say_tail(const struct listener *listener, const struct child *child)
{
    size_t kept = child->tail_count < CHILD_TAIL ? child->tail_count : CHILD_TAIL;
    for (size_t i = child->tail_count - kept; kept > 1 && i + 1 < child->tail_count; i++)
        say_line(listener, child->tail[i % CHILD_TAIL]);
}
