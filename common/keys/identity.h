/* identity.h - who a peer is allowed to be: its key, and what its certificate limits that key to.
 *
 * The guard of a listening transport (transport_zmq_guard.h) writes it as text into what ZeroMQ
 * calls the User-Id of a connection, and it comes along with every message of that connection:
 *
 *     Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID              may be anything
 *     Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID worker       any worker
 *     Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID worker/3     this one
 *
 * Threads: plain values. */

#ifndef COMMON_KEYS_IDENTITY_H
#define COMMON_KEYS_IDENTITY_H

#include <stddef.h>

#include "common/base/key.h"

#define IDENTITY_TEXT 64

struct identity {
    uint8_t key[KEY_BYTES]; /* None (zeros): keys are not used, and nothing is known. */
    uint32_t role;          /* enum role; ROLE_NONE: any. */
    bool has_index;         /* Only with a role. */
    uint32_t index;
};

void identity_format(const struct identity *identity, char text[IDENTITY_TEXT]);

/* False when the text is not exactly what identity_format writes; identity is zeroed then. */
bool identity_parse(const char *text, struct identity *identity);

/* Whether it may speak as role/index (an enum role). Any peer may observe, and without keys
 * any peer may be anything. */
bool identity_may_be(const struct identity *identity, uint32_t role, uint32_t index);

/* What it may be, for people: "worker/3", "any worker", "anything". */
void identity_describe(const struct identity *identity, char *text, size_t size);

/* "ps", "worker" or "observer" into a role; false for any other word. */
bool identity_role_parse(const char *word, uint32_t *role);

/* A task index in decimal digits, at most `max`. */
bool identity_index_parse(const char *digits, uint32_t max, uint32_t *index);

#endif
