/* fuzz_run_record.c - records of runs, taken as they are and again with the checksums that they would
 * need: without them nothing behind the first would ever be reached. What is read is written again,
 * and reads the same. */

#include <stdlib.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "common/base/hash.h"
#include "common/store/run_record.h"
#include "common/store/run_record_block.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/records/rewritten_record.h"

/* Bases and places take eight bytes for one of the file, arrays that grow twice as much; and all
 * is written again. */
const struct fuzz_bounds fuzz_bounds = {64u << 10, 160};

void fuzz_start(void)
{
}

static void hash_interval(struct hash *hash, const struct run_record_reader *reader)
{
    const struct run_record_interval *s = &reader->interval;
    const uint32_t chunks = reader->segment.chunk_count;
    hash_update_u64(hash, s->begins ? s->generation : 0);
    hash_update_u64(hash, s->to.batches);
    hash_update_u64(hash, s->to.version);
    hash_update_u64(hash, s->to.computation);
    for (uint32_t i = 0; i < s->computation_count; i++) {
        const struct run_record_computation *c = &s->computations[i];
        hash_update_u64(hash, c->number);
        hash_update_u64(hash, c->worker);
        hash_update_u64(hash, c->ticket);
        hash_update_u64(hash, c->batch);
        hash_update_u64(hash, c->clock);
        hash_update(hash, c->bases, chunks * sizeof *c->bases);
    }
    for (uint32_t i = 0; i < s->gone_count; i++) {
        hash_update_u64(hash, s->gone[i].ticket);
        hash_update_u64(hash, s->gone[i].clock);
    }
    for (uint64_t i = 0; i < (s->to.batches - s->from.batches) * chunks; i++) {
        hash_update_u64(hash, s->places[i].computation);
        hash_update_u64(hash, 2u * s->places[i].skipped + s->places[i].closes);
    }
}

/* What was read to its end, into digest; false when it was not. */
static bool read_all(const uint8_t *bytes, size_t count, struct run_record_writer *again,
                     uint8_t digest[HASH_BYTES])
{
    struct run_record_reader reader;
    struct error error = {0};
    struct hash hash;
    hash_init(&hash);
    enum status status = run_record_reader_open(&reader, "a record", bytes, count, &error);
    if (status == STATUS_OK && again != NULL)
        run_record_writer_segment(again, &reader.segment);
    while (status == STATUS_OK) {
        status = run_record_reader_next(&reader, &error);
        if (status != STATUS_OK)
            break;
        hash_interval(&hash, &reader);
        if (again != NULL)
            rewritten_record_interval(again, &reader);
    }
    run_record_reader_close(&reader);
    hash_final(&hash, digest);
    fuzz_must(status == STATUS_NOT_FOUND || error.text[0] != '\0', "what is wrong is said");
    return status == STATUS_NOT_FOUND;
}

static void read_one(const uint8_t *bytes, size_t count)
{
    struct run_record_writer again;
    uint8_t first[HASH_BYTES], second[HASH_BYTES];
    run_record_writer_init(&again);
    if (read_all(bytes, count, &again, first)) {
        fuzz_must(run_record_writer_finish(&again) == STATUS_OK, "what was read can be written");
        fuzz_must(read_all(again.bytes, again.count, NULL, second), "and read again");
        fuzz_must(memcmp(first, second, HASH_BYTES) == 0, "it stays the same");
    }
    run_record_writer_free(&again);
}

static void put_u32(uint8_t *bytes, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
}

/* Every checksum that there is room for, made right. */
static void complete(uint8_t *bytes, size_t count)
{
    size_t at = 0, start = RUN_RECORD_START;
    uint32_t chain = 0;
    while (count - at >= start + RUN_RECORD_BLOCK_END) {
        size_t length = run_record_u32(bytes + at + start - 4);
        if (length > count - at - start - RUN_RECORD_BLOCK_END)
            return;
        chain = crc32c(chain, bytes + at, start + length);
        put_u32(bytes + at + start + length, chain);
        at += start + length + RUN_RECORD_BLOCK_END;
        start = RUN_RECORD_BLOCK_START;
    }
}

void fuzz_one(const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(size + 1);
    fuzz_must(bytes != NULL, "there is memory for a copy");
    read_one(data, size);
    if (size > 0)
        memcpy(bytes, data, size);
    complete(bytes, size);
    read_one(bytes, size);
    free(bytes);
}
