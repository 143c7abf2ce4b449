/* test_output.c - what cannot be printed is named: a full disk, a reader that has gone, a closed
 * descriptor. */

#include "common/process/output.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/suite.h"

/* Standard output is `file` from here on; each test is a process of its own. */
static void print_to(int file)
{
    ck_assert_int_ge(file, 0);
    fflush(stdout);
    ck_assert_int_eq(dup2(file, STDOUT_FILENO), STDOUT_FILENO);
    close(file);
}

static void check_lost(const char *line)
{
    struct error error;
    printf("a result\n");
    ck_assert_int_eq(output_finish(&error),
                     strstr(line, "not read") != NULL ? STATUS_UNREACHABLE : STATUS_IO);
    ck_assert_str_eq(error.text, line);
    ck_assert_int_eq(output_finish(&error), STATUS_OK); /* Said once. */
}

TEST_PLAIN(what_is_taken_is_no_error)
{
    struct error error;
    int ends[2];
    char text[16] = "";
    ck_assert_int_eq(pipe(ends), 0);
    print_to(ends[1]);
    ck_assert_int_eq(output_finish(&error), STATUS_OK);
    printf("a result\n");
    ck_assert_int_eq(output_finish(&error), STATUS_OK);
    ck_assert_int_eq(read(ends[0], text, sizeof text - 1), 9);
    ck_assert_str_eq(text, "a result\n");
}

TEST_PLAIN(a_full_disk_is_named)
{
    print_to(open("/dev/full", O_WRONLY));
    check_lost("cannot write to standard output: No space left on device");
}

TEST_PLAIN(a_reader_that_has_gone_is_named)
{
    int ends[2];
    signal(SIGPIPE, SIG_IGN);
    ck_assert_int_eq(pipe(ends), 0);
    close(ends[0]);
    print_to(ends[1]);
    check_lost("cannot write to standard output: it is not read");
    printf("a result\n");
    fflush(stdout); /* What stdio has found out before counts too. */
    check_lost("cannot write to standard output: it is not read");
}

TEST_PLAIN(closed_output_is_named)
{
    print_to(open("/", O_RDONLY)); /* As process_begin leaves it. */
    check_lost("cannot write to standard output: it is closed");
}

int main(void)
{
    return suite_run("output", NULL);
}
