/* test_training.c - the trainer at the other end of a client that a scripted server leads
 * (scripted_server.h). */
/* promises: compute */
/* test: tsan */

#include "worker/training.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/job/job_score.h"
#include "common/kernels/kernels.h"
#include "tests/lib/scripted_server.h"
#include "tests/lib/suite.h"

/* 50 synthetic examples in batches of 22: epochs of 3 steps, of 6, 6 and 2 leaves. */
struct fixture {
    struct source *source;
    struct job job;
    struct node_gradient gradient;
    struct scripted_server server;
    struct client *client;
    struct training training;
};

static void make_job(struct fixture *f, enum mode mode, uint64_t steps)
{
    uint32_t count = f->source->variable_count;
    const struct variable *variables = f->source->variables;
    f->job = (struct job){.mode = mode,
                          .seed = 3,
                          .examples = f->source->examples,
                          .test_examples = f->source->test_examples,
                          .batch = 22,
                          .micro_batch = 4,
                          .steps = steps,
                          .worker_count = 1,
                          .server_count = 1,
                          .variable_count = count};
    f->job.variables = calloc(count, sizeof *variables);
    f->job.servers = calloc(1, sizeof *f->job.servers);
    ck_assert(f->job.variables != NULL && f->job.servers != NULL);
    memcpy(f->job.variables, variables, count * sizeof *variables);
}

static void open_fixture(struct fixture *f, enum mode mode, uint64_t steps)
{
    struct error error;
    memset(f, 0, sizeof *f);
    kernels_init();
    const struct source_options options = {
        .model = "flatten, dense 10", .data = "synthetic:50", .seed = 3};
    ck_assert_msg(source_open(&f->source, &options, &error) == STATUS_OK &&
                      source_prepare(f->source, 4, LOSS_UNIT_DEFAULT, &error) == STATUS_OK,
                  "%s", error.text);
    make_job(f, mode, steps);
    ck_assert(node_gradient_init(&f->gradient, &f->job, f->source) == STATUS_OK);
    scripted_server_open(&f->server, &f->job);
    struct client_options of = {
        .transport = &f->server.transport,
        .job = &f->job,
        .deadlines = {.start = 60, .silence = 60, .recovery = 60, .progress = 60}};
    ck_assert(client_open(&f->client, &of, &error) == STATUS_OK);
    f->training = (struct training){.job = &f->job,
                                    .gradient = &f->gradient,
                                    .throttle = {.time = {.slow = 1}, .job = &f->job}};
}

static void close_fixture(struct fixture *f)
{
    client_close(&f->client);
    scripted_server_close(&f->server);
    node_gradient_free(&f->gradient);
    source_close(&f->source);
    job_free(&f->job);
}

/* What tests begin with, and how they end. */
#define TEST(name, ...)                                                                            \
    SUITE_TEST(name, struct fixture, f, open_fixture(f, __VA_ARGS__), close_fixture(f))

/* The n-th message of a kind that came. */
static const struct message *heard(struct fixture *f, enum message_kind kind, unsigned n)
{
    for (unsigned i = 0; i < f->server.heard_count; i++)
        if (f->server.heard[i].message.kind == kind && n-- == 0)
            return &f->server.heard[i].message;
    ck_abort_msg("it has not come");
}

TEST_PLAIN(it_trains_to_the_end_and_scores_every_epoch)
{
    for (int mode = 0; mode < 2; mode++) {
        struct fixture f;
        open_fixture(&f, mode ? MODE_SYNC : MODE_ASYNC, 7);
        f.server.scores = true;
        training_run(&f.training, f.client);
        ck_assert_int_eq(client_trainer(f.client)->exit_code, EXIT_DONE);
        ck_assert_uint_eq(scripted_server_count(&f.server, MESSAGE_EVALUATION), 3);
        for (unsigned i = 0; i < 3; i++) {
            const struct message_evaluation *score = &heard(&f, MESSAGE_EVALUATION, i)->evaluation;
            ck_assert_uint_eq(score->step, i < 2 ? 3 * (i + 1) : 7);
            ck_assert_uint_eq(score->examples, f.job.test_examples);
            ck_assert(score->share == 0 && score->shares == 1 && score->not_finite == 0);
            ck_assert_int_gt(score->loss, 0);
        }
        ck_assert_uint_eq(scripted_server_count(&f.server, MESSAGE_EXCHANGE), 8 + 3);
        const struct message_exchange *exchange = &heard(&f, MESSAGE_EXCHANGE, 3)->exchange;
        ck_assert_uint_eq(exchange->step, 2);
        ck_assert_uint_eq(exchange->examples, 6);
        ck_assert(exchange->has_report && !exchange->report.bad);
        ck_assert_uint_eq(exchange->report.examples, 6);
        ck_assert_int_gt(exchange->report.loss, 0);
        close_fixture(&f);
    }
}

TEST(in_async_mode_a_gradient_that_is_not_finite_is_skipped_and_counted, MODE_ASYNC, 2)
{
    scripted_server_lock(&f->server);
    f->server.value = NAN;
    scripted_server_unlock(&f->server);
    training_run(&f->training, f->client);
    ck_assert_int_eq(client_trainer(f->client)->exit_code, EXIT_DONE);
    for (unsigned i = 1; i <= 2; i++) {
        const struct message_exchange *exchange = &heard(f, MESSAGE_EXCHANGE, i)->exchange;
        ck_assert(exchange->skip && !exchange->gradient);
        ck_assert(exchange->report.bad);
        ck_assert_uint_eq(exchange->step, i - 1);
        ck_assert_uint_eq(exchange->report.examples, 0);
    }
}

TEST(in_sync_mode_it_is_the_end, MODE_SYNC, 2)
{
    scripted_server_lock(&f->server);
    f->server.value = NAN;
    scripted_server_unlock(&f->server);
    training_run(&f->training, f->client);
    ck_assert_int_eq(client_trainer(f->client)->exit_code, EXIT_TRAINING_FAILED);
    ck_assert_ptr_nonnull(strstr(client_trainer(f->client)->reason, "step 0, leaf 0"));
    ck_assert_uint_eq(scripted_server_count(&f->server, MESSAGE_STOP), 1);
}

TEST(a_member_without_leaves_only_asks, MODE_SYNC, 2)
{
    scripted_server_lock(&f->server);
    f->server.start.members = 9;
    while (tree_run(6, 9, f->server.start.position).leaf_count > 0)
        f->server.start.position++;
    scripted_server_unlock(&f->server);
    training_run(&f->training, f->client);
    ck_assert_int_eq(client_trainer(f->client)->exit_code, EXIT_DONE);
    const struct message_exchange *exchange = &heard(f, MESSAGE_EXCHANGE, 1)->exchange;
    ck_assert(exchange->want && !exchange->gradient && !exchange->has_report);
    ck_assert_uint_eq(exchange->want_version, 1);
    ck_assert_uint_eq(scripted_server_count(&f->server, MESSAGE_EVALUATION), 0);
}

/* Of 22, 22 and 6 examples, whose last leaves have 2 of 4. */
TEST(controlled_time_is_waited_for_and_counted_as_computing, MODE_SYNC, 3)
{
    ck_assert(compute_time_read("constant:20ms", &f->training.throttle.time, NULL) == STATUS_OK);
    uint64_t began_us = clock_now_us(), computed_us = 0;
    training_run(&f->training, f->client);
    ck_assert_int_eq(client_trainer(f->client)->exit_code, EXIT_DONE);
    ck_assert_uint_ge(clock_now_us() - began_us, 50 * 20000 / 4);
    uint32_t leaves = 0;
    for (unsigned i = 1; i <= 3; i++) {
        const struct message_report *report = &heard(f, MESSAGE_EXCHANGE, i)->exchange.report;
        leaves += report->leaves;
        /* Times are told in whole microseconds: of each leaf a part of one may be missing. */
        ck_assert_uint_ge(report->times.compute_us + leaves, (i < 3 ? 22 * 5000 * i : 50 * 5000));
        computed_us = report->times.compute_us;
        ck_assert_uint_le(report->longer, report->leaves);
    }
    ck_assert_uint_ge(computed_us + leaves, 50 * 5000);
    ck_assert_uint_eq(leaves, 6 + 6 + 2);
}

static void *leave_soon(void *client)
{
    usleep(100000);
    client_request_leave(client);
    return NULL;
}

/* Nothing could be heard of this computation for an hour. */
TEST(whoever_waits_for_a_time_hears_and_says_what_there_is, MODE_SYNC, 3)
{
    pthread_t thread;
    ck_assert(compute_time_read("constant:3600s", &f->training.throttle.time, NULL) == STATUS_OK);
    scripted_server_lock(&f->server);
    f->server.finishes = true;
    scripted_server_unlock(&f->server);
    ck_assert(pthread_create(&thread, NULL, leave_soon, f->client) == 0);
    training_run(&f->training, f->client);
    pthread_join(thread, NULL);
    ck_assert_int_eq(client_trainer(f->client)->exit_code, EXIT_TERMINATED);
    ck_assert_uint_eq(scripted_server_count(&f->server, MESSAGE_LEAVE), 1);
    /* The computation was not finished, and so nothing was pushed. */
    ck_assert_uint_eq(scripted_server_count(&f->server, MESSAGE_EXCHANGE), 1);
}

static void add(TCase *t)
{
    tcase_set_timeout(t, 60);
}

int main(void)
{
    return suite_run("training", add);
}
