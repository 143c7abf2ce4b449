/* bench_update.c - update rules in memory and in cache, on one core, beside what the core can do.
 *
 * Two limits: a plain loop that reads and writes as many arrays and adds, and the rate at which the
 * core divides and takes square roots, for rules that do. The tighter one, which takes longer, is
 * the line's. A processor with AVX-512 shows every line twice: rules and limits as they are, and
 * both held to AVX2 (loops.h). */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/kernels/kernels.h"
#include "common/optimizer/optimizer.h"
#include "tests/bench/lib/loops.h"
#include "tests/lib/benchmark.h"

#define SMALL_BYTES ((uint64_t)256 << 10)
#define LARGE_BYTES ((uint64_t)64 << 20)

struct arrays {
    const struct loops *loops;
    const struct optimizer *optimizer;
    struct optimizer_update update;
    bool roots; /* A square root and a division for each element. */
};

static void apply(void *context)
{
    struct arrays *arrays = context;
    arrays->optimizer->apply(&arrays->update);
}

static void stream(void *context)
{
    const struct arrays *arrays = context;
    arrays->loops->stream(&arrays->update);
}

static void roots(void *context)
{
    const struct arrays *arrays = context;
    arrays->loops->roots(arrays->update.count);
}

/* --- lines --------------------------------------------------------------------------------- */

static float *make(uint64_t count, float value)
{
    float *values = aligned_alloc(64, count * sizeof *values);
    if (values == NULL)
        exit(EXIT_FAILURE);
    for (uint64_t i = 0; i < count; i++)
        values[i] = value;
    return values;
}

struct measurement {
    const struct loops *loops;
    const char *name; /* "rmsprop with momentum" */
    const struct optimizer *optimizer;
    struct optimizer_settings settings;
    uint32_t slots; /* That the rule uses with these settings. */
    bool elsewhere; /* The new values go to another buffer, as in sync mode. */
};

static struct arrays make_arrays(const struct measurement *measurement, uint64_t count)
{
    struct arrays arrays = {.loops = measurement->loops,
                            .optimizer = measurement->optimizer,
                            .roots = measurement->settings.epsilon > 0};
    float *values = make(count, 1);
    arrays.update = (struct optimizer_update){
        .settings = &measurement->settings,
        .t = 1000,
        .learning_rate = 1e-6f,
        .scale = 1.0f / 64,
        .count = count,
        .gradient = make(count, 0.01f),
        .values_in = values,
        .values_out = measurement->elsewhere ? make(count, 1) : values,
    };
    for (uint32_t i = 0; i < measurement->slots; i++)
        arrays.update.slots[i] = make(count, 0.1f);
    return arrays;
}

static void free_arrays(struct arrays *arrays)
{
    struct optimizer_update *u = &arrays->update;
    for (uint32_t i = 0; i < OPTIMIZER_SLOTS_MAX; i++)
        free(u->slots[i]);
    free((void *)(uintptr_t)u->gradient);
    if (u->values_in != u->values_out)
        free((void *)(uintptr_t)u->values_in);
    free(u->values_out);
}

static const char *instructions(const struct loops *loops)
{
    return loops == &loops_avx2 ? "AVX2" : benchmark_instructions();
}

static void measure(struct benchmark *benchmark, const struct measurement *measurement,
                    struct arrays *arrays)
{
    uint64_t bytes = arrays->update.count * sizeof(float);
    bool large = bytes == LARGE_BYTES;
    unsigned calls = large ? 2 : 400;
    struct piece pieces[] = {{.work = apply, .context = arrays, .calls = calls},
                             {.work = stream, .context = arrays, .calls = calls},
                             {.work = roots, .context = arrays, .calls = calls}};
    struct measured measured[3];
    measure_in_turn(pieces, arrays->roots ? 3 : 2, MEASURE_ROUNDS, measured);
    bool by_roots = arrays->roots && spread_of(measured[2].seconds, MEASURE_ROUNDS).median >
                                         spread_of(measured[1].seconds, MEASURE_ROUNDS).median;
    /* The gradient and each array are read, all but the gradient written. */
    double streamed = (3 + 2.0 * measurement->slots) * (double)bytes;
    char what[64];
    snprintf(what, sizeof what, "%s, %llu %s", measurement->name,
             (unsigned long long)bytes >> (large ? 20 : 10), large ? "MiB" : "KiB");
    benchmark_line(benchmark, &(struct figure){
                                  .what = what,
                                  .unit = "GB/s",
                                  .per_call = streamed * 1e-9,
                                  .ours = &measured[0],
                                  .limit = &measured[by_roots ? 2 : 1],
                                  .limit_name = by_roots ? "divisions and roots" : "plain loop",
                                  .bytes = (double)bytes,
                                  .setting = instructions(measurement->loops),
                                  .target = {.ratio_least = large ? 0.9 : 0.8},
                              });
}

static void measure_sizes(struct benchmark *benchmark, const struct measurement *measurement)
{
    const uint64_t sizes[] = {LARGE_BYTES, SMALL_BYTES};
    for (unsigned i = 0; i < 2; i++) {
        struct arrays arrays = make_arrays(measurement, sizes[i] / sizeof(float));
        measure(benchmark, measurement, &arrays);
        free_arrays(&arrays);
    }
}

static void measure_rule(struct benchmark *benchmark, const struct loops *loops,
                         const struct optimizer *optimizer)
{
    struct measurement measurement = {.loops = loops,
                                      .name = optimizer->name,
                                      .optimizer = optimizer,
                                      .settings = optimizer->defaults,
                                      .slots = optimizer->slot_count};
    if (strcmp(optimizer->name, "rmsprop") != 0) {
        measure_sizes(benchmark, &measurement);
        return;
    }
    measurement.slots = 1; /* Without momentum the second is not touched. */
    measure_sizes(benchmark, &measurement);
    measurement.name = "rmsprop with momentum";
    measurement.settings.momentum = 0.9f;
    measurement.slots = 2;
    measure_sizes(benchmark, &measurement);
}

static void measure_elsewhere(struct benchmark *benchmark, const struct loops *loops,
                              const char *rule, const char *name)
{
    const struct optimizer *optimizer = loops->optimizer_find(rule);
    measure_sizes(benchmark, &(struct measurement){.loops = loops,
                                                   .name = name,
                                                   .optimizer = optimizer,
                                                   .settings = optimizer->defaults,
                                                   .slots = optimizer->slot_count,
                                                   .elsewhere = true});
}

static void measure_rules(struct benchmark *benchmark, const struct loops *loops)
{
    for (unsigned i = 0; loops->optimizer_at(i) != NULL; i++)
        measure_rule(benchmark, loops, loops->optimizer_at(i));
    measure_elsewhere(benchmark, loops, "sgd", "sgd, new buffer");
    measure_elsewhere(benchmark, loops, "adam", "adam, new buffer");
}

int main(int argc, char **argv)
{
    struct benchmark benchmark;
    benchmark_open(&benchmark, "update", argc, argv);
    measure_rules(&benchmark, &loops_here);
    if (kernels_instructions() > KERNELS_AVX2)
        measure_rules(&benchmark, &loops_avx2);
    benchmark_remark(&benchmark,
                     "GB/s of all arrays read and written; CPU seconds per GB of parameters");
    return benchmark_close(&benchmark);
}
