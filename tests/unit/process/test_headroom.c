/* test_headroom.c - memory, threads and files that a limit takes away are said to be missing; each
 * limit is a child's. */
/* promises: mistakes */
/* test: tsan */

#include "common/process/headroom.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/process/file_limit.h"
#include "tests/lib/suite.h"

TEST_PLAIN(where_there_is_room_there_is_no_error)
{
    struct error error;
    ck_assert_int_eq(headroom_check(3, 8 << 20, &error), STATUS_OK);
    ck_assert_int_eq(headroom_check(0, 0, &error), STATUS_OK);
    ck_assert_int_eq(headroom_check(16, 1, &error), STATUS_OK);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) /* They take address space. */
static const bool limits_hold = false;
#else
static const bool limits_hold = true;
#endif

/* What headroom_check says in a process that may have so much more address space than it has. */
static enum status check_within(size_t bytes, unsigned threads, size_t wanted)
{
    int how;
    pid_t process = fork();
    if (process == 0) {
        long pages = 0;
        struct rlimit limit;
        struct error error = {STATUS_OK, "cannot start a thread: out of memory"};
        FILE *file = fopen("/proc/self/statm", "r");
        if (file == NULL || fscanf(file, "%ld", &pages) != 1)
            _exit(100);
        fclose(file);
        limit.rlim_cur = limit.rlim_max = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + bytes;
        setrlimit(RLIMIT_AS, &limit);
        enum status status = headroom_check(threads, wanted, &error);
        bool said = strstr(error.text, "out of memory") != NULL ||
                    strstr(error.text, "start a thread") != NULL;
        _exit(said ? (int)status : 101);
    }
    ck_assert_int_eq(waitpid(process, &how, 0), process);
    ck_assert(WIFEXITED(how));
    return (enum status)WEXITSTATUS(how);
}

START_TEST(memory_that_is_not_there_is_said_to_be_missing)
{
    ck_assert_int_eq(check_within(64 << 20, 0, 16 << 20), STATUS_OK);
    ck_assert_int_eq(check_within(64 << 20, 0, 256 << 20), STATUS_MEMORY);
}

START_TEST(threads_that_cannot_be_started_are_said_to_be_too_many)
{
    ck_assert_int_eq(check_within(256 << 20, 3, 1), STATUS_OK);
    ck_assert_int_eq(check_within(12 << 20, 3, 1), STATUS_MEMORY);
}

/* What file_limit_check says in a process that may open so many files. */
static enum status check_files(rlim_t files, uint32_t others, const char *says)
{
    int how;
    pid_t process = fork();
    if (process == 0) {
        struct rlimit limit = {files, files};
        struct error error = {STATUS_OK, ""};
        setrlimit(RLIMIT_NOFILE, &limit);
        enum status status = file_limit_check(others, &error);
        _exit(strstr(error.text, says) != NULL ? (int)status : 101);
    }
    ck_assert_int_eq(waitpid(process, &how, 0), process);
    ck_assert(WIFEXITED(how));
    return (enum status)WEXITSTATUS(how);
}

TEST_PLAIN(files_that_may_not_be_opened_are_said_to_be_too_few)
{
    ck_assert_int_eq(check_files(33, 1, "a process may open 33 files"), STATUS_IO);
    ck_assert_int_eq(check_files(111, 4, "ulimit -n 112"), STATUS_IO);
    ck_assert_int_eq(check_files(112, 4, ""), STATUS_OK);
    ck_assert_int_eq(check_files(112, 1000, "this job needs 12064"), STATUS_IO);
}

static void add(TCase *t)
{
    if (limits_hold) {
        tcase_add_test(t, memory_that_is_not_there_is_said_to_be_missing);
        tcase_add_test(t, threads_that_cannot_be_started_are_said_to_be_too_many);
    }
}

int main(void)
{
    return suite_run("headroom", add);
}
