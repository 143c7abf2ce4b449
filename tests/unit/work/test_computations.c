/* test_computations.c - numbers for what workers announce: once for each, again for who repeats it,
 * and for nobody else. */
/* promises: record */

#include "ps/work/computations.h"

#include <string.h>

#include "common/job/bases.h"
#include "tests/lib/post.h"
#include "tests/lib/suite.h"

#define CHUNKS 4 /* Of small_job. */

struct fixture {
    struct job job;
    struct computations computations;
};

static void open_fixture(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    f->job = small_job(MODE_ASYNC, 2, 1);
    ck_assert_int_eq(computations_init(&f->computations, &f->job, true, 1), STATUS_OK);
    ck_assert_uint_eq(f->computations.chunk_count, CHUNKS);
}

static void close_fixture(struct fixture *f)
{
    computations_check(&f->computations);
    computations_free(&f->computations);
    job_free(&f->job);
}

/* What tests begin with, and how they end. */
#define TEST(name) SUITE_TEST(name, struct fixture, f, open_fixture(f), close_fixture(f))

static enum status announce(struct fixture *f, uint32_t worker, uint64_t ticket, uint64_t request,
                            uint64_t version)
{
    const uint64_t versions[CHUNKS] = {version, version, version, version};
    uint8_t bytes[BASES_BYTES_A_CHUNK * CHUNKS];
    const struct message lease = {.kind = MESSAGE_LEASE,
                                  .index = worker,
                                  .ticket = ticket,
                                  .request = request,
                                  .lease = {.announces = true, .bases_of = 3}};
    size_t count = bases_encode(versions, CHUNKS, bytes);
    return computations_announce(&f->computations, &lease, 0, bytes, count);
}

TEST(what_is_announced_gets_the_next_number_once)
{
    ck_assert_int_eq(announce(f, 0, 7, 10, 1), STATUS_OK);
    ck_assert_int_eq(announce(f, 1, 8, 10, 1), STATUS_OK);
    ck_assert_int_eq(announce(f, 0, 7, 10, 1), STATUS_OK); /* Again. */
    ck_assert_uint_eq(computations_answer(&f->computations, 0, 7, 10), 1);
    ck_assert_uint_eq(computations_answer(&f->computations, 1, 8, 10), 2);
    ck_assert_uint_eq(f->computations.count, 2);
    ck_assert_int_eq(announce(f, 0, 7, 11, 2), STATUS_OK);
    ck_assert_uint_eq(computations_answer(&f->computations, 0, 7, 11), 3);
}

TEST(another_process_and_another_lease_are_not_told_the_number)
{
    ck_assert_int_eq(announce(f, 0, 7, 10, 1), STATUS_OK);
    ck_assert_uint_eq(computations_answer(&f->computations, 0, 9, 10), 0);
    ck_assert_uint_eq(computations_answer(&f->computations, 0, 7, 9), 0);
    ck_assert_uint_eq(computations_answer(&f->computations, 1, 7, 10), 0);
    ck_assert_uint_eq(computations_answer(&f->computations, 0, 0, 0), 0);
}

TEST(what_was_announced_before_the_latest_is_late)
{
    ck_assert_int_eq(announce(f, 0, 7, 10, 1), STATUS_OK);
    ck_assert_int_eq(announce(f, 0, 7, 9, 1), STATUS_AGAIN);
    ck_assert_int_eq(announce(f, 0, 9, 2, 1), STATUS_OK); /* Another process counts anew. */
    ck_assert_uint_eq(computations_answer(&f->computations, 0, 9, 2), 2);
}

TEST(bases_that_cannot_be_change_nothing)
{
    ck_assert_int_eq(announce(f, 0, 7, 10, f->job.steps + 1), STATUS_INVALID);
    const struct message lease = {.kind = MESSAGE_LEASE, .ticket = 7, .request = 10};
    const uint8_t few[] = {2, 0};
    ck_assert_int_eq(computations_announce(&f->computations, &lease, 0, few, sizeof few),
                     STATUS_INVALID);
    ck_assert_uint_eq(f->computations.count, 0);
    ck_assert_uint_eq(computations_answer(&f->computations, 0, 7, 10), 0);
}

TEST(what_is_in_the_record_is_dropped_and_what_came_since_stays)
{
    ck_assert_int_eq(announce(f, 0, 7, 10, 1), STATUS_OK);
    ck_assert_int_eq(computations_gone(&f->computations, 0), STATUS_OK);
    struct computations_mark mark = computations_mark(&f->computations);
    ck_assert_uint_eq(mark.next, 2);
    ck_assert_int_eq(announce(f, 1, 8, 10, 2), STATUS_OK);
    computations_drop(&f->computations, mark);
    ck_assert_uint_eq(f->computations.count, 1);
    ck_assert_uint_eq(f->computations.all[0].number, 2);
    ck_assert(bases_decode(f->computations.bases, f->computations.bases_bytes, 2, NULL, CHUNKS));
}

TEST(numbers_go_on_when_all_go_back)
{
    ck_assert_int_eq(announce(f, 0, 7, 10, 1), STATUS_OK);
    computations_go_back(&f->computations);
    ck_assert_uint_eq(computations_answer(&f->computations, 0, 7, 10), 0);
    ck_assert_int_eq(announce(f, 0, 7, 10, 1), STATUS_OK);
    ck_assert_uint_eq(computations_answer(&f->computations, 0, 7, 10), 2);
}

/* No cut can be written. Training is not to wait for one. */
TEST(more_than_can_be_remembered_are_numbered_and_forgotten_until_all_go_back)
{
    uint64_t request = 10;
    for (uint32_t i = 0; i < COMPUTATIONS_MAX; i++)
        ck_assert_int_eq(announce(f, 0, 7, request++, 1), STATUS_OK);
    ck_assert(!f->computations.over && f->computations.count == COMPUTATIONS_MAX);
    struct computations_mark mark = computations_mark(&f->computations);
    ck_assert_int_eq(announce(f, 0, 7, request, 1), STATUS_OK);
    ck_assert(f->computations.over && f->computations.count == 0 && f->computations.all == NULL);
    ck_assert_uint_eq(computations_answer(&f->computations, 0, 7, request), COMPUTATIONS_MAX + 1);
    computations_drop(&f->computations, mark); /* Of a cut that was written after all. */
    ck_assert_int_eq(computations_gone(&f->computations, 0), STATUS_OK);
    ck_assert_int_eq(announce(f, 1, 8, 10, 1), STATUS_OK);
    ck_assert_uint_eq(computations_answer(&f->computations, 1, 8, 10), COMPUTATIONS_MAX + 2);
    ck_assert_uint_eq(f->computations.count, 0);
    computations_check(&f->computations);
    computations_go_back(&f->computations);
    ck_assert_int_eq(announce(f, 1, 8, 11, 1), STATUS_OK);
    ck_assert_uint_eq(f->computations.count, 1);
    ck_assert_uint_eq(f->computations.all[0].number, COMPUTATIONS_MAX + 3);
}

int main(void)
{
    return suite_run("computations", NULL);
}
