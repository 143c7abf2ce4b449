/* What a program inherits, and what process_begin leaves of it. Each case in a process of its own:
 * check forks for every test. */

#include "common/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/status.h"
#include "tests/lib/suite.h"

static bool is_ignored(int number)
{
    struct sigaction action;
    ck_assert_int_eq(sigaction(number, NULL, &action), 0);
    return action.sa_handler == SIG_IGN;
}

TEST_PLAIN(children_can_be_waited_for_whatever_the_parent_ignored)
{
    int how;
    signal(SIGCHLD, SIG_IGN);
    pid_t lost = fork();
    if (lost == 0)
        _exit(7);
    ck_assert_int_eq(waitpid(lost, &how, 0), -1); /* So it is without. */
    process_begin();
    pid_t child = fork();
    if (child == 0)
        _exit(7);
    ck_assert_int_eq(waitpid(child, &how, 0), child);
    ck_assert_int_eq(WEXITSTATUS(how), 7);
}

TEST_PLAIN(what_has_a_reason_to_be_ignored_stays_so)
{
    static const int kept[] = {SIGHUP, SIGINT, SIGQUIT, SIGTSTP};
    static const int reset[] = {SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD};
    for (int i = 0; i < 4; i++)
        signal(kept[i], SIG_IGN);
    for (int i = 0; i < 5; i++)
        signal(reset[i], SIG_IGN);
    process_begin();
    for (int i = 0; i < 4; i++)
        ck_assert_msg(is_ignored(kept[i]), "signal %d", kept[i]);
    for (int i = 0; i < 5; i++)
        ck_assert_msg(!is_ignored(reset[i]), "signal %d", reset[i]);
}

TEST_PLAIN(an_early_hangup_has_the_exit_code_of_a_later_one)
{
    int how;
    pid_t child = fork();
    if (child == 0) {
        signal(SIGHUP, SIG_DFL);
        process_begin();
        raise(SIGHUP);
        _exit(7);
    }
    ck_assert_int_eq(waitpid(child, &how, 0), child);
    ck_assert(WIFEXITED(how));
    ck_assert_int_eq(WEXITSTATUS(how), EXIT_TERMINATED);
}

static const struct {
    int number, code;
} told[] = {{SIGTERM, EXIT_TERMINATED}, {SIGINT, EXIT_INTERRUPTED}, {SIGHUP, EXIT_TERMINATED}};

/* The exit code of a first process that was sent this; -1 when it did not end so. */
static int tell_first(int number)
{
    int ready[2], status;
    char byte;
    if (pipe(ready) != 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        process_begin();
        if (getpid() != 1 || write(ready[1], "", 1) != 1)
            _exit(1);
        sleep(10);
        _exit(2);
    }
    if (read(ready[0], &byte, 1) != 1 || kill(child, number) != 0 ||
        waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

/* As of a container: the kernel gives it only the signals that it asks for. In a process of its own,
 * which can start no other once that first one has ended, not even LeakSanitizer's. */
TEST_TIMES(the_first_process_ends_when_it_is_told_to, sizeof told / sizeof *told)
{
    enum { FORBIDDEN = 77 }; /* Only root may, and not everywhere. */
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(unshare(CLONE_NEWPID) != 0 ? FORBIDDEN : tell_first(told[_i].number));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    if (WEXITSTATUS(status) == FORBIDDEN)
        suite_skip("the first process of a container: needs a process namespace, so root");
    else
        ck_assert_int_eq(WEXITSTATUS(status), told[_i].code);
}

TEST_PLAIN(no_signal_stays_blocked)
{
    sigset_t all, left;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    process_begin();
    sigprocmask(SIG_SETMASK, NULL, &left);
    for (int number = 1; number < SIGRTMAX; number++)
        ck_assert_int_ne(sigismember(&left, number), 1);
}

TEST_PLAIN(a_reader_that_has_gone_is_an_answer)
{
    int ends[2];
    signal(SIGPIPE, SIG_DFL);
    process_begin();
    ck_assert_int_eq(pipe(ends), 0);
    close(ends[0]);
    ck_assert_int_eq(write(ends[1], "x", 1), -1);
    ck_assert_int_eq(errno, EPIPE);
}

TEST_PLAIN(a_file_that_may_not_grow_is_an_answer)
{
    struct rlimit limit;
    char path[] = "/tmp/test_process-XXXXXX";
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    unlink(path);
    signal(SIGXFSZ, SIG_DFL);
    process_begin();
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = 0; /* Which check's own files must not meet. */
    setrlimit(RLIMIT_FSIZE, &limit);
    ssize_t written = write(file, "x", 1);
    int reason = errno;
    limit.rlim_cur = before;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(written, -1);
    ck_assert_int_eq(reason, EFBIG);
}

/* What is opened next must not become what is printed to. */
TEST_PLAIN(closed_standard_files_are_taken_and_still_cannot_be_used)
{
    char byte;
    int result[3], next, number;
    for (int file = 0; file < 3; file++)
        close(file);
    process_begin();
    result[0] = read(0, &byte, 1) == -1;
    result[1] = write(1, "x", 1) == -1 && errno == EBADF;
    result[2] = write(2, "x", 1) == -1 && errno == EBADF;
    next = open("/", O_RDONLY);
    number = result[0] + 2 * result[1] + 4 * result[2] + 8 * (next > 2);
    ck_assert_int_eq(number, 15);
}

TEST_PLAIN(open_standard_files_stay_as_they_are)
{
    int ends[2];
    char byte = 0;
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(dup2(ends[1], STDOUT_FILENO), STDOUT_FILENO);
    close(STDIN_FILENO); /* Beside one that is closed. */
    process_begin();
    ck_assert_int_eq(write(STDOUT_FILENO, "x", 1), 1);
    ck_assert_int_eq(read(ends[0], &byte, 1), 1);
    ck_assert_int_eq(byte, 'x');
}

int main(void)
{
    return suite_run("process", NULL);
}
