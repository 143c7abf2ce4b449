/* suite.h - what every unit test program shares: one suite of the tests of its file, run in the order
 * in which they stand there, and summed up in check's own closing line.
 *
 * A test is run because it is written down: nobody has to name it a second time.
 *
 *     TEST_PLAIN(name)            {...}   a test
 *     TEST_TIMES(name, times)     {...}   once for each _i from 0 on, each by itself
 *     SUITE_TEST(name, ...)       {...}   one that begins with opening something, see below
 *     START_TEST(name)            {...}   check's own, for what add() adds in a way of its own
 *
 * `make check` is to stay quick, so that it is run. Cases that take longer than a few seconds are
 * added apart: `make check-all` runs them as well, and TEST_LONG in the environment has the word:
 *
 *     TEST_LONG unset or empty   make check: the file's tests
 *     TEST_LONG=only             what check leaves out: what add_long() adds
 *     TEST_LONG=1                both, as `TEST_LONG=1 build/release/tests/unit/test_x` by hand
 *
 * Scripts have short_run and long_run for the same (tests/processes/lib.sh). */

#ifndef TESTS_LIB_SUITE_H
#define TESTS_LIB_SUITE_H

#include <check.h>
#include <stddef.h>

int main(void); /* Under another name in a release build (together_main.c). */

/* A test of this file, and those behind it. */
struct suite_test {
    const TTest *test;
    int line, times;
    struct suite_test *next;
};

/* This file's own list, filled before main: many files make one program (together_main.c). */
static struct suite_test *suite_tests CK_ATTRIBUTE_UNUSED;

/* In the order of their lines, whatever the order of the calls. */
void suite_enter(struct suite_test **tests, struct suite_test *test);

#define SUITE_ENTER(name, count)                                                                   \
    static const TTest *name; /* Which START_TEST defines. */                                      \
    __attribute__((constructor)) static void name##_enter(void)                                    \
    {                                                                                              \
        static struct suite_test entry;                                                            \
        entry = (struct suite_test){.test = name, .line = __LINE__, .times = (int)(count)};        \
        suite_enter(&suite_tests, &entry);                                                         \
    }

#define TEST_TIMES(name, times)                                                                    \
    SUITE_ENTER(name, times)                                                                       \
    START_TEST(name)

#define TEST_PLAIN(name) TEST_TIMES(name, 1)

/* Run the tests of this file; 0 when all passed, for main to return. add, or NULL, says what else
 * the case needs: a time limit, a fixture, a test that is to end with a signal. */
#define suite_run(name, add) suite_run_tests(name, suite_tests, add, NULL)

/* The same with a second case, of what takes long; its tests are START_TESTs. The Makefile finds
 * programs with long cases by the name of this. */
#define suite_run_both(name, add, add_long) suite_run_tests(name, suite_tests, add, add_long)

int suite_run_tests(const char *name, const struct suite_test *tests, void (*add)(TCase *tcase),
                    void (*add_long)(TCase *tcase));

/* A test that begins with opening something and ends with closing it, as most of its file do: its
 * body has the pointer `it` to a `type` that is opened before it and closed after it. A file says
 * once what that is:
 *
 *     #define TEST(name, ...) SUITE_TEST(name, struct fixture, f, open(f, __VA_ARGS__), close(f))
 *
 *     TEST(a_pull_never_mixes_versions, MODE_SYNC)
 *     {
 *         send(f, ...);
 *     }
 */
#define SUITE_TEST(name, type, it, opening, closing)                                               \
    SUITE_TEST_TIMES(name, 1, type, it, opening, closing)

/* The same for each _i, which opening may use too. */
#define SUITE_TEST_TIMES(name, times, type, it, opening, closing)                                  \
    static void name##_with(type *it, int _i);                                                     \
    TEST_TIMES(name, times)                                                                        \
    {                                                                                              \
        type place, *it = &place;                                                                  \
        opening;                                                                                   \
        name##_with(it, _i);                                                                       \
        closing;                                                                                   \
    }                                                                                              \
    END_TEST                                                                                       \
    static void name##_with(type *it, int _i CK_ATTRIBUTE_UNUSED)

/* For a test that cannot do here what it is for: say so and return. "one user is turned away: only
 * root can be somebody else". Such tests are counted apart, and named at the end of make check. */
void suite_skip(const char *what_and_why);

/* How many descriptors this process has open. ZeroMQ opens and closes some when it likes: a test that
 * compares them runs over a transport in memory. */
size_t suite_descriptors(void);

#endif
