/* suite.h - what every unit test program shares: one suite, run in this process order, summed up in
 * check's own closing line. */

#ifndef TESTS_LIB_SUITE_H
#define TESTS_LIB_SUITE_H

#include <check.h>

/* Run the tests that add() puts into the case; 0 when all passed, for main to return. */
int suite_run(const char *name, void (*add)(TCase *tcase));

#endif
