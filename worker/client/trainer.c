/* trainer.c - messages about work become nodes to compute, and what was computed becomes messages. */

#include "worker/client/trainer.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/job/l2.h"
#include "worker/mode/follow_mode.h"

void trainer_free(struct trainer *trainer)
{
    frame_release(trainer->sets);
    trainer->sets = NULL;
}

/* --- what it is given ---------------------------------------------------------------------- */

struct trainer_work trainer_expect(struct trainer *trainer, uint64_t step)
{
    const struct trainer *t = trainer;
    struct trainer_work work = {.step = step};
    work.shape = step_shape_in(t->job, step, t->sets, &trainer->set);
    work.node_count = follow_mode_of(t->job)->nodes(work.shape.batch.leaves, t->start.members,
                                                    t->start.position, work.nodes);
    if (work.shape.set != NULL)
        work.node_count = leaf_set_keep(work.shape.set, work.nodes, work.node_count);
    return work;
}

/* Nothing to compute, but it needs the next parameters. */
static void stand_by(struct trainer *t, struct outbox *to_session)
{
    const struct push pull = {.step = t->work.step, .last = true};
    trainer_push(t, &pull, NULL, to_session);
}

static void take_step(struct trainer *t, uint64_t step, uint32_t refusals,
                      struct outbox *to_session)
{
    t->work = trainer_expect(t, step);
    t->work.shape.refusals = refusals;
    t->node_next = 0;
    t->state = TRAINER_COMPUTES;
    event(to_session->listener, EVENT_GIVEN, .step = step);
    if (t->work.node_count == 0)
        stand_by(t, to_session);
}

static void take_work(struct trainer *t, const struct message_work *work, uint32_t refusals,
                      struct outbox *to_session)
{
    if (work->scored > 0) {
        t->work = (struct trainer_work){
            .step = work->scored, .share = work->share, .shares = work->shares};
        t->state = TRAINER_SCORES;
        event(to_session->listener, EVENT_SCORES, .step = work->scored);
    } else if (work->enough) {
        t->work = (struct trainer_work){.step = work->batch, .enough = true};
        outbox_add(to_session, TO_SERVER, MESSAGE_DONE)->message.done.step = work->batch;
    } else {
        take_step(t, work->batch, refusals, to_session);
    }
}

void trainer_take(struct trainer *trainer, struct packet *packet, uint32_t refusals,
                  struct outbox *to_session)
{
    struct trainer *t = trainer;
    const struct message *message = &packet->message;
    assert(t->state == TRAINER_IDLE || t->state == TRAINER_FAILED ||
           message->kind == MESSAGE_FINISHED);
    if (message->kind == MESSAGE_FINISHED) {
        t->exit_code = (int)message->stop.exit_code;
        snprintf(t->reason, sizeof t->reason, "%s", message->stop.reason);
        t->state = TRAINER_OVER;
    } else if (t->state == TRAINER_IDLE && message->kind == MESSAGE_START) {
        t->start = message->start;
        frame_release(t->sets);
        t->sets = packet->payload;
        packet->payload = NULL;
    } else if (t->state == TRAINER_IDLE) {
        assert(message->kind == MESSAGE_WORK);
        take_work(t, &message->work, refusals, to_session);
    }
    frame_release(packet->payload);
    packet->payload = NULL;
}

/* --- what it says -------------------------------------------------------------------------- */

struct push trainer_next(const struct trainer *trainer)
{
    const struct trainer_work *work = &trainer->work;
    assert(trainer->state == TRAINER_COMPUTES && trainer->node_next < work->node_count);
    struct node node = work->nodes[trainer->node_next];
    return (struct push){.step = work->step,
                         .node = node,
                         .examples = step_shape_examples(&work->shape, trainer->job, node),
                         .last = trainer->node_next + 1 == work->node_count};
}

bool trainer_may_push(const struct trainer *trainer, enum status status, struct push *push)
{
    push->bad = status == STATUS_DIVERGED && !job_mode(trainer->job)->steps;
    if (push->bad)
        push->score = (struct score){0};
    return status == STATUS_OK || push->bad;
}

struct message_exchange push_exchange(const struct push *push, bool gradient)
{
    return (struct message_exchange){
        .step = push->step,
        .gradient = gradient,
        .skip = push->bad,
        .node = push->node,
        .examples = push->examples,
        .want = push->last,
    };
}

static void note_gradient(const struct push *push, bool given, const struct listener *listener)
{
    event(listener,
          push->bad ? EVENT_LEFT_OUT
          : given   ? EVENT_COMPUTED
                    : EVENT_STANDS,
          .step = push->step, .node = push->node, .examples = push->examples,
          .loss_sum = push->score.loss, .correct = push->score.correct, .us = push->compute_us,
          .early_us = push->early_us);
}

void trainer_push(struct trainer *trainer, const struct push *push, struct frame *gradient,
                  struct outbox *to_session)
{
    note_gradient(push, gradient != NULL, to_session->listener);
    struct packet *packet = outbox_add(to_session, TO_SERVER, MESSAGE_EXCHANGE);
    struct message_exchange *exchange = &packet->message.exchange;
    packet->payload = gradient != NULL ? frame_retain(gradient) : NULL;
    *exchange = push_exchange(push, gradient != NULL);
    exchange->has_report = gradient != NULL || push->bad;
    exchange->report = (struct message_report){
        .step = push->step,
        .node = push->node,
        .loss = push->score.loss,
        .correct = push->score.correct,
        .examples = push->score.examples,
        .times.compute_us = push->compute_us,
        .leaves = push->leaves,
        .longer = push->longer,
        .leaf_ns = push->leaf_ns,
        .bad = push->bad,
    };
    trainer->node_next++;
    if (push->last)
        trainer->state = TRAINER_IDLE;
}

void trainer_scored(struct trainer *trainer, const struct score *score, const float *values,
                    uint64_t took_us, struct outbox *to_session)
{
    const struct trainer_work *work = &trainer->work;
    bool regularised = work->share == 0 && trainer->job->l2 > 0.0f;
    outbox_add(to_session, TO_SERVER, MESSAGE_EVALUATION)->message.evaluation =
        (struct message_evaluation){
            .step = work->step,
            .share = work->share,
            .shares = work->shares,
            .loss = score->loss,
            .correct = score->correct,
            .examples = score->examples,
            .not_finite = score->not_finite,
            .regularisation = regularised ? l2_loss(trainer->job, values) : 0,
            .took_us = took_us,
        };
    event(to_session->listener, EVENT_SCORED, .step = work->step, .examples = score->examples,
          .loss_sum = score->loss, .correct = score->correct, .us = took_us);
    trainer->state = TRAINER_IDLE;
}

int trainer_exit_code(enum status status)
{
    return status == STATUS_PROGRAM ? EXIT_PROGRAM : EXIT_TRAINING_FAILED;
}

void trainer_fail(struct trainer *trainer, int exit_code, const char *reason,
                  struct outbox *to_session)
{
    struct message *stop = &outbox_add(to_session, TO_SERVER, MESSAGE_STOP)->message;
    stop->stop.exit_code = (uint32_t)exit_code;
    snprintf(stop->stop.reason, MESSAGE_TEXT_MAX, "%s", reason);
    trainer->state = TRAINER_FAILED;
}
