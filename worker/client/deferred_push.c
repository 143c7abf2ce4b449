/* deferred_push.c - one exchange and the reference to its gradient. */

#include "worker/client/deferred_push.h"

#include <string.h>

void deferred_push_keep(struct deferred_push *deferred, const struct message_exchange *what,
                        struct frame *gradient, uint64_t now_us)
{
    *deferred = (struct deferred_push){.waits = true,
                                       .what = *what,
                                       .gradient = gradient != NULL ? frame_retain(gradient) : NULL,
                                       .since_us = now_us};
}

void deferred_push_forget(struct deferred_push *deferred)
{
    frame_release(deferred->gradient);
    memset(deferred, 0, sizeof *deferred);
}
