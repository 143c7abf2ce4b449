/* observer.h - asks a running job's server 0 what it is doing, many times a second.
 *
 * What `syncopate inspect host:port` shows once. A server that is away is asked again and again on
 * a connection made anew, so that its return is seen at once.
 *
 * Threads: one. Errors: running out of memory or descriptors ends the program. */

#ifndef TESTS_LIB_OBSERVER_H
#define TESTS_LIB_OBSERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/transport/transport.h"
#include "common/wire/message.h"

struct observer {
    struct transport *transport;
    struct endpoint *endpoint;
    char address[ADDRESS_MAX];
    struct message_status_answer answer; /* The last ... */
    char text[2 * MESSAGE_TEXT_MAX];     /* ... in words: "state: running, mode: sync, ..." */
};

void observer_open(struct observer *observer, const char *address);
void observer_close(struct observer *observer);

/* Ask until there is an answer, into text; false when none came within so many seconds. */
bool observer_ask(struct observer *observer, double seconds);

/* From the last answer: the number of updates made; 0 without. */
uint64_t observer_step(const struct observer *observer);
/* Whether it says "state: NAME". */
bool observer_state_is(const struct observer *observer, const char *name);

#endif
