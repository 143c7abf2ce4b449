/* computation.c - the versions of all chunks, as bytes, and the messages that carry them. */

#include "worker/mode/computation.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/invariant.h"
#include "common/job/bases.h"

enum status computation_init(struct computation *computation, uint32_t chunk_count)
{
    computation->chunk_count = chunk_count;
    computation->bases = malloc((size_t)chunk_count * BASES_BYTES_A_CHUNK);
    return computation->bases == NULL ? STATUS_MEMORY : STATUS_OK;
}

void computation_free(struct computation *computation)
{
    free(computation->bases);
}

void computation_begin(struct computation *computation, uint64_t batch, uint64_t ticket,
                       const uint64_t *versions)
{
    if (!computation->records)
        return;
    computation->count++;
    computation->batch = batch;
    computation->ticket = ticket;
    computation->bases_bytes = bases_encode(versions, computation->chunk_count, computation->bases);
}

void computation_describe(const struct computation *computation, const struct envelope *envelope,
                          uint32_t server, struct outbox *outbox)
{
    const struct computation *c = computation;
    for (size_t at = 0; at < c->bases_bytes; at += GRADIENT_PAGE_BYTES) {
        struct message_gradient *page =
            &envelope_to_server_as(envelope, server, MESSAGE_GRADIENT, 0, outbox)->message.gradient;
        size_t left = c->bases_bytes - at;
        page->count = c->count;
        page->ticket = c->ticket;
        page->batch = c->batch;
        page->clock = c->clock;
        page->offset = (uint32_t)at;
        page->total = (uint32_t)c->bases_bytes;
        page->bytes = left < GRADIENT_PAGE_BYTES ? (uint32_t)left : GRADIENT_PAGE_BYTES;
        memcpy(page->bases, c->bases + at, page->bytes);
    }
}

void computation_check(const struct computation *computation)
{
    const struct computation *c = computation;
    INVARIANT("computation", IMPLIES(c->count > 0, c->bases_bytes > 0), "what is made has bases");
    INVARIANT("computation", c->bases_bytes <= (size_t)c->chunk_count * BASES_BYTES_A_CHUNK,
              "there is room for every base");
}
