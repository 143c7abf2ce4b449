/* layer.h - one kind of layer: how it is written, what variables it has, forward and backward.
 *
 * A layer kind is a file layer_x.c with a `const struct layer_kind layer_x`, and a row in kinds[]
 * in model.c. Its own struct begins with a struct layer, which is all that the model knows of it.
 *
 * A layer's life:  (the model makes it) -> init -> [absorb]
 *                  -> (the model fits `in` and `out`, sets `offsets`)
 *                  -> prepare -> forward, backward, ... -> (the model frees it)
 *
 * Activations are [count][height][width][channels], dense and 64-byte aligned. Whatever a layer
 * computes for an example may depend on the number of examples in the call, never on anything else:
 * that is what makes a leaf's gradient the same bits everywhere (proto/CONTRACT.md section 2).
 *
 * Threads: one thread per layer. Ownership: the model owns layers, activations and scratch. */

#ifndef WORKER_MODEL_LAYER_H
#define WORKER_MODEL_LAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/job/variable.h"

#define LAYER_TEXT_MAX     64
#define LAYER_SIDE_MAX     65536     /* Height, width, kernel side, channels, outputs. */
#define LAYER_ELEMENTS_MAX (1 << 26) /* Of one example's activation, or of one patch matrix. */

/* The variables of a layer that has any. */
enum { LAYER_KERNEL, LAYER_BIAS, LAYER_VARIABLES_MAX };

struct shape {
    uint32_t height, width, channels;
    bool flat; /* A vector of `channels` elements: height and width are 1. */
};

static inline uint64_t shape_elements(struct shape shape)
{
    return (uint64_t)shape.height * shape.width * shape.channels;
}

struct layer_kind;

struct layer {
    const struct layer_kind *kind;
    struct shape in;  /* As it lies in memory. */
    struct shape out; /* As it lies in memory: what the next layer reads, no more. */
    uint64_t offsets[LAYER_VARIABLES_MAX]; /* Of its variables in the parameter space. */
    uint64_t scratch; /* Elements of scratch memory it needs, at most; known after prepare. */
    uint8_t *which;   /* [count_max][out], owned: where in its window of a max-pool each largest
                       * element was; NULL where there is no pool. */
};

/* One leaf's way through one layer. */
struct layer_pass {
    uint32_t count;          /* Examples. */
    const float *parameters; /* The whole parameter space. */
    const float *in;         /* [count][in] */
    float *out;              /* [count][out] */
    float *scratch;          /* [layer->scratch] */
    bool learn;              /* forward: backward will follow, keep what it needs. */
    float *out_gradient;     /* backward: [count][out], the layer may spoil it. */
    float *in_gradient;      /* backward: [count][in], written; NULL: not wanted. */
    float *gradient; /* backward: the whole parameter space, zero where it is this layer's (but
                      * see writes_kernel). */
};

/* Words after the layer's name: "64x3" "relu". */
struct layer_words {
    uint32_t count;
    char word[4][LAYER_TEXT_MAX];
};

struct layer_kind {
    const char *name;
    size_t bytes; /* Of its struct, which begins with a struct layer. */

    /* The rest of a layer that is zeros but for its kind and `in`: read its words and set `out`. An
     * error's text reads on from "layer 3 'conv 64x9': ". */
    enum status (*init)(struct layer *layer, const struct layer_words *words, struct error *error);

    /* The canonical way to write it: "conv 64x3 relu". */
    void (*text)(const struct layer *layer, char text[LAYER_TEXT_MAX]);

    /* Take over the work of the layer that would come next, when that saves work. May be NULL. */
    bool (*absorb)(struct layer *layer, const struct layer *next);

    /* The top-left part of its input that it reads to make `out`, so that the layer before makes no
     * more (a max-pool drops odd rows, so the convolution before need not compute them). NULL: all
     * of it. */
    struct shape (*reads)(const struct layer *layer);

    /* Fill in its variables; `number` counts layers of this kind from 1. May be NULL: none. */
    uint32_t (*variables)(const struct layer *layer, uint32_t number,
                          struct variable variables[LAYER_VARIABLES_MAX]);

    /* backward overwrites the gradient of its first variable: it need not be cleared first, which for
     * a large matrix takes longer than it sounds. */
    bool writes_kernel;

    /* in and out are final: take the memory for up to count_max examples. May be NULL. */
    enum status (*prepare)(struct layer *layer, uint32_t count_max);

    /* Both NULL: the output is the input as it lies. */
    void (*forward)(struct layer *layer, const struct layer_pass *pass);
    void (*backward)(struct layer *layer, const struct layer_pass *pass);
};

extern const struct layer_kind layer_conv, layer_pool, layer_flatten, layer_dense;

/* The window of a max-pool layer. */
uint32_t layer_pool_size(const struct layer *layer);

/* --- for init ------------------------------------------------------------------------------ */

/* Read "64", or "64x3x3" into parts[parts_max]; returns how many parts, 0 when text is something
 * else or a number is 0 or above LAYER_SIDE_MAX. */
uint32_t layer_parse_sizes(const char *text, uint32_t *parts, uint32_t parts_max);

/* Whether the words from `first` on are nothing or "relu". */
enum status layer_parse_activation(const struct layer_words *words, uint32_t first, bool *relu,
                                   struct error *error);

/* --- for variables ------------------------------------------------------------------------- */

/* Both, given the kernel's shape and fans; a bias for each of its outputs, its last axis. Returns
 * how many these are. */
uint32_t layer_kernel_and_bias(const struct layer *layer, uint32_t number,
                               const struct variable *kernel,
                               struct variable variables[LAYER_VARIABLES_MAX]);

/* --- for prepare --------------------------------------------------------------------------- */

enum status layer_take_which(struct layer *layer, uint32_t count_max);

#endif
