/* plan.c - lays out the variables, makes the partition and counts the most pushes that a worker can
 * make in a step. */

#include "ps/shard/plan.h"

#include <stdlib.h>

#include "common/job/tree.h"

/* The most nodes that any member has in a step of so many leaves, with any number of members. */
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

/* And in any step. The last one of an epoch has fewer leaves, but may cut them less well. */
static uint32_t pushes_max(const struct job *job)
{
    if (!job_mode(job)->steps)
        return 1;
    uint32_t in_last = pushes_of(job_batch(job, job_steps_per_epoch(job) - 1).leaves);
    uint32_t in_others = pushes_of(job_leaves_max(job));
    return in_last > in_others ? in_last : in_others;
}

enum status plan_create(struct plan **plan, const struct job *job, uint32_t server, uint64_t run_id,
                        struct error *error)
{
    struct plan *p = calloc(1, sizeof *p);
    if (p == NULL)
        return error_set(error, STATUS_MEMORY, "no memory for a plan");
    p->server = server;
    p->run_id = run_id;
    enum status status = job_copy(&p->job, job);
    if (status != STATUS_OK)
        error_set(error, status, "no memory for a plan");
    else
        status = partition_make(&p->partition, job->variables, job->variable_count,
                                job->server_count, job->chunk_bytes, job->use_locking, error);
    p->offsets = calloc(job->variable_count, sizeof *p->offsets);
    if (status == STATUS_OK && p->offsets == NULL)
        status = error_set(error, STATUS_MEMORY, "no memory for a plan");
    if (status != STATUS_OK) {
        plan_destroy(&p);
        return status;
    }
    variables_layout(job->variables, job->variable_count, p->offsets);
    p->pushes_max = pushes_max(&p->job);
    p->optimizer = optimizer_find(job->optimizer.name);
    for (uint32_t i = 0; i < p->partition.chunk_count; i++)
        p->chunk_count += p->partition.chunks[i].server == server;
    *plan = p;
    return STATUS_OK;
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

const char *plan_variable_at(const struct plan *plan, uint64_t element)
{
    uint32_t i = plan->job.variable_count - 1;
    while (i > 0 && plan->offsets[i] > element)
        i--;
    return plan->job.variables[i].name;
}
