/* times.c - sums. */

#include "worker/client/times.h"

#include "common/base/invariant.h"

void times_begin(struct times *times, uint64_t now_us)
{
    if (times->told_us == 0)
        times->told_us = now_us;
}

void times_exchange(struct times *times, uint64_t took_us)
{
    times->exchange_us += took_us;
}

void times_wait(struct times *times, enum wait wait, uint32_t whom, uint64_t took_us)
{
    times->waits_us[wait] += took_us;
    if (whom == 0 || took_us < times->whom_us)
        return;
    times->whom = whom;
    times->whom_us = took_us;
}

uint64_t times_later(uint64_t began_us, uint64_t gap_us, uint64_t now_us)
{
    return began_us + gap_us < now_us ? began_us + gap_us : now_us;
}

void times_resume(struct times *times, uint64_t gap_us, uint64_t now_us)
{
    if (times->told_us != 0)
        times->told_us = times_later(times->told_us, gap_us, now_us);
}

static uint64_t named_us(const struct times *times)
{
    uint64_t sum_us = times->exchange_us;
    for (enum wait i = 0; i < WAIT_COUNT; i++)
        sum_us += times->waits_us[i];
    return sum_us;
}

void times_tell(struct times *times, struct message_times *told, uint64_t now_us)
{
    if (CHECKED && times->told_us != 0)
        INVARIANT("times", named_us(times) <= now_us - times->told_us,
                  "no span of time is told under two names");
    *told = (struct message_times){
        .wall_us = times->told_us != 0 ? now_us - times->told_us : 0,
        .exchange_us = times->exchange_us,
        .barrier_us = times->waits_us[WAIT_BARRIER],
        .bound_us = times->waits_us[WAIT_BOUND],
        .gate_us = times->waits_us[WAIT_GATE],
        .lease_us = times->waits_us[WAIT_LEASE],
        .whom = times->whom,
        .whom_us = times->whom_us,
    };
    *times = (struct times){.told_us = now_us};
}
