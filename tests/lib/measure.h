/* measure.h - what benchmarks share: repeat, take medians, show the spread.
 *
 * Machines are shared and noisy: quote medians and ratios measured in one run, not single times. */

#ifndef TESTS_LIB_MEASURE_H
#define TESTS_LIB_MEASURE_H

#include <stddef.h>

#define MEASURE_ROUNDS 11

struct spread {
    double least, median, most; /* Seconds a call. */
};

/* Time two pieces of work in turn, A B A B ..., each round calling it `calls` times. b may be NULL.
 * work(context) is one call. */
void measure_pair(void (*a)(void *context), void *a_context, void (*b)(void *context),
                  void *b_context, unsigned calls, struct spread *a_spread,
                  struct spread *b_spread);

#endif
