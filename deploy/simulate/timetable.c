/* timetable.c - asks the cluster for each time, and adds up the work. */

#include "deploy/simulate/timetable.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/job/job_score.h"
#include "deploy/engine/simulated_process.h"

static uint32_t number_of(const struct timetable *t, const struct simulated_process *process)
{
    const struct layout *layout = t->options.layout;
    enum role role = process->is_server ? ROLE_PS : ROLE_WORKER;
    return layout_number(layout, (struct place){role, process->index});
}

static uint64_t times(uint64_t ns, double factor)
{
    return factor == 1 ? ns : (uint64_t)((double)ns * factor);
}

/* --- times ----------------------------------------------------------------------------------- */

static uint64_t queue_ns(void *context, struct random_sequence *random,
                         const struct simulated_process *process)
{
    (void)context;
    (void)random;
    (void)process;
    return TIMETABLE_QUEUE_NS;
}

static uint64_t score_ns(const struct timetable *t, const struct trainer_work *share)
{
    return job_test_share(t->options.job, share->shares, share->share).count *
           t->options.cluster->score_example_ns;
}

static uint64_t node_ns(const struct timetable *t, const struct compute_time *time, uint32_t worker,
                        const struct step_shape *shape, struct node node, bool first)
{
    uint64_t ns = first ? compute_time_pause_ns(time, t->options.job->seed, worker, shape) : 0;
    for (uint32_t i = 0; i < node.leaf_count; i++)
        ns += compute_time_leaf_ns(time, t->options.job, worker, shape, node.first_leaf + i);
    return ns;
}

static uint64_t compute_ns(void *context, struct random_sequence *random,
                           const struct simulated_process *process)
{
    const struct timetable *t = context;
    const struct trainer *trainer = &process->worker.trainer;
    const struct trainer_work *work = &trainer->work;
    (void)random;
    assert(process->index < t->options.layout->workers);
    const struct compute_time *time = &t->times[process->index];
    uint64_t ns = work->shares > 0
                      ? score_ns(t, work)
                      : node_ns(t, time, process->index, &work->shape,
                                work->nodes[trainer->node_next], trainer->node_next == 0);
    return times(ns, process->slow);
}

static uint32_t host_of(void *context, const struct simulated_process *process)
{
    const struct timetable *t = context;
    return t->options.layout->host_of[number_of(t, process)];
}

/* A worker with a replica applies each update that it receives, like an owner. (Values too, which
 * come when it joins or scores, and are only copied.) */
static uint64_t handling_ns(void *context, const struct simulated_process *process,
                            enum labour labour, uint64_t bytes)
{
    const struct timetable *t = context;
    const struct cluster *cluster = t->options.cluster;
    const struct cluster_handling *handling =
        process->is_server ? &cluster->server : &cluster->worker;
    uint64_t ns = labour == LABOUR_APPLY ? cluster_apply_ns(cluster, bytes)
                                         : cluster_message_ns(handling, bytes);
    if (labour == LABOUR_RECEIVE && !process->is_server && job_mode(t->options.job)->replicates)
        ns += cluster_apply_ns(cluster, bytes);
    return times(ns, process->slow);
}

static void note_worked(void *context, const struct simulated_process *process,
                        const struct labour_done *done)
{
    const struct timetable *t = context;
    struct timetable_use *use = &t->uses[number_of(t, process)][done->labour];
    use->times++;
    use->worked_ns += done->worked_ns;
    use->took_ns += done->took_ns;
    if (t->options.worked != NULL)
        t->options.worked(t->options.context, process, done);
}

struct timing timetable_timing(struct timetable *timetable)
{
    return (struct timing){.context = timetable,
                           .queue_ns = queue_ns,
                           .compute_ns = compute_ns,
                           .processors = timetable->processors,
                           .host = host_of,
                           .handling_ns = handling_ns,
                           .worked = note_worked};
}

/* --- creation --------------------------------------------------------------------------------- */

static enum status make_processors(struct timetable *t)
{
    const struct layout *layout = t->options.layout;
    uint64_t *counts = calloc((size_t)layout->host_count + 1, sizeof *counts);
    if (counts == NULL)
        return STATUS_MEMORY;
    for (uint32_t i = 0; i < layout->host_count; i++)
        counts[i] = layout->hosts[i].processors;
    t->processors = processors_create(counts, layout->host_count);
    free(counts);
    return STATUS_OK;
}

static enum status open_trace(struct timetable *t, struct error *error)
{
    const char *run = cluster_compute_time(t->options.cluster, 0).traced;
    return run != NULL
               ? leaf_trace_open(&t->trace, &disk_posix, run, t->options.job->micro_batch, error)
               : STATUS_OK;
}

enum status timetable_init(struct timetable *timetable, const struct timetable_options *options,
                           struct error *error)
{
    struct timetable *t = timetable;
    const struct layout *layout = options->layout;
    *t = (struct timetable){.options = *options};
    t->times = calloc((size_t)layout->workers + 1, sizeof *t->times);
    t->uses = calloc((size_t)layout->servers + layout->workers + 1, sizeof *t->uses);
    if (t->times == NULL || t->uses == NULL || make_processors(t) != STATUS_OK) {
        timetable_free(t);
        return error_set(error, STATUS_MEMORY, "no memory for the times of %u processes",
                         layout->servers + layout->workers);
    }
    for (uint32_t i = 0; i < layout->workers; i++) {
        t->times[i] = cluster_compute_time(options->cluster, i);
        t->times[i].trace = &t->trace;
    }
    enum status status = open_trace(t, error);
    if (status != STATUS_OK)
        timetable_free(t);
    return status;
}

void timetable_free(struct timetable *timetable)
{
    processors_free(timetable->processors);
    free(timetable->times);
    leaf_trace_close(&timetable->trace);
    free(timetable->uses);
    *timetable = (struct timetable){.processors = NULL};
}

void timetable_forget(struct timetable *timetable)
{
    const struct layout *layout = timetable->options.layout;
    memset(timetable->uses, 0,
           ((size_t)layout->servers + layout->workers) * sizeof *timetable->uses);
}

/* --- bottlenecks ------------------------------------------------------------------------------ */

static uint64_t message_took_ns(const struct timetable *t, uint32_t number)
{
    return t->uses[number][LABOUR_RECEIVE].took_ns + t->uses[number][LABOUR_SEND].took_ns;
}

static double part_busy_ns(const struct timetable *t, enum timetable_part part, uint32_t number)
{
    const struct timetable_use *uses = t->uses[number];
    uint32_t owners = t->options.owner_threads;
    switch (part) {
    case PART_ROUTER:
        return (double)(message_took_ns(t, number) +
                        (owners == 0 ? uses[LABOUR_APPLY].took_ns : 0));
    case PART_OWNERS:
        return (double)uses[LABOUR_APPLY].took_ns / owners;
    case PART_SESSION:
        return (double)message_took_ns(t, number);
    default:
        return (double)uses[LABOUR_COMPUTE].took_ns;
    }
}

static double host_busy_ns(const struct timetable *t, uint32_t host)
{
    const struct layout *layout = t->options.layout;
    uint64_t worked_ns = 0;
    for (uint32_t number = 0; number < layout->servers + layout->workers; number++)
        for (unsigned labour = 0; labour < LABOUR_COUNT && layout->host_of[number] == host;
             labour++)
            worked_ns += t->uses[number][labour].worked_ns;
    return (double)worked_ns / (double)layout->hosts[host].processors;
}

/* The parts' numbers from first on; returns how many there are. */
static uint32_t count_parts(const struct timetable *t, enum timetable_part part, uint32_t *first)
{
    const struct layout *layout = t->options.layout;
    *first = part == PART_SESSION || part == PART_TRAINER ? layout->servers : 0;
    if (part == PART_PROCESSORS)
        return layout->host_count;
    if (part == PART_OWNERS && t->options.owner_threads == 0)
        return 0;
    return *first > 0 ? layout->workers : layout->servers;
}

struct timetable_load timetable_load(const struct timetable *timetable, enum timetable_part part,
                                     uint64_t duration_ns)
{
    uint32_t first, count = count_parts(timetable, part, &first);
    struct timetable_load load = {.busiest = first};
    for (uint32_t i = first; i < first + count && duration_ns > 0; i++) {
        double busy_ns =
            part == PART_PROCESSORS ? host_busy_ns(timetable, i) : part_busy_ns(timetable, part, i);
        double share = busy_ns / (double)duration_ns;
        load.mean += share / count;
        if (share > load.most) {
            load.most = share;
            load.busiest = i;
        }
    }
    return load;
}
