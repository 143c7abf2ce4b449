/* eviction.h - asks server 0 to let one worker leave, and waits until it has.
 *
 * Asked once it is asked for good: what is said again only asks what has become of it, so that
 * whoever takes the place meanwhile stays.
 *
 * Threads: one. */

#ifndef DEPLOY_LEAVE_EVICTION_H
#define DEPLOY_LEAVE_EVICTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/address/address.h"
#include "common/base/status.h"

struct keys;

/* "alpha:7000/worker/3" into its parts; false when it is nothing like it. */
bool eviction_read(const char *text, char address[ADDRESS_MAX], uint32_t *worker);

/* Returns an enum exit_code: EXIT_DONE when the worker has left, with a line about how in text
 * (`size` bytes), or with what is wrong in error: EXIT_MISMATCH when there is no such worker or it
 * may not go, EXIT_CLUSTER_LOST when it has not left within `seconds`. keys: NULL for none. */
int eviction_ask(const char *address, uint32_t worker, const struct keys *keys, double seconds,
                 char *text, size_t size, struct error *error);

#endif
