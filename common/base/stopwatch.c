/* stopwatch.c - all that has passed, less what is apart. */

#include "common/base/stopwatch.h"

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t passed_us(uint64_t then_us, uint64_t now_us)
{
    return now_us > then_us ? now_us - then_us : 0;
}

static uint64_t standing_us(const struct stopwatch *clock, uint64_t now_us)
{
    return clock->stands ? passed_us(clock->since_us, now_us) : 0;
}

/* Without regard to marks. */
static uint64_t trained_us(const struct stopwatch *clock, uint64_t now_us)
{
    uint64_t pause_reason = standing_us(clock, now_us);
    for (enum pause_reason i = 0; i < PAUSE_COUNT; i++)
        pause_reason += clock->paused_us[i];
    uint64_t all = clock->begun ? passed_us(clock->began_us, now_us) : 0;
    return passed_us(pause_reason, all);
}

void stopwatch_begin(struct stopwatch *clock, uint64_t now_us)
{
    *clock = (struct stopwatch){.begun = true, .began_us = now_us};
}

void stopwatch_stand(struct stopwatch *clock, enum pause_reason why, uint64_t now_us)
{
    if (clock->stands)
        clock->paused_us[clock->why] += standing_us(clock, now_us);
    clock->stands = true;
    clock->why = why;
    clock->since_us = now_us;
}

void stopwatch_go_on(struct stopwatch *clock, uint64_t now_us)
{
    clock->paused_us[clock->why] += standing_us(clock, now_us);
    clock->stands = clock->ended = false;
}

void stopwatch_hold_up(struct stopwatch *clock, enum pause_reason why, uint64_t us, uint64_t now_us)
{
    uint64_t of_stand = least(us, standing_us(clock, now_us));
    clock->since_us += of_stand;
    clock->paused_us[why] += of_stand;
    clock->paused_us[why] += least(us - of_stand, trained_us(clock, now_us));
}

void stopwatch_mark(struct stopwatch *clock, uint64_t now_us)
{
    uint64_t trained = trained_us(clock, now_us);
    if (trained > clock->marked_us)
        clock->marked_us = trained;
}

void stopwatch_end(struct stopwatch *clock)
{
    clock->ended = true;
}

double stopwatch_marked(const struct stopwatch *clock)
{
    return (double)clock->marked_us * 1e-6;
}

double stopwatch_seconds(const struct stopwatch *clock, uint64_t now_us)
{
    uint64_t trained = trained_us(clock, now_us);
    return clock->ended || trained < clock->marked_us ? stopwatch_marked(clock)
                                                      : (double)trained * 1e-6;
}

double stopwatch_take_window(struct stopwatch *clock)
{
    uint64_t window = clock->marked_us - clock->window_us;
    clock->window_us = clock->marked_us;
    return (double)window * 1e-6;
}

double stopwatch_paused(const struct stopwatch *clock, enum pause_reason why, uint64_t now_us)
{
    uint64_t pause_reason = clock->paused_us[why];
    if (why == clock->why)
        pause_reason += standing_us(clock, now_us);
    return (double)pause_reason * 1e-6;
}
