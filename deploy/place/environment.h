/* environment.h - the variables that a place is read from: an array like environ, given by the
 * caller. The result does not depend on the calling process.
 *
 * An empty variable counts as unset.
 *
 * Threads: pure. Ownership: values point into the array. */

#ifndef DEPLOY_PLACE_ENVIRONMENT_H
#define DEPLOY_PLACE_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"

/* The value of a variable in environment[.., NULL], or NULL. */
const char *environment_value(const char *const *environment, const char *name);

/* A variable as a whole number of at most `max`. STATUS_NOT_FOUND when it is unset, STATUS_INVALID
 * for another value; both name it. */
enum status environment_number(const char *const *environment, const char *name, uint64_t max,
                               uint64_t *value, struct error *error);

/* The same for a text: only digits. */
bool environment_digits(const char *text, uint64_t max, uint64_t *value);

#endif
