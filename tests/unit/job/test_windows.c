/* test_windows.c - the windows of --report-every: each batch in one of them, in whatever order they come, and
 * whole again after going back. */
/* promises: windows */

#include "common/job/windows.h"

#include "tests/lib/post.h"
#include "tests/lib/suite.h"

/* Six batches: 8, 8 and 4 examples, twice. */
struct scene {
    struct job job;
    struct windows windows;
    struct window told;
};

static const struct window_so_far nothing = {0};

static void open_scene(struct scene *s, uint64_t every)
{
    s->job = small_job(MODE_ASYNC, 1, 1);
    s->job.report_every = every;
    ck_assert_int_eq(windows_init(&s->windows, &s->job, 0, &nothing), STATUS_OK);
}

static void close_scene(struct scene *s)
{
    windows_check(&s->windows);
    windows_free(&s->windows);
    job_free(&s->job);
}

#define TEST(name, every) SUITE_TEST(name, struct scene, s, open_scene(s, every), close_scene(s))

static bool count(struct scene *s, uint64_t batch)
{
    struct tally tally = {
        .loss = (int64_t)(1u << batch), .correct = 1, .examples = 8, .updates = 1};
    bool whole = windows_count(&s->windows, batch, &tally, &s->told);
    windows_check(&s->windows);
    return whole;
}

TEST(without_the_option_there_are_none, 0)
{
    for (uint64_t batch = 0; batch < 6; batch++)
        ck_assert(!count(s, batch));
    ck_assert_uint_eq(windows_so_far(&s->windows, 3).tally.updates, 0);
    windows_go_back(&s->windows, 2, &nothing);
}

TEST(a_window_goes_across_the_end_of_an_epoch_and_the_last_may_be_shorter, 4)
{
    for (uint64_t batch = 0; batch < 3; batch++)
        ck_assert(!count(s, batch));
    ck_assert(count(s, 3));
    ck_assert_uint_eq(s->told.number, 0);
    ck_assert_uint_eq(s->told.first, 0);
    ck_assert_uint_eq(s->told.end, 4);
    ck_assert_uint_eq(s->told.examples, 8 + 8 + 4 + 8);
    ck_assert_int_eq(s->told.tally.loss, 15);
    ck_assert_uint_eq(s->told.tally.updates, 4);
    ck_assert(!s->told.ragged);
    ck_assert(!count(s, 4));
    ck_assert(count(s, 5));
    ck_assert_uint_eq(s->told.number, 1);
    ck_assert_uint_eq(s->told.end, 6);
    ck_assert_uint_eq(s->told.examples, 8 + 4);
    ck_assert_int_eq(s->told.tally.loss, 48);
    ck_assert(s->told.ragged);
    /* The job may be made longer. */
    ck_assert_uint_eq(windows_so_far(&s->windows, 6).tally.updates, 2);
}

TEST(a_window_of_more_than_there_is_ends_with_the_job, 1000000000000000)
{
    for (uint64_t batch = 0; batch < 5; batch++)
        ck_assert(!count(s, batch));
    ck_assert(count(s, 5));
    ck_assert_uint_eq(s->told.tally.updates, 6);
    ck_assert(s->told.ragged);
}

TEST(a_slow_batch_holds_up_its_own_window_alone, 2)
{
    ck_assert(!count(s, 0));
    ck_assert(!count(s, 2));
    ck_assert(count(s, 3));
    ck_assert_uint_eq(s->told.number, 1);
    ck_assert(!count(s, 5));
    ck_assert(count(s, 4));
    ck_assert_uint_eq(s->told.number, 2);
    ck_assert(count(s, 1));
    ck_assert_uint_eq(s->told.number, 0);
    ck_assert_int_eq(s->told.tally.loss, 3);
}

/* As far apart as batches may be, with windows of every size: none is lost, and each told once. */
TEST_PLAIN(batches_may_be_as_far_apart_as_a_chunk_lets_them)
{
    for (uint64_t every = 1; every <= WINDOWS_REACH + 2; every = every * 3 + every % 2) {
        struct scene scene, *s = &scene;
        open_scene(s, every);
        s->job.steps = 3 * WINDOWS_REACH + 5;
        uint64_t told = 0, batches = 0, low = 0;
        /* The first of each reach comes last. */
        while (low < s->job.steps) {
            uint64_t end = low + WINDOWS_REACH < s->job.steps ? low + WINDOWS_REACH : s->job.steps;
            for (uint64_t batch = low + 1; batch <= end; batch++) {
                struct tally one = {.updates = 1};
                uint64_t which = batch == end ? low : batch;
                if (windows_count(&s->windows, which, &one, &s->told)) {
                    told++;
                    batches += s->told.tally.updates;
                    ck_assert_uint_eq(s->told.tally.updates, s->told.end - s->told.first);
                }
            }
            windows_check(&s->windows);
            low = end;
        }
        ck_assert_uint_eq(told, (s->job.steps + every - 1) / every);
        ck_assert_uint_eq(batches, s->job.steps);
        close_scene(s);
    }
}

TEST(what_peers_may_say_does_no_harm, 2)
{
    ck_assert(!count(s, 0));
    ck_assert(count(s, 1));
    ck_assert(!count(s, 1)); /* Of a window that was told. */
    ck_assert(!count(s, 6)); /* There is no such batch. */
    s->job.steps = 1000000;
    ck_assert(!windows_count(&s->windows, 900000, &(struct tally){.updates = 1}, &s->told));
    windows_check(&s->windows);
}

TEST(going_back_counts_what_comes_after_again, 4)
{
    for (uint64_t batch = 0; batch < 3; batch++)
        count(s, batch);
    struct window_so_far so_far = windows_so_far(&s->windows, 3);
    ck_assert_uint_eq(so_far.first, 0);
    ck_assert_int_eq(so_far.tally.loss, 7);
    ck_assert(count(s, 3));
    count(s, 4);
    windows_go_back(&s->windows, 3, &so_far);
    ck_assert(count(s, 3));
    ck_assert_int_eq(s->told.tally.loss, 15);
    ck_assert_uint_eq(s->told.tally.updates, 4);
    windows_go_back(&s->windows, 4, &nothing); /* A window begins there. */
    ck_assert(!count(s, 4));
    ck_assert(count(s, 5));
    ck_assert_uint_eq(s->told.tally.updates, 2);
}

TEST(of_a_first_part_that_nobody_knows_nothing_is_said, 4)
{
    const struct window_so_far others[] = {
        {0}, {.first = 2, .tally = {.updates = 1}}, {.first = 0, .tally = {.updates = 2}}};
    for (unsigned i = 0; i < 3; i++) {
        windows_go_back(&s->windows, 3, &others[i]);
        ck_assert_uint_eq(windows_so_far(&s->windows, 3).tally.updates, 0);
        ck_assert(count(s, 3));
        ck_assert_uint_eq(s->told.first, 0);
        ck_assert_uint_eq(s->told.tally.updates, 1);
        ck_assert_uint_eq(s->told.examples, 28);
    }
}

TEST(another_session_goes_on_in_the_middle, 4)
{
    const struct window_so_far so_far = {0, {.loss = 7, .examples = 20, .updates = 3}};
    windows_free(&s->windows);
    ck_assert_int_eq(windows_init(&s->windows, &s->job, 3, &so_far), STATUS_OK);
    ck_assert_uint_eq(windows_so_far(&s->windows, 3).tally.updates, 3);
    ck_assert(!count(s, 2)); /* It is in what is so far. */
    ck_assert(count(s, 3));
    ck_assert_int_eq(s->told.tally.loss, 15);
}

int main(void)
{
    return suite_run("windows", NULL);
}
