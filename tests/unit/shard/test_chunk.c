/* test_chunk.c - a chunk's values are replaced and never written while somebody reads them. */
/* promises: staleness-rules torn */

#include "ps/shard/chunk.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/post.h"
#include "tests/lib/suite.h"

/* Two copies of a shard of 64 elements. */
struct window {
    float values[2][64];
    bool has[2]; /* Which of them there are. */
};

struct fixture {
    struct job job;
    struct plan *plan;
    struct chunk chunk;
    float gradient[16];
    struct window window; /* Where memory is lent. */
};

static void open_fixture(struct fixture *f)
{
    struct error error;
    memset(f, 0, sizeof *f);
    f->job = small_job(MODE_SYNC, 1, 1);
    ck_assert(plan_create(&f->plan, &f->job, 0, 1, &error) == STATUS_OK);
    ck_assert(chunk_init(&f->chunk, f->plan, 1, NULL) == STATUS_OK);
    chunk_initialize(&f->chunk);
    for (int i = 0; i < 16; i++)
        f->gradient[i] = 1;
}

static void close_fixture(struct fixture *f)
{
    chunk_free(&f->chunk);
    plan_destroy(&f->plan);
    job_free(&f->job);
}

/* What tests begin with, and how they end. */
#define TEST(name) SUITE_TEST(name, struct fixture, f, open_fixture(f), close_fixture(f))

static void apply(struct fixture *f, bool keep_previous)
{
    const struct chunk_gradient update = {
        .sum = f->gradient, .examples = 1, .keep_previous = keep_previous};
    ck_assert(chunk_apply(&f->chunk, &update) == STATUS_OK);
}

static float first(const struct frame *frame)
{
    return ((const float *)frame->data)[0];
}

TEST(an_update_that_nobody_watches_is_made_in_place)
{
    struct frame *values = f->chunk.values;
    for (int i = 1; i <= 3; i++) {
        apply(f, false);
        ck_assert_ptr_eq(f->chunk.values, values);
        ck_assert_uint_eq(f->chunk.version, i);
        ck_assert(first(f->chunk.values) == (float)-i);
        ck_assert_ptr_null(f->chunk.spare);
    }
}

TEST(values_that_somebody_holds_are_left_alone)
{
    struct frame *held = frame_retain(f->chunk.values);
    apply(f, false);
    ck_assert_ptr_ne(f->chunk.values, held);
    ck_assert(first(held) == 0.0f);
    ck_assert(first(f->chunk.values) == -1.0f);
    struct frame *later = frame_retain(f->chunk.values);
    apply(f, false);
    apply(f, false);
    ck_assert(first(held) == 0.0f);
    ck_assert(first(later) == -1.0f);
    ck_assert(first(f->chunk.values) == -3.0f);
    frame_release(held);
    frame_release(later);
}

TEST(a_slice_of_the_values_keeps_them_from_being_written)
{
    struct frame *slice = frame_slice(f->chunk.values, 0, 64);
    apply(f, false);
    ck_assert(first(slice) == 0.0f);
    frame_release(slice);
}

TEST(the_previous_version_is_kept_until_dropped)
{
    ck_assert_ptr_null(f->chunk.previous);
    apply(f, true);
    ck_assert(first(f->chunk.previous) == 0.0f);
    ck_assert(first(f->chunk.values) == -1.0f);
    apply(f, true);
    ck_assert(first(f->chunk.previous) == -1.0f);
    ck_assert(first(f->chunk.values) == -2.0f);
    chunk_drop_previous(&f->chunk);
    ck_assert_ptr_null(f->chunk.previous);
    chunk_drop_previous(&f->chunk);
    ck_assert(first(f->chunk.values) == -2.0f);
}

TEST(sync_steps_take_turns_with_two_buffers)
{
    apply(f, true);
    struct frame *one = f->chunk.values, *other = f->chunk.previous;
    for (int i = 0; i < 10; i++) {
        chunk_drop_previous(&f->chunk);
        apply(f, true);
        ck_assert_ptr_eq(f->chunk.values, i % 2 == 0 ? other : one);
        ck_assert_ptr_eq(f->chunk.previous, i % 2 == 0 ? one : other);
    }
}

TEST(a_spare_that_is_still_being_sent_is_not_written)
{
    struct frame *sent[8];
    for (int i = 0; i < 8; i++) { /* A slow reader: every version is still in flight. */
        sent[i] = frame_retain(f->chunk.values);
        chunk_drop_previous(&f->chunk);
        apply(f, true);
    }
    for (int i = 0; i < 8; i++) {
        ck_assert(first(sent[i]) == (float)-i);
        frame_release(sent[i]);
    }
}

TEST_PLAIN(in_place_and_aside_give_the_same_bits)
{
    struct fixture a, b;
    open_fixture(&a);
    open_fixture(&b);
    for (int step = 0; step < 5; step++) {
        for (int i = 0; i < 16; i++)
            a.gradient[i] = b.gradient[i] = 0.1f * (float)(i + step) - 0.7f;
        const struct chunk_gradient aside = {.sum = a.gradient, .examples = 3};
        const struct chunk_gradient kept = {
            .sum = b.gradient, .examples = 3, .keep_previous = true};
        ck_assert(chunk_apply(&a.chunk, &aside) == STATUS_OK);
        ck_assert(chunk_apply(&b.chunk, &kept) == STATUS_OK);
    }
    ck_assert(memcmp(a.chunk.values->data, b.chunk.values->data, 64) == 0);
    close_fixture(&a);
    close_fixture(&b);
}

TEST(the_schedule_follows_the_chunk_s_own_version)
{
    f->plan->job.schedule = (struct schedule){
        .kind = SCHEDULE_STEP, .learning_rate = 1, .decay_steps = 2, .decay_factor = 0.5};
    const float expected[] = {-1, -2, -2.5f, -3, -3.25f};
    for (int i = 0; i < 5; i++) {
        apply(f, false);
        ck_assert(first(f->chunk.values) == expected[i]);
    }
}

/* A chunk of an async job after one update of this staleness, from the gradient 1. */
static float updated(const char *optimizer, enum staleness_rate rule, uint32_t workers,
                     uint64_t staleness, double rate)
{
    struct fixture f;
    open_fixture(&f);
    f.plan->job.optimizer = optimizer_find(optimizer)->defaults;
    f.plan->slots = job_slots(&f.plan->job);
    f.plan->job.staleness_rate = rule;
    f.plan->job.worker_count = workers;
    f.plan->job.schedule.learning_rate = rate;
    chunk_free(&f.chunk);
    ck_assert(chunk_init(&f.chunk, f.plan, 1, NULL) == STATUS_OK);
    chunk_initialize(&f.chunk);
    const struct chunk_gradient update = {.sum = f.gradient, .examples = 1, .staleness = staleness};
    ck_assert(chunk_apply(&f.chunk, &update) == STATUS_OK);
    float value = first(f.chunk.values);
    close_fixture(&f);
    return value;
}

/* The bits of the same update at another rate: a factor of the gradient would give others, and
 * hardly any less with a rule that divides by a mean of gradients. */
TEST_PLAIN(staleness_divides_the_rate_and_not_the_gradient)
{
    static const char *const optimizers[] = {"sgd", "momentum", "adagrad", "rmsprop", "adam"};
    for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++) {
        const char *name = optimizers[i];
        float whole = updated(name, STALENESS_RATE_NONE, 8, 4, 0.5);
        float quarter = updated(name, STALENESS_RATE_NONE, 8, 4, 0.125);
        ck_assert_msg(quarter > 0.3f * whole && quarter < 0.2f * whole, "%s", name);
        ck_assert(updated(name, STALENESS_RATE_INVERSE, 8, 4, 0.5) == quarter);
        ck_assert(updated(name, STALENESS_RATE_INVERSE, 8, 1, 0.5) == whole);
        ck_assert(updated(name, STALENESS_RATE_INVERSE, 8, 0, 0.5) == whole);
        ck_assert(updated(name, STALENESS_RATE_CONSTANT, 5, 0, 0.5) == quarter);
        ck_assert(updated(name, STALENESS_RATE_CONSTANT, 5, 99, 0.5) == quarter);
        ck_assert(updated(name, STALENESS_RATE_CONSTANT, 2, 99, 0.5) == whole);
        ck_assert(updated(name, STALENESS_RATE_CONSTANT, 1, 99, 0.5) == whole);
    }
}

TEST_PLAIN(a_rate_is_divided_in_double_and_rounded_once)
{
    for (uint64_t staleness = 1; staleness < 100; staleness++)
        ck_assert(staleness_rate_of(STALENESS_RATE_INVERSE, 0.1f, staleness, 1) ==
                  (float)((double)0.1f / (double)staleness));
    ck_assert(staleness_rate_of(STALENESS_RATE_CONSTANT, 0.1f, 0, 4) == (float)((double)0.1f / 3));
}

TEST(staleness_is_counted_in_versions_made)
{
    apply(f, false);
    chunk_skip(&f->chunk);
    ck_assert_uint_eq(chunk_staleness(&f->chunk, 0), 2);
    ck_assert_uint_eq(chunk_staleness(&f->chunk, 2), 0);
    ck_assert_uint_eq(chunk_staleness(&f->chunk, 7), 0); /* Lost with a server. */
}

TEST_PLAIN(a_chunk_starts_with_its_part_of_each_variable_and_zeros_between)
{
    struct job job = small_job(MODE_SYNC, 1, 1);
    job.variables[0].initializer = INITIALIZER_GLOROT_UNIFORM;
    job.variables[0].shape[1] = 13; /* 39 elements: the space has a gap of 9 behind them. */
    job.optimizer = optimizer_find("adagrad")->defaults;
    strcpy(job.optimizer.name, "adagrad");
    struct plan *plan;
    struct error error;
    float whole[39];
    variable_initialize(&job.variables[0], 0, job.seed, 0, 39, whole);
    ck_assert(plan_create(&plan, &job, 0, 1, &error) == STATUS_OK);
    ck_assert_uint_eq(plan->partition.elements, 64);
    for (uint32_t i = 0; i < 4; i++) {
        struct chunk chunk;
        ck_assert(chunk_init(&chunk, plan, i, NULL) == STATUS_OK);
        memset(chunk.values->data, 0xff, chunk.values->bytes);
        chunk_initialize(&chunk);
        const float *values = chunk_array(&chunk, 0);
        for (uint32_t e = 0; e < 16; e++) {
            ck_assert(values[e] == (16 * i + e < 39 ? whole[16 * i + e] : 0.0f));
            ck_assert(chunk_array(&chunk, 1)[e] == job.optimizer.initial_accumulator);
        }
        chunk_free(&chunk);
    }
    plan_destroy(&plan);
    job_free(&job);
}

/* --- memory that workers on this host see ---------------------------------------------------- */

static struct frame *lend(void *context, uint64_t place, uint64_t bytes)
{
    struct window *window = context;
    uint64_t element = place / sizeof(float);
    ck_assert_uint_eq(bytes, 16 * sizeof(float));
    ck_assert_uint_lt(element, 128);
    if (!window->has[element / 64])
        return NULL;
    return frame_wrap(&window->values[0][0] + element, bytes, false, NULL, NULL);
}

static void open_lent(struct fixture *f)
{
    struct chunk_memory memory = {lend, &f->window};
    open_fixture(f);
    chunk_free(&f->chunk);
    f->window = (struct window){.has = {true, true}};
    ck_assert(chunk_init(&f->chunk, f->plan, 1, &memory) == STATUS_OK);
    chunk_initialize(&f->chunk);
}

/* A step: somebody shows that every chunk has the values, then the next ones are made. */
static void step(struct fixture *f)
{
    chunk_drop_previous(&f->chunk);
    apply(f, true);
}

static bool lies_in(const struct fixture *f, int copy)
{
    return f->chunk.values->data == &f->window.values[copy][16];
}

static bool is_private(const struct fixture *f)
{
    return !lies_in(f, 0) && !lies_in(f, 1);
}

#define TEST_LENT(name, times)                                                                     \
    SUITE_TEST_TIMES(name, times, struct fixture, f, open_lent(f), close_fixture(f))

TEST_LENT(versions_take_turns_in_the_memory_that_is_lent, 1)
{
    ck_assert(lies_in(f, 0));
    for (int version = 1; version <= 9; version++) {
        step(f);
        ck_assert(lies_in(f, version % 2));
        ck_assert_ptr_eq(f->chunk.previous->data, f->window.values[(version + 1) % 2] + 16);
        /* Whoever reads the version before finds it as it was. */
        ck_assert(f->window.values[version % 2][16] == (float)-version);
        ck_assert(f->window.values[(version + 1) % 2][31] == (float)(1 - version));
        ck_assert_ptr_null(f->chunk.spare);
    }
    for (int copy = 0; copy < 2; copy++) /* Other chunks' memory is left alone. */
        ck_assert(f->window.values[copy][15] == 0.0f && f->window.values[copy][32] == 0.0f);
}

/* Not to hold a place that later versions need. */
TEST_LENT(what_is_kept_of_lent_memory_is_a_copy, 1)
{
    step(f);
    struct frame *kept = chunk_keep(&f->chunk);
    ck_assert_ptr_nonnull(kept);
    ck_assert_ptr_ne(kept, f->chunk.values);
    ck_assert_mem_eq(kept->data, f->chunk.values->data, kept->bytes);
    frame_release(kept);
}

TEST_LENT(lent_memory_that_somebody_holds_is_left_out_until_it_is_given_back, 1)
{
    step(f);
    struct frame *held = frame_retain(f->chunk.values); /* Version 1, for a checkpoint, say. */
    step(f);
    ck_assert(lies_in(f, 0));
    for (int version = 3; version <= 7; version++) {
        step(f);
        ck_assert(version % 2 == 0 ? lies_in(f, 0) : is_private(f));
        ck_assert(first(f->chunk.values) == (float)-version);
        ck_assert(first(held) == -1.0f);
    }
    frame_release(held);
    step(f);
    ck_assert(lies_in(f, 0));
    step(f);
    ck_assert(lies_in(f, 1));
    ck_assert(first(f->chunk.values) == -9.0f);
}

/* A slow connection holds one version after another. */
TEST_LENT(every_version_may_be_held_at_the_same_time, 1)
{
    struct frame *held[6];
    for (int i = 0; i < 6; i++) {
        held[i] = frame_retain(f->chunk.values);
        ck_assert(i < 2 ? lies_in(f, i) : is_private(f));
        step(f);
    }
    for (int i = 0; i < 6; i++) {
        ck_assert(first(held[i]) == (float)-i);
        frame_release(held[i]);
    }
    step(f);
    step(f);
    ck_assert(lies_in(f, 0));
    ck_assert(first(f->chunk.values) == -8.0f);
}

TEST_LENT(a_previous_version_that_is_still_wanted_keeps_its_memory, 1)
{
    apply(f, true);
    apply(f, true); /* Without the proof: version 0 has to stay where it is. */
    ck_assert(is_private(f));
    ck_assert(f->window.values[0][16] == 0.0f);
    ck_assert(f->window.values[1][16] == -1.0f);
    step(f);
    ck_assert(lies_in(f, 1));
    step(f);
    ck_assert(lies_in(f, 0));
}

/* Values come from a checkpoint into the first copy, whatever their version; the next one must not
 * be made over them, nor over what may be read of it. */
TEST_LENT(a_chunk_restored_at_an_odd_version_finds_its_turns_again, 2)
{
    const uint64_t restored = 6 + (uint64_t)_i;
    for (int i = 0; i < 16; i++)
        chunk_array(&f->chunk, 0)[i] = 100;
    f->chunk.version = restored;
    for (uint64_t version = restored + 1; version <= 12; version++) {
        step(f);
        ck_assert(first(f->chunk.values) == 100.0f - (float)(version - restored));
        ck_assert(first(f->chunk.previous) == 101.0f - (float)(version - restored));
        if (restored == 7 && version == 8)
            ck_assert(is_private(f));
        else
            ck_assert(lies_in(f, version % 2));
    }
}

TEST_LENT(without_both_copies_there_is_none, 3)
{
    const int i = _i;
    struct chunk_memory memory = {lend, &f->window};
    chunk_free(&f->chunk);
    f->window.has[0] = i == 1;
    f->window.has[1] = i == 2;
    ck_assert(chunk_init(&f->chunk, f->plan, 1, &memory) == STATUS_OK);
    chunk_initialize(&f->chunk);
    step(f);
    step(f);
    ck_assert(is_private(f));
    ck_assert_ptr_null(f->chunk.lent[0]);
    ck_assert_ptr_null(f->chunk.lent[1]);
    ck_assert(first(f->chunk.values) == -2.0f);
}

TEST_PLAIN(lent_memory_does_not_change_the_bits)
{
    struct fixture a, b;
    open_fixture(&a);
    open_lent(&b);
    struct frame *held = NULL;
    for (int i = 0; i < 12; i++) {
        for (int e = 0; e < 16; e++)
            a.gradient[e] = b.gradient[e] = 0.1f * (float)(e + i) - 0.7f;
        step(&a);
        step(&b);
        if (i == 3)
            held = frame_retain(b.chunk.values);
        ck_assert(memcmp(a.chunk.values->data, b.chunk.values->data, 64) == 0);
        ck_assert(memcmp(a.chunk.previous->data, b.chunk.previous->data, 64) == 0);
    }
    frame_release(held);
    close_fixture(&a);
    close_fixture(&b);
}

/* --- loading again --------------------------------------------------------------------------- */

TEST_PLAIN(values_to_be_filled_anew_are_nobody_else_s)
{
    struct fixture f;
    for (int lent = 0; lent < 2; lent++) {
        if (lent)
            open_lent(&f);
        else
            open_fixture(&f);
        struct frame *held[2];
        for (int i = 0; i < 2; i++) {
            apply(&f, true);
            held[i] = frame_retain(i == 0 ? f.chunk.previous : f.chunk.values);
        }
        float before[2] = {first(held[0]), first(held[1])};
        struct window was = f.window;
        ck_assert(chunk_renew(&f.chunk) == STATUS_OK);
        ck_assert_ptr_null(f.chunk.previous);
        ck_assert(frame_is_writable(f.chunk.values));
        memset(f.chunk.values->data, 0xff, f.chunk.values->bytes);
        chunk_initialize(&f.chunk);
        ck_assert_uint_eq(f.chunk.version, 0);
        for (int i = 0; i < 2; i++)
            ck_assert(first(held[i]) == before[i]);
        if (lent) /* Readers of lent memory hold nothing. */
            ck_assert(memcmp(&was, &f.window, sizeof was) == 0);
        struct frame *fresh = f.chunk.values; /* Once they are its own they are good enough. */
        ck_assert(chunk_renew(&f.chunk) == STATUS_OK);
        ck_assert_ptr_eq(f.chunk.values, fresh);
        for (int i = 0; i < 2; i++)
            frame_release(held[i]);
        step(&f);
        ck_assert(!lent || lies_in(&f, 1));
        ck_assert(first(f.chunk.values) == -1.0f);
        step(&f);
        ck_assert(!lent || lies_in(&f, 0));
        close_fixture(&f);
    }
}

TEST(a_skipped_update_is_one_version_and_nothing_else)
{
    apply(f, false);
    chunk_skip(&f->chunk);
    ck_assert_uint_eq(f->chunk.version, 2);
    ck_assert(first(f->chunk.values) == -1.0f);
}

int main(void)
{
    return suite_run("chunk", NULL);
}
