/* clock.c - CLOCK_MONOTONIC in nanoseconds, microseconds and seconds. */

#include "common/base/clock.h"

#include <time.h>

uint64_t clock_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now); /* Cannot fail for this clock. */
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t clock_now_us(void)
{
    return clock_now_ns() / 1000;
}

double clock_now_seconds(void)
{
    return (double)clock_now_ns() * 1e-9;
}
