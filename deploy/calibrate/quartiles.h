/* quartiles.h - median and quartiles of a figure that was measured several times.
 *
 * Threads: pure. */

#ifndef DEPLOY_CALIBRATE_QUARTILES_H
#define DEPLOY_CALIBRATE_QUARTILES_H

#include <stddef.h>

struct quartiles {
    double low, median, high;
};

/* Puts values in order; there is one at least. */
struct quartiles quartiles_of(double *values, size_t count);

#endif
