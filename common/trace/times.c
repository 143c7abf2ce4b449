/* times.c - sums of a worker's time and bytes, and its spans around its scores. */

#include "common/trace/times.h"

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

void times_scores(struct times *times)
{
    times->scored_from_us = times->scored_to_us = 0;
}

void times_scored(struct times *times, uint64_t from_us, uint64_t now_us)
{
    times->scored_from_us = from_us;
    times->scored_to_us = now_us;
}

/* Something that began then, with a score in it: the gap. */
struct interval {
    uint64_t from_us, gap_from_us, gap_to_us;
};

static struct interval interval_since(const struct times *times, uint64_t since_us)
{
    uint64_t gap_us = times->scored_to_us - times->scored_from_us;
    if (since_us >= times->scored_to_us || since_us < gap_us)
        return (struct interval){since_us, since_us, since_us};
    return (struct interval){since_us - gap_us, times->scored_from_us, times->scored_to_us};
}

/* How much of it was before a time. */
static uint64_t time_before(const struct interval *interval, uint64_t time_us)
{
    uint64_t gap_us = interval->gap_to_us - interval->gap_from_us;
    if (time_us >= interval->gap_to_us)
        time_us -= gap_us;
    else if (time_us > interval->gap_from_us)
        time_us = interval->gap_from_us;
    return time_us > interval->from_us ? time_us - interval->from_us : 0;
}

static void tell(const struct times *times, struct span *span, uint64_t from_us, uint64_t to_us)
{
    span->from_ns = 1000 * from_us;
    span->to_ns = 1000 * to_us;
    if (from_us < to_us)
        times->listener.take(times->listener.context, span);
}

/* The part from `from` to `to`. */
static void tell_part(const struct times *times, const struct interval *interval, uint64_t from,
                      uint64_t to, enum span_kind kind, enum wait what, uint32_t whom)
{
    struct span span = span_of(ROLE_WORKER, times->worker, LANE_SESSION, kind);
    uint64_t from_us = interval->from_us + from, to_us = interval->from_us + to;
    uint64_t gap_from_us = interval->gap_from_us, gap_us = interval->gap_to_us - gap_from_us;
    span.step = times->step;
    span.what = (uint8_t)what;
    if (whom > 0) {
        span.other_role = ROLE_WORKER;
        span.other = whom - 1;
    }
    if (times->listener.take == NULL)
        return;
    tell(times, &span, from_us, to_us < gap_from_us ? to_us : gap_from_us);
    tell(times, &span, (from_us > gap_from_us ? from_us : gap_from_us) + gap_us, to_us + gap_us);
}

static void add_wait(struct times *times, enum wait wait, uint32_t whom, uint64_t took_us)
{
    times->waits_us[wait] += took_us;
    if (whom == 0 || took_us < times->whom_us)
        return;
    times->whom = whom;
    times->whom_us = took_us;
}

void times_exchange(struct times *times, uint64_t since_us, uint64_t took_us, uint64_t held_us,
                    uint64_t let_go_us, uint32_t held_for)
{
    const struct interval interval = interval_since(times, since_us);
    uint64_t held_to = let_go_us != 0 ? time_before(&interval, let_go_us) : took_us;
    held_to = held_to < held_us ? held_us : held_to > took_us ? took_us : held_to;
    times->exchange_us += took_us - held_us;
    add_wait(times, WAIT_BARRIER, held_for, held_us);
    tell_part(times, &interval, 0, held_to - held_us, SPAN_EXCHANGE, 0, 0);
    tell_part(times, &interval, held_to - held_us, held_to, SPAN_WAIT, WAIT_BARRIER, held_for);
    tell_part(times, &interval, held_to, took_us, SPAN_EXCHANGE, 0, 0);
}

void times_wait(struct times *times, enum wait wait, uint32_t whom, uint64_t since_us,
                uint64_t took_us)
{
    const struct interval interval = interval_since(times, since_us);
    add_wait(times, wait, whom, took_us);
    tell_part(times, &interval, 0, took_us, SPAN_WAIT, wait, whom);
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

void times_tell(struct times *times, struct message_times *report, uint64_t now_us)
{
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

/* --- at the coordinator ---------------------------------------------------------------------- */

/* The growth of a sum over the greatest reported before. */
static uint64_t growth(uint64_t *most, uint64_t heard)
{
    uint64_t before = *most;
    if (heard <= before)
        return 0;
    *most = heard;
    return heard - before;
}

static double passed(uint64_t *most_us, uint64_t heard_us)
{
    return (double)growth(most_us, heard_us) * 1e-6;
}

double times_hear(struct message_times *most, const struct message_times *heard,
                  struct worker_summary *summary)
{
    summary->wall_seconds += passed(&most->wall_us, heard->wall_us);
    summary->compute_seconds += passed(&most->compute_us, heard->compute_us);
    summary->exchange_seconds += passed(&most->exchange_us, heard->exchange_us);
    summary->evaluate_seconds += passed(&most->evaluate_us, heard->evaluate_us);
    summary->waits[WAIT_BARRIER] += passed(&most->barrier_us, heard->barrier_us);
    summary->waits[WAIT_BOUND] += passed(&most->bound_us, heard->bound_us);
    summary->waits[WAIT_GATE] += passed(&most->gate_us, heard->gate_us);
    summary->waits[WAIT_LEASE] += passed(&most->lease_us, heard->lease_us);
    summary->exchanged_bytes += growth(&most->exchanged_bytes, heard->exchanged_bytes);
    return heard->whom > 0 ? passed(&most->whom_us, heard->whom_us) : 0;
}
