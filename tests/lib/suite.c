/* suite.c - the list of a file's tests becomes a case of check's. */

#include "tests/lib/suite.h"

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Seconds that one test may take. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define PATIENCE 480
#else
#define PATIENCE 120
#endif

void suite_enter(struct suite_test **tests, struct suite_test *test)
{
    while (*tests != NULL && (*tests)->line < test->line)
        tests = &(*tests)->next;
    test->next = *tests;
    *tests = test;
}

static TCase *add_case(Suite *suite, const char *name, void (*add)(TCase *tcase))
{
    TCase *tcase = tcase_create(name);
    tcase_set_timeout(tcase, PATIENCE);
    suite_add_tcase(suite, tcase);
    if (add != NULL)
        add(tcase);
    return tcase;
}

int suite_run_tests(const char *name, const struct suite_test *tests, void (*add)(TCase *tcase),
                    void (*add_long)(TCase *tcase))
{
    const char *wanted = getenv("TEST_LONG");
    signal(SIGINT, SIG_DFL); /* Which a script's & and nohup have us ignore. */
    signal(SIGHUP, SIG_DFL);
    bool is_long = wanted != NULL && *wanted != '\0', only = is_long && strcmp(wanted, "only") == 0;
    Suite *suite = suite_create(name);
    TCase *tcase = only ? NULL : add_case(suite, name, add);
    for (; tcase != NULL && tests != NULL; tests = tests->next)
        tcase_add_loop_test(tcase, tests->test, 0, tests->times);
    if (is_long && add_long != NULL)
        add_case(suite, "long", add_long);

    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

void suite_skip(const char *what_and_why)
{
    /* Not by stdio: what the process before the fork had not written would be written twice. */
    dprintf(STDOUT_FILENO, "SKIPPED - %s\n", what_and_why);
}

size_t suite_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    ck_assert_ptr_nonnull(directory);
    size_t count = 0;
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}
