/* clock.c - CLOCK_MONOTONIC in nanoseconds, microseconds and seconds, and what a test adds to it. */

#include "common/base/clock.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "common/base/invariant.h"

/* The file whose size is added; -1: none. */
static int added(void)
{
    static int file = -2;
    if (file == -2)
        file = CHECKED && getenv("TEST_CLOCK") != NULL
                   ? open(getenv("TEST_CLOCK"), O_RDONLY | O_CLOEXEC)
                   : -1;
    return file;
}

uint64_t clock_now_ns(void)
{
    struct timespec now;
    struct stat about = {.st_size = 0};
    clock_gettime(CLOCK_MONOTONIC, &now); /* Cannot fail for this clock. */
    if (CHECKED && added() >= 0)
        fstat(added(), &about);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec +
           1000 * (uint64_t)about.st_size;
}

uint64_t clock_now_us(void)
{
    return clock_now_ns() / 1000;
}

double clock_now_seconds(void)
{
    return (double)clock_now_ns() * 1e-9;
}

int clock_patience_ms(int wait_ms)
{
    bool is_long = wait_ms < 0 || wait_ms > CLOCK_LOOK_MS;
    return CHECKED && is_long && added() >= 0 ? CLOCK_LOOK_MS : wait_ms;
}

void clock_sleep_until(uint64_t until_ns)
{
    struct timespec until = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};
    if (CHECKED && added() >= 0)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    else
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}
