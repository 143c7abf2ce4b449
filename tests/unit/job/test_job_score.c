/* test_job_score.c - shares of the test set, sums of losses and means. */

#include "common/job/job_score.h"

#include <math.h>
#include <string.h>

#include "tests/lib/suite.h"

/* Whatever the number of shares: one behind the other, in whole pieces, and as even as pieces allow. */
static void expect_shares(const struct job *job, uint32_t shares)
{
    uint64_t piece = job->score_piece > 0 ? job->score_piece : 1, next = 0, least = UINT64_MAX;
    uint64_t most = 0;
    for (uint32_t i = 0; i < shares; i++) {
        struct test_share share = job_test_share(job, shares, i);
        ck_assert_uint_eq(share.first, next);
        ck_assert_uint_eq(share.first % piece, 0);
        next += share.count;
        least = share.count < least ? share.count : least;
        most = share.count > most ? share.count : most;
    }
    ck_assert_uint_eq(next, job->test_examples);
    ck_assert_uint_gt(least, 0);
    ck_assert_uint_le(most, least + 2 * piece);
}

TEST_PLAIN(shares_are_of_whole_pieces_and_cover_the_test_set)
{
    static const uint64_t examples[] = {1, 7, 500, 10000, 10002};
    static const uint32_t pieces[] = {0, 1, 3, 32, 500, 20000};
    for (size_t e = 0; e < sizeof examples / sizeof *examples; e++)
        for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++)
            for (uint32_t workers = 1; workers <= JOB_WORKERS_MAX; workers = workers * 2 + 1) {
                struct job job = {.test_examples = examples[e], .score_piece = pieces[p]};
                uint32_t shares = job_test_shares(&job, workers);
                ck_assert_uint_ge(shares, 1);
                ck_assert_uint_le(shares, workers);
                expect_shares(&job, shares);
            }
}

TEST_PLAIN(single_examples_are_dealt_as_ever)
{
    struct job job = {.test_examples = 10002};
    for (uint32_t i = 0; i < 7; i++) {
        struct test_share share = job_test_share(&job, 7, i);
        ck_assert_uint_eq(share.first, 10002 * i / 7);
        ck_assert_uint_eq(share.count, 10002 * (i + 1) / 7 - 10002 * i / 7);
    }
}

TEST_PLAIN(without_a_test_set_there_is_no_share)
{
    struct job job = {.score_piece = 500};
    ck_assert_uint_eq(job_test_shares(&job, 3), 0);
    ck_assert(isnan(job_mean_loss(&job, 0, 0)) && isnan(job_accuracy(&job, 0, 0)));
}

TEST_PLAIN(a_loss_is_rounded_once_to_the_unit_of_the_job)
{
    struct job job = {.loss_unit = 0};
    int64_t units = 0;
    ck_assert(job_loss_units(&job, 2.5, 3, &units, NULL) == STATUS_OK);
    ck_assert_int_eq(units, 5 << 23);
    job.loss_unit = 4;
    ck_assert(job_loss_units(&job, -41.9, 3, &units, NULL) == STATUS_OK);
    ck_assert_int_eq(units, -10);
    ck_assert(job_mean_loss(&job, units, 5) == -8);
}

TEST_PLAIN(a_loss_out_of_range_is_named_with_what_helps)
{
    struct job job = {.loss_unit = 0};
    struct error error;
    int64_t units = 7;
    ck_assert(job_loss_units(&job, 3 * 0x1p16, 3, &units, NULL) == STATUS_OK);
    ck_assert_int_eq(units, 3 * (INT64_C(1) << 40));
    ck_assert(job_loss_units(&job, 4 * 0x1p16, 3, &units, &error) == STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "87381.3 of 3 examples"));
    ck_assert_ptr_nonnull(strstr(error.text, "65536"));
    ck_assert_ptr_nonnull(strstr(error.text, "--loss-unit"));
    ck_assert(job_loss_units(&job, -1e30, 3, &units, NULL) == STATUS_INVALID);
    ck_assert(job_loss_units(&job, (double)NAN, 3, &units, NULL) == STATUS_INVALID);
    job.loss_unit = 1;
    ck_assert(job_loss_units(&job, 4 * 0x1p16, 3, &units, NULL) == STATUS_OK);
}

int main(void)
{
    return suite_run("job_score", NULL);
}
