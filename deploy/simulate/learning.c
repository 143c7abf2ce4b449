/* learning.c - computing.h by node_gradient.h. */

#include "deploy/simulate/learning.h"

#include "common/base/clock.h"

static enum status compute(void *context, const struct step_shape *shape, struct node node,
                           const float *parameters, float *out, struct computing_report *report,
                           struct error *error)
{
    struct learning *learning = context;
    uint64_t began_ns = clock_now_ns();
    enum status status = node_gradient_compute(&learning->workload->gradient, parameters, shape,
                                               node, out, &report->score, NULL, error);
    learning->gradients++;
    learning->real_ns += clock_now_ns() - began_ns;
    return status;
}

static enum status score(void *context, const struct message_work *work, const float *values,
                         struct computing_report *report, struct error *error)
{
    struct learning *learning = context;
    uint64_t began_ns = clock_now_ns();
    enum status status = node_gradient_evaluate(&learning->workload->gradient, values, work->shares,
                                                work->share, &report->score, error);
    learning->score_ns += clock_now_ns() - began_ns;
    return status;
}

struct computing learning(struct learning *learning)
{
    return (struct computing){.context = learning, .gradient = compute, .score = score};
}
