/* sender.h - who this worker is, as every message that it sends says.
 *
 * Threads: the session's. */

#ifndef WORKER_CLIENT_SENDER_H
#define WORKER_CLIENT_SENDER_H

#include <stdint.h>

#include "common/wire/outbox.h"

struct sender {
    uint32_t worker;
    uint64_t incarnation;
    uint64_t run_id;        /* 0 before the first WELCOME; kept for good. */
    uint64_t ticket, proof; /* Of the latest WELCOME. */
    uint64_t generation;    /* The same, or of a later START. */
    uint64_t last_request;  /* Requests are numbered from 1. */
};

/* A message to server number `server` under a number of its own. */
struct packet *sender_add(struct sender *sender, uint32_t server, enum message_kind kind,
                          struct outbox *outbox);

/* The same under a number taken before. */
struct packet *sender_add_as(const struct sender *sender, uint32_t server, enum message_kind kind,
                             uint64_t request, struct outbox *outbox);

#endif
