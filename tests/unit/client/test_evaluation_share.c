/* test_evaluation_share.c - which versions are scored, and who scores which part of the test
 * set. */

#include "worker/client/evaluation_share.h"

#include "tests/lib/post.h"
#include "tests/lib/suite.h"

/* Epochs of 3 steps: the small job has 20 examples in batches of 8. */
enum { EPOCH = 3 };

struct fixture {
    struct job job;
    struct evaluation_share duty;
};

static void open_fixture(struct fixture *f, enum mode mode, uint64_t steps)
{
    f->job = small_job(mode, 2, 1);
    f->job.steps = steps;
    evaluation_share_init(&f->duty, &f->job);
}

static void start(struct fixture *f, uint64_t generation, uint64_t step, uint64_t scored)
{
    struct message_start message = {.step = step, .scored = scored};
    evaluation_share_start(&f->duty, &message, generation);
}

/* Exactly the epochs from `first` to `last` are to be scored; 0: none. */
static void check_due(struct fixture *f, uint64_t step, bool enough, uint64_t first, uint64_t last)
{
    uint64_t after;
    uint64_t due = evaluation_share_due(&f->duty, step, enough, &after);
    if (first == 0) {
        ck_assert_uint_eq(due, after);
        return;
    }
    ck_assert_uint_eq(after + 1, first);
    ck_assert_uint_eq(due, last);
}

TEST_PLAIN(every_epoch_is_scored_on_the_first_version_after_it)
{
    struct fixture f;
    for (int mode = 0; mode < 2; mode++) {
        open_fixture(&f, mode ? MODE_SYNC : MODE_ASYNC, 8);
        start(&f, 0, 0, 0);
        for (uint64_t step = 0; step < 8; step++)
            check_due(&f, step, false, step % EPOCH == 0 ? step / EPOCH : 0, step / EPOCH);
        check_due(&f, 8, true, 3, 3); /* It ends within an epoch. */
        check_due(&f, 8, true, 0, 0);
        job_free(&f.job);
    }
}

TEST_PLAIN(a_stop_within_an_epoch_scores_nothing)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC, 8);
    start(&f, 0, 0, 0);
    check_due(&f, 1, true, 0, 0);
    job_free(&f.job);
}

TEST_PLAIN(a_job_that_goes_on_from_a_checkpoint_scores_what_it_still_can)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC, 90);
    start(&f, 1, 9, 0); /* Nobody knows what was scored. */
    check_due(&f, 9, false, 3, 3);
    start(&f, 2, 9, 3); /* Somebody does. */
    check_due(&f, 9, false, 0, 0);
    start(&f, 3, 10, 0); /* Too late. */
    check_due(&f, 10, false, 0, 0);
    check_due(&f, 12, false, 4, 4);
    job_free(&f.job);

    open_fixture(&f, MODE_ASYNC, 90);
    start(&f, 1, 10, 0);
    check_due(&f, 11, false, 0, 0);
    check_due(&f, 19, false, 4, 6); /* Slow. */
    job_free(&f.job);
}

TEST_PLAIN(after_a_new_assignment_the_epoch_is_scored_again_if_it_was_not_complete)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC, 90);
    start(&f, 1, 0, 0);
    check_due(&f, 3, false, 1, 1);
    start(&f, 1, 3, 0);
    check_due(&f, 3, false, 1, 1);
    start(&f, 1, 3, 1);
    check_due(&f, 3, false, 0, 0);
    start(&f, 1, 4, 0); /* The version is gone. */
    check_due(&f, 4, false, 0, 0);
    check_due(&f, 6, false, 2, 2);
    start(&f, 2, 0, 2); /* Back to the beginning: scores stay. */
    check_due(&f, 0, false, 0, 0);
    check_due(&f, 3, false, 0, 0);
    check_due(&f, 6, false, 0, 0);
    check_due(&f, 9, false, 3, 3);
    job_free(&f.job);

    open_fixture(&f, MODE_ASYNC, 90);
    start(&f, 1, 0, 0);
    check_due(&f, 7, false, 1, 2);
    start(&f, 1, 0, 1);
    check_due(&f, 8, false, 2, 2);
    job_free(&f.job);
}

/* Steps that a worker without leaves jumped over. */
TEST_PLAIN(in_sync_mode_no_other_version_will_do)
{
    struct fixture f;
    open_fixture(&f, MODE_SYNC, 90);
    start(&f, 1, 0, 0);
    check_due(&f, 7, false, 0, 0);
    check_due(&f, 9, false, 3, 3);
    check_due(&f, 15, false, 5, 5);
    job_free(&f.job);
}

TEST_PLAIN(the_test_set_is_shared_among_those_with_leaves)
{
    struct fixture f;
    uint32_t shares, share, scoring = 0;
    open_fixture(&f, MODE_SYNC, 8);
    for (uint32_t position = 0; position < 6; position++) {
        if (!evaluation_share_share(&f.job, 6, position, &shares, &share))
            continue;
        ck_assert_uint_eq(shares, 4);
        ck_assert_uint_eq(share, scoring++);
    }
    ck_assert_uint_eq(scoring, 4);
    ck_assert(evaluation_share_share(&f.job, 3, 2, &shares, &share));
    ck_assert(shares == 3 && share == 2);
    f.job.mode = MODE_ASYNC;
    ck_assert(evaluation_share_share(&f.job, 6, 5, &shares, &share));
    ck_assert(shares == 6 && share == 5);
    job_free(&f.job);
}

int main(void)
{
    return suite_run("evaluation_share", NULL);
}
