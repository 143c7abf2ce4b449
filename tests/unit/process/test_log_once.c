/* test_log_once.c - the same reason is said once, and how often it came is known in the end. */

#include "common/process/log_once.h"

#include <stdio.h>
#include <string.h>

#include "tests/lib/suite.h"

TEST_PLAIN(the_same_reason_is_said_once_whatever_the_path)
{
    struct log_once log_once = {0};
    ck_assert(log_once_add(&log_once, "cannot write a/step-1: No space left on device"));
    ck_assert(!log_once_add(&log_once, "cannot write a/step-2: No space left on device"));
    ck_assert(log_once_add(&log_once, "cannot write a/step-3: Read-only file system"));
    ck_assert(!log_once_add(&log_once, "cannot flush a/step-4: Read-only file system"));
    ck_assert_uint_eq(log_once.count, 4);
}

TEST_PLAIN(when_it_is_over_it_can_begin_again)
{
    struct log_once log_once = {0};
    ck_assert_uint_eq(log_once_end(&log_once), 0);
    ck_assert(log_once_add(&log_once, "x: full"));
    ck_assert(!log_once_add(&log_once, "y: full"));
    ck_assert_uint_eq(log_once_end(&log_once), 2);
    ck_assert_uint_eq(log_once_end(&log_once), 0);
    ck_assert(log_once_add(&log_once, "z: full"));
}

TEST_PLAIN(reasons_that_take_turns_are_said_once_each_and_not_without_end)
{
    struct log_once log_once = {0};
    char line[32];
    unsigned said = 0;
    for (int i = 0; i < 10; i++) {
        ck_assert(log_once_add(&log_once, "a: full") == (i == 0));
        ck_assert(log_once_add(&log_once, "a: late") == (i == 0));
    }
    for (int i = 0; i < 10; i++) {
        snprintf(line, sizeof line, "a: reason %d", i);
        said += log_once_add(&log_once, line);
    }
    ck_assert_uint_eq(said, LOG_ONCE_KINDS - 2);
    ck_assert_uint_eq(log_once.count, 30);
}

TEST_PLAIN(any_line_has_a_kind)
{
    struct log_once log_once = {0};
    char line[400];
    ck_assert(log_once_add(&log_once, ""));
    ck_assert(!log_once_add(&log_once, ""));
    ck_assert(!log_once_add(&log_once, "trailing: "));
    ck_assert(log_once_add(&log_once, "a: b: c"));
    ck_assert(!log_once_add(&log_once, "c"));
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    ck_assert(log_once_add(&log_once, line));
    ck_assert(!log_once_add(&log_once, line));
}

int main(void)
{
    return suite_run("log_once", NULL);
}
