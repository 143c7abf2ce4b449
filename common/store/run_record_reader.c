/* run_record_reader.c - one interval at a time: its blocks up to the snapshot, each held against
 * its checksum; then, when all its computations are known, the entries of every chunk. */

#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/crc32c.h"
#include "common/base/varint.h"
#include "common/job/partition.h"
#include "common/store/run_record.h"
#include "common/store/run_record_block.h"

/* Entries of one chunk, as they lie in the file. */
struct run_record_piece {
    uint32_t chunk, count;
    uint64_t first;
    size_t body, end;
};

static enum status __attribute__((format(printf, 4, 5)))
damaged(const struct run_record_reader *r, size_t at, struct error *error, const char *format, ...)
{
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return error_set(error, STATUS_INVALID, "%s: damaged at byte %zu: %s", r->name, at, what);
}

static enum status no_memory(const struct run_record_reader *r, struct error *error)
{
    return error_set(error, STATUS_MEMORY, "%s: out of memory to read it", r->name);
}

/* --- the segment --------------------------------------------------------------------------- */

/* Fixed members before the chunks' elements. */
#define SEGMENT_FIXED (8 + 8 + DIGEST_BYTES + 4 + 4 + 4 + 8 + 8 + 8 + 4)

static enum status check_start(struct run_record_reader *r, size_t *length, struct error *error)
{
    if (r->count < RUN_RECORD_START)
        return damaged(r, r->count, error, "it ends before its segment");
    if (memcmp(r->bytes, RUN_RECORD_MAGIC, RUN_RECORD_MAGIC_BYTES) != 0)
        return damaged(r, 0, error, "it does not begin as a record does");
    uint32_t format = run_record_u32(r->bytes + RUN_RECORD_MAGIC_BYTES);
    if (format != RUN_RECORD_FORMAT)
        return error_set(error, STATUS_INVALID,
                         "%s: is a record of format %" PRIu32 ", and this program reads %d",
                         r->name, format, RUN_RECORD_FORMAT);
    *length = run_record_u32(r->bytes + RUN_RECORD_MAGIC_BYTES + 4);
    if (r->count - RUN_RECORD_START < RUN_RECORD_BLOCK_END ||
        *length > r->count - RUN_RECORD_START - RUN_RECORD_BLOCK_END)
        return damaged(r, r->count, error, "it ends within its segment");
    size_t end = RUN_RECORD_START + *length;
    r->chain = crc32c(0, r->bytes, end);
    if (r->chain != run_record_u32(r->bytes + end))
        return damaged(r, end, error, "the checksum of its segment is wrong");
    return *length < SEGMENT_FIXED ? damaged(r, end, error, "its segment is too short") : STATUS_OK;
}

static void take_fixed(struct run_record_segment *segment, const uint8_t *at)
{
    segment->run_id = run_record_u64(at);
    segment->session = run_record_u64(at + 8);
    memcpy(segment->declaration, at + 16, DIGEST_BYTES);
    at += 16 + DIGEST_BYTES;
    segment->instructions = run_record_u32(at);
    segment->worker_count = run_record_u32(at + 4);
    segment->server_count = run_record_u32(at + 8);
    segment->batches = run_record_u64(at + 12);
    segment->version = run_record_u64(at + 20);
    segment->computation = run_record_u64(at + 28);
    segment->chunk_count = run_record_u32(at + 36);
}

static enum status take_elements(struct run_record_reader *r, size_t length, struct error *error)
{
    struct run_record_segment *segment = &r->segment;
    struct varint_input input = {r->bytes, RUN_RECORD_START + length,
                                 RUN_RECORD_START + SEGMENT_FIXED};
    if (segment->chunk_count > PARTITION_CHUNKS_MAX || segment->chunk_count > length)
        return damaged(r, input.at, error, "it has %" PRIu32 " chunks", segment->chunk_count);
    segment->elements = calloc(segment->chunk_count + 1, sizeof *segment->elements);
    if (segment->elements == NULL)
        return no_memory(r, error);
    for (uint32_t i = 0; i < segment->chunk_count; i++) {
        size_t at = input.at;
        if (!varint_take(&input, &segment->elements[i]))
            return damaged(r, at, error, "the size of chunk %" PRIu32 " is no number", i);
        if (segment->elements[i] == 0 || segment->elements[i] > CHUNK_BYTES_MAX / sizeof(float))
            return damaged(r, at, error, "chunk %" PRIu32 " has %" PRIu64 " elements", i,
                           segment->elements[i]);
    }
    return input.at == input.count ? STATUS_OK
                                   : damaged(r, input.at, error, "its segment is too long");
}

static enum status check_segment(const struct run_record_reader *r, struct error *error)
{
    const struct run_record_segment *s = &r->segment;
    if (s->session == 0 || s->session > RUN_RECORD_SESSIONS_MAX)
        return damaged(r, RUN_RECORD_START, error, "session %" PRIu64, s->session);
    if (s->worker_count == 0 || s->worker_count > JOB_WORKERS_MAX ||
        s->server_count > JOB_SERVERS_MAX)
        return damaged(r, RUN_RECORD_START, error, "%" PRIu32 " workers and %" PRIu32 " servers",
                       s->worker_count, s->server_count);
    if (s->computation == 0 || s->computation >= RUN_RECORD_NUMBER_END || s->version > s->batches ||
        s->batches >= RUN_RECORD_NUMBER_END)
        return damaged(r, RUN_RECORD_START, error,
                       "%" PRIu64 " batches, version %" PRIu64 ", computation %" PRIu64, s->batches,
                       s->version, s->computation);
    return STATUS_OK;
}

enum status run_record_reader_open(struct run_record_reader *reader, const char *name,
                                   const void *bytes, size_t count, struct error *error)
{
    size_t length = 0;
    memset(reader, 0, sizeof *reader);
    snprintf(reader->name, sizeof reader->name, "%s", name);
    reader->bytes = bytes;
    reader->count = count;
    enum status status = check_start(reader, &length, error);
    if (status != STATUS_OK)
        return status;
    take_fixed(&reader->segment, reader->bytes + RUN_RECORD_START);
    status = check_segment(reader, error);
    if (status == STATUS_OK)
        status = take_elements(reader, length, error);
    const struct run_record_segment *s = &reader->segment;
    reader->at = RUN_RECORD_START + length + RUN_RECORD_BLOCK_END;
    reader->oldest = s->version;
    reader->first = s->batches;
    reader->interval.to = (struct run_record_snapshot){s->batches, s->version, s->computation};
    return status;
}

void run_record_reader_close(struct run_record_reader *reader)
{
    free(reader->segment.elements);
    free(reader->interval.computations);
    free(reader->interval.gone);
    free(reader->interval.places);
    free(reader->bases);
    free(reader->pieces);
    memset(reader, 0, sizeof *reader);
}

/* --- blocks -------------------------------------------------------------------------------- */

struct block {
    uint32_t type;
    size_t start, body, end; /* Of the block, of its body, and behind its body. */
};

static enum status take_block(struct run_record_reader *r, struct block *block, struct error *error)
{
    size_t left = r->count - r->at;
    block->start = r->at;
    block->body = r->at + RUN_RECORD_BLOCK_START;
    if (left < RUN_RECORD_BLOCK_START + RUN_RECORD_BLOCK_END)
        return damaged(r, r->count, error, "it ends before a cut");
    block->type = run_record_u32(r->bytes + r->at);
    size_t length = run_record_u32(r->bytes + r->at + 4);
    if (length > left - RUN_RECORD_BLOCK_START - RUN_RECORD_BLOCK_END)
        return damaged(r, r->at, error, "a block of %zu bytes, and the file has %zu more", length,
                       left - RUN_RECORD_BLOCK_START);
    block->end = block->body + length;
    r->chain = crc32c(r->chain, r->bytes + block->start, block->end - block->start);
    if (r->chain != run_record_u32(r->bytes + block->end))
        return damaged(r, r->at, error,
                       "the checksum of this block is wrong, or it is not in its place");
    r->at = block->end + RUN_RECORD_BLOCK_END;
    return STATUS_OK;
}

static enum status take_generation(struct run_record_reader *r, const struct block *block,
                                   struct error *error)
{
    struct run_record_interval *s = &r->interval;
    uint64_t before = s->generation;
    if (block->end - block->body != 8)
        return damaged(r, block->start, error, "a generation of %zu bytes",
                       block->end - block->body);
    if (s->begins || s->computation_count > 0 || s->gone_count > 0 || r->piece_count > 0)
        return damaged(r, block->start, error, "a generation begins, and not at a cut");
    s->generation = run_record_u64(r->bytes + block->body);
    if (r->begun && s->generation <= before)
        return damaged(r, block->start, error, "generation %" PRIu64 " after %" PRIu64,
                       s->generation, before);
    s->begins = r->begun = true;
    r->oldest = s->from.version;
    r->first = s->from.batches;
    memset(r->clocks, 0, sizeof r->clocks);
    return STATUS_OK;
}

static enum status take_gone(struct run_record_reader *r, const struct block *block,
                             struct error *error)
{
    struct run_record_interval *s = &r->interval;
    if (block->end - block->body != 16)
        return damaged(r, block->start, error, "a loss of %zu bytes", block->end - block->body);
    if (s->computation_count > 0 || r->piece_count > 0)
        return damaged(r, block->start, error, "a worker goes behind the computations");
    struct run_record_gone *gone =
        array_room(s->gone, s->gone_count, &r->gone_capacity, sizeof *gone);
    if (gone == NULL)
        return no_memory(r, error);
    s->gone = gone;
    s->gone[s->gone_count++] = (struct run_record_gone){run_record_u64(r->bytes + block->body),
                                                        run_record_u64(r->bytes + block->body + 8)};
    return STATUS_OK;
}

/* --- computations -------------------------------------------------------------------------- */

static bool room_for_computation(struct run_record_reader *r)
{
    struct run_record_interval *s = &r->interval;
    struct run_record_computation *computations = array_room(
        s->computations, s->computation_count, &r->computation_capacity, sizeof *computations);
    if (computations == NULL)
        return false;
    s->computations = computations;
    size_t chunks = r->segment.chunk_count, needed = (s->computation_count + 1) * chunks;
    if (needed <= r->base_capacity)
        return true;
    size_t larger = 2 * r->base_capacity + chunks;
    uint64_t *bases = realloc(r->bases, larger * sizeof *bases);
    if (bases == NULL)
        return false;
    r->bases = bases;
    r->base_capacity = larger;
    return true;
}

/* *number and *base are those of the computation before it in its block. */
static enum status take_computation(struct run_record_reader *r, struct varint_input *input,
                                    uint64_t *number, uint64_t *base, struct error *error)
{
    struct run_record_interval *s = &r->interval;
    struct run_record_computation c = {0};
    size_t at = input->at;
    uint64_t step, worker, difference, rate,
        last = s->computation_count > 0 ? s->computations[s->computation_count - 1].number
                                        : s->from.computation - 1;
    if (!room_for_computation(r))
        return no_memory(r, error);
    if (!varint_take(input, &step) || !varint_take(input, &worker) ||
        !varint_take(input, &c.ticket) || !varint_take(input, &c.batch) ||
        !varint_take(input, &c.clock) || !varint_take(input, &rate))
        return damaged(r, at, error, "a computation is no numbers");
    c.number = *number + step;
    c.worker = (uint32_t)worker;
    if (step >= RUN_RECORD_NUMBER_END || c.number <= last || c.number >= RUN_RECORD_NUMBER_END)
        return damaged(r, at, error, "computation %" PRIu64 " after %" PRIu64, c.number, last);
    if (worker >= JOB_WORKERS_MAX || c.batch < s->from.batches || c.batch >= RUN_RECORD_NUMBER_END)
        return damaged(r, at, error,
                       "computation %" PRIu64 " is of worker/%" PRIu64 " and batch %" PRIu64,
                       c.number, worker, c.batch);
    const uint32_t rate_bits = (uint32_t)rate;
    c.rate = 1;
    if (rate != 0)
        memcpy(&c.rate, &rate_bits, sizeof rate_bits);
    if (rate > UINT32_MAX || !(c.rate > 0 && c.rate <= FLT_MAX))
        return damaged(r, at, error, "computation %" PRIu64 " has no rate", c.number);
    struct run_record_clock *last_one = &r->clocks[worker];
    if (c.ticket == last_one->ticket && c.clock < last_one->clock)
        return damaged(r, at, error,
                       "computation %" PRIu64 " of worker/%" PRIu64 " is at clock %" PRIu64
                       ", and its last one was at %" PRIu64,
                       c.number, worker, c.clock, last_one->clock);
    if (c.ticket >= last_one->ticket)
        *last_one = (struct run_record_clock){c.ticket, c.clock};
    uint64_t *bases = r->bases + (size_t)s->computation_count * r->segment.chunk_count;
    uint64_t before = *base;
    for (uint32_t i = 0; i < r->segment.chunk_count; i++) {
        if (!varint_take(input, &difference))
            return damaged(r, input->at, error, "a base of computation %" PRIu64 " is no number",
                           c.number);
        bases[i] = before = varint_add_difference(before, difference);
        if (bases[i] < r->oldest)
            return damaged(r, at, error,
                           "computation %" PRIu64 " is made from version %" PRIu64
                           " of chunk %" PRIu32 ", and its generation began at %" PRIu64,
                           c.number, bases[i], i, r->oldest);
    }
    *number = c.number;
    *base = bases[0];
    s->computations[s->computation_count++] = c;
    return STATUS_OK;
}

static enum status take_computations(struct run_record_reader *r, const struct block *block,
                                     struct error *error)
{
    struct varint_input input = {r->bytes, block->end, block->body};
    uint64_t number = 0, base = 0;
    enum status status = STATUS_OK;
    if (r->piece_count > 0 || block->body == block->end)
        return damaged(r, block->start, error, "computations behind the entries, or none of them");
    if (r->segment.chunk_count == 0)
        return damaged(r, block->start, error, "computations, and there are no chunks");
    while (status == STATUS_OK && input.at < input.count)
        status = take_computation(r, &input, &number, &base, error);
    return status;
}

/* --- entries ------------------------------------------------------------------------------- */

static enum status note_piece(struct run_record_reader *r, const struct block *block,
                              struct error *error)
{
    struct run_record_piece piece = {.body = block->body + 16, .end = block->end};
    if (block->end - block->body < 16)
        return damaged(r, block->start, error, "entries of %zu bytes", block->end - block->body);
    piece.chunk = run_record_u32(r->bytes + block->body);
    piece.first = run_record_u64(r->bytes + block->body + 4);
    piece.count = run_record_u32(r->bytes + block->body + 12);
    if (piece.chunk >= r->segment.chunk_count)
        return damaged(r, block->start, error,
                       "entries of chunk %" PRIu32 ", and there are %" PRIu32, piece.chunk,
                       r->segment.chunk_count);
    if (piece.count > piece.end - piece.body)
        return damaged(r, block->start, error, "%" PRIu32 " entries in %zu bytes", piece.count,
                       piece.end - piece.body);
    struct run_record_piece *pieces =
        array_room(r->pieces, r->piece_count, &r->piece_capacity, sizeof *pieces);
    if (pieces == NULL)
        return no_memory(r, error);
    r->pieces = pieces;
    r->pieces[r->piece_count++] = piece;
    return STATUS_OK;
}

static bool find_computation(const struct run_record_interval *s, uint64_t number, uint32_t *index)
{
    uint32_t low = 0, high = s->computation_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (s->computations[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    *index = low;
    return low < s->computation_count && s->computations[low].number == number;
}

/* A chunk while its entries are walked. */
struct standing {
    uint64_t place, version;
    bool open; /* A group is open. */
};

/* The state of walking an interval's entries. */
struct expansion {
    struct standing *chunks; /* [chunk_count] */
    uint32_t *had;           /* [batches of the interval] 1 + the chunk that has had it last. */
    bool *used;              /* [computation_count] It has an entry. */
};

static enum status take_entry(struct run_record_reader *r, const struct run_record_piece *piece,
                              struct varint_input *input, uint64_t *number,
                              const struct expansion *x, struct error *error)
{
    struct run_record_interval *s = &r->interval;
    struct standing *chunk = &x->chunks[piece->chunk];
    struct run_record_place place = {0};
    uint64_t bits, batches = s->to.batches - s->from.batches;
    size_t at = input->at;
    if (!varint_take(input, &bits))
        return damaged(r, at, error, "an entry of chunk %" PRIu32 " is no number", piece->chunk);
    *number = varint_add_difference(*number, bits >> RUN_RECORD_BITS);
    if (!find_computation(s, *number, &place.computation))
        return damaged(r, at, error,
                       "chunk %" PRIu32 " has an entry of computation %" PRIu64
                       ", which is not in the record",
                       piece->chunk, *number);
    const struct run_record_computation *c = &s->computations[place.computation];
    if (chunk->place >= batches || c->batch - s->from.batches >= batches)
        return damaged(r, at, error,
                       "chunk %" PRIu32 " has batch %" PRIu64 ", and the cut is at %" PRIu64,
                       piece->chunk, c->batch, s->to.batches);
    if (x->had[c->batch - s->from.batches] == piece->chunk + 1)
        return damaged(r, at, error, "chunk %" PRIu32 " has batch %" PRIu64 " twice", piece->chunk,
                       c->batch);
    if (c->bases[piece->chunk] > chunk->version)
        return damaged(r, at, error,
                       "computation %" PRIu64 " is made from version %" PRIu64 " of chunk %" PRIu32
                       ", which has it at version %" PRIu64,
                       c->number, c->bases[piece->chunk], piece->chunk, chunk->version);
    place.skipped = bits & RUN_RECORD_SKIPPED;
    place.closes = bits & RUN_RECORD_CLOSES;
    x->had[c->batch - s->from.batches] = piece->chunk + 1;
    x->used[place.computation] = true;
    s->places[piece->chunk * batches + chunk->place++] = place;
    chunk->version += place.closes;
    chunk->open = !place.closes;
    return STATUS_OK;
}

static enum status expand_piece(struct run_record_reader *r, const struct run_record_piece *piece,
                                const struct expansion *x, struct error *error)
{
    struct varint_input input = {r->bytes, piece->end, piece->body};
    uint64_t number = 0, place = r->interval.from.batches + x->chunks[piece->chunk].place;
    enum status status = STATUS_OK;
    if (piece->first != place)
        return damaged(r, piece->body, error,
                       "entries of chunk %" PRIu32 " from place %" PRIu64 ", where %" PRIu64
                       " comes next",
                       piece->chunk, piece->first, place);
    for (uint32_t i = 0; i < piece->count && status == STATUS_OK; i++)
        status = take_entry(r, piece, &input, &number, x, error);
    if (status == STATUS_OK && input.at != input.count)
        status = damaged(r, input.at, error, "more than %" PRIu32 " entries", piece->count);
    return status;
}

static enum status check_whole(const struct run_record_reader *r, size_t at,
                               const struct expansion *x, struct error *error)
{
    const struct run_record_interval *s = &r->interval;
    for (uint32_t i = 0; i < r->segment.chunk_count; i++) {
        const struct standing *chunk = &x->chunks[i];
        if (chunk->place != s->to.batches - s->from.batches || chunk->version != s->to.version ||
            chunk->open)
            return damaged(r, at, error,
                           "chunk %" PRIu32 " has %" PRIu64 " batches and version %" PRIu64
                           "%s at the cut, which has %" PRIu64 " and %" PRIu64,
                           i, s->from.batches + chunk->place, chunk->version,
                           chunk->open ? ", with a group open," : "", s->to.batches, s->to.version);
    }
    for (uint32_t i = 0; i < s->computation_count; i++)
        if (!x->used[i])
            return damaged(r, at, error, "computation %" PRIu64 " has no entry",
                           s->computations[i].number);
    return STATUS_OK;
}

/* Also for chunks where it has no entry; and no worker has finished more batches than all. */
static enum status check_computations(struct run_record_reader *r, size_t at, struct error *error)
{
    struct run_record_interval *s = &r->interval;
    const uint64_t *bases = r->bases;
    for (uint32_t i = 0; i < s->computation_count; i++, bases += r->segment.chunk_count) {
        s->computations[i].bases = bases;
        if (s->computations[i].clock > s->to.batches - r->first)
            return damaged(r, at, error,
                           "computation %" PRIu64 " of worker/%" PRIu32 " is at clock %" PRIu64
                           ", and its generation has %" PRIu64 " batches at the cut",
                           s->computations[i].number, s->computations[i].worker,
                           s->computations[i].clock, s->to.batches - r->first);
        for (uint32_t chunk = 0; chunk < r->segment.chunk_count; chunk++)
            if (bases[chunk] > s->to.version)
                return damaged(r, at, error,
                               "computation %" PRIu64 " is made from version %" PRIu64
                               " of chunk %" PRIu32
                               ", and the cut behind it is at version %" PRIu64,
                               s->computations[i].number, bases[chunk], chunk, s->to.version);
    }
    return STATUS_OK;
}

/* All computations are known now, and there are as many bytes as entries, so that memory has a
 * bound. */
static enum status expand(struct run_record_reader *r, size_t at, struct error *error)
{
    struct run_record_interval *s = &r->interval;
    const uint32_t chunks = r->segment.chunk_count;
    uint64_t batches = s->to.batches - s->from.batches, entries = 0;
    for (size_t i = 0; i < r->piece_count; i++)
        entries += r->pieces[i].count;
    /* Without chunks only snapshots are recorded. */
    if (chunks > 0 && (entries / chunks != batches || entries % chunks != 0))
        return damaged(r, at, error,
                       "%" PRIu64 " batches since the cut before, and %" PRIu64
                       " entries in %" PRIu32 " chunks",
                       batches, entries, chunks);
    struct expansion x = {calloc(chunks + 1, sizeof *x.chunks),
                          calloc(chunks > 0 ? batches + 1 : 1, sizeof *x.had),
                          calloc(s->computation_count + 1, sizeof *x.used)};
    free(s->places);
    s->places = calloc(entries + 1, sizeof *s->places);
    bool room = x.chunks != NULL && x.had != NULL && x.used != NULL && s->places != NULL;
    enum status status = room ? STATUS_OK : no_memory(r, error);
    for (uint32_t i = 0; room && i < chunks; i++)
        x.chunks[i].version = s->from.version;
    for (size_t i = 0; i < r->piece_count && status == STATUS_OK; i++)
        status = expand_piece(r, &r->pieces[i], &x, error);
    if (status == STATUS_OK)
        status = check_whole(r, at, &x, error);
    free(x.chunks);
    free(x.had);
    free(x.used);
    return status;
}

/* --- sets ---------------------------------------------------------------------------------- */

static enum status note_sets(struct run_record_reader *r, const struct block *block,
                             struct error *error)
{
    if (r->interval.sets.bytes != NULL || r->segment.chunk_count > 0)
        return damaged(r, block->start, error, "sets of leaves for the second time, or of chunks");
    r->interval.sets = (struct leaf_sets){.bytes = r->bytes + block->body,
                                          .bytes_left = block->end - block->body,
                                          .step = r->interval.from.batches};
    return STATUS_OK;
}

/* One of each step. */
static enum status check_sets(struct run_record_reader *r, size_t at, struct error *error)
{
    struct leaf_set set;
    if (r->interval.sets.bytes == NULL)
        return STATUS_OK;
    r->interval.sets.left = r->interval.to.batches - r->interval.from.batches;
    struct leaf_sets list = r->interval.sets;
    while (leaf_sets_next(&list, &set))
        continue;
    return list.left == 0 && list.bytes_left == 0
               ? STATUS_OK
               : damaged(r, at, error, "of step %" PRIu64 " there is no set of leaves, or another",
                         list.step);
}

/* --- stretches ----------------------------------------------------------------------------- */

static enum status take_snapshot(struct run_record_reader *r, const struct block *block,
                                 struct error *error)
{
    struct run_record_interval *s = &r->interval;
    if (block->end - block->body != 24)
        return damaged(r, block->start, error, "a cut of %zu bytes", block->end - block->body);
    s->to.batches = run_record_u64(r->bytes + block->body);
    s->to.version = run_record_u64(r->bytes + block->body + 8);
    s->to.computation = run_record_u64(r->bytes + block->body + 16);
    uint64_t least = s->computation_count > 0 ? s->computations[s->computation_count - 1].number + 1
                                              : s->from.computation;
    if (s->to.batches < s->from.batches || s->to.batches >= RUN_RECORD_NUMBER_END ||
        s->to.version < s->from.version || s->to.version > s->to.batches ||
        s->to.computation < least || s->to.computation >= RUN_RECORD_NUMBER_END)
        return damaged(r, block->start, error,
                       "a cut at %" PRIu64 " batches, version %" PRIu64 ", computation %" PRIu64
                       ", after %" PRIu64 ", %" PRIu64 ", %" PRIu64,
                       s->to.batches, s->to.version, s->to.computation, s->from.batches,
                       s->from.version, least);
    enum status status = check_computations(r, block->start, error);
    if (status == STATUS_OK)
        status = check_sets(r, block->start, error);
    return status == STATUS_OK ? expand(r, block->start, error) : status;
}

static enum status take(struct run_record_reader *r, const struct block *block, struct error *error)
{
    switch (block->type) {
    case RUN_RECORD_GENERATION:
        return take_generation(r, block, error);
    case RUN_RECORD_COMPUTATIONS:
        return take_computations(r, block, error);
    case RUN_RECORD_GONE:
        return take_gone(r, block, error);
    case RUN_RECORD_ENTRIES:
        return note_piece(r, block, error);
    case RUN_RECORD_SETS:
        return note_sets(r, block, error);
    case RUN_RECORD_SNAPSHOT:
        return take_snapshot(r, block, error);
    }
    return damaged(r, block->start, error, "a block of type %" PRIu32 ", which there is not",
                   block->type);
}

enum status run_record_reader_next(struct run_record_reader *reader, struct error *error)
{
    struct run_record_interval *s = &reader->interval;
    struct block block = {0};
    enum status status = STATUS_OK;
    if (reader->at == reader->count)
        return STATUS_NOT_FOUND;
    s->from = s->to;
    s->begins = false;
    s->computation_count = s->gone_count = 0;
    reader->piece_count = 0;
    s->sets = (struct leaf_sets){.bytes = NULL};
    while (status == STATUS_OK && block.type != RUN_RECORD_SNAPSHOT) {
        status = take_block(reader, &block, error);
        if (status == STATUS_OK)
            status = take(reader, &block, error);
    }
    return status;
}
