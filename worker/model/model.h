/* model.h - a network from a short layer list, its loss, and its gradient.
 *
 *     "conv 32x3 relu, pool 2, conv 64x3 relu, pool 2, flatten, dense 64 relu, dense 10"
 *
 *   conv CxK [relu]   C output channels, KxK kernel (CxKxK is accepted too), stride 1, valid
 *   pool N            max-pool NxN, stride N; the odd last row and column are dropped
 *   flatten           height, width, channel order is kept
 *   dense N [relu]
 * Presets: `cnn` (the list above), `mlp` ("flatten, dense 128 relu, dense 10"), `softmax`
 * ("flatten, dense 10"), whose last layer has an output for each class. Words may be written in any case, and a semicolon is as good as a comma;
 * the canonical text has neither. Images are height, width, channel; variables have Keras's names
 * and layouts: conv1/kernel [K,K,in,out], conv1/bias [out], dense1/kernel [in,out], dense1/bias.
 *
 * The loss is softmax cross-entropy, or the mean squared error over an example's targets. Gradients are *sums* over the examples given; the server
 * divides. The same examples in the same order give the same bits on one kind of processor,
 * whatever batch_max is, wherever the arrays lie and whatever was computed before: one thread,
 * fixed shapes, no contraction left to the compiler.
 *
 * Units: parameters and gradients are whole parameter spaces as variables_layout lays them out.
 * Ownership: a model owns its scratch memory. Threads: one model per thread. */

#ifndef WORKER_MODEL_MODEL_H
#define WORKER_MODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/job/job.h"
#include "common/job/variable.h"

/* What a set of examples scored. Integers, so that adding is exact in any order. */
struct score {
    int64_t loss; /* Sum over examples of their losses in units of 2^-24 (nats); an example's
                       * counts for at most 65536. */
    uint64_t
        correct; /* Examples whose largest logit (first of equals) is the label's; 0 of targets. */
    uint64_t examples;
    uint64_t not_finite; /* Examples whose loss was not a finite number; they add 0 to loss. */
};

#define SCORE_LOSS_UNIT 0x1p-24

struct model_input {
    uint32_t height, width, channels;
    uint32_t classes; /* Or the targets of an example. */
    bool floats;      /* Inputs are floats, used as they are; else bytes, used as byte / 255. */
    bool real;        /* Labels are targets, and the loss is the mean squared error. */
};

#define MODEL_CLASSES_MAX 65536

/* What an example is: its class, or one of its targets. */
union label {
    uint32_t class;
    float target;
};

struct model;

/* Build the network for leaves of at most `batch_max` examples. A layer list that does not parse
 * or does not fit the input is STATUS_INVALID with the layer named. The last layer must be a
 * dense (or softmax-able) layer with input.classes outputs, or more: data may lack some classes. */
enum status model_create(struct model **model, const char *text, struct model_input input,
                         uint32_t batch_max, struct error *error);
void model_destroy(struct model **model);

/* The canonical layer list (presets expanded, spaces normalised). */
const char *model_text(const struct model *model);

/* The model's variables in parameter-space order; lives as long as the model. */
const struct variable *model_variables(const struct model *model, uint32_t *count);

/* Elements of the parameter space. */
uint64_t model_elements(const struct model *model);

/* Called with a gradient while it is made, from its end to its beginning: its elements from `first` on
 * are there and will not be written again, and no parameter from there on will be read again. first
 * falls from call to call, and is where the variables of a layer begin. There is no
 * call for the end. */
struct ready {
    void (*tell)(void *context, uint64_t first);
    void *context;
};

/* Forward over a leaf whose parameters come bit by bit, the first layers' first: it begins, with as many
 * examples as model_gradient takes, and goes on with every layer whose parameters lie before element
 * `end`, which stay as they are until the gradient is computed. Returns up to which element the next
 * layer needs them; 0 when all are done. Whatever else is computed with the model ends it. */
void model_begin(struct model *model, const void *inputs, uint32_t count);
uint64_t model_go_on(struct model *model, const float *parameters, uint64_t end);

/* Forward and backward over `count` <= batch_max examples.
 * inputs: [count][height][width][channels] bytes or floats, or NULL: those that were begun with, from the
 * layer on that is next, and with the same bits. labels: [count], of targets [count][classes].
 * gradient: [elements], overwritten with the sum over the examples; gaps between variables are 0.
 * score: added to, before the first call. ready: NULL without. */
void model_gradient_ready(struct model *model, const float *parameters, const void *inputs,
                          const union label *labels, uint32_t count, float *gradient,
                          struct score *score, const struct ready *ready);

/* The same without. */
void model_gradient(struct model *model, const float *parameters, const void *inputs,
                    const union label *labels, uint32_t count, float *gradient,
                    struct score *score);

/* Forward only, any count, worked through in pieces of a constant size, so that the score does not
 * depend on batch_max. score: added to. */
void model_evaluate(struct model *model, const float *parameters, const void *inputs,
                    const union label *labels, uint64_t count, struct score *score);

#endif
