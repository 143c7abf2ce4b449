/* test_replay.c - what replay makes of a record, against the plainest way to make the same updates:
 * every version of every chunk kept for ever, each chunk gone on with as far as it can be. */
/* promises: replay replay-other */

#include "deploy/replay/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/job/checkpoint_part.h"
#include "common/job/partition.h"
#include "common/job/update.h"
#include "tests/lib/records/sample_record.h"
#include "tests/lib/sample_job.h"
#include "tests/lib/suite.h"

#define ELEMENTS_MAX 4096
#define CHUNKS_MAX   16
#define BATCHES_MAX  512

struct fixture {
    struct job job;
    uint64_t offsets[8], elements;
    struct partition partition;
    uint64_t sizes[CHUNKS_MAX];
    float passed[ELEMENTS_MAX]; /* At the batches it was told of last. */
    uint64_t passed_at;
    unsigned gradients;
};

static void open(struct fixture *f, const char *optimizer, uint64_t chunk_bytes)
{
    memset(f, 0, sizeof *f);
    f->job = sample_job();
    f->job.mode = MODE_ASYNC;
    f->job.steps = BATCHES_MAX;
    f->job.examples = 16 * f->job.batch - 1; /* 16 batches an epoch, the last a little smaller. */
    snprintf(f->job.optimizer.name, sizeof f->job.optimizer.name, "%s", optimizer);
    f->elements = variables_layout(f->job.variables, f->job.variable_count, f->offsets);
    ck_assert_uint_le(f->elements, ELEMENTS_MAX);
    ck_assert_int_eq(partition_make(&f->partition, f->job.variables, f->job.variable_count, 2,
                                    chunk_bytes, CHUNKS_EVEN, NULL),
                     STATUS_OK);
    ck_assert_uint_le(f->partition.chunk_count, CHUNKS_MAX);
    for (uint32_t i = 0; i < f->partition.chunk_count; i++)
        f->sizes[i] = f->partition.chunks[i].count;
}

static void close(struct fixture *f)
{
    partition_free(&f->partition);
    job_free(&f->job);
}

#define TEST(name, optimizer, chunk_bytes)                                                         \
    SUITE_TEST(name, struct fixture, f, open(f, optimizer, chunk_bytes), close(f))

/* Every element of it depends on every parameter, so that one wrong bit anywhere shows. */
static void gradient_of(const struct fixture *f, const float *parameters, uint64_t batch,
                        float *gradient)
{
    float sum = 0;
    for (uint64_t i = 0; i < f->elements; i++)
        sum += parameters[i] * (float)(1 + i % 7);
    for (uint64_t i = 0; i < f->elements; i++)
        gradient[i] = parameters[i] + 0.001f * sum + (float)((batch * 31 + i) % 11) - 5.0f;
}

/* Another one for another gradient, so that a computation of a batch shows that does not count. */
static int64_t loss_of(const float *gradient)
{
    uint32_t bits;
    memcpy(&bits, gradient, sizeof bits);
    return bits;
}

static enum status gradient(void *context, const float *parameters, const struct step_shape *shape,
                            float *gradient, struct tally *score, struct error *error)
{
    struct fixture *f = context;
    uint64_t batch = shape->step;
    (void)error;
    f->gradients++;
    gradient_of(f, parameters, batch, gradient);
    *score = (struct tally){.loss = loss_of(gradient), .correct = 1, .examples = 2, .updates = 1};
    return STATUS_OK;
}

static enum status passed(void *context, uint64_t batches, const float *parameters,
                          struct error *error)
{
    struct fixture *f = context;
    (void)error;
    memcpy(f->passed, parameters, f->elements * sizeof(float));
    f->passed_at = batches;
    return STATUS_OK;
}

/* --- the plain way ------------------------------------------------------------------------- */

struct naive {
    struct fixture *f;
    float *arrays[CHECKPOINT_ARRAYS_MAX]; /* [elements] now. */
    float *versions; /* [BATCHES_MAX + 1][elements] each chunk's part as of its version. */
    uint64_t version[CHUNKS_MAX];
    float *gradients; /* [BATCHES_MAX * 2][elements] by computation of the stretch. */
    bool made[2 * BATCHES_MAX];
    int64_t losses[BATCHES_MAX]; /* By batch, as chunk 0 had it: 0 without an update. */
};

static float *naive_version(struct naive *n, uint64_t version)
{
    return n->versions + version * n->f->elements;
}

static void naive_note(struct naive *n, uint32_t chunk)
{
    const struct chunk_range *range = &n->f->partition.chunks[chunk];
    memcpy(naive_version(n, n->version[chunk]) + range->first, n->arrays[0] + range->first,
           range->count * sizeof(float));
}

static void naive_open(struct naive *n, struct fixture *f)
{
    const struct optimizer *optimizer = optimizer_find(f->job.optimizer.name);
    memset(n, 0, sizeof *n);
    n->f = f;
    n->versions = calloc((BATCHES_MAX + 1) * f->elements, sizeof(float));
    n->gradients = calloc(2 * BATCHES_MAX * f->elements, sizeof(float));
    for (uint32_t i = 0; i <= optimizer->slot_count; i++) {
        n->arrays[i] = aligned_alloc(64, f->elements * sizeof(float));
        for (uint64_t k = 0; i > 0 && k < f->elements; k++)
            n->arrays[i][k] = optimizer->slot_initial(&f->job.optimizer, i - 1);
    }
    memset(n->arrays[0], 0, f->elements * sizeof(float));
    for (uint32_t i = 0; i < f->job.variable_count; i++)
        variable_initialize(&f->job.variables[i], i, f->job.seed, 0,
                            variable_elements(&f->job.variables[i]), n->arrays[0] + f->offsets[i]);
    for (uint32_t i = 0; i < f->partition.chunk_count; i++)
        naive_note(n, i);
}

static void naive_close(struct naive *n)
{
    for (uint32_t i = 0; i < CHECKPOINT_ARRAYS_MAX; i++)
        free(n->arrays[i]);
    free(n->versions);
    free(n->gradients);
}

static bool naive_make(struct naive *n, const struct run_record_computation *c, uint32_t index)
{
    float parameters[ELEMENTS_MAX];
    for (uint32_t i = 0; i < n->f->partition.chunk_count; i++) {
        const struct chunk_range *range = &n->f->partition.chunks[i];
        if (n->version[i] < c->bases[i])
            return false;
        memcpy(parameters + range->first, naive_version(n, c->bases[i]) + range->first,
               range->count * sizeof(float));
    }
    gradient_of(n->f, parameters, c->batch, n->gradients + index * n->f->elements);
    return n->made[index] = true;
}

static void naive_apply(struct naive *n, uint32_t chunk, const struct run_record_computation *c,
                        uint32_t index)
{
    const struct chunk_range *range = &n->f->partition.chunks[chunk];
    const struct job *job = &n->f->job;
    uint64_t version = n->version[chunk];
    struct optimizer_update update = {
        .t = version + 1,
        .learning_rate =
            staleness_rate_of(job->staleness_rate, schedule_learning_rate(&job->schedule, version),
                              version - c->bases[chunk], job->worker_count),
        .scale = 1.0f / (float)job_batch(job, c->batch).examples,
        .count = range->count,
        .gradient = n->gradients + index * n->f->elements + range->first,
        .values_in = n->arrays[0] + range->first,
        .values_out = n->arrays[0] + range->first,
    };
    for (uint32_t i = 0; i < OPTIMIZER_SLOTS_MAX; i++)
        update.slots[i] = n->arrays[1 + i] == NULL ? NULL : n->arrays[1 + i] + range->first;
    update_apply(job, n->f->offsets, range->first, &update);
}

/* Chunk by chunk, each as far as it can. */
static void naive_interval(struct naive *n, const struct run_record_interval *s)
{
    uint64_t batches = s->to.batches - s->from.batches, done = 0, before = 1;
    uint64_t places[CHUNKS_MAX] = {0};
    memset(n->made, 0, sizeof n->made);
    while (done != before) {
        before = done;
        for (uint32_t chunk = 0; chunk < n->f->partition.chunk_count; chunk++)
            for (; places[chunk] < batches; places[chunk]++, done++) {
                const struct run_record_place *place = &s->places[chunk * batches + places[chunk]];
                const struct run_record_computation *c = &s->computations[place->computation];
                if (!place->skipped && !n->made[place->computation] &&
                    !naive_make(n, c, place->computation))
                    break;
                if (!place->skipped)
                    naive_apply(n, chunk, c, place->computation);
                if (!place->skipped && chunk == 0)
                    n->losses[c->batch] =
                        loss_of(n->gradients + place->computation * n->f->elements);
                n->version[chunk]++;
                naive_note(n, chunk);
            }
    }
    ck_assert_uint_eq(done, batches * n->f->partition.chunk_count);
}

static void naive_replay(struct naive *n, const struct sample_record *r)
{
    struct run_record_reader reader;
    ck_assert_int_eq(run_record_reader_open(&reader, "x", r->writer.bytes, r->writer.count, NULL),
                     STATUS_OK);
    while (run_record_reader_next(&reader, NULL) == STATUS_OK)
        naive_interval(n, &reader.interval);
    run_record_reader_close(&reader);
}

/* --- ours ---------------------------------------------------------------------------------- */

static struct replay *begin(struct fixture *f, uint64_t until)
{
    struct replay *replay;
    const struct replay_calls calls = {f, gradient, passed};
    ck_assert_int_eq(replay_create(&replay, &f->job, until, &calls, NULL), STATUS_OK);
    return replay;
}

static enum status go_through(struct replay *replay, const struct sample_record *r,
                              struct error *error)
{
    *error = (struct error){0};
    enum status status =
        replay_begin(replay, "x/record/0001.log", r->writer.bytes, r->writer.count, error);
    while (status == STATUS_OK)
        status = replay_next(replay, error);
    return status;
}

static void begin_record(struct fixture *f, struct sample_record *r, uint64_t seed,
                         uint32_t workers)
{
    const struct run_record_segment first = {
        .session = 1, .worker_count = workers, .server_count = 2, .computation = 1};
    sample_record_begin_with(r, seed, workers, &first, f->sizes, f->partition.chunk_count);
    f->job.worker_count = workers;
}

static void expect_the_same(struct fixture *f, uint64_t seed, uint32_t workers)
{
    struct sample_record r;
    struct naive naive;
    struct error error;
    begin_record(f, &r, seed, workers);
    r.loss = seed % 2 == 0 ? 0.03 : 0;
    sample_record_train(&r, 60);
    sample_record_train(&r, 1);
    if (seed % 3 == 0)
        sample_record_go_back(&r);
    sample_record_train(&r, 40);
    naive_open(&naive, f);
    naive_replay(&naive, &r);
    struct replay *replay = begin(f, UINT64_MAX);
    enum status status = go_through(replay, &r, &error);
    ck_assert_msg(status == STATUS_NOT_FOUND, "%s", error.text);
    ck_assert_mem_eq(replay_parameters(replay), naive.arrays[0], f->elements * sizeof(float));
    ck_assert_uint_eq(replay_figures(replay)->torn, r.torn);
    ck_assert_uint_eq(replay_figures(replay)->entries, 101 * f->partition.chunk_count);
    replay_destroy(&replay);
    naive_close(&naive);
    sample_record_free(&r);
}

TEST(every_bit_is_as_the_plain_way_has_it, "adam", 128)
{
    for (uint64_t seed = 1; seed <= 12; seed++)
        expect_the_same(f, seed, 1 + (uint32_t)seed % 5);
}

TEST(with_a_rate_by_staleness_too, "momentum", 256)
{
    for (int rule = 0; staleness_rate_numbered((unsigned)rule) != NULL; rule++) {
        f->job.staleness_rate = (enum staleness_rate)rule;
        expect_the_same(f, 2, 4);
    }
}

TEST(little_is_kept_however_long_it_goes_on, "sgd", 128)
{
    struct sample_record r;
    struct error error;
    begin_record(f, &r, 5, 4);
    sample_record_train(&r, BATCHES_MAX);
    struct replay *replay = begin(f, UINT64_MAX);
    replay_count_from(replay, BATCHES_MAX - 10);
    ck_assert_int_eq(go_through(replay, &r, &error), STATUS_NOT_FOUND);
    const struct replay_figures *figures = replay_figures(replay);
    uint64_t latest = UINT64_C(10) * f->partition.chunk_count;
    ck_assert(figures->counted <= latest && figures->counted + figures->skipped >= latest);
    ck_assert_uint_le(figures->counted_max, figures->staleness_max);
    ck_assert_uint_le(figures->versions_max, figures->staleness_max + 1);
    ck_assert_uint_le(figures->gradients_max, 16);
    ck_assert_uint_eq(f->passed_at, BATCHES_MAX);
    replay_destroy(&replay);
    sample_record_free(&r);
}

TEST(until_so_many_batches_every_chunk_has_had_these_and_no_more, "adam", 128)
{
    struct sample_record r;
    struct naive naive;
    struct error error;
    begin_record(f, &r, 4, 3);
    r.loss = 0.03;
    sample_record_train(&r, 80);
    naive_open(&naive, f);
    naive_replay(&naive, &r);
    for (uint64_t until = 1; until <= 80; until += 13) {
        struct replay *replay = begin(f, until);
        ck_assert_int_eq(go_through(replay, &r, &error), STATUS_NOT_FOUND);
        ck_assert(replay_is_over(replay));
        ck_assert_uint_eq(replay_batches(replay), until);
        ck_assert_mem_eq(replay_parameters(replay), naive_version(&naive, until),
                         f->elements * sizeof(float));
        replay_destroy(&replay);
    }
    naive_close(&naive);
    sample_record_free(&r);
}

TEST(the_end_of_an_epoch_is_every_chunk_after_its_batches, "adam", 128)
{
    struct sample_record r;
    struct naive naive;
    struct error error;
    uint64_t epoch = job_steps_per_epoch(&f->job);
    int64_t loss = 0;
    begin_record(f, &r, 6, 4);
    r.loss = 0.03;
    sample_record_train(&r, 3 * epoch + epoch / 2);
    ck_assert_uint_gt(r.torn, 0);
    naive_open(&naive, f);
    naive_replay(&naive, &r);
    struct replay *replay = begin(f, UINT64_MAX);
    ck_assert_int_eq(go_through(replay, &r, &error), STATUS_NOT_FOUND);
    ck_assert_uint_eq(f->passed_at, 3 * epoch);
    ck_assert_mem_eq(f->passed, naive_version(&naive, 3 * epoch), f->elements * sizeof(float));
    ck_assert_uint_eq(replay_epoch(replay, 1)->updates, epoch);
    for (uint64_t number = 0; number < 3; number++, loss = 0) {
        for (uint64_t batch = number * epoch; batch < (number + 1) * epoch; batch++)
            loss += naive.losses[batch];
        ck_assert_int_eq(replay_epoch(replay, number)->loss, loss);
    }
    ck_assert_ptr_null(replay_epoch(replay, 4));
    replay_destroy(&replay);
    naive_close(&naive);
    sample_record_free(&r);
}

/* What the first session ends with the second goes on from, with other chunks. */
TEST(a_session_with_other_chunks_goes_on_from_the_values_of_the_one_before, "adam", 64)
{
    struct sample_record first, second;
    struct error error;
    const uint64_t all[] = {f->elements};
    begin_record(f, &first, 1, 1);
    sample_record_train(&first, 30);
    const struct run_record_segment next = {.session = 2,
                                            .worker_count = 1,
                                            .batches = 30,
                                            .version = 30,
                                            .computation = first.at.computation};
    sample_record_begin_with(&second, 1, 1, &next, all, 1);
    sample_record_train(&second, 20);
    struct replay *replay = begin(f, UINT64_MAX);
    ck_assert_int_eq(go_through(replay, &first, &error), STATUS_NOT_FOUND);
    ck_assert_int_eq(go_through(replay, &second, &error), STATUS_NOT_FOUND);
    ck_assert_uint_eq(replay_batches(replay), 50);
    float parted[ELEMENTS_MAX];
    memcpy(parted, replay_parameters(replay), f->elements * sizeof(float));
    replay_destroy(&replay);

    /* The same entries, said of the chunks of the first session. */
    struct run_record_reader reader;
    struct naive naive;
    naive_open(&naive, f);
    naive_replay(&naive, &first);
    ck_assert_int_eq(
        run_record_reader_open(&reader, "x", second.writer.bytes, second.writer.count, NULL),
        STATUS_OK);
    ck_assert_int_eq(run_record_reader_next(&reader, NULL), STATUS_OK);
    partition_free(&f->partition);
    ck_assert_int_eq(
        partition_make_sized(&f->partition, f->job.variables, f->job.variable_count, all, 1, NULL),
        STATUS_OK);
    naive_interval(&naive, &reader.interval);
    ck_assert_mem_eq(parted, naive.arrays[0], f->elements * sizeof(float));
    run_record_reader_close(&reader);
    naive_close(&naive);
    sample_record_free(&first);
    sample_record_free(&second);
}

TEST(without_chunks_steps_are_made_one_after_the_other, "adam", 128)
{
    struct sample_record r;
    struct error error;
    const struct run_record_segment first = {.session = 1, .worker_count = 2, .computation = 1};
    sample_record_begin_with(&r, 1, 2, &first, NULL, 0);
    sample_record_train(&r, 25);
    struct replay *replay = begin(f, UINT64_MAX);
    ck_assert_int_eq(go_through(replay, &r, &error), STATUS_NOT_FOUND);
    ck_assert_uint_eq(f->gradients, 25);
    /* One worker with one chunk that skips nothing does the same. */
    struct naive naive;
    naive_open(&naive, f);
    for (uint64_t batch = 0; batch < 25; batch++) {
        const uint64_t bases[CHUNKS_MAX] = {batch, batch, batch, batch, batch, batch, batch, batch,
                                            batch, batch, batch, batch, batch, batch, batch, batch};
        const struct run_record_computation c = {.batch = batch, .bases = bases};
        ck_assert(naive_make(&naive, &c, 0));
        for (uint32_t chunk = 0; chunk < f->partition.chunk_count; chunk++) {
            naive_apply(&naive, chunk, &c, 0);
            naive.version[chunk]++;
            naive_note(&naive, chunk);
        }
    }
    ck_assert_mem_eq(replay_parameters(replay), naive.arrays[0], f->elements * sizeof(float));
    naive_close(&naive);
    replay_destroy(&replay);
    sample_record_free(&r);
}

/* --- histories that cannot have been ------------------------------------------------------- */

/* Two chunks, two computations, as told. */
static enum status replay_two(struct fixture *f, const uint64_t bases[2][2],
                              const struct run_record_entry entries[2][2], float *parameters,
                              struct error *error)
{
    struct sample_record r;
    const uint64_t sizes[] = {32, f->elements - 32};
    const struct run_record_segment first = {.session = 1, .worker_count = 2, .computation = 1};
    sample_record_begin_with(&r, 1, 2, &first, sizes, 2);
    for (uint64_t i = 0; i < 2; i++)
        run_record_writer_computation(
            &r.writer,
            &(struct run_record_computation){.number = i + 1, .batch = i, .bases = bases[i]});
    for (uint32_t chunk = 0; chunk < 2; chunk++)
        run_record_writer_entries(&r.writer, chunk, 0, entries[chunk], 2);
    run_record_writer_snapshot(&r.writer, &(struct run_record_snapshot){2, 2, 3});
    ck_assert_int_eq(run_record_writer_finish(&r.writer), STATUS_OK);
    struct replay *replay = begin(f, UINT64_MAX);
    enum status status = go_through(replay, &r, error);
    if (status == STATUS_NOT_FOUND)
        memcpy(parameters, replay_parameters(replay), f->elements * sizeof(float));
    replay_destroy(&replay);
    sample_record_free(&r);
    return status;
}

TEST(each_from_what_the_other_has_made_cannot_have_been, "sgd", 128)
{
    const uint64_t bases[2][2] = {{0, 1}, {1, 0}};
    const struct run_record_entry entries[2][2] = {{{1, false, true}, {2, false, true}},
                                                   {{2, false, true}, {1, false, true}}};
    float parameters[ELEMENTS_MAX];
    struct error error;
    ck_assert_int_eq(replay_two(f, bases, entries, parameters, &error), STATUS_INVALID);
    ck_assert_str_eq(error.text, "x/record/0001.log: damaged: computation 1 of batch 0 begins from "
                                 "versions that cannot be there before it");
}

TEST(two_entries_swapped_are_other_bits, "adam", 128)
{
    const uint64_t bases[2][2] = {{0, 0}, {0, 0}};
    const struct run_record_entry told[2][2] = {{{1, false, true}, {2, false, true}},
                                                {{1, false, true}, {2, false, true}}};
    const struct run_record_entry swapped[2][2] = {{{1, false, true}, {2, false, true}},
                                                   {{2, false, true}, {1, false, true}}};
    float first[ELEMENTS_MAX], second[ELEMENTS_MAX];
    struct error error;
    ck_assert_int_eq(replay_two(f, bases, told, first, &error), STATUS_NOT_FOUND);
    ck_assert_int_eq(replay_two(f, bases, swapped, second, &error), STATUS_NOT_FOUND);
    ck_assert_mem_eq(first, second, 32 * sizeof(float));
    ck_assert_mem_ne(first + 32, second + 32, (f->elements - 32) * sizeof(float));
}

TEST(chunks_that_are_none_of_the_model_are_named, "sgd", 128)
{
    struct sample_record r;
    struct error error;
    const uint64_t sizes[] = {32, 32};
    const struct run_record_segment first = {.session = 1, .worker_count = 2, .computation = 1};
    sample_record_begin_with(&r, 1, 2, &first, sizes, 2);
    sample_record_train(&r, 0);
    struct replay *replay = begin(f, UINT64_MAX);
    ck_assert_int_eq(go_through(replay, &r, &error), STATUS_INVALID);
    ck_assert_str_eq(error.text, "x/record/0001.log: 2 chunks do not cover the model");
    replay_destroy(&replay);
    sample_record_free(&r);
}

int main(void)
{
    return suite_run("replay", NULL);
}
