/* test_parent.c - a parent behind standard input: its greeting, its death, and its silence. Pipes
 * play it. */

#include "common/process/parent.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/suite.h"

/* The other end of this process's standard input from here on; each test is a process. */
static int adopt(void)
{
    int ends[2];
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    ck_assert_int_eq(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    close(ends[0]);
    return ends[1];
}

static enum parent_news look(void)
{
    char word;
    return parent_look(&word);
}

TEST_PLAIN(a_line_is_a_greeting_and_the_end_is_a_death)
{
    struct error error;
    int parent = adopt();
    ck_assert_int_eq(write(parent, PARENT_GREETING "more", strlen(PARENT_GREETING) + 4),
                     (ssize_t)strlen(PARENT_GREETING) + 4);
    ck_assert_int_eq(parent_greet(10, &error), STATUS_OK);
    ck_assert_int_eq(look(), PARENT_SILENT);
    ck_assert_int_eq(look(), PARENT_SILENT);
    close(parent);
    ck_assert_int_eq(look(), PARENT_GONE);
}

TEST_PLAIN(a_parent_that_died_behind_its_greeting_is_gone)
{
    struct error error;
    int parent = adopt();
    ck_assert_int_eq(write(parent, "hello\n", 6), 6);
    close(parent);
    ck_assert_int_eq(parent_greet(10, &error), STATUS_OK);
    ck_assert_int_eq(look(), PARENT_GONE);
}

TEST_PLAIN(a_parent_asks_by_single_bytes_and_each_counts)
{
    char word;
    struct error error;
    int parent = adopt();
    ck_assert_int_eq(write(parent, "hello\nC\003 x\024\034", 12), 12);
    ck_assert_int_eq(parent_greet(10, &error), STATUS_OK);
    ck_assert_int_eq(parent_look(&word), PARENT_ASKS);
    ck_assert_int_eq(word, PARENT_INTERRUPTS);
    ck_assert_int_eq(parent_look(&word), PARENT_ASKS);
    ck_assert_int_eq(word, PARENT_TERMINATES);
    ck_assert_int_eq(parent_look(&word), PARENT_ASKS);
    ck_assert_int_eq(word, PARENT_KILLS);
    ck_assert_int_eq(parent_look(&word), PARENT_SILENT);
    close(parent);
    ck_assert_int_eq(parent_look(&word), PARENT_GONE);
}

TEST_PLAIN(nobody_behind_standard_input_is_said_at_once)
{
    struct error error;
    int nothing = open("/dev/null", O_RDONLY);
    ck_assert_int_eq(dup2(nothing, STDIN_FILENO), STDIN_FILENO);
    ck_assert_int_eq(parent_greet(10, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "ended before its first line"));
    int parent = adopt();
    ck_assert_int_eq(write(parent, "no line", 7), 7);
    close(parent);
    ck_assert_int_eq(parent_greet(10, &error), STATUS_INVALID);
    int folder = open("/", O_RDONLY); /* As process_begin leaves what was closed. */
    ck_assert_int_eq(dup2(folder, STDIN_FILENO), STDIN_FILENO);
    ck_assert_int_eq(parent_greet(10, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "cannot be read"));
}

TEST_PLAIN(whoever_says_nothing_is_waited_for_with_a_deadline)
{
    struct error error;
    int parent = adopt();
    ck_assert_int_eq(parent_greet(0.1, &error), STATUS_TIMEOUT);
    ck_assert_ptr_nonnull(strstr(error.text, "within 100 ms"));
    close(parent);
}

int main(void)
{
    return suite_run("parent", NULL);
}
