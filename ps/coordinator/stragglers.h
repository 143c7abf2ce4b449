/* stragglers.h - finds the slow and the stuck among the workers that are alive.
 *
 * Alive and making progress are two signals. A worker that owes work and shows neither a report
 * nor any other change is slow, which is worth a line now and then, and after a deadline stuck,
 * which is as good as lost.
 *
 * Threads: the coordinator's. Time arrives as an argument. */

#ifndef PS_COORDINATOR_STRAGGLERS_H
#define PS_COORDINATOR_STRAGGLERS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/outbox.h"
#include "ps/orders/orders.h"
#include "ps/work/membership.h"

/* The worker has made progress. */
void stragglers_moved(struct member *worker, uint64_t now_us);

/* A worker's report of its state. */
void stragglers_heard(struct member *worker, const struct message_ping *ping, bool current,
                      uint64_t now_us);

/* Whether it owes work. `step`: the one that waits for it, for the line. True when it has made
 * no progress for longer than `seconds`. */
bool stragglers_is_stuck(struct member *worker, uint32_t index, bool owes, const char *what,
                         uint64_t step, double seconds, uint64_t now_us, struct outbox *outbox);

/* The number of workers that all others wait for: those that owe work, when none of them has
 * made progress for a second, and another worker is through or none of them is heard. `longest`:
 * the one of least progress. Uses the last call of stragglers_is_stuck. */
uint32_t stragglers_awaited(const struct membership *all, uint64_t now_us, uint32_t *longest);

struct awaited {
    uint32_t worker; /* One more; 0: there is none. */
    uint64_t since_us;
};

/* The one of stragglers_awaited as events, when it begins and when it is over. */
void stragglers_note(struct awaited *awaited, const struct membership *all, bool running,
                     uint64_t now_us, struct outbox *outbox);

/* "step 12 waits for worker/2 on gamma: alive, computing for 10 s", or "... nothing heard for 2 s". */
void stragglers_describe(const struct member *worker, uint32_t index, const char *what,
                         uint64_t step, uint64_t now_us, char text[MESSAGE_TEXT_MAX]);

#endif
