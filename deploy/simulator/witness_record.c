/* witness_record.c - every announcement of a history, searched from its end. */

#include "deploy/simulator/witness_record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/job/bases.h"
#include "deploy/simulator/witness.h"

void witness_record_init(struct witness *witness)
{
    witness->record.records =
        job_mode(witness->job)->records && witness->job->record == RECORDING_ON;
}

void witness_record_free(struct witness *witness)
{
    for (size_t i = 0; i < witness->record.count; i++)
        free(witness->record.computations[i].bases);
    free(witness->record.computations);
}

/* --- announcing ---------------------------------------------------------------------------- */

static struct witness_computation *find_request(const struct witness *w, uint32_t process,
                                                uint64_t generation, uint64_t request)
{
    for (size_t i = w->record.count; i-- > 0;) {
        struct witness_computation *it = &w->record.computations[i];
        if (it->process == process && it->generation == generation && it->request == request)
            return it;
    }
    return NULL;
}

static struct witness_computation *find_number(const struct witness *w, uint64_t generation,
                                               uint64_t number)
{
    for (size_t i = w->record.count; i-- > 0;) {
        struct witness_computation *it = &w->record.computations[i];
        if (it->number == number && it->generation == generation)
            return it;
    }
    return NULL;
}

static void take_announcement(struct witness *w, uint32_t process, const struct packet *packet)
{
    const struct message *message = &packet->message;
    const struct frame *payload = packet->payload;
    uint32_t chunks = w->partition->chunk_count;
    struct witness_computation computation = {.process = process,
                                              .generation = message->generation,
                                              .request = message->request,
                                              .batch = message->lease.bases_of};
    struct witness_computation *all =
        array_room(w->record.computations, w->record.count, &w->record.capacity, sizeof *all);
    computation.bases = calloc(chunks, sizeof *computation.bases);
    if (all != NULL)
        w->record.computations = all;
    if (all == NULL || computation.bases == NULL) {
        free(computation.bases);
        witness_fail(w, "out of memory for a witness");
        return;
    }
    bool fits = payload != NULL ? bases_decode(payload->data, payload->bytes, w->job->steps,
                                               computation.bases, chunks)
                                : bases_decode(message->lease.bases, message->lease.bases_bytes,
                                               w->job->steps, computation.bases, chunks);
    if (!fits)
        witness_fail(w, "process %u announces what are no bases", process);
    const struct witness_computation *same =
        find_request(w, process, message->generation, message->request);
    if (same == NULL) {
        all[w->record.count++] = computation;
        w->counts.record.announced++;
        return;
    }
    if (same->batch != computation.batch ||
        memcmp(same->bases, computation.bases, chunks * sizeof *same->bases) != 0)
        witness_fail(w, "process %u announces another thing under a number it has used", process);
    free(computation.bases);
}

/* A gradient, or a batch to be left out, for one chunk. */
static void check_sent(struct witness *w, uint32_t process, const struct message *message)
{
    const struct message_exchange *exchange = &message->exchange;
    const struct witness_computation *it =
        find_number(w, message->generation, exchange->computation);
    if (exchange->computation == 0)
        witness_fail(w, "process %u sends batch %" PRIu64 " before it has a number for it", process,
                     exchange->step);
    else if (it == NULL || it->process != process || it->batch != exchange->step)
        witness_fail(w,
                     "process %u sends batch %" PRIu64 " as computation %" PRIu64
                     ", which is not what it has announced",
                     process, exchange->step, exchange->computation);
    else if (it->bases[exchange->chunk] != exchange->base_version)
        witness_fail(w,
                     "computation %" PRIu64 " was announced as made from version %" PRIu64
                     " of chunk %u, and is sent as made from %" PRIu64,
                     exchange->computation, it->bases[exchange->chunk], exchange->chunk,
                     exchange->base_version);
}

void witness_record_asks(struct witness *witness, uint32_t process, const struct packet *packet)
{
    const struct message *message = &packet->message;
    if (!witness->record.records || witness->failed)
        return;
    if (message->kind == MESSAGE_LEASE && message->lease.announces)
        take_announcement(witness, process, packet);
    else if (message->kind == MESSAGE_EXCHANGE &&
             (message->exchange.gradient || message->exchange.skip))
        check_sent(witness, process, message);
}

/* --- numbers ------------------------------------------------------------------------------- */

void witness_record_says(struct witness *witness, const struct outgoing *item, uint32_t to)
{
    struct witness *w = witness;
    const struct message *message = &item->packet.message;
    uint64_t number = message->kind == MESSAGE_WORK ? message->work.computation : 0;
    if (item->to != TO_PEER || number == 0 || to >= w->process_count ||
        w->processes[to].worker == NULL || w->failed)
        return;
    struct witness_computation *it = find_request(w, to, message->generation, message->request);
    const struct witness_computation *other = find_number(w, message->generation, number);
    if (it == NULL)
        witness_fail(w, "computation %" PRIu64 " is a number for what process %u has not announced",
                     number, to);
    else if ((other != NULL && other != it) || (it->number != 0 && it->number != number))
        witness_fail(w, "computation %" PRIu64 " is given for two", number);
    else if (it->number == 0) {
        it->number = number;
        w->counts.record.numbered++;
    }
}
