/* optimizer.h - update rules applied by the server, one file each behind one table.
 *
 * An optimizer turns the sum of an update's gradients into new values, element by element, so an
 * element's bits never depend on its place in a chunk. Formulas and defaults are TensorFlow's; each
 * optimizer_*.c cites the kernel it follows. To add one: write optimizer_x.c with a
 * `const struct optimizer optimizer_x` and add x to the list in optimizer.c.
 *
 * Threads: constant tables and pure functions. */

#ifndef COMMON_OPTIMIZER_OPTIMIZER_H
#define COMMON_OPTIMIZER_OPTIMIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"

#define OPTIMIZER_SLOTS_MAX 2
#define OPTIMIZER_NAME_MAX  16 /* With the terminating zero. */

/* Everything a user can set, for every rule; a rule reads its own fields only. */
struct optimizer_settings {
    char name[OPTIMIZER_NAME_MAX]; /* "adam" */
    float momentum;                /* momentum, nesterov, rmsprop (0: without) */
    float beta1, beta2;            /* adam, adamw */
    float rho;                     /* rmsprop: decay of the mean square */
    float epsilon;                 /* adagrad, rmsprop, adam, adamw */
    float initial_accumulator;     /* adagrad */
    float weight_decay;            /* adamw */
};

/* One update of `count` elements. */
struct optimizer_update {
    const struct optimizer_settings *settings;
    uint64_t t;          /* This is the chunk's t-th update, from 1: version after it. */
    float learning_rate; /* The schedule's value at this version. */
    float mean_scale; /* 1 / examples, of averages (common/job/update.h); rules do not read it. */
    float scale;      /* 1 / examples in the update; the gradient is a sum over examples. */
    bool bias;        /* Elements of biases, where the rule spares them. */
    uint64_t count;   /* Elements. */
    const float *gradient;             /* [count] sum over examples. */
    const float *values_in;            /* [count] */
    float *values_out;                 /* [count]; may be values_in itself (update in place). */
    float *slots[OPTIMIZER_SLOTS_MAX]; /* [slot_count][count], updated in place. */
};

struct optimizer {
    const char *name;
    uint32_t slot_count;
    const char *slot_names[OPTIMIZER_SLOTS_MAX]; /* Names in checkpoints: "m", "v". */
    float default_learning_rate;
    struct optimizer_settings defaults;
    bool spares_biases; /* Kernels and biases differ: update_apply (update.h). */
    /* First value of every element of a slot. */
    float (*slot_initial)(const struct optimizer_settings *settings, uint32_t slot);
    void (*apply)(const struct optimizer_update *update);
};

/* The arrays that elements have beside their values, and their names in checkpoints. */
#define SLOTS_MAX (OPTIMIZER_SLOTS_MAX + 1)

struct slots {
    uint32_t count;
    const char *names[SLOTS_MAX]; /* "m", "v" */
};

/* The rule's own; those of a job are job_slots (job.h). */
struct slots optimizer_slots(const struct optimizer *optimizer);

/* The slot_initial of rules whose slots start at 0. */
static inline float optimizer_slot_zero(const struct optimizer_settings *settings, uint32_t slot)
{
    (void)settings;
    (void)slot;
    return 0.0f;
}

/* Adam's alpha of update t. */
float optimizer_adam_rate(float lr, float beta1, float beta2, uint64_t t);

/* NULL when there is none of that name. */
const struct optimizer *optimizer_find(const char *name);

/* Optimizer number `index`; NULL from the first that is not there. */
const struct optimizer *optimizer_at(unsigned index);

/* A name that ends and is a rule's. */
enum status optimizer_name_check(const char name[OPTIMIZER_NAME_MAX], struct error *error);

/* What the bounds of single fields (job_rows.inc) do not say; the name is a rule's. One that
 * divides by a root + epsilon needs epsilon > 0: an element whose gradient is 0 would become 0 /
 * 0. */
enum status optimizer_settings_check(const struct optimizer_settings *settings,
                                     struct error *error);

#endif
