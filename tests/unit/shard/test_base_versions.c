/* test_base_versions.c - what each worker was given last is kept, once a request, until it is given more. */
/* promises: staleness-rules */

#include "ps/shard/base_versions.h"

#include "tests/lib/suite.h"

struct fixture {
    struct base_versions bases;
    struct frame *versions[8];
};

static void open_fixture(struct fixture *f)
{
    *f = (struct fixture){0};
    for (int i = 0; i < 8; i++)
        f->versions[i] = frame_create(64);
}

static void close_fixture(struct fixture *f)
{
    base_versions_free(&f->bases);
    for (int i = 0; i < 8; i++) {
        ck_assert(frame_is_unique(f->versions[i]));
        frame_release(f->versions[i]);
    }
}

#define TEST(name) SUITE_TEST(name, struct fixture, f, open_fixture(f), close_fixture(f))

static enum status keep(struct fixture *f, struct base_request to, uint64_t version)
{
    struct frame *replaced;
    enum status status =
        base_versions_keep(&f->bases, to, f->versions[version], version, &replaced);
    frame_release(replaced);
    base_versions_check(&f->bases, 64, 7);
    return status;
}

TEST(what_a_worker_was_given_last_is_found_by_its_version)
{
    ck_assert_ptr_null(base_versions_find(&f->bases, 0));
    ck_assert_int_eq(keep(f, (struct base_request){2, 1, 10}, 3), STATUS_OK);
    ck_assert_int_eq(keep(f, (struct base_request){0, 2, 10}, 4), STATUS_OK);
    ck_assert_ptr_eq(base_versions_find(&f->bases, 3), f->versions[3]);
    ck_assert_ptr_eq(base_versions_find(&f->bases, 4), f->versions[4]);
    ck_assert_ptr_null(base_versions_find(&f->bases, 0));
    ck_assert_ptr_null(base_versions_find(&f->bases, 5));
    ck_assert_int_eq(keep(f, (struct base_request){2, 1, 11}, 5), STATUS_OK);
    ck_assert_ptr_null(base_versions_find(&f->bases, 3));
    ck_assert_ptr_eq(base_versions_find(&f->bases, 5), f->versions[5]);
    ck_assert(frame_is_unique(f->versions[3]));
}

/* Else there would be two answers to one request, of two versions. */
TEST(a_request_is_given_values_once_and_an_older_one_not_at_all)
{
    ck_assert_int_eq(keep(f, (struct base_request){0, 1, 10}, 3), STATUS_OK);
    ck_assert_int_eq(keep(f, (struct base_request){0, 1, 10}, 4), STATUS_EXISTS);
    ck_assert_int_eq(keep(f, (struct base_request){0, 1, 9}, 4), STATUS_EXISTS);
    ck_assert_ptr_eq(base_versions_find(&f->bases, 3), f->versions[3]);
}

/* It may be back under another ticket, with a gradient of what it held. */
TEST(what_a_lost_worker_had_stays_until_it_is_given_something_else)
{
    ck_assert_int_eq(keep(f, (struct base_request){0, 1, 10}, 3), STATUS_OK);
    ck_assert_ptr_eq(base_versions_find(&f->bases, 3), f->versions[3]);
    ck_assert_int_eq(keep(f, (struct base_request){0, 2, 1}, 4), STATUS_OK);
    ck_assert_ptr_null(base_versions_find(&f->bases, 3));
    ck_assert(frame_is_unique(f->versions[3]));
}

TEST(a_generation_leaves_nothing)
{
    ck_assert_int_eq(keep(f, (struct base_request){5, 1, 10}, 3), STATUS_OK);
    base_versions_forget(&f->bases);
    ck_assert(frame_is_unique(f->versions[3]));
    ck_assert_ptr_null(base_versions_find(&f->bases, 3));
    ck_assert_int_eq(keep(f, (struct base_request){5, 1, 10}, 4), STATUS_OK);
}

int main(void)
{
    return suite_run("given", NULL);
}
