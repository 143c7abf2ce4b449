/* test_group.c - one gradient of a chunk, made from values that others have moved since: exact where
 * the numbers are, near to double precision elsewhere, and untouched where nobody was faster. */
/* promises: accumulate loss-scale staleness-rules */

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
            const struct chunk_gradient update = {.sum = plain.gradient, .examples = 3};
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

/* --- several in one update ----------------------------------------------------------------- */

/* Epochs of ten batches, and 17 in all. */
static void open_groups(struct fixture *f, const char *optimizer, uint32_t accumulate)
{
    struct error error;
    memset(f, 0, sizeof *f);
    f->job = small_job(MODE_ASYNC, 4, 1);
    f->job.optimizer = optimizer_find(optimizer)->defaults;
    f->job.schedule.learning_rate = 0.25;
    f->job.accumulate = accumulate;
    f->job.examples = 10 * f->job.batch;
    f->job.steps = 17;
    ck_assert_msg(plan_create(&f->plan, &f->job, 0, 1, &error) == STATUS_OK, "%s", error.text);
    ck_assert(chunk_init(&f->chunk, f->plan, 1, NULL) == STATUS_OK);
    chunk_initialize(&f->chunk);
}

static void stands(const struct fixture *f, uint64_t batches, uint64_t version)
{
    chunk_check(&f->chunk);
    ck_assert_uint_eq(f->chunk.batches, batches);
    ck_assert_uint_eq(f->chunk.version, version);
}

static void leave_out(struct fixture *f)
{
    ck_assert_int_eq(group_add(&f->chunk, &(struct chunk_gradient){.staleness = 9}), STATUS_OK);
}

/* A gradient of its own each time. */
static void add_number(struct fixture *f, int number, uint32_t examples, uint64_t staleness)
{
    for (int i = 0; i < COUNT; i++)
        f->gradient[i] = 0.1f * (float)(i + 1) + 1e-7f * (float)(number * number) * (float)i +
                         (number == 1 ? 1e7f : 0);
    add(f, examples, staleness);
}

TEST_PLAIN(three_gradients_are_one_update_by_their_sum_in_order_of_arrival)
{
    struct fixture f, plain;
    open_groups(&f, "adam", 3);
    open_groups(&plain, "adam", 0);
    float sum[COUNT] = {0};
    for (int group = 0; group < 2; group++) {
        for (int number = 0; number < 3; number++) {
            stands(&f, (uint64_t)(3 * group + number), (uint64_t)group);
            ck_assert(group_closes(&f.chunk) == (number == 2));
            add_number(&f, number, 8, 0);
            for (int i = 0; i < COUNT; i++)
                sum[i] = number == 0 ? f.gradient[i] : sum[i] + f.gradient[i];
        }
        memcpy(plain.gradient, sum, sizeof sum);
        add(&plain, 24, 0);
        ck_assert(memcmp(values(&plain), values(&f), sizeof sum) == 0);
        for (uint32_t slot = 0; slot < f.plan->slots.count; slot++) /* So t counts updates. */
            ck_assert(memcmp(plain.chunk.slots[slot], f.chunk.slots[slot], sizeof sum) == 0);
    }
    stands(&f, 6, 2);
    close_fixture(&f);
    close_fixture(&plain);
}

TEST_PLAIN(a_batch_that_is_left_out_fills_its_place_in_the_group)
{
    struct fixture f, plain;
    open_groups(&f, "sgd", 3);
    open_groups(&plain, "sgd", 0);
    leave_out(&f);
    add_number(&f, 2, 4, 0);
    leave_out(&f);
    stands(&f, 3, 1);
    add_number(&plain, 2, 4, 0); /* Divided by the examples that are there. */
    ck_assert(memcmp(values(&plain), values(&f), sizeof f.base) == 0);
    for (int i = 0; i < 3; i++)
        leave_out(&f);
    stands(&f, 6, 2); /* A version by nothing. */
    ck_assert(memcmp(values(&plain), values(&f), sizeof f.base) == 0);
    close_fixture(&f);
    close_fixture(&plain);
}

TEST_PLAIN(what_is_held_is_applied_at_the_end_of_an_epoch_for_a_cut_and_at_the_end_of_the_job)
{
    struct fixture f;
    open_groups(&f, "sgd", 4);
    for (int number = 0; number < 10; number++)
        add_number(&f, number, 8, 0);
    stands(&f, 10, 3); /* 4, 4 and 2. */
    add_number(&f, 0, 8, 0);
    stands(&f, 11, 3);
    ck_assert_int_eq(group_close(&f.chunk), STATUS_OK);
    stands(&f, 11, 4);
    ck_assert_int_eq(group_close(&f.chunk), STATUS_OK);
    stands(&f, 11, 4); /* Nothing is held. */
    for (int number = 0; number < 6; number++)
        add_number(&f, number, 8, 0);
    stands(&f, 17, 6);
    ck_assert_uint_eq(f.chunk.pending.members, 0);
    close_fixture(&f);
}

TEST_PLAIN(the_rate_of_a_group_is_that_of_its_oldest_member_and_of_its_last_batch)
{
    struct fixture f, plain;
    open_groups(&f, "sgd", 2);
    open_groups(&plain, "sgd", 0);
    f.plan->job.staleness_rate = plain.plan->job.staleness_rate = STALENESS_RATE_INVERSE;
    f.plan->job.schedule.warmup_steps = plain.plan->job.schedule.warmup_steps = 10;
    add_number(&f, 0, 8, 4);
    float sum[COUNT];
    memcpy(sum, f.gradient, sizeof sum);
    add_number(&f, 2, 8, 1);
    chunk_stand(&plain.chunk, 1, 1); /* One batch before. */
    for (int i = 0; i < COUNT; i++)
        plain.gradient[i] = sum[i] + f.gradient[i];
    add(&plain, 16, 4);
    ck_assert(memcmp(values(&plain), values(&f), sizeof sum) == 0);
    close_fixture(&f);
    close_fixture(&plain);
}

/* Three gradients of 8, 4 and 8 examples, one of them left out: the others are of two batches. */
TEST_PLAIN(a_group_is_divided_by_the_batches_of_those_that_are_in_it)
{
    struct fixture f, plain;
    open_groups(&f, "sgd", 3);
    open_groups(&plain, "sgd", 0);
    f.plan->job.loss_scale = plain.plan->job.loss_scale = LOSS_SCALE_GLOBAL_BATCH;
    add_number(&f, 0, 4, 0);
    float sum[COUNT];
    memcpy(sum, f.gradient, sizeof sum);
    group_add(&f.chunk, &(struct chunk_gradient){.examples = 8});
    add_number(&f, 1, 8, 0);
    chunk_stand(&plain.chunk, 2, 2);
    for (int i = 0; i < COUNT; i++)
        plain.gradient[i] = (sum[i] + f.gradient[i]) / 2;
    add(&plain, 8, 0); /* Halved by us, and 1 / 8 by it: 1 / 16 in all. */
    ck_assert(memcmp(values(&plain), values(&f), sizeof sum) == 0);
    close_fixture(&f);
    close_fixture(&plain);
}

TEST_PLAIN(a_group_of_one_is_as_without)
{
    struct fixture f, plain;
    open_groups(&f, "sgd", 1);
    open_groups(&plain, "sgd", 0);
    add_number(&f, 0, 8, 0);
    add_number(&plain, 0, 8, 0);
    stands(&f, 1, 1); /* Of one: as without. */
    ck_assert(memcmp(values(&plain), values(&f), sizeof f.base) == 0);
    close_fixture(&f);
    close_fixture(&plain);
}

int main(void)
{
    return suite_run("group", NULL);
}
