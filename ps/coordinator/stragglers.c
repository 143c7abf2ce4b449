/* stragglers.c - compares a worker's reports with its last ones; the wait until the next line
 * doubles. */

#include "ps/coordinator/stragglers.h"
#include "common/base/clock.h"
#include "common/base/wording.h"

#include <inttypes.h>
#include <stdio.h>

#define SLOW_US  10000000u
#define STILL_US 1000000u /* Two signs of life: shorter stops happen in every step. */

void stragglers_moved(struct member *worker, uint64_t now_us)
{
    worker->pace.moved_us = now_us;
    worker->pace.slow_line_us = 0;
}

void stragglers_heard(struct member *worker, const struct message_ping *ping, bool current,
                      uint64_t now_us)
{
    bool dealt = current && ping->assignment > worker->dealt.assignment;
    if (dealt || ping->step != worker->pace.step || ping->computing != worker->pace.computing)
        stragglers_moved(worker, now_us);
    worker->dealt.assignment = dealt ? ping->assignment : worker->dealt.assignment;
    worker->pace.step = ping->step;
    worker->pace.computing = ping->computing;
}

bool stragglers_is_stuck(struct member *worker, uint32_t index, bool owes, const char *what,
                         uint64_t step, double seconds, uint64_t now_us, struct outbox *outbox)
{
    if (!owes || !worker->pace.owes)
        stragglers_moved(worker, now_us);
    worker->pace.owes = owes;
    if (!owes)
        return false;
    uint64_t still_us = now_us - worker->pace.moved_us;
    if ((double)still_us * 1e-6 > seconds)
        return true;
    uint64_t next_us = worker->pace.slow_line_us == 0 ? SLOW_US : 2 * worker->pace.slow_line_us;
    if (still_us < next_us)
        return false;
    worker->pace.slow_line_us = next_us;
    char text[MESSAGE_TEXT_MAX];
    stragglers_describe(worker, index, what, step, now_us, text);
    outbox_log(outbox, "%s", text);
    return false;
}

uint32_t stragglers_awaited(const struct membership *all, uint64_t now_us, uint32_t *longest)
{
    uint32_t owing = 0, through = 0, heard = 0;
    for (uint32_t i = 0; i < all->worker_count; i++) {
        const struct member *worker = &all->workers[i];
        if (!worker->present)
            continue;
        if (!worker->pace.owes) {
            through++;
            continue;
        }
        if (now_us - worker->pace.moved_us < STILL_US)
            return 0;
        if (owing++ == 0 || worker->pace.moved_us < all->workers[*longest].pace.moved_us)
            *longest = i;
        heard += now_us - worker->heard_us < STILL_US;
    }
    return through > 0 || heard == 0 ? owing : 0;
}

void stragglers_note(struct awaited *awaited, const struct membership *all, bool running,
                     uint64_t now_us, struct outbox *outbox)
{
    uint32_t longest = 0;
    bool waits = running && stragglers_awaited(all, now_us, &longest) > 0;
    if ((waits ? longest + 1 : 0) == awaited->worker)
        return;
    if (awaited->worker != 0)
        order_event(outbox, EVENT_AWAITED_OVER, .role = "worker", .index = awaited->worker - 1,
                    .seconds = seconds_since(awaited->since_us, now_us));
    if (waits)
        order_event(outbox, EVENT_AWAITED, .role = "worker", .index = longest);
    *awaited = waits ? (struct awaited){longest + 1, all->workers[longest].pace.moved_us}
                     : (struct awaited){0};
}

void stragglers_describe(const struct member *worker, uint32_t index, const char *what,
                         uint64_t step, uint64_t now_us, char text[MESSAGE_TEXT_MAX])
{
    bool silent = now_us - worker->heard_us >= STILL_US;
    uint64_t since_us = silent ? worker->heard_us : worker->pace.moved_us;
    snprintf(text, MESSAGE_TEXT_MAX, "%s %" PRIu64 " waits for worker/%u on %s: %s for %s", what,
             step, index, worker->host,
             silent                   ? "nothing heard"
             : worker->pace.computing ? "alive, computing"
                                      : "alive, exchanging",
             wording_duration((double)(now_us - since_us) * 1e-6).text);
}
