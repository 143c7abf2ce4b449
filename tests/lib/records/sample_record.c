/* sample_record.c - one worker's next act at a time, drawn. */

#include "tests/lib/records/sample_record.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define CHUNKS_MAX  64
#define WORKERS_MAX 32

struct worker {
    bool busy, here;
    uint64_t ticket, clock;
    uint64_t held[CHUNKS_MAX]; /* Versions when it had finished its last. */
    uint64_t pushed;           /* A bit a chunk. */
    size_t computation;
};

struct computation {
    struct run_record_computation record;
    uint64_t bases[CHUNKS_MAX];
    bool used;
};

struct training {
    struct sample_record *record;
    uint64_t batches, given;
    uint64_t *returned; /* [returned_count] batches of who was lost. */
    size_t returned_count;
    struct computation *computations;
    size_t count, capacity;
    struct run_record_gone *gone; /* [gone_count] */
    size_t gone_count;
    struct run_record_entry *entries; /* [chunk][batches] */
    uint64_t places[CHUNKS_MAX], versions[CHUNKS_MAX];
    uint64_t *owner; /* [chunk][batches] which computation's it is; 0: not had. */
    struct worker workers[WORKERS_MAX];
};

void sample_record_begin_with(struct sample_record *record, uint64_t seed, uint32_t workers,
                              const struct run_record_segment *segment, const uint64_t *elements,
                              uint32_t chunks)
{
    assert(chunks <= CHUNKS_MAX && workers <= WORKERS_MAX);
    memset(record, 0, sizeof *record);
    random_sequence_init(&record->random, seed, RANDOM_STREAM_PROBE, 0);
    record->workers = workers;
    record->group = 1;
    record->bound = MODE_UNBOUNDED;
    record->generation = 1;
    record->segment = *segment;
    record->segment.chunk_count = chunks;
    record->at =
        (struct run_record_snapshot){segment->batches, segment->version, segment->computation};
    record->segment.elements = calloc(chunks + 1, sizeof *record->segment.elements);
    assert(record->segment.elements != NULL);
    for (uint32_t i = 0; i < chunks; i++)
        record->segment.elements[i] = elements[i];
    run_record_writer_init(&record->writer);
    run_record_writer_segment(&record->writer, &record->segment);
    run_record_writer_generation(&record->writer, record->generation);
}

void sample_record_begin(struct sample_record *record, uint64_t seed, uint32_t workers,
                         uint32_t chunks)
{
    uint64_t elements[CHUNKS_MAX];
    struct run_record_segment segment = {.run_id = 0xc0ffee,
                                         .session = 1,
                                         .worker_count = workers,
                                         .server_count = 2,
                                         .instructions = 1,
                                         .computation = 1};
    memset(segment.declaration, 7, DIGEST_BYTES);
    for (uint32_t i = 0; i < CHUNKS_MAX; i++)
        elements[i] = 16 * (i + 1);
    sample_record_begin_with(record, seed, workers, &segment, elements, chunks);
}

void sample_record_free(struct sample_record *record)
{
    run_record_writer_free(&record->writer);
    free(record->segment.elements);
}

void sample_record_go_back(struct sample_record *record)
{
    run_record_writer_generation(&record->writer, ++record->generation);
}

static uint64_t draw(struct training *t, uint64_t below)
{
    return random_next(&t->record->random) % below;
}

static bool next_batch(struct training *t, uint64_t *batch)
{
    if (t->returned_count > 0)
        *batch = t->returned[--t->returned_count];
    else if (t->given < t->batches)
        *batch = t->given++;
    else
        return false;
    return true;
}

/* Of the workers that are here. */
static uint64_t least_clock(const struct training *t)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < t->record->workers; i++)
        if (t->workers[i].here && t->workers[i].clock < least)
            least = t->workers[i].clock;
    return least == UINT64_MAX ? 0 : least;
}

static void come(struct training *t, struct worker *worker)
{
    if (worker->here)
        return;
    worker->clock = least_clock(t);
    worker->ticket = ++t->record->tickets;
    worker->here = true;
    memcpy(worker->held, t->versions, sizeof worker->held);
}

static void compute(struct training *t, uint32_t index)
{
    struct worker *worker = &t->workers[index];
    struct sample_record *r = t->record;
    uint64_t batch;
    come(t, worker);
    if (r->bound != MODE_UNBOUNDED && worker->clock - least_clock(t) > r->bound)
        return;
    if (!next_batch(t, &batch))
        return;
    if (t->count == t->capacity) {
        t->capacity = 2 * t->capacity + 16;
        t->computations = realloc(t->computations, t->capacity * sizeof *t->computations);
        assert(t->computations != NULL);
    }
    struct computation *c = &t->computations[t->count];
    *c = (struct computation){0};
    c->record.ticket = worker->ticket;
    c->record.number = r->at.computation++;
    c->record.worker = index;
    c->record.batch = r->at.batches + batch;
    c->record.clock = r->bound == MODE_UNBOUNDED ? 0 : worker->clock;
    memcpy(c->bases, r->held ? worker->held : t->versions, sizeof c->bases);
    worker->busy = true;
    worker->pushed = 0;
    worker->computation = t->count++;
}

static void give(struct training *t, struct computation *c, uint32_t chunk, uint64_t batch)
{
    t->owner[chunk * t->batches + batch] = c->record.number;
    c->used = true;
    uint64_t place = t->places[chunk]++;
    bool closes = (place + 1) % t->record->group == 0 || place + 1 == t->batches;
    t->entries[chunk * t->batches + place] =
        (struct run_record_entry){c->record.number, draw(t, 20) == 0, closes};
    t->versions[chunk] += closes;
}

static void push(struct training *t, uint32_t index, uint32_t chunk)
{
    struct worker *worker = &t->workers[index];
    struct computation *c = &t->computations[worker->computation];
    uint64_t batch = c->record.batch - t->record->at.batches;
    uint64_t *owner = &t->owner[chunk * t->batches + batch];
    worker->pushed |= UINT64_C(1) << chunk;
    worker->busy = worker->pushed != (UINT64_C(1) << t->record->segment.chunk_count) - 1;
    if (*owner == 0)
        give(t, c, chunk, batch); /* Else a duplicate. */
    if (worker->busy)
        return;
    worker->clock++;
    memcpy(worker->held, t->versions, sizeof worker->held);
}

static void act(struct training *t)
{
    uint32_t index = (uint32_t)draw(t, t->record->workers);
    uint32_t chunk = (uint32_t)draw(t, t->record->segment.chunk_count);
    struct worker *worker = &t->workers[index];
    if (!worker->busy) {
        compute(t, index);
    } else if ((double)draw(t, 1000) < 1000 * t->record->loss) {
        worker->busy = worker->here = false;
        t->gone = realloc(t->gone, (t->gone_count + 1) * sizeof *t->gone);
        assert(t->gone != NULL);
        t->gone[t->gone_count++] = (struct run_record_gone){worker->ticket, worker->clock};
        t->returned[t->returned_count++] =
            t->computations[worker->computation].record.batch - t->record->at.batches;
    } else if (!(worker->pushed >> chunk & 1)) {
        push(t, index, chunk);
    }
}

static bool is_done(const struct training *t)
{
    bool done = t->given == t->batches && t->returned_count == 0;
    for (uint32_t i = 0; i < t->record->workers; i++)
        done = done && !t->workers[i].busy;
    return done;
}

static void tell(struct training *t)
{
    struct sample_record *r = t->record;
    for (size_t i = 0; i < t->gone_count; i++)
        run_record_writer_gone(&r->writer, &t->gone[i]);
    for (size_t i = 0; i < t->count; i++) {
        struct computation *c = &t->computations[i];
        c->record.bases = c->bases;
        if (c->used)
            run_record_writer_computation(&r->writer, &c->record);
    }
    for (uint32_t chunk = 0; chunk < r->segment.chunk_count; chunk++)
        run_record_writer_entries(&r->writer, chunk, r->at.batches, t->entries + chunk * t->batches,
                                  t->batches);
    for (uint64_t batch = 0; batch < t->batches; batch++) {
        bool torn = false;
        for (uint32_t chunk = 1; chunk < r->segment.chunk_count; chunk++)
            torn = torn || t->owner[chunk * t->batches + batch] != t->owner[batch];
        r->torn += torn;
    }
    r->at.batches += t->batches;
    r->at.version = r->segment.chunk_count > 0 ? t->versions[0] : r->at.batches;
    run_record_writer_snapshot(&r->writer, &r->at);
    enum status status = run_record_writer_finish(&r->writer);
    assert(status == STATUS_OK);
    (void)status;
}

void sample_record_train(struct sample_record *record, uint64_t batches)
{
    const uint32_t chunks = record->segment.chunk_count;
    struct training t = {.record = record, .batches = batches};
    t.returned = calloc(record->workers + 1, sizeof *t.returned);
    t.entries = calloc(chunks * batches + 1, sizeof *t.entries);
    t.owner = calloc(chunks * batches + 1, sizeof *t.owner);
    assert(t.returned != NULL && t.entries != NULL && t.owner != NULL);
    for (uint32_t i = 0; i < chunks; i++)
        t.versions[i] = record->at.version;
    while (chunks > 0 && !is_done(&t))
        act(&t);
    tell(&t);
    free(t.returned);
    free(t.entries);
    free(t.owner);
    free(t.computations);
    free(t.gone);
}
