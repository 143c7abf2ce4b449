/* computation.c - one announcement, until it is answered. */

#include "worker/mode/computation.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/invariant.h"
#include "common/job/bases.h"
#include "common/transport/transport.h"

#define REPEAT_US 500000u

enum status computation_init(struct computation *computation, uint32_t chunk_count)
{
    memset(computation, 0, sizeof *computation);
    computation->chunk_count = chunk_count;
    computation->bases_capacity = (size_t)chunk_count * BASES_BYTES_A_CHUNK;
    computation->bases = malloc(computation->bases_capacity);
    computation->versions = calloc(chunk_count, sizeof *computation->versions);
    return computation->bases == NULL || computation->versions == NULL ? STATUS_MEMORY : STATUS_OK;
}

void computation_free(struct computation *computation)
{
    free(computation->bases);
    free(computation->versions);
    memset(computation, 0, sizeof *computation);
}

void computation_begin(struct computation *computation, uint64_t batch)
{
    if (!computation->announces)
        return;
    computation->open = true;
    computation->batch = batch;
    computation->number = computation->request = 0;
    computation->bases_bytes =
        bases_encode(computation->versions, computation->chunk_count, computation->bases);
}

static bool is_unconfirmed(const struct computation *computation)
{
    return computation->open && computation->number == 0;
}

bool computation_goes_with(const struct computation *computation, uint64_t request, bool repeated)
{
    return is_unconfirmed(computation) &&
           (computation->request == 0 ? !repeated : computation->request == request);
}

bool computation_is_due(const struct computation *computation, uint64_t now_us)
{
    return is_unconfirmed(computation) &&
           (computation->request == 0 || now_us - computation->said_us >= REPEAT_US);
}

/* It is longer than a header. Without memory for it the LEASE goes without, and is repeated. */
static void add_payload(const struct computation *c, struct packet *lease)
{
    size_t bytes = (c->bases_bytes + sizeof(float) - 1) / sizeof(float) * sizeof(float);
    lease->payload = frame_create(bytes);
    lease->place = TRANSPORT_PLACE_NOWHERE;
    if (lease->payload == NULL) {
        lease->message.lease.announces = false;
        return;
    }
    memset((uint8_t *)lease->payload->data + bytes - sizeof(float), 0, sizeof(float));
    memcpy(lease->payload->data, c->bases, c->bases_bytes);
}

void computation_announce(struct computation *computation, struct packet *lease, uint64_t now_us)
{
    struct computation *c = computation;
    struct message_lease *message = &lease->message.lease;
    message->announces = true;
    message->bases_of = c->batch;
    if (c->bases_bytes > LEASE_BASES_BYTES) {
        add_payload(c, lease);
    } else {
        message->bases_bytes = (uint32_t)c->bases_bytes;
        memcpy(message->bases, c->bases, c->bases_bytes);
    }
    c->request = lease->message.request;
    c->said_us = now_us;
}

void computation_heard(struct computation *computation, uint64_t request, uint64_t number)
{
    if (is_unconfirmed(computation) && computation->request != 0 && computation->request == request)
        computation->number = number;
}

bool computation_may_leave(const struct computation *computation, uint64_t batch, uint64_t *number)
{
    *number = computation->announces ? computation->number : 0;
    return !computation->announces ||
           (computation->open && computation->batch == batch && computation->number != 0);
}

void computation_forget(struct computation *computation)
{
    if (computation->number == 0)
        computation->open = false;
}

void computation_check(const struct computation *computation)
{
    const struct computation *c = computation;
    INVARIANT("computation", IMPLIES(c->open, c->bases_bytes > 0), "what is announced has bases");
    INVARIANT("computation", c->bases_bytes <= c->bases_capacity, "there is room for every base");
    INVARIANT("computation", IMPLIES(c->number != 0, c->request != 0),
              "only what was announced has a number");
}
