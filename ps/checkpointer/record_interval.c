/* record_interval.c - reads every server's part once, finds the gradients that chunks have had,
 * orders them, and writes them and then the logs. */

#include "ps/checkpointer/record_interval.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/job/bases.h"
#include "common/store/part_entries.h"
#include "ps/shard/descriptions.h"
#include "ps/shard/update_log.h"
#include "ps/work/policy.h"

_Static_assert(UPDATE_LOG_MAX >= 2 * DESCRIPTIONS_MAX, "the record has ended before chunks forget");

/* One server's description. */
struct gradient {
    struct description what;
    const uint8_t *bases; /* In its part. */
    bool used;            /* A chunk has had the gradient: */
    uint32_t computation; /* which is this one. */
};

struct source {
    struct part_entries part;
    struct gradient *gradients; /* [count] by number. Owned. */
    size_t count, capacity;
};

/* A chunk's log since the last snapshot, and how far its gradients are in order. */
struct chunk_log {
    const struct source *source;
    const uint32_t *list; /* [count] in its part. */
    uint32_t count, at;
    uint64_t version; /* Made by the entries before `at`. */
};

/* A gradient, whichever servers describe it. */
struct computation {
    const struct gradient *gradient;
    uint64_t number;           /* 0: none yet. */
    struct varint_input bases; /* Behind the base of `chunk`. */
    uint32_t chunk;            /* The bases of the chunks before it are in order. */
    uint64_t base;             /* Of `chunk`. */
};

/* The computations of one ticket, in order of count. */
struct queue {
    uint32_t at, end;
};

struct interval {
    struct checkpointer *checkpointer;
    uint64_t step;
    struct source *sources;           /* [part_count] Owned. */
    struct chunk_log *logs;           /* [chunk_count] Owned. */
    bool over;                        /* A server had too many to remember. */
    struct computation *computations; /* [count] by ticket and count. Owned. */
    struct queue *queues;             /* [queue_count] Owned. */
    uint32_t count, queue_count;
    uint64_t next;                    /* Number. */
    uint64_t *versions;               /* [chunk_count] Owned. */
    struct run_record_entry *entries; /* [entry_capacity] Of one chunk. Owned. */
    uint32_t entry_capacity;
};

static void interval_free(struct interval *s)
{
    for (uint32_t i = 0; s->sources != NULL && i < s->checkpointer->part_count; i++) {
        part_entries_close(&s->sources[i].part);
        free(s->sources[i].gradients);
    }
    free(s->sources);
    free(s->logs);
    free(s->computations);
    free(s->queues);
    free(s->versions);
    free(s->entries);
}

static enum status no_memory(struct error *error)
{
    return error_set(error, STATUS_MEMORY, "out of memory for the record");
}

/* --- reading ------------------------------------------------------------------------------- */

/* A chunk's log since the last snapshot: all that it has handed over, or the end of that. */
static enum status take_log(struct interval *s, const struct source *source, uint64_t first,
                            const uint32_t *list, uint32_t count, struct error *error)
{
    const struct checkpointer *k = s->checkpointer;
    uint64_t wanted = s->step - k->chronicle.step;
    uint32_t chunk = plan_chunk_at(k->plan, first);
    if (count < wanted || chunk == k->plan->partition.chunk_count)
        return error_set(error, STATUS_INVALID,
                         "%" PRIu32 " of the %" PRIu64 " batches before step %" PRIu64
                         " are noted for the chunk at %" PRIu64,
                         count, wanted, s->step, first);
    s->logs[chunk] = (struct chunk_log){.source = source,
                                        .list = list + (count - wanted),
                                        .count = (uint32_t)wanted,
                                        .version = k->chronicle.version};
    return STATUS_OK;
}

static enum status take_page(struct interval *s, struct source *source, const uint32_t *words,
                             struct error *error)
{
    struct descriptions_page page;
    struct gradient one = {0};
    descriptions_page_open(&page, words);
    s->over = s->over || page.over;
    while (descriptions_page_next(&page, &one.what, &one.bases)) {
        struct gradient *gradient =
            array_room(source->gradients, source->count, &source->capacity, sizeof one);
        if (gradient == NULL)
            return no_memory(error);
        source->gradients = gradient;
        source->gradients[source->count++] = one;
    }
    return STATUS_OK;
}

/* Pages are in order of their chunks, and so are the numbers in them. */
static enum status read_parts(struct interval *s, struct error *error)
{
    const struct checkpointer *k = s->checkpointer;
    uint32_t chunks = k->plan->partition.chunk_count, count;
    const uint32_t *list, *page;
    uint64_t first;
    s->sources = calloc(k->part_count, sizeof *s->sources);
    s->logs = calloc(chunks, sizeof *s->logs);
    s->versions = calloc(chunks, sizeof *s->versions);
    if (s->sources == NULL || s->logs == NULL || s->versions == NULL)
        return no_memory(error);
    for (uint32_t i = 0; i < k->part_count; i++) {
        struct source *source = &s->sources[i];
        enum status status = part_entries_open(&source->part, k->options.disk, k->options.out,
                                               s->step, k->generation, i, k->part_count, error);
        while (status == STATUS_OK &&
               part_entries_next(&source->part, &first, &list, &count, &page)) {
            status = take_log(s, source, first, list, count, error);
            if (status == STATUS_OK)
                status = take_page(s, source, page, error);
        }
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* --- what chunks have had ------------------------------------------------------------------ */

/* Of an entry; NULL: there is none. Mostly no number is missing. */
static struct gradient *gradient_of(const struct source *source, uint32_t entry)
{
    if (source->count == 0)
        return NULL;
    uint64_t base = source->gradients[0].what.number, number = update_log_number(entry, base);
    size_t low = 0, high = number - base < source->count ? number - base + 1 : source->count;
    if (source->gradients[high - 1].what.number == number)
        return &source->gradients[high - 1];
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (source->gradients[middle].what.number < number)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < source->count && source->gradients[low].what.number == number;
    return found ? &source->gradients[low] : NULL;
}

static enum status note_used(struct interval *s, size_t *used, struct error *error)
{
    for (uint32_t chunk = 0; chunk < s->checkpointer->plan->partition.chunk_count; chunk++)
        for (uint32_t i = 0; i < s->logs[chunk].count; i++) {
            struct gradient *gradient = gradient_of(s->logs[chunk].source, s->logs[chunk].list[i]);
            if (gradient == NULL)
                return error_set(error, STATUS_INVALID,
                                 "an entry of chunk %" PRIu32 " is of a gradient that was not "
                                 "described",
                                 chunk);
            *used += !gradient->used;
            gradient->used = true;
        }
    return STATUS_OK;
}

static bool is_same(const struct gradient *a, const struct gradient *b)
{
    return a->what.ticket == b->what.ticket && a->what.count == b->what.count;
}

static int by_ticket_and_count(const void *left, const void *right)
{
    const struct description *a = &(*(struct gradient *const *)left)->what;
    const struct description *b = &(*(struct gradient *const *)right)->what;
    if (a->ticket != b->ticket)
        return a->ticket < b->ticket ? -1 : 1;
    return a->count < b->count ? -1 : a->count > b->count;
}

/* Descriptions of one gradient by several servers become one computation. */
static enum status merge(struct interval *s, size_t used, struct error *error)
{
    struct gradient **all = calloc(used + 1, sizeof *all);
    s->computations = calloc(used + 1, sizeof *s->computations);
    s->queues = calloc(used + 1, sizeof *s->queues);
    if (all == NULL || s->computations == NULL || s->queues == NULL) {
        free(all);
        return no_memory(error);
    }
    size_t count = 0;
    for (uint32_t i = 0; i < s->checkpointer->part_count; i++)
        for (size_t k = 0; k < s->sources[i].count; k++)
            if (s->sources[i].gradients[k].used)
                all[count++] = &s->sources[i].gradients[k];
    qsort(all, count, sizeof *all, by_ticket_and_count);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || !is_same(all[i - 1], all[i]))
            s->computations[s->count++] = (struct computation){
                .gradient = all[i], .bases = {all[i]->bases, all[i]->what.bases_bytes, 0}};
        all[i]->computation = s->count - 1;
        if (i == 0 || all[i - 1]->what.ticket != all[i]->what.ticket)
            s->queues[s->queue_count++].at = s->count - 1;
        s->queues[s->queue_count - 1].end = s->count;
    }
    free(all);
    return STATUS_OK;
}

/* --- their order --------------------------------------------------------------------------- */

/* A chunk's version by its first entries that are all in order. */
static uint64_t version_in_order(const struct interval *s, struct chunk_log *log)
{
    for (; log->at < log->count; log->at++) {
        const struct gradient *gradient = gradient_of(log->source, log->list[log->at]);
        if (s->computations[gradient->computation].number == 0)
            break;
        log->version += (log->list[log->at] & LOGGED_CLOSES) != 0;
    }
    return log->version;
}

/* Whether all that its bases count is in order. What is found once stays. */
static bool is_ready(const struct interval *s, struct computation *c)
{
    uint32_t chunks = s->checkpointer->plan->partition.chunk_count;
    for (; c->chunk < chunks; c->chunk++) {
        struct varint_input rest = c->bases;
        uint64_t difference;
        if (!varint_take(&rest, &difference))
            return false;
        uint64_t base = varint_add_difference(c->base, difference);
        if (base > version_in_order(s, &s->logs[c->chunk]))
            return false;
        c->bases = rest;
        c->base = base;
    }
    return true;
}

/* The one that comes next; NULL: there is none. */
static struct computation *choose(const struct interval *s, struct queue **from)
{
    struct computation *best = NULL;
    for (uint32_t i = 0; i < s->queue_count; i++) {
        struct queue *queue = &s->queues[i];
        struct computation *c = &s->computations[queue->at];
        if (queue->at == queue->end || !is_ready(s, c) ||
            (best != NULL && best->gradient->what.clock <= c->gradient->what.clock))
            continue;
        best = c;
        *from = queue;
    }
    return best;
}

static enum status write_computations(struct interval *s, struct run_record_writer *writer,
                                      struct error *error)
{
    const struct plan *plan = s->checkpointer->plan;
    struct queue *queue;
    for (uint32_t i = 0; i < s->count; i++) {
        struct computation *c = choose(s, &queue);
        if (c == NULL)
            return error_set(error, STATUS_INVALID, "gradients are made from each other");
        const struct description *what = &c->gradient->what;
        if (!bases_decode(c->gradient->bases, what->bases_bytes, plan->job.steps, s->versions,
                          plan->partition.chunk_count))
            return error_set(error, STATUS_INVALID,
                             "gradient %" PRIu64 " of worker/%" PRIu32 " has no bases", what->count,
                             what->worker);
        queue->at++;
        c->number = s->next++;
        const struct policy *policy = s->checkpointer->options.policy;
        float rate = policy != NULL ? policy->rate(policy->context, what->ticket, what->count) : 1;
        run_record_writer_computation(writer,
                                      &(struct run_record_computation){.number = c->number,
                                                                       .ticket = what->ticket,
                                                                       .batch = what->batch,
                                                                       .clock = what->clock,
                                                                       .worker = what->worker,
                                                                       .rate = rate,
                                                                       .bases = s->versions});
    }
    return STATUS_OK;
}

/* --- writing ------------------------------------------------------------------------------- */

static enum status write_entries(struct interval *s, struct run_record_writer *writer,
                                 struct error *error)
{
    for (uint32_t chunk = 0; chunk < s->checkpointer->plan->partition.chunk_count; chunk++) {
        const struct chunk_log *log = &s->logs[chunk];
        if (log->count > s->entry_capacity) {
            struct run_record_entry *entries = realloc(s->entries, log->count * sizeof *entries);
            if (entries == NULL)
                return no_memory(error);
            s->entries = entries;
            s->entry_capacity = log->count;
        }
        for (uint32_t i = 0; i < log->count; i++)
            s->entries[i] = (struct run_record_entry){
                .computation =
                    s->computations[gradient_of(log->source, log->list[i])->computation].number,
                .skipped = log->list[i] & LOGGED_SKIPPED,
                .closes = log->list[i] & LOGGED_CLOSES};
        run_record_writer_entries(writer, chunk, s->checkpointer->chronicle.step, s->entries,
                                  log->count);
    }
    return STATUS_OK;
}

static enum status write_all(struct interval *s, struct run_record_writer *writer,
                             struct error *error)
{
    const struct checkpointer *k = s->checkpointer;
    for (uint32_t i = 0; i < k->gone_count; i++)
        run_record_writer_gone(writer, &k->gone[i]);
    enum status status = write_computations(s, writer, error);
    return status == STATUS_OK ? write_entries(s, writer, error) : status;
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

/* Too much has happened since the last snapshot that could be written. */
static void end_record(struct checkpointer *checkpointer, struct outbox *outbox)
{
    order_event(outbox, EVENT_RECORD_ENDED, .step = checkpointer->chronicle.step,
                .count = DESCRIPTIONS_MAX);
    run_chronicle_end(&checkpointer->chronicle);
}

enum status record_interval_write(struct checkpointer *checkpointer, uint64_t step,
                                  struct leaf_sets sets, struct outbox *outbox, struct error *error)
{
    struct checkpointer *k = checkpointer;
    struct run_chronicle *chronicle = &k->chronicle;
    struct interval interval = {
        .checkpointer = k, .step = step, .next = run_chronicle_next(chronicle)};
    struct run_record_snapshot cut = {.batches = step, .version = step};
    size_t used = 0;
    if (!chronicle->on || chronicle->ended)
        return STATUS_OK;
    enum status status = k->records ? read_parts(&interval, error) : STATUS_OK;
    if (status == STATUS_OK && interval.over)
        end_record(k, outbox);
    if (status == STATUS_OK && !chronicle->ended && k->records)
        status = note_used(&interval, &used, error);
    if (status == STATUS_OK && !chronicle->ended && k->records)
        status = merge(&interval, used, error);
    if (status == STATUS_OK && !chronicle->ended) {
        struct run_record_writer *writer = run_chronicle_begin(
            chronicle, &k->job, k->claim.run_id, k->records ? &k->plan->partition : NULL, error);
        status = writer == NULL ? STATUS_MEMORY : STATUS_OK;
        if (status == STATUS_OK)
            write_sets(chronicle, sets, writer);
        if (status == STATUS_OK && k->records) {
            status = write_all(&interval, writer, error);
            cut.version = version_in_order(&interval, &interval.logs[0]);
        }
        cut.computation = interval.next;
        if (status == STATUS_OK)
            status = run_chronicle_write(chronicle, &cut, error);
    }
    interval_free(&interval);
    return status;
}
