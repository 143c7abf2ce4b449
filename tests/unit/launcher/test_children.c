/* When a child that has ended is started again. Starting itself is in test_launch.c. */

#include "deploy/launcher/children.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deploy/launcher/child_end.h"
#include "deploy/launcher/restart.h"
#include "tests/lib/suite.h"

static struct child ended(int wait_status, double lived)
{
    return (struct child){
        .pid = 1, .wait_status = wait_status, .started = 100, .ended = 100 + lived};
}

TEST_PLAIN(what_ends_unexpectedly_is_worth_another_start)
{
    static const struct {
        int wait_status;
        bool other, coordinator;
    } cases[] = {
        {SIGKILL, true, true},
        {SIGSEGV, true, true},
        {SIGABRT, true, true},
        {W_EXITCODE(EXIT_CLUSTER_LOST, 0), true, false},
        {W_EXITCODE(EXIT_DONE, 0), false, false},
        {W_EXITCODE(EXIT_TRAINING_FAILED, 0), true, false},
        {W_EXITCODE(EXIT_USAGE, 0), false, false},
        {W_EXITCODE(EXIT_MISMATCH, 0), false, false},
        {W_EXITCODE(EXIT_START_TIMEOUT, 0), false, false},
        {W_EXITCODE(EXIT_CANNOT_OPEN, 0), false, false},
        {W_EXITCODE(EXIT_UNAUTHENTICATED, 0), false, false},
        {W_EXITCODE(EXIT_INTERRUPTED, 0), false, false},
        {W_EXITCODE(86, 0), false, false}, /* A sanitizer's: hiding it would be a pity. */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct child child = ended(cases[i].wait_status, 1);
        ck_assert_msg(restart_may_help(&child, false) == cases[i].other, "case %zu", i);
        ck_assert_msg(restart_may_help(&child, true) == cases[i].coordinator, "case %zu", i);
    }
}

TEST_PLAIN(options_say_how_often_and_for_whom)
{
    struct options options = {.ps = 1, .max_restarts = 2, .on_worker_loss = "continue"};
    struct child child = ended(SIGKILL, 1);
    ck_assert(restart_allowed(&child, &options, true));
    child.restarts = 1;
    ck_assert(restart_allowed(&child, &options, false));
    child.restarts = 2;
    ck_assert(!restart_allowed(&child, &options, true));
    ck_assert(!restart_allowed(&child, &options, false));
    child.restarts = 0;
    options.on_worker_loss = "wait";
    ck_assert(restart_allowed(&child, &options, true));
    options.on_worker_loss = "fail";
    ck_assert(!restart_allowed(&child, &options, true));
    ck_assert(restart_allowed(&child, &options, false));
    options.ps = 0; /* Alone, there is nobody to be lost to. */
    ck_assert(restart_allowed(&child, &options, true));
}

TEST_PLAIN(who_dies_early_again_and_again_waits_longer)
{
    struct child child = ended(SIGKILL, 60);
    ck_assert_double_eq(restart_delay(&child), 0.2);
    ck_assert_double_eq(restart_delay(&child), 0.2);
    child.ended = child.started + 1;
    double before = 0.2;
    for (int i = 0; i < 100; i++) {
        double delay = restart_delay(&child);
        ck_assert(delay > before || delay == 5);
        before = delay;
    }
    ck_assert_double_eq(before, 5);
    child.ended = child.started + 60;
    ck_assert_double_eq(restart_delay(&child), 0.2);
}

TEST_PLAIN(who_ended_by_itself_gives_server_0_time_to_say_why)
{
    struct child child = ended(W_EXITCODE(EXIT_CLUSTER_LOST, 0), 60);
    ck_assert_double_eq(restart_delay(&child), 1);
}

TEST_PLAIN(a_child_that_somebody_else_collected_has_ended)
{
    signal(SIGCHLD, SIG_IGN);
    struct child child = {.name = "ps/0", .pid = fork(), .running = true};
    if (child.pid == 0)
        _exit(0);
    for (int i = 0; i < 500 && child.running; i++) {
        child_reap(&child, 7);
        usleep(10000);
    }
    ck_assert(!child.running);
    ck_assert_double_eq(child.ended, 7);
    ck_assert_int_eq(child_exit_code(&child), EXIT_CLUSTER_LOST);
}

/* What becomes of a carried child whose carrier has ended with `status` [of waitpid], when it was signalled
 * `end_code` of its end; -1: nothing. */
static struct child carried(int status, bool up, bool signalled, int end_code)
{
    struct child child;
    child_init(&child);
    child.pid = 1;
    child.carried = true;
    child.up = up;
    child.signalled = signalled;
    child.end_code = end_code;
    child.wait_status = status;
    child.ended = 100;
    child_conclude(&child);
    return child;
}

TEST_PLAIN(what_was_told_of_an_end_counts_and_not_how_its_carrier_ended)
{
    int refused = W_EXITCODE(255, 0);
    struct child child = carried(W_EXITCODE(1, 0), true, false, 0);
    ck_assert(!child.cut && child_exit_code(&child) == EXIT_DONE);
    child = carried(W_EXITCODE(137, 0), true, false, 137);
    ck_assert(!child.cut && child_exit_code(&child) == -1);
    ck_assert_int_eq(WTERMSIG(child.wait_status), SIGKILL);
    child = carried(W_EXITCODE(143, 0), true, false, EXIT_TERMINATED);
    ck_assert(!child.cut && child_exit_code(&child) == EXIT_TERMINATED);
    child = carried(W_EXITCODE(195, 0), true, false, EXIT_CLUSTER_LOST);
    ck_assert(!child.cut && child_exit_code(&child) == EXIT_CLUSTER_LOST);

    child = carried(refused, true, false, -1); /* The connection broke. */
    ck_assert(child.cut && child_exit_code(&child) == EXIT_CLUSTER_LOST);
    ck_assert_double_eq(child.cut_since, 100);
    child = carried(SIGTERM, true, true, -1); /* It was given up. */
    ck_assert(!child.cut && child_exit_code(&child) == -1);

    child = carried(refused, false, false, -1); /* It never came there. */
    ck_assert(child.cut && !child.up && child_exit_code(&child) == 255);
    child = carried(W_EXITCODE(127, 0), true, false, 127); /* There was nothing to run. */
    ck_assert(child.cut && !child.up);
}

TEST_PLAIN(whose_connection_broke_is_started_again_for_as_long_as_others_wait)
{
    struct options options = {.ps = 1, .max_restarts = 2, .on_worker_loss = "continue"};
    struct child child = carried(W_EXITCODE(255, 0), true, false, -1);
    options.deadlines.recovery = 60;
    child.restarts = 50;
    ck_assert(restart_may_help(&child, true)); /* Whoever it is. */
    ck_assert(restart_allowed(&child, &options, false));
    child.ended = child.cut_since + 59;
    ck_assert(restart_allowed(&child, &options, true));
    child.ended = child.cut_since + 60;
    ck_assert(!restart_allowed(&child, &options, true));
    child.ended = child.cut_since;
    child.started = child.ended - 60;
    ck_assert_double_eq(restart_delay(&child), 3); /* Until what is there has ended. */
    options.on_worker_loss = "fail";
    ck_assert(!restart_allowed(&child, &options, true));
}

TEST_PLAIN(a_start_after_an_end_is_told_with_where_and_how_often)
{
    struct options options = {.max_restarts = 10};
    char text[RESTART_LINE_MAX];
    struct child child = ended(SIGKILL, 1);
    snprintf(child.name, sizeof child.name, "worker/1");
    restart_describe(&child, NULL, &options, text);
    ck_assert_str_eq(text,
                     "worker/1 was killed by signal 9 (Killed); started again (restart 1 of 10)");
    child.cut = true;
    child.restarts = 1;
    restart_describe(&child, NULL, &options, text);
    ck_assert_str_eq(text, "worker/1: the connection to it broke: it left no message; started "
                           "again there (restart 2)");
    restart_describe(&child, "beta", &options, text);
    ck_assert_str_eq(text, "worker/1: the connection to it broke: it left no message; started "
                           "again on beta (restart 2)");
}

int main(void)
{
    return suite_run("children", NULL);
}
