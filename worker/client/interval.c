/* interval.c - adds the gap to what lies behind it. */

#include "worker/client/interval.h"

#include <stddef.h>

struct interval interval_after(uint64_t moved_us, uint64_t scored_from_us, uint64_t scored_to_us,
                               uint64_t now_us)
{
    uint64_t took_us = scored_to_us - scored_from_us;
    if (moved_us >= scored_to_us || moved_us < took_us)
        return (struct interval){.from_us = moved_us, .to_us = now_us};
    return (struct interval){moved_us - took_us, now_us, scored_from_us, scored_to_us};
}

uint64_t interval_before(const struct interval *interval, uint64_t time_us)
{
    const struct interval *s = interval;
    if (time_us <= s->from_us)
        return 0;
    if (time_us > s->to_us)
        time_us = s->to_us;
    uint64_t gap_us = s->gap_to_us - s->gap_from_us;
    if (time_us <= s->gap_from_us || gap_us == 0)
        return time_us - s->from_us;
    return (time_us < s->gap_to_us ? s->gap_from_us : time_us - gap_us) - s->from_us;
}

static void tell(const struct span_listener *listener, struct span *piece, uint64_t from_us,
                 uint64_t to_us)
{
    piece->from_ns = 1000 * from_us;
    piece->to_ns = 1000 * to_us;
    if (from_us < to_us)
        listener->take(listener->context, piece);
}

void interval_tell(const struct interval *interval, uint64_t from, uint64_t to, struct span span,
                   const struct span_listener *listener)
{
    const struct interval *s = interval;
    uint64_t from_us = s->from_us + from, to_us = s->from_us + to;
    uint64_t gap_us = s->gap_to_us - s->gap_from_us;
    if (listener->take == NULL)
        return;
    if (gap_us == 0 || to_us <= s->gap_from_us) {
        tell(listener, &span, from_us, to_us);
    } else if (from_us >= s->gap_from_us) {
        tell(listener, &span, from_us + gap_us, to_us + gap_us);
    } else {
        tell(listener, &span, from_us, s->gap_from_us);
        tell(listener, &span, s->gap_to_us, to_us + gap_us);
    }
}
