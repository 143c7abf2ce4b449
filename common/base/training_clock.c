/* training_clock.c - all that has passed, less what is apart. */

#include "common/base/training_clock.h"

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t passed_us(uint64_t then_us, uint64_t now_us)
{
    return now_us > then_us ? now_us - then_us : 0;
}

static uint64_t standing_us(const struct training_clock *clock, uint64_t now_us)
{
    return clock->stands ? passed_us(clock->since_us, now_us) : 0;
}

/* Without regard to marks. */
static uint64_t trained_us(const struct training_clock *clock, uint64_t now_us)
{
    uint64_t apart = standing_us(clock, now_us);
    for (enum apart i = 0; i < APART_COUNT; i++)
        apart += clock->apart_us[i];
    uint64_t all = clock->begun ? passed_us(clock->began_us, now_us) : 0;
    return passed_us(apart, all);
}

void training_clock_begin(struct training_clock *clock, uint64_t now_us)
{
    *clock = (struct training_clock){.begun = true, .began_us = now_us};
}

void training_clock_stand(struct training_clock *clock, enum apart why, uint64_t now_us)
{
    if (clock->stands)
        clock->apart_us[clock->why] += standing_us(clock, now_us);
    clock->stands = true;
    clock->why = why;
    clock->since_us = now_us;
}

void training_clock_go_on(struct training_clock *clock, uint64_t now_us)
{
    clock->apart_us[clock->why] += standing_us(clock, now_us);
    clock->stands = clock->ended = false;
}

void training_clock_hold_up(struct training_clock *clock, enum apart why, uint64_t us,
                            uint64_t now_us)
{
    uint64_t of_stand = least(us, standing_us(clock, now_us));
    clock->since_us += of_stand;
    clock->apart_us[why] += of_stand;
    clock->apart_us[why] += least(us - of_stand, trained_us(clock, now_us));
}

void training_clock_mark(struct training_clock *clock, uint64_t now_us)
{
    uint64_t trained = trained_us(clock, now_us);
    if (trained > clock->marked_us)
        clock->marked_us = trained;
}

void training_clock_end(struct training_clock *clock)
{
    clock->ended = true;
}

double training_clock_marked(const struct training_clock *clock)
{
    return (double)clock->marked_us * 1e-6;
}

double training_clock_seconds(const struct training_clock *clock, uint64_t now_us)
{
    uint64_t trained = trained_us(clock, now_us);
    return clock->ended || trained < clock->marked_us ? training_clock_marked(clock)
                                                      : (double)trained * 1e-6;
}

double training_clock_take_window(struct training_clock *clock)
{
    uint64_t window = clock->marked_us - clock->window_us;
    clock->window_us = clock->marked_us;
    return (double)window * 1e-6;
}

double training_clock_apart(const struct training_clock *clock, enum apart why, uint64_t now_us)
{
    uint64_t apart = clock->apart_us[why];
    if (why == clock->why)
        apart += standing_us(clock, now_us);
    return (double)apart * 1e-6;
}
