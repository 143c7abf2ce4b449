/* event.c - the names of kinds. */

#include "common/events/event.h"

_Static_assert(EVENT_KIND_COUNT <= 64, "kinds are bits of a listener's mask");

const char *event_name(enum event_kind kind)
{
    static const char *const names[] = {
#define EVENT(kind, name, sentence) [EVENT_##kind] = name,
#define SPECIAL(kind, when, sentence)
#include "common/events/event_rows.inc"
    };
    return names[kind];
}
