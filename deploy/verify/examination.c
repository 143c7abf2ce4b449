/* examination.c - makes the tables that the engine is given, and asks for the verdict. */

#include "deploy/verify/examination.h"

#include <stdlib.h>
#include <string.h>

#include "deploy/verify/judgement.h"
#include "deploy/verify/onlooker.h"

/* --- times ----------------------------------------------------------------------------------- */

double examination_slow(const struct examination *examination,
                        const struct simulated_process *process)
{
    const double *slow = examination->options.slow;
    bool slowed = !process->is_server && slow != NULL &&
                  process->index < engine_workers(&examination->engine);
    return slowed ? slow[process->index] * process->slow : process->slow;
}

static uint64_t queue_ns(void *context, struct random_sequence *random,
                         const struct simulated_process *process)
{
    const struct examination *x = context;
    (void)process;
    return UINT64_C(1000) * random_below(random, (uint32_t)x->options.queue_delay_us + 1);
}

static uint64_t compute_ns(void *context, struct random_sequence *random,
                           const struct simulated_process *process)
{
    const struct examination *x = context;
    uint64_t most_us = x->options.compute_us;
    uint64_t took_us = most_us + random_below(random, (uint32_t)most_us + 1);
    return 1000 * (uint64_t)((double)took_us * examination_slow(x, process));
}

/* --- life ------------------------------------------------------------------------------------ */

static struct engine_options engine_options_of(struct examination *x)
{
    const struct examination_options *from = &x->options;
    uint64_t calm_us = from->plan != NULL ? from->plan->calm_us : 0;
    struct engine_options options = {
        .seed = from->seed,
        .job = from->job,
        .owners_a_server = from->owners_a_server,
        .owners_inline = from->owners_inline,
        .computing = simulated_work_computing(&x->work),
        .timing = {.context = x, .queue_ns = queue_ns, .compute_ns = compute_ns},
        .carrier = random_wires(&x->wires),
        .observer = onlooker(x),
        .limits = {.context = x,
                   .time_us = from->time_limit_us + calm_us,
                   .ending = judgement_ending,
                   .is_rival = judgement_is_rival},
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
        .verbose = from->verbose,
    };
    if (from->plan != NULL)
        options.faults = fault_injector_faults(x);
    return options;
}

enum status examination_init(struct examination *examination,
                             const struct examination_options *options, struct error *error)
{
    struct examination *x = examination;
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
        status =
            witness_init(&x->witness, &x->work, &x->engine.partition, options->owners_a_server);
    x->witness.scarce = options->scarce;
    x->witness.in_order = options->faults.overtake <= 0 && options->faults.repeat <= 0;
    if (status != STATUS_OK)
        return error_set(error, status, "out of memory for a cluster");
    if (options->plan != NULL)
        fault_injector_begin(x);
    return STATUS_OK;
}

void examination_free(struct examination *examination)
{
    struct examination *x = examination;
    witness_free(&x->witness); /* It knows the chunks by the engine's partition. */
    engine_free(&x->engine);   /* Before those who count what its processes hold. */
    for (uint32_t i = 0; i < x->examined_count; i++)
        free(x->examined[i]);
    free(x->examined);
    fault_injector_free(&x->injector);
    simulated_work_free(&x->work);
    memset(x, 0, sizeof *x);
}

/* --- running --------------------------------------------------------------------------------- */

int examination_run(struct examination *examination)
{
    struct examination *x = examination;
    if (engine_run(&x->engine))
        return judgement_exit_code(x);
    if (x->engine.failed)
        witness_fail(&x->witness, "%s", x->engine.failure);
    return -1;
}

void examination_excuse(struct examination *examination, const struct simulated_process *process)
{
    examination->examined[process->number]->excused = true;
}

bool examination_excuses(const struct examination *examination,
                         const struct simulated_process *process)
{
    return examination->examined[process->number]->excused;
}
