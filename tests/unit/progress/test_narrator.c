/* The narrator: tells on standard output how a run goes and how it ended, to whoever reads. */
/* test: tsan */

#include "common/progress/narrator.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/lib/runs/lone_run.h"
#include "tests/lib/runs/runs.h"
#include "tests/lib/suite.h"

/* A folder, and where standard output went before. */
struct fixture {
    char folder[64], run[80];
    int before;
    struct error error;
};

static void open_fixture(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    signal(SIGPIPE, SIG_IGN); /* As in every program. */
    runs_make(f->folder);
    snprintf(f->run, sizeof f->run, "%s/run", f->folder);
    fflush(stdout);
    f->before = dup(STDOUT_FILENO);
    ck_assert_int_ge(f->before, 0);
}

static void close_fixture(struct fixture *f)
{
    ck_assert_int_ge(dup2(f->before, STDOUT_FILENO), 0);
    close(f->before);
    runs_remove(f->folder);
}

/* What tests begin with, and how they end. */
#define TEST(name) SUITE_TEST(name, struct fixture, f, open_fixture(f), close_fixture(f))

static void put_in_place(int file)
{
    ck_assert_int_ge(file, 0);
    ck_assert_int_ge(dup2(file, STDOUT_FILENO), 0);
    close(file);
}

/* As worker_main.c does. */
static int train_until(struct fixture *f, bool stopped, int code)
{
    const struct lone_run run = {.out = f->run, .epochs = 2, .stopped = stopped};
    struct narrator *narrator;
    narrator_start(&narrator, f->run, 0, NARRATOR_ALL);
    ck_assert_ptr_nonnull(narrator);
    int own = lone_run(&run, &f->error);
    narrator_stop(&narrator, code < 0 ? own : code);
    ck_assert_ptr_null(narrator);
    return own;
}

static int train(struct fixture *f, bool stopped)
{
    return train_until(f, stopped, -1);
}

static void to_file(const struct fixture *f)
{
    char path[120];
    snprintf(path, sizeof path, "%s/told", f->folder);
    put_in_place(open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600));
}

static void expect(const struct fixture *f, const char *const *parts)
{
    char *told = runs_read(f->folder, "told");
    const char *from = told;
    for (; *parts != NULL; parts++) {
        const char *found = strstr(from, *parts);
        ck_assert_msg(found != NULL, "no '%s', in its place, in: %.2000s", *parts, told);
        from = found;
    }
    free(told);
}

TEST(a_run_is_told_from_its_beginning_to_its_summary)
{
    to_file(f);
    ck_assert_int_eq(train(f, false), EXIT_DONE);
    expect(f, (const char *const[]){"training on 60 examples, 3 batches an epoch, 6 in all",
                                    "epoch 1", "epoch 2", "sync, 0 servers, 1 worker: done",
                                    "updates        6 of 6", "test accuracy", "worker 0",
                                    "run.json", "parameters     sha256", NULL});
}

TEST(one_that_is_stopped_says_how_to_go_on)
{
    to_file(f);
    ck_assert_int_eq(train(f, true), EXIT_INTERRUPTED);
    expect(f, (const char *const[]){"stopped", "updates        0 of 6", "go on from there", NULL});
    to_file(f);
    ck_assert_int_eq(train(f, false), EXIT_DONE);
    expect(f, (const char *const[]){"done", "updates        6 of 6", NULL});
}

TEST(one_that_lost_its_servers_says_how_to_go_on_and_has_no_summary)
{
    to_file(f);
    ck_assert_int_eq(train_until(f, true, EXIT_CLUSTER_LOST), EXIT_INTERRUPTED);
    expect(f, (const char *const[]){"the same commands with --out ", f->run,
                                    " go on from the newest checkpoint\n", NULL});
    char *told = runs_read(f->folder, "told");
    ck_assert_ptr_null(strstr(told, "updates "));
    free(told);
}

TEST(one_that_fails_is_not_summed_up)
{
    struct narrator *narrator;
    to_file(f);
    narrator_start(&narrator, f->run, 0, NARRATOR_ALL);
    narrator_stop(&narrator, EXIT_CANNOT_OPEN);
    char *told = runs_read(f->folder, "told");
    ck_assert_str_eq(told, "");
    free(told);
}

TEST(where_nobody_reads_nothing_is_told)
{
    struct narrator *narrator;
    put_in_place(open("/dev/null", O_WRONLY));
    narrator_start(&narrator, f->run, 0, NARRATOR_ALL);
    ck_assert_ptr_null(narrator);
    to_file(f);
    narrator_start(&narrator, f->run, 0, NARRATOR_NOTHING);
    ck_assert_ptr_null(narrator);
    narrator_stop(&narrator, EXIT_DONE); /* Does no harm. */
}

/* Its pipe is closed at the other end, or full: the run ends all the same, and so does the telling. */
TEST(a_reader_who_does_not_read_holds_nobody_up)
{
    static const char block[4096];
    for (int gone = 0; gone < 2; gone++) {
        int ends[2];
        ck_assert_int_eq(pipe(ends), 0);
        ck_assert_int_ge(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
        while (write(ends[1], block, sizeof block) > 0)
            continue;
        put_in_place(ends[1]);
        if (gone)
            close(ends[0]);
        double began = clock_now_seconds();
        int code = train(f, false);
        ck_assert(code == EXIT_DONE);
        ck_assert_double_lt(clock_now_seconds() - began, 30);
        if (!gone)
            close(ends[0]);
        runs_remove(f->run);
    }
}

int main(void)
{
    return suite_run("narrator", NULL);
}
