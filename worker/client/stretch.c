/* stretch.c - adds the gap to what lies behind it. */

#include "worker/client/stretch.h"

#include <stddef.h>

struct stretch stretch_after(uint64_t moved_us, uint64_t scored_from_us, uint64_t scored_to_us,
                             uint64_t now_us)
{
    uint64_t took_us = scored_to_us - scored_from_us;
    if (moved_us >= scored_to_us || moved_us < took_us)
        return (struct stretch){.from_us = moved_us, .to_us = now_us};
    return (struct stretch){moved_us - took_us, now_us, scored_from_us, scored_to_us};
}

uint64_t stretch_before(const struct stretch *stretch, uint64_t time_us)
{
    const struct stretch *s = stretch;
    if (time_us <= s->from_us)
        return 0;
    if (time_us > s->to_us)
        time_us = s->to_us;
    uint64_t gap_us = s->gap_to_us - s->gap_from_us;
    if (time_us <= s->gap_from_us || gap_us == 0)
        return time_us - s->from_us;
    return (time_us < s->gap_to_us ? s->gap_from_us : time_us - gap_us) - s->from_us;
}

static void tell(const struct spent_listener *listener, struct spent *piece, uint64_t from_us,
                 uint64_t to_us)
{
    piece->from_us = from_us;
    piece->to_us = to_us;
    if (from_us < to_us)
        listener->spent(listener->context, piece);
}

void stretch_tell(const struct stretch *stretch, uint64_t from, uint64_t to, struct spent what,
                  const struct spent_listener *listener)
{
    const struct stretch *s = stretch;
    uint64_t from_us = s->from_us + from, to_us = s->from_us + to;
    uint64_t gap_us = s->gap_to_us - s->gap_from_us;
    if (listener->spent == NULL)
        return;
    if (gap_us == 0 || to_us <= s->gap_from_us) {
        tell(listener, &what, from_us, to_us);
    } else if (from_us >= s->gap_from_us) {
        tell(listener, &what, from_us + gap_us, to_us + gap_us);
    } else {
        tell(listener, &what, from_us, s->gap_from_us);
        tell(listener, &what, s->gap_to_us, to_us + gap_us);
    }
}
