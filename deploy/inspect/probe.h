/* probe.h - whether a server at an address is alive, or ready: for the probes of an engine, in an
 * image that has no shell and no HTTP client.
 *
 * Alive is a server that answers. Ready is one that serves its chunks, and server 0 when its job
 * runs.
 *
 * Threads: one. */

#ifndef DEPLOY_INSPECT_PROBE_H
#define DEPLOY_INSPECT_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/status.h"

struct keys;

/* Returns an enum exit_code. EXIT_DONE: the state is in text. EXIT_START_TIMEOUT: it is not ready;
 * EXIT_CANNOT_OPEN: no answer; both with a line in error. */
int probe_ask(const char *address, const struct keys *keys, bool ready, char *text, size_t size,
              struct error *error);

#endif
