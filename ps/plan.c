#include "ps/plan.h"

#include <stdlib.h>

enum status plan_create(struct plan **plan, const struct job *job, uint32_t server, uint64_t run_id,
                        struct error *error)
{
    struct plan *p = calloc(1, sizeof *p);
    if (p == NULL)
        return error_set(error, STATUS_MEMORY, "no memory for a plan");
    p->server = server;
    p->run_id = run_id;
    enum status status = job_copy(&p->job, job);
    if (status == STATUS_OK)
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
