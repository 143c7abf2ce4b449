/* simulation.c - makes the tables, runs the engine, and reports server 0's end. */

#include "deploy/simulate/simulation.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/wording.h"
#include "common/store/generation.h"
#include "common/store/run_directory.h"

#define STOP_SECONDS    5.0  /* Of real time, for a virtual cluster to take its leave. */
#define START_WITHIN_US 1000 /* Processes start in any order within this time. */

/* --- memory ---------------------------------------------------------------------------------- */

/* Copies of the parameters that a worker and all servers together have at the most, about. */
#define COPIES_OF_WORKER 4
#define COPIES_OF_SERVER 4
/* (Where workers have replicas they have the slots as well.) And of any size of the model: a
 * session or cores, with their books. */
#define BYTES_OF_PROCESS (128u << 10)

uint64_t simulation_memory(const struct workload *workload, uint32_t workers, uint32_t servers)
{
    const struct job *job = &workload->job;
    uint64_t model = sizeof(float) * variables_elements(job->variables, job->variable_count);
    uint64_t wires = (uint64_t)(workers + servers) * servers * sizeof(struct network_wire);
    uint64_t processes = (uint64_t)(workers + servers) * BYTES_OF_PROCESS;
    uint64_t slots = job_slots(job).count, replica = job_mode(job)->replicates ? slots : 0;
    return workload->source->data_bytes + wires + processes +
           workers * (COPIES_OF_WORKER + replica) * model + (COPIES_OF_SERVER + slots) * model;
}

/* --- making it ------------------------------------------------------------------------------- */

static void look(void *context)
{
    struct simulation *s = context;
    if (atomic_load(&s->stop_code) != 0 && !s->stopping) {
        s->stopping = true;
        s->stop_by = clock_now_seconds() + STOP_SECONDS;
        /* Then server 0 is not killed during the stop, either. */
        fault_schedule_stop(&s->schedule);
        engine_request_stop(&s->engine);
    }
    if (s->stopping && clock_now_seconds() > s->stop_by)
        engine_fail(&s->engine, "stopped while its processes took their leave; the newest "
                                "checkpoint counts");
    policy_child_look(&s->policy);
    if (s->options.look != NULL)
        s->options.look(s->options.context);
}

static void note_ended(void *context, const struct simulated_process *process)
{
    struct simulation *s = context;
    s->replaced |= process->host == 0 && process->state == PROCESS_KILLED;
}

/* Server 0 announces the end: there are no more failures. */
static void note_sent(void *context, const struct simulated_process *process,
                      const struct message *message)
{
    struct simulation *s = context;
    if (process->host == 0 && message->kind == MESSAGE_FINISHED && !message->stop.left)
        fault_schedule_note_over(&s->schedule);
}

/* Passes each piece of work on to its listeners. */
static void note_worked(void *context, const struct simulated_process *process,
                        const struct labour_done *done)
{
    struct simulation *s = context;
    if (s->options.explain != NULL)
        breakdown_worked(&s->breakdown, process, done);
    tracing_worked(&s->tracing, process, done);
}

/* As choose_owner_threads of ps/server.c, of a server's own host. */
static uint32_t owner_threads(const struct simulation *s)
{
    uint64_t processors = s->layout.hosts[s->layout.host_of[0]].processors;
    int32_t wanted = s->options.options->owner_threads;
    return wanted >= 0 ? (uint32_t)wanted : processors <= 2 ? 0 : processors >= 8 ? 4 : 2;
}

/* A resumed session is another one, with its own random numbers. */
static uint64_t seed_of(const struct simulation *s)
{
    struct generation generation;
    struct error error;
    uint64_t seed = s->options.workload->job.seed;
    if (generation_read(&generation, &disk_posix, s->options.out, &error) == STATUS_OK)
        seed ^= generation.number * UINT64_C(0x9e3779b97f4a7c15);
    return seed;
}

static enum worker_loss worker_loss_of(const char *text)
{
    return strcmp(text, "fail") == 0   ? LOSS_FAIL
           : strcmp(text, "wait") == 0 ? LOSS_WAIT
                                       : LOSS_CONTINUE;
}

static struct engine_options tables(struct simulation *s)
{
    const struct options *from = s->options.options;
    uint32_t owners = owner_threads(s);
    return (struct engine_options){
        .seed = seed_of(s),
        .job = &s->options.workload->job,
        .owners_a_server = owners > 0 ? owners : 1,
        .owners_inline = owners == 0,
        .computing = learning(&s->learning),
        .timing = timetable_timing(&s->timetable),
        .channel = nics_channel(s->nics),
        .storage = folder_storage(&s->folder, s->options.out),
        .observer = {.context = s, .ended = note_ended, .sends = note_sent},
        .spans = recorder_spans(s->options.recorder),
        .limits = {.context = s, .look = look},
        .faults = fault_schedule_faults(&s->schedule),
        .share_frames = true,
        .unchecked = true,
        .arithmetic = kernels_instructions_name(kernels_instructions()),
        .start_within_us = START_WITHIN_US,
        .restore = from->restore != NULL ? from->restore : "auto",
        .initial = from->initial,
        .keep = options_keep(from),
        .board = s->options.board,
        .deadlines = from->deadlines,
        .on_worker_loss = worker_loss_of(from->on_worker_loss),
        .max_bad_gradients = from->max_bad_gradients,
        .policy = from->policy != NULL ? &s->policy.policy : NULL,
        .verbose = from->verbose,
    };
}

static enum status make_cluster(struct simulation *s, struct error *error)
{
    const struct simulation_options *options = &s->options;
    const struct job *job = &options->workload->job;
    uint32_t most = job->worker_count + failures_joining(options->failures);
    enum status status = cluster_check(options->cluster, job->server_count, most, error);
    if (status == STATUS_OK)
        status = (job->colocated ? layout_make_colocated : layout_make)(
            &s->layout, options->cluster, job->server_count, most, error);
    if (status != STATUS_OK)
        return status;
    s->nics = nics_create(options->cluster, &s->layout, job->seed);
    if (s->nics == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    bool explained = options->explain != NULL, recorded = explained || options->recorder != NULL;
    s->breakdown = (struct breakdown){options->explain, &s->engine};
    s->tracing = (struct tracing){options->recorder, &s->engine};
    if (explained) {
        const struct nics_watcher watcher = breakdown_watcher(&s->breakdown);
        nics_watch(s->nics, &watcher);
    }
    const struct timetable_options times = {.cluster = options->cluster,
                                            .layout = &s->layout,
                                            .job = job,
                                            .owner_threads = owner_threads(s),
                                            .worked = recorded ? note_worked : NULL,
                                            .context = s};
    status = timetable_init(&s->timetable, &times, error);
    s->timetable_made = status == STATUS_OK;
    return status;
}

/* The bottleneck is measured from here on. */
static void forget_joining(void *context)
{
    struct simulation *s = context;
    timetable_forget(&s->timetable);
    nics_forget_use(s->nics);
}

static enum status make_fault_schedule(struct simulation *s, struct error *error)
{
    const struct fault_schedule_options options = {
        .engine = &s->engine,
        .failures = s->options.failures,
        .job = &s->options.workload->job,
        .say = s->options.say,
        .context = s->options.context,
        .started = forget_joining,
        .started_context = s,
    };
    enum status status = fault_schedule_init(&s->schedule, &options, error);
    s->fault_schedule_made = status == STATUS_OK;
    return status;
}

enum status simulation_init(struct simulation *simulation, const struct simulation_options *options,
                            struct error *error)
{
    struct simulation *s = simulation;
    memset(s, 0, sizeof *s);
    s->options = *options;
    s->learning.workload = options->workload;
    enum status status = make_cluster(s, error);
    if (status == STATUS_OK)
        status = make_fault_schedule(s, error);
    const char *policy = options->options->policy;
    if (status == STATUS_OK && policy != NULL)
        status = policy_child_start(&s->policy, policy, &s->engine, &options->workload->job, error);
    if (status == STATUS_OK) {
        struct engine_options engine_options = tables(s);
        status = engine_init(&s->engine, &engine_options, error);
        s->engine_made = status == STATUS_OK;
    }
    if (status != STATUS_OK)
        simulation_free(s);
    return status;
}

void simulation_free(struct simulation *simulation)
{
    struct simulation *s = simulation;
    if (s->nics != NULL)
        nics_free(s->nics);
    if (s->engine_made)
        engine_free(&s->engine);
    if (s->timetable_made)
        timetable_free(&s->timetable);
    if (s->fault_schedule_made)
        fault_schedule_free(&s->schedule);
    policy_child_end(&s->policy);
    layout_free(&s->layout);
    memset(s, 0, sizeof *s);
}

/* --- running --------------------------------------------------------------------------------- */

/* A replacement of server 0 may report an error after its predecessor had recorded the run as done.
 * Then the run is done: the replacement finds no workers, or no work. */
static bool is_done(const struct simulation *s)
{
    struct run_found found;
    struct error error;
    if (run_directory_find(&found, &disk_posix, s->options.out, &error) != STATUS_OK)
        return false;
    job_free(&found.job);
    return s->replaced && found.state == RUN_DONE;
}

/* How the last server 0 ended. */
static int exit_code_of(const struct simulation *s, struct error *error)
{
    const struct engine *e = &s->engine;
    for (uint32_t i = e->process_count; i-- > 0;) {
        const struct simulated_process *p = e->processes[i];
        if (p->host != 0 || p->state != PROCESS_OVER)
            continue;
        if (p->exit_code != EXIT_DONE && is_done(s))
            return EXIT_DONE;
        error_set(error, STATUS_OK, "%s", p->reason);
        int stop = atomic_load(&s->stop_code);
        return p->exit_code == EXIT_INTERRUPTED && stop != 0 ? stop : p->exit_code;
    }
    if (is_done(s))
        return EXIT_DONE;
    error_set(error, STATUS_IO, "server 0 was killed, and no other came in its place (--restart)");
    return EXIT_CLUSTER_LOST;
}

int simulation_run(struct simulation *simulation, struct error *error)
{
    struct simulation *s = simulation;
    double began = clock_now_seconds();
    bool well = engine_run(&s->engine);
    s->real_seconds = clock_now_seconds() - began;
    fault_schedule_finish(&s->schedule);
    if (well)
        return exit_code_of(s, error);
    error_set(error, STATUS_INVALID, "%s", s->engine.failure);
    return s->stopping        ? atomic_load(&s->stop_code)
           : s->policy.failed ? EXIT_PROGRAM
                              : EXIT_TRAINING_FAILED;
}

uint64_t simulation_ns(const struct simulation *simulation)
{
    return simulation->engine.now_ns - simulation->schedule.start_ns;
}

void simulation_request_stop(struct simulation *simulation, int exit_code)
{
    int none = 0;
    atomic_compare_exchange_strong(&simulation->stop_code, &none, exit_code);
}
