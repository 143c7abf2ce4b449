#include "deploy/simulated_worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"

enum status simulated_worker_init(struct simulated_worker *worker, uint32_t index,
                                  uint64_t incarnation, const struct simulated_work *work,
                                  const struct partition *partition, struct witness *witness,
                                  double deadline, uint64_t now_us)
{
    memset(worker, 0, sizeof *worker);
    worker->index = index;
    worker->work = work;
    worker->witness = witness;
    worker->scored = UINT64_MAX;
    worker->parameters = calloc(work->elements, sizeof *worker->parameters);
    if (worker->parameters == NULL)
        return STATUS_MEMORY;
    struct session_options options = {
        .worker = index,
        .incarnation = incarnation,
        .job = work->job,
        .partition = partition,
        .parameters = worker->parameters,
        .host = "simulated",
        .arithmetic = "simulated",
        .start_timeout = deadline,
        .worker_timeout = deadline,
        .progress_timeout = deadline,
    };
    return session_create(&worker->session, &options, now_us);
}

void simulated_worker_free(struct simulated_worker *worker)
{
    session_destroy(&worker->session);
    for (uint32_t i = 0; i < worker->gradient_count; i++)
        frame_release(worker->gradients[i]);
    free(worker->parameters);
    memset(worker, 0, sizeof *worker);
}

/* A buffer that nobody reads, as client_gradient finds one. */
static struct frame *free_gradient(struct simulated_worker *w)
{
    for (uint32_t i = 0; i < w->gradient_count; i++)
        if (frame_is_unique(w->gradients[i]))
            return w->gradients[i];
    struct frame *frame = w->gradient_count < SIMULATED_GRADIENTS_MAX
                              ? frame_create(w->work->elements * sizeof(float))
                              : NULL;
    if (frame == NULL) {
        log_error("out of memory for a gradient");
        exit(EXIT_TRAINING_FAILED);
    }
    w->gradients[w->gradient_count++] = frame;
    return frame;
}

/* This worker's share of the score of an epoch; made up, but the shares add up. */
static void evaluate(struct simulated_worker *w, uint64_t epoch, uint64_t step,
                     struct outbox *to_session)
{
    uint64_t n = w->work->job->test_examples;
    uint64_t from = w->start.position * n / w->start.members;
    uint64_t to = (w->start.position + 1) * n / w->start.members;
    outbox_add(to_session, TO_SERVER, MESSAGE_EVALUATION)->message.evaluation =
        (struct message_evaluation){.epoch = epoch,
                                    .step = step,
                                    .loss = (int64_t)(to - from) << 20,
                                    .correct = to - from,
                                    .examples = to - from,
                                    .took_us = 10};
}

static void choose_nodes(struct simulated_worker *w)
{
    uint32_t leaves = job_batch(w->work->job, w->step).leaves;
    w->node_next = 0;
    if (w->work->job->mode == MODE_SYNC) {
        struct node run = tree_run(leaves, w->start.members, w->start.position);
        w->node_count = tree_cover(leaves, run.first_leaf, run.leaf_count, w->nodes);
    } else {
        w->nodes[0] = tree_root(leaves);
        w->node_count = 1;
    }
}

static void stand_by(struct simulated_worker *w, struct outbox *to_session)
{
    outbox_add(to_session, TO_SERVER, MESSAGE_EXCHANGE)->message.exchange =
        (struct message_exchange){.step = w->step, .want = true};
}

static void take_work(struct simulated_worker *w, uint64_t step, bool enough,
                      struct outbox *to_session)
{
    const struct job *job = w->work->job;
    uint64_t epoch_steps = job_steps_per_epoch(job);
    uint64_t ended = step / epoch_steps;
    witness_work(w->witness, w->index, step, enough, w->parameters);
    if (enough && step == job->steps)
        ended = (step + epoch_steps - 1) / epoch_steps;
    if (w->scored == UINT64_MAX)
        w->scored = w->start.step / epoch_steps;
    if (ended > w->scored) {
        evaluate(w, ended, step, to_session);
        w->scored = ended;
    }
    if (enough) {
        outbox_add(to_session, TO_SERVER, MESSAGE_DONE);
        return;
    }
    w->step = step;
    w->batches++;
    choose_nodes(w);
    w->computing = w->node_count > 0;
    if (!w->computing)
        stand_by(w, to_session);
}

void simulated_worker_take(struct simulated_worker *worker, struct packet *packet,
                           struct outbox *to_session)
{
    const struct message *message = &packet->message;
    if (message->kind == MESSAGE_START)
        worker->start = message->start;
    else if (message->kind == MESSAGE_WORK && worker->computing)
        witness_fail(worker->witness, "worker/%u is given work while it computes", worker->index);
    else if (message->kind == MESSAGE_WORK)
        take_work(worker, message->work.batch, message->work.enough, to_session);
    else /* FINISHED */
        worker->computing = false;
    frame_release(packet->payload);
    packet->payload = NULL;
}

static void report(const struct simulated_worker *w, struct node node, uint32_t examples,
                   uint64_t took_us, struct outbox *to_session)
{
    outbox_add(to_session, TO_SERVER, MESSAGE_REPORT)->message.report =
        (struct message_report){.step = w->step,
                                .node = node,
                                .loss = (int64_t)examples << 20,
                                .correct = examples / 2,
                                .examples = examples,
                                .compute_us = took_us};
}

void simulated_worker_compute(struct simulated_worker *worker, uint64_t took_us,
                              struct outbox *to_session)
{
    struct simulated_worker *w = worker;
    if (!w->computing)
        return;
    const struct job *job = w->work->job;
    struct node node = w->nodes[w->node_next++];
    uint32_t examples =
        job_node_examples(job, job_batch(job, w->step), node.first_leaf, node.leaf_count);
    struct frame *gradient = free_gradient(w);
    simulated_work_node(w->work, w->step, node, w->parameters, gradient->data);
    witness_computed(w->witness, w->index, w->parameters);
    report(w, node, examples, took_us, to_session);

    struct packet *packet = outbox_add(to_session, TO_SERVER, MESSAGE_EXCHANGE);
    packet->payload = frame_retain(gradient);
    packet->message.exchange = (struct message_exchange){.step = w->step,
                                                         .gradient = true,
                                                         .node = node,
                                                         .examples = examples,
                                                         .want = w->node_next == w->node_count};
    w->computing = w->node_next < w->node_count;
}
