/* test_group.c - one gradient of a chunk, made from values that others have moved since: exact where
 * the numbers are, near to double precision elsewhere, and untouched where nobody was faster. */

#include "ps/shard/group.h"

#include <math.h>
#include <string.h>

#include "common/base/random.h"
#include "tests/lib/post.h"
#include "tests/lib/suite.h"

#define COUNT 16

struct fixture {
    struct job job;
    struct plan *plan;
    struct chunk chunk;
    float gradient[COUNT], base[COUNT];
};

static void open_with(struct fixture *f, const char *optimizer, float strength, bool adapts)
{
    struct error error;
    memset(f, 0, sizeof *f);
    f->job = small_job(MODE_ASYNC, 4, 1);
    f->job.optimizer = optimizer_find(optimizer)->defaults;
    f->job.schedule.learning_rate = 0.25;
    f->job.delay_compensation = strength;
    f->job.compensation_adapts = adapts;
    ck_assert_msg(plan_create(&f->plan, &f->job, 0, 1, &error) == STATUS_OK, "%s", error.text);
    ck_assert(chunk_init(&f->chunk, f->plan, 1, NULL) == STATUS_OK);
    ck_assert_uint_eq(f->chunk.count, COUNT);
    chunk_initialize(&f->chunk);
}

static void close_fixture(struct fixture *f)
{
    chunk_check(&f->chunk);
    chunk_free(&f->chunk);
    plan_destroy(&f->plan);
    job_free(&f->job);
}

static float *values(struct fixture *f)
{
    return f->chunk.values->data;
}

static void add(struct fixture *f, uint32_t examples, uint64_t staleness)
{
    const struct chunk_gradient gradient = {
        .sum = f->gradient, .examples = examples, .staleness = staleness, .base = f->base};
    ck_assert_int_eq(group_add(&f->chunk, &gradient), STATUS_OK);
}

/* As far as `staleness` updates by 1 have moved it, from -2. */
static void be_overtaken(struct fixture *f, uint64_t staleness)
{
    for (int i = 0; i < COUNT; i++) {
        f->base[i] = -2.0f;
        f->gradient[i] = 8.0f * (float)(i - 3);
        values(f)[i] = -2.0f + (float)staleness;
    }
}

/* g = sum / 4; g' = g + g g staleness / 2; value - rate g', all of it exact. */
TEST_PLAIN(two_and_four_updates_late_every_bit_is_that_of_the_formula)
{
    for (uint64_t staleness = 2; staleness <= 4; staleness += 2) {
        struct fixture f;
        open_with(&f, "sgd", 0.5f, false);
        be_overtaken(&f, staleness);
        add(&f, 4, staleness);
        for (int i = 0; i < COUNT; i++) {
            float g = 2.0f * (float)(i - 3), late = (float)staleness;
            ck_assert(values(&f)[i] == -2.0f + late - 0.25f * (g + 0.5f * g * g * late));
        }
        close_fixture(&f);
    }
}

static void fill(struct fixture *f)
{
    struct random_sequence random;
    random_sequence_init(&random, 9, RANDOM_STREAM_PROBE, 3);
    for (int i = 0; i < COUNT; i++) {
        f->base[i] = random_unit_float(random_next(&random)) - 0.5f;
        f->gradient[i] = 3.0f * (random_unit_float(random_next(&random)) - 0.5f);
        values(f)[i] = random_unit_float(random_next(&random)) - 0.5f;
    }
}

TEST_PLAIN(three_updates_late_it_is_near_to_double_precision)
{
    for (int adapts = 0; adapts <= 1; adapts++) {
        struct fixture f;
        open_with(&f, "sgd", 0.125f, adapts);
        fill(&f);
        float before[COUNT];
        memcpy(before, values(&f), sizeof before);
        add(&f, 3, 3);
        for (int i = 0; i < COUNT; i++) {
            double g = (double)f.gradient[i] / 3, strength = 0.125;
            if (adapts) {
                strength /= sqrt(0.05 * g * g + 1e-7);
                strength = strength > 1 ? 1 : strength;
            }
            double change = (double)before[i] - (double)f.base[i];
            double expected = (double)before[i] - 0.25 * (g + strength * g * g * change);
            ck_assert_double_eq_tol((double)values(&f)[i], expected, 1e-6);
        }
        close_fixture(&f);
    }
}

/* One worker alone, and whoever was not overtaken. */
TEST_PLAIN(who_was_not_overtaken_has_the_bits_of_a_plain_update)
{
    static const char *const optimizers[] = {"sgd", "momentum", "rmsprop", "adam"};
    for (size_t i = 0; i < 3 * sizeof optimizers / sizeof *optimizers; i++) {
        struct fixture plain, f;
        open_with(&plain, optimizers[i / 3], 0, false);
        open_with(&f, optimizers[i / 3], i % 3 == 0 ? 0 : 2.0f, i % 3 == 2);
        fill(&plain);
        fill(&f);
        for (int step = 0; step < 3; step++) {
            const struct chunk_update update = {.gradient = plain.gradient, .examples = 3};
            ck_assert_int_eq(chunk_apply(&plain.chunk, &update), STATUS_OK);
            add(&f, 3, 0);
        }
        ck_assert(memcmp(values(&plain), values(&f), sizeof f.base) == 0);
        for (uint32_t slot = 0; slot < plain.plan->slots.count; slot++)
            ck_assert(memcmp(plain.chunk.slots[slot], f.chunk.slots[slot], sizeof f.base) == 0);
        close_fixture(&plain);
        close_fixture(&f);
    }
}

TEST_PLAIN(the_mean_square_is_a_slot_that_counts_every_gradient)
{
    struct fixture f;
    open_with(&f, "adam", 1, true);
    ck_assert_uint_eq(f.plan->slots.count, 3);
    ck_assert_str_eq(f.plan->slots.names[2], "compensation");
    be_overtaken(&f, 0);
    add(&f, 4, 0);
    add(&f, 4, 1);
    const float *squares = chunk_array(&f.chunk, 3);
    for (int i = 0; i < COUNT; i++) {
        float g = 2.0f * (float)(i - 3), once = 0.05f * (g * g);
        ck_assert(squares[i] == 0.95f * once + 0.05f * (g * g));
    }
    close_fixture(&f);
}

TEST_PLAIN(a_batch_that_is_left_out_is_a_version_and_nothing_else)
{
    struct fixture f;
    open_with(&f, "sgd", 1, true);
    fill(&f);
    memcpy(f.base, values(&f), sizeof f.base);
    ck_assert_int_eq(group_add(&f.chunk, &(struct chunk_gradient){.staleness = 4}), STATUS_OK);
    ck_assert_uint_eq(f.chunk.version, 1);
    ck_assert(memcmp(values(&f), f.base, sizeof f.base) == 0);
    ck_assert(chunk_array(&f.chunk, 1)[0] == 0);
    close_fixture(&f);
}

int main(void)
{
    return suite_run("group", NULL);
}
