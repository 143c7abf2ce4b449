/* oracle_record.c - every announcement of a history, searched from its end. */

#include "deploy/verify/oracle_record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/job/bases.h"
#include "common/store/run_record.h"
#include "deploy/verify/oracle.h"
#include "ps/shard/update_log.h"

enum status oracle_record_init(struct oracle *oracle)
{
    struct oracle_record *record = &oracle->record;
    record->records = !job_mode(oracle->job)->steps && oracle->job->record == RECORDING_ON;
    if (!record->records)
        return STATUS_OK;
    record->entries = calloc(oracle->partition->chunk_count, sizeof *record->entries);
    for (uint32_t i = 0; record->entries != NULL && i < oracle->partition->chunk_count; i++)
        if ((record->entries[i] = calloc(oracle->job->steps, sizeof **record->entries)) == NULL)
            return STATUS_MEMORY;
    return record->entries == NULL ? STATUS_MEMORY : STATUS_OK;
}

void oracle_record_free(struct oracle *oracle)
{
    for (size_t i = 0; i < oracle->record.count; i++)
        free(oracle->record.computations[i].bases);
    for (uint32_t i = 0; oracle->record.entries != NULL && i < oracle->partition->chunk_count; i++)
        free(oracle->record.entries[i]);
    free(oracle->record.entries);
    free(oracle->record.computations);
}

/* --- announcing ---------------------------------------------------------------------------- */

static struct oracle_computation *find_request(const struct oracle *w, uint32_t process,
                                               uint64_t generation, uint64_t request)
{
    for (size_t i = w->record.count; i-- > 0;) {
        struct oracle_computation *it = &w->record.computations[i];
        if (it->process == process && it->generation == generation && it->request == request)
            return it;
    }
    return NULL;
}

static struct oracle_computation *find_number(const struct oracle *w, uint64_t generation,
                                              uint64_t number)
{
    for (size_t i = w->record.count; i-- > 0;) {
        struct oracle_computation *it = &w->record.computations[i];
        if (it->number == number && it->generation == generation)
            return it;
    }
    return NULL;
}

static void take_announcement(struct oracle *w, uint32_t process, const struct packet *packet)
{
    const struct message *message = &packet->message;
    const struct frame *payload = packet->payload;
    uint32_t chunks = w->partition->chunk_count;
    struct oracle_computation computation = {.process = process,
                                             .generation = message->generation,
                                             .request = message->request,
                                             .batch = message->lease.bases_of};
    struct oracle_computation *all =
        array_room(w->record.computations, w->record.count, &w->record.capacity, sizeof *all);
    computation.bases = calloc(chunks, sizeof *computation.bases);
    if (all != NULL)
        w->record.computations = all;
    if (all == NULL || computation.bases == NULL) {
        free(computation.bases);
        oracle_fail(w, "out of memory for a witness");
        return;
    }
    bool fits = payload != NULL ? bases_decode(payload->data, payload->bytes, w->job->steps,
                                               computation.bases, chunks)
                                : bases_decode(message->lease.bases, message->lease.bases_bytes,
                                               w->job->steps, computation.bases, chunks);
    if (!fits)
        oracle_fail(w, "process %u announces what are no bases", process);
    const struct oracle_computation *same =
        find_request(w, process, message->generation, message->request);
    if (same == NULL) {
        all[w->record.count++] = computation;
        w->counts.record.announced++;
        return;
    }
    if (same->batch != computation.batch ||
        memcmp(same->bases, computation.bases, chunks * sizeof *same->bases) != 0)
        oracle_fail(w, "process %u announces another thing under a number it has used", process);
    free(computation.bases);
}

/* A gradient, or a batch to be left out, for one chunk. */
static void check_sent(struct oracle *w, uint32_t process, const struct message *message)
{
    const struct message_exchange *exchange = &message->exchange;
    const struct oracle_computation *it =
        find_number(w, message->generation, exchange->computation);
    if (exchange->computation == 0)
        oracle_fail(w, "process %u sends batch %" PRIu64 " before it has a number for it", process,
                    exchange->step);
    else if (it == NULL || it->process != process || it->batch != exchange->step)
        oracle_fail(w,
                    "process %u sends batch %" PRIu64 " as computation %" PRIu64
                    ", which is not what it has announced",
                    process, exchange->step, exchange->computation);
    else if (it->bases[exchange->chunk] != exchange->base_version)
        oracle_fail(w,
                    "computation %" PRIu64 " was announced as made from version %" PRIu64
                    " of chunk %u, and is sent as made from %" PRIu64,
                    exchange->computation, it->bases[exchange->chunk], exchange->chunk,
                    exchange->base_version);
}

void oracle_record_asks(struct oracle *oracle, uint32_t process, const struct packet *packet)
{
    const struct message *message = &packet->message;
    if (!oracle->record.records || oracle->failed)
        return;
    if (message->kind == MESSAGE_LEASE && message->lease.announces)
        take_announcement(oracle, process, packet);
    else if (message->kind == MESSAGE_EXCHANGE &&
             (message->exchange.gradient || message->exchange.skip))
        check_sent(oracle, process, message);
}

/* --- numbers ------------------------------------------------------------------------------- */

void oracle_record_says(struct oracle *oracle, const struct outgoing *item, uint32_t to)
{
    struct oracle *w = oracle;
    const struct message *message = &item->packet.message;
    uint64_t number = message->kind == MESSAGE_WORK ? message->work.computation : 0;
    if (item->to != TO_PEER || number == 0 || to >= w->process_count ||
        w->processes[to].worker == NULL || w->failed)
        return;
    struct oracle_computation *it = find_request(w, to, message->generation, message->request);
    const struct oracle_computation *other = find_number(w, message->generation, number);
    if (it == NULL)
        oracle_fail(w, "computation %" PRIu64 " is a number for what process %u has not announced",
                    number, to);
    else if ((other != NULL && other != it) || (it->number != 0 && it->number != number))
        oracle_fail(w, "computation %" PRIu64 " is given for two", number);
    else if (it->number == 0) {
        it->number = number;
        w->counts.record.numbered++;
    }
}

/* --- what chunks have had ------------------------------------------------------------------ */

void oracle_record_took(struct oracle *oracle, uint32_t chunk, uint64_t batches,
                        const struct packet *packet, bool skipped)
{
    const struct message *message = &packet->message;
    if (!oracle->record.records || batches >= oracle->job->steps)
        return;
    struct oracle_entry *entry = &oracle->record.entries[chunk][batches];
    const struct oracle_computation *it =
        find_number(oracle, message->generation, message->exchange.computation);
    if (it == NULL || it->batch != message->exchange.step ||
        it->bases[chunk] != message->exchange.base_version)
        oracle_fail(oracle,
                    "chunk %u takes batch %" PRIu64 " as of computation %" PRIu64
                    ", which is not what was announced",
                    chunk, message->exchange.step, message->exchange.computation);
    if (message->generation >= entry->generation)
        *entry = (struct oracle_entry){message->generation, message->exchange.computation, skipped,
                                       false};
}

void oracle_record_closed(struct oracle *oracle, uint32_t chunk, uint64_t batches)
{
    if (oracle->record.records)
        oracle->record.entries[chunk][batches - 1].closes = true;
}

void oracle_record_snapshot(struct oracle *oracle, uint32_t chunk, uint64_t generation,
                            const struct packet *packet)
{
    struct oracle *w = oracle;
    const uint32_t *list;
    uint32_t count;
    uint64_t step = packet->message.chunk_state.step;
    if (!w->record.records || !update_log_unpack(packet->payload, &list, &count) || count > step) {
        oracle_fail(w, "what chunk %u has had is handed over, and is no such thing", chunk);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct oracle_entry *entry = &w->record.entries[chunk][step - count + i];
        uint64_t number = update_log_number(list[i], 0);
        if (entry->generation > generation)
            continue; /* A server that was replaced speaks of what has been undone. */
        if (number != entry->computation || !(list[i] & LOGGED_CLOSES) != !entry->closes ||
            !(list[i] & LOGGED_SKIPPED) != !entry->skipped)
            oracle_fail(w,
                        "chunk %u says that it has had computation %" PRIu64 " as number %" PRIu64
                        ", and has had %" PRIu64,
                        chunk, number, step - count + i, entry->computation);
    }
    w->counts.record.entries += count;
}

/* --- the file ------------------------------------------------------------------------------ */

static bool is_announced(const struct oracle *w, const struct run_record_computation *it)
{
    uint32_t chunks = w->partition->chunk_count;
    for (size_t i = w->record.count; i-- > 0;) {
        const struct oracle_computation *known = &w->record.computations[i];
        if (known->number == it->number && known->batch == it->batch &&
            w->processes[known->process].worker->index == it->worker &&
            memcmp(known->bases, it->bases, chunks * sizeof *it->bases) == 0)
            return true;
    }
    return false;
}

/* Entry `place` of a chunk, counted from the beginning of the stretch. */
static const struct run_record_computation *had(const struct run_record_interval *interval,
                                                uint32_t chunk, uint64_t place, bool *skipped,
                                                bool *closes)
{
    uint64_t batches = interval->to.batches - interval->from.batches;
    const struct run_record_place *it = &interval->places[chunk * batches + place];
    *skipped = it->skipped;
    *closes = it->closes;
    return &interval->computations[it->computation];
}

static void check_interval(struct oracle *w, const struct run_record_interval *interval)
{
    bool skipped, closes;
    for (uint32_t i = 0; i < interval->computation_count; i++)
        if (!is_announced(w, &interval->computations[i]))
            oracle_fail(w, "the record has a computation %" PRIu64 " that was not announced so",
                        interval->computations[i].number);
    for (uint64_t at = interval->from.batches; at < interval->to.batches; at++)
        for (uint32_t chunk = 0; chunk < w->partition->chunk_count; chunk++) {
            const struct oracle_entry *entry = &w->record.entries[chunk][at];
            const struct run_record_computation *it =
                had(interval, chunk, at - interval->from.batches, &skipped, &closes);
            if (it->number != entry->computation || skipped != entry->skipped ||
                closes != entry->closes)
                oracle_fail(w,
                            "the record has computation %" PRIu64 " as number %" PRIu64
                            " of chunk %u, which has had %" PRIu64,
                            it->number, at, chunk, entry->computation);
            w->counts.record.kept++;
        }
    for (uint32_t i = 0; i < interval->computation_count; i++)
        for (uint32_t j = 0; j < i; j++)
            w->counts.record.torn +=
                interval->computations[i].batch == interval->computations[j].batch;
}

uint64_t oracle_record_finish(struct oracle *oracle, const void *bytes, size_t count, uint64_t step)
{
    struct oracle *w = oracle;
    struct run_record_reader reader = {.count = 0};
    struct error error = {STATUS_OK, ""};
    uint64_t end = UINT64_MAX;
    enum status status = run_record_reader_open(&reader, "the record", bytes, count, &error);
    while (status == STATUS_OK && (status = run_record_reader_next(&reader, &error)) == STATUS_OK) {
        if (w->record.records)
            check_interval(w, &reader.interval);
        end = reader.interval.to.batches;
    }
    if (status != STATUS_NOT_FOUND)
        oracle_fail(w, "the record cannot be read: %s", error.text);
    else if (end != step)
        oracle_fail(w, "the record ends at %" PRIu64 " and the checkpoint at %" PRIu64, end, step);
    uint64_t began = status == STATUS_NOT_FOUND ? reader.segment.batches : 0;
    run_record_reader_close(&reader);
    return began;
}
