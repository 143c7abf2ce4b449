/* silence.h - why there is no answer at an address, in words for the person who waits.
 *
 *     connection refused by alpha:7000 (10.0.0.5:7000): nothing listens there; is syncopate-ps
 *     running on alpha, and does its log say that it listens on that address?
 *
 * Threads: no shared state. */

#ifndef COMMON_ADDRESS_SILENCE_H
#define COMMON_ADDRESS_SILENCE_H

#include <stddef.h>

#include "common/address/route.h"

/* What is known of an address to which route leads; "" when there is a connection. */
void silence_describe(const char *address, const struct route *route, char *text, size_t size);

/* "alpha:7000 (10.0.0.5:7000)", or what is numeric already alone. */
void silence_name(const char *address, const char *place, char *text, size_t size);

#endif
