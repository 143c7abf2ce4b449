/* test_included.c - what ssp promises of values, held against records of workers that wait, and of
 * workers that compute from what they held when they had waited. */
/* promises: replay */

#include "deploy/replay/included.h"

#include <stdio.h>
#include <string.h>

#include "tests/lib/records/sample_record.h"
#include "tests/lib/suite.h"

/* All stretches; `held` counts into *count. */
static enum status check(const struct sample_record *r, uint64_t bound, struct included *included,
                         struct error *error)
{
    struct run_record_reader reader;
    memset(included, 0, sizeof *included);
    *error = (struct error){0};
    ck_assert_int_eq(run_record_reader_open(&reader, "x", r->writer.bytes, r->writer.count, error),
                     STATUS_OK);
    included_begin(included, bound, reader.segment.chunk_count);
    enum status status = STATUS_OK;
    while (status == STATUS_OK) {
        status = run_record_reader_next(&reader, error);
        ck_assert_msg(status == STATUS_OK || status == STATUS_NOT_FOUND, "%s", error->text);
        if (status == STATUS_OK)
            status = included_interval(included, &reader.interval, error);
    }
    run_record_reader_close(&reader);
    const struct included counts = *included;
    included_free(included);
    included->held = counts.held;
    included->required = counts.required;
    return status;
}

static void train(struct sample_record *r, uint64_t seed, uint64_t bound, bool held, double loss)
{
    sample_record_begin(r, seed, 4, 5);
    r->bound = bound;
    r->held = held;
    r->loss = loss;
    sample_record_train(r, 200);
    sample_record_go_back(r);
    sample_record_train(r, 100);
}

TEST_TIMES(a_run_that_waits_and_pulls_keeps_the_promise, 5)
{
    static const uint64_t bounds[] = {0, 1, 2, 8, MODE_UNBOUNDED};
    struct included included;
    struct error error;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct sample_record r;
        train(&r, seed, bounds[_i], false, seed % 2 == 0 ? 0.02 : 0);
        enum status status = check(&r, bounds[_i], &included, &error);
        ck_assert_msg(status == STATUS_NOT_FOUND, "seed %d: %s", (int)seed, error.text);
        ck_assert_uint_ge(included.held, 300);
        sample_record_free(&r);
    }
}

TEST_PLAIN(whoever_has_waited_and_computes_from_what_it_held_is_named)
{
    struct included included;
    struct error error;
    int found = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct sample_record r;
        train(&r, seed, 1, true, 0);
        if (check(&r, 1, &included, &error) == STATUS_MISMATCH) {
            found++;
            ck_assert_msg(strstr(error.text, "begins from version") != NULL, "%s", error.text);
        }
        sample_record_free(&r);
    }
    ck_assert_int_ge(found, 35);
}

TEST_PLAIN(a_run_that_does_not_wait_is_named)
{
    struct included included;
    struct error error;
    struct sample_record r;
    train(&r, 1, 8, false, 0);
    ck_assert_int_eq(check(&r, 8, &included, &error), STATUS_NOT_FOUND);
    ck_assert_uint_gt(included.required, 0);
    ck_assert_int_eq(check(&r, 1, &included, &error), STATUS_MISMATCH);
    sample_record_free(&r);
}

/* --- three computations --------------------------------------------------------------------- */

struct given {
    uint32_t worker;
    uint64_t clock, base, ticket;
};

/* One chunk, entries in the order of the computations. */
static enum status check_gone(const struct given *told, size_t count, uint64_t bound,
                              const struct run_record_gone *gone, struct error *error)
{
    struct sample_record r;
    struct run_record_entry entries[8];
    struct included included;
    sample_record_begin(&r, 1, 2, 1);
    if (gone != NULL)
        run_record_writer_gone(&r.writer, gone);
    for (size_t i = 0; i < count; i++) {
        run_record_writer_computation(&r.writer,
                                      &(struct run_record_computation){.number = i + 1,
                                                                       .batch = i,
                                                                       .clock = told[i].clock,
                                                                       .worker = told[i].worker,
                                                                       .ticket = told[i].ticket,
                                                                       .bases = &told[i].base});
        entries[i] = (struct run_record_entry){i + 1, false, true};
    }
    run_record_writer_entries(&r.writer, 0, 0, entries, count);
    run_record_writer_snapshot(&r.writer, &(struct run_record_snapshot){count, count, count + 1});
    ck_assert_int_eq(run_record_writer_finish(&r.writer), STATUS_OK);
    enum status status = check(&r, bound, &included, error);
    sample_record_free(&r);
    return status;
}

static enum status check_given(const struct given *told, size_t count, uint64_t bound,
                               struct error *error)
{
    return check_gone(told, count, bound, NULL, error);
}

TEST_PLAIN(a_workers_own_update_has_to_be_there)
{
    static const struct given misses[] = {{0, 0, 0, 1}, {0, 1, 0, 1}};
    static const struct given has[] = {{0, 0, 0, 1}, {0, 1, 1, 1}};
    struct error error;
    ck_assert_int_eq(check_given(has, 2, MODE_UNBOUNDED, &error), STATUS_NOT_FOUND);
    ck_assert_int_eq(check_given(misses, 2, MODE_UNBOUNDED, &error), STATUS_MISMATCH);
    ck_assert_str_eq(error.text, "computation 2 of worker/0 at clock 1 begins from version 0 of "
                                 "chunk 0, and computation 1 of worker/0 at clock 0 is in version "
                                 "1");
}

TEST_PLAIN(an_update_of_within_the_bound_may_be_missing)
{
    static const struct given told[] = {
        {1, 0, 0, 2}, {0, 0, 0, 1}, {0, 1, 2, 1}, {1, 1, 2, 2}, {0, 2, 3, 1}};
    struct error error;
    ck_assert_int_eq(check_given(told, 5, 1, &error), STATUS_NOT_FOUND);
    ck_assert_int_eq(check_given(told, 5, 0, &error), STATUS_MISMATCH);
}

/* Worker 1 is lost while it computes at clock 0; and then not. */
TEST_PLAIN(what_a_worker_that_is_gone_had_not_finished_is_not_waited_for)
{
    static const struct given told[] = {
        {0, 0, 0, 1}, {1, 0, 0, 2}, {0, 1, 1, 1}, {0, 2, 3, 1}, {1, 2, 4, 3}};
    const struct run_record_gone unfinished = {2, 0}, finished = {2, 1};
    struct error error;
    ck_assert_int_eq(check_gone(told, 5, 0, &unfinished, &error), STATUS_NOT_FOUND);
    ck_assert_int_eq(check_gone(told, 5, 0, &finished, &error), STATUS_MISMATCH);
    ck_assert_int_eq(check_given(told, 5, 0, &error), STATUS_MISMATCH);
}

TEST_PLAIN(who_is_late_is_named)
{
    static const struct given told[] = {
        {1, 0, 0, 2}, {0, 0, 0, 1}, {0, 1, 2, 1}, {0, 2, 3, 1}, {1, 1, 3, 2}};
    const struct run_record_gone gone = {2, 1};
    struct error error;
    ck_assert_int_eq(check_given(told, 5, 0, &error), STATUS_MISMATCH);
    ck_assert_msg(strstr(error.text, "is begun when worker/0 at clock 2") != NULL, "%s",
                  error.text);
    ck_assert_int_eq(check_gone(told, 5, 0, &gone, &error), STATUS_NOT_FOUND);
}

TEST_PLAIN(a_worker_that_comes_again_is_another)
{
    static const struct given told[] = {{0, 1, 0, 1}, {0, 0, 0, 3}, {1, 1, 2, 2}};
    struct error error;
    ck_assert_int_eq(check_given(told, 3, 0, &error), STATUS_NOT_FOUND);
}

int main(void)
{
    return suite_run("included", NULL);
}
