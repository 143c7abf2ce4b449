/* inspect_address.h - what a running server 0 says of its job.
 *
 * Threads: one. */

#ifndef DEPLOY_INSPECT_ADDRESS_H
#define DEPLOY_INSPECT_ADDRESS_H

#include "common/status.h"

struct keys;

/* Ask the server at "host:port" for its status, print it to standard output, and return an enum
 * exit_code; error holds one line when it is not EXIT_DONE. Waits for an answer for `timeout`
 * seconds at most. keys: NULL for none. */
int inspect_address(const char *address, const struct keys *keys, double timeout,
                    struct error *error);

#endif
