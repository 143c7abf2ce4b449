/* rewritten_record.c - as whoever wrote it first may have done. */

#include "tests/lib/records/rewritten_record.h"

#include <assert.h>
#include <stdlib.h>

static void write_entries(struct run_record_writer *writer, const struct run_record_interval *s,
                          uint32_t chunk)
{
    uint64_t batches = s->to.batches - s->from.batches;
    struct run_record_entry *entries = calloc(batches + 1, sizeof *entries);
    assert(entries != NULL);
    for (uint64_t i = 0; i < batches; i++) {
        const struct run_record_place *place = &s->places[chunk * batches + i];
        entries[i] = (struct run_record_entry){s->computations[place->computation].number,
                                               place->skipped, place->closes};
    }
    run_record_writer_entries(writer, chunk, s->from.batches, entries, batches);
    free(entries);
}

void rewritten_record_interval(struct run_record_writer *writer,
                               const struct run_record_reader *reader)
{
    const struct run_record_interval *s = &reader->interval;
    if (s->begins)
        run_record_writer_generation(writer, s->generation);
    for (uint32_t i = 0; i < s->gone_count; i++)
        run_record_writer_gone(writer, &s->gone[i]);
    for (uint32_t i = 0; i < s->computation_count; i++)
        run_record_writer_computation(writer, &s->computations[i]);
    for (uint32_t chunk = 0; chunk < reader->segment.chunk_count; chunk++)
        write_entries(writer, s, chunk);
    if (s->sets.bytes != NULL)
        run_record_writer_sets(writer, &s->sets);
    run_record_writer_snapshot(writer, &s->to);
}
