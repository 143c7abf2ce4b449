/* replay.c - chunks advance side by side, one entry each in turn; a computation is made when the
 * first chunk comes to an entry of it, and dropped after the last. */

#include "deploy/replay/replay.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/job/checkpoint_part.h"
#include "deploy/replay/kept.h"
#include "ps/shard/group.h"
#include "ps/shard/plan.h"

struct making {
    float *gradient; /* [elements] while some chunk is to have it yet ... */
    float *base;     /* and its base values, when gradients are compensated. */
    struct tally score;
    uint32_t examples; /* Its number; 0: all of its batch. */
    struct policy_answer answer;
};

/* The chunks after so many batches, as far as they have reached that. */
struct passing {
    uint64_t batches;
    float *values; /* [elements] */
    uint32_t missing;
    struct passing *next;
};

struct replay {
    struct job job;
    struct replay_calls calls;
    uint64_t until, counted_from, elements;
    struct leaf_sets sets; /* Those of the steps to come, where there are some. */
    struct leaf_set set;   /* Of the step under way. */
    struct run_record_reader reader;
    struct plan *plan; /* Of the segment. */
    struct chunk *chunks;
    uint64_t *places; /* [chunk_count] batches had. */
    uint32_t chunk_count;
    uint32_t scoring; /* The chunk whose entries score batches: the first of server 0's. */
    struct kept kept;
    struct making *makings; /* [computation_count] of the interval, */
    uint32_t *left;         /* ... and how many entries each has yet that are no skips. */
    float **spare;          /* [spare_count] gradients to be used again. */
    size_t spare_count, gradients;
    float *carried[CHECKPOINT_ARRAYS_MAX]; /* [elements] the last values of the previous segment. */
    const float *given;                    /* [elements] initial values; NULL: by the seed. */
    const struct policy *policy;           /* NULL: the record decides. */
    float *parameters;                     /* [elements] the base of a gradient. */
    float *result;                         /* [elements] at `until` ... */
    uint64_t result_version;               /* ... and which version of every chunk that is. */
    struct passing *passing;
    struct tally *epochs; /* [epoch_count] */
    uint64_t epoch_count;
    struct replay_figures figures;
};

static enum status no_memory(struct error *error)
{
    return error_set(error, STATUS_MEMORY, "out of memory to replay it");
}

static float *make_space(const struct replay *r)
{
    return aligned_alloc(64, r->elements * sizeof(float));
}

/* --- creation --------------------------------------------------------------------------------- */

enum status replay_create(struct replay **replay, const struct job *job, uint64_t until,
                          const struct replay_calls *calls, struct error *error)
{
    struct replay *r = calloc(1, sizeof *r);
    uint64_t *offsets = calloc(job->variable_count, sizeof *offsets);
    *replay = r;
    if (r == NULL || offsets == NULL || job_copy(&r->job, job) != STATUS_OK)
        goto fail;
    r->calls = *calls;
    r->until = until;
    r->elements = variables_layout(job->variables, job->variable_count, offsets);
    r->epoch_count = job_epochs(job);
    r->epochs = calloc(r->epoch_count + 1, sizeof *r->epochs);
    r->parameters = make_space(r);
    r->result = make_space(r);
    if (r->epochs == NULL || r->parameters == NULL || r->result == NULL)
        goto fail;
    free(offsets);
    return STATUS_OK;
fail:
    free(offsets);
    replay_destroy(replay);
    return no_memory(error);
}

void replay_give(struct replay *replay, const float *initial)
{
    replay->given = initial;
}

void replay_ask(struct replay *replay, const struct policy *policy)
{
    replay->policy = policy;
}

static void forget_interval(struct replay *r)
{
    for (uint32_t i = 0; r->makings != NULL && i < r->reader.interval.computation_count; i++) {
        free(r->makings[i].gradient);
        free(r->makings[i].base);
    }
    free(r->makings);
    free(r->left);
    r->makings = NULL;
    r->left = NULL;
}

static void end_segment(struct replay *r)
{
    forget_interval(r);
    kept_free(&r->kept);
    for (uint32_t i = 0; i < r->chunk_count; i++)
        chunk_free(&r->chunks[i]);
    free(r->chunks);
    free(r->places);
    r->chunks = NULL;
    r->places = NULL;
    r->chunk_count = 0;
    plan_destroy(&r->plan);
    run_record_reader_close(&r->reader);
}

void replay_destroy(struct replay **replay)
{
    struct replay *r = *replay;
    if (r == NULL)
        return;
    end_segment(r);
    while (r->passing != NULL) {
        struct passing *next = r->passing->next;
        free(r->passing->values);
        free(r->passing);
        r->passing = next;
    }
    for (size_t i = 0; i < r->spare_count; i++)
        free(r->spare[i]);
    free(r->spare);
    for (uint32_t i = 0; i < CHECKPOINT_ARRAYS_MAX; i++)
        free(r->carried[i]);
    free(r->parameters);
    free(r->result);
    free(r->epochs);
    job_free(&r->job);
    free(r);
    *replay = NULL;
}

/* --- kept values ------------------------------------------------------------------------------ */

static void measure(struct replay *r)
{
    struct replay_figures *f = &r->figures;
    uint64_t bytes = r->kept.bytes + r->gradients * r->elements * sizeof(float);
    f->bytes_max = bytes > f->bytes_max ? bytes : f->bytes_max;
    f->gradients_max = r->gradients > f->gradients_max ? r->gradients : f->gradients_max;
    f->versions_max =
        r->kept.versions_max > f->versions_max ? r->kept.versions_max : f->versions_max;
}

static float *take_gradient(struct replay *r)
{
    float *gradient = r->spare_count > 0 ? r->spare[--r->spare_count] : make_space(r);
    r->gradients += gradient != NULL;
    return gradient;
}

static void give_gradient(struct replay *r, float *gradient)
{
    float **spare = realloc(r->spare, (r->spare_count + 1) * sizeof *spare);
    r->gradients--;
    if (spare == NULL) {
        free(gradient);
        return;
    }
    r->spare = spare;
    r->spare[r->spare_count++] = gradient;
}

/* --- the end of an epoch ------------------------------------------------------------------- */

static bool is_passed(const struct replay *r, uint64_t batches)
{
    bool closes = job_closes_at(&r->job, batches);
    return batches > 0 && ((closes && r->calls.passed != NULL) || batches == r->until);
}

static struct passing *find_passing(struct replay *r, uint64_t batches)
{
    struct passing *p = r->passing;
    while (p != NULL && p->batches != batches)
        p = p->next;
    if (p != NULL)
        return p;
    p = calloc(1, sizeof *p);
    if (p == NULL || (p->values = make_space(r)) == NULL) {
        free(p);
        return NULL;
    }
    p->batches = batches;
    p->missing = r->chunk_count;
    p->next = r->passing;
    r->passing = p;
    return p;
}

static enum status passed(struct replay *r, struct passing *p, struct error *error)
{
    struct passing **at = &r->passing;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    enum status status = STATUS_OK;
    bool end = job_closes_at(&r->job, p->batches);
    if (r->calls.passed != NULL && end)
        status = r->calls.passed(r->calls.context, p->batches, p->values, error);
    if (p->batches == r->until)
        memcpy(r->result, p->values, r->elements * sizeof(float));
    free(p->values);
    free(p);
    return status;
}

/* The chunk has had one batch more. */
static enum status pass(struct replay *r, const struct chunk *chunk, uint64_t batches,
                        struct error *error)
{
    if (batches == r->until)
        r->result_version = chunk->version;
    if (!is_passed(r, batches))
        return STATUS_OK;
    struct passing *p = find_passing(r, batches);
    if (p == NULL)
        return no_memory(error);
    memcpy(p->values + chunk->first, chunk->values->data, chunk->count * sizeof(float));
    return --p->missing == 0 ? passed(r, p, error) : STATUS_OK;
}

/* --- segments ------------------------------------------------------------------------------ */

/* From each interval, the number of a computation's entries that are no skips: with 0 it is not
 * made. */
static uint32_t *count_left(const struct run_record_interval *s, uint32_t chunk_count)
{
    uint32_t *left = calloc(s->computation_count + 1, sizeof *left);
    uint64_t entries = (s->to.batches - s->from.batches) * chunk_count;
    for (uint64_t i = 0; left != NULL && i < entries; i++)
        left[s->places[i].computation] += !s->places[i].skipped;
    return left;
}

static enum status foresee(struct replay *r, const char *name, const void *bytes, size_t count,
                           struct error *error)
{
    struct run_record_reader reader;
    enum status status = run_record_reader_open(&reader, name, bytes, count, error);
    while (status == STATUS_OK && (status = run_record_reader_next(&reader, error)) == STATUS_OK) {
        uint32_t *left = count_left(&reader.interval, reader.segment.chunk_count);
        status = left == NULL ? STATUS_MEMORY : kept_foresee(&r->kept, &reader.interval, left);
        free(left);
        if (status != STATUS_OK)
            no_memory(error);
    }
    kept_foreseen(&r->kept);
    run_record_reader_close(&reader);
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

/* Values for the next segment. */
static enum status carry(struct replay *r)
{
    for (uint32_t array = 0; r->plan != NULL && array <= r->plan->slots.count; array++) {
        if (r->carried[array] == NULL && (r->carried[array] = make_space(r)) == NULL)
            return STATUS_MEMORY;
        for (uint32_t i = 0; i < r->chunk_count; i++)
            memcpy(r->carried[array] + r->chunks[i].first, chunk_array(&r->chunks[i], array),
                   r->chunks[i].count * sizeof(float));
    }
    return STATUS_OK;
}

static enum status make_plan(struct replay *r, struct error *error)
{
    const struct run_record_segment *segment = &r->reader.segment;
    struct job job = r->job;
    struct error why = {0};
    job.worker_count = segment->worker_count; /* A learning rate may depend on it. */
    bool serial = segment->chunk_count == 0;
    enum status status =
        plan_create_sized(&r->plan, &job, serial ? &r->elements : segment->elements,
                          serial ? 1 : segment->chunk_count, &why);
    if (status != STATUS_OK)
        return error_set(error, status, "%s: %.200s", r->reader.name, why.text);
    r->plan->given = r->given;
    return STATUS_OK;
}

/* The chunk whose EXCHANGE had the report. Chunks whose borders are not a variable's are dealt from
 * server 0 on. */
static enum status find_scoring(struct replay *r, struct error *error)
{
    struct partition partition;
    r->scoring = 0;
    if (r->reader.segment.chunk_count == 0 || job_borders(&r->job) != CHUNKS_LOCKED)
        return STATUS_OK;
    enum status status = partition_make(&partition, r->job.variables, r->job.variable_count,
                                        r->reader.segment.server_count, 0, CHUNKS_LOCKED, error);
    if (status != STATUS_OK)
        return status;
    while (partition.chunks[r->scoring].server != 0)
        r->scoring++;
    partition_free(&partition);
    return STATUS_OK;
}

static enum status fill(struct replay *r, uint32_t index)
{
    struct chunk *chunk = &r->chunks[index];
    enum status status = chunk_init(chunk, r->plan, index, NULL);
    if (status != STATUS_OK)
        return status;
    chunk_initialize(chunk);
    for (uint32_t array = 0; r->carried[0] != NULL && array <= r->plan->slots.count; array++)
        memcpy(chunk_array(chunk, array), r->carried[array] + chunk->first,
               chunk->count * sizeof(float));
    chunk_stand(chunk, r->reader.segment.batches, r->reader.segment.version);
    r->places[index] = r->reader.segment.batches;
    return kept_made(&r->kept, index, chunk->version, chunk->values);
}

static enum status make_chunks(struct replay *r)
{
    uint32_t count = r->plan->partition.chunk_count;
    r->chunks = calloc(count, sizeof *r->chunks);
    r->places = calloc(count, sizeof *r->places);
    if (r->chunks == NULL || r->places == NULL)
        return STATUS_MEMORY;
    enum status status = STATUS_OK;
    for (; r->chunk_count < count && status == STATUS_OK; r->chunk_count++)
        status = fill(r, r->chunk_count);
    return status;
}

enum status replay_begin(struct replay *replay, const char *name, const void *bytes, size_t count,
                         struct error *error)
{
    struct replay *r = replay;
    if (carry(r) != STATUS_OK)
        return no_memory(error);
    end_segment(r);
    enum status status = run_record_reader_open(&r->reader, name, bytes, count, error);
    if (status == STATUS_OK)
        status = make_plan(r, error);
    if (status == STATUS_OK)
        status = find_scoring(r, error);
    if (status != STATUS_OK)
        return status;
    if (kept_init(&r->kept, r->plan->partition.chunk_count) != STATUS_OK)
        return no_memory(error);
    if (r->reader.segment.chunk_count > 0)
        status = foresee(r, name, bytes, count, error);
    if (status == STATUS_OK && make_chunks(r) != STATUS_OK)
        status = no_memory(error);
    return status;
}

/* --- computations -------------------------------------------------------------------------- */

static bool can_be_made(const struct replay *r, const struct run_record_computation *c)
{
    for (uint32_t i = 0; i < r->chunk_count; i++)
        if (r->chunks[i].version < c->bases[i])
            return false;
    return true;
}

static void add_score(struct replay *r, const struct step_shape *shape, const struct tally *score)
{
    if (shape->batch.epoch < r->epoch_count)
        tally_add(&r->epochs[shape->batch.epoch], score);
}

static enum status make(struct replay *r, uint32_t index, struct error *error)
{
    const struct run_record_computation *c = &r->reader.interval.computations[index];
    struct making *making = &r->makings[index];
    making->gradient = take_gradient(r);
    if (making->gradient == NULL)
        return no_memory(error);
    if (r->job.delay_compensation > 0 && (making->base = take_gradient(r)) == NULL)
        return no_memory(error);
    measure(r);
    for (uint32_t i = 0; i < r->chunk_count; i++) {
        const struct frame *base = kept_look(&r->kept, i, c->bases[i]);
        memcpy(r->parameters + r->chunks[i].first, base->data, base->bytes);
        kept_use(&r->kept, i, c->bases[i]);
    }
    if (making->base != NULL)
        memcpy(making->base, r->parameters, r->elements * sizeof(float));
    r->figures.computations++;
    const struct step_shape shape = step_shape_of(&r->job, c->batch, NULL);
    return r->calls.gradient(r->calls.context, r->parameters, &shape, making->gradient,
                             &making->score, error);
}

/* What becomes of a gradient that was just made: as recorded, or as the policy says. */
static enum status judge(struct replay *r, uint32_t index, struct making *making,
                         const struct run_record_computation *c, struct error *error)
{
    const struct chunk *chunk = &r->chunks[index];
    struct node root = tree_root(job_batch(&r->job, c->batch).leaves);
    making->answer = (struct policy_answer){POLICY_APPLY, c->rate};
    if (r->policy == NULL)
        return STATUS_OK;
    making->answer = r->policy->judge(r->policy->context,
                                      &(struct policy_gradient){.worker = c->worker,
                                                                .base = c->bases[index],
                                                                .now = chunk->version,
                                                                .step = c->batch,
                                                                .node = root,
                                                                .leaves = root.leaf_count,
                                                                .held = chunk->pending.gradients});
    if (making->answer.verdict == POLICY_APPLY || making->answer.verdict == POLICY_IGNORE)
        return STATUS_OK;
    return error_set(error, STATUS_PROGRAM,
                     "--policy: a recorded gradient is applied or ignored: when updates are made, "
                     "the record says (batch %" PRIu64 ")",
                     c->batch);
}

/* --- entries ------------------------------------------------------------------------------- */

/* made: holds the gradient; NULL: the batch is left out. base: its base version. */
static enum status apply(struct replay *r, uint32_t index, const struct making *made,
                         uint64_t batch, uint64_t base, bool closes, struct error *error)
{
    struct chunk *chunk = &r->chunks[index];
    uint64_t staleness = chunk_staleness(chunk, base), before = chunk->version;
    struct chunk_gradient gradient = {.staleness = staleness};
    if (made != NULL) {
        gradient.sum = made->gradient + chunk->first;
        gradient.examples =
            made->examples > 0 ? made->examples : job_batch(&r->job, batch).examples;
        gradient.base = made->base != NULL ? made->base + chunk->first : NULL;
    }
    if (group_add(chunk, &gradient) != STATUS_OK || (closes && group_close(chunk) != STATUS_OK))
        return no_memory(error);
    if (closes != (chunk->pending.members == 0))
        return error_set(error, STATUS_INVALID,
                         "%s: damaged: chunk %" PRIu32 " makes a version of batch %" PRIu64
                         ", and the record says that the next one does",
                         r->reader.name, index, r->places[index]);
    r->figures.entries++;
    r->figures.skipped += made == NULL;
    r->figures.staleness_max =
        staleness > r->figures.staleness_max ? staleness : r->figures.staleness_max;
    if (r->places[index] >= r->counted_from) {
        r->figures.counted += made != NULL;
        r->figures.counted_max =
            staleness > r->figures.counted_max ? staleness : r->figures.counted_max;
    }
    if (chunk->version > before &&
        kept_made(&r->kept, index, chunk->version, chunk->values) != STATUS_OK)
        return no_memory(error);
    measure(r);
    return pass(r, chunk, ++r->places[index], error);
}

/* The next entry of a chunk; STATUS_AGAIN when it cannot be made yet. */
static enum status step(struct replay *r, uint32_t index, struct error *error)
{
    const struct run_record_interval *s = &r->reader.interval;
    uint64_t done = r->places[index] - s->from.batches, batches = s->to.batches - s->from.batches;
    const struct run_record_place *place = &s->places[index * batches + done];
    const struct run_record_computation *c = &s->computations[place->computation];
    struct making *making = &r->makings[place->computation];
    enum status status = STATUS_OK;
    if (!place->skipped && making->gradient == NULL) {
        if (!can_be_made(r, c))
            return STATUS_AGAIN;
        status = make(r, place->computation, error);
        if (status == STATUS_OK)
            status = judge(r, index, making, c, error);
    }
    if (status == STATUS_OK && index == r->scoring && r->places[index] < r->until) {
        const struct step_shape shape = step_shape_of(&r->job, c->batch, NULL);
        const struct tally nothing = {.updates = 1};
        add_score(r, &shape, place->skipped ? &nothing : &making->score);
    }
    bool applied = !place->skipped && making->answer.verdict == POLICY_APPLY;
    if (applied)
        r->chunks[index].pending.rate = making->answer.rate;
    if (status == STATUS_OK)
        status = apply(r, index, applied ? making : NULL, c->batch, c->bases[index], place->closes,
                       error);
    if (status == STATUS_OK && !place->skipped && --r->left[place->computation] == 0) {
        give_gradient(r, making->gradient);
        if (making->base != NULL)
            give_gradient(r, making->base);
        making->gradient = making->base = NULL;
    }
    return status;
}

static enum status stuck(const struct replay *r, struct error *error)
{
    const struct run_record_interval *s = &r->reader.interval;
    uint64_t batches = s->to.batches - s->from.batches;
    uint32_t i = 0;
    while (r->places[i] == s->to.batches)
        i++;
    const struct run_record_place *place = &s->places[i * batches + r->places[i] - s->from.batches];
    return error_set(error, STATUS_INVALID,
                     "%s: damaged: computation %" PRIu64 " of batch %" PRIu64
                     " begins from versions that cannot be there before it",
                     r->reader.name, s->computations[place->computation].number,
                     s->computations[place->computation].batch);
}

/* Each chunk that can advances by one entry. */
static enum status round_of_chunks(struct replay *r, bool *any, struct error *error)
{
    *any = false;
    for (uint32_t i = 0; i < r->chunk_count; i++) {
        if (r->places[i] == r->reader.interval.to.batches)
            continue;
        enum status status = step(r, i, error);
        if (status != STATUS_OK && status != STATUS_AGAIN)
            return status;
        *any = *any || status == STATUS_OK;
    }
    return STATUS_OK;
}

bool replay_is_over(const struct replay *replay)
{
    for (uint32_t i = 0; i < replay->chunk_count; i++)
        if (replay->places[i] < replay->until)
            return false;
    return replay->chunk_count > 0;
}

static bool is_done(const struct replay *r)
{
    for (uint32_t i = 0; i < r->chunk_count; i++)
        if (r->places[i] < r->reader.interval.to.batches)
            return false;
    return true;
}

/* --- stretches ----------------------------------------------------------------------------- */

/* How many batches have entries of several computations. */
static enum status count_torn(struct replay *r)
{
    const struct run_record_interval *s = &r->reader.interval;
    uint32_t *seen = calloc(s->to.batches - s->from.batches + 1, sizeof *seen);
    if (seen == NULL)
        return STATUS_MEMORY;
    for (uint64_t i = 0; i < s->computation_count; i++)
        r->figures.torn += ++seen[s->computations[i].batch - s->from.batches] == 2;
    free(seen);
    return STATUS_OK;
}

static enum status begin_interval(struct replay *r, struct error *error)
{
    const struct run_record_interval *s = &r->reader.interval;
    r->makings = calloc(s->computation_count + 1, sizeof *r->makings);
    r->left = count_left(s, r->chunk_count);
    if (r->makings == NULL || r->left == NULL || count_torn(r) != STATUS_OK ||
        kept_interval(&r->kept, s, r->left) != STATUS_OK)
        return no_memory(error);
    return STATUS_OK;
}

static enum status replay_entries(struct replay *r, struct error *error)
{
    bool any = true;
    enum status status = begin_interval(r, error);
    while (status == STATUS_OK && !is_done(r) && !replay_is_over(r)) {
        status = round_of_chunks(r, &any, error);
        if (status == STATUS_OK && !any)
            return stuck(r, error);
    }
    return status;
}

void replay_count_from(struct replay *replay, uint64_t batch)
{
    replay->counted_from = batch;
}

/* The leaves of the step: all, or the recorded ones. */
static enum status find_shape(struct replay *r, uint64_t step, struct step_shape *shape,
                              struct error *error)
{
    *shape = step_shape_of(&r->job, step, NULL);
    if (!job_mode(&r->job)->sets)
        return STATUS_OK;
    while (r->sets.step <= step)
        if (!leaf_sets_next(&r->sets, &r->set))
            return error_set(error, STATUS_INVALID,
                             "%s: of which leaves step %" PRIu64 " was made is not recorded",
                             r->reader.name, step);
    shape->set = &r->set;
    return STATUS_OK;
}

/* Every step from the values of the one before. */
static enum status replay_serially(struct replay *r, struct error *error)
{
    const struct run_record_interval *s = &r->reader.interval;
    struct chunk *whole = &r->chunks[0];
    enum status status = STATUS_OK;
    float *gradient = take_gradient(r);
    if (gradient == NULL)
        return no_memory(error);
    while (status == STATUS_OK && r->places[0] < s->to.batches && !replay_is_over(r)) {
        struct tally score = {0};
        struct step_shape shape;
        uint64_t batch = r->places[0];
        memcpy(r->parameters, whole->values->data, whole->values->bytes);
        status = find_shape(r, batch, &shape, error);
        if (status == STATUS_OK)
            status =
                r->calls.gradient(r->calls.context, r->parameters, &shape, gradient, &score, error);
        r->figures.computations++;
        if (status != STATUS_OK)
            break;
        add_score(r, &shape, &score);
        const struct making made = {.gradient = gradient,
                                    .examples = shape.set != NULL ? (uint32_t)score.examples : 0};
        bool closes = group_closes(whole) || batch + 1 == s->to.batches;
        status = apply(r, 0, &made, batch, whole->version, closes, error);
    }
    give_gradient(r, gradient);
    return status;
}

enum status replay_next(struct replay *replay, struct error *error)
{
    struct replay *r = replay;
    if (replay_is_over(r))
        return STATUS_NOT_FOUND;
    forget_interval(r);
    enum status status = run_record_reader_next(&r->reader, error);
    if (status != STATUS_OK)
        return status;
    r->sets = r->reader.interval.sets;
    return r->reader.segment.chunk_count == 0 ? replay_serially(r, error)
                                              : replay_entries(r, error);
}

/* --- looking ------------------------------------------------------------------------------- */

const struct run_record_reader *replay_reader(const struct replay *replay)
{
    return &replay->reader;
}

const struct replay_figures *replay_figures(const struct replay *replay)
{
    return &replay->figures;
}

const float *replay_parameters(struct replay *replay)
{
    struct replay *r = replay;
    if (replay_is_over(r) && r->places[0] > 0)
        return r->result;
    for (uint32_t i = 0; i < r->chunk_count; i++)
        memcpy(r->parameters + r->chunks[i].first, r->chunks[i].values->data,
               r->chunks[i].values->bytes);
    return r->parameters;
}

uint64_t replay_batches(const struct replay *replay)
{
    return replay_is_over(replay) ? replay->until : replay->reader.interval.to.batches;
}

uint64_t replay_version(const struct replay *replay)
{
    return replay_is_over(replay) ? replay->result_version : replay->reader.interval.to.version;
}

const struct tally *replay_epoch(const struct replay *replay, uint64_t epoch)
{
    bool any = epoch < replay->epoch_count && replay->epochs[epoch].updates > 0;
    return any ? &replay->epochs[epoch] : NULL;
}
