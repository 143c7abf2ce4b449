/* simulated_work.c - numbers from a scrambled counter, summed as the tree says, and the serial
 * training of the same. */

#include "deploy/verify/simulated_work.h"
#include "common/job/update.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/random.h"
#include "common/job/job_score.h"
#include "common/process/log.h"
#include "deploy/verify/serial_model.h"

enum status simulated_work_init(struct simulated_work *work, const struct job *job,
                                enum work_kind kind)
{
    memset(work, 0, sizeof *work);
    work->job = job;
    work->kind = kind;
    uint64_t *offsets = calloc(job->variable_count, sizeof *offsets);
    if (offsets == NULL)
        return STATUS_MEMORY;
    work->elements = variables_layout(job->variables, job->variable_count, offsets);
    work->used = calloc(work->elements, 1);
    for (uint32_t i = 0; i < job->variable_count && work->used != NULL; i++)
        memset(work->used + offsets[i], 1, variable_elements(&job->variables[i]));
    free(offsets);
    return work->used == NULL ? STATUS_MEMORY : STATUS_OK;
}

void simulated_work_free(struct simulated_work *work)
{
    free(work->used);
    memset(work, 0, sizeof *work);
}

/* --- gradients ------------------------------------------------------------------------------- */

/* Stafford's variant 13 of the finalizer of splitmix64: far cheaper than Philox, and nobody needs
 * more than numbers that look unrelated. */
static uint64_t scramble(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t number_of(const struct simulated_work *work, uint64_t step, uint32_t leaf,
                          uint64_t element)
{
    uint64_t leaf_number = scramble(work->job->seed + 0x9e3779b97f4a7c15u * (step * 4096 + leaf));
    return scramble(leaf_number + 0x9e3779b97f4a7c15u * element);
}

static float policy_rate(void *context, uint64_t ticket, uint64_t count)
{
    (void)context, (void)ticket;
    return 1 / (float)(1 + count % 3);
}

static struct policy_answer policy_judge(void *context, const struct policy_gradient *gradient)
{
    return (struct policy_answer){POLICY_APPLY,
                                  policy_rate(context, gradient->ticket, gradient->count)};
}

const struct policy simulated_work_policy = {.judge = policy_judge, .rate = policy_rate};

bool simulated_work_is_bad(const struct simulated_work *work, uint64_t step)
{
    return work->bad_one_in > 0 && !job_mode(work->job)->steps &&
           scramble(work->job->seed * 31 + step) % work->bad_one_in == 0;
}

int simulated_work_integer(const struct simulated_work *work, uint64_t step, uint32_t leaf,
                           uint64_t element)
{
    if (work->kind == WORK_UNIFORM)
        element = 0;
    return (int)(number_of(work, step, leaf, element) % 17) - 8;
}

static float leaf_element(const struct simulated_work *work, uint64_t step, uint32_t leaf,
                          uint64_t element, const float *parameters, float examples)
{
    if (work->kind != WORK_MIXED)
        return (float)simulated_work_integer(work, step, leaf, element);
    uint32_t number = (uint32_t)number_of(work, step, leaf, element);
    uint64_t other = (element * 7 + 3) % work->elements;
    return examples * (random_unit_float(number) - 0.5f + 0.25f * parameters[other]);
}

static void leaf_gradient(const struct simulated_work *work, const struct step_shape *shape,
                          uint32_t leaf, const float *parameters, float *out)
{
    const struct job *job = work->job;
    float examples = (float)job_node_examples(job, shape->batch, leaf, 1);
    for (uint64_t i = 0; i < work->elements; i++)
        out[i] =
            work->used[i] ? leaf_element(work, shape->step, leaf, i, parameters, examples) : 0.0f;
}

/* Written out once more, and not taken from common/job/tree.c, because it is what that is measured
 * by: n leaves split at the largest power of two below n. */
static bool has_some(const struct leaf_set *set, struct node node)
{
    for (uint32_t i = 0; i < node.leaf_count; i++)
        if (set == NULL ||
            (set->bits[(node.first_leaf + i) / 64] >> ((node.first_leaf + i) % 64) & 1))
            return true;
    return false;
}

void simulated_work_node(const struct simulated_work *work, const struct step_shape *shape,
                         struct node node, const float *parameters, float *out)
{
    const struct leaf_set *set = shape->set;
    if (node.leaf_count == 1) {
        leaf_gradient(work, shape, node.first_leaf, parameters, out);
        return;
    }
    uint32_t split = 1;
    while (2 * split < node.leaf_count)
        split *= 2;
    struct node low = {node.first_leaf, split};
    struct node high = {node.first_leaf + split, node.leaf_count - split};
    if (!has_some(set, low) || !has_some(set, high)) {
        simulated_work_node(work, shape, has_some(set, low) ? low : high, parameters, out);
        return;
    }
    float *right = malloc(work->elements * sizeof *right);
    if (right == NULL) {
        log_error("out of memory for a gradient");
        exit(EXIT_TRAINING_FAILED);
    }
    simulated_work_node(work, shape, low, parameters, out);
    simulated_work_node(work, shape, high, parameters, right);
    for (uint64_t i = 0; i < work->elements; i++)
        out[i] += right[i];
    free(right);
}

static enum status compute_node(void *context, const struct step_shape *shape, struct node node,
                                const float *parameters, float *out,
                                struct computing_report *report, struct error *error)
{
    const struct simulated_work *work = context;
    uint32_t examples = step_shape_examples(shape, work->job, node);
    report->took_us = work->says_us;
    if (simulated_work_is_bad(work, shape->step))
        return error_set(error, STATUS_DIVERGED, "step %llu has no finite gradient",
                         (unsigned long long)shape->step);
    simulated_work_node(work, shape, node, parameters, out);
    report->score.loss += (int64_t)examples << 20;
    report->score.correct += examples / 2;
    report->score.examples += examples;
    return STATUS_OK;
}

/* Made up, but the shares add up. */
static enum status compute_share(void *context, const struct message_work *share,
                                 const float *values, struct computing_report *report,
                                 struct error *error)
{
    const struct simulated_work *work = context;
    uint64_t count = job_test_share(work->job, share->shares, share->share).count;
    (void)values;
    (void)error;
    report->score.loss += (int64_t)count << 20;
    report->score.correct += count;
    report->score.examples += count;
    report->took_us = 10;
    return STATUS_OK;
}

struct computing simulated_work_computing(struct simulated_work *work)
{
    return (struct computing){.context = work, .gradient = compute_node, .score = compute_share};
}

/* --- a model that one process trains --------------------------------------------------------- */

enum status model_state_init(struct model_state *state, const struct job *job)
{
    struct slots slots = job_slots(job);
    memset(state, 0, sizeof *state);
    uint64_t *offsets = calloc(job->variable_count, sizeof *offsets);
    if (offsets == NULL)
        return STATUS_MEMORY;
    state->offsets = offsets;
    state->variable_count = job->variable_count;
    state->elements = variables_layout(job->variables, job->variable_count, offsets);
    state->array_count = 1 + slots.count;
    for (uint32_t array = 0; array < state->array_count; array++) {
        float first = array == 0 ? 0.0f : job_slot_initial(job, array - 1);
        state->arrays[array] = malloc(state->elements * sizeof(float));
        if (state->arrays[array] == NULL)
            return STATUS_MEMORY;
        for (uint64_t i = 0; i < state->elements; i++)
            state->arrays[array][i] = first;
    }
    variables_initialize(job->variables, job->variable_count, job->seed, NULL, 0, state->elements,
                         state->arrays[0]);
    return STATUS_OK;
}

enum status model_state_copy(struct model_state *to, const struct model_state *from)
{
    memset(to, 0, sizeof *to);
    to->array_count = from->array_count;
    to->elements = from->elements;
    to->variable_count = from->variable_count;
    to->offsets = calloc(from->variable_count, sizeof *to->offsets);
    if (to->offsets == NULL)
        return STATUS_MEMORY;
    memcpy(to->offsets, from->offsets, from->variable_count * sizeof *to->offsets);
    for (uint32_t array = 0; array < from->array_count; array++) {
        to->arrays[array] = malloc(from->elements * sizeof(float));
        if (to->arrays[array] == NULL)
            return STATUS_MEMORY;
        memcpy(to->arrays[array], from->arrays[array], from->elements * sizeof(float));
    }
    return STATUS_OK;
}

void model_state_free(struct model_state *state)
{
    for (uint32_t array = 0; array < CHECKPOINT_ARRAYS_MAX; array++)
        free(state->arrays[array]);
    free(state->offsets);
    memset(state, 0, sizeof *state);
}

/* Written out once more, as trees are. */
static float rate_of(const struct job *job, const struct model_update *update)
{
    double rate = (double)schedule_learning_rate(&job->schedule, update->batches);
    if (update->rate > 0)
        rate = (double)((float)rate * update->rate);
    if (job->staleness_rate == STALENESS_RATE_INVERSE && update->staleness > 0)
        rate /= (double)update->staleness;
    if (job->staleness_rate == STALENESS_RATE_CONSTANT && job->worker_count > 1)
        rate /= (double)(job->worker_count - 1);
    return (float)rate;
}

static float scale_of(const struct job *job, uint32_t examples, uint32_t gradients)
{
    bool whole = job->loss_scale == LOSS_SCALE_GLOBAL_BATCH;
    return 1.0f / (whole ? (float)((uint64_t)gradients * job->batch) : (float)examples);
}

/* What is done to a gradient that has been overtaken; and the mean square, which is the last slot. */
static void compensate(const struct model_state *state, const struct job *job,
                       const struct model_update *update, float *gradient)
{
    float *values = state->arrays[0] + update->first;
    float *squares = state->arrays[state->array_count - 1] + update->first;
    for (uint64_t i = 0; i < update->count; i++) {
        float strength = job->delay_compensation;
        float mean = gradient[i] * scale_of(job, update->examples, 1);
        if (job->compensation_adapts) {
            squares[i] = 0.95f * squares[i] + 0.05f * (mean * mean);
            strength /= sqrtf(squares[i] + 1e-7f);
            strength = strength > 1 ? 1 : strength;
        }
        if (update->staleness > 0)
            gradient[i] += strength * (mean * gradient[i]) * (values[i] - update->base[i]);
    }
}

void model_state_compensate(struct model_state *state, const struct job *job,
                            const struct model_update *update, float *out)
{
    memcpy(out, update->gradient, update->count * sizeof *out);
    if (job->delay_compensation > 0)
        compensate(state, job, update, out);
}

/* A copy of what an update is about to change, in one piece of memory. */
static float *copy_before(const struct model_state *state, const struct model_update *update,
                          float *before[CHECKPOINT_ARRAYS_MAX])
{
    float *all = malloc(state->array_count * update->count * sizeof *all);
    if (all == NULL) {
        log_error("out of memory for an update");
        exit(EXIT_TRAINING_FAILED);
    }
    for (uint32_t array = 0; array < state->array_count; array++) {
        before[array] = all + array * update->count;
        memcpy(before[array], state->arrays[array] + update->first, update->count * sizeof *all);
    }
    return all;
}

void model_state_make(struct model_state *state, const struct job *job,
                      const struct model_update *update)
{
    float *before[CHECKPOINT_ARRAYS_MAX], *after[CHECKPOINT_ARRAYS_MAX] = {NULL};
    float *copy = copy_before(state, update, before);
    struct optimizer_update step = {
        .t = update->version + 1,
        .learning_rate = rate_of(job, update),
        .scale = scale_of(job, update->examples, update->gradients),
        .count = update->count,
        .gradient = update->gradient,
        .values_in = state->arrays[0] + update->first,
        .values_out = state->arrays[0] + update->first,
    };
    for (uint32_t slot = 0; slot + 1 < state->array_count && slot < OPTIMIZER_SLOTS_MAX; slot++)
        step.slots[slot] = state->arrays[slot + 1] + update->first;
    update_apply(job, state->offsets, update->first, &step);
    for (uint32_t array = 0; array < state->array_count; array++)
        after[array] = state->arrays[array] + update->first;
    double differs = serial_model_differs(job, state->offsets, update, before, after);
    state->differs = differs > state->differs ? differs : state->differs;
    free(copy);
}

void model_state_apply(struct model_state *state, const struct job *job,
                       const struct model_update *update)
{
    struct model_update made = *update;
    float *gradient = malloc(update->count * sizeof *gradient);
    if (gradient == NULL) {
        log_error("out of memory for a gradient");
        exit(EXIT_TRAINING_FAILED);
    }
    model_state_compensate(state, job, update, gradient);
    made.gradient = gradient;
    model_state_make(state, job, &made);
    free(gradient);
}

void model_state_step(struct model_state *state, const struct simulated_work *work,
                      const struct step_shape *shape, float *gradient)
{
    struct node root = tree_root(shape->batch.leaves);
    simulated_work_node(work, shape, root, state->arrays[0], gradient);
    model_state_apply(
        state, work->job,
        &(struct model_update){.version = shape->step,
                               .batches = shape->step,
                               .examples = step_shape_examples(shape, work->job, root),
                               .gradients = 1,
                               .count = state->elements,
                               .gradient = gradient});
}
