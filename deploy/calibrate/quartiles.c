/* quartiles.c - sorts the values. */

#include "deploy/calibrate/quartiles.h"

#include <assert.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct quartiles quartiles_of(double *values, size_t count)
{
    assert(count > 0);
    qsort(values, count, sizeof *values, ascending);
    return (struct quartiles){values[(count - 1) / 4], values[(count - 1) / 2],
                              values[3 * (count - 1) / 4]};
}
