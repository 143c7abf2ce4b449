/* test_colocated_pair.c - two children that live and end together; here they are shells. */

#include "deploy/launcher/colocated_pair.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/lib/suite.h"

/* Run two scripts as ps/0 and worker/0; the exit code. */
static int run(const char *server, const char *worker, struct error *error)
{
    static char shell[] = "/bin/sh", flag[] = "-c";
    static char *const environment[] = {NULL};
    char *scripts[2] = {strdup(server), strdup(worker)};
    char *arguments[2][4] = {{shell, flag, scripts[0], NULL}, {shell, flag, scripts[1], NULL}};
    struct colocated_role roles[2] = {{.name = "ps/0"}, {.name = "worker/0"}};
    for (int i = 0; i < 2; i++)
        roles[i].program = (struct child_program){
            .path = shell, .arguments = arguments[i], .environment = environment, .prints = true};
    error->text[0] = '\0';
    int code = colocated_pair_run(roles, 0.2, false, error);
    free(scripts[0]);
    free(scripts[1]);
    return code;
}

TEST_PLAIN(a_pair_that_is_done_ends_well)
{
    struct error error;
    ck_assert_int_eq(run("exit 0", "exit 0", &error), EXIT_DONE);
    ck_assert_str_eq(error.text, "");
}

TEST_PLAIN(the_first_that_fails_says_how_it_ends)
{
    struct error error;
    double began = clock_now_seconds();
    ck_assert_int_eq(run("exec sleep 100", "exit 3", &error), EXIT_MISMATCH);
    ck_assert_str_eq(error.text, "worker/0 ended with exit code 3");
    ck_assert_int_eq(run("kill -9 $$", "exec sleep 100", &error), 128 + SIGKILL);
    ck_assert_str_eq(error.text, "ps/0 was killed by signal 9 (Killed)");
    ck_assert(clock_now_seconds() - began < 60);
}

TEST_PLAIN(who_does_not_stop_is_killed)
{
    struct error error;
    double began = clock_now_seconds();
    ck_assert_int_eq(run("trap '' TERM; exec sleep 100", "exit 195", &error), EXIT_CLUSTER_LOST);
    ck_assert(clock_now_seconds() - began < 60);
}

TEST_PLAIN(a_stop_that_was_asked_for_needs_no_words)
{
    struct error error;
    ck_assert_int_eq(run("exit 143", "exit 143", &error), EXIT_TERMINATED);
    ck_assert_str_eq(error.text, "");
}

TEST_PLAIN(a_program_that_cannot_be_run_ends_both)
{
    struct error error;
    ck_assert_int_eq(run("exec /nowhere/at/all 2>/dev/null", "exec sleep 100", &error), 127);
    ck_assert_str_eq(error.text, "ps/0 ended with exit code 127");
}

/* Both hear of it, and what they do is the end of both. */
TEST_PLAIN(a_signal_is_passed_on_to_both)
{
    struct error error;
    const char *waits = "trap 'exit 143' TERM; kill -TERM $PPID; while :; do sleep 0.05; done";
    const char *listens = "trap 'exit 143' TERM; while :; do sleep 0.05; done";
    ck_assert_int_eq(run(listens, waits, &error), EXIT_TERMINATED);
    ck_assert_str_eq(error.text, "");
}

int main(void)
{
    return suite_run("pair", NULL);
}
