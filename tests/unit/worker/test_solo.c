/* A job without servers: the same bits however often it is begun again, what it refuses, what it
 * leaves when it is stopped; and each of its allocations failing once. */
/* wraps: malloc calloc realloc aligned_alloc */

#include "worker/solo.h"

#include <stdio.h>
#include <string.h>

#include "common/process/log.h"
#include "common/progress/record.h"
#include "tests/lib/memory/scarcity.h"
#include "tests/lib/runs/lone_run.h"
#include "tests/lib/runs/runs.h"
#include "tests/lib/suite.h"

struct fixture {
    char folder[64], out[80];
    struct error error;
};

static void open_fixture(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    log_init("test", LOG_ERROR, LOG_FORMAT_TEXT);
    runs_make(f->folder);
    snprintf(f->out, sizeof f->out, "%s/run", f->folder);
}

static void close_fixture(struct fixture *f)
{
    runs_remove(f->folder);
}

/* What tests begin with, and how they end. */
#define TEST(name) SUITE_TEST(name, struct fixture, f, open_fixture(f), close_fixture(f))

static int train(struct fixture *f, const char *out, uint32_t epochs)
{
    return lone_run(&(struct lone_run){.out = out, .epochs = epochs}, &f->error);
}

/* How the run in a folder stands. */
static void expect(const char *out, const char *state, uint64_t step, char sha256[65])
{
    struct record record;
    struct error error;
    ck_assert_msg(record_read(&record, out, &error) == STATUS_OK, "%s", error.text);
    ck_assert_str_eq(record.state, state);
    ck_assert_uint_eq(record.summary.step, step);
    if (sha256 != NULL)
        snprintf(sha256, 65, "%s", record.summary.parameters_sha256);
    record_free(&record);
}

TEST(a_run_that_is_gone_on_with_has_the_bits_of_one_that_never_ended)
{
    char other[80], whole[65], gone_on[65];
    snprintf(other, sizeof other, "%s/other", f->folder);
    ck_assert_int_eq(train(f, f->out, 2), EXIT_DONE);
    expect(f->out, "done", 2 * LONE_RUN_EPOCH, whole);
    ck_assert_int_eq(train(f, other, 1), EXIT_DONE);
    expect(other, "done", LONE_RUN_EPOCH, gone_on);
    ck_assert_str_ne(whole, gone_on);
    ck_assert_msg(train(f, other, 2) == EXIT_DONE, "%s", f->error.text);
    expect(other, "done", 2 * LONE_RUN_EPOCH, gone_on);
    ck_assert_str_eq(whole, gone_on);
}

TEST(one_that_is_stopped_leaves_a_checkpoint_to_go_on_from)
{
    struct lone_run run = {.out = f->out, .epochs = 1, .stopped = true};
    ck_assert_int_eq(lone_run(&run, &f->error), EXIT_INTERRUPTED);
    ck_assert_str_eq(f->error.text, "stopped");
    expect(f->out, "stopped", 0, NULL);
    run.stopped = false;
    ck_assert_int_eq(lone_run(&run, &f->error), EXIT_DONE);
    expect(f->out, "done", LONE_RUN_EPOCH, NULL);
}

TEST(what_cannot_be_gone_on_with_is_refused)
{
    struct lone_run run = {.out = f->out, .epochs = 1};
    ck_assert_int_eq(lone_run(&run, &f->error), EXIT_DONE);
    ck_assert_int_eq(lone_run(&run, &f->error), EXIT_CANNOT_OPEN); /* It is done. */
    run.epochs = 2;
    run.restore = "never";
    ck_assert_int_eq(lone_run(&run, &f->error), EXIT_CANNOT_OPEN);
    ck_assert_ptr_nonnull(strstr(f->error.text, "--restore never was given"));
    run.restore = NULL;
    run.model = "pool 2, flatten, dense 10";
    ck_assert_int_eq(lone_run(&run, &f->error), EXIT_MISMATCH);
    expect(f->out, "done", LONE_RUN_EPOCH, NULL); /* As it was. */
    run.model = NULL;
    run.restore = "/nowhere";
    run.out = f->folder;
    ck_assert_int_eq(lone_run(&run, &f->error), EXIT_CANNOT_OPEN);
}

TEST(an_allocation_that_fails_ends_the_run_or_costs_nothing)
{
    unsigned n = 0, ended = 0;
    bool hit = true;
    log_init("test", LOG_ERROR, LOG_FORMAT_TEXT);
    while (hit) {
        f->error = (struct error){STATUS_OK, ""};
        scarcity_arm(++n);
        int code = train(f, f->out, 1);
        hit = scarcity_disarm();
        ck_assert_msg(code == EXIT_DONE || (hit && strstr(f->error.text, "memory") != NULL),
                      "allocation %u: code %d, %s", n, code, f->error.text);
        ended += code != EXIT_DONE;
        if (code != EXIT_DONE) /* It is gone on with. */
            ck_assert_msg(train(f, f->out, 1) == EXIT_DONE, "after allocation %u: %s", n,
                          f->error.text);
        expect(f->out, "done", LONE_RUN_EPOCH, NULL);
        runs_remove(f->folder);
        open_fixture(f);
    }
    printf("%u allocations, %u of them ended the run\n", n - 1, ended);
    ck_assert_uint_gt(ended, 40);
}

int main(void)
{
    return suite_run("solo", NULL);
}
