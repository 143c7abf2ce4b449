/* test_replica.c - a worker's own copy: what it has of which version, and that it makes the same updates. */
/* promises: allreduce */

#include "worker/client/replica.h"

#include <stdlib.h>
#include <string.h>

#include "common/job/replica_hash.h"
#include "tests/lib/post.h"
#include "tests/lib/suite.h"

struct fixture {
    struct job job;
    struct partition partition;
    struct replica replica;
    float *values, *data;
};

static void open(struct fixture *f)
{
    struct error error;
    f->job = small_job(MODE_ALLREDUCE, 2, 1);
    f->job.optimizer = optimizer_find("adam")->defaults;
    ck_assert_int_eq(partition_make(&f->partition, f->job.variables, f->job.variable_count, 1,
                                    f->job.chunk_bytes, CHUNKS_EVEN, &error),
                     STATUS_OK);
    f->values = calloc(f->partition.elements, sizeof *f->values);
    f->data = calloc(f->partition.elements, sizeof *f->data);
    ck_assert(f->values != NULL && f->data != NULL);
    for (uint64_t i = 0; i < f->partition.elements; i++)
        f->data[i] = (float)i;
    ck_assert_int_eq(replica_init(&f->replica, &f->job, &f->partition, f->values), STATUS_OK);
    ck_assert_uint_eq(f->replica.slot_count, 2);
}

static void close(struct fixture *f)
{
    replica_free(&f->replica);
    free(f->values);
    free(f->data);
    partition_free(&f->partition);
    job_free(&f->job);
}

#define TEST(name) SUITE_TEST(name, struct fixture, f, open(f), close(f))

TEST(a_chunk_is_here_when_values_and_all_slots_have_come_in_whatever_order)
{
    ck_assert(!replica_has(&f->replica, 0, 0));
    ck_assert(!replica_put(&f->replica, 0, 2, 7, f->data));
    ck_assert(!replica_put(&f->replica, 0, 0, 7, f->data));
    ck_assert(!replica_put(&f->replica, 0, 0, 7, f->data)); /* Repeated. */
    ck_assert(!replica_has(&f->replica, 0, 7));
    ck_assert(replica_put(&f->replica, 0, 1, 7, f->data));
    ck_assert(replica_has(&f->replica, 0, 7));
    ck_assert(!replica_has(&f->replica, 0, 6) && !replica_has(&f->replica, 0, 8));
    ck_assert_float_eq(f->values[3], f->data[3]);
    replica_forget(&f->replica);
    ck_assert(!replica_has(&f->replica, 0, 7));
}

/* One of its slots was lost, and values of another version have been pulled since. */
TEST(what_came_in_an_earlier_exchange_does_not_count)
{
    replica_put(&f->replica, 0, 0, 4, f->data);
    replica_put(&f->replica, 0, 1, 4, f->data);
    replica_begin(&f->replica);
    ck_assert(!replica_put(&f->replica, 0, 2, 4, f->data));
    ck_assert(!replica_put(&f->replica, 0, 1, 4, f->data));
    ck_assert(!replica_has(&f->replica, 0, 4));
    ck_assert(replica_put(&f->replica, 0, 0, 4, f->data));
    replica_begin(&f->replica);
    ck_assert(replica_has(&f->replica, 0, 4));
}

TEST(a_sum_makes_the_next_version_of_its_chunk_alone)
{
    for (uint32_t array = 0; array < 3; array++)
        replica_put(&f->replica, 0, array, 4, f->data);
    uint64_t before = replica_hash_of(&f->replica, 0);
    ck_assert_uint_eq(before, replica_hash_of(&f->replica, 0));
    replica_apply(&f->replica, 0, 4, f->data);
    ck_assert(replica_has(&f->replica, 0, 5) && !replica_has(&f->replica, 0, 4));
    ck_assert_uint_ne(before, replica_hash_of(&f->replica, 0));
    uint64_t first = f->partition.chunks[0].count;
    for (uint64_t i = first; i < f->partition.elements; i++)
        ck_assert_float_eq(f->values[i], 0);
}

TEST_PLAIN(a_hash_is_of_values_and_of_each_slot)
{
    float values[4] = {1, 2, 3, 4}, m[4] = {5, 6, 7, 8}, v[4] = {9, 10, 11, 12};
    float *slots[] = {m, v};
    float *of[] = {values, m, v};
    uint64_t all = replica_hash(values, slots, 2, 4);
    ck_assert_uint_ne(all, 0);
    ck_assert_uint_ne(all, replica_hash(values, slots, 1, 4));
    for (int i = 0; i < 3; i++) {
        of[i][3] += 1;
        ck_assert_uint_ne(all, replica_hash(values, slots, 2, 4));
        of[i][3] -= 1;
    }
    ck_assert_uint_eq(all, replica_hash(values, slots, 2, 4));
}

int main(void)
{
    return suite_run("replica", NULL);
}
