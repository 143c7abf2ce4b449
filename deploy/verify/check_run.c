/* check_run.c - makes the tables that the engine is given, and asks for the verdict. */

#include "deploy/verify/check_run.h"

#include <stdlib.h>
#include <string.h>

#include "deploy/verify/check_run_verdict.h"
#include "deploy/verify/oracle_observer.h"

/* --- times ----------------------------------------------------------------------------------- */

double check_run_slow(const struct check_run *check_run, const struct simulated_process *process)
{
    const double *slow = check_run->options.slow;
    bool slowed =
        !process->is_server && slow != NULL && process->index < engine_workers(&check_run->engine);
    return slowed ? slow[process->index] * process->slow : process->slow;
}

static uint64_t queue_ns(void *context, struct random_sequence *random,
                         const struct simulated_process *process)
{
    const struct check_run *x = context;
    (void)process;
    return UINT64_C(1000) * random_below(random, (uint32_t)x->options.queue_delay_us + 1);
}

static uint64_t compute_ns(void *context, struct random_sequence *random,
                           const struct simulated_process *process)
{
    const struct check_run *x = context;
    uint64_t most_us = x->options.compute_us;
    uint64_t took_us = most_us + random_below(random, (uint32_t)most_us + 1);
    return 1000 * (uint64_t)((double)took_us * check_run_slow(x, process));
}

/* --- life ------------------------------------------------------------------------------------ */

static struct engine_options engine_options_of(struct check_run *x)
{
    const struct check_run_options *from = &x->options;
    uint64_t calm_us = from->plan != NULL ? from->plan->calm_us : 0;
    struct engine_options options = {
        .seed = from->seed,
        .job = from->job,
        .owners_a_server = from->owners_a_server,
        .owners_inline = from->owners_inline,
        .computing = simulated_work_computing(&x->work),
        .timing = {.context = x, .queue_ns = queue_ns, .compute_ns = compute_ns},
        .channel = random_wires(&x->wires),
        .observer = oracle_observer(x),
        .limits = {.context = x,
                   .time_us = from->time_limit_us + calm_us,
                   .ending = check_run_ending,
                   .is_second_coordinator = check_run_is_second_coordinator},
        .share_frames = from->faults.share_frames,
        .start_within_us = from->start_within_us,
        .storage = simulated_storage(&x->storage),
        .restore = from->restore,
        .deadlines = from->deadlines,
        .on_worker_loss = from->on_worker_loss,
        .max_bad_gradients = UINT32_MAX,
        .stop_after_us = from->stop_after_us,
        .stop_host = from->stop_host,
        .tamper = from->tamper,
        .overlap = from->overlap,
        .policy = from->job->policy[0] != '\0' ? &simulated_work_policy : NULL,
        .trusting = from->seed / 24 % 4 > 0, /* 8 histories that follow each other, and not 24. */
        .verbose = from->verbose,
    };
    if (from->plan != NULL)
        options.faults = fault_injector_faults(x);
    return options;
}

enum status check_run_init(struct check_run *check_run, const struct check_run_options *options,
                           struct error *error)
{
    struct check_run *x = check_run;
    memset(x, 0, sizeof *x);
    x->options = *options;
    x->wires = options->faults;
    x->storage = (struct simulated_storage){.disks = options->disks, .from_us = options->disks_us};
    struct engine_options tables = engine_options_of(x);
    enum status status = engine_init(&x->engine, &tables, error);
    if (status != STATUS_OK)
        return status;
    status = simulated_work_init(&x->work, options->job, options->kind);
    x->work.bad_one_in = options->bad_one_in;
    x->work.says_us = options->compute_us;
    if (status == STATUS_OK)
        status = oracle_init(&x->oracle, &x->work, &x->engine.partition, options->owners_a_server);
    x->oracle.scarce = options->scarce;
    x->oracle.in_order = options->faults.overtake <= 0 && options->faults.repeat <= 0;
    if (status != STATUS_OK)
        return error_set(error, status, "out of memory for a cluster");
    if (options->plan != NULL)
        fault_injector_begin(x);
    return STATUS_OK;
}

void check_run_free(struct check_run *check_run)
{
    struct check_run *x = check_run;
    oracle_free(&x->oracle); /* It knows the chunks by the engine's partition. */
    engine_free(&x->engine); /* Before those who count what its processes hold. */
    for (uint32_t i = 0; i < x->examined_count; i++)
        free(x->examined[i]);
    free(x->examined);
    fault_injector_free(&x->injector);
    simulated_work_free(&x->work);
    memset(x, 0, sizeof *x);
}

/* --- running --------------------------------------------------------------------------------- */

int check_run_execute(struct check_run *check_run)
{
    struct check_run *x = check_run;
    if (engine_run(&x->engine))
        return check_run_exit_code(x);
    if (x->engine.failed)
        oracle_fail(&x->oracle, "%s", x->engine.failure);
    return -1;
}

void check_run_excuse(struct check_run *check_run, const struct simulated_process *process)
{
    check_run->examined[process->number]->excused = true;
}

bool check_run_excuses(const struct check_run *check_run, const struct simulated_process *process)
{
    return check_run->examined[process->number]->excused;
}
