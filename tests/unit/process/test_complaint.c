#include "common/process/complaint.h"

#include <stdio.h>
#include <string.h>

#include "tests/lib/suite.h"

START_TEST(the_same_reason_is_said_once_whatever_the_path)
{
    struct complaint complaint = {0};
    ck_assert(complaint_add(&complaint, "cannot write a/step-1: No space left on device"));
    ck_assert(!complaint_add(&complaint, "cannot write a/step-2: No space left on device"));
    ck_assert(complaint_add(&complaint, "cannot write a/step-3: Read-only file system"));
    ck_assert(!complaint_add(&complaint, "cannot flush a/step-4: Read-only file system"));
    ck_assert_uint_eq(complaint.count, 4);
}
END_TEST

START_TEST(when_it_is_over_it_can_begin_again)
{
    struct complaint complaint = {0};
    ck_assert_uint_eq(complaint_end(&complaint), 0);
    ck_assert(complaint_add(&complaint, "x: full"));
    ck_assert(!complaint_add(&complaint, "y: full"));
    ck_assert_uint_eq(complaint_end(&complaint), 2);
    ck_assert_uint_eq(complaint_end(&complaint), 0);
    ck_assert(complaint_add(&complaint, "z: full"));
}
END_TEST

START_TEST(reasons_that_take_turns_are_said_once_each_and_not_without_end)
{
    struct complaint complaint = {0};
    char line[32];
    unsigned said = 0;
    for (int i = 0; i < 10; i++) {
        ck_assert(complaint_add(&complaint, "a: full") == (i == 0));
        ck_assert(complaint_add(&complaint, "a: late") == (i == 0));
    }
    for (int i = 0; i < 10; i++) {
        snprintf(line, sizeof line, "a: reason %d", i);
        said += complaint_add(&complaint, line);
    }
    ck_assert_uint_eq(said, COMPLAINT_KINDS - 2);
    ck_assert_uint_eq(complaint.count, 30);
}
END_TEST

START_TEST(any_line_has_a_kind)
{
    struct complaint complaint = {0};
    char line[400];
    ck_assert(complaint_add(&complaint, ""));
    ck_assert(!complaint_add(&complaint, ""));
    ck_assert(!complaint_add(&complaint, "trailing: "));
    ck_assert(complaint_add(&complaint, "a: b: c"));
    ck_assert(!complaint_add(&complaint, "c"));
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    ck_assert(complaint_add(&complaint, line));
    ck_assert(!complaint_add(&complaint, line));
}
END_TEST

static void add(TCase *tcase)
{
    tcase_add_test(tcase, the_same_reason_is_said_once_whatever_the_path);
    tcase_add_test(tcase, when_it_is_over_it_can_begin_again);
    tcase_add_test(tcase, reasons_that_take_turns_are_said_once_each_and_not_without_end);
    tcase_add_test(tcase, any_line_has_a_kind);
}

int main(void)
{
    return suite_run("complaint", add);
}
