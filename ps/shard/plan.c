/* plan.c - lays out the variables, makes the partition, and counts the most pushes of a worker
 * in a step. */

#include "ps/shard/plan.h"

#include <stdlib.h>

#include "common/job/tree.h"

/* The most nodes of one member in a step of so many leaves, with any number of members. */
static uint32_t pushes_of(uint32_t leaves)
{
    struct node nodes[TREE_COVER_MAX];
    uint32_t most = 1;
    for (uint32_t members = 1; members < leaves && members <= JOB_WORKERS_MAX; members++) {
        for (uint32_t i = 0; i < members; i++) {
            struct node run = tree_run(leaves, members, i);
            uint32_t count = tree_cover(leaves, run.first_leaf, run.leaf_count, nodes);
            most = count > most ? count : most;
        }
    }
    return most;
}

/* The same in any step. The last step of an epoch has fewer leaves, but may split them worse. */
static uint32_t pushes_max(const struct job *job)
{
    if (!job_mode(job)->steps)
        return 1;
    uint32_t in_last = pushes_of(job_batch(job, job_steps_per_epoch(job) - 1).leaves);
    uint32_t in_others = pushes_of(job_leaves_max(job));
    return in_last > in_others ? in_last : in_others;
}

/* The chunks that a plan is to have; sizes NULL: those of the declaration. */
struct dealing {
    const uint64_t *sizes;
    uint32_t count;
};

static enum status deal(struct plan *plan, const struct job *job, const struct dealing *dealing,
                        struct error *error)
{
    if (dealing->sizes != NULL)
        return partition_make_sized(&plan->partition, job->variables, job->variable_count,
                                    dealing->sizes, dealing->count, error);
    return partition_make(&plan->partition, job->variables, job->variable_count, job->server_count,
                          job->chunk_bytes, job_borders(job), error);
}

static enum status create(struct plan **plan, const struct job *job, const struct dealing *dealing,
                          struct error *error)
{
    struct plan *p = calloc(1, sizeof *p);
    if (p == NULL)
        return error_set(error, STATUS_MEMORY, "no memory for a plan");
    enum status status = job_copy(&p->job, job);
    if (status != STATUS_OK)
        error_set(error, status, "no memory for a plan");
    else
        status = deal(p, job, dealing, error);
    p->offsets = calloc(job->variable_count, sizeof *p->offsets);
    if (status == STATUS_OK && p->offsets == NULL)
        status = error_set(error, STATUS_MEMORY, "no memory for a plan");
    if (status != STATUS_OK) {
        plan_destroy(&p);
        return status;
    }
    variables_layout(job->variables, job->variable_count, p->offsets);
    p->pushes_max = pushes_max(&p->job);
    p->slots = job_slots(job);
    *plan = p;
    return STATUS_OK;
}

static void serve(struct plan *plan, uint32_t server)
{
    plan->server = server;
    for (uint32_t i = 0; i < plan->partition.chunk_count; i++)
        plan->chunk_count += plan->partition.chunks[i].server == server;
}

enum status plan_create(struct plan **plan, const struct job *job, uint32_t server, uint64_t run_id,
                        struct error *error)
{
    enum status status = create(plan, job, &(struct dealing){0}, error);
    if (status != STATUS_OK)
        return status;
    (*plan)->run_id = run_id;
    serve(*plan, server);
    return STATUS_OK;
}

enum status plan_create_sized(struct plan **plan, const struct job *job, const uint64_t *elements,
                              uint32_t chunk_count, struct error *error)
{
    enum status status = create(plan, job, &(struct dealing){elements, chunk_count}, error);
    if (status == STATUS_OK)
        serve(*plan, 0);
    return status;
}

void plan_destroy(struct plan **plan)
{
    if (*plan == NULL)
        return;
    job_free(&(*plan)->job);
    partition_free(&(*plan)->partition);
    free((*plan)->offsets);
    free(*plan);
    *plan = NULL;
}

uint32_t plan_chunk_at(const struct plan *plan, uint64_t first)
{
    uint32_t chunk = 0;
    while (chunk < plan->partition.chunk_count && plan->partition.chunks[chunk].first != first)
        chunk++;
    return chunk;
}

uint32_t plan_chunks_of(const struct plan *plan, uint32_t server)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->partition.chunk_count; i++)
        count += plan->partition.chunks[i].server == server;
    return count;
}

const char *plan_variable_at(const struct plan *plan, uint64_t element)
{
    uint32_t i = plan->job.variable_count - 1;
    while (i > 0 && plan->offsets[i] > element)
        i--;
    return plan->job.variables[i].name;
}
