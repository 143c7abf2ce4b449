/* test_timeline.c - what a step can be said to be of. */

#include "common/steps/timeline.h"

#include "tests/lib/suite.h"

/* Two batches of 12 in leaves of 4, and one of 3. */
static const struct job JOB = {.examples = 27, .batch = 12, .micro_batch = 4, .steps = 6};

struct said {
    uint64_t step;
    struct batch_range batch;
    struct node set;
    bool ends;
    uint64_t lag;
};

static bool allows(const struct job *job, struct said said)
{
    struct leaf_set set;
    leaf_set_clear(&set);
    leaf_set_add(&set, said.set);
    return timeline_allows(job, said.step, &said.batch, &set, said.ends, said.lag);
}

enum { BAD = 8 }; /* Ways to say it wrongly. */

static void start_from(struct said bad[BAD], const struct said *good)
{
    for (size_t i = 0; i < BAD; i++)
        bad[i] = *good;
}

static void check_refused(const struct job *job, const struct said bad[BAD])
{
    for (size_t i = 0; i < BAD; i++)
        ck_assert_msg(!allows(job, bad[i]), "bad[%zu]", i);
}

TEST_PLAIN(a_step_is_of_its_batch_where_nothing_is_requeued)
{
    const struct said good = {4, {.epoch = 1, .examples = 12, .leaves = 3}, {0, 2}, false, 0};
    const struct said last = {5, {.epoch = 1, .examples = 3, .leaves = 1}, {0, 1}, true, 0};
    ck_assert(allows(&JOB, good));
    ck_assert(allows(&JOB, last));
    struct said bad[BAD];
    start_from(bad, &good);
    bad[0].batch.epoch = 0;
    bad[1].batch.examples = 11;
    bad[2].batch.leaves = 2;
    bad[3].ends = true;
    bad[4].lag = 1;
    bad[5].set = (struct node){2, 2}; /* A leaf that the batch does not have ... */
    bad[6].set = (struct node){3, 1}; /* ... and none that it has. */
    bad[7].step = 6;
    check_refused(&JOB, bad);
}

TEST_PLAIN(a_step_of_what_was_dropped_has_at_most_a_batch)
{
    struct job job = JOB;
    struct mode_setting backup = {.mode = MODE_BACKUP, .bound = 1};
    job.dropped = DROPPED_REQUEUE;
    job_set_mode(&job, backup);
    ck_assert(job_requeues(&job));
    const struct said good = {7, {.epoch = 1, .examples = 7, .leaves = 2}, {0, 2}, true, 3};
    ck_assert(allows(&job, good));
    struct said bad[BAD];
    start_from(bad, &good);
    bad[0].batch.epoch = 2;
    bad[1].batch.examples = 9;
    bad[2].batch.examples = 4; /* One leaf has them. */
    bad[3].batch.leaves = 4;
    bad[4].batch.leaves = 0;
    bad[5].lag = 8;
    bad[6].set = (struct node){1, 2};
    bad[7].step = UINT64_MAX;
    check_refused(&job, bad);
}

int main(void)
{
    return suite_run("timeline", NULL);
}
