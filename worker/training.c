/* training.c - the next node, its gradient, its wait, its push. */

#include "worker/training.h"

#include "common/base/clock.h"
#include "common/process/log.h"

enum status training_node(struct training *training, const struct trainer_work *work,
                          const float *parameters, struct push *push, float *gradient,
                          const struct ready *ready, struct error *error)
{
    struct training *t = training;
    const struct step_shape *shape = &work->shape;
    /* Controlled time runs since throttle_begin, and so does the counted time. */
    uint64_t began_ns = t->throttle.fresh ? t->throttle.due_ns : clock_now_ns();
    push->early_us = node_gradient_begun_us(t->gradient);
    enum status status = node_gradient_compute(t->gradient, parameters, shape, push->node, gradient,
                                               &push->score, ready, error);
    throttle_node(&t->throttle, shape, push->node, t->gradient->leaf_ns, clock_now_ns());
    t->rest(t->context, t->throttle.due_ns);
    push->leaves = t->throttle.leaves;
    push->longer = t->throttle.longer;
    push->leaf_ns = node_gradient_sample(t->gradient, shape, push->node);
    push->compute_us = push->early_us + (clock_now_ns() - began_ns) / 1000;
    return status;
}

/* --- with servers -------------------------------------------------------------------------- */

/* false */
static bool fail(struct client *client, enum status status, const struct error *error)
{
    client_fail(client, trainer_exit_code(status), error->text);
    return false;
}

/* False when this worker cannot go on. */
static bool evaluate(struct training *t, struct client *client, const struct trainer_work *work)
{
    struct score score = {0};
    struct error error;
    uint64_t began_us = clock_now_us();
    enum status status = node_gradient_evaluate(t->gradient, client_scored(client), work->shares,
                                                work->share, &score, &error);
    if (status != STATUS_OK)
        return fail(client, status, &error);
    client_evaluation(client, &score, clock_now_us() - began_us);
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
static bool may_leave_early(const struct training *t, bool last)
{
    return t->overlap && last && job_mode(t->job)->steps && compute_time_is_free(&t->throttle.time);
}

/* Where parameters arrive piece by piece the forward pass begins with the first. */
static bool may_begin_early(const struct training *t)
{
    return t->overlap && t->gradient->source->kind->begin != NULL &&
           compute_time_is_free(&t->throttle.time);
}

/* Compute and push one node; false when this worker cannot go on. */
static bool train_node(struct training *t, struct client *client, const struct trainer_work *work)
{
    struct error error;
    struct push push = trainer_next(client_trainer(client));
    struct frame *gradient = client_gradient(client);
    if (gradient == NULL) {
        client_fail(client, EXIT_TRAINING_FAILED, "out of memory for a gradient");
        return false;
    }
    const struct coming coming = {client, &push, gradient};
    const struct ready ready = {send_ready, (void *)(uintptr_t)&coming};
    enum status status = training_node(t, work, client_parameters(client), &push, gradient->data,
                                       may_leave_early(t, push.last) ? &ready : NULL, &error);
    if (!trainer_may_push(client_trainer(client), status, &push))
        return fail(client, status, &error);
    if (push.bad) /* One bad batch is no end: the job counts them. */
        log_warning("skipped: %s", error.text);
    client_push(client, &push, push.bad ? NULL : gradient);
    return true;
}

/* With the step's first leaf, as far as its parameters are here. */
static void begin_early(struct training *t, struct client *client, const struct trainer_work *work)
{
    if (work->node_count == 0)
        return;
    if (!work->begun)
        node_gradient_begin(t->gradient, &work->shape, work->nodes[0]);
    client_begin_at(client,
                    node_gradient_go_on(t->gradient, client_parameters(client), work->early));
}

static bool train_step(struct training *t, struct client *client, const struct trainer_work *work)
{
    if (!work->begun)
        node_gradient_forget(t->gradient);
    throttle_begin(&t->throttle, clock_now_ns());
    for (uint32_t i = 0; i < work->node_count; i++)
        if (!train_node(t, client, work))
            return false;
    if (may_begin_early(t))
        client_begin_at(client, 1); /* It then says what the first layer needs. */
    return true;
}

/* False when this worker cannot go on. */
static bool do_work(struct training *t, struct client *client, const struct trainer_work *work)
{
    if (work->early > 0)
        begin_early(t, client, work);
    else if (work->shares > 0)
        return evaluate(t, client, work);
    else if (!work->enough)
        return train_step(t, client, work);
    return true;
}

static void rest(void *client, uint64_t due_ns)
{
    client_rest(client, due_ns);
}

void training_run(struct training *training, struct client *client)
{
    struct trainer_work work;
    training->rest = rest;
    training->context = client;
    while (client_next(client, &work) == STATUS_OK && do_work(training, client, &work)) {
    }
}
