/* ending.c - finds the cause of a failure, and the processes that had to be stopped without being
 * one. */

#include "deploy/launcher/ending.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "common/base/wording.h"
#include "deploy/launcher/child_end.h"
#include "deploy/launcher/restart.h"

/* How much a failure explains; lower is better. */
static int failure_rank(const struct child *child)
{
    int code = child_exit_code(child);
    if (!child_has_come(child))
        return -1;
    if (code >= EXIT_TRAINING_FAILED && code <= EXIT_PROGRAM)
        return 0;
    if (code < 0)
        return 1;
    return code == EXIT_CLUSTER_LOST ? 3 : 2;
}

/* Server 0 passes a member's reason on with that member's name before it, and its own without one
 * (ps/coordinator/coordinator.c). One that ended otherwise than its own reason says explains less. */
static const struct child *reason_giver(const struct process_group *group,
                                        const struct child *child)
{
    const struct child *giver = child;
    if (child->error[0] != '\0' && strcmp(child->error, group->children->error) == 0)
        giver = group->children;
    for (size_t i = 0; i < group->count; i++) {
        const char *name = group->children[i].name;
        size_t length = strlen(name);
        if (strncmp(child->error, name, length) == 0 &&
            strncmp(child->error + length, ": ", 2) == 0)
            giver = &group->children[i];
    }
    return child_exit_code(giver) == child_exit_code(child) ? giver : child;
}

const struct child *ending_culprit(const struct process_group *group, bool stopping)
{
    const struct child *culprit = NULL;
    for (size_t i = 0; i < group->count; i++) {
        const struct child *child = &group->children[i];
        if (!process_group_failed(group, child, stopping))
            continue;
        if (culprit == NULL || failure_rank(child) < failure_rank(culprit) ||
            (failure_rank(child) == failure_rank(culprit) && child->ended < culprit->ended))
            culprit = child;
    }
    return culprit != NULL ? reason_giver(group, culprit) : NULL;
}

static int blame(const struct ending *ending, const struct child *child, struct error *error)
{
    char text[sizeof error->text];
    child_explain(child, text, sizeof text);
    int code = child_exit_code(child);
    if (!child_has_come(child)) {
        error_set(error, STATUS_UNREACHABLE, "%s", text);
        return EXIT_CANNOT_OPEN;
    }
    if (child->log >= 0 && child->error[0] == '\0')
        error_set(error, STATUS_LOST, "%.400s (%.90s/logs has more)", text, ending->out);
    else
        error_set(error, STATUS_LOST, "%s", text);
    if (child->restarts > 0)
        wording_append(error->text, sizeof error->text, " (after %s)",
                       wording_counted(child->restarts, "restart", "restarts").text);
    if (code == 126 || code == 127) /* The loader's, for want of a library, or of memory for it. */
        return EXIT_CANNOT_OPEN;
    bool ours = (code >= EXIT_TRAINING_FAILED && code <= EXIT_PROGRAM) ||
                code == EXIT_INTERRUPTED || code == EXIT_TERMINATED;
    return ours ? code : EXIT_CLUSTER_LOST;
}

int ending_stop_code(int stop_signal)
{
    if (stop_signal == 0)
        return EXIT_DONE;
    return stop_signal == SIGINT ? EXIT_INTERRUPTED : EXIT_TERMINATED;
}

static int stopped(const struct ending *ending, const struct process_group *group,
                   struct error *error)
{
    int code = ending_stop_code(ending->stop_signal);
    if (ending->at_once) {
        error_set(error, STATUS_INTERRUPTED,
                  "ended at once by a second signal; the last complete checkpoint stands");
        return code;
    }
    if (group->count > 0 && WIFSIGNALED(group->children[0].wait_status) && ending->killed) {
        error_set(error, STATUS_TIMEOUT,
                  "the job did not stop within %s (--stop-timeout) and was killed; the last "
                  "complete checkpoint stands",
                  wording_duration(ending->stop_seconds).text);
        return EXIT_CLUSTER_LOST;
    }
    error_set(error, STATUS_INTERRUPTED, "stopped by %s",
              ending->stop_signal == SIGINT ? "Ctrl-C (SIGINT)" : "a signal");
    return code;
}

/* It did not end like a process whose job has ended. stopping: a stop of the job was requested. */
static bool was_left_over(const struct ending *ending, const struct process_group *group,
                          const struct child *child, bool stopping)
{
    if (!child->running && child_exit_code(child) == EXIT_DONE)
        return false;
    return stopping || !(process_group_left(group, child) || (child->signalled && ending->done));
}

int ending_judge(const struct ending *ending, const struct process_group *group,
                 struct error *error)
{
    bool stopping = ending->stop_signal != 0;
    const struct child *culprit = ending_culprit(group, stopping);
    bool clean = group->count == 0 || child_stopped(&group->children[0]);
    if (stopping && (ending->at_once || clean))
        return stopped(ending, group, error);
    if (ending->start_error.text[0] != '\0') {
        *error = ending->start_error;
        return EXIT_CANNOT_OPEN;
    }
    /* Nothing comes of a death after the end but a missing farewell. */
    if (culprit != NULL && ending->done && restart_may_help(culprit, culprit == group->children))
        return EXIT_DONE;
    if (culprit != NULL)
        return blame(ending, culprit, error);
    for (size_t i = 0; i < group->count; i++) {
        const struct child *child = &group->children[i];
        if (!was_left_over(ending, group, child, stopping))
            continue;
        if (stopping)
            return stopped(ending, group, error);
        error_set(error, STATUS_TIMEOUT, "%s had to be stopped: it did not end with the others",
                  child->name);
        return EXIT_CLUSTER_LOST;
    }
    return EXIT_DONE;
}
