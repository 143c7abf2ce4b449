/* test_verify.c - syncopate verify when a history ends its process.
 *
 * history_run is this program's own first (Makefile: --wrap): the third seed aborts. */
/* wraps: history_run */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deploy/command/command.h"
#include "deploy/verify/history.h"
#include "tests/lib/suite.h"

void __wrap_history_run(const struct history_plan *plan, struct history_result *result);

void __wrap_history_run(const struct history_plan *plan, struct history_result *result)
{
    if (plan->seed == 3)
        abort();
    memset(result, 0, sizeof *result);
}

/* How the command ends as a process of its own, and what it says on standard error. */
static int verify(uint64_t seed, char text[2000])
{
    int pipes[2], status;
    static struct command_call call;
    struct error error;
    call.options.job.seed = seed;
    call.options.histories = 5;
    fflush(stdout);
    ck_assert_int_eq(pipe(pipes), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        dup2(pipes[1], STDERR_FILENO);
        _exit(command_verify(&call, &error));
    }
    close(pipes[1]);
    FILE *said = fdopen(pipes[0], "r");
    size_t length = fread(text, 1, 1999, said);
    text[length] = '\0';
    fclose(said);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

TEST_PLAIN(a_history_that_ends_the_process_is_named)
{
    char text[2000];
    int status = verify(1, text);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    ck_assert_str_eq(text, "seed 3 FAILED: the line above ended it\n"
                           "    syncopate verify --seed 3 --verbose\n");
}

TEST_PLAIN(without_one_nothing_is_said)
{
    char text[2000];
    int status = verify(4, text);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_DONE, "%s", text);
    ck_assert_str_eq(text, "");
}

int main(void)
{
    return suite_run("verify", NULL);
}
