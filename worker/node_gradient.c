/* node_gradient.c - walks the node's subtree, computes a leaf at each end and adds right sums to
 * left ones; one gradient of scratch for each level. */

#include "worker/node_gradient.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/job/job_score.h"
#include "common/kernels/kernels.h"

enum status node_gradient_init(struct node_gradient *node_gradient, const struct job *job,
                               struct source *source)
{
    memset(node_gradient, 0, sizeof *node_gradient);
    node_gradient->job = job;
    node_gradient->source = source;
    enum status status = STATUS_OK;
    if (source->examples > 0)
        status = order_init(&node_gradient->order, job->seed, source->examples);
    node_gradient->leaf_ns = calloc(job_leaves_max(job), sizeof *node_gradient->leaf_ns);
    if (status == STATUS_OK && node_gradient->leaf_ns != NULL)
        return STATUS_OK;
    node_gradient_free(node_gradient);
    return STATUS_MEMORY;
}

void node_gradient_free(struct node_gradient *node_gradient)
{
    order_free(&node_gradient->order);
    free(node_gradient->leaf_ns);
    for (unsigned i = 0; i < TREE_DEPTH_MAX; i++)
        free(node_gradient->right[i]);
    memset(node_gradient, 0, sizeof *node_gradient);
}

static enum status diverged(uint64_t step, uint32_t leaf, struct error *error)
{
    return error_set(error, STATUS_DIVERGED,
                     "training diverged: the gradient of step %llu, leaf %u is not finite",
                     (unsigned long long)step, leaf);
}

static struct source_leaf leaf_of(struct node_gradient *g, const struct step_shape *shape,
                                  uint32_t leaf)
{
    uint64_t first;
    uint32_t count = step_shape_leaf(shape, g->job, leaf, &first);
    return (struct source_leaf){
        .batch = shape->step,
        .epoch = shape->batch.epoch,
        .leaf = leaf,
        .count = count,
        .examples = g->source->examples > 0
                        ? order_places(&g->order, shape->batch.epoch, first, count)
                        : NULL,
    };
}

static bool is_begun(const struct node_gradient *g, const struct step_shape *shape, uint32_t leaf)
{
    return g->begun && g->begun_step == shape->step && g->begun_leaf == leaf;
}

static enum status compute_leaf(struct node_gradient *g, const float *parameters,
                                const struct step_shape *shape, uint32_t leaf, float *gradient,
                                struct score *score, const struct ready *ready, struct error *error)
{
    struct source_leaf what = leaf_of(g, shape, leaf);
    what.begun = is_begun(g, shape, leaf);
    what.fresh = g->fresh;
    g->begun = g->fresh = false;
    enum status status =
        source_gradient(g->source, parameters, &what, gradient, score, ready, error);
    return status == STATUS_OK && score->not_finite > 0 ? diverged(shape->step, leaf, error)
                                                        : status;
}

/* The time since the leaf before ended is this one's. */
static void note_time(struct node_gradient *g, uint32_t leaf)
{
    uint64_t now_ns = clock_now_ns();
    g->leaf_ns[leaf] += now_ns - g->mark_ns;
    g->mark_ns = now_ns;
}

static bool has_some(const struct leaf_set *set, struct node node)
{
    return set == NULL || leaf_set_count(set, node) > 0;
}

/* A left sum while its right sum is being made: the finished part is added at once. */
struct joining {
    float *left;
    const float *right;
    uint64_t joined; /* From this element on. */
    const struct ready *ready;
};

static void join_from(struct joining *joining, uint64_t first)
{
    kernels_add(joining->left + first, joining->right + first, joining->joined - first);
    joining->joined = first;
}

static void join_ready(void *context, uint64_t first)
{
    struct joining *joining = context;
    join_from(joining, first);
    joining->ready->tell(joining->ready->context, first);
}

static enum status compute(struct node_gradient *g, const float *parameters,
                           const struct step_shape *shape, struct node node, unsigned depth,
                           float *gradient, struct score *score, const struct ready *ready,
                           struct error *error)
{
    if (node.leaf_count == 1) {
        enum status computed =
            compute_leaf(g, parameters, shape, node.first_leaf, gradient, score, ready, error);
        note_time(g, node.first_leaf - g->first_leaf);
        return computed;
    }
    struct node left, right;
    tree_children(node, &left, &right);
    if (!has_some(shape->set, left) ||
        !has_some(shape->set, right)) /* An absent part is not added, which is as adding zeros. */
        return compute(g, parameters, shape, has_some(shape->set, left) ? left : right, depth + 1,
                       gradient, score, ready, error);
    if (g->right[depth] == NULL)
        g->right[depth] = aligned_alloc(64, g->source->elements * sizeof(float));
    if (g->right[depth] == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory for a gradient");
    struct joining joining = {gradient, g->right[depth], g->source->elements, ready};
    const struct ready join = {join_ready, &joining};
    enum status status =
        compute(g, parameters, shape, left, depth + 1, gradient, score, NULL, error);
    if (status == STATUS_OK)
        status = compute(g, parameters, shape, right, depth + 1, g->right[depth], score,
                         ready != NULL ? &join : NULL, error);
    if (status == STATUS_OK)
        join_from(&joining, 0);
    return status;
}

/* Which leaf made the sum not finite. Computing them again costs less than looking at every leaf
 * of every step; where parts were reported it cannot be done, for the parameters may be others. */
static enum status explain(struct node_gradient *g, const float *parameters,
                           const struct step_shape *shape, struct node node, float *gradient,
                           bool reported, struct error *error)
{
    uint32_t end = node.first_leaf + node.leaf_count;
    if (reported && node.leaf_count == 1)
        return diverged(shape->step, node.first_leaf, error);
    for (uint32_t leaf = node.first_leaf; leaf < end && !reported; leaf++) {
        struct score score = {0};
        if (!has_some(shape->set, (struct node){leaf, 1}))
            continue;
        enum status status =
            compute_leaf(g, parameters, shape, leaf, gradient, &score, NULL, error);
        if (status == STATUS_OK && !kernels_all_finite(gradient, g->source->elements))
            status = diverged(shape->step, leaf, error);
        if (status != STATUS_OK)
            return status;
    }
    return error_set(error, STATUS_DIVERGED,
                     "training diverged: the sum of the gradients of step %llu, leaves %u to %u is "
                     "not finite",
                     (unsigned long long)shape->step, node.first_leaf, end - 1);
}

/* What was reported of a node's gradient. */
struct report {
    const struct ready *ready;
    const float *gradient;
    const struct score *score;
    uint64_t not_finite; /* Examples, before. */
    uint64_t finite;     /* All of it is, from this element on. */
    bool stopped;
};

static void tell_ready(void *context, uint64_t first)
{
    struct report *report = context;
    report->stopped = report->stopped || report->score->not_finite > report->not_finite ||
                      !kernels_all_finite(report->gradient + first, report->finite - first);
    if (report->stopped)
        return;
    report->finite = first;
    report->ready->tell(report->ready->context, first);
}

enum status node_gradient_compute(struct node_gradient *node_gradient, const float *parameters,
                                  const struct step_shape *shape, struct node node, float *gradient,
                                  struct score *score, const struct ready *ready,
                                  struct error *error)
{
    struct node_gradient *g = node_gradient;
    memset(g->leaf_ns, 0, node.leaf_count * sizeof *g->leaf_ns);
    g->first_leaf = node.first_leaf;
    g->mark_ns = clock_now_ns();
    g->fresh = true;
    if (g->begun && g->begun_step == shape->step) /* That is the first leaf's, too. */
        g->mark_ns -= g->begun_ns;
    struct report report = {
        .ready = ready,
        .gradient = gradient,
        .score = score,
        .not_finite = score->not_finite,
        .finite = g->source->elements,
    };
    const struct ready tell = {tell_ready, &report};
    enum status status = compute(g, parameters, shape, node, 0, gradient, score,
                                 ready != NULL ? &tell : NULL, error);
    /* A sum with a part that is not finite stays so. */
    if (status == STATUS_OK && !kernels_all_finite(gradient, report.finite))
        status = explain(g, parameters, shape, node, gradient, report.finite < g->source->elements,
                         error);
    note_time(g, node.leaf_count - 1);
    return status;
}

void node_gradient_begin(struct node_gradient *node_gradient, const struct step_shape *shape,
                         struct node node)
{
    struct node_gradient *g = node_gradient;
    uint64_t began_ns = clock_now_ns();
    uint32_t leaf = node.first_leaf;
    while (!has_some(shape->set, (struct node){leaf, 1}))
        leaf++;
    const struct source_leaf what = leaf_of(g, shape, leaf);
    g->source->kind->begin(g->source, &what);
    g->begun = true;
    g->begun_step = shape->step;
    g->begun_leaf = leaf;
    g->begun_ns = clock_now_ns() - began_ns;
}

uint64_t node_gradient_go_on(struct node_gradient *node_gradient, const float *parameters,
                             uint64_t end)
{
    struct node_gradient *g = node_gradient;
    uint64_t began_ns = clock_now_ns();
    assert(g->begun);
    uint64_t needs = g->source->kind->go_on(g->source, parameters, end);
    g->begun_ns += clock_now_ns() - began_ns;
    return needs;
}

void node_gradient_forget(struct node_gradient *node_gradient)
{
    node_gradient->begun = false;
}

uint64_t node_gradient_begun_us(const struct node_gradient *node_gradient)
{
    return node_gradient->begun ? node_gradient->begun_ns / 1000 : 0;
}

/* Another leaf each step; a later leaf's time includes the sums behind it. */
uint64_t node_gradient_sample(const struct node_gradient *node_gradient,
                              const struct step_shape *shape, struct node node)
{
    const struct job *job = node_gradient->job;
    uint32_t leaf = (uint32_t)(shape->step % node.leaf_count);
    if (job_node_examples(job, shape->batch, node.first_leaf + leaf, 1) < job->micro_batch &&
        leaf > 0)
        leaf--;
    if (job_node_examples(job, shape->batch, node.first_leaf + leaf, 1) < job->micro_batch)
        return 0;
    return node_gradient->leaf_ns[leaf];
}

enum status node_gradient_evaluate(struct node_gradient *node_gradient, const float *parameters,
                                   uint32_t members, uint32_t position, struct score *score,
                                   struct error *error)
{
    struct test_share share = job_test_share(node_gradient->job, members, position);
    node_gradient->begun = false;
    return source_score(node_gradient->source, parameters, share.first, share.count, score, error);
}
