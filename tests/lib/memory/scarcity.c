/* scarcity.c - in the place of the allocator's functions. */

#include "tests/lib/memory/scarcity.h"

#include <errno.h>
#include <stdlib.h>

#include "common/wire/outbox.h"

static struct {
    bool armed, paused, outboxes;
    unsigned calls, strike_at;
} scarce;

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);

void scarcity_arm(unsigned n)
{
    scarce.calls = 0;
    scarce.strike_at = n;
    scarce.armed = true;
}

bool scarcity_disarm(void)
{
    scarce.armed = false;
    return scarce.strike_at > 0 && scarce.calls >= scarce.strike_at;
}

bool scarcity_pause(bool paused)
{
    bool before = scarce.paused;
    scarce.paused = paused;
    return before;
}

void scarcity_strike_outboxes(bool too)
{
    scarce.outboxes = too;
}

static bool strikes(size_t bytes)
{
    bool outbox = bytes > 0 && bytes % (64 * sizeof(struct outgoing)) == 0; /* Nothing else is. */
    if (!scarce.armed || scarce.paused || (outbox && !scarce.outboxes) ||
        ++scarce.calls != scarce.strike_at)
        return false;
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t bytes)
{
    return strikes(bytes) ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return strikes(bytes) ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *block, size_t bytes)
{
    return strikes(bytes) ? NULL : __real_realloc(block, bytes);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return strikes(bytes) ? NULL : __real_aligned_alloc(alignment, bytes);
}
