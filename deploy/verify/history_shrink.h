/* history_shrink.h - the shortest history that still breaks a promise.
 *
 * Threads: one. */

#ifndef DEPLOY_VERIFY_HISTORY_SHRINK_H
#define DEPLOY_VERIFY_HISTORY_SHRINK_H

#include "deploy/verify/history.h"

/* Of a plan whose history fails: takes out one thing after the other while it fails, each time with some
 * violation, until nothing can be taken out. `result` is that of what is left. How often it was run. */
uint32_t history_shrink(struct history_plan *plan, struct history_result *result);

#endif
