/* test_teaching.c - what a teacher asks for by HTTP, and what becomes of the process: a child that waits for
 * signals. */
/* promises: teach */

#include "deploy/launcher/teaching.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/suite.h"

#define AT 1000.0 /* Seconds: a slow process runs until .025, .125, ... */

struct fixture {
    struct options options;
    struct teaching teaching;
    struct process_group group; /* ps/0, worker/0 and worker/1, which alone is a process. */
    struct child *child;
    char text[TEACHING_TEXT_MAX];
};

static void open_fixture(struct fixture *f)
{
    struct error error;
    char *argv[] = {(char[]){"run"}, (char[]){"--workers=2"}, NULL};
    memset(f, 0, sizeof *f);
    ck_assert_int_eq(options_parse(&f->options, OPTION_RUN, "run", 2, argv, &error), OPTIONS_RUN);
    ck_assert_int_eq(process_group_init(&f->group, &f->options, &error), STATUS_OK);
    ck_assert_int_eq(teaching_open(&f->teaching, &f->options, &error), STATUS_OK);
    f->group.count = 3;
    f->child = &f->group.children[2];
    f->child->running = true;
    f->child->pid = fork();
    while (f->child->pid == 0)
        pause();
}

static void close_fixture(struct fixture *f)
{
    kill(f->child->pid, SIGKILL);
    process_group_free(&f->group);
    teaching_close(&f->teaching);
}

#define TEST(name) SUITE_TEST(name, struct fixture, f, open_fixture(f), close_fixture(f))

static unsigned ask(struct fixture *f, const char *path)
{
    return teaching_ask(&f->teaching, path, f->text);
}

static void obey(struct fixture *f, const char *path)
{
    ck_assert_uint_eq(ask(f, path), 200);
    ck_assert(teaching_take(&f->teaching, &f->group, AT, f->text));
    ck_assert_ptr_nonnull(strstr(f->text, ", as the page asks"));
    ck_assert(!teaching_take(&f->teaching, &f->group, AT, f->text));
}

/* What has become of it by that time. */
static int turned(struct fixture *f, bool ends, double now)
{
    int status;
    teaching_turn(&f->group, ends, now);
    ck_assert_int_eq(waitpid(f->child->pid, &status, WUNTRACED | WCONTINUED), f->child->pid);
    return status;
}

static double due(const struct fixture *f, double now)
{
    return teaching_due(&f->group, now) - AT;
}

TEST(it_is_stopped_for_five_seconds)
{
    obey(f, "/teach/stop/worker/1");
    ck_assert(WIFSTOPPED(turned(f, false, AT)));
    teaching_turn(&f->group, false, AT + 4.9);
    ck_assert(f->child->stopped && due(f, AT + 4.9) == 5);
    ck_assert(WIFCONTINUED(turned(f, false, AT + 5)));
    ck_assert(isinf(due(f, AT + 5)));
}

TEST(it_runs_a_quarter_of_the_time_until_it_is_let_free)
{
    obey(f, "/teach/slow/worker/1");
    teaching_turn(&f->group, false, AT + 0.01);
    ck_assert(!f->child->stopped && fabs(due(f, AT + 0.01) - 0.025) < 1e-6);
    ck_assert(WIFSTOPPED(turned(f, false, AT + 0.03)));
    ck_assert(fabs(due(f, AT + 0.03) - 0.1) < 1e-6);
    ck_assert(WIFCONTINUED(turned(f, false, AT + 0.11)));
    ck_assert(WIFSTOPPED(turned(f, false, AT + 0.13)));
    obey(f, "/teach/free/worker/1");
    ck_assert(WIFCONTINUED(turned(f, false, AT + 0.14)));
}

TEST(nothing_stays_stopped_when_the_job_ends)
{
    obey(f, "/teach/stop/worker/1");
    ck_assert(WIFSTOPPED(turned(f, false, AT)));
    ck_assert(WIFCONTINUED(turned(f, true, AT + 1)));
}

TEST(it_is_killed_and_not_as_one_that_the_launcher_ends)
{
    obey(f, "/teach/kill/worker/1");
    ck_assert(WIFSIGNALED(turned(f, false, AT)));
    ck_assert(!f->child->signalled); /* So it is started again. */
}

TEST(other_paths_are_nothing)
{
    static const char *const paths[] = {"/teach",
                                        "/teach/",
                                        "/teach/kill/worker/2",
                                        "/teach/kill/ps/1",
                                        "/teach/kill/worker/-1",
                                        "/teach/kill/worker/1/",
                                        "/teach/kill/worker/",
                                        "/teach/kill/launcher/0",
                                        "/teach/quit/worker/1",
                                        "/teach/killkillkillkill/worker/1"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        ck_assert_msg(ask(f, paths[i]) == 404, "%s", paths[i]);
    ck_assert(!teaching_take(&f->teaching, &f->group, AT, f->text));
    unsigned code, count = 0;
    while ((code = ask(f, "/teach/slow/ps/0")) == 200)
        ck_assert_uint_lt(count++, 1000000);
    ck_assert_uint_eq(code, 503);
}

int main(void)
{
    return suite_run("teaching", NULL);
}
