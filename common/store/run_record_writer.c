/* run_record_writer.c - a growing buffer with one open block at its end; consecutive
 * computations share a block. */

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "common/base/varint.h"
#include "common/file/disk.h"
#include "common/store/run_record.h"
#include "common/store/run_record_block.h"

/* A block of this size takes no more computations. */
#define BLOCK_FULL ((size_t)1 << 20)

void run_record_path(char *path, const char *out, uint64_t session)
{
    snprintf(path, DISK_PATH_MAX, "%s/" RUN_RECORD_FOLDER "/%04" PRIu64 ".log", out, session);
}

void run_record_writer_init(struct run_record_writer *writer)
{
    memset(writer, 0, sizeof *writer);
}

void run_record_writer_free(struct run_record_writer *writer)
{
    free(writer->bytes);
    memset(writer, 0, sizeof *writer);
}

/* --- bytes --------------------------------------------------------------------------------- */

static void put(struct run_record_writer *w, const void *bytes, size_t count)
{
    size_t capacity = w->capacity;
    while (capacity - w->count < count)
        capacity = 2 * capacity + 256;
    if (capacity > w->capacity && !w->failed) {
        uint8_t *grown = realloc(w->bytes, capacity);
        w->failed = grown == NULL;
        w->bytes = grown != NULL ? grown : w->bytes;
        w->capacity = grown != NULL ? capacity : w->capacity;
    }
    if (w->failed)
        return;
    memcpy(w->bytes + w->count, bytes, count);
    w->count += count;
}

static void put_fixed(struct run_record_writer *w, uint64_t value, size_t count)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    put(w, bytes, count);
}

static void put_number(struct run_record_writer *w, uint64_t value)
{
    uint8_t bytes[VARINT_BYTES_MAX];
    put(w, bytes, varint_put(bytes, value));
}

/* The difference from the value before. */
static void put_difference(struct run_record_writer *w, uint64_t *before, uint64_t value)
{
    put_number(w, varint_from_difference(*before, value));
    *before = value;
}

/* --- blocks -------------------------------------------------------------------------------- */

/* The length, four bytes before the body, and the checksum. */
static void seal(struct run_record_writer *w, size_t start, size_t body)
{
    if (w->failed)
        return;
    for (size_t i = 0; i < 4; i++)
        w->bytes[body - 4 + i] = (uint8_t)((w->count - body) >> (8 * i));
    w->chain = crc32c(w->chain, w->bytes + start, w->count - start);
    put_fixed(w, w->chain, RUN_RECORD_BLOCK_END);
}

static void close_block(struct run_record_writer *w)
{
    if (w->type != RUN_RECORD_NONE)
        seal(w, w->block, w->block + RUN_RECORD_BLOCK_START);
    w->type = RUN_RECORD_NONE;
}

static void open_block(struct run_record_writer *w, enum run_record_block type)
{
    close_block(w);
    w->type = type;
    w->block = w->count;
    w->number = w->base = 0;
    put_fixed(w, type, 4);
    put_fixed(w, 0, 4);
}

void run_record_writer_segment(struct run_record_writer *writer,
                               const struct run_record_segment *segment)
{
    size_t start = writer->count;
    assert(writer->type == RUN_RECORD_NONE);
    writer->chunk_count = segment->chunk_count;
    writer->chain = 0;
    put(writer, RUN_RECORD_MAGIC, RUN_RECORD_MAGIC_BYTES);
    put_fixed(writer, RUN_RECORD_FORMAT, 4);
    put_fixed(writer, 0, 4);
    put_fixed(writer, segment->run_id, 8);
    put_fixed(writer, segment->session, 8);
    put(writer, segment->declaration, DIGEST_BYTES);
    put_fixed(writer, segment->instructions, 4);
    put_fixed(writer, segment->worker_count, 4);
    put_fixed(writer, segment->server_count, 4);
    put_fixed(writer, segment->batches, 8);
    put_fixed(writer, segment->version, 8);
    put_fixed(writer, segment->computation, 8);
    put_fixed(writer, segment->chunk_count, 4);
    for (uint32_t i = 0; i < segment->chunk_count; i++)
        put_number(writer, segment->elements[i]);
    seal(writer, start, start + RUN_RECORD_START);
}

void run_record_writer_resume(struct run_record_writer *writer, uint32_t chunk_count,
                              const uint8_t last[4])
{
    assert(writer->count == 0);
    writer->chunk_count = chunk_count;
    writer->chain = writer->whole_chain = run_record_u32(last);
}

void run_record_writer_generation(struct run_record_writer *writer, uint64_t generation)
{
    open_block(writer, RUN_RECORD_GENERATION);
    put_fixed(writer, generation, 8);
}

void run_record_writer_computation(struct run_record_writer *writer,
                                   const struct run_record_computation *computation)
{
    if (writer->type != RUN_RECORD_COMPUTATIONS || writer->count - writer->block > BLOCK_FULL)
        open_block(writer, RUN_RECORD_COMPUTATIONS);
    assert(computation->number > writer->number && computation->number < RUN_RECORD_NUMBER_END);
    put_number(writer, computation->number - writer->number);
    writer->number = computation->number;
    put_number(writer, computation->worker);
    put_number(writer, computation->ticket);
    put_number(writer, computation->batch);
    uint32_t rate;
    memcpy(&rate, &computation->rate, sizeof rate);
    put_number(writer, computation->clock);
    put_number(writer, computation->rate == 1 ? 0 : rate);
    uint64_t before = writer->base;
    for (uint32_t i = 0; i < writer->chunk_count; i++)
        put_difference(writer, &before, computation->bases[i]);
    writer->base = writer->chunk_count > 0 ? computation->bases[0] : 0;
}

void run_record_writer_gone(struct run_record_writer *writer, const struct run_record_gone *gone)
{
    open_block(writer, RUN_RECORD_GONE);
    put_fixed(writer, gone->ticket, 8);
    put_fixed(writer, gone->clock, 8);
}

void run_record_writer_entries(struct run_record_writer *writer, uint32_t chunk, uint64_t first,
                               const struct run_record_entry *entries, size_t count)
{
    assert(chunk < writer->chunk_count);
    if (count == 0)
        return;
    open_block(writer, RUN_RECORD_ENTRIES);
    put_fixed(writer, chunk, 4);
    put_fixed(writer, first, 8);
    put_fixed(writer, count, 4);
    for (size_t i = 0; i < count; i++) {
        uint64_t difference = varint_from_difference(writer->number, entries[i].computation);
        put_number(writer, difference << RUN_RECORD_BITS |
                               (entries[i].skipped ? RUN_RECORD_SKIPPED : 0) |
                               (entries[i].closes ? RUN_RECORD_CLOSES : 0));
        writer->number = entries[i].computation;
    }
}

void run_record_writer_sets(struct run_record_writer *writer, const struct leaf_sets *sets)
{
    open_block(writer, RUN_RECORD_SETS);
    put(writer, sets->bytes, sets->bytes_left);
}

void run_record_writer_snapshot(struct run_record_writer *writer,
                                const struct run_record_snapshot *cut)
{
    open_block(writer, RUN_RECORD_SNAPSHOT);
    put_fixed(writer, cut->batches, 8);
    put_fixed(writer, cut->version, 8);
    put_fixed(writer, cut->computation, 8);
}

enum status run_record_writer_finish(struct run_record_writer *writer)
{
    close_block(writer);
    bool failed = writer->failed;
    if (failed) {
        writer->count = writer->whole;
        writer->chain = writer->whole_chain;
    }
    writer->whole = writer->count;
    writer->whole_chain = writer->chain;
    writer->failed = false;
    return failed ? STATUS_MEMORY : STATUS_OK;
}
