/* elementary.h - powers, exponentials, cosines and logarithms that have the same bits on every machine.
 *
 * The C library's differ in the last bit from version to version, and with the processor; whatever
 * decides a parameter, a score or a time drawn takes these. They are sums and products in double precision in a
 * fixed order, none of them fused, so any compiler and instruction set gives the same bits.
 * (Square roots are correctly rounded everywhere, and so is the conversion of decimals in glibc.)
 *
 * Threads: pure. */

#ifndef COMMON_BASE_ELEMENTARY_H
#define COMMON_BASE_ELEMENTARY_H

#include <stdint.h>

/* base to the power of n by squaring; base^0 is 1. Relative error at most about n 2^-53. */
double elementary_power(double base, uint64_t n);

/* cos(pi x) for x from 0 to 1: exactly 1, 0 and -1 at 0, 1/2 and 1, and within 2^-52 elsewhere. */
double elementary_cosine_pi(double x);

/* The natural logarithm of x from 2^-1022 on, within 2^-51 of it, relatively; NaN of NaN,
 * infinity of infinity. */
double elementary_logarithm(double x);

/* e to the power of x for x from -700 to 700, within 2^-50 of it, relatively. */
double elementary_exponential(double x);

#endif
