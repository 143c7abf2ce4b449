/* test_job.c - declarations: what is refused with which words, and the way to bytes and back. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/job/compensation.h"
#include "common/job/job.h"
#include "common/job/partition.h"
#include "common/job/tree.h"
#include "tests/lib/suite.h"

static struct variable make_variable(const char *name, uint64_t in, uint64_t out)
{
    struct variable variable = {.rank = in > 0 ? 2 : 1,
                                .shape = {in > 0 ? in : out, out},
                                .initializer =
                                    in > 0 ? INITIALIZER_GLOROT_UNIFORM : INITIALIZER_ZEROS,
                                .fan_in = in,
                                .fan_out = out};
    snprintf(variable.name, sizeof variable.name, "%s", name);
    return variable;
}

/* A small job that is right in every field. */
static struct job make_job(void)
{
    struct job job = {
        .mode = MODE_SYNC,
        .seed = 42,
        .model = "flatten, dense 128 relu, dense 10",
        .variable_count = 4,
        .optimizer = optimizer_find("adam")->defaults,
        .schedule = {.kind = SCHEDULE_CONSTANT, .learning_rate = 0.001},
        .data = "fashion-mnist",
        .data_digest = {0x3f, 0x9a, 0x01, 0xc2, 0x55},
        .examples = 60000,
        .test_examples = 10000,
        .batch = 64,
        .micro_batch = 16,
        .steps = 9380,
        .checkpoint_every = 100,
        .chunk_bytes = 65536,
        .worker_count = 2,
        .server_count = 2,
    };
    job.variables = calloc(job.variable_count, sizeof *job.variables);
    job.servers = calloc(job.server_count, sizeof *job.servers);
    ck_assert(job.variables != NULL && job.servers != NULL);
    job.variables[0] = make_variable("dense1/kernel", 784, 128);
    job.variables[1] = make_variable("dense1/bias", 0, 128);
    job.variables[2] = make_variable("dense2/kernel", 128, 10);
    job.variables[3] = make_variable("dense2/bias", 0, 10);
    strcpy(job.servers[0], "alpha:7000");
    strcpy(job.servers[1], "beta:7000");
    return job;
}

/* --- check --------------------------------------------------------------------------------- */

static void check_and_free(struct job *job, enum status expected, const char *says)
{
    struct error error = {.text = ""};
    enum status status = job_check(job, &error);
    ck_assert_msg(status == expected, "%s ('%s'), not %s ('%s')", status_name(status), error.text,
                  status_name(expected), says);
    ck_assert_msg(strstr(error.text, says) != NULL, "'%s' does not say '%s'", error.text, says);
    ck_assert_ptr_null(strchr(error.text, '\n'));
    ck_assert_int_eq(job_check(job, NULL), expected);
    job_free(job);
}

/* The good job with one thing changed by `change`, which may use j. */
#define REFUSED(says, change)                                                                      \
    do {                                                                                           \
        struct job changed = make_job(), *j = &changed;                                            \
        change;                                                                                    \
        check_and_free(j, STATUS_INVALID, says);                                                   \
    } while (0)
#define ACCEPTED(change)                                                                           \
    do {                                                                                           \
        struct job changed = make_job(), *j = &changed;                                            \
        change;                                                                                    \
        check_and_free(j, STATUS_OK, "");                                                          \
    } while (0)

TEST_PLAIN(a_good_job_passes)
{
    ACCEPTED((void)0);
    ACCEPTED(j->mode = MODE_ASYNC; j->use_locking = true);
    ACCEPTED(j->server_count = 0; j->chunk_bytes = 0);
    ACCEPTED(j->test_examples = 0; j->checkpoint_every = 0; j->seed = UINT64_MAX);
    ACCEPTED(j->examples = UINT64_MAX; j->steps = 1000000000000000);
    ACCEPTED(j->checkpoint_every = UINT64_MAX);
    ACCEPTED(j->micro_batch = BATCH_MAX);
    ACCEPTED(strcpy(j->data, "/home/jos\xc3\xa9/\xe6\x95\xb0\xe6\x8d\xae \xf0\x9f\x93\x81"));
}

TEST_PLAIN(work_out_of_range_is_refused)
{
    REFUSED("mode number", j->mode = MODE_COUNT);
    REFUSED("mode number", j->mode = (enum mode) - 1);
    REFUSED("locking", j->use_locking = true);
    REFUSED("staleness rate: inverse in the job, none in sync mode",
            j->staleness_rate = STALENESS_RATE_INVERSE);
    REFUSED("staleness rate number", j->staleness_rate = STALENESS_RATE_COUNT);
    REFUSED("delay compensation: 1 in the job, 0 in sync mode", j->delay_compensation = 1);
    REFUSED("delay compensation must be at least 0", j->delay_compensation = NAN);
    REFUSED("strength above 0", j->mode = MODE_ASYNC; j->compensation_adapts = true);
    ACCEPTED(j->mode = MODE_ASYNC; j->compensation_adapts = true; j->delay_compensation = 2);
    REFUSED("most staleness: 1 in the job, 0 in sync mode", j->max_staleness = 1);
    REFUSED("lost for its staleness without", j->mode = MODE_ASYNC; j->staleness_loses = true);
    ACCEPTED(j->mode = MODE_SSP; j->max_staleness = 1; j->staleness_loses = true);
    ACCEPTED(j->mode = MODE_ASYNC; j->staleness_rate = STALENESS_RATE_CONSTANT);
    ACCEPTED(j->mode = MODE_SSP; j->staleness_rate = STALENESS_RATE_INVERSE);
    REFUSED("training examples", j->examples = 0);
    REFUSED("batch must", j->batch = 0);
    REFUSED("batch must", j->batch = BATCH_MAX + 1);
    REFUSED("micro-batch", j->micro_batch = 0);
    REFUSED("micro-batch", j->micro_batch = BATCH_MAX + 1);
    REFUSED("steps", j->steps = 0);
    REFUSED("steps", j->steps = 1000000000000001);
    REFUSED("unit of loss must be a power of two, not 3", j->loss_unit = 3);
    REFUSED("unit of loss must be at least 0", j->loss_unit = -1);
    ACCEPTED(j->loss_unit = 0x1p-30; j->scores = SCORES_LOSS; j->score_piece = 500);
    REFUSED("scores number 2", j->scores = SCORES_COUNT);
    REFUSED("4097 leaves", j->batch = TREE_LEAVES_MAX + 1; j->micro_batch = 1);
    ACCEPTED(j->batch = TREE_LEAVES_MAX; j->micro_batch = 1);
}

/* Of an epoch, or of all there is. */
TEST_PLAIN(progress_has_forty_points)
{
    struct job job = {.examples = 60000, .batch = 64, .steps = 9380};
    ck_assert_uint_eq(job_progress_steps(&job), 938 / 40);
    job.steps = 400;
    ck_assert_uint_eq(job_progress_steps(&job), 10);
    job.steps = 39;
    ck_assert_uint_eq(job_progress_steps(&job), 1);
}

TEST_PLAIN(unprintable_text_is_refused)
{
    REFUSED("model: not a printable text", j->model[3] = '\n');
    REFUSED("model: not a printable text", memset(j->model, 'a', sizeof j->model));
    REFUSED("name of the data set: not", j->data[0] = '\x1b');
    REFUSED("name of the data set: not", memset(j->data, 'a', sizeof j->data));
    REFUSED("name of the data set: not", strcpy(j->data, "\xc3"));     /* Cut off. */
    REFUSED("name of the data set: not", strcpy(j->data, "\xc0\xaf")); /* Overlong. */
    REFUSED("name of the data set: not", strcpy(j->data, "\xc2\x9b")); /* A control character. */
    REFUSED("name of the data set: not", strcpy(j->data, "\xed\xa0\x80"));     /* A surrogate. */
    REFUSED("name of the data set: not", strcpy(j->data, "\xf4\x90\x80\x80")); /* Beyond Unicode. */
    REFUSED("name of the data set: not", strcpy(j->data, "\xf8\x90\x80\x80"));
    REFUSED("name of the data set: not", strcpy(j->data, "\x80"));
}

TEST_PLAIN(variables_out_of_range_are_refused)
{
    REFUSED("number of variables", j->variable_count = 0);
    REFUSED("number of variables", j->variable_count = VARIABLE_COUNT_MAX + 1);
    REFUSED("printable name", j->variables[1].name[0] = '\0');
    REFUSED("printable name", j->variables[1].name[2] = ' ');
    REFUSED("printable name", j->variables[1].name[2] = '\xc3');
    REFUSED("printable name", memset(j->variables[1].name, 'a', VARIABLE_NAME_MAX));
    REFUSED("two variables are called dense1/bias", strcpy(j->variables[3].name, "dense1/bias"));
    REFUSED("rank 0", j->variables[0].rank = 0);
    REFUSED("rank 9", j->variables[0].rank = 9);
    REFUSED("axis 1 is 0", j->variables[0].shape[1] = 0);
    ACCEPTED(j->variables[0].initializer = INITIALIZER_GIVEN; j->initial_digest[3] = 1);
    ACCEPTED(memset(j->variables[1].name, 'a', VARIABLE_NAME_MAX - 1));
    REFUSED("initializer number", j->variables[0].initializer = INITIALIZER_COUNT);
    REFUSED("fan-in", j->variables[0].fan_in = 0);
    REFUSED("fan-out", j->variables[0].fan_out = 0);
    ACCEPTED(j->variables[1].fan_in = 0);
    ACCEPTED(j->variables[0].average = 0.1f);
    REFUSED("rate of averaging", j->variables[0].average = 1.5f);
    REFUSED("rate of averaging", j->variables[0].average = NAN);
    REFUSED("before all that is trained", j->variables[1].average = 0.1f);
}

TEST_PLAIN(shapes_that_overflow_are_refused)
{
    REFUSED("2^40", j->variables[0].shape[0] = UINT64_MAX);
    REFUSED("2^40", j->variables[0].shape[0] = UINT64_C(1) << 32;
            j->variables[0].shape[1] = UINT64_C(1) << 32);
    REFUSED("2^40", j->variables[1].shape[0] = (UINT64_C(1) << 40) + 1);
    REFUSED("more than 2^40 parameters", j->variables[1].shape[0] = UINT64_C(1) << 40);
    ACCEPTED(j->variable_count = 1; j->variables[0].shape[0] = UINT64_C(1) << 20;
             j->variables[0].shape[1] = UINT64_C(1) << 20);
}

TEST_PLAIN(optimizers_and_schedules_are_checked_too)
{
    REFUSED("there is no optimizer 'lion'; there are sgd", strcpy(j->optimizer.name, "lion"));
    REFUSED("beta1", j->optimizer.beta1 = NAN);
    REFUSED("learning rate", j->schedule.learning_rate = -1);
}

TEST_PLAIN(the_spread_of_the_work_is_checked)
{
    REFUSED("number of workers", j->worker_count = 0);
    REFUSED("number of workers", j->worker_count = JOB_WORKERS_MAX + 1);
    REFUSED("number of servers", j->server_count = JOB_SERVERS_MAX + 1);
    REFUSED("chunk bytes", j->chunk_bytes = 63);
    REFUSED("chunk bytes", j->chunk_bytes = CHUNK_BYTES_MAX + 1);
    ACCEPTED(j->chunk_bytes = CHUNK_BYTES_MAX);
    REFUSED("as many of both, not 2 servers and 3 workers", j->worker_count = 3;
            j->colocated = true);
    ACCEPTED(j->colocated = true);
    ACCEPTED(j->colocated = true; j->server_count = 0); /* A plan has no addresses yet. */
    REFUSED("ps/1", j->servers[1][0] = '\0');
    REFUSED("ps/1", j->servers[1][2] = '\t');
    REFUSED("ps/0", memset(j->servers[0], 'a', ADDRESS_MAX));
    REFUSED("ps/0 and ps/1 have the same address", strcpy(j->servers[1], j->servers[0]));
}

/* --- copy ---------------------------------------------------------------------------------- */

TEST_PLAIN(a_copy_is_equal_and_owns_its_own)
{
    struct job job = make_job(), copy;
    ck_assert_int_eq(job_copy(&copy, &job), STATUS_OK);
    ck_assert_int_eq(job_compare(&job, "a", &copy, "b", JOB_SCOPE_ALL, NULL), STATUS_OK);
    ck_assert_ptr_ne(copy.variables, job.variables);
    ck_assert_ptr_ne(copy.servers, job.servers);
    job_free(&job);
    ck_assert_ptr_null(job.variables);
    ck_assert_str_eq(copy.variables[3].name, "dense2/bias");
    ck_assert_str_eq(copy.servers[1], "beta:7000");
    job_free(&copy);
    job_free(&copy);
}

TEST_PLAIN(a_job_without_servers_can_be_copied)
{
    struct job job = make_job(), copy;
    free(job.servers);
    job.servers = NULL;
    job.server_count = 0;
    ck_assert_int_eq(job_copy(&copy, &job), STATUS_OK);
    ck_assert_ptr_null(copy.servers);
    job_free(&copy);
    job_free(&job);
}

/* --- compare ------------------------------------------------------------------------------- */

static void compare_and_free(struct job *theirs, enum job_scope scope, enum status expected,
                             const char *says)
{
    struct job ours = make_job();
    struct error error = {.text = ""};
    enum status status = job_compare(&ours, "the running job", theirs, "worker/1", scope, &error);
    ck_assert_msg(status == expected, "%s ('%s')", status_name(status), error.text);
    ck_assert_str_eq(error.text, says);
    ck_assert_int_eq(job_compare(&ours, "x", theirs, "y", scope, NULL), expected);
    job_free(&ours);
    job_free(theirs);
}

#define COMPARED(scope, status, says, change)                                                      \
    do {                                                                                           \
        struct job changed = make_job(), *j = &changed;                                            \
        change;                                                                                    \
        compare_and_free(j, scope, status, says);                                                  \
    } while (0)
/* Refused in either scope, with this message. */
#define DIFFERS(says, change)                                                                      \
    do {                                                                                           \
        COMPARED(JOB_SCOPE_ALL, STATUS_MISMATCH, says, change);                                    \
        COMPARED(JOB_SCOPE_RESUME, STATUS_MISMATCH, says, change);                                 \
    } while (0)
/* Refused for a worker that joins, allowed for a job that goes on. */
#define MAY_CHANGE_ON_RESUME(says, change)                                                         \
    do {                                                                                           \
        COMPARED(JOB_SCOPE_ALL, STATUS_MISMATCH, says, change);                                    \
        COMPARED(JOB_SCOPE_RESUME, STATUS_OK, "", change);                                         \
    } while (0)

TEST_PLAIN(equal_jobs_agree)
{
    COMPARED(JOB_SCOPE_ALL, STATUS_OK, "", (void)0);
    COMPARED(JOB_SCOPE_RESUME, STATUS_OK, "", (void)0);
}

TEST_PLAIN(a_data_set_may_have_another_name)
{
    COMPARED(JOB_SCOPE_ALL, STATUS_OK, "", strcpy(j->data, "/data/fashion"));
}

TEST_PLAIN(the_first_difference_is_named_with_both_values)
{
    DIFFERS("mode: sync in the running job, async in worker/1", j->mode = MODE_ASYNC);
    DIFFERS("locking: off in the running job, on in worker/1", j->use_locking = true);
    DIFFERS("seed: 42 in the running job, 43 in worker/1", j->seed = 43);
    DIFFERS("batch: 64 in the running job, 32 in worker/1", j->batch = 32);
    DIFFERS("micro-batch: 16 in the running job, 8 in worker/1", j->micro_batch = 8);
    DIFFERS("training examples: 60000 in the running job, 1000 in worker/1", j->examples = 1000);
    DIFFERS("initial values: 00000000... in the running job, 05000000... in worker/1",
            j->initial_digest[0] = 5);
    DIFFERS("test examples: 10000 in the running job, 0 in worker/1", j->test_examples = 0);
    DIFFERS("data digest: 3f9a01c2... (fashion-mnist) in the running job, "
            "3f9a01c2... (fashion-mnist) in worker/1",
            j->data_digest[31] = 1);
    DIFFERS("data digest: 3f9a01c2... (fashion-mnist) in the running job, "
            "ff9a01c2... (synthetic) in worker/1",
            j->data_digest[0] = 0xff;
            strcpy(j->data, "synthetic"));
}

TEST_PLAIN(optimizer_and_schedule_differences_are_named)
{
    DIFFERS("optimizer: adam in the running job, sgd in worker/1",
            j->optimizer = optimizer_find("sgd")->defaults);
    DIFFERS("momentum: 0 in the running job, 0.5 in worker/1", j->optimizer.momentum = 0.5f);
    DIFFERS("beta1: 0.9 in the running job, 0.5 in worker/1", j->optimizer.beta1 = 0.5f);
    DIFFERS("beta2: 0.999 in the running job, 0.99 in worker/1", j->optimizer.beta2 = 0.99f);
    DIFFERS("rho: 0 in the running job, 0.9 in worker/1", j->optimizer.rho = 0.9f);
    DIFFERS("epsilon: 1e-07 in the running job, 1e-08 in worker/1", j->optimizer.epsilon = 1e-8f);
    DIFFERS("initial accumulator: 0 in the running job, 0.1 in worker/1",
            j->optimizer.initial_accumulator = 0.1f);
    DIFFERS("schedule: constant in the running job, cosine in worker/1",
            j->schedule.kind = SCHEDULE_COSINE);
    DIFFERS("learning rate: 0.001 in the running job, 0.01 in worker/1",
            j->schedule.learning_rate = 0.01);
    DIFFERS("learning rate: 0.001 in the running job, 0.001000000000000001 in worker/1",
            j->schedule.learning_rate = 0.001000000000000001);
    DIFFERS("decay factor: 0 in the running job, 0.5 in worker/1", j->schedule.decay_factor = 0.5);
    DIFFERS("decay steps: 0 in the running job, 5 in worker/1", j->schedule.decay_steps = 5);
    DIFFERS("warm-up steps: 0 in the running job, 5 in worker/1", j->schedule.warmup_steps = 5);
}

TEST_PLAIN(model_differences_are_named)
{
    DIFFERS("model: '... dense 128 relu, dense 10' in the running job, "
            "'... dense 64 relu, dense 10' in worker/1",
            strcpy(j->model, "flatten, dense 64 relu, dense 10"));
    DIFFERS("number of variables: 4 in the running job, 3 in worker/1", j->variable_count = 3);
    DIFFERS("variable number 1: dense1/bias [128] in the running job, other [128] in worker/1",
            strcpy(j->variables[1].name, "other"));
    DIFFERS("variable number 0: dense1/kernel [784,128] in the running job, "
            "dense1/kernel [784,64] in worker/1",
            j->variables[0].shape[1] = 64);
    DIFFERS("variable number 1: dense1/bias [128] in the running job, "
            "dense1/bias [128,128] in worker/1",
            j->variables[1].rank = 2);
    DIFFERS("initializer of dense1/kernel: glorot_uniform in the running job, zeros in worker/1",
            j->variables[0].initializer = INITIALIZER_ZEROS);
    DIFFERS("fan-in or fan-out of dense1/kernel: 784 in the running job, 1 in worker/1",
            j->variables[0].fan_in = 1);
    DIFFERS("fan-in or fan-out of dense1/kernel: 128 in the running job, 1 in worker/1",
            j->variables[0].fan_out = 1);
}

TEST_PLAIN(sizes_beyond_a_variables_rank_do_not_matter)
{
    COMPARED(JOB_SCOPE_ALL, STATUS_OK, "", j->variables[0].shape[5] = 9);
}

TEST_PLAIN(a_resumed_job_may_be_spread_and_ended_differently)
{
    MAY_CHANGE_ON_RESUME("steps: 9380 in the running job, 20000 in worker/1", j->steps = 20000);
    MAY_CHANGE_ON_RESUME("checkpoint every: 100 in the running job, 0 in worker/1",
                         j->checkpoint_every = 0);
    MAY_CHANGE_ON_RESUME("chunk bytes: 65536 in the running job, 4096 in worker/1",
                         j->chunk_bytes = 4096);
    MAY_CHANGE_ON_RESUME("number of workers: 2 in the running job, 8 in worker/1",
                         j->worker_count = 8);
    MAY_CHANGE_ON_RESUME("number of servers: 2 in the running job, 1 in worker/1",
                         j->server_count = 1);
    MAY_CHANGE_ON_RESUME("address of ps/1: 'beta:7000' in the running job, "
                         "'beta:7001' in worker/1",
                         strcpy(j->servers[1], "beta:7001"));
}

TEST_PLAIN(long_models_still_show_both_sides)
{
    struct job ours = make_job(), theirs = make_job();
    memset(ours.model, 'a', sizeof ours.model - 1);
    memset(theirs.model, 'a', sizeof theirs.model - 1);
    theirs.model[900] = 'b';
    struct error error;
    ck_assert_int_eq(job_compare(&ours, "a", &theirs, "worker/1", JOB_SCOPE_ALL, &error),
                     STATUS_MISMATCH);
    ck_assert_ptr_nonnull(strstr(error.text, "' in worker/1"));
    job_free(&ours);
    job_free(&theirs);
}

/* --- derived ------------------------------------------------------------------------------- */

static void expect_batch(const struct job *job, uint64_t step, struct batch_range expected)
{
    struct batch_range batch = job_batch(job, step);
    ck_assert_uint_eq(batch.epoch, expected.epoch);
    ck_assert_uint_eq(batch.first, expected.first);
    ck_assert_uint_eq(batch.examples, expected.examples);
    ck_assert_uint_eq(batch.leaves, expected.leaves);
}

TEST_PLAIN(the_last_batch_of_an_epoch_is_ragged)
{
    struct job job = {.examples = 60000, .batch = 64, .micro_batch = 16};
    ck_assert_uint_eq(job_steps_per_epoch(&job), 938);
    ck_assert_uint_eq(job_leaves_max(&job), 4);
    expect_batch(&job, 0, (struct batch_range){0, 0, 64, 4});
    expect_batch(&job, 936, (struct batch_range){0, 59904, 64, 4});
    expect_batch(&job, 937, (struct batch_range){0, 59968, 32, 2});
    expect_batch(&job, 938, (struct batch_range){1, 0, 64, 4});
    expect_batch(&job, 9379, (struct batch_range){9, 59968, 32, 2});
}

TEST_PLAIN(a_batch_larger_than_the_data_is_the_data)
{
    struct job job = {.examples = 10, .batch = 64, .micro_batch = 16};
    ck_assert_uint_eq(job_steps_per_epoch(&job), 1);
    ck_assert_uint_eq(job_leaves_max(&job), 1);
    expect_batch(&job, 5, (struct batch_range){5, 0, 10, 1});
}

TEST_PLAIN(every_example_of_an_epoch_is_in_one_leaf_of_one_batch)
{
    for (uint32_t examples = 1; examples < 60; examples++) {
        for (uint32_t batch = 1; batch < 20; batch++) {
            struct job job = {.examples = examples, .batch = batch, .micro_batch = 1 + batch % 5};
            uint64_t at = 0;
            for (uint64_t step = 0; step < job_steps_per_epoch(&job); step++) {
                struct batch_range range = job_batch(&job, step);
                ck_assert_uint_eq(range.first, at);
                for (uint32_t leaf = 0; leaf < range.leaves; leaf++) {
                    uint32_t count = job_node_examples(&job, range, leaf, 1);
                    ck_assert(count > 0 && count <= job.micro_batch);
                    at += count;
                }
                ck_assert_uint_eq(job_node_examples(&job, range, 0, range.leaves), range.examples);
            }
            ck_assert_uint_eq(at, examples);
        }
    }
}

TEST_PLAIN(a_node_has_the_examples_of_its_leaves)
{
    struct job job = {.examples = 60000, .batch = 64, .micro_batch = 24};
    struct batch_range batch = job_batch(&job, 0);
    ck_assert_uint_eq(batch.leaves, 3);
    ck_assert_uint_eq(job_node_examples(&job, batch, 0, 2), 48);
    ck_assert_uint_eq(job_node_examples(&job, batch, 2, 1), 16);
    ck_assert_uint_eq(job_node_examples(&job, batch, 1, 0), 0);
    ck_assert_uint_eq(job_node_examples(&job, batch, 0, UINT32_MAX), 64);
}

TEST_PLAIN(a_compensation_is_written_as_short_as_it_can_be_read)
{
    static const float strengths[] = {0.04f, 2, 1.0f / 3, 1e-10f, 123456.789f, COMPENSATION_MAX};
    struct job job = make_job();
    for (size_t i = 0; i < sizeof strengths / sizeof *strengths; i++) {
        job.delay_compensation = strengths[i];
        job.compensation_adapts = i == 1;
        struct job back = {0};
        ck_assert_int_eq(compensation_read(compensation_text(&job).text, &back), STATUS_OK);
        ck_assert_float_eq(back.delay_compensation, strengths[i]);
        ck_assert(back.compensation_adapts == job.compensation_adapts);
        if (i == 0)
            ck_assert_str_eq(compensation_text(&job).text, "0.04");
        if (i == 1)
            ck_assert_str_eq(compensation_text(&job).text, "adaptive:2");
    }
    job_free(&job);
}

TEST_PLAIN(modes_go_both_ways)
{
    static const struct {
        const char *text;
        struct mode_setting setting;
    } modes[] = {
        {"async", {MODE_ASYNC, 0}},
        {"sync", {MODE_SYNC, 0}},
        {"ssp:0", {MODE_SSP, 0}},
        {"ssp:1000000000", {MODE_SSP, MODE_BOUND_MAX}},
        {"ssp:inf", {MODE_SSP, MODE_UNBOUNDED}},
        {"allreduce", {MODE_ALLREDUCE, 0}},
    };
    static const char *const none[] = {"",
                                       "allgather",
                                       "ssp",
                                       "ssp:",
                                       "ssp:x",
                                       "ssp:-1",
                                       "ssp:1e3",
                                       "sync:1",
                                       "ssp:1000000001",
                                       "asyn",
                                       "ssp: 1",
                                       "async ",
                                       "ssp:infx",
                                       "ssp:99999999999999999999"};
    struct mode_setting setting;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        ck_assert_int_eq(mode_read(modes[i].text, &setting), STATUS_OK);
        ck_assert_uint_eq(setting.mode, modes[i].setting.mode);
        ck_assert_uint_eq(setting.bound, modes[i].setting.bound);
        ck_assert_str_eq(mode_text(setting).text, modes[i].text);
        ck_assert_ptr_eq(mode_facts_named(modes[i].text), mode_facts(setting.mode));
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        ck_assert_msg(mode_read(none[i], &setting) == STATUS_NOT_FOUND, "'%s'", none[i]);
        ck_assert_ptr_eq(mode_facts_named(none[i]), mode_facts(MODE_COUNT));
    }
    ck_assert_str_eq(mode_name(MODE_COUNT), "unknown");
}

int main(void)
{
    return suite_run("job", NULL);
}
