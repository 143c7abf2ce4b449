/* processors.h - hosts whose threads share their processors, in virtual time.
 *
 * A task is so many nanoseconds of one processor. While n tasks run on a host of P processors, each of
 * them gets min(1, P / n) of one: more busy threads than processors take longer, all alike, as under a
 * fair scheduler with short turns. A task is done at the first whole nanosecond at which it has had all
 * that it needs, and makes room then.
 *
 *     processors_begin(processors, now_ns, host, work_ns, tag);
 *     while ((next_ns = processors_next_ns(processors)) != UINT64_MAX) {
 *         processors_advance(processors, next_ns);
 *         while (processors_take(processors, &tag))       in the order in which they began
 *             ...                                         who may begin others at next_ns
 *     }
 *
 * Numbers are whole: shares are kept in 2^-40 ns, rounded down, and 2^-16 ns too little counts as enough;
 * so rounding moves no end by a nanosecond before 2^24 others have begun or ended meanwhile.
 *
 * Times given to it never go back, and none is beyond processors_next_ns.
 *
 * Threads: one. Units: virtual nanoseconds. Errors: out of memory ends the process, as in
 * event_queue.h. */

#ifndef DEPLOY_ENGINE_PROCESSORS_H
#define DEPLOY_ENGINE_PROCESSORS_H

#include <stdbool.h>
#include <stdint.h>

#define PROCESSORS_WORK_MOST UINT64_C(1000000000000000000) /* 32 years. */

struct processors;

/* counts: [host_count] of each host, from 1 to 2^16. */
struct processors *processors_create(const uint64_t *counts, uint32_t host_count);
void processors_free(struct processors *processors);

/* A task begins; more than PROCESSORS_WORK_MOST counts as that. The task's number, which is its until it
 * is taken or stopped. tag: the caller's, for when it is done. */
uint32_t processors_begin(struct processors *processors, uint64_t now_ns, uint32_t host,
                          uint64_t work_ns, uint64_t tag);

/* It stands still, and takes nothing from others; and goes on. One that is done already may be told so
 * until it is taken: nothing comes of it. */
void processors_hold(struct processors *processors, uint64_t now_ns, uint32_t task);
void processors_release(struct processors *processors, uint64_t now_ns, uint32_t task);

/* It ends here, done or not; what it has had of a processor, rounded down. */
uint64_t processors_stop(struct processors *processors, uint64_t now_ns, uint32_t task);

/* When a task is done next; UINT64_MAX: nothing runs. */
uint64_t processors_next_ns(const struct processors *processors);

/* It is now_ns: what is done by now is to be taken. */
void processors_advance(struct processors *processors, uint64_t now_ns);
bool processors_take(struct processors *processors, uint64_t *tag);

/* How many run on a host. */
uint32_t processors_running(const struct processors *processors, uint32_t host);

#endif
