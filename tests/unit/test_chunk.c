#include "ps/chunk.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/post.h"
#include "tests/lib/suite.h"

struct fixture {
    struct job job;
    struct plan *plan;
    struct chunk chunk;
    float gradient[16];
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

static void apply(struct fixture *f, bool keep_previous)
{
    ck_assert(chunk_apply(&f->chunk, f->gradient, 1, keep_previous) == STATUS_OK);
}

static float first(const struct frame *frame)
{
    return ((const float *)frame->data)[0];
}

START_TEST(an_update_that_nobody_watches_is_made_in_place)
{
    struct fixture f;
    open_fixture(&f);
    struct frame *values = f.chunk.values;
    for (int i = 1; i <= 3; i++) {
        apply(&f, false);
        ck_assert_ptr_eq(f.chunk.values, values);
        ck_assert_uint_eq(f.chunk.version, i);
        ck_assert(first(f.chunk.values) == (float)-i);
        ck_assert_ptr_null(f.chunk.spare);
    }
    close_fixture(&f);
}
END_TEST

START_TEST(values_that_somebody_holds_are_left_alone)
{
    struct fixture f;
    open_fixture(&f);
    struct frame *held = frame_retain(f.chunk.values);
    apply(&f, false);
    ck_assert_ptr_ne(f.chunk.values, held);
    ck_assert(first(held) == 0.0f);
    ck_assert(first(f.chunk.values) == -1.0f);
    struct frame *later = frame_retain(f.chunk.values);
    apply(&f, false);
    apply(&f, false);
    ck_assert(first(held) == 0.0f);
    ck_assert(first(later) == -1.0f);
    ck_assert(first(f.chunk.values) == -3.0f);
    frame_release(held);
    frame_release(later);
    close_fixture(&f);
}
END_TEST

START_TEST(a_slice_of_the_values_keeps_them_from_being_written)
{
    struct fixture f;
    open_fixture(&f);
    struct frame *slice = frame_slice(f.chunk.values, 0, 64);
    apply(&f, false);
    ck_assert(first(slice) == 0.0f);
    frame_release(slice);
    close_fixture(&f);
}
END_TEST

START_TEST(the_previous_version_is_kept_until_dropped)
{
    struct fixture f;
    open_fixture(&f);
    ck_assert_ptr_null(f.chunk.previous);
    apply(&f, true);
    ck_assert(first(f.chunk.previous) == 0.0f);
    ck_assert(first(f.chunk.values) == -1.0f);
    apply(&f, true);
    ck_assert(first(f.chunk.previous) == -1.0f);
    ck_assert(first(f.chunk.values) == -2.0f);
    chunk_drop_previous(&f.chunk);
    ck_assert_ptr_null(f.chunk.previous);
    chunk_drop_previous(&f.chunk);
    ck_assert(first(f.chunk.values) == -2.0f);
    close_fixture(&f);
}
END_TEST

START_TEST(sync_steps_take_turns_with_two_buffers)
{
    struct fixture f;
    open_fixture(&f);
    apply(&f, true);
    struct frame *one = f.chunk.values, *other = f.chunk.previous;
    for (int i = 0; i < 10; i++) {
        chunk_drop_previous(&f.chunk);
        apply(&f, true);
        ck_assert_ptr_eq(f.chunk.values, i % 2 == 0 ? other : one);
        ck_assert_ptr_eq(f.chunk.previous, i % 2 == 0 ? one : other);
    }
    close_fixture(&f);
}
END_TEST

START_TEST(a_spare_that_is_still_being_sent_is_not_written)
{
    struct fixture f;
    open_fixture(&f);
    struct frame *sent[8];
    for (int i = 0; i < 8; i++) { /* A slow reader: every version is still in flight. */
        sent[i] = frame_retain(f.chunk.values);
        chunk_drop_previous(&f.chunk);
        apply(&f, true);
    }
    for (int i = 0; i < 8; i++) {
        ck_assert(first(sent[i]) == (float)-i);
        frame_release(sent[i]);
    }
    close_fixture(&f);
}
END_TEST

START_TEST(in_place_and_aside_give_the_same_bits)
{
    struct fixture a, b;
    open_fixture(&a);
    open_fixture(&b);
    for (int step = 0; step < 5; step++) {
        for (int i = 0; i < 16; i++)
            a.gradient[i] = b.gradient[i] = 0.1f * (float)(i + step) - 0.7f;
        ck_assert(chunk_apply(&a.chunk, a.gradient, 3, false) == STATUS_OK);
        ck_assert(chunk_apply(&b.chunk, b.gradient, 3, true) == STATUS_OK);
    }
    ck_assert(memcmp(a.chunk.values->data, b.chunk.values->data, 64) == 0);
    close_fixture(&a);
    close_fixture(&b);
}
END_TEST

START_TEST(the_schedule_follows_the_chunk_s_own_version)
{
    struct fixture f;
    open_fixture(&f);
    f.plan->job.schedule = (struct schedule){
        .kind = SCHEDULE_STEP, .learning_rate = 1, .decay_steps = 2, .decay_factor = 0.5};
    const float expected[] = {-1, -2, -2.5f, -3, -3.25f};
    for (int i = 0; i < 5; i++) {
        apply(&f, false);
        ck_assert(first(f.chunk.values) == expected[i]);
    }
    close_fixture(&f);
}
END_TEST

START_TEST(a_chunk_starts_with_its_part_of_each_variable_and_zeros_between)
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
END_TEST

static void add(TCase *t)
{
    tcase_add_test(t, an_update_that_nobody_watches_is_made_in_place);
    tcase_add_test(t, values_that_somebody_holds_are_left_alone);
    tcase_add_test(t, a_slice_of_the_values_keeps_them_from_being_written);
    tcase_add_test(t, the_previous_version_is_kept_until_dropped);
    tcase_add_test(t, sync_steps_take_turns_with_two_buffers);
    tcase_add_test(t, a_spare_that_is_still_being_sent_is_not_written);
    tcase_add_test(t, in_place_and_aside_give_the_same_bits);
    tcase_add_test(t, the_schedule_follows_the_chunk_s_own_version);
    tcase_add_test(t, a_chunk_starts_with_its_part_of_each_variable_and_zeros_between);
}

int main(void)
{
    return suite_run("chunk", add);
}
