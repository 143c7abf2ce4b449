/* bench_gradient.c - images a second of the presets' gradient and of evaluation, on one core.
 *
 * The limit is the peak of BLAS's sgemm, measured in turn, turned into images by the operations
 * that the model takes when every one of them is counted: 14.8 million an image for the gradient of
 * `cnn`, 5.06 for its evaluation. Code that skips products with zeros, or uses Winograd's
 * algorithm, can be above it. Beside it PyTorch on the same model, where Debian's python3-torch is
 * installed.
 *
 * How many zeros there are is the state d: the share of the second convolution's pooled outputs
 * through which a gradient returns. It changes with training (0.7 at the start, 0.9 soon after, 0.7
 * after an epoch and less later), so `cnn` is measured at two places of it. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/job/variable.h"
#include "common/kernels/kernels.h"
#include "common/optimizer/optimizer.h"
#include "tests/bench/lib/blas.h"
#include "tests/bench/lib/pytorch.h"
#include "tests/lib/benchmark.h"
#include "worker/data/dataset.h"
#include "worker/model/model.h"

#define EVALUATED      512
#define LEAF_MAX       256 /* PyTorch likes large batches better than small ones. */
#define TRAINING_STEPS 900
#define TRAINING_BATCH 64
#define SIDE           1024 /* Of sgemm's matrices. */
#define SGEMM_CALLS    1

/* --- the peak of sgemm --------------------------------------------------------------------- */

struct sgemm {
    float *a, *b, *c; /* [SIDE][SIDE] */
};

static void multiply(void *context)
{
    struct sgemm *sgemm = context;
    blas_multiply(SIDE, SIDE, SIDE, sgemm->a, false, sgemm->b, true, sgemm->c);
}

static float *make(size_t count)
{
    float *values = aligned_alloc(64, (count * sizeof *values + 63) / 64 * 64);
    if (values == NULL)
        exit(EXIT_FAILURE);
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(i % 7) * 0.125f - 0.25f;
    return values;
}

/* --- the work ------------------------------------------------------------------------------ */

/* A preset, and what it takes for an image. */
struct preset {
    const char *name;
    double forward_flops, gradient_flops;
};

/* Forward, then the gradient of every kernel and of every layer's input but the first's. Two
 * operations for each product and sum; biases, ReLU, pools and softmax are not counted. */
static const struct preset presets[] = {
    {"cnn", 2.0 * (26 * 26 * 32 * 9 + 11 * 11 * 64 * 288 + 1600 * 64 + 640),
     2.0 * (2 * 26 * 26 * 32 * 9 + 3 * (11 * 11 * 64 * 288 + 1600 * 64 + 640))},
    {"mlp", 2.0 * (784 * 128 + 1280), 2.0 * (2 * 784 * 128 + 3 * 1280)},
    {"softmax", 2.0 * 7840, 2.0 * 2 * 7840},
};

struct work {
    const struct dataset *dataset;
    const struct preset *preset;
    struct model *model;
    float *parameters, *gradient; /* [elements] */
    uint32_t leaf;
};

static void gradient(void *context)
{
    struct work *work = context;
    struct score score = {0};
    model_gradient(work->model, work->parameters, work->dataset->train.inputs,
                   work->dataset->train.labels, work->leaf, work->gradient, &score);
}

static void evaluate(void *context)
{
    struct work *work = context;
    struct score score = {0};
    model_evaluate(work->model, work->parameters, work->dataset->test.inputs,
                   work->dataset->test.labels, EVALUATED, &score);
}

/* Where the model's variable `index` begins. */
static uint64_t offset_of(const struct work *work, uint32_t index)
{
    uint64_t offsets[16];
    uint32_t count;
    const struct variable *variables = model_variables(work->model, &count);
    if (count > 16)
        exit(EXIT_FAILURE);
    variables_layout(variables, count, offsets);
    return offsets[index];
}

static void initialize(struct work *work)
{
    uint32_t count;
    const struct variable *variables = model_variables(work->model, &count);
    memset(work->parameters, 0, model_elements(work->model) * sizeof(float));
    for (uint32_t i = 0; i < count; i++)
        variable_initialize(&variables[i], i, 1, 0, variable_elements(&variables[i]),
                            work->parameters + offset_of(work, i));
}

static struct work make_work(const struct dataset *dataset, const struct preset *preset,
                             uint32_t leaf)
{
    struct error error;
    struct model_input input = dataset_model_input(dataset);
    struct work work = {.dataset = dataset, .preset = preset, .leaf = leaf};
    if (model_create(&work.model, preset->name, input, leaf, &error) != STATUS_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(EXIT_FAILURE);
    }
    work.parameters = make(model_elements(work.model));
    work.gradient = make(model_elements(work.model));
    initialize(&work);
    return work;
}

static void free_work(struct work *work)
{
    free(work->parameters);
    free(work->gradient);
    model_destroy(&work->model);
}

/* `cnn`'s parameters after TRAINING_STEPS of Adam on batches in order. */
static float *train(const struct dataset *dataset)
{
    struct work work = make_work(dataset, &presets[0], TRAINING_BATCH);
    const struct optimizer *adam = optimizer_find("adam");
    uint64_t elements = model_elements(work.model), image = dataset->height * dataset->width;
    float *parameters = work.parameters;
    float *m = calloc(elements, sizeof *m), *v = calloc(elements, sizeof *v);
    if (m == NULL || v == NULL)
        exit(EXIT_FAILURE);
    for (uint64_t step = 0; step < TRAINING_STEPS; step++) {
        struct score score = {0};
        uint64_t first = step * TRAINING_BATCH;
        model_gradient(work.model, parameters,
                       (const uint8_t *)dataset->train.inputs + first * image,
                       dataset->train.labels + first, TRAINING_BATCH, work.gradient, &score);
        adam->apply(&(struct optimizer_update){.settings = &adam->defaults,
                                               .t = step + 1,
                                               .learning_rate = adam->default_learning_rate,
                                               .scale = 1.0f / TRAINING_BATCH,
                                               .count = elements,
                                               .gradient = work.gradient,
                                               .values_in = parameters,
                                               .values_out = parameters,
                                               .slots = {m, v}});
    }
    free(m);
    free(v);
    work.parameters = NULL;
    free_work(&work);
    return parameters;
}

/* --- the state d ---------------------------------------------------------------------------- */

/* A 3x3 convolution, ReLU and 2x2 max-pool of one image, the plain way: the kernels may change,
 * what d is may not. in [side][side][channels], out [(side - 2) / 2]^2 [outs]. */
static void convolve_and_pool(const float *in, unsigned side, unsigned channels,
                              const float *kernel, const float *bias, unsigned outs, float *out)
{
    unsigned pooled = (side - 2) / 2;
    float sums[64];
    memset(out, 0, (size_t)pooled * pooled * outs * sizeof *out); /* ReLU. */
    for (unsigned y = 0; y < 2 * pooled; y++)
        for (unsigned x = 0; x < 2 * pooled; x++) {
            memcpy(sums, bias, outs * sizeof *sums);
            for (unsigned place = 0; place < 9 * channels; place++) {
                unsigned row = y + place / (3 * channels), rest = place % (3 * channels);
                float value = in[(row * side + x) * channels + rest];
                for (unsigned o = 0; o < outs; o++)
                    sums[o] += value * kernel[place * outs + o];
            }
            float *to = out + (size_t)(y / 2 * pooled + x / 2) * outs;
            for (unsigned o = 0; o < outs; o++)
                to[o] = sums[o] > to[o] ? sums[o] : to[o];
        }
}

/* The share of `cnn`'s pooled second outputs that are above zero. */
static double state_d(const struct work *work)
{
    static float image[28 * 28], first[13 * 13 * 32], second[5 * 5 * 64];
    uint64_t above = 0;
    const float *kernels[4];
    for (uint32_t i = 0; i < 4; i++)
        kernels[i] = work->parameters + offset_of(work, i);
    for (uint32_t i = 0; i < work->leaf; i++) {
        kernels_bytes_to_unit((const uint8_t *)work->dataset->train.inputs +
                                  i * sizeof image / sizeof *image,
                              sizeof image / sizeof *image, image);
        convolve_and_pool(image, 28, 1, kernels[0], kernels[1], 32, first);
        convolve_and_pool(first, 13, 32, kernels[2], kernels[3], 64, second);
        for (unsigned j = 0; j < sizeof second / sizeof *second; j++)
            above += second[j] > 0;
    }
    return (double)above / work->leaf / (sizeof second / sizeof *second);
}

/* --- lines --------------------------------------------------------------------------------- */

struct bench {
    struct benchmark benchmark;
    struct dataset dataset;
    struct sgemm sgemm;
    struct pytorch pytorch, narrow_pytorch; /* At its best; held to AVX2, for lines of AVX2. */
    enum kernels_instructions widest;       /* Of this processor. */
};

/* What kernels are held to now. */
static const char *instructions(void)
{
    static const char *const names[] = {"baseline", "AVX2", "AVX-512"};
    return names[kernels_instructions()];
}

static void line_beside_blas(struct benchmark *benchmark, struct figure figure,
                             const struct measured *blas, const char *name)
{
    bool there = blas_core_name() != NULL;
    figure.limit = there ? blas : NULL;
    figure.limit_name = there ? name : "no OpenBLAS to compare";
    benchmark_line(benchmark, &figure);
}

static void line(struct bench *bench, const char *what, double images,
                 const struct measured *measured, double flops)
{
    line_beside_blas(&bench->benchmark,
                     (struct figure){.what = what,
                                     .unit = "images/s",
                                     .per_call = images,
                                     .ours = &measured[0],
                                     .limit_per_call = 2.0 * SIDE * SIDE * SIDE / flops,
                                     .setting = instructions()},
                     &measured[1], "sgemm, dense");
}

static struct pytorch *pytorch_beside(struct bench *bench)
{
    return kernels_instructions() == bench->widest ? &bench->pytorch : &bench->narrow_pytorch;
}

static void line_beside_pytorch(struct bench *bench, const char *what, double images,
                                const struct measured *measured)
{
    struct figure figure = {.what = what,
                            .unit = "images/s",
                            .per_call = images,
                            .ours = &measured[0],
                            .limit = &measured[2],
                            .limit_name = "PyTorch",
                            .setting = instructions()};
    figure.target.ratio_least = kernels_instructions() == KERNELS_AVX512 ? 5 : 4;
    if (pytorch_beside(bench)->process != 0) {
        benchmark_line(&bench->benchmark, &figure);
        return;
    }
    figure.limit = NULL;
    figure.limit_name = "no PyTorch to compare";
    figure.target.ratio_least = 0;
    benchmark_line(&bench->benchmark, &figure);
}

/* Calls that last about a hundredth of a second. */
static unsigned calls_for(double images, double flops)
{
    double calls = 1e9 / (images * flops);
    return calls < 2 ? 2 : calls > 2000 ? 2000 : (unsigned)calls;
}

static void measure_gradient(struct bench *bench, struct work *work, const char *state, bool beside)
{
    struct measured measured[3];
    struct pytorch *pytorch = pytorch_beside(bench);
    unsigned calls = calls_for(work->leaf, work->preset->gradient_flops);
    struct piece pieces[3] = {
        {.work = gradient, .context = work, .calls = calls},
        {.work = multiply, .context = &bench->sgemm, .calls = SGEMM_CALLS},
        {.work = pytorch_gradient,
         .context = pytorch,
         .own_seconds = &pytorch->seconds,
         .helpers = &pytorch->process,
         .helper_count = 1},
    };
    pytorch->batch = work->leaf;
    pytorch->calls = work->leaf < 128 ? 128 / work->leaf : 1;
    measure_in_turn(pieces, beside && pytorch->process != 0 ? 3 : 2, MEASURE_ROUNDS, measured);
    char what[64];
    snprintf(what, sizeof what, "%s gradient, leaf %u%s", work->preset->name, work->leaf, state);
    /* Narrower kernels than the machine has are not measured by its peak. */
    if (kernels_instructions() == bench->widest)
        line(bench, what, work->leaf, measured, work->preset->gradient_flops);
    if (beside)
        line_beside_pytorch(bench, what, work->leaf, measured);
}

static void measure_evaluation(struct bench *bench, struct work *work)
{
    struct measured measured[2];
    struct piece pieces[2] = {
        {.work = evaluate,
         .context = work,
         .calls = calls_for(EVALUATED, work->preset->forward_flops)},
        {.work = multiply, .context = &bench->sgemm, .calls = SGEMM_CALLS},
    };
    measure_in_turn(pieces, 2, MEASURE_ROUNDS, measured);
    char what[64];
    snprintf(what, sizeof what, "%s evaluation", work->preset->name);
    line(bench, what, EVALUATED, measured, work->preset->forward_flops);
}

static void measure_states(struct bench *bench, struct work *work, const float *trained)
{
    initialize(work);
    measure_gradient(bench, work, ", start", true);
    memcpy(work->parameters, trained, model_elements(work->model) * sizeof *trained);
    measure_gradient(bench, work, ", trained", true);
}

static void remark_states(struct bench *bench, struct work *work, const float *trained)
{
    initialize(work);
    double start = state_d(work);
    memcpy(work->parameters, trained, model_elements(work->model) * sizeof *trained);
    benchmark_remark(&bench->benchmark,
                     "d %.2f at the start, %.2f trained: after %d steps of Adam on %d images",
                     start, state_d(work), TRAINING_STEPS, TRAINING_BATCH);
}

static void measure_reference_model(struct bench *bench)
{
    float *trained = train(&bench->dataset);
    for (uint32_t leaf = 16; leaf <= LEAF_MAX; leaf *= 4) {
        struct work work = make_work(&bench->dataset, &presets[0], leaf);
        measure_states(bench, &work, trained);
        if (bench->widest > KERNELS_AVX2) {
            kernels_limit(KERNELS_AVX2);
            measure_states(bench, &work, trained);
            kernels_limit(bench->widest);
        }
        if (leaf == 64) {
            remark_states(bench, &work, trained);
            measure_evaluation(bench, &work);
        }
        free_work(&work);
    }
    free(trained);
}

static void measure_other_models(struct bench *bench)
{
    for (unsigned i = 1; i < sizeof presets / sizeof *presets; i++) {
        for (uint32_t leaf = 16; leaf <= 64; leaf *= 4) {
            struct work work = make_work(&bench->dataset, &presets[i], leaf);
            measure_gradient(bench, &work, "", false);
            if (leaf == 64)
                measure_evaluation(bench, &work);
            free_work(&work);
        }
    }
}

/* --- dense layers --------------------------------------------------------------------------- */

/* Beside the same three products by OpenBLAS, held to one thread. It is what decides whether BLAS
 * should compute dense layers beyond some size (common/CHANGING.md). A leaf has as many examples as
 * --micro-batch says, 16 unless it is given; square shapes are what it would take for BLAS to be
 * the faster. */

#define DENSE_ROUNDS 5

struct dense {
    uint32_t examples, inputs, outputs;
    float *in, *out;                   /* [examples][inputs], [examples][outputs] */
    float *kernel, *gradient;          /* [inputs][outputs] */
    float *bias, *in_gradient, *spare; /* [outputs], as in, scratch */
};

static struct dense make_dense(uint32_t examples, uint32_t inputs, uint32_t outputs)
{
    uint64_t in = (uint64_t)examples * inputs, out = (uint64_t)examples * outputs;
    uint64_t elements = (uint64_t)inputs * outputs;
    return (struct dense){examples,       inputs,
                          outputs,        make(in),
                          make(out),      make(elements),
                          make(elements), make(outputs),
                          make(in),       make(kernels_multiply_turned_scratch(examples, outputs))};
}

static void free_dense(struct dense *layer)
{
    float *arrays[] = {layer->in,   layer->out,         layer->kernel, layer->gradient,
                       layer->bias, layer->in_gradient, layer->spare};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
}

/* What layer_dense.c does but for bias and ReLU, which are no products. */
static void dense_ours(void *context)
{
    struct dense *l = context;
    kernels_dense(l->examples, l->outputs, l->inputs, l->in, l->kernel, l->bias, false, l->out);
    kernels_multiply_at(l->inputs, l->outputs, l->examples, l->in, l->out, l->gradient,
                        KERNELS_SET);
    kernels_multiply_turned(l->examples, l->inputs, l->outputs, l->out, l->kernel, l->in_gradient,
                            l->spare);
}

static void dense_blas(void *context)
{
    struct dense *l = context;
    blas_multiply(l->examples, l->outputs, l->inputs, l->in, false, l->kernel, false, l->out);
    blas_multiply(l->inputs, l->outputs, l->examples, l->in, true, l->out, false, l->gradient);
    blas_multiply(l->examples, l->inputs, l->outputs, l->out, false, l->kernel, true,
                  l->in_gradient);
}

static void measure_dense(struct benchmark *benchmark, uint32_t examples, uint32_t inputs,
                          uint32_t outputs)
{
    char what[96];
    struct dense dense = make_dense(examples, inputs, outputs);
    struct measured measured[2];
    double flops = 6.0 * examples * inputs * outputs, calls = 2e9 / flops;
    unsigned count = calls < 1 ? 1 : (unsigned)calls;
    struct piece pieces[2] = {{.work = dense_ours, .context = &dense, .calls = count},
                              {.work = dense_blas, .context = &dense, .calls = count}};
    measure_in_turn(pieces, 2, DENSE_ROUNDS, measured);
    snprintf(what, sizeof what, "dense %u to %u, %u examples", inputs, outputs, examples);
    line_beside_blas(benchmark,
                     (struct figure){.what = what,
                                     .unit = "GFLOP/s",
                                     .per_call = flops * 1e-9,
                                     .ours = &measured[0],
                                     .setting = blas_core_name()},
                     &measured[1], "OpenBLAS, 1 thread");
    free_dense(&dense);
}

static void measure_dense_layers(struct benchmark *benchmark)
{
    static const uint32_t leaves[] = {16, 64, 256}, sides[] = {256, 1024, 2048};
    for (size_t s = 0; s < sizeof sides / sizeof *sides; s++) {
        for (size_t l = 0; l < sizeof leaves / sizeof *leaves; l++)
            measure_dense(benchmark, leaves[l], sides[s], sides[s]);
        measure_dense(benchmark, sides[s], sides[s], sides[s]);
    }
}

int main(int argc, char **argv)
{
    struct bench bench;
    struct error error;
    benchmark_open(&bench.benchmark, "gradient", argc, argv);
    blas_init(argv);
    if (dataset_open(&bench.dataset, "fashion-mnist", 1, &error) != STATUS_OK) {
        fprintf(stderr, "%s\n", error.text);
        return EXIT_FAILURE;
    }
    bench.sgemm = (struct sgemm){make(SIDE * SIDE), make(SIDE * SIDE), make(SIDE * SIDE)};
    bench.widest = kernels_instructions();
    pytorch_open(&bench.pytorch, false);
    pytorch_open(&bench.narrow_pytorch, true);
    if (bench.pytorch.process == 0)
        benchmark_remark(&bench.benchmark, "no figure of PyTorch: %s (Debian: python3-torch)",
                         bench.pytorch.version);
    else
        benchmark_remark(&bench.benchmark,
                         "PyTorch %s on one thread, channels_last, malloc told to keep its memory; "
                         "sgemm: BLAS for %s",
                         bench.pytorch.version,
                         blas_core_name() != NULL ? blas_core_name() : "none");
    measure_reference_model(&bench);
    measure_other_models(&bench);
    measure_dense_layers(&bench.benchmark);
    pytorch_close(&bench.pytorch);
    pytorch_close(&bench.narrow_pytorch);
    dataset_close(&bench.dataset);
    free(bench.sgemm.a);
    free(bench.sgemm.b);
    free(bench.sgemm.c);
    return benchmark_close(&bench.benchmark);
}
