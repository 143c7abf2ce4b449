/* trainer.c - client_next, compute, wait under controlled time, push. */

#include "worker/trainer.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/job/l2.h"
#include "common/process/log.h"
#include "worker/mode/follow_mode.h"

/* false */
static bool fail(const struct trainer *t, enum status status, const struct error *error)
{
    client_fail(t->client, status == STATUS_PROGRAM ? EXIT_PROGRAM : EXIT_TRAINING_FAILED,
                error->text);
    return false;
}

/* False when this worker cannot go on. */
static bool evaluate(struct trainer *t, const struct work *work)
{
    struct score score = {0};
    struct error error;
    uint64_t began_us = clock_now_us();
    enum status status = node_gradient_evaluate(t->gradient, client_scored(t->client), work->shares,
                                                work->share, &score, &error);
    if (status != STATUS_OK)
        return fail(t, status, &error);
    double regularisation =
        work->share == 0 && t->job->l2 > 0.0f ? l2_loss(t->job, client_scored(t->client)) : 0;
    client_evaluation(t->client, work, &score, regularisation, clock_now_us() - began_us);
    return true;
}

/* The gradient being computed. */
struct coming {
    struct client *client;
    const struct push *push;
    struct frame *gradient;
};

static void send_ready(void *context, uint64_t first)
{
    const struct coming *coming = context;
    client_ready(coming->client, coming->push, coming->gradient, first);
}

/* The parameters are needed until the last node of the step; and under controlled time nothing
 * leaves before it has passed. */
static bool may_leave_early(const struct trainer *t, bool last)
{
    return t->overlap && last && !job_mode(t->job)->may_skip &&
           compute_time_is_free(&t->throttle.time);
}

/* Where parameters arrive piece by piece the forward pass begins with the first. */
static bool may_begin_early(const struct trainer *t)
{
    return t->overlap && t->gradient->source->kind->begin != NULL &&
           compute_time_is_free(&t->throttle.time);
}

/* Compute and push one node; false when this worker cannot go on. */
static bool train_node(struct trainer *t, const struct work *work, struct node node, bool last)
{
    struct error error;
    const struct step_shape *shape = &work->shape;
    struct push push = {.step = shape->step, .node = node, .last = last};
    push.examples = step_shape_examples(shape, t->job, node);
    struct frame *gradient = client_gradient(t->client);
    if (gradient == NULL) {
        client_fail(t->client, EXIT_TRAINING_FAILED, "out of memory for a gradient");
        return false;
    }
    const struct coming coming = {t->client, &push, gradient};
    const struct ready ready = {send_ready, (void *)(uintptr_t)&coming};
    /* Controlled time runs since throttle_begin, and so does the counted time. */
    uint64_t began_ns = t->throttle.fresh ? t->throttle.due_ns : clock_now_ns();
    push.early_us = node_gradient_begun_us(t->gradient);
    enum status status = node_gradient_compute_ready(
        t->gradient, client_parameters(t->client), shape, node, gradient->data, &push.score,
        may_leave_early(t, last) ? &ready : NULL, &error);
    throttle_node(&t->throttle, shape, node, t->gradient->leaf_ns, clock_now_ns());
    client_rest(t->client, t->throttle.due_ns);
    push.leaves = t->throttle.leaves;
    push.longer = t->throttle.longer;
    push.leaf_ns = node_gradient_sample(t->gradient, shape, node);
    push.compute_us = push.early_us + (clock_now_ns() - began_ns) / 1000;
    if (status == STATUS_DIVERGED && job_mode(t->job)->may_skip) {
        /* One bad batch is no end: the job counts them. */
        log_warning("skipped: %s", error.text);
        push.bad = true;
        memset(&push.score, 0, sizeof push.score);
        gradient = NULL;
    } else if (status != STATUS_OK) {
        return fail(t, status, &error);
    }
    client_push(t->client, &push, gradient);
    return true;
}

/* This worker's nodes of the step: how many. */
static uint32_t nodes_of(const struct trainer *t, const struct work *work,
                         struct node nodes[TREE_COVER_MAX])
{
    uint32_t count = follow_mode_of(t->job)->nodes(work->shape.batch.leaves, work->members,
                                                   work->position, nodes);
    return work->shape.set != NULL ? leaf_set_keep(work->shape.set, nodes, count) : count;
}

/* With the step's first leaf, as far as its parameters are here. */
static void begin_early(struct trainer *t, const struct work *work)
{
    struct node nodes[TREE_COVER_MAX];
    if (nodes_of(t, work, nodes) == 0)
        return;
    if (!work->begun)
        node_gradient_begin(t->gradient, &work->shape, nodes[0]);
    client_begin_at(t->client,
                    node_gradient_go_on(t->gradient, client_parameters(t->client), work->early));
}

static bool train_step(struct trainer *t, const struct work *work)
{
    struct node nodes[TREE_COVER_MAX];
    uint32_t count = nodes_of(t, work, nodes);
    if (!work->begun)
        node_gradient_forget(t->gradient);
    throttle_begin(&t->throttle, clock_now_ns());
    if (count == 0) { /* Stand by: nothing to compute, but it needs the next parameters. */
        struct push pull = {.step = work->shape.step, .last = true};
        client_push(t->client, &pull, NULL);
    }
    for (uint32_t i = 0; i < count; i++)
        if (!train_node(t, work, nodes[i], i + 1 == count))
            return false;
    if (may_begin_early(t))
        client_begin_at(t->client, 1); /* It then says what the first layer needs. */
    return true;
}

/* False when this worker cannot go on. */
static bool do_work(struct trainer *t, const struct work *work)
{
    if (work->early == 0 && work->shares > 0)
        return evaluate(t, work);
    if (work->early == 0 && !work->enough)
        return train_step(t, work);
    if (work->early > 0)
        begin_early(t, work);
    else
        client_done(t->client);
    return true;
}

void trainer_run(struct trainer *t)
{
    struct work work;
    while (client_next(t->client, &work) == STATUS_OK && do_work(t, &work)) {
    }
}
