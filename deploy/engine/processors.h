/* processors.h - hosts whose threads share their processors, in virtual time.
 *
 * A task is so many nanoseconds of one processor. While n tasks run on a host of P processors, each
 * of them gets min(1, P / n) of one: more busy threads than processors take longer, all alike, as
 * under a fair scheduler with short time slices. A task is done at the first whole nanosecond at
 * which it has had its work, and then releases its share.
 *
 *     processors_begin(processors, now_ns, host, work_ns, tag);
 *     while ((next_ns = processors_next_ns(processors)) != UINT64_MAX) {
 *         processors_advance(processors, next_ns);
 *         while (processors_take(processors, &tag))       in the order in which they began
 *             ...                                         may begin others at next_ns
 *     }
 *
 * Numbers are integers: shares are in 2^-40 ns, rounded down, and a deficit of 2^-16 ns counts as
 * done. Therefore rounding moves no end by a nanosecond before 2^24 others have begun or ended
 * meanwhile.
 *
 * Time arguments never decrease, and none is beyond processors_next_ns.
 *
 * Threads: one. Units: virtual nanoseconds. Errors: out of memory ends the process, as in
 *          event_queue.h. */

#ifndef DEPLOY_ENGINE_PROCESSORS_H
#define DEPLOY_ENGINE_PROCESSORS_H

#include <stdbool.h>
#include <stdint.h>

#define PROCESSORS_WORK_MOST UINT64_C(1000000000000000000) /* 32 years. */

struct processors;

/* counts: [host_count] of each host, from 1 to 2^16. */
struct processors *processors_create(const uint64_t *counts, uint32_t host_count);
void processors_free(struct processors *processors);

/* Begin a task; more than PROCESSORS_WORK_MOST is limited to that. Returns the task's number, valid
 * until it is taken or stopped. tag: the caller's, returned at the end. */
uint32_t processors_begin(struct processors *processors, uint64_t now_ns, uint32_t host,
                          uint64_t work_ns, uint64_t tag);

/* Suspend and resume a task; it takes no share meanwhile. For a task that is done and not yet taken
 * there is no effect. */
void processors_hold(struct processors *processors, uint64_t now_ns, uint32_t task);
void processors_release(struct processors *processors, uint64_t now_ns, uint32_t task);

/* End it now, done or not; returns its processor time, rounded down. */
uint64_t processors_stop(struct processors *processors, uint64_t now_ns, uint32_t task);

/* The time of the next end; UINT64_MAX: no task is running. */
uint64_t processors_next_ns(const struct processors *processors);

/* Advance to now_ns; then take the tasks that are done. */
void processors_advance(struct processors *processors, uint64_t now_ns);
bool processors_take(struct processors *processors, uint64_t *tag);

/* The number of running tasks on a host. */
uint32_t processors_running(const struct processors *processors, uint32_t host);

#endif
