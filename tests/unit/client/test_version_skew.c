/* test_version_skew.c - how far apart the chunks of a pull are: of all, and of a variable on one server. */

#include "worker/client/version_skew.h"

#include "tests/lib/post.h"
#include "tests/lib/suite.h"

/* Variables of 48 and 16 elements; chunks of 16 elements, dealt over the servers. */
struct fixture {
    struct job job;
    struct partition partition;
    struct version_skew skew;
};

static void open_fixture(struct fixture *f, uint32_t servers, bool locking)
{
    struct error error;
    f->job = small_job(MODE_ASYNC, 2, servers);
    ck_assert(partition_make(&f->partition, f->job.variables, f->job.variable_count, servers, 64,
                             locking ? CHUNKS_LOCKED : CHUNKS_EVEN, &error) == STATUS_OK);
    ck_assert(version_skew_init(&f->skew, &f->job, &f->partition) == STATUS_OK);
}

static void close_fixture(struct fixture *f)
{
    version_skew_free(&f->skew);
    partition_free(&f->partition);
    job_free(&f->job);
}

#define TEST(name, ...)                                                                            \
    SUITE_TEST(name, struct fixture, f, open_fixture(f, __VA_ARGS__), close_fixture(f))

static void hold(struct fixture *f, const uint64_t *versions)
{
    for (uint32_t i = 0; i < f->partition.chunk_count; i++)
        f->skew.versions[i] = versions[i];
}

TEST(of_equal_versions_it_is_0, 1, false)
{
    hold(f, (const uint64_t[]){7, 7, 7, 7});
    ck_assert_uint_eq(f->partition.chunk_count, 4);
    ck_assert_uint_eq(version_skew_of_read(&f->skew), 0);
    ck_assert_uint_eq(version_skew_within_variables(&f->skew), 0);
}

TEST(a_pull_is_as_wide_as_its_newest_is_ahead_of_its_oldest, 1, false)
{
    hold(f, (const uint64_t[]){7, 9, 8, 3}); /* Three of the kernel, one of the bias. */
    ck_assert_uint_eq(version_skew_of_read(&f->skew), 6);
    ck_assert_uint_eq(version_skew_within_variables(&f->skew), 2);
    hold(f, (const uint64_t[]){5, 5, 5, 9});
    ck_assert_uint_eq(version_skew_of_read(&f->skew), 4);
    ck_assert_uint_eq(version_skew_within_variables(&f->skew), 0); /* Looked at anew. */
}

TEST(a_part_is_what_one_server_has_of_a_variable, 2, false)
{
    uint64_t versions[4];
    for (uint32_t i = 0; i < 4; i++) /* Servers are at odds, each with itself in order. */
        versions[i] = f->partition.chunks[i].server == 0 ? 10 : 20;
    hold(f, versions);
    ck_assert_uint_eq(version_skew_of_read(&f->skew), 10);
    ck_assert_uint_eq(version_skew_within_variables(&f->skew), 0);
}

TEST(with_locking_a_part_is_one_chunk, 2, true)
{
    for (uint64_t round = 0; round < 20; round++) {
        uint64_t versions[8];
        for (uint64_t i = 0; i < 8; i++)
            versions[i] = (round * 7 + i * i * 5) % 11;
        ck_assert_uint_le(f->partition.chunk_count, 8);
        hold(f, versions);
        ck_assert_uint_eq(version_skew_within_variables(&f->skew), 0);
    }
}

int main(void)
{
    return suite_run("spread", NULL);
}
