/* simulated_worker.c - worker/trainer.c once more, with an event in place of each computation. */

#include "deploy/verify/simulated_worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/process/log.h"
#include "worker/mode/follow_mode.h"

enum status simulated_worker_init(struct simulated_worker *worker, uint32_t index, uint32_t process,
                                  uint64_t incarnation, const struct simulated_work *work,
                                  const struct partition *partition, struct witness *witness,
                                  struct deadlines deadlines, uint64_t now_us)
{
    memset(worker, 0, sizeof *worker);
    worker->index = index;
    worker->process = process;
    worker->work = work;
    worker->witness = witness;
    worker->parameters = calloc(work->elements, sizeof *worker->parameters);
    if (worker->parameters == NULL)
        return STATUS_MEMORY;
    struct session_options options = {
        .self.index = index,
        .self.incarnation = incarnation,
        .job = work->job,
        .partition = partition,
        .parameters = worker->parameters,
        .self.host = "simulated",
        .self.arithmetic = "simulated",
        .self.deadlines = deadlines,
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

/* This worker's share of the score; made up, but the shares add up. */
static void report_share(struct simulated_worker *w, struct outbox *to_session)
{
    const struct message_work *score = &w->score;
    uint64_t n = w->work->job->test_examples;
    uint64_t from = n * score->share / score->shares, to = n * (score->share + 1) / score->shares;
    witness_scored(w->witness, w->process, w->score_generation, score, session_scored(w->session));
    outbox_add(to_session, TO_SERVER, MESSAGE_EVALUATION)->message.evaluation =
        (struct message_evaluation){.step = score->scored,
                                    .share = score->share,
                                    .shares = score->shares,
                                    .loss = (int64_t)(to - from) << 20,
                                    .correct = to - from,
                                    .examples = to - from,
                                    .took_us = 10};
    w->score = (struct message_work){0};
    w->computing = false;
}

static void choose_nodes(struct simulated_worker *w)
{
    const struct job *job = w->work->job;
    w->node_next = 0;
    w->node_count =
        follow_mode_of(job)->nodes(job, w->step, w->start.members, w->start.position, w->nodes);
    for (uint32_t i = 0; job_mode(job)->steps && i < w->node_count; i++)
        witness_leases(w->witness, w->process, w->start.assignment, w->step, w->nodes[i]);
}

static void stand_by(struct simulated_worker *w, struct outbox *to_session)
{
    outbox_add(to_session, TO_SERVER, MESSAGE_EXCHANGE)->message.exchange =
        (struct message_exchange){.step = w->step, .want = true};
}

static void take_work(struct simulated_worker *w, uint64_t step, bool enough,
                      struct outbox *to_session)
{
    witness_work(w->witness, w->process, step, enough, session_parameters(w->session));
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

/* Scoring takes its time, as a gradient does. */
static void take_share(struct simulated_worker *w, const struct message *message)
{
    w->score = message->work;
    w->score_generation = message->generation;
    witness_scored(w->witness, w->process, w->score_generation, &w->score,
                   session_scored(w->session));
    w->computing = true;
}

static void take_start(struct simulated_worker *w, const struct message *message)
{
    w->start = message->start;
    witness_start(w->witness, w->process, message);
}

void simulated_worker_take(struct simulated_worker *worker, struct packet *packet,
                           struct outbox *to_session)
{
    const struct message *message = &packet->message;
    if (worker->over)
        witness_fail(worker->witness, "worker/%u is told something after the end", worker->index);
    else if (message->kind == MESSAGE_FINISHED)
        worker->over = true;
    else if (worker->computing)
        witness_fail(worker->witness, "worker/%u is told something while it computes",
                     worker->index);
    else if (message->kind == MESSAGE_START)
        take_start(worker, message);
    else if (message->kind == MESSAGE_WORK && message->work.scored > 0)
        take_share(worker, message);
    else if (message->kind == MESSAGE_WORK)
        take_work(worker, message->work.batch, message->work.enough, to_session);
    if (worker->over)
        worker->computing = false;
    frame_release(packet->payload);
    packet->payload = NULL;
}

static void push(struct simulated_worker *w, struct node node, uint64_t took_us,
                 struct packet *packet)
{
    const struct job *job = w->work->job;
    bool bad = simulated_work_is_bad(w->work, w->step);
    uint32_t examples =
        job_node_examples(job, job_batch(job, w->step), node.first_leaf, node.leaf_count);
    packet->message.exchange =
        (struct message_exchange){.step = w->step,
                                  .gradient = !bad,
                                  .skip = bad,
                                  .node = node,
                                  .examples = examples,
                                  .want = w->node_next == w->node_count,
                                  .has_report = true,
                                  .report = {.step = w->step,
                                             .node = node,
                                             .loss = bad ? 0 : (int64_t)examples << 20,
                                             .correct = bad ? 0 : examples / 2,
                                             .examples = bad ? 0 : examples,
                                             .compute_us = took_us,
                                             .bad = bad}};
    if (bad)
        return;
    struct frame *gradient = free_gradient(w);
    simulated_work_node(w->work, w->step, node, session_parameters(w->session), gradient->data);
    packet->payload = frame_retain(gradient);
}

void simulated_worker_compute(struct simulated_worker *worker, uint64_t took_us,
                              struct outbox *to_session)
{
    struct simulated_worker *w = worker;
    if (!w->computing)
        return;
    if (w->score.shares > 0) {
        report_share(w, to_session);
        return;
    }
    struct node node = w->nodes[w->node_next++];
    witness_computed(w->witness, w->process, session_parameters(w->session));
    push(w, node, took_us, outbox_add(to_session, TO_SERVER, MESSAGE_EXCHANGE));
    w->computing = w->node_next < w->node_count;
}
