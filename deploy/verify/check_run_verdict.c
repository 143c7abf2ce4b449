/* check_run_verdict.c - who may fail, who is excused, and who was left behind when the others had ended. */

#include "deploy/verify/check_run_verdict.h"

#include <string.h>

#include "deploy/verify/check_run.h"

/* Whoever has to do with what went wrong shortly before the end may not have heard of it. */
#define HEARD_LATE_US 15000000u
/* What a process ends with that server 0 does not know at all. */
#define REFUSED_OF_ANOTHER_RUN "not a process of the run"
/* A deadline longer than all that a plan does. */
#define RECOVERY_IS_SURE_S 30.0

/* A disk that failed at the wrong moment ends the job, and says so; so does a loss, where it is to,
 * or where the deadline is shorter than what goes wrong. */
static bool may_fail(const struct check_run *x, const struct simulated_process *p)
{
    bool disk = x->injector.counts[FAULT_DISK] > 0;
    bool lost = x->options.plan != NULL && (x->options.on_worker_loss != LOSS_CONTINUE ||
                                            x->options.deadlines.recovery < RECOVERY_IS_SURE_S);
    /* A server 0 that comes after it waits for a worker of the job that will not come. */
    lost = lost || x->left_unheard;
    /* Two servers 0: each may have had a part of the members, and one the run directory. */
    if (x->injector.two_coordinators && p->exit_code != EXIT_DONE)
        return true;
    return (disk && (p->exit_code == EXIT_CANNOT_OPEN || p->exit_code == EXIT_TRAINING_FAILED)) ||
           (lost && (p->exit_code == EXIT_CLUSTER_LOST || p->exit_code == EXIT_START_TIMEOUT));
}

struct ending check_run_ending(void *check_run, const struct simulated_process *process)
{
    struct check_run *x = check_run;
    x->left_unheard = x->left_unheard || strstr(process->reason, "unheard by") != NULL;
    bool fails = may_fail(x, process), excused = check_run_excuses(x, process);
    bool told = process->exit_code == EXIT_DONE || process->exit_code == EXIT_INTERRUPTED || fails;
    return (struct ending){.of_host = told || !excused,
                           .of_job = told && !excused,
                           .of_all = process->host == 0 && fails};
}

bool check_run_is_second_coordinator(void *check_run, const struct simulated_process *process)
{
    return process->is_server && check_run_excuses(check_run, process);
}

/* A process that could not hear of the end, or heard nobody since, or came when all was over. */
static bool was_left_behind(const struct check_run *x, const struct simulated_process *p)
{
    if (strstr(p->reason, REFUSED_OF_ANOTHER_RUN) != NULL)
        return false; /* Server 0 was heard, and could have said what became of its run. */
    /* A server 0 that was killed when the run had ended may begin another one, with others, or find
     * nobody any more. */
    if (x->announced && x->injector.began_again &&
        (p->exit_code == EXIT_CLUSTER_LOST || p->exit_code == EXIT_START_TIMEOUT))
        return true;
    /* So it refuses whoever was killed then as well, and does not come from that run any more. */
    if (x->announced && x->injector.began_again &&
        strstr(p->reason, "holds a finished run") != NULL)
        return p->number >= engine_servers(&x->engine) + engine_workers(&x->engine);
    if (x->options.plan == NULL || !x->finished ||
        (p->exit_code != EXIT_CLUSTER_LOST && p->exit_code != EXIT_START_TIMEOUT))
        return false;
    return x->finished_us < x->options.plan->calm_us + HEARD_LATE_US;
}

static void check_exit(struct check_run *x, const struct simulated_process *p, int *common)
{
    if (p->state != PROCESS_OVER || check_run_excuses(x, p) || was_left_behind(x, p) ||
        may_fail(x, p))
        return;
    const char *role = p->is_server ? "ps" : "worker";
    /* Whoever was asked to stop may have been killed, and forgotten it, after some had left. */
    bool goes_on = x->injector.began_again && p->exit_code == EXIT_DONE;
    if (*common == -1 || (goes_on && *common == EXIT_INTERRUPTED))
        *common = p->exit_code;
    if (p->exit_code != *common && !(x->injector.began_again && p->exit_code == EXIT_INTERRUPTED))
        oracle_fail(&x->oracle, "%s/%u exits with %d and others with %d: %s", role, p->index,
                    p->exit_code, *common, p->reason);
    if (p->exit_code != EXIT_DONE && p->exit_code != EXIT_INTERRUPTED)
        oracle_fail(&x->oracle, "%s/%u exits with %d: %s", role, p->index, p->exit_code, p->reason);
}

int check_run_exit_code(struct check_run *check_run)
{
    struct check_run *x = check_run;
    int code = -1;
    for (uint32_t i = 0; i < x->engine.process_count; i++)
        check_exit(x, x->engine.processes[i], &code);
    for (uint32_t i = 0; i < x->engine.process_count && code == -1; i++)
        if (x->engine.processes[i]->state == PROCESS_OVER && may_fail(x, x->engine.processes[i]))
            code = x->engine.processes[i]->exit_code;
    if (code == -1 && x->announced)
        code = EXIT_CLUSTER_LOST;
    if (code == -1)
        oracle_fail(&x->oracle, "nobody has come to the end of the job");
    return x->oracle.failed ? -1 : code;
}
