/* A network's loss and gradient: against PyTorch's, and always the same bits. */
/* promises: bits-early models */

#include "worker/model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/hash.h"
#include "common/kernels/kernels.h"
#include "tests/lib/suite.h"
#include "tests/reference/model_reference.h"

#define VARIABLES_MAX 64

/* Everything a gradient is computed from, made by the same formulas as model_reference.py. */
struct work {
    struct model *model;
    struct model_input input;
    uint32_t count;
    float *parameters, *gradient; /* [model_elements] */
    uint8_t *images;              /* [count] */
    union label *labels;          /* [count] */
};

static uint32_t scramble(uint32_t index, uint32_t salt)
{
    uint32_t h = index * 2654435761u + salt * 40503u + 12345u;
    h ^= h >> 15;
    h *= 2246822519u;
    h ^= h >> 13;
    h *= 3266489917u;
    return h ^ h >> 16;
}

static void fill_parameters(struct model *model, float *parameters)
{
    uint64_t offsets[VARIABLES_MAX];
    uint32_t count;
    const struct variable *variables = model_variables(model, &count);
    memset(parameters, 0, model_elements(model) * sizeof *parameters);
    variables_layout(variables, count, offsets);
    for (uint32_t v = 0; v < count; v++) {
        float limit =
            strncmp(variables[v].name, "conv", 4) == 0 && variables[v].rank == 4 ? 0.25f : 0.125f;
        for (uint64_t i = 0; i < variable_elements(&variables[v]); i++) {
            float unit = (float)(scramble((uint32_t)i, v + 1) >> 8) * 0x1p-24f;
            parameters[offsets[v] + i] = (2.0f * unit - 1.0f) * limit;
        }
    }
}

static void work_init(struct work *work, const char *text, struct model_input input, uint32_t count,
                      uint32_t batch_max)
{
    struct error error = {0};
    enum status status = model_create(&work->model, text, input, batch_max, &error);
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    work->input = input;
    work->count = count;
    uint64_t pixels = (uint64_t)count * input.height * input.width * input.channels;
    work->parameters = malloc(model_elements(work->model) * sizeof(float));
    work->gradient = malloc(model_elements(work->model) * sizeof(float));
    work->images = malloc(pixels);
    work->labels = malloc(count * sizeof *work->labels);
    fill_parameters(work->model, work->parameters);
    for (uint64_t i = 0; i < pixels; i++)
        work->images[i] = (uint8_t)(scramble((uint32_t)i, 777) >> 24);
    for (uint32_t i = 0; i < count; i++)
        work->labels[i].class = (7 * i + 3) % input.classes;
}

static void work_free(struct work *work)
{
    model_destroy(&work->model);
    free(work->parameters);
    free(work->gradient);
    free(work->images);
    free(work->labels);
}

/* What tests begin with, and how they end. */
#define TEST(name, ...)                                                                            \
    SUITE_TEST(name, struct work, work, work_init(work, __VA_ARGS__), work_free(work))

static const struct model_input mnist = {28, 28, 1, 10, false, false};

/* --- against PyTorch ----------------------------------------------------------------------- */

static void compare_variable(const struct reference_variable *reference,
                             const struct variable *variable, const float *gradient)
{
    ck_assert_str_eq(variable->name, reference->name);
    ck_assert_uint_eq(variable_elements(variable), reference->elements);
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < reference->elements; i++) {
        sum += gradient[i];
        squares += (double)gradient[i] * gradient[i];
    }
    double tolerance = 1e-5 * reference->norm;
    ck_assert_double_eq_tol(sum, reference->sum, tolerance * sqrt((double)reference->elements));
    ck_assert_double_eq_tol(sqrt(squares), reference->norm, tolerance);
    for (uint64_t k = 0; k < REFERENCE_SAMPLES; k++) {
        double ours = gradient[k * reference->elements / REFERENCE_SAMPLES];
        ck_assert_msg(fabs(ours - reference->samples[k]) <= tolerance,
                      "%s sample %d: %.9g instead of %.9g", reference->name, (int)k, ours,
                      reference->samples[k]);
    }
}

static void compare_network(const struct reference_network *reference)
{
    struct model_input input = {
        reference->height, reference->width, reference->channels, reference->classes, false, false};
    struct work work;
    struct score score = {0};
    work_init(&work, reference->text, input, reference->examples, reference->examples);
    model_gradient(work.model, work.parameters, work.images, work.labels, work.count, work.gradient,
                   &score);
    ck_assert_double_eq_tol((double)score.loss * SCORE_LOSS_UNIT, reference->loss,
                            1e-5 * reference->loss);
    ck_assert_uint_eq(score.correct, reference->correct);
    ck_assert_uint_eq(score.examples, reference->examples);
    ck_assert_uint_eq(score.not_finite, 0);
    uint64_t offsets[VARIABLES_MAX];
    uint32_t count;
    const struct variable *variables = model_variables(work.model, &count);
    ck_assert_uint_eq(count, reference->variable_count);
    variables_layout(variables, count, offsets);
    for (uint32_t v = 0; v < count; v++)
        compare_variable(&reference->variables[v], &variables[v], work.gradient + offsets[v]);
    work_free(&work);
}

TEST_TIMES(loss_and_gradients_are_pytorchs,
           sizeof reference_networks / sizeof reference_networks[0])
{
    compare_network(&reference_networks[_i]);
}

/* --- the same bits ------------------------------------------------------------------------- */

static void work_digest(struct work *work, uint8_t digest[HASH_BYTES])
{
    struct score score = {0};
    struct hash hash;
    model_gradient(work->model, work->parameters, work->images, work->labels, work->count,
                   work->gradient, &score);
    hash_init(&hash);
    hash_update(&hash, work->gradient, model_elements(work->model) * sizeof(float));
    hash_update_u64(&hash, (uint64_t)score.loss);
    hash_update_u64(&hash, score.correct);
    hash_final(&hash, digest);
}

TEST_PLAIN(batch_max_does_not_change_a_gradients_bits)
{
    static const uint32_t limits[] = {5, 16, 33, 100, false, false};
    uint8_t first[HASH_BYTES], digest[HASH_BYTES];
    for (int i = 0; i < 4; i++) {
        struct work work;
        work_init(&work, "cnn", mnist, 5, limits[i]);
        work_digest(&work, i == 0 ? first : digest);
        ck_assert(i == 0 || memcmp(first, digest, HASH_BYTES) == 0);
        work_free(&work);
    }
}

TEST_PLAIN(what_was_computed_before_does_not_change_a_gradients_bits)
{
    uint8_t first[HASH_BYTES], again[HASH_BYTES];
    struct score score = {0};
    struct work work, other;
    work_init(&work, "cnn", mnist, 7, 16);
    work_init(&other, "cnn", mnist, 100, 16);
    work_digest(&work, first);
    model_evaluate(work.model, work.parameters, other.images, other.labels, 100, &score);
    model_gradient(work.model, work.parameters, other.images, other.labels, 16, other.gradient,
                   &score);
    work_digest(&work, again);
    ck_assert_mem_eq(first, again, HASH_BYTES);
    work_free(&work);
    work_free(&other);
}

/* What a layer is not said to need is not there yet. */
TEST(a_forward_pass_in_pieces_has_the_same_bits, "cnn", mnist, 7, 16)
{
    uint8_t whole[HASH_BYTES];
    struct score score = {0}, other = {0};
    struct hash hash;
    uint8_t digest[HASH_BYTES];
    uint64_t elements = model_elements(work->model), pieces = 0;
    float *come = aligned_alloc(64, elements * sizeof(float));
    work_digest(work, whole);
    for (int twice = 0; twice < 2; twice++) { /* It may begin anew. */
        memset(come, 0xff, elements * sizeof(float));
        model_begin(work->model, work->images, work->count);
        for (uint64_t end = 0, needs; (needs = model_go_on(work->model, come, end)) > 0;
             end = needs) {
            ck_assert(needs > end && needs <= elements);
            memcpy(come + end, work->parameters + end, (needs - end) * sizeof(float));
            pieces++;
        }
    }
    ck_assert_uint_eq(pieces, 2 * 4); /* Layers with parameters. */
    memcpy(come, work->parameters, elements * sizeof(float));
    model_gradient(work->model, come, NULL, work->labels, work->count, work->gradient, &score);
    hash_init(&hash);
    hash_update(&hash, work->gradient, elements * sizeof(float));
    hash_update_u64(&hash, (uint64_t)score.loss);
    hash_update_u64(&hash, score.correct);
    hash_final(&hash, digest);
    ck_assert_mem_eq(digest, whole, HASH_BYTES);
    model_begin(work->model, work->images, work->count); /* And something else may come between. */
    model_evaluate(work->model, work->parameters, work->images, work->labels, 5, &other);
    work_digest(work, digest);
    ck_assert_mem_eq(digest, whole, HASH_BYTES);
    free(come);
}

/* Move every array to addresses that no vector register likes. */
static void work_shifted(struct work *work, uint32_t shift, uint8_t digest[HASH_BYTES])
{
    uint64_t bytes = model_elements(work->model) * sizeof(float);
    uint64_t pixels = (uint64_t)work->count * 28 * 28;
    float *parameters = malloc(bytes + 64), *gradient = malloc(bytes + 64);
    uint8_t *images = malloc(pixels + 64);
    struct work moved = *work;
    moved.parameters = memcpy(parameters + shift, work->parameters, bytes);
    moved.gradient = gradient + shift;
    moved.images = memcpy(images + shift, work->images, pixels);
    work_digest(&moved, digest);
    free(parameters);
    free(gradient);
    free(images);
}

TEST_PLAIN(where_arrays_lie_does_not_change_a_gradients_bits)
{
    static const char *const texts[] = {"cnn", "mlp", "softmax",
                                        "conv 5x3 relu, pool 3, flatten, dense 7 relu, dense 10"};
    static const uint32_t counts[] = {1, 2, 5, 16, false, false};
    struct work work;
    uint8_t first[HASH_BYTES], digest[HASH_BYTES];
    for (int t = 0; t < 4; t++) {
        for (int c = 0; c < 4; c++) {
            work_init(&work, texts[t], mnist, counts[c], 16);
            work_shifted(&work, 0, first);
            for (uint32_t shift = 1; shift < 16; shift++) {
                work_shifted(&work, shift, digest);
                ck_assert_mem_eq(first, digest, HASH_BYTES);
            }
            work_free(&work);
        }
    }
}

TEST_PLAIN(another_process_computes_the_same_bits)
{
    uint8_t ours[HASH_BYTES], theirs[HASH_BYTES] = {0};
    struct work work;
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = fork();
    work_init(&work, "cnn", mnist, 16, 16);
    if (child == 0) {
        work_digest(&work, ours);
        _exit(write(ends[1], ours, HASH_BYTES) == HASH_BYTES ? 0 : 1);
    }
    work_digest(&work, ours);
    ck_assert_int_eq(read(ends[0], theirs, HASH_BYTES), HASH_BYTES);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ck_assert_mem_eq(ours, theirs, HASH_BYTES);
    close(ends[0]);
    close(ends[1]);
    work_free(&work);
}

TEST(gaps_between_variables_get_no_gradient, "cnn", mnist, 3, 16)
{
    struct score score = {0};
    memset(work->gradient, 0xff, model_elements(work->model) * sizeof(float));
    model_gradient(work->model, work->parameters, work->images, work->labels, 3, work->gradient,
                   &score);
    uint64_t offsets[VARIABLES_MAX];
    uint32_t count;
    const struct variable *variables = model_variables(work->model, &count);
    uint64_t end = variables_layout(variables, count, offsets);
    for (uint32_t v = 0; v < count; v++) {
        uint64_t next = v + 1 < count ? offsets[v + 1] : end;
        for (uint64_t i = offsets[v] + variable_elements(&variables[v]); i < next; i++)
            ck_assert(work->gradient[i] == 0.0f);
    }
}

/* --- scores -------------------------------------------------------------------------------- */

TEST(evaluation_agrees_with_training_and_does_not_depend_on_batch_max, "cnn", mnist, 75, 100)
{
    struct score learned = {0}, first = {0};
    model_gradient(work->model, work->parameters, work->images, work->labels, 75, work->gradient,
                   &learned);
    model_evaluate(work->model, work->parameters, work->images, work->labels, 75, &first);
    ck_assert_uint_eq(first.correct, learned.correct);
    ck_assert_uint_eq(first.examples, 75);
    ck_assert_double_eq_tol((double)first.loss, (double)learned.loss, 1e-5 * (double)first.loss);
    for (uint32_t batch_max = 1; batch_max < 80; batch_max += 13) {
        struct work other;
        struct score score = {0};
        work_init(&other, "cnn", mnist, 75, batch_max);
        model_evaluate(other.model, other.parameters, other.images, other.labels, 75, &score);
        ck_assert_mem_eq(&score, &first, sizeof score);
        work_free(&other);
    }
}

TEST(equal_logits_cost_the_logarithm_of_their_number, "softmax", mnist, 10, 10)
{
    struct score score = {0};
    memset(work->parameters, 0, model_elements(work->model) * sizeof(float));
    model_evaluate(work->model, work->parameters, work->images, work->labels, 10, &score);
    ck_assert_int_eq(score.loss, 10 * llrint(log(10) / SCORE_LOSS_UNIT));
    ck_assert_uint_eq(score.correct, 1); /* The first of equals: class 0, one of ten labels. */
}

TEST(an_example_that_is_not_finite_is_counted_and_its_gradient_shows_it, "cnn", mnist, 4, 16)
{
    struct score score = {0};
    work->parameters[0] = NAN;
    model_gradient(work->model, work->parameters, work->images, work->labels, 4, work->gradient,
                   &score);
    ck_assert_uint_eq(score.not_finite, 4);
    ck_assert_uint_eq(score.examples, 4);
    ck_assert_int_eq(score.loss, 0);
    ck_assert_uint_eq(score.correct, 0);
    ck_assert(!kernels_all_finite(work->gradient, model_elements(work->model)));
}

TEST(a_huge_but_finite_loss_is_counted_up_to_a_limit, "softmax", mnist, 4, 16)
{
    struct score score = {0};
    for (uint64_t i = 0; i < model_elements(work->model); i++)
        work->parameters[i] *= 1e30f;
    model_evaluate(work->model, work->parameters, work->images, work->labels, 4, &score);
    ck_assert_uint_eq(score.not_finite, 0);
    ck_assert_int_ge(score.loss, 0);
    ck_assert_int_le(score.loss, 4ll * 65536 << 24);
}

TEST(no_examples_have_no_gradient_and_no_score, "mlp", mnist, 1, 1)
{
    struct score score = {0}, none = {0};
    model_gradient(work->model, work->parameters, work->images, work->labels, 0, work->gradient,
                   &score);
    model_evaluate(work->model, work->parameters, work->images, work->labels, 0, &score);
    ck_assert_mem_eq(&score, &none, sizeof score);
    ck_assert(work->gradient[0] == 0.0f);
}

/* --- layer lists --------------------------------------------------------------------------- */

TEST(cnn_is_the_tutorials_network, "cnn", mnist, 1, 16)
{
    static const char *const names[] = {"conv1/kernel",  "conv1/bias",    "conv2/kernel",
                                        "conv2/bias",    "dense1/kernel", "dense1/bias",
                                        "dense2/kernel", "dense2/bias"};
    uint32_t count;
    uint64_t parameters = 0;
    const struct variable *variables = model_variables(work->model, &count);
    ck_assert_uint_eq(count, 8);
    for (uint32_t v = 0; v < count; v++) {
        ck_assert_str_eq(variables[v].name, names[v]);
        parameters += variable_elements(&variables[v]);
    }
    ck_assert_uint_eq(parameters, 121930);
    ck_assert_uint_eq(variables[2].rank, 4);
    ck_assert_uint_eq(variables[2].shape[2], 32);
    ck_assert_uint_eq(variables[2].shape[3], 64);
    ck_assert_uint_eq(variables[2].fan_in, 288);
    ck_assert_uint_eq(variables[2].fan_out, 576);
    ck_assert_uint_eq(variables[4].shape[0], 1600);
    ck_assert_int_eq(variables[4].initializer, INITIALIZER_GLOROT_UNIFORM);
    ck_assert_int_eq(variables[5].initializer, INITIALIZER_ZEROS);
}

TEST_PLAIN(a_layer_list_has_one_canonical_text)
{
    static const char *const texts[][2] = {
        {"  conv  4x3x3\trelu ,pool 2x2,flatten , dense 10",
         "conv 4x3 relu, pool 2, flatten, dense 10"},
        {"mlp", "flatten, dense 128 relu, dense 10"},
        {"Conv 4X3 ReLU; POOL 2; Flatten; Dense 10", "conv 4x3 relu, pool 2, flatten, dense 10"},
        {"MLP", "flatten, dense 128 relu, dense 10"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct work work;
        work_init(&work, texts[i][0], mnist, 1, 1);
        ck_assert_str_eq(model_text(work.model), texts[i][1]);
        work_free(&work);
    }
}

static const struct {
    const char *text, *why;
} bad_lists[] = {
    {"", "layer 1 is empty"},
    {"cnn2", "layer 1 'cnn2': not a layer"},
    {"conv 8x3, , flatten, dense 10", "layer 2 is empty"},
    {"conv 8x24, pool 1, conv 64x9, flatten, dense 10",
     "layer 3 'conv 64x9': a 9x9 kernel does not fit a 5x5 input"},
    {"conv 8, flatten, dense 10", "layer 1 'conv 8': write 'conv CxK'"},
    {"conv 8x3x5, flatten, dense 10", "write 'conv CxK'"},
    {"conv 8x0, flatten, dense 10", "write 'conv CxK'"},
    {"conv -8x3, flatten, dense 10", "write 'conv CxK'"},
    {"conv 8x3 tanh, flatten, dense 10", "'tanh' is not understood; only 'relu' may follow"},
    {"conv 8x3 same relu, flatten, dense 10", "'same' is not understood; only 'relu' may follow"},
    {"conv 8x3 relu relu, flatten, dense 10", "only 'relu' may follow"},
    {"conv 65536x27, flatten, dense 10", "layer 2 'flatten'"},
    {"conv 65536x1, conv 65536x1, flatten, dense 10", "too large"},
    {"conv 99999999999999999999x3, flatten, dense 10", "write 'conv CxK'"},
    {"pool 17, flatten, dense 10", "a window of 1 to 16"},
    {"pool 16, pool 2, flatten, dense 10", "a 2x2 window does not fit a 1x1 input"},
    {"flatten 3, dense 10", "layer 1 'flatten 3': flatten takes nothing"},
    {"flatten, conv 8x3, dense 10", "layer 2 'conv 8x3': conv needs an image"},
    {"flatten, pool 2, dense 10", "layer 2 'pool 2': pool needs an image"},
    {"conv 8x3, dense 10",
     "layer 2 'dense 10': dense needs a flat input, and its input is 26x26x8"},
    {"flatten, dense ten", "layer 2 'dense ten': write 'dense N'"},
    {"flatten, dense 9",
     "the last layer has 9 outputs for 10 classes: end the list with 'dense 10'"},
    {"conv 8x3",
     "the last layer's output is 26x26x8, not flat: end the list with 'flatten, dense 10'"},
    {"conv 10x28", "not flat"},
    {"flatten, dense 65536, dense 65536, dense 10", "parameters; at most"},
    {"flatten, dense 10 a b c d e", "layer 2 'dense 10 a b c d e': has too many words"},
    {"flatten, dens 10", "not a layer; there are conv CxK, pool N, flatten and dense N, and the "
                         "models cnn, mlp and softmax (did you mean dense?)"},
    {"softmx", "(did you mean softmax?)"},
};

TEST_TIMES(a_wrong_layer_list_is_answered_by_the_layer_and_the_reason,
           sizeof bad_lists / sizeof bad_lists[0])
{
    struct error error = {0};
    struct model *model;
    enum status status = model_create(&model, bad_lists[_i].text, mnist, 16, &error);
    ck_assert_int_eq(status, STATUS_INVALID);
    ck_assert_ptr_null(model);
    ck_assert_msg(strstr(error.text, bad_lists[_i].why) != NULL, "'%s' lacks '%s'", error.text,
                  bad_lists[_i].why);
    ck_assert_ptr_null(strchr(error.text, '\n'));
}

TEST_PLAIN(a_list_without_end_is_refused)
{
    char text[4000];
    memset(text, 0, sizeof text);
    for (int i = 0; i < 90; i++)
        strcat(text, "pool 1,");
    struct error error = {0};
    struct model *model;
    ck_assert_int_eq(model_create(&model, text, mnist, 16, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "more than 64 layers"));
    memset(text, 'a', sizeof text - 1);
    ck_assert_int_eq(model_create(&model, text, mnist, 16, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "longer than 1023 characters"));
}

/* --- floats, targets, classes ------------------------------------------------------------------ */

TEST_PLAIN(floats_that_are_bytes_by_255_give_the_bits_of_bytes)
{
    struct model_input input = {4, 4, 2, 3, false, false};
    struct work bytes, floats;
    struct score a = {0}, b = {0};
    float *unit = malloc(6 * 32 * sizeof *unit);
    work_init(&bytes, "conv 4x3 relu, flatten, dense 3", input, 6, 6);
    input.floats = true;
    work_init(&floats, "conv 4x3 relu, flatten, dense 3", input, 6, 6);
    kernels_bytes_to_unit(bytes.images, 6 * 32, unit);
    model_gradient(bytes.model, bytes.parameters, bytes.images, bytes.labels, 6, bytes.gradient,
                   &a);
    model_gradient(floats.model, bytes.parameters, unit, bytes.labels, 6, floats.gradient, &b);
    ck_assert_mem_eq(bytes.gradient, floats.gradient, model_elements(bytes.model) * sizeof(float));
    ck_assert_mem_eq(&a, &b, sizeof a);
    model_evaluate(floats.model, bytes.parameters, unit, bytes.labels, 6, &b);
    ck_assert_int_eq(b.loss, 2 * a.loss);
    work_free(&bytes);
    work_free(&floats);
    free(unit);
}

/* One input x, two targets: outputs w x + b. */
TEST_PLAIN(the_squared_error_has_its_loss_and_gradient)
{
    struct model_input input = {1, 1, 1, 2, true, true};
    struct model *model;
    struct score score = {0};
    static const float x[] = {2, -1};
    static const union label targets[] = {
        {.target = 1}, {.target = 0}, {.target = 3}, {.target = 0}};
    static float parameters[32], gradient[32]; /* w at 0, b at 16. */
    parameters[0] = 1;
    parameters[17] = .5f;
    ck_assert_int_eq(model_create(&model, "softmax", input, 2, NULL), STATUS_OK);
    ck_assert_str_eq(model_text(model), "flatten, dense 2");
    model_gradient(model, parameters, x, targets, 2, gradient, &score);
    /* Outputs (2, .5) and (-1, .5): off by (1, .5) and (-4, .5). */
    ck_assert_int_eq(score.loss, (int64_t)((1 + .25 + 16 + .25) / 2 / SCORE_LOSS_UNIT));
    ck_assert_uint_eq(score.correct * 100 + score.examples, 2);
    ck_assert_float_eq(gradient[0], 2 * 1 - -4);
    ck_assert_float_eq(gradient[1], 2 * .5f - .5f);
    ck_assert_float_eq(gradient[16], 1 - 4);
    ck_assert_float_eq(gradient[17], .5f + .5f);
    model_destroy(&model);
}

TEST_PLAIN(presets_follow_the_classes_and_a_list_may_have_more)
{
    struct model_input input = {28, 28, 1, 26, false, false};
    struct model *model;
    ck_assert_int_eq(model_create(&model, "mlp", input, 2, NULL), STATUS_OK);
    ck_assert_str_eq(model_text(model), "flatten, dense 128 relu, dense 26");
    model_destroy(&model);
    ck_assert_int_eq(model_create(&model, "flatten, dense 30", input, 2, NULL), STATUS_OK);
    model_destroy(&model);
    input.classes = 65536;
    ck_assert_int_eq(model_create(&model, "softmax", input, 2, NULL), STATUS_OK);
    model_destroy(&model);
}

TEST_PLAIN(impossible_inputs_are_refused)
{
    static const struct model_input inputs[] = {
        {0, 28, 1, 10, false, false},
        {28, 28, 0, 10, false, false},
        {28, 28, 1, 0, false, false},
        {28, 28, 1, 65537, false, false},
        {1u << 31, 1u << 31, 4, 10, false, false},
        {65536, 65536, 65536, 10, false, false},
    };
    struct model *model;
    struct error error = {0};
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++)
        ck_assert_int_eq(model_create(&model, "softmax", inputs[i], 16, &error), STATUS_INVALID);
    ck_assert_int_eq(model_create(&model, "softmax", mnist, 0, &error), STATUS_INVALID);
    ck_assert_int_eq(model_create(&model, "softmax", mnist, 70000, NULL), STATUS_INVALID);
}

TEST_PLAIN(a_list_that_would_take_all_memory_is_refused)
{
    static const char wide[] = "conv 1024x1, conv 1x1, flatten, dense 10";
    struct model *model;
    struct error error = {0};
    ck_assert_int_eq(model_create(&model, wide, mnist, 65536, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "activations"));
    ck_assert_int_eq(model_create(&model, wide, mnist, 1, &error), STATUS_OK);
    model_destroy(&model);
}

int main(void)
{
    kernels_init();
    return suite_run("model", NULL);
}
