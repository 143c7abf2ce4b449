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

/* Until that time, or a signal. */
void clock_sleep_until(uint64_t until_ns);

/* For poll, which waits for so many milliseconds, -1: for ever. In programs of checked builds TEST_CLOCK may name a
 * file: as many microseconds as it has bytes are added to the time, and pass when a test makes it longer. No wait then
 * takes longer than CLOCK_LOOK_MS of real time. */
#define CLOCK_LOOK_MS 20
int clock_patience_ms(int wait_ms);

/* 0 if it is still to come. */
static inline double seconds_since(uint64_t then_us, uint64_t now_us)
{
    return now_us > then_us ? (double)(now_us - then_us) * 1e-6 : 0;
}

#endif
