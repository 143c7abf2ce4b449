/* axes.h - the varied options of a comparison: its modes, its numbers of workers, and those of
 * --vary.
 *
 *     --vary learning-rate=0.01,0.1           an axis with two values
 *     --vary ps=1,2 --vary optimizer=sgd,adam two axes: four for each mode and number of workers
 *     --vary workers=1,2,4+ps=1,1,2           one axis of three values, each of two options
 *
 * Values are separated by commas, or by semicolons where there is one (values such as
 * lognormal:30ms,0.3). A backslash before one of these, before + or another backslash makes it part
 * of a value. Modes and workers are axes of at least one value, and come first unless --vary names
 * them. With named configurations there is one mode, that of run, unless more are given.
 *
 * Ownership: axes own their texts; axes_free. Threads: plain values. */

#ifndef DEPLOY_COMPARE_AXES_H
#define DEPLOY_COMPARE_AXES_H

#include <stddef.h>

#include "deploy/compare/settings.h"

#define AXES_MAX         10 /* Including modes and workers. */
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

/* From a command that options_parse has taken. STATUS_INVALID: error names the wrong part of a
 * --vary. Call axes_free in any case. */
enum status axes_read(struct axes *axes, const struct options *options, struct error *error);
void axes_free(struct axes *axes);

/* Step by step: an axis without options, NULL when there are too many; an option of the last axis,
 * without values; a value of that option. Errors call the option `source`. axes_close completes the
 * axis and checks that its options have equally many values. */
struct axis *axes_add(struct axes *axes);
struct axis_option *axes_add_option(struct axes *axes, const struct option_row *row,
                                    const char *source, struct error *error);
enum status axes_add_value(struct axis_option *option, const char *text, size_t length,
                           const char *source, struct error *error);
enum status axes_close(struct axes *axes, const char *source, struct error *error);

/* The axis of an option; NULL when it is not varied. */
const struct axis *axes_find(const struct axes *axes, const struct option_row *row);

/* The number of combinations; SIZE_MAX when it does not fit. */
size_t axes_combinations(const struct axes *axes);

/* The value of axis number `axis` in a combination: the first axis changes slowest. */
size_t axes_value(const struct axes *axes, size_t combination, size_t axis);

/* An axis in the form of --vary, without the options that are left out: malloc'd, NULL without
 * memory; "" when all of them are. */
typedef bool axes_leave_out_fn(void *context, const struct option_row *row);
char *axes_text(const struct axis *axis, axes_leave_out_fn *leave_out, void *context);

/* Whether a text of --vary gives an option values. */
bool axes_text_has(const char *text, const struct option_row *row);

#endif
