/* stragglers.c - compares what a worker says of itself with what it said before; the wait until the
 * next line doubles. */

#include "ps/coordinator/stragglers.h"
#include "common/base/wording.h"

#include <inttypes.h>

#define SLOW_US 10000000u

void stragglers_moved(struct member *worker, uint64_t now_us)
{
    worker->moved_us = now_us;
    worker->told_slow_after = 0;
}

void stragglers_heard(struct member *worker, const struct message_ping *ping, bool current,
                      uint64_t now_us)
{
    if (ping->step != worker->step || ping->computing != worker->computing)
        stragglers_moved(worker, now_us);
    worker->step = ping->step;
    worker->computing = ping->computing;
    if (!current || ping->assignment <= worker->assignment)
        return;
    worker->assignment = ping->assignment;
    stragglers_moved(worker, now_us);
}

bool stragglers_is_stuck(struct member *worker, uint32_t index, bool owes, const char *what,
                         uint64_t step, double seconds, uint64_t now_us, struct outbox *outbox)
{
    if (!owes || !worker->owes)
        stragglers_moved(worker, now_us);
    worker->owes = owes;
    if (!owes)
        return false;
    uint64_t still_us = now_us - worker->moved_us;
    if ((double)still_us * 1e-6 > seconds)
        return true;
    uint64_t next_us = worker->told_slow_after == 0 ? SLOW_US : 2 * worker->told_slow_after;
    if (still_us < next_us)
        return false;
    worker->told_slow_after = next_us;
    outbox_log(outbox, "%s %" PRIu64 " waits for worker/%u on %s: alive, %s for %s", what, step,
               index, worker->host, worker->computing ? "computing" : "exchanging",
               wording_duration((double)still_us * 1e-6).text);
    return false;
}
