/* evaluation_share.c - compares the epoch that a version ends with those that have been scored. */

#include "worker/client/evaluation_share.h"

#include <string.h>

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void evaluation_share_init(struct evaluation_share *duty, const struct job *job)
{
    memset(duty, 0, sizeof *duty);
    duty->job = job;
}

/* Where the job begins or goes back to, epochs that ended before that version cannot be scored any
 * more, but by the checkpoint that holds them. */
void evaluation_share_start(struct evaluation_share *duty, const struct message_start *start,
                            uint64_t generation)
{
    bool elsewhere = !duty->started || generation != duty->generation;
    uint64_t before = start->step > 0 ? (start->step - 1) / job_steps_per_epoch(duty->job) : 0;
    duty->scored = elsewhere ? larger(start->scored, before) : start->scored;
    duty->started = true;
    duty->generation = generation;
}

uint64_t evaluation_share_due(struct evaluation_share *duty, uint64_t step, bool enough,
                              uint64_t *after)
{
    uint64_t epoch_steps = job_steps_per_epoch(duty->job);
    uint64_t ended = step / epoch_steps;
    bool exact = step % epoch_steps == 0;
    if (enough && step == duty->job->steps) { /* A job that ends within an epoch scores it too. */
        ended = (step + epoch_steps - 1) / epoch_steps;
        exact = true;
    }
    *after = duty->scored;
    if (job_mode(duty->job)->aligns && ended > 0)
        *after = larger(*after, exact ? ended - 1 : ended);
    duty->scored = larger(duty->scored, ended);
    return larger(*after, ended);
}

bool evaluation_share_share(const struct job *job, uint32_t members, uint32_t position,
                            uint32_t *shares, uint32_t *share)
{
    uint32_t leaves = job_leaves_max(job);
    *shares = members;
    *share = position;
    if (!job_mode(job)->steps || members <= leaves)
        return true;
    struct node run = tree_run(leaves, members, position);
    *shares = leaves; /* More workers than leaves: a run is one leaf or none. */
    *share = run.first_leaf;
    return run.leaf_count > 0;
}
