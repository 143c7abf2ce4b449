/* simulated_work.h - what simulated workers compute instead of training a network, and the same
 * work done serially, to compare with.
 *
 * Three kinds of gradient, each a sum over a leaf's examples:
 *   WORK_EXACT    small integers that depend on (seed, step, leaf, element): with sgd at a learning
 *                 rate of a power of two every sum is exact, whatever the order
 *   WORK_UNIFORM  the same integer for every element, so that a torn chunk shows
 *   WORK_MIXED    floats that also depend on the parameters, so that a leaf computed from mixed
 *                 versions, or from the wrong one, shows in the bits
 *
 * Threads: one. */

#ifndef DEPLOY_VERIFY_SIMULATED_WORK_H
#define DEPLOY_VERIFY_SIMULATED_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/job/job.h"
#include "common/job/tree.h"
#include "common/store/checkpoint.h"
#include "deploy/engine/computing.h"
#include "ps/work/policy.h"

enum work_kind { WORK_EXACT, WORK_UNIFORM, WORK_MIXED, WORK_KIND_COUNT };

struct simulated_work {
    const struct job *job;
    enum work_kind kind;
    uint32_t bad_one_in; /* Async: one of so many batches has no finite gradient; 0: none. */
    uint64_t says_us;    /* What workers say that a node took. */
    uint64_t elements;   /* Of the parameter space. */
    uint8_t *used;       /* [elements] 0 in the gaps between variables. */
};

enum status simulated_work_init(struct simulated_work *work, const struct job *job,
                                enum work_kind kind);
void simulated_work_free(struct simulated_work *work);

/* What the workers of a cluster compute; its context is `work`. Their scores add up. */
struct computing simulated_work_computing(struct simulated_work *work);

/* The policy of jobs that have one: each gradient is applied, at a rate that follows from its count. */
extern const struct policy simulated_work_policy;

/* Whether a batch is one that cannot be computed; the same for whoever tries. */
bool simulated_work_is_bad(const struct simulated_work *work, uint64_t step);

/* The sum over one leaf, from an integer for all kinds but WORK_MIXED. */
int simulated_work_integer(const struct simulated_work *work, uint64_t step, uint32_t leaf,
                           uint64_t element);

/* The gradient of a node of the step's tree into out[elements]; of its leaves that count, of which there
 * are some. A leaf is the same whether its own batch has it or a step that is made of what was dropped. */
void simulated_work_node(const struct simulated_work *work, const struct step_shape *shape,
                         struct node node, const float *parameters, float *out);

/* --- a model that one process trains --------------------------------------------------------- */

struct model_state {
    float *arrays[CHECKPOINT_ARRAYS_MAX]; /* [1 + slot_count][elements] values, then slots. */
    uint32_t array_count;
    uint64_t elements;
    uint64_t *offsets; /* [variable_count] where each variable starts. */
    uint32_t variable_count;
    double
        differs; /* The most that one of its updates did from the serial model (serial_model.h). */
};

/* Version 0 of the job's model. */
enum status model_state_init(struct model_state *state, const struct job *job);
enum status model_state_copy(struct model_state *to, const struct model_state *from);
void model_state_free(struct model_state *state);

/* One update of elements [first, first + count). */
struct model_update {
    uint64_t version;             /* From this one to the next. */
    uint64_t batches;             /* That there were before the last one in it. */
    uint64_t staleness;           /* Of the gradient. */
    float rate;                   /* Of a policy; 0: there is none. */
    uint32_t examples, gradients; /* In the sum; batches that it is of. */
    uint64_t first, count;
    const float *gradient; /* [count] */
    const float *base;     /* [count] what it was computed from; NULL where that is the values. */
};
void model_state_apply(struct model_state *state, const struct job *job,
                       const struct model_update *update);
/* The two halves of it: the gradient, compensated, into out[count]; and an update by what is given. */
void model_state_compensate(struct model_state *state, const struct job *job,
                            const struct model_update *update, float *out);
void model_state_make(struct model_state *state, const struct job *job,
                      const struct model_update *update);

/* Make a step from the state as it is. gradient: [elements] scratch. */
void model_state_step(struct model_state *state, const struct simulated_work *work,
                      const struct step_shape *shape, float *gradient);

#endif
