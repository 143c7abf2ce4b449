/* restart.c - the rule, and a delay that doubles while starts fail early. */

#include "deploy/launcher/restart.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "deploy/launcher/child_end.h"

#define DELAY_SECONDS     0.2
#define DELAY_MAX_SECONDS 5.0
#define EARLY_SECONDS     5.0 /* A process that lived longer did not fail at its start. */
/* A process whose connection broke goes on until server 0 knows better (members_watch_leashes). */
#define CUT_SECONDS 3.0
/* A process that ended by itself may have exchanged the reason with server 0, which then ends
 * too. */
#define VERDICT_SECONDS 1.0

bool restart_may_help(const struct child *child, bool coordinates)
{
    int code = child_exit_code(child);
    return code < 0 || child->cut ||
           (!coordinates && (code == EXIT_CLUSTER_LOST || code == EXIT_TRAINING_FAILED));
}

bool restart_allowed(const struct child *child, const struct options *options, bool worker)
{
    if (worker && options->ps > 0 && strcmp(options->on_worker_loss, "fail") == 0)
        return false;
    /* A host that comes back should find its place; the wait for it is at most this long. */
    if (child->cut)
        return child->ended - child->cut_since < options->deadlines.recovery;
    return child->restarts < options->max_restarts;
}

double restart_delay(struct child *child)
{
    child->early_ends = child->ended - child->started < EARLY_SECONDS ? child->early_ends + 1 : 0;
    double delay = ldexp(DELAY_SECONDS, child->early_ends < 10 ? (int)child->early_ends : 10);
    if (child_exit_code(child) >= 0)
        delay = fmax(delay, VERDICT_SECONDS);
    if (child->cut)
        delay = fmax(delay, CUT_SECONDS);
    return fmin(delay, DELAY_MAX_SECONDS);
}

void restart_describe(const struct child *child, const char *moved_to,
                      const struct options *options, char text[RESTART_LINE_MAX])
{
    char end[CHILD_LINE_MAX];
    if (child->cut)
        child_explain(child, end, sizeof end);
    else
        child_describe_end(child, end, sizeof end);
    if (moved_to != NULL)
        snprintf(text, RESTART_LINE_MAX, "%s; started again on %s (restart %u)", end, moved_to,
                 child->restarts + 1);
    else if (child->cut)
        snprintf(text, RESTART_LINE_MAX, "%s; started again there (restart %u)", end,
                 child->restarts + 1);
    else
        snprintf(text, RESTART_LINE_MAX, "%s; started again (restart %u of %u)", end,
                 child->restarts + 1, options->max_restarts);
}
