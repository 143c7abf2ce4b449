/* counting_worker: a worker of the counting job (tests/lib/counting.h), on the same client library
 * and options as syncopate-worker, and doing on purpose what a test wants to see survived:
 *
 *     COUNTING_PAUSE_US=N    every gradient takes N microseconds
 *     COUNTING_STUCK=W:S     worker W never ends the gradient of its first step from S on
 *     COUNTING_BAD=W:S       worker W's gradient of its first step from S on is not finite
 *     COUNTING_ASTRAY=W:S    worker W's own copy of the model is changed before step S
 *
 * Started by `syncopate run` in a folder where it is called syncopate-worker, or by hand. Needs
 * --optimizer sgd --learning-rate 1, and powers of two as batches. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/kernels/kernels.h"
#include "common/options/options.h"
#include "common/process/log.h"
#include "common/process/parent.h"
#include "common/process/process.h"
#include "common/process/signals.h"
#include "common/transport/transport.h"
#include "tests/lib/counting.h"
#include "worker/client/client.h"
#include "worker/model/probe_gradient.h"

struct counting_worker {
    struct options options;
    struct job job;
    uint64_t elements;
    uint64_t pause_us, stuck_at, bad_from, bad_at, astray_at; /* UINT64_MAX: never. */
    struct client *client;
};

/* S of "W:S" when W is this worker. */
static uint64_t step_of(const char *variable, uint32_t index)
{
    unsigned worker;
    unsigned long long step;
    const char *text = getenv(variable);
    if (text == NULL || sscanf(text, "%u:%llu", &worker, &step) != 2 || worker != index)
        return UINT64_MAX;
    return step;
}

static void compute(const struct counting_worker *w, const struct trainer_work *work,
                    uint32_t examples, float *gradient)
{
    for (uint64_t i = 0; i < w->elements; i++)
        gradient[i] = (float)((int)examples * counting_value(work->step, i));
    if (work->step == w->bad_at)
        gradient[w->elements / 2] = NAN; /* In sync mode a server finds it; see push_node. */
    if (w->pause_us > 0)
        usleep((useconds_t)w->pause_us);
    while (work->step >= w->stuck_at)
        pause();
}

static bool push_node(struct counting_worker *w, const struct trainer_work *work)
{
    struct push push = trainer_next(client_trainer(w->client));
    if (work->step >= w->bad_from) { /* In async mode it is not known which batches one has. */
        w->bad_at = work->step;
        w->bad_from = UINT64_MAX;
    }
    push.score.examples = push.examples;
    struct frame *gradient = client_gradient(w->client);
    if (gradient == NULL) {
        client_fail(w->client, EXIT_TRAINING_FAILED, "out of memory for a gradient");
        return false;
    }
    uint64_t began_us = clock_now_us();
    compute(w, work, push.examples, gradient->data);
    push.compute_us = clock_now_us() - began_us;
    if (w->job.mode == MODE_ASYNC && work->step == w->bad_at) {
        push.bad = true; /* As the trainer does. */
        push.score = (struct score){0};
        gradient = NULL;
    }
    client_push(w->client, &push, gradient);
    return true;
}

static bool do_work(struct counting_worker *w, const struct trainer_work *work)
{
    if (work->node_count > 0 &&
        work->step == w->astray_at) /* Ours, whatever the library promises not to do with it. */
        ((float *)(uintptr_t)client_parameters(w->client))[w->elements / 2] += 1;
    for (uint32_t i = 0; i < work->node_count; i++)
        if (!push_node(w, work))
            return false;
    return true;
}

static void train(struct counting_worker *w)
{
    struct trainer_work work;
    while (client_next(w->client, &work) == STATUS_OK && do_work(w, &work)) {
    }
}

static void end_stuck(int exit_code, const char *reason)
{
    log_error("ended while computing: %s", reason);
    _exit(exit_code);
}

static void leave_client(void *client)
{
    client_request_leave(client);
}

static void abandon_client(void *client)
{
    client_abandoned(client);
}

static void stop_client(void *client, int exit_code)
{
    client_request_stop(client, exit_code);
}

static int run(struct counting_worker *w, struct error *error)
{
    struct transport *transport;
    struct signals signals;
    const struct options *options = &w->options;
    struct client_options client_options = {
        .job = &w->job,
        .worker = options->task_index,
        .deadlines = options->deadlines,
        .stuck = end_stuck,
        .must_share = strcmp(options->transport, "shm") == 0,
    };
    if (probe_gradient(client_options.probe_digest, error) != STATUS_OK ||
        transport_create(&transport, strcmp(options->transport, "tcp") != 0, error) != STATUS_OK)
        return EXIT_CANNOT_OPEN;
    client_options.transport = transport;
    int exit_code = EXIT_CANNOT_OPEN;
    if (client_open(&w->client, &client_options, error) == STATUS_OK) {
        struct signals_options requests = {
            .context = w->client,
            .stop = stop_client,
            .leave = strcmp(options->on_term, "leave") == 0 ? leave_client : NULL,
            .abandoned = abandon_client,
            .has_parent = options->parent_stdin,
            .abandoned_seconds = fmin(PARENT_LOST_SECONDS, options->deadlines.stop),
        };
        if (signals_start(&signals, &requests) == STATUS_OK) {
            train(w);
            signals_stop(&signals);
        }
        exit_code = client_trainer(w->client)->exit_code;
        error_set(error, STATUS_OK, "%s", client_trainer(w->client)->reason);
        client_close(&w->client);
    }
    transport->operations->destroy(&transport);
    return exit_code;
}

int main(int argc, char **argv)
{
    struct counting_worker w = {0};
    struct error error = {STATUS_OK, ""};
    char who[32];
    process_begin();
    enum options_result result =
        options_parse(&w.options, OPTION_WORKER, "syncopate-worker", argc, argv, &error);
    if (result != OPTIONS_RUN) {
        fprintf(stderr, "%s\n", error.text);
        return result == OPTIONS_HELP ? EXIT_DONE : EXIT_USAGE;
    }
    snprintf(who, sizeof who, "worker/%u", w.options.task_index);
    options_begin_log(&w.options, who);
    signals_block();
    kernels_init();
    if (w.options.parent_stdin && parent_greet(w.options.deadlines.start, &error) != STATUS_OK) {
        log_error("%s", error.text);
        return EXIT_USAGE;
    }
    const char *pause_us = getenv("COUNTING_PAUSE_US");
    w.pause_us = pause_us != NULL ? strtoull(pause_us, NULL, 10) : 0;
    w.stuck_at = step_of("COUNTING_STUCK", w.options.task_index);
    w.bad_from = step_of("COUNTING_BAD", w.options.task_index);
    w.astray_at = step_of("COUNTING_ASTRAY", w.options.task_index);
    w.bad_at = UINT64_MAX;

    int exit_code = EXIT_USAGE;
    uint64_t examples = (uint64_t)w.options.global_batch * COUNTING_STEPS_PER_EPOCH;
    if (options_job(&w.options, examples, &w.job, &error) == STATUS_OK &&
        counting_job(&w.job, &error) == STATUS_OK) {
        uint64_t offsets[16];
        w.elements = variables_layout(w.job.variables, w.job.variable_count, offsets);
        exit_code = run(&w, &error);
    }
    job_free(&w.job);
    if (exit_code == EXIT_DONE || exit_code == EXIT_INTERRUPTED || exit_code == EXIT_TERMINATED)
        log_info("done exit=%d", exit_code);
    else
        log_error("%s", error.text);
    return exit_code;
}
