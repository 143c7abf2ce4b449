/* bench_update.c - update kernels against a plain copy of as many bytes, in and out of cache. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/optimizer.h"
#include "tests/lib/measure.h"

struct arrays {
    const struct optimizer *optimizer;
    struct optimizer_update update;
    float *copy; /* [count] */
};

static void apply(void *context)
{
    struct arrays *arrays = context;
    arrays->optimizer->apply(&arrays->update);
}

static void copy(void *context)
{
    struct arrays *arrays = context;
    memcpy(arrays->copy, arrays->update.gradient, arrays->update.count * sizeof(float));
}

static float *make(uint64_t count, float value)
{
    float *values = aligned_alloc(64, count * sizeof *values);
    if (values == NULL)
        exit(EXIT_FAILURE);
    for (uint64_t i = 0; i < count; i++)
        values[i] = value;
    return values;
}

static void measure(const struct optimizer *optimizer, uint64_t bytes)
{
    uint64_t count = bytes / sizeof(float);
    struct arrays arrays = {.optimizer = optimizer, .copy = make(count, 0)};
    float *gradient = make(count, 0.01f), *values = make(count, 1);
    arrays.update = (struct optimizer_update){
        .settings = &optimizer->defaults,
        .t = 1000,
        .learning_rate = 1e-6f,
        .scale = 1.0f / 64,
        .count = count,
        .gradient = gradient,
        .values_in = values,
        .values_out = values,
    };
    for (uint32_t i = 0; i < optimizer->slot_count; i++)
        arrays.update.slots[i] = make(count, 0.1f);

    struct spread ours, plain;
    unsigned calls = bytes >= (8u << 20) ? 1 : (8u << 20) / (unsigned)bytes;
    measure_pair(apply, &arrays, copy, &arrays, calls, &ours, &plain);
    /* Streams: the gradient and each array are read, all but the gradient written. */
    double streams = 3 + 2.0 * optimizer->slot_count;
    double rate = streams * (double)bytes / ours.median * 1e-9;
    double limit = 2 * (double)bytes / plain.median * 1e-9;
    printf("%-10s %6llu KiB  %8.1f us (%.1f to %.1f)  %6.1f GB/s  memcpy %6.1f GB/s  ratio %.2f\n",
           optimizer->name, (unsigned long long)bytes >> 10, ours.median * 1e6, ours.least * 1e6,
           ours.most * 1e6, rate, limit, rate / limit);
    for (uint32_t i = 0; i < optimizer->slot_count; i++)
        free(arrays.update.slots[i]);
    free(gradient);
    free(values);
    free(arrays.copy);
}

int main(void)
{
    puts("one update in place; GB/s of all arrays read and written; memcpy on as many bytes");
    for (unsigned i = 0; optimizer_at(i) != NULL; i++) {
        measure(optimizer_at(i), 256u << 10);
        measure(optimizer_at(i), 64u << 20);
    }
    return 0;
}
