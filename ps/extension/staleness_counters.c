/* staleness_counters.c - staleness by worker and chunk, its tallies, and their bytes. */

#include "ps/extension/staleness_counters.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- books --------------------------------------------------------------------------------- */

void staleness_counters_free(struct staleness_counters *counters)
{
    free(counters->entries);
    *counters = (struct staleness_counters){0};
}

static void add_one(struct staleness_share *share, uint64_t staleness)
{
    share->count++;
    share->sum += staleness;
    share->max = staleness > share->max ? staleness : share->max;
}

/* Zeroed room for so many items; `array`: where the pointer to them is. */
static bool grow(void *array, uint32_t *count, uint32_t wanted, size_t bytes)
{
    char *items;
    if (wanted <= *count)
        return true;
    memcpy(&items, array, sizeof items);
    items = realloc(items, wanted * bytes);
    if (items == NULL)
        return false;
    memset(items + *count * bytes, 0, (wanted - *count) * bytes);
    memcpy(array, &items, sizeof items);
    *count = wanted;
    return true;
}

enum status staleness_counters_add(struct staleness_counters *counters, struct histogram *shape,
                                   uint32_t worker, uint64_t base, uint64_t met, bool made)
{
    assert(met >= counters->first && worker < JOB_WORKERS_MAX);
    if (!grow(&counters->entries, &counters->worker_count, worker + 1, sizeof *counters->entries))
        return STATUS_MEMORY;
    struct staleness_entry *entry = &counters->entries[worker];
    uint64_t held = entry->share.count > 0 ? entry->last : counters->first;
    if (base > met) /* A batch that is left out may name any base. */
        base = met;
    entry->renewed += base > held ? base - held : 0;
    entry->last = met + made;
    entry->made += made;
    add_one(&entry->share, met - base);
    histogram_add(shape, met - base);
    return STATUS_OK;
}

/* --- tallies ------------------------------------------------------------------------------- */

void staleness_tally_free(struct staleness_tally *tally)
{
    free(tally->workers);
    memset(tally, 0, sizeof *tally);
}

static bool make_workers(struct staleness_tally *tally, uint32_t wanted)
{
    return grow(&tally->workers, &tally->worker_count, wanted, sizeof *tally->workers);
}

static void add_share(struct staleness_share *to, const struct staleness_share *from)
{
    to->count += from->count;
    to->sum += from->sum;
    to->max = from->max > to->max ? from->max : to->max;
}

/* With `before` updates of all workers up to a worker's last gradient, U W - C - after is before
 * - own. That is 0 for workers without updates, so W need not be known. */
enum status staleness_tally_add_counters(struct staleness_tally *tally,
                                         const struct staleness_counters *counters)
{
    for (uint32_t i = 0; i < counters->worker_count; i++) {
        const struct staleness_entry *entry = &counters->entries[i];
        tally->all.renewed += entry->renewed;
        if (entry->share.count > 0)
            tally->all.expected += entry->last - counters->first - entry->made;
    }
    if (!make_workers(tally, counters->worker_count))
        return STATUS_MEMORY;
    for (uint32_t i = 0; i < counters->worker_count; i++)
        add_share(&tally->workers[i], &counters->entries[i].share);
    return STATUS_OK;
}

enum status staleness_tally_add(struct staleness_tally *to, const struct staleness_tally *from)
{
    histogram_merge(&to->all.shape, &from->all.shape);
    to->all.expected += from->all.expected;
    to->all.renewed += from->all.renewed;
    if (!make_workers(to, from->worker_count))
        return STATUS_MEMORY;
    for (uint32_t i = 0; i < from->worker_count; i++)
        add_share(&to->workers[i], &from->workers[i]);
    return STATUS_OK;
}

/* --- bytes --------------------------------------------------------------------------------- */

static void put(unsigned char **at, uint64_t word)
{
    for (unsigned i = 0; i < 8; i++)
        *(*at)++ = (unsigned char)(word >> 8 * i);
}

static uint64_t get(const unsigned char **at)
{
    uint64_t word = 0;
    for (unsigned i = 0; i < 8; i++)
        word |= (uint64_t) * (*at)++ << 8 * i;
    return word;
}

static void put_share(unsigned char **at, const struct staleness_share *share)
{
    put(at, share->count);
    put(at, share->sum);
    put(at, share->max);
}

struct frame *staleness_tally_frame(const struct staleness_tally *tally)
{
    const struct histogram *shape = &tally->all.shape;
    size_t buckets = histogram_used(shape);
    uint64_t squares;
    struct frame *frame =
        frame_create(8 * (STALENESS_WORDS + buckets + 3 * (size_t)tally->worker_count));
    if (frame == NULL)
        return NULL;
    unsigned char *at = frame->data;
    memcpy(&squares, &shape->squares, sizeof squares);
    put(&at, shape->count);
    put(&at, shape->sum);
    put(&at, shape->max);
    put(&at, squares);
    put(&at, tally->all.expected);
    put(&at, tally->all.renewed);
    put(&at, buckets);
    put(&at, tally->worker_count);
    for (size_t i = 0; i < buckets; i++)
        put(&at, shape->buckets[i]);
    for (uint32_t i = 0; i < tally->worker_count; i++)
        put_share(&at, &tally->workers[i]);
    return frame;
}

/* False: these are not the bytes of a tally. `workers`: where its workers begin. */
static bool read_all(struct staleness_tally *tally, const struct frame *frame,
                     const unsigned char **workers)
{
    struct histogram *shape = &tally->all.shape;
    const unsigned char *at = frame->data;
    if (frame->bytes < 8 * STALENESS_WORDS)
        return false;
    shape->count = get(&at);
    shape->sum = get(&at);
    shape->max = get(&at);
    uint64_t squares = get(&at);
    memcpy(&shape->squares, &squares, sizeof squares);
    tally->all.expected = get(&at);
    tally->all.renewed = get(&at);
    uint64_t buckets = get(&at), count = get(&at);
    if (buckets > HISTOGRAM_BUCKETS || count > JOB_WORKERS_MAX ||
        frame->bytes != 8 * (STALENESS_WORDS + buckets + 3 * count))
        return false;
    for (size_t i = 0; i < buckets; i++)
        shape->buckets[i] = get(&at);
    tally->worker_count = (uint32_t)count;
    *workers = at;
    return histogram_adds_up(shape);
}

enum status staleness_tally_read(struct staleness_tally *tally, const struct frame *frame)
{
    struct staleness_tally *read = calloc(1, sizeof *read);
    const unsigned char *at;
    enum status status = STATUS_MEMORY;
    if (read == NULL)
        return STATUS_MEMORY;
    if (!read_all(read, frame, &at)) {
        status = STATUS_INVALID;
    } else if ((read->workers = calloc(read->worker_count + 1, sizeof *read->workers)) != NULL) {
        for (uint32_t i = 0; i < read->worker_count; i++) {
            read->workers[i].count = get(&at);
            read->workers[i].sum = get(&at);
            read->workers[i].max = get(&at);
        }
        status = staleness_tally_add(tally, read);
    }
    free(read->workers);
    free(read);
    return status;
}
