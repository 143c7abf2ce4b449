/* node_gradient.h - the gradient of one node of a step: its leaves, summed along the step's
 * tree.
 *
 * A leaf's examples follow from (seed, epoch, step, index) alone, and each leaf is computed by
 * the same code on the same shapes, so a node has the same bits on any worker.
 *
 * Threads: one owner. Ownership: borrows job and source; owns its scratch memory. */

#ifndef WORKER_NODE_GRADIENT_H
#define WORKER_NODE_GRADIENT_H

#include <stdint.h>

#include "common/base/status.h"
#include "common/job/job.h"
#include "common/job/tree.h"
#include "common/steps/step_shape.h"
#include "worker/data/order.h"
#include "worker/source/source.h"

#define TREE_DEPTH_MAX 13 /* For TREE_LEAVES_MAX leaves. */

struct node_gradient {
    const struct job *job;
    struct source *source;
    struct example_order order;
    float *right[TREE_DEPTH_MAX]; /* [elements] right-hand sums, by depth; made when needed. */
    /* The time of each leaf of the last node, with the sums behind it. */
    uint64_t *leaf_ns;   /* [leaves of a step at most] */
    uint32_t first_leaf; /* Of that node. */
    uint64_t mark_ns;    /* The end of the leaf before. */
    bool fresh;          /* The next leaf is the first with these parameters. */
    /* The first leaf of a node whose parameters arrive piece by piece is partly computed. */
    bool begun;
    uint64_t begun_step, begun_ns; /* Of which step, and for how long. */
    uint32_t begun_leaf;
};

enum status node_gradient_init(struct node_gradient *node_gradient, const struct job *job,
                               struct source *source);
void node_gradient_free(struct node_gradient *node_gradient);

/* Sum the node's leaves in the set, of which there are some, along the pruned tree (leaf_set.h).
 * gradient: [source->elements], overwritten. score: added to. STATUS_MEMORY, or STATUS_DIVERGED
 * with the step and leaf named when a leaf's loss or gradient, or their sum, is not finite, or what
 * the source says.
 *
 * ready (may be NULL) hears of finished parts of the gradient, see model.h: while the last of its
 * leaves is computed, with the sums of all. Reported parts are finite, and so were all losses
 * before; after the first fault nothing more is reported. A faulty sum of several leaves is then
 * named as such, because the parameters may have been written since. */
enum status node_gradient_compute(struct node_gradient *node_gradient, const float *parameters,
                                  const struct step_shape *shape, struct node node, float *gradient,
                                  struct score *score, const struct ready *ready,
                                  struct error *error);

/* Parameters arrive piece by piece, the first layers' first, and the source can begin: begin with the node, and go on as
 * far as parameters before element `end` allow; those stay unchanged. Returns the element up to
 * which they are needed next; 0 when there is nothing more to do before all are here. Computing
 * this node of this step then goes on from there, with the same bits; a score ends it, and so
 * does forget. */
void node_gradient_begin(struct node_gradient *node_gradient, const struct step_shape *shape,
                         struct node node);
uint64_t node_gradient_go_on(struct node_gradient *node_gradient, const float *parameters,
                             uint64_t end);
void node_gradient_forget(struct node_gradient *node_gradient);
/* How long the begun part took. */
uint64_t node_gradient_begun_us(const struct node_gradient *node_gradient);

/* The time of one whole leaf of the last node, as a sample: another leaf each step. 0: its
 * leaves have fewer examples. */
uint64_t node_gradient_sample(const struct node_gradient *node_gradient,
                              const struct step_shape *shape, struct node node);

/* Score one member's share of the test set, see job_test_share, by its pieces. */
enum status node_gradient_evaluate(struct node_gradient *node_gradient, const float *parameters,
                                   uint32_t members, uint32_t position, struct score *score,
                                   struct error *error);

#endif
