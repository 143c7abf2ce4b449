/* record_interval.c - reads the update logs twice: first for the computations that were used,
 * then, behind those, to write them. */

#include "ps/checkpointer/record_interval.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/job/bases.h"
#include "common/store/part_entries.h"
#include "ps/shard/update_log.h"
#include "ps/work/computations.h"

_Static_assert(UPDATE_LOG_MAX >= 2 * COMPUTATIONS_MAX, "the record has ended before chunks forget");

struct interval {
    struct checkpointer *checkpointer;
    uint64_t step;
    struct part_entries *parts;      /* [part_count] Owned. */
    uint64_t first, next;            /* Of computations. */
    const struct computed *computed; /* [computed_count] */
    uint32_t computed_count;
    const uint8_t *bases;
    uint8_t *used;                    /* [next - first] Whether a chunk has had it. Owned. */
    uint64_t *versions;               /* [chunk_count] Owned. */
    uint64_t made;                    /* Versions; each chunk has made as many. */
    struct run_record_entry *entries; /* [entry_capacity] Of one chunk. Owned. */
    uint32_t entry_capacity;
};

static void interval_free(struct interval *s)
{
    for (uint32_t i = 0; s->parts != NULL && i < s->checkpointer->part_count; i++)
        part_entries_close(&s->parts[i]);
    free(s->parts);
    free(s->used);
    free(s->versions);
    free(s->entries);
}

static enum status find_computed(struct interval *s, struct error *error)
{
    const struct checkpointer *k = s->checkpointer;
    struct computations_list list;
    if (k->computations == NULL || k->computed_step != s->step)
        return error_set(error, STATUS_INVALID, "what was computed up to step %" PRIu64 " is lost",
                         s->step);
    const char *data = k->computations->data;
    memcpy(&list, data, sizeof list);
    s->computed = (const struct computed *)(const void *)(data + sizeof list);
    s->computed_count = list.count;
    s->bases = (const uint8_t *)data + sizeof list + list.count * sizeof *s->computed;
    s->first = s->next = k->computed_next;
    for (uint32_t i = list.count; i-- > 0;)
        if (s->computed[i].number != 0)
            s->first = s->computed[i].number;
    s->used = calloc(s->next - s->first + 1, 1);
    s->versions = calloc(k->plan->partition.chunk_count, sizeof *s->versions);
    return s->used == NULL || s->versions == NULL
               ? error_set(error, STATUS_MEMORY, "out of memory for the record")
               : STATUS_OK;
}

static enum status open_parts(struct interval *s, struct error *error)
{
    const struct checkpointer *k = s->checkpointer;
    enum status status = STATUS_OK;
    s->parts = calloc(k->part_count, sizeof *s->parts);
    if (s->parts == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory for the record");
    for (uint32_t i = 0; i < k->part_count && status == STATUS_OK; i++)
        status = part_entries_open(&s->parts[i], k->options.disk, k->options.out, s->step,
                                   k->generation, i, k->part_count, error);
    return status;
}

static uint32_t chunk_at(const struct plan *plan, uint64_t first)
{
    uint32_t chunk = 0;
    while (chunk < plan->partition.chunk_count && plan->partition.chunks[chunk].first != first)
        chunk++;
    return chunk;
}

/* A chunk's log since the last snapshot: all that it has handed over, or the end of that. */
static enum status find_new(const struct interval *s, uint64_t first, const uint32_t **list,
                            uint32_t *count, uint32_t *chunk, struct error *error)
{
    uint64_t wanted = s->step - s->checkpointer->chronicle.step;
    *chunk = chunk_at(s->checkpointer->plan, first);
    if (*count < wanted || *chunk == s->checkpointer->plan->partition.chunk_count)
        return error_set(error, STATUS_INVALID,
                         "%" PRIu32 " of the %" PRIu64 " batches before step %" PRIu64
                         " are noted for the chunk at %" PRIu64,
                         *count, wanted, s->step, first);
    *list += *count - wanted;
    *count = (uint32_t)wanted;
    return STATUS_OK;
}

/* Of one chunk: the computations that it has had, and how many versions they made. */
static enum status note_used(struct interval *s, const uint32_t *list, uint32_t count,
                             struct error *error)
{
    s->made = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t number = update_log_number(list[i], s->first);
        if (number >= s->next)
            return error_set(error, STATUS_INVALID,
                             "an entry is of computation %" PRIu64 ", which was not announced",
                             number);
        s->used[number - s->first] = 1;
        s->made += (list[i] & LOGGED_CLOSES) != 0;
    }
    return STATUS_OK;
}

static enum status write_entries(struct interval *s, struct run_record_writer *writer,
                                 uint32_t chunk, const uint32_t *list, uint32_t count,
                                 struct error *error)
{
    if (count > s->entry_capacity) {
        struct run_record_entry *entries = realloc(s->entries, count * sizeof *entries);
        if (entries == NULL)
            return error_set(error, STATUS_MEMORY, "out of memory for the record");
        s->entries = entries;
        s->entry_capacity = count;
    }
    for (uint32_t i = 0; i < count; i++)
        s->entries[i] =
            (struct run_record_entry){.computation = update_log_number(list[i], s->first),
                                      .skipped = list[i] & LOGGED_SKIPPED,
                                      .closes = list[i] & LOGGED_CLOSES};
    run_record_writer_entries(writer, chunk, s->checkpointer->chronicle.step, s->entries, count);
    return STATUS_OK;
}

/* All chunks of all servers: first to find what is used, then, with a writer, to write it. */
static enum status walk_entries(struct interval *s, struct run_record_writer *writer,
                                struct error *error)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < s->checkpointer->part_count; i++) {
        uint64_t first;
        uint32_t count, chunk;
        const uint32_t *list;
        s->parts[i].at = 0;
        while (status == STATUS_OK && part_entries_next(&s->parts[i], &first, &list, &count)) {
            status = find_new(s, first, &list, &count, &chunk, error);
            if (status == STATUS_OK)
                status = writer == NULL ? note_used(s, list, count, error)
                                        : write_entries(s, writer, chunk, list, count, error);
        }
    }
    return status;
}

static enum status write_computations(struct interval *s, struct run_record_writer *writer,
                                      struct error *error)
{
    const struct plan *plan = s->checkpointer->plan;
    const uint8_t *bases = s->bases;
    for (uint32_t i = 0; i < s->computed_count; bases += s->computed[i++].bases_bytes) {
        const struct computed *it = &s->computed[i];
        if (it->number == 0)
            run_record_writer_gone(writer, it->worker);
        if (it->number == 0 || !s->used[it->number - s->first])
            continue;
        if (!bases_decode(bases, it->bases_bytes, plan->job.steps, s->versions,
                          plan->partition.chunk_count))
            return error_set(error, STATUS_INVALID, "computation %" PRIu64 " has no bases",
                             it->number);
        run_record_writer_computation(writer,
                                      &(struct run_record_computation){.number = it->number,
                                                                       .batch = it->batch,
                                                                       .clock = it->clock,
                                                                       .worker = it->worker,
                                                                       .bases = s->versions});
    }
    return STATUS_OK;
}

static enum status gather(struct interval *s, struct run_record_writer *writer, struct error *error)
{
    enum status status = find_computed(s, error);
    if (status == STATUS_OK)
        status = open_parts(s, error);
    if (status == STATUS_OK)
        status = walk_entries(s, NULL, error);
    if (status == STATUS_OK)
        status = write_computations(s, writer, error);
    return status == STATUS_OK ? walk_entries(s, writer, error) : status;
}

static void write_sets(const struct run_chronicle *chronicle, struct leaf_sets sets,
                       struct run_record_writer *writer)
{
    struct leaf_set before;
    while (sets.step < chronicle->step && leaf_sets_next(&sets, &before))
        continue;
    if (sets.left > 0)
        run_record_writer_sets(writer, &sets);
}

enum status record_interval_write(struct checkpointer *checkpointer, uint64_t step,
                                  struct leaf_sets sets, struct error *error)
{
    struct checkpointer *k = checkpointer;
    struct interval interval = {.checkpointer = k, .step = step};
    struct run_record_snapshot cut = {
        .batches = step, .version = step, .computation = k->chronicle.found.computation};
    if (k->chronicle.on && k->records && k->computed_over)
        run_chronicle_end(&k->chronicle);
    if (!k->chronicle.on || k->chronicle.ended)
        return STATUS_OK;
    struct run_record_writer *writer = run_chronicle_begin(
        &k->chronicle, &k->job, k->claim.run_id, k->records ? &k->plan->partition : NULL, error);
    enum status status = writer == NULL ? STATUS_MEMORY : STATUS_OK;
    if (status == STATUS_OK)
        write_sets(&k->chronicle, sets, writer);
    if (status == STATUS_OK && k->records) {
        cut.computation = k->computed_next;
        status = gather(&interval, writer, error);
        cut.version = k->chronicle.version + interval.made;
    }
    interval_free(&interval);
    return status == STATUS_OK ? run_chronicle_write(&k->chronicle, &cut, error) : status;
}
