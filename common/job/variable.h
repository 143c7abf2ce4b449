/* variable.h - the model's variables and where they lie in the parameter space.
 *
 * The parameter space is all variables of the job laid end to end in their declared order, each
 * starting on a 64-byte boundary. The gaps hold zeros and are never read.
 *
 * Units: element = one float32; offsets and counts are in elements unless a name says bytes.
 * Threads: plain values. */

#ifndef COMMON_JOB_VARIABLE_H
#define COMMON_JOB_VARIABLE_H

#include <stdbool.h>
#include <stdint.h>

#define VARIABLE_NAME_MAX   128 /* With the terminating zero. */
#define VARIABLE_RANK_MAX   8
#define VARIABLE_COUNT_MAX  65536
#define PARAMETER_ALIGNMENT 16 /* Elements; 64 bytes. */

enum initializer {
    INITIALIZER_ZEROS,
    /* Uniform in [-l, l], l = sqrt(6 / (fan_in + fan_out)). Glorot and Bengio, AISTATS 2010. */
    INITIALIZER_GLOROT_UNIFORM,
    INITIALIZER_GIVEN, /* Values from outside: common/store/initial.h. */
    INITIALIZER_COUNT
};

struct variable {
    char name[VARIABLE_NAME_MAX]; /* Keras's: "conv1/kernel". */
    uint32_t rank;
    uint64_t shape[VARIABLE_RANK_MAX]; /* [rank], row-major. */
    enum initializer initializer;
    uint64_t fan_in, fan_out; /* For the initializer. */
    /* In (0, 1]: a running average with this rate, such as BatchNorm's, and its "gradient" is the sum over the
     * examples of the statistic. 0: trained. Averages come before all that is trained. */
    float average;
};

/* "zeros", "glorot_uniform", "given" */
const char *initializer_name(enum initializer initializer);

/* Elements of one variable. The shape has been checked not to overflow. */
uint64_t variable_elements(const struct variable *variable);

/* "[3,3,1,32]" into text[VARIABLE_SHAPE_MAX], which is returned. */
#define VARIABLE_SHAPE_MAX 200
char *variable_shape(const struct variable *variable, char text[VARIABLE_SHAPE_MAX]);

/* Of a single axis: rules that spare biases spare it. Others are kernels. */
bool variable_is_bias(const struct variable *variable);

/* The elements that it takes up in the parameter space, up to the next variable. */
uint64_t variable_room(uint64_t elements);

/* Elements of all of them, without the gaps between them. */
uint64_t variables_elements(const struct variable *variables, uint32_t count);

/* Fill offsets[count] with each variable's start; returns the elements of the whole space, a
 * multiple of PARAMETER_ALIGNMENT. */
uint64_t variables_layout(const struct variable *variables, uint32_t count, uint64_t *offsets);

/* Elements of the whole space, as variables_layout returns. */
uint64_t variables_room(const struct variable *variables, uint32_t count);

/* Write the initial values of elements [first, first + count) of variable number `index` of a job with this
 * seed; not of a given one. A value depends on (seed, index, element) alone. */
void variable_initialize(const struct variable *variable, uint32_t index, uint64_t seed,
                         uint64_t first, uint64_t count, float *out);

/* Write the initial values of elements [first, first + count) of the whole space of all variables,
 * gaps included. given: [elements of the whole space] values of given ones, may be out itself; NULL: those are
 * 0. */
void variables_initialize(const struct variable *variables, uint32_t variable_count, uint64_t seed,
                          const float *given, uint64_t first, uint64_t count, float *out);

#endif
