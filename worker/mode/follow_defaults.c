/* follow_defaults.c - the worker's part of a mode, where it does not differ. */

#include "worker/mode/follow_mode.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

void follow_no_work(struct follow *follow)
{
}

bool follow_nowhere(const struct follow *follow, uint32_t members, uint64_t *version)
{
    return false;
}

void follow_asks_nothing(struct follow *follow, struct envelope *envelope)
{
}

void follow_takes_nothing(struct follow *follow, struct envelope *envelope,
                          const struct message *message, uint64_t now_us)
{
}

void follow_silently(struct follow *follow, struct envelope *envelope, bool idle, uint64_t now_us,
                     struct outbox *outbox)
{
}

bool follow_never(const struct follow *follow)
{
    return false;
}

void follow_no_check(const struct follow *follow)
{
}
