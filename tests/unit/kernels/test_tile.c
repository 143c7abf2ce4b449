/* Convolutions and products in every instruction set, over random shapes: against naive loops in
 * double precision and against each other, on arrays that end where memory ends. */

#include "common/kernels/tile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/random.h"
#include "common/kernels/kernels.h"
#include "common/kernels/vectorized.h"
#include "tests/lib/suite.h"

/* Sanitizers slow the plain loops down twentyfold; fewer shapes will do for what they look for. */
#ifdef VECTORIZED_BASELINE
#define CASES 12
#else
#define CASES 60
#endif

static struct random_sequence sequence;

static uint32_t below(uint32_t count)
{
    return random_below(&sequence, count);
}

/* --- arrays before an abyss ---------------------------------------------------------------- */

static uint64_t page_bytes(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The last byte lies before a page that must not be touched. */
static void *edge_bytes(uint64_t bytes)
{
    uint64_t page = page_bytes(), size = (bytes + page - 1) / page * page;
    char *map = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(map != MAP_FAILED);
    ck_assert_int_eq(mprotect(map + size, page, PROT_NONE), 0);
    return map + size - bytes;
}

static void edge_free(void *array, uint64_t bytes)
{
    uint64_t page = page_bytes(), size = (bytes + page - 1) / page * page;
    munmap((char *)array + bytes - size, size + page);
}

static float *edge_floats(uint64_t count)
{
    float *x = edge_bytes(count * sizeof *x);
    for (uint64_t i = 0; i < count; i++)
        x[i] = 2.0f * random_unit_float(random_next(&sequence)) - 1.0f;
    return x;
}

static void edge_floats_free(float *x, uint64_t count)
{
    edge_free(x, count * sizeof *x);
}

/* --- every set ----------------------------------------------------------------------------- */

/* One kernel with its arrays: run writes out and may write which. */
struct trial {
    void (*run)(struct trial *trial);
    uint64_t m, n, k; /* Of products. */
    struct kernels_window window;
    uint64_t outs;
    struct kernels_finish finish;
    bool relu;
    float *a, *b, *bias, *out, *scratch;
    uint64_t out_count;
    uint8_t *which; /* [out_count] */
    double *exact;  /* [out_count] */
};

static void compare_exact(const struct trial *t, double tolerance)
{
    for (uint64_t i = 0; i < t->out_count; i++) {
        ck_assert_msg(fabs((double)t->out[i] - t->exact[i]) <= tolerance,
                      "element %d: %.9g instead of %.9g", (int)i, (double)t->out[i], t->exact[i]);
    }
}

/* In all sets as the naive one, and the same bits in those that fuse. */
static void try_all(struct trial *t, double tolerance)
{
    float *first = malloc(t->out_count * sizeof *first);
    uint8_t *first_which = calloc(t->out_count, 1);
    for (int set = KERNELS_AVX512; set >= KERNELS_PLAIN; set--) {
        memset(t->out, 0xff, t->out_count * sizeof *t->out);
        memset(t->which, 0, t->out_count);
        kernels_limit((enum kernels_instructions)set);
        t->run(t);
        compare_exact(t, tolerance);
        if (set == KERNELS_AVX512) {
            memcpy(first, t->out, t->out_count * sizeof *first);
            memcpy(first_which, t->which, t->out_count);
        } else if (kernels_instructions() != KERNELS_PLAIN) {
            ck_assert_mem_eq(first, t->out, t->out_count * sizeof *first);
            ck_assert_mem_eq(first_which, t->which, t->out_count);
        }
    }
    kernels_limit(KERNELS_AVX512);
    free(first);
    free(first_which);
}

/* --- products ------------------------------------------------------------------------------ */

static void run_dense(struct trial *t)
{
    kernels_dense(t->m, t->n, t->k, t->a, t->b, t->bias, t->relu, t->out);
}

static void run_at(struct trial *t)
{
    memset(t->out, 0, t->out_count * sizeof *t->out);
    kernels_multiply_at(t->m, t->n, t->k, t->a, t->b, t->out, KERNELS_ADD);
}

static void run_bt(struct trial *t)
{
    kernels_multiply_turned(t->m, t->n, t->k, t->a, t->b, t->out, t->scratch);
}

/* a_row, a_step: from row to row and from step to step in a; so b's columns. */
static void product_exact(struct trial *t, uint64_t a_row, uint64_t a_step, uint64_t b_step,
                          uint64_t b_column, bool dense)
{
    for (uint64_t i = 0; i < t->m * t->n; i++) {
        double sum = dense ? t->bias[i % t->n] : 0;
        for (uint64_t j = 0; j < t->k; j++) {
            sum += (double)t->a[i / t->n * a_row + j * a_step] *
                   t->b[j * b_step + i % t->n * b_column];
        }
        t->exact[i] = dense && t->relu ? fmax(sum, 0) : sum;
    }
}

static void try_products(struct trial t)
{
    double tolerance = 1e-6 * (double)(t.k + 8);
    uint64_t scratch = kernels_multiply_turned_scratch(t.m, t.k);
    t.relu = below(2);
    t.out_count = t.m * t.n;
    t.a = edge_floats(t.m * t.k);
    t.b = edge_floats(t.k * t.n);
    t.bias = edge_floats(t.n);
    t.out = edge_floats(t.out_count);
    t.scratch = edge_floats(scratch);
    t.which = edge_bytes(t.out_count);
    t.exact = malloc(t.out_count * sizeof *t.exact);
    t.run = run_dense;
    product_exact(&t, t.k, 1, t.n, 1, true);
    try_all(&t, tolerance);
    t.run = run_at;
    product_exact(&t, 1, t.m, t.n, 1, false);
    try_all(&t, tolerance);
    t.run = run_bt;
    product_exact(&t, t.k, 1, 1, t.k, false);
    try_all(&t, tolerance);
    edge_floats_free(t.a, t.m * t.k);
    edge_floats_free(t.b, t.k * t.n);
    edge_floats_free(t.bias, t.n);
    edge_floats_free(t.out, t.out_count);
    edge_floats_free(t.scratch, scratch);
    edge_free(t.which, t.out_count);
    free(t.exact);
}

TEST_TIMES(products_of_random_shapes, CASES)
{
    random_sequence_init(&sequence, 11, RANDOM_STREAM_PROBE, (uint32_t)_i);
    try_products((struct trial){.m = 1 + below(40), .n = 1 + below(150), .k = 1 + below(300)});
}

/* So large that rows are brought together, and in no way even: first for rows of b far apart, then
 * for those of a alone, where b is turned and more of its rows are worked on together. */
TEST_TIMES(large_products, 2)
{
    static const struct trial shapes[] = {{.m = 50, .n = 1109, .k = 300},
                                          {.m = 67, .n = 401, .k = 1503}};
    random_sequence_init(&sequence, 12, RANDOM_STREAM_PROBE, (uint32_t)_i);
    try_products(shapes[_i]);
}

/* --- convolutions -------------------------------------------------------------------------- */

static void run_convolve(struct trial *t)
{
    kernels_convolve(t->window, t->a, t->b, t->outs, t->finish, t->out);
}

static void run_winograd(struct trial *t)
{
    uint64_t count = kernels_winograd_kernel_elements(t->window.channels, t->outs);
    uint64_t scratch = kernels_winograd_scratch(t->window, t->outs);
    float *transformed = edge_floats(count), *work = edge_floats(scratch);
    kernels_winograd_kernel(t->b, t->window.channels, t->outs, transformed);
    kernels_winograd(t->window, t->a, transformed, t->outs, t->finish, t->out, work);
    edge_floats_free(transformed, count);
    edge_floats_free(work, scratch);
}

static void run_gradient(struct trial *t)
{
    memset(t->out, 0, t->out_count * sizeof *t->out);
    kernels_convolve_gradient(t->window, t->a, t->b, t->outs, t->out);
}

static double convolve_one(const struct trial *t, uint64_t y, uint64_t x, uint64_t out)
{
    const struct kernels_window *w = &t->window;
    double sum = t->bias[out];
    for (uint64_t i = 0; i < w->size; i++)
        for (uint64_t j = 0; j < w->size; j++)
            for (uint64_t c = 0; c < w->channels; c++)
                sum += (double)t->a[((y + i) * w->in_width + x + j) * w->channels + c] *
                       t->b[((i * w->size + j) * w->channels + c) * t->outs + out];
    return sum;
}

static void convolve_exact(struct trial *t)
{
    uint64_t pool = t->finish.pool, across = t->window.out_width / pool;
    for (uint64_t i = 0; i < t->out_count; i++) {
        uint64_t out = i % t->outs, x = i / t->outs % across, y = i / t->outs / across;
        double best = -INFINITY;
        for (uint64_t p = 0; p < pool * pool; p++)
            best = fmax(best, convolve_one(t, y * pool + p / pool, x * pool + p % pool, out));
        t->exact[i] = t->finish.relu ? fmax(best, 0) : best;
    }
}

static void gradient_exact(struct trial *t)
{
    const struct kernels_window *w = &t->window;
    for (uint64_t i = 0; i < t->out_count; i++) {
        uint64_t out = i % t->outs, c = i / t->outs % w->channels;
        uint64_t column = i / t->outs / w->channels % w->size;
        uint64_t row = i / t->outs / w->channels / w->size;
        t->exact[i] = 0;
        for (uint64_t y = 0; y < w->out_height; y++)
            for (uint64_t x = 0; x < w->out_width; x++)
                t->exact[i] +=
                    (double)t->a[((y + row) * w->in_width + x + column) * w->channels + c] *
                    t->b[(y * w->out_width + x) * t->outs + out];
    }
}

/* Where the naive largest leads clearly, its number is the one found. */
static void compare_which(struct trial *t)
{
    uint64_t across = t->window.out_width / 2;
    for (uint64_t i = 0; i < t->out_count; i++) {
        uint64_t out = i % t->outs, x = i / t->outs % across, y = i / t->outs / across;
        uint8_t p = t->which[i];
        ck_assert_uint_lt(p, 4);
        double chosen = convolve_one(t, y * 2 + p / 2, x * 2 + p % 2, out);
        ck_assert_double_eq_tol(t->finish.relu ? fmax(chosen, 0) : chosen, t->exact[i], 1e-3);
    }
}

static struct trial convolution(uint32_t number, bool three)
{
    random_sequence_init(&sequence, 12, RANDOM_STREAM_PROBE, number);
    uint32_t size = three ? 3 : 1 + below(5), pool = 1 + below(2);
    struct trial t = {.outs = 1 + below(100), .finish = {.pool = pool, .relu = below(2)}};
    struct kernels_window *w = &t.window;
    *w = (struct kernels_window){.channels = 1 + below(40), .size = size};
    w->out_height = (three ? 2 : pool) * (1 + below(4));
    w->out_width = (three ? 2 : pool) * (1 + below(9));
    w->in_height = w->out_height + size - 1 + below(2);
    w->in_width = w->out_width + size - 1 + below(2);
    return t;
}

static void convolution_arrays(struct trial *t, uint64_t b_count, uint64_t out_count)
{
    const struct kernels_window *w = &t->window;
    t->out_count = out_count;
    t->a = edge_floats((uint64_t)w->in_height * w->in_width * w->channels);
    t->b = edge_floats(b_count);
    t->bias = edge_floats(t->outs);
    t->finish.bias = t->bias;
    t->out = edge_floats(out_count);
    t->which = edge_bytes(out_count);
    t->finish.which = t->finish.pool == 2 ? t->which : NULL;
    t->exact = malloc(out_count * sizeof *t->exact);
}

static void convolution_free(struct trial *t, uint64_t b_count)
{
    const struct kernels_window *w = &t->window;
    edge_floats_free(t->a, (uint64_t)w->in_height * w->in_width * w->channels);
    edge_floats_free(t->b, b_count);
    edge_floats_free(t->bias, t->outs);
    edge_floats_free(t->out, t->out_count);
    edge_free(t->which, t->out_count);
    free(t->exact);
}

static uint64_t weights_of(const struct trial *t)
{
    return (uint64_t)t->window.size * t->window.size * t->window.channels * t->outs;
}

static uint64_t outputs_of(const struct trial *t)
{
    uint64_t pool = t->finish.pool;
    return t->window.out_height / pool * (t->window.out_width / pool) * t->outs;
}

static void try_convolution(uint32_t number, bool winograd)
{
    struct trial t = convolution(number, winograd);
    double tolerance = 3e-7 * (double)(weights_of(&t) / t.outs + 50);
    t.run = winograd ? run_winograd : run_convolve;
    convolution_arrays(&t, weights_of(&t), outputs_of(&t));
    convolve_exact(&t);
    try_all(&t, tolerance);
    if (t.finish.which != NULL) {
        compare_which(&t);
        t.finish.which = NULL; /* Nobody asks: the same but for that. */
        try_all(&t, tolerance);
    }
    t.finish.bias = NULL;
    memset(t.bias, 0, t.outs * sizeof *t.bias);
    convolve_exact(&t);
    try_all(&t, tolerance);
    convolution_free(&t, weights_of(&t));
}

TEST_TIMES(convolutions_of_random_shapes, CASES)
{
    try_convolution((uint32_t)_i, false);
}

TEST_TIMES(winograds_of_random_shapes, CASES)
{
    try_convolution((uint32_t)_i, true);
}

TEST_TIMES(kernel_gradients_of_random_shapes, CASES)
{
    struct trial t = convolution((uint32_t)_i, false);
    uint64_t maps = (uint64_t)t.window.out_height * t.window.out_width * t.outs;
    t.run = run_gradient;
    t.finish.pool = 1;
    convolution_arrays(&t, maps, weights_of(&t));
    gradient_exact(&t);
    try_all(&t, 1e-6 * (double)(maps / t.outs + 50));
    convolution_free(&t, maps);
}

/* --- what the header promises -------------------------------------------------------------- */

TEST_PLAIN(not_a_number_passes_relu_and_a_pool_that_begins_with_it)
{
    float image[2 * 2] = {NAN, 1, 2, 3}, kernel[20], out[20], bias[20] = {0};
    struct kernels_window w = {2, 2, 1, 1, 2, 2};
    for (int i = 0; i < 20; i++)
        kernel[i] = 1;
    for (int set = KERNELS_AVX512; set >= KERNELS_PLAIN; set--) {
        kernels_limit((enum kernels_instructions)set);
        kernels_convolve(w, image, kernel, 20, (struct kernels_finish){bias, true, 2, NULL}, out);
        for (int i = 0; i < 20; i++)
            ck_assert(isnan(out[i]));
        kernels_dense(1, 20, 1, image, kernel, bias, true, out);
        ck_assert(isnan(out[0]) && isnan(out[19]));
    }
    kernels_limit(KERNELS_AVX512);
}

TEST_PLAIN(sums_go_in_the_order_of_the_walk)
{
    enum { K = 150 };
    float x[K], y[K * 3], out[3];
    random_sequence_init(&sequence, 13, RANDOM_STREAM_PROBE, 0);
    for (int i = 0; i < 3 * K; i++) {
        y[i] = random_unit_float(random_next(&sequence)) - 0.5f;
        x[i % K] = y[i] + 0.25f;
    }
    if (kernels_instructions() == KERNELS_PLAIN) {
        suite_skip("the order of a tile's sums: this processor has neither AVX2 nor AVX-512");
        return;
    }
    float exact = 0.125f;
    for (int i = 0; i < K; i++)
        exact = fmaf(x[i], y[3 * i + 2], exact);
    kernels_dense(1, 3, K, x, y, (float[]){0.125f, 0.125f, 0.125f}, false, out);
    ck_assert(out[2] == exact);
}

int main(void)
{
    return suite_run("tile", NULL);
}
