/* suite.h - what every unit test program shares: one suite, run in this process order, summed up in
 * check's own closing line.
 *
 * `make check` is to stay quick, so that it is run. Cases that take longer than a few seconds are
 * added apart: `make check-all` runs them as well, and TEST_LONG in the environment has the word:
 *
 *     TEST_LONG unset or empty   make check: what add() adds
 *     TEST_LONG=only             what check leaves out: what add_long() adds
 *     TEST_LONG=1                both, as `TEST_LONG=1 build/release/tests/unit/test_x` by hand
 *
 * Scripts have short_run and long_run for the same (tests/processes/lib.sh). */

#ifndef TESTS_LIB_SUITE_H
#define TESTS_LIB_SUITE_H

#include <check.h>

int main(void); /* Under another name in a release build (together_main.c). */

/* Run the tests that add() puts into the case; 0 when all passed, for main to return. */
int suite_run(const char *name, void (*add)(TCase *tcase));

/* The same with a second case, of what takes long. The Makefile finds programs with long cases by
 * the name of this function. */
int suite_run_both(const char *name, void (*add)(TCase *tcase), void (*add_long)(TCase *tcase));

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
    static void name##_with(type *it, int _i);                                                     \
    START_TEST(name)                                                                               \
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

#endif
