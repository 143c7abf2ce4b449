/* axes.h - what is varied in a comparison: its modes, its numbers of workers, and whatever --vary names.
 *
 *     --vary learning-rate=0.01,0.1           an axis with two values
 *     --vary ps=1,2 --vary optimizer=sgd,adam two axes: four arms of each mode and number of workers
 *     --vary workers=1,2,4+ps=1,1,2           one axis of three values, each of two options
 *
 * Values are parted by commas, or by semicolons where there is one (values such as lognormal:30ms,0.3).
 * Modes and workers are axes of one value at least, and come first unless --vary names them.
 *
 * Ownership: axes own their texts; axes_free. Threads: plain values. */

#ifndef DEPLOY_COMPARE_AXES_H
#define DEPLOY_COMPARE_AXES_H

#include <stddef.h>

#include "common/base/status.h"
#include "common/options/options_table.h"

#define AXES_MAX         (OPTIONS_LIST_MAX + 2)
#define AXIS_OPTIONS_MAX 4
#define AXIS_VALUES_MAX  32

struct axis_option {
    const struct option_row *row; /* Of compare; "modes" for the mode. */
    char *values[AXIS_VALUES_MAX];
    size_t count;
};

/* Value number i is that of each of its options. */
struct axis {
    struct axis_option options[AXIS_OPTIONS_MAX];
    size_t option_count;
    size_t count;
};

struct axes {
    struct axis list[AXES_MAX];
    size_t count;
};

/* STATUS_INVALID: the part of a --vary that is wrong is named. axes_free in any case. */
enum status axes_read(struct axes *axes, const struct options *options, struct error *error);
void axes_free(struct axes *axes);

/* How many combinations there are; SIZE_MAX for more than fit. */
size_t axes_combinations(const struct axes *axes);

/* Which value of axis number `axis` a combination has: the first axis changes last. */
size_t axes_value(const struct axes *axes, size_t combination, size_t axis);

#endif
