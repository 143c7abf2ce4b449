/* clock.h - time that never jumps: it counts from some point in the past, whatever the wall says.
 *
 * For thread code and files; cores take their time as an argument (proto/CONTRACT.md section 6).
 *
 * Threads: any. */

#ifndef COMMON_BASE_CLOCK_H
#define COMMON_BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_now_us(void);
uint64_t clock_now_ns(void);
double clock_now_seconds(void);

/* 0 if it is still to come. */
static inline double seconds_since(uint64_t then_us, uint64_t now_us)
{
    return now_us > then_us ? (double)(now_us - then_us) * 1e-6 : 0;
}

#endif
