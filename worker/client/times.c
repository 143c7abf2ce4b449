/* times.c - sums of a worker's time and bytes. */

#include "worker/client/times.h"

#include "common/base/invariant.h"

void times_begin(struct times *times, uint64_t server, uint64_t now_us)
{
    /* A server 0 that takes the run over has the bytes of before in its events. */
    if (server != times->server)
        times->exchanged_bytes = 0;
    times->server = server;
    if (times->began_us == 0)
        times->began_us = now_us;
}

void times_compute(struct times *times, uint64_t took_us)
{
    times->compute_us += took_us;
}

void times_evaluate(struct times *times, uint64_t took_us)
{
    times->evaluate_us += took_us;
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

void times_move(struct times *times, uint64_t bytes)
{
    times->exchanged_bytes += bytes;
}

uint64_t times_later(uint64_t began_us, uint64_t gap_us, uint64_t now_us)
{
    return began_us + gap_us < now_us ? began_us + gap_us : now_us;
}

void times_resume(struct times *times, uint64_t gap_us, uint64_t now_us)
{
    if (times->began_us != 0)
        times->began_us = times_later(times->began_us, gap_us, now_us);
}

static uint64_t named_us(const struct times *times)
{
    uint64_t sum_us = times->exchange_us;
    for (enum wait i = 0; i < WAIT_COUNT; i++)
        sum_us += times->waits_us[i];
    return sum_us;
}

void times_tell(struct times *times, struct message_times *report, uint64_t now_us)
{
    if (CHECKED && times->began_us != 0)
        INVARIANT("times", named_us(times) <= now_us - times->began_us,
                  "no span of time has two names");
    times->awaited_us += times->whom_us;
    *report = (struct message_times){
        .wall_us = times->began_us != 0 ? now_us - times->began_us : 0,
        .compute_us = times->compute_us,
        .exchange_us = times->exchange_us,
        .evaluate_us = times->evaluate_us,
        .barrier_us = times->waits_us[WAIT_BARRIER],
        .bound_us = times->waits_us[WAIT_BOUND],
        .gate_us = times->waits_us[WAIT_GATE],
        .lease_us = times->waits_us[WAIT_LEASE],
        .whom = times->whom,
        .whom_us = times->awaited_us,
        .exchanged_bytes = times->exchanged_bytes,
    };
    times->whom = 0;
    times->whom_us = 0;
}
