/* scarcity.h - a program whose n-th allocation fails, for tests of what becomes of the rest.
 *
 *     for (unsigned n = 1; hit; n++) {
 *         scarcity_arm(n);
 *         enum status status = plan_create(&plan, &job, 0, 99, &error);
 *         hit = scarcity_disarm();
 *         ck_assert(hit ? status == STATUS_MEMORY : status == STATUS_OK);
 *     }
 *
 * Only our own calls of malloc, calloc, realloc and aligned_alloc fail, not those that libraries
 * make: whoever uses this is linked with --wrap (Makefile, SCARCE), and so it works under
 * sanitizers as well. What has no memory to speak with ends its process (outbox.h, mailbox.h): that
 * memory is there.
 *
 * Threads: one. */

#ifndef TESTS_LIB_MEMORY_SCARCITY_H
#define TESTS_LIB_MEMORY_SCARCITY_H

#include <stdbool.h>

/* Of the allocations from now on number n fails, from 1 on; the others do not. */
void scarcity_arm(unsigned n);

/* From now on none fails. Whether one has. */
bool scarcity_disarm(void);

/* While it is paused, allocations are neither counted nor fail. What it was before. */
bool scarcity_pause(bool paused);

/* Outboxes' memory is counted like any other, for the test that it ends the process. */
void scarcity_strike_outboxes(bool too);

#endif
