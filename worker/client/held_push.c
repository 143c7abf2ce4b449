/* held_push.c - one exchange and the reference to its gradient. */

#include "worker/client/held_push.h"

#include <string.h>

void held_push_keep(struct held_push *held, const struct message_exchange *what,
                    struct frame *gradient, uint64_t now_us)
{
    *held = (struct held_push){.waits = true,
                               .what = *what,
                               .gradient = gradient != NULL ? frame_retain(gradient) : NULL,
                               .since_us = now_us};
}

void held_push_forget(struct held_push *held)
{
    frame_release(held->gradient);
    memset(held, 0, sizeof *held);
}
