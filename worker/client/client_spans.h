/* client_spans.h - passes what a worker's client does to its recorder (common/trace/recorder.h),
 * if there is one.
 *
 * Threads: those of the client; of messages, the driver's. */

#ifndef WORKER_CLIENT_CLIENT_SPANS_H
#define WORKER_CLIENT_CLIENT_SPANS_H

#include "common/trace/recorder.h"
#include "worker/client/client.h"
#include "worker/client/interval.h"

struct client_spans {
    struct recorder *recorder; /* Borrowed. */
    uint32_t worker;
};

/* For the session: where its time went. */
struct time_spent_listener client_spans_listener(struct client_spans *spans);

/* A message was sent, or taken and handled, since from_ns. */
void client_spans_message(const struct client_spans *spans, enum span_kind kind, uint32_t server,
                          const struct message *message, uint64_t from_ns);

/* The trainer has just computed this gradient (after the step was given), or scored a share. */
void client_spans_gradient(const struct client_spans *spans, const struct push *push);
void client_spans_score(const struct client_spans *spans, const struct work *work,
                        uint64_t took_us);

#endif
