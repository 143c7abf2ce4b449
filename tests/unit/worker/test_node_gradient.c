/* test_node_gradient.c - gradients of nodes are the tree's sums of leaves, bit for bit, however
 * they are asked for. */

#include "worker/node_gradient.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/job/job_score.h"
#include "common/kernels/kernels.h"
#include "tests/lib/suite.h"
#include "worker/data/dataset.h"

/* 50 synthetic examples in batches of 22 and leaves of 4: steps of 6, 6 and 2 leaves, the last leaf
 * of a step smaller than the rest. */
static struct source *source;
static struct job job;
static struct node_gradient gradient;
static float *parameters;
static uint64_t elements;

static void open_all(void)
{
    struct error error;
    const struct source_options options = {
        .model = "flatten, dense 8 relu, dense 10", .data = "synthetic:50", .seed = 3};
    kernels_init();
    ck_assert_msg(source_open(&source, &options, &error) == STATUS_OK &&
                      source_prepare(source, 4, LOSS_UNIT_DEFAULT, &error) == STATUS_OK,
                  "%s", error.text);
    memset(&job, 0, sizeof job);
    job.mode = MODE_SYNC;
    job.seed = 3;
    job.examples = source->examples;
    job.test_examples = source->test_examples;
    job.batch = 22;
    job.micro_batch = 4;
    job.steps = 100;
    ck_assert(node_gradient_init(&gradient, &job, source) == STATUS_OK);
    elements = source->elements;
    parameters = aligned_alloc(64, elements * sizeof(float));
    memset(parameters, 0, elements * sizeof(float));
    const struct variable *variables = source->variables;
    uint64_t offsets[8];
    variables_layout(variables, source->variable_count, offsets);
    for (uint32_t i = 0; i < source->variable_count; i++)
        variable_initialize(&variables[i], i, 3, 0, variable_elements(&variables[i]),
                            parameters + offsets[i]);
}

static void close_all(void)
{
    node_gradient_free(&gradient);
    source_close(&source);
    free(parameters);
}

static void score_share(uint32_t members, uint32_t position, struct score *score)
{
    ck_assert_int_eq(node_gradient_evaluate(&gradient, parameters, members, position, score, NULL),
                     STATUS_OK);
}

static float *compute(uint64_t step, struct node node, struct score *score)
{
    struct error error;
    const struct step_shape shape = step_shape_of(&job, step, NULL);
    float *sum = aligned_alloc(64, elements * sizeof(float));
    memset(score, 0, sizeof *score);
    memset(sum, 0xff, elements * sizeof(float)); /* Overwritten, gaps and all. */
    enum status status =
        node_gradient_compute(&gradient, parameters, &shape, node, sum, score, NULL, &error);
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    return sum;
}

/* The node as the tree defines it: left + right, down to single leaves. */
static float *by_leaves(uint64_t step, struct node node, struct score *score)
{
    if (node.leaf_count == 1)
        return compute(step, node, score);
    struct node left, right;
    struct score other;
    tree_children(node, &left, &right);
    float *sum = by_leaves(step, left, score), *rest = by_leaves(step, right, &other);
    for (uint64_t i = 0; i < elements; i++)
        sum[i] += rest[i];
    score->loss += other.loss;
    score->correct += other.correct;
    score->examples += other.examples;
    free(rest);
    return sum;
}

TEST_PLAIN(a_node_is_the_tree_s_sum_of_its_leaves_bit_for_bit)
{
    for (uint64_t step = 0; step < 4; step++) {
        uint32_t leaves = job_batch(&job, step).leaves;
        ck_assert_uint_eq(leaves, step % 3 < 2 ? 6 : 2);
        for (uint32_t first = 0; first < leaves; first++) {
            for (uint32_t count = 1; count <= leaves - first; count++) {
                struct node node = {first, count};
                struct score ours, expected;
                if (!tree_has(leaves, node))
                    continue;
                float *sum = compute(step, node, &ours), *tree = by_leaves(step, node, &expected);
                ck_assert(memcmp(sum, tree, elements * sizeof(float)) == 0);
                ck_assert_int_eq(ours.loss, expected.loss);
                ck_assert_uint_eq(ours.correct, expected.correct);
                ck_assert_uint_eq(ours.examples, expected.examples);
                ck_assert_uint_eq(ours.examples,
                                  job_node_examples(&job, job_batch(&job, step), first, count));
                free(sum);
                free(tree);
            }
        }
    }
}

TEST_PLAIN(the_same_node_has_the_same_bits_whatever_was_computed_before)
{
    struct score score;
    float *first = compute(1, (struct node){0, 4}, &score);
    free(compute(70, (struct node){0, 6}, &score)); /* Another epoch in between. */
    float *again = compute(1, (struct node){0, 4}, &score);
    ck_assert(memcmp(first, again, elements * sizeof(float)) == 0);
    free(first);
    free(again);
}

TEST_PLAIN(an_epoch_s_leaves_use_every_example_once)
{
    struct score score;
    uint64_t examples = 0;
    for (uint64_t step = 0; step < job_steps_per_epoch(&job); step++) {
        for (uint32_t leaf = 0; leaf < job_batch(&job, step).leaves; leaf++) {
            free(compute(step, (struct node){leaf, 1}, &score));
            examples += score.examples;
        }
    }
    ck_assert_uint_eq(examples, source->examples);
}

TEST_PLAIN(a_gradient_that_is_not_finite_names_its_step_and_leaf)
{
    struct score score = {0};
    struct error error;
    float *sum = aligned_alloc(64, elements * sizeof(float));
    parameters[100] = NAN;
    const struct step_shape shape = step_shape_of(&job, 1, NULL);
    ck_assert(node_gradient_compute(&gradient, parameters, &shape, (struct node){4, 2}, sum, &score,
                                    NULL, &error) == STATUS_DIVERGED);
    ck_assert_ptr_nonnull(strstr(error.text, "step 1, leaf 4"));
    free(sum);
}

static bool leaf_has(const struct dataset *dataset, uint64_t step, uint32_t leaf, uint8_t label)
{
    struct batch_range batch = job_batch(&job, step);
    uint32_t count = job_node_examples(&job, batch, leaf, 1);
    uint64_t first = batch.first + (uint64_t)leaf * job.micro_batch;
    const uint32_t *places = order_places(&gradient.order, batch.epoch, first, count);
    for (uint32_t i = 0; i < count; i++)
        if (dataset->train.labels[places[i]].class == label)
            return true;
    return false;
}

/* All losses are finite: the one hidden unit that is alive gives every class of 10 the same odds,
 * but `label` worse ones. Only for an example of that label do the products add up, on the way
 * back, to more than a float holds. */
TEST_PLAIN(a_leaf_whose_gradient_alone_is_not_finite_is_found)
{
    struct score score = {0};
    struct error error;
    uint64_t offsets[8];
    uint8_t label = 0;
    struct dataset dataset;
    ck_assert_int_eq(dataset_open(&dataset, "synthetic:50", 3, NULL), STATUS_OK);
    variables_layout(source->variables, source->variable_count, offsets);
    while (!leaf_has(&dataset, 1, 5, label) || leaf_has(&dataset, 1, 4, label))
        ck_assert_uint_lt(++label, 10);
    dataset_close(&dataset);
    memset(parameters, 0, elements * sizeof(float));
    parameters[offsets[1]] = 1.2e-38f;
    for (uint32_t i = 0; i < 10; i++)
        parameters[offsets[2] + i] = i == label ? -3.3e38f : 3.3e38f;
    float *sum = aligned_alloc(64, elements * sizeof(float));
    const struct step_shape shape = step_shape_of(&job, 1, NULL);
    ck_assert(node_gradient_compute(&gradient, parameters, &shape, (struct node){4, 2}, sum, &score,
                                    NULL, &error) == STATUS_DIVERGED);
    ck_assert_uint_eq(score.not_finite, 0);
    ck_assert_msg(strstr(error.text, "step 1, leaf 5 ") != NULL, "%s", error.text);
    free(sum);
}

/* What was told, and how the gradient was then. */
struct heard {
    const float *gradient;
    float *then; /* [elements] */
    uint64_t first, times;
};

static void hear(void *context, uint64_t first)
{
    struct heard *heard = context;
    ck_assert_uint_lt(first, heard->first);
    ck_assert_uint_gt(first, 0);
    memcpy(heard->then + first, heard->gradient + first, (heard->first - first) * sizeof(float));
    /* No parameter from here on is read any more. */
    memset(parameters + first, 0xff, (elements - first) * sizeof(float));
    heard->first = first;
    heard->times++;
}

static enum status compute_told(const struct step_shape *shape, struct node node, float *sum,
                                struct heard *heard, struct error *error)
{
    struct score score = {0};
    const struct ready ready = {hear, heard};
    heard->gradient = sum;
    heard->first = elements;
    heard->times = 0;
    return node_gradient_compute(&gradient, parameters, shape, node, sum, &score, &ready, error);
}

TEST_PLAIN(what_is_told_of_is_there_for_good_and_needs_its_parameters_no_more)
{
    static const struct node nodes[] = {{0, 1}, {4, 2}, {0, 4}, {0, 6}};
    struct error error;
    float *kept = malloc(elements * sizeof(float)), *then = malloc(elements * sizeof(float));
    float *sum = aligned_alloc(64, elements * sizeof(float));
    const struct step_shape shape = step_shape_of(&job, 1, NULL);
    memcpy(kept, parameters, elements * sizeof(float));
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        struct score score;
        struct heard heard = {.then = then};
        float *expected = compute(1, nodes[i], &score);
        ck_assert(compute_told(&shape, nodes[i], sum, &heard, &error) == STATUS_OK);
        ck_assert(memcmp(sum, expected, elements * sizeof(float)) == 0);
        ck_assert_uint_eq(heard.times, 1); /* Of two layers. */
        ck_assert(memcmp(then + heard.first, sum + heard.first,
                         (elements - heard.first) * sizeof(float)) == 0);
        memcpy(parameters, kept, elements * sizeof(float));
        free(expected);
    }
    free(sum);
    free(then);
    free(kept);
}

/* The parameters come in two pieces, and those of the second layer are not there with the first. */
static void begin(const struct step_shape *shape, struct node node, const float *kept)
{
    memset(parameters, 0xff, elements * sizeof(float));
    node_gradient_begin(&gradient, shape, node);
    uint64_t needs = node_gradient_go_on(&gradient, parameters, 0);
    ck_assert(needs > 0 && needs < elements);
    memcpy(parameters, kept, needs * sizeof(float));
    ck_assert_uint_eq(node_gradient_go_on(&gradient, parameters, needs), elements);
    memcpy(parameters, kept, elements * sizeof(float));
}

TEST_PLAIN(a_node_that_was_begun_with_some_parameters_has_the_same_bits)
{
    static const struct node nodes[] = {{0, 1}, {4, 2}, {0, 4}, {0, 6}};
    float *kept = malloc(elements * sizeof(float));
    memcpy(kept, parameters, elements * sizeof(float));
    const struct step_shape shape = step_shape_of(&job, 1, NULL);
    for (size_t i = 0; i < 4 * sizeof nodes / sizeof *nodes; i++) {
        struct node node = nodes[i / 4];
        struct score score, other = {0};
        float *expected = compute(1, node, &score);
        begin(&shape, node, kept);
        ck_assert_uint_eq(node_gradient_begun_us(&gradient), gradient.begun_ns / 1000);
        if (i % 4 == 1) /* The model was used for something else meanwhile. */
            score_share(1, 0, &other);
        if (i % 4 == 2) { /* It is about another step in the end, of the same leaves. */
            free(expected);
            expected = compute(0, node, &score);
            begin(&shape, node, kept);
        }
        if (i % 4 == 3) /* They were others. */
            node_gradient_forget(&gradient);
        float *sum = compute(i % 4 == 2 ? 0 : 1, node, &other);
        ck_assert_mem_eq(sum, expected, elements * sizeof(float));
        ck_assert_uint_eq(node_gradient_begun_us(&gradient), 0);
        free(sum);
        free(expected);
    }
    free(kept);
}

TEST_PLAIN(of_what_is_not_finite_nothing_is_told)
{
    struct error error;
    float *then = malloc(elements * sizeof(float));
    float *sum = aligned_alloc(64, elements * sizeof(float));
    const struct step_shape shape = step_shape_of(&job, 1, NULL);
    struct heard heard = {.then = then};
    parameters[0] = NAN;
    ck_assert(compute_told(&shape, (struct node){0, 2}, sum, &heard, &error) == STATUS_DIVERGED);
    ck_assert_uint_eq(heard.times, 0);
    free(sum);
    free(then);
}

TEST_PLAIN(shares_of_the_test_set_add_up_whatever_their_number)
{
    struct score whole = {0};
    score_share(1, 0, &whole);
    ck_assert_uint_eq(whole.examples, source->test_examples);
    for (uint32_t members = 2; members < 15; members++) {
        struct score sum = {0};
        for (uint32_t i = 0; i < members; i++)
            score_share(members, i, &sum);
        ck_assert_uint_eq(sum.examples, whole.examples);
        ck_assert_uint_eq(sum.correct, whole.correct);
    }
}

static void add(TCase *tcase)
{
    tcase_add_checked_fixture(tcase, open_all, close_all);
}

int main(void)
{
    return suite_run("node_gradient", add);
}
