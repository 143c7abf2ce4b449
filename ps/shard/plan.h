/* plan.h - all that a server derives from the declaration, made once.
 *
 * Threads: read-only after plan_create; router, owners and checkpointer share it. */

#ifndef PS_SHARD_PLAN_H
#define PS_SHARD_PLAN_H

#include "common/base/status.h"
#include "common/job/job.h"
#include "common/job/partition.h"

struct plan {
    struct job job;
    struct partition partition;
    uint64_t *offsets;    /* [variable_count] where each variable starts in the parameter space. */
    struct slots slots;   /* Of every chunk. */
    uint32_t server;      /* This plan's server. */
    uint32_t chunk_count; /* Of this server. */
    uint64_t run_id;
    const float *given; /* [elements] of variables_initialize; NULL: chunks are loaded. Borrowed. */
    uint32_t pushes_max; /* Of a chunk, by one worker in a step. */
};

/* The job has passed job_check. */
enum status plan_create(struct plan **plan, const struct job *job, uint32_t server, uint64_t run_id,
                        struct error *error);
/* With other chunks than the declaration's, all of one server; see partition_make_sized. */
enum status plan_create_sized(struct plan **plan, const struct job *job, const uint64_t *elements,
                              uint32_t chunk_count, struct error *error);
void plan_destroy(struct plan **plan);

/* The number of the chunk that begins at `first`; chunk_count of the partition: there is none. */
uint32_t plan_chunk_at(const struct plan *plan, uint64_t first);
/* How many chunks a server has. */
uint32_t plan_chunks_of(const struct plan *plan, uint32_t server);

/* The variable that element `element` of the parameter space belongs to. */
const char *plan_variable_at(const struct plan *plan, uint64_t element);

#endif
