/* environment.h - the variables that a place is read from: an array as environ is, given by whoever
 * asks, so that nothing here depends on the process it runs in.
 *
 * A variable that is set to nothing counts as one that is not set.
 *
 * Threads: pure. Ownership: values point into the array. */

#ifndef DEPLOY_PLACE_ENVIRONMENT_H
#define DEPLOY_PLACE_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"

/* The value of a variable in environment[.., NULL], or NULL. */
const char *environment_value(const char *const *environment, const char *name);

/* The whole number that a variable has to be, at most `max`. STATUS_NOT_FOUND when it is not set,
 * STATUS_INVALID when it is anything else; both name it. */
enum status environment_number(const char *const *environment, const char *name, uint64_t max,
                               uint64_t *value, struct error *error);

/* The same of a text: nothing but digits. */
bool environment_digits(const char *text, uint64_t max, uint64_t *value);

#endif
