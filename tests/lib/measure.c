#include "tests/lib/measure.h"

#include <stdlib.h>

#include "common/clock.h"

static double time_calls(void (*work)(void *context), void *context, unsigned calls)
{
    uint64_t began = clock_now_ns();
    for (unsigned i = 0; i < calls; i++)
        work(context);
    return (double)(clock_now_ns() - began) * 1e-9 / calls;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct spread spread_of(double *seconds)
{
    qsort(seconds, MEASURE_ROUNDS, sizeof *seconds, compare);
    return (struct spread){seconds[0], seconds[MEASURE_ROUNDS / 2], seconds[MEASURE_ROUNDS - 1]};
}

void measure_pair(void (*a)(void *context), void *a_context, void (*b)(void *context),
                  void *b_context, unsigned calls, struct spread *a_spread, struct spread *b_spread)
{
    double a_seconds[MEASURE_ROUNDS], b_seconds[MEASURE_ROUNDS];
    a(a_context); /* Warm up. */
    for (int i = 0; i < MEASURE_ROUNDS; i++) {
        a_seconds[i] = time_calls(a, a_context, calls);
        if (b != NULL)
            b_seconds[i] = time_calls(b, b_context, calls);
    }
    *a_spread = spread_of(a_seconds);
    if (b != NULL)
        *b_spread = spread_of(b_seconds);
}
