/* child_end.c - describes exit codes, signals and last lines. */

#include "deploy/launcher/child_end.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

bool child_is_alive(const struct child *child)
{
    return child->running || !isinf(child->restart_at);
}

bool child_has_come(const struct child *child)
{
    return child->up || child->restarts > 0;
}

int child_exit_code(const struct child *child)
{
    return WIFEXITED(child->wait_status) ? WEXITSTATUS(child->wait_status) : -1;
}

bool child_stopped(const struct child *child)
{
    int code = child_exit_code(child);
    if (code < 0)
        return WTERMSIG(child->wait_status) == SIGINT || WTERMSIG(child->wait_status) == SIGTERM;
    return code == EXIT_INTERRUPTED || code == EXIT_TERMINATED;
}

/* `before` goes between the description of its end and the quoted line. */
static void child_describe(const struct child *child, const char *before, const char *quoted,
                           char *text, size_t bytes)
{
    const char *on = child->host[0] != '\0' ? " on " : "";
    if (child->carried && !child->up)
        snprintf(text, bytes, "%s could not be started%s%s%s%s", child->name, on, child->host,
                 before, quoted);
    else if (child->cut)
        snprintf(text, bytes, "%s%s%s: the connection to it broke%s%s", child->name, on,
                 child->host, before, quoted);
    else if (WIFSIGNALED(child->wait_status))
        snprintf(text, bytes, "%s%s%s was killed by signal %d (%s)%s%s", child->name, on,
                 child->host, WTERMSIG(child->wait_status), strsignal(WTERMSIG(child->wait_status)),
                 before, quoted);
    else
        snprintf(text, bytes, "%s%s%s ended with exit code %d%s%s", child->name, on, child->host,
                 child_exit_code(child), before, quoted);
}

void child_describe_end(const struct child *child, char *text, size_t bytes)
{
    child_describe(child, child->error[0] != '\0' ? ": " : "", child->error, text, bytes);
}

/* The newest that is not blank, NULL if none is. */
static const char *last_words(const struct child *child)
{
    for (size_t back = 1; back <= child->tail_count && back <= CHILD_TAIL; back++) {
        const char *line = child->tail[(child->tail_count - back) % CHILD_TAIL];
        if (line[strspn(line, " ")] != '\0')
            return line;
    }
    return NULL;
}

void child_explain(const struct child *child, char *text, size_t bytes)
{
    const char *words = last_words(child);
    if (child->error[0] != '\0')
        child_describe_end(child, text, bytes);
    else if (words != NULL)
        child_describe(child, "; its last line: ", words, text, bytes);
    else
        child_describe(child, ": ", "it left no message", text, bytes);
}
