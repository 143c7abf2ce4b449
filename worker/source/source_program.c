/* source_program.c - copies parameters to a program and its gradients back, a leaf at a time. */

#include "worker/source/source_program.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/random.h"
#include "common/job/job_score.h"
#include "common/job/probe.h"
#include "worker/source/program.h"

struct asked {
    struct source source;
    struct program *program;             /* NULL: it is looked at, ... */
    struct program_declaration declared; /* ... by what it declared before. */
    uint64_t seed;
    uint64_t check_leaves, batch, batches; /* batch: of the last leaf; so many until now. */
    uint32_t leaf_max;
    struct job unit;    /* With the unit of losses alone. */
    uint64_t *offsets;  /* [variable_count] */
    struct error fault; /* The last of its own. */
    char model[PROGRAM_NAME_MAX + sizeof JOB_MODEL_PROGRAM];
};

static struct asked *asked_of(struct source *source)
{
    return (struct asked *)source;
}

/* Its end gets what was wrong with its answer. */
static enum status note(struct asked *a, enum status status, const struct error *error)
{
    if (status == STATUS_PROGRAM && error != NULL)
        a->fault = *error;
    return status;
}

static enum status prepare(struct source *source, uint32_t leaf_max, double loss_unit,
                           struct error *error)
{
    struct asked *a = asked_of(source);
    if (a->offsets != NULL) /* It was looked at before. */
        return a->leaf_max == leaf_max ? STATUS_OK
                                       : error_set(error, STATUS_INVALID, "leaves of %u, not of %u",
                                                   a->leaf_max, leaf_max);
    a->offsets = calloc(source->variable_count, sizeof *a->offsets);
    if (a->offsets == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    a->leaf_max = leaf_max;
    a->unit.loss_unit = loss_unit;
    source->elements = variables_layout(source->variables, source->variable_count, a->offsets);
    if (a->program == NULL)
        return STATUS_OK;
    return program_share_memory(a->program, source->elements, leaf_max, error);
}

static enum status ask(const struct asked *a, const struct program_question *question,
                       struct program_done *done, struct error *error)
{
    enum status status = program_ask(a->program, question, done, error);
    if (status == STATUS_OK && a->source.scores == SCORES_LOSS)
        done->correct = 0; /* It has no meaning. */
    return status;
}

/* leaf: NULL: of test examples. Where the loss leaves the range of its unit, training diverges; at the
 * first step the unit is too small. */
static enum status take_score(const struct asked *a, const struct source_leaf *leaf,
                              const struct program_done *done, uint64_t count, struct score *score,
                              struct error *error)
{
    int64_t units = 0;
    struct error range;
    char where[64] = "test examples";
    if (leaf != NULL)
        snprintf(where, sizeof where, "step %" PRIu64 ", leaf %" PRIu32, leaf->batch, leaf->leaf);
    if (done->correct > count)
        return error_set(error, STATUS_PROGRAM,
                         "program: %" PRIu64 " of %" PRIu64 " examples cannot be right",
                         done->correct, count);
    if (isfinite(done->loss) &&
        job_loss_units(&a->unit, done->loss, count, &units, &range) != STATUS_OK) {
        bool first = leaf != NULL && leaf->batch == 0;
        return error_set(error, first ? STATUS_PROGRAM : STATUS_DIVERGED, "%s%s (%s): %.300s",
                         first ? "" : "training diverged: ", where, a->model, range.text);
    }
    score->loss += units;
    score->correct += done->correct;
    score->examples += count;
    score->not_finite += isfinite(done->loss) ? 0 : count;
    return STATUS_OK;
}

/* --- a leaf ----------------------------------------------------------------------------------- */

/* A gradient while it is made: what is final is copied at once. */
struct coming {
    const float *from; /* In the memory of the program. */
    float *to;
    uint64_t done; /* From this element on. */
    const struct asked *asked;
    const struct ready *ready;
};

/* The gaps between variables are 0, whatever a program writes there. */
static void copy_from(struct coming *coming, uint64_t first)
{
    const struct asked *a = coming->asked;
    const struct source *source = &a->source;
    memcpy(coming->to + first, coming->from + first, (coming->done - first) * sizeof(float));
    uint64_t next = source->elements;
    for (uint32_t i = source->variable_count; i-- > 0 && next > first; next = a->offsets[i]) {
        uint64_t gap = a->offsets[i] + variable_elements(&source->variables[i]);
        if (gap < first)
            gap = first;
        memset(coming->to + gap, 0, (next - gap) * sizeof(float));
    }
    coming->done = first;
}

static void take_part(void *context, uint64_t first)
{
    struct coming *coming = context;
    copy_from(coming, first);
    coming->ready->tell(coming->ready->context, first);
}

/* Of one leaf of the job alone, for what is drawn while its gradient is computed. */
static uint64_t seed_of(const struct asked *a, const struct source_leaf *leaf)
{
    uint32_t block[4];
    random_block(a->seed, RANDOM_STREAM_PROGRAM, leaf->leaf, leaf->batch, block);
    return (uint64_t)block[0] << 32 | block[1];
}

static enum status ask_leaf(struct asked *a, const struct source_leaf *leaf, float *gradient,
                            struct program_done *done, const struct ready *ready,
                            struct error *error)
{
    const struct source *source = &a->source;
    const struct program_compute compute = {leaf->batch, leaf->epoch, seed_of(a, leaf), leaf->leaf,
                                            leaf->count};
    struct coming coming = {program_gradient(a->program), gradient, source->elements, a, ready};
    const struct program_question question = {
        .kind = PROGRAM_COMPUTE,
        .flags = (leaf->fresh ? PROGRAM_FRESH : 0) | (ready != NULL ? PROGRAM_PARTS : 0),
        .body = &compute,
        .bytes = sizeof compute,
        .part = take_part,
        .context = &coming,
    };
    memset(program_gradient(a->program), 0, source->elements * sizeof(float));
    enum status status = ask(a, &question, done, error);
    if (status == STATUS_OK && gradient != NULL)
        copy_from(&coming, 0);
    return status;
}

/* The first variable with other bits in `other`, as "(name, 3 of 20 values)"; "" where all are the same. */
static void find_others(const struct asked *a, const float *one, const float *other, char text[200])
{
    const struct source *source = &a->source;
    text[0] = '\0';
    for (uint32_t i = 0; i < source->variable_count && text[0] == '\0'; i++) {
        uint64_t first = a->offsets[i], others = 0;
        uint64_t elements = variable_elements(&source->variables[i]);
        for (uint64_t e = first; e < first + elements; e++)
            others += memcmp(&one[e], &other[e], sizeof *one) != 0;
        if (others > 0)
            snprintf(text, 200, "(%s, %" PRIu64 " of %" PRIu64 " values)",
                     source->variables[i].name, others, elements);
    }
}

/* The same leaf once more must have the same bits, and parameters be as they were written. */
static enum status check_leaf(struct asked *a, const float *parameters,
                              const struct source_leaf *leaf, const float *gradient,
                              const struct program_done *done, struct error *error)
{
    char others[200];
    struct program_done again;
    enum status status = ask_leaf(a, leaf, NULL, &again, NULL, error);
    if (status != STATUS_OK)
        return status;
    find_others(a, parameters, program_parameters(a->program), others);
    if (others[0] != '\0')
        return error_set(error, STATUS_PROGRAM,
                         "leaf %" PRIu32 " of step %" PRIu64 ": the program has changed its "
                         "parameters %s, which it must only read",
                         leaf->leaf, leaf->batch, others);
    find_others(a, gradient, program_gradient(a->program), others);
    if (others[0] == '\0' && memcmp(&again, done, sizeof again) != 0)
        snprintf(others, sizeof others, "(its score alone)");
    if (others[0] == '\0')
        return STATUS_OK;
    return error_set(error, STATUS_PROGRAM,
                     "leaf %" PRIu32 " of step %" PRIu64
                     " came out differently the second time %s: "
                     "the program is not deterministic",
                     leaf->leaf, leaf->batch, others);
}

/* The first step's, and then one in so many steps. A stream gives nothing twice. */
static bool is_checked(struct asked *a, const struct source_leaf *leaf)
{
    if (a->check_leaves == 0 || leaf->examples == NULL || !leaf->fresh || leaf->batch == a->batch)
        return false;
    a->batch = leaf->batch;
    return a->batches++ % a->check_leaves == 0;
}

static enum status gradient(struct source *source, const float *parameters,
                            const struct source_leaf *leaf, float *gradient, struct score *score,
                            const struct ready *ready, struct error *error)
{
    struct asked *a = asked_of(source);
    struct program_done done;
    bool checked = is_checked(a, leaf);
    if (leaf->fresh)
        memcpy(program_parameters(a->program), parameters, source->elements * sizeof(float));
    if (leaf->examples != NULL)
        memcpy(program_examples(a->program), leaf->examples, leaf->count * sizeof *leaf->examples);
    enum status status = ask_leaf(a, leaf, gradient, &done, checked ? NULL : ready, error);
    if (status == STATUS_OK && checked)
        status = check_leaf(a, parameters, leaf, gradient, &done, error);
    if (status == STATUS_OK)
        status = take_score(a, leaf, &done, leaf->count, score, error);
    return note(a, status, error);
}

/* --- scores ----------------------------------------------------------------------------------- */

static enum status score(struct source *source, const float *parameters, uint64_t first,
                         uint64_t count, struct score *score, struct error *error)
{
    struct asked *a = asked_of(source);
    const struct program_share share = {first, count};
    const struct program_question question = {
        .kind = PROGRAM_SCORE, .flags = PROGRAM_FRESH, .body = &share, .bytes = sizeof share};
    struct program_done done;
    memcpy(program_parameters(a->program), parameters, source->elements * sizeof(float));
    enum status status = ask(a, &question, &done, error);
    if (status == STATUS_OK)
        status = take_score(a, NULL, &done, count, score, error);
    return note(a, status, error);
}

/* --- initial values and probe ----------------------------------------------------------------- */

static enum status initial(struct source *source, uint64_t seed, float *values, struct error *error)
{
    struct asked *a = asked_of(source);
    const struct program_question question = {
        .kind = PROGRAM_INITIAL, .body = &seed, .bytes = sizeof seed};
    struct program_done done;
    memset(program_parameters(a->program), 0, source->elements * sizeof(float));
    enum status status = ask(a, &question, &done, error);
    if (status != STATUS_OK)
        return note(a, status, error);
    struct coming coming = {program_parameters(a->program), values, source->elements, a, NULL};
    copy_from(&coming, 0);
    return STATUS_OK;
}

/* Its fingerprint, our updates, and the gradient of the first examples at its initial values. Of a stream each worker has
 * others. */
static enum status probe(struct source *source, uint8_t digest[DIGEST_BYTES], struct error *error)
{
    struct asked *a = asked_of(source);
    uint32_t count = source->examples < a->leaf_max ? (uint32_t)source->examples : a->leaf_max;
    size_t bytes = source->elements * sizeof(float);
    float *values = aligned_alloc(64, bytes), *gradient_there = aligned_alloc(64, bytes);
    uint32_t *examples = calloc(count + 1, sizeof *examples);
    struct score score = {0};
    enum status status = STATUS_OK;
    if (values == NULL || gradient_there == NULL || examples == NULL)
        status = error_set(error, STATUS_MEMORY, "out of memory");
    for (uint32_t i = 0; status == STATUS_OK && i < count; i++)
        examples[i] = i;
    const struct source_leaf leaf = {.count = count, .examples = examples, .fresh = true};
    if (status == STATUS_OK)
        status = source_initial(source, a->seed, values, error);
    if (status == STATUS_OK)
        memset(gradient_there, 0, bytes);
    if (status == STATUS_OK && count > 0)
        status = gradient(source, values, &leaf, gradient_there, &score, NULL, error);
    if (status == STATUS_OK) {
        struct hash hash;
        uint8_t updates[DIGEST_BYTES];
        probe_updates(updates);
        hash_init(&hash);
        hash_update(&hash, updates, sizeof updates);
        hash_update(&hash, program_declares(a->program)->fingerprint, DIGEST_BYTES);
        hash_update(&hash, values, bytes);
        hash_update(&hash, gradient_there, bytes);
        hash_update(&hash, &score.loss, sizeof score.loss);
        hash_final(&hash, digest);
    }
    free(values);
    free(gradient_there);
    free(examples);
    return status;
}

/* --- life ------------------------------------------------------------------------------------- */

static void close_asked(struct source *source)
{
    struct asked *a = asked_of(source);
    if (source->reason != NULL)
        program_close(&a->program, source->exit_code, source->reason);
    else
        program_close(&a->program, a->fault.status != STATUS_OK ? EXIT_PROGRAM : EXIT_DONE,
                      a->fault.text);
    program_declaration_free(&a->declared);
    free(a->offsets);
    free(a);
}

static const struct source_kind asked = {
    .prepare = prepare,
    .gradient = gradient,
    .score = score,
    .initial = initial,
    .probe = probe,
    .close = close_asked,
};

/* A program, or what it declared before. */
static enum status open_program(struct asked *a, const struct source_options *options,
                                struct error *error)
{
    if (options->look && options->declares != NULL)
        return program_declaration_read(&a->declared, options->declares, strlen(options->declares),
                                        error);
    return program_open(&a->program, &options->program, error);
}

enum status source_program_open(struct source **source, const struct source_options *options,
                                struct error *error)
{
    struct asked *a = calloc(1, sizeof *a);
    if (a == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    enum status status = open_program(a, options, error);
    if (status != STATUS_OK) {
        free(a);
        return status;
    }
    bool answers = a->program != NULL;
    const struct program_declaration *d = answers ? program_declares(a->program) : &a->declared;
    a->seed = options->seed;
    a->check_leaves = options->check_leaves;
    a->batch = UINT64_MAX;
    snprintf(a->model, sizeof a->model, JOB_MODEL_PROGRAM "%s", d->name);
    a->source = (struct source){
        .kind = &asked,
        .examples = d->examples,
        .test_examples = d->test_examples,
        .score_piece = d->score_piece,
        .scores = d->scores,
        .suggested = d->options,
        .declares = answers ? program_declared_text(a->program) : options->declares,
        .answers = answers,
        .model = a->model,
        .variables = d->variables,
        .variable_count = d->variable_count,
    };
    snprintf(a->source.data, sizeof a->source.data, "%s", d->data);
    memcpy(a->source.digest, d->data_digest, DIGEST_BYTES);
    *source = &a->source;
    return STATUS_OK;
}
