/* inquiry.h - asks the resolver on a thread of its own, so that no other waits for a name server.
 *
 *     struct inquiry *inquiry = inquiry_begin("alpha:7000", false);
 *     ...
 *     inquiry_answer(inquiry, 0, &places);        STATUS_AGAIN until it is there
 *     inquiry_drop(&inquiry);                     at any time
 *
 * A dropped one ends when the system lets it; it holds nothing of the caller's meanwhile, and does
 * not keep the process.
 *
 * Threads: each from one thread at a time. */

#ifndef COMMON_ADDRESS_INQUIRY_H
#define COMMON_ADDRESS_INQUIRY_H

#include "common/address/resolver.h"

struct inquiry;

/* probe: find out as well whether there is a listener, which takes a second at most. NULL when
 * there is no memory, or no thread to be had. */
struct inquiry *inquiry_begin(const char *address, bool probe);

/* What has come, or comes within timeout_ms; places->status is STATUS_AGAIN when nothing has. */
void inquiry_answer(struct inquiry *inquiry, int timeout_ms, struct places *places);

/* Sets the pointer to NULL; NULL is fine. */
void inquiry_drop(struct inquiry **inquiry);

#endif
