#include "worker/trainer.h"

#include <time.h>

#include "common/clock.h"

/* Sleep so long that what took `took_us` takes factor times as long. */
static void slow_down(double factor, uint64_t took_us)
{
    if (factor <= 1)
        return;
    uint64_t extra_ns = (uint64_t)((factor - 1) * (double)took_us * 1e3);
    struct timespec rest = {(time_t)(extra_ns / 1000000000u), (long)(extra_ns % 1000000000u)};
    nanosleep(&rest, NULL);
}

/* Among how many the test set is shared, and which share is this worker's. In sync mode those who
 * never have a leaf may lag behind the epoch's last version, so only the others score; false for
 * a worker that does not. */
static bool test_share(const struct trainer *t, const struct work *work, uint32_t *members,
                       uint32_t *position)
{
    uint32_t leaves = job_leaves_max(t->job);
    *members = work->members;
    *position = work->position;
    if (t->job->mode != MODE_SYNC || work->members <= leaves)
        return true;
    struct node run = tree_run(leaves, work->members, work->position);
    *members = leaves; /* More workers than leaves: a run is one leaf or none. */
    *position = run.first_leaf;
    return run.leaf_count > 0;
}

/* Score this worker's share for the epochs after `scored`. An async worker so slow that it had no
 * batch in a whole epoch owes more than one, and has but one set of parameters to show for them. */
static void evaluate(struct trainer *t, const struct work *work, uint64_t scored, uint64_t ended)
{
    struct score score = {0};
    uint32_t members, position;
    uint64_t began_us = clock_now_us();
    if (!test_share(t, work, &members, &position))
        return;
    node_gradient_evaluate(t->gradient, client_parameters(t->client), members, position, &score);
    uint64_t took_us = clock_now_us() - began_us;
    for (uint64_t epoch = scored + 1; epoch <= ended; epoch++)
        client_evaluation(t->client, epoch, work->step, &score, epoch == ended ? took_us : 0);
}

/* Compute and push one node; false when this worker cannot go on. */
static bool train_node(struct trainer *t, const struct work *work, struct node node, bool last)
{
    struct error error;
    struct push push = {.step = work->step, .node = node, .last = last};
    push.examples =
        job_node_examples(t->job, job_batch(t->job, work->step), node.first_leaf, node.leaf_count);
    struct frame *gradient = client_gradient(t->client);
    if (gradient == NULL) {
        client_fail(t->client, EXIT_TRAINING_FAILED, "out of memory for a gradient");
        return false;
    }
    uint64_t began_us = clock_now_us();
    if (node_gradient_compute(t->gradient, client_parameters(t->client), work->step, node,
                              gradient->data, &push.score, &error) != STATUS_OK) {
        client_fail(t->client, EXIT_TRAINING_FAILED, error.text);
        return false;
    }
    slow_down(t->slow, clock_now_us() - began_us);
    push.compute_us = clock_now_us() - began_us;
    client_push(t->client, &push, gradient);
    return true;
}

static bool train_step(struct trainer *t, const struct work *work)
{
    struct node nodes[TREE_COVER_MAX];
    uint32_t leaves = job_batch(t->job, work->step).leaves, count;
    if (t->job->mode == MODE_SYNC) {
        struct node run = tree_run(leaves, work->members, work->position);
        count = tree_cover(leaves, run.first_leaf, run.leaf_count, nodes);
    } else {
        nodes[0] = tree_root(leaves);
        count = 1;
    }
    if (count == 0) { /* Stand by: nothing to compute, but the next parameters are wanted. */
        struct push pull = {.step = work->step, .last = true};
        client_push(t->client, &pull, NULL);
    }
    for (uint32_t i = 0; i < count; i++)
        if (!train_node(t, work, nodes[i], i + 1 == count))
            return false;
    return true;
}

void trainer_run(struct trainer *t)
{
    struct work work;
    uint64_t epoch_steps = job_steps_per_epoch(t->job);
    uint64_t scored = UINT64_MAX; /* Epochs ended and scored, once work has come. */
    while (client_next(t->client, &work) == STATUS_OK) {
        /* Epochs that have ended before this step. A job that ends within one scores it too. */
        uint64_t ended = work.step / epoch_steps;
        if (work.enough && work.step == t->job->steps)
            ended = (work.step + epoch_steps - 1) / epoch_steps;
        if (scored == UINT64_MAX)
            scored = work.started / epoch_steps;
        if (ended > scored) {
            evaluate(t, &work, scored, ended);
            scored = ended;
        }
        if (work.enough) {
            client_done(t->client);
            return;
        }
        if (!train_step(t, &work))
            return;
    }
}
