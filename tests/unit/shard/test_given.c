/* test_given.c - what each worker was given last is kept, once a request, until it is given more. */
/* promises: staleness-rules */

#include "ps/shard/given.h"

#include "tests/lib/suite.h"

struct fixture {
    struct given given;
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
    given_free(&f->given);
    for (int i = 0; i < 8; i++) {
        ck_assert(frame_is_unique(f->versions[i]));
        frame_release(f->versions[i]);
    }
}

#define TEST(name) SUITE_TEST(name, struct fixture, f, open_fixture(f), close_fixture(f))

static enum status keep(struct fixture *f, struct given_to to, uint64_t version)
{
    struct frame *replaced;
    enum status status = given_keep(&f->given, to, f->versions[version], version, &replaced);
    frame_release(replaced);
    given_check(&f->given, 64, 7);
    return status;
}

TEST(what_a_worker_was_given_last_is_found_by_its_version)
{
    ck_assert_ptr_null(given_find(&f->given, 0));
    ck_assert_int_eq(keep(f, (struct given_to){2, 1, 10}, 3), STATUS_OK);
    ck_assert_int_eq(keep(f, (struct given_to){0, 2, 10}, 4), STATUS_OK);
    ck_assert_ptr_eq(given_find(&f->given, 3), f->versions[3]);
    ck_assert_ptr_eq(given_find(&f->given, 4), f->versions[4]);
    ck_assert_ptr_null(given_find(&f->given, 0));
    ck_assert_ptr_null(given_find(&f->given, 5));
    ck_assert_int_eq(keep(f, (struct given_to){2, 1, 11}, 5), STATUS_OK);
    ck_assert_ptr_null(given_find(&f->given, 3));
    ck_assert_ptr_eq(given_find(&f->given, 5), f->versions[5]);
    ck_assert(frame_is_unique(f->versions[3]));
}

/* Else there would be two answers to one request, of two versions. */
TEST(a_request_is_given_values_once_and_an_older_one_not_at_all)
{
    ck_assert_int_eq(keep(f, (struct given_to){0, 1, 10}, 3), STATUS_OK);
    ck_assert_int_eq(keep(f, (struct given_to){0, 1, 10}, 4), STATUS_EXISTS);
    ck_assert_int_eq(keep(f, (struct given_to){0, 1, 9}, 4), STATUS_EXISTS);
    ck_assert_ptr_eq(given_find(&f->given, 3), f->versions[3]);
}

/* It may be back under another ticket, with a gradient of what it held. */
TEST(what_a_lost_worker_had_stays_until_it_is_given_something_else)
{
    ck_assert_int_eq(keep(f, (struct given_to){0, 1, 10}, 3), STATUS_OK);
    ck_assert_ptr_eq(given_find(&f->given, 3), f->versions[3]);
    ck_assert_int_eq(keep(f, (struct given_to){0, 2, 1}, 4), STATUS_OK);
    ck_assert_ptr_null(given_find(&f->given, 3));
    ck_assert(frame_is_unique(f->versions[3]));
}

TEST(a_generation_leaves_nothing)
{
    ck_assert_int_eq(keep(f, (struct given_to){5, 1, 10}, 3), STATUS_OK);
    given_forget(&f->given);
    ck_assert(frame_is_unique(f->versions[3]));
    ck_assert_ptr_null(given_find(&f->given, 3));
    ck_assert_int_eq(keep(f, (struct given_to){5, 1, 10}, 4), STATUS_OK);
}

int main(void)
{
    return suite_run("given", NULL);
}
