/* settings.h - options of compare with the values that they were given: those that are the same for all
 * arms, and those of one arm.
 *
 * Values are texts, as they were written; "true" of a flag.
 *
 * Ownership: settings own their texts. Threads: plain values. */

#ifndef DEPLOY_COMPARE_SETTINGS_H
#define DEPLOY_COMPARE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/status.h"
#include "common/options/options_table.h"

struct setting {
    const struct option_row *row; /* Of compare. */
    char *value;                  /* Owned. */
};

struct settings {
    struct setting *items; /* [count], owned; in the order in which they were added. */
    size_t count;
};

/* Of a command that options_parse has taken what is the same for all runs, by flag or environment: not what
 * is listed (vary, arm), not modes and workers, which are axes (axes.h), and neither where it is written to
 * nor what of it is printed. STATUS_MEMORY; settings_free in any case. */
enum status settings_take(struct settings *settings, const struct options *options, int argc,
                          char **argv, struct error *error);
/* value is copied. STATUS_MEMORY. */
enum status settings_add(struct settings *settings, const struct option_row *row, const char *value,
                         struct error *error);
void settings_free(struct settings *settings);

/* The value of an option; NULL when it has none. */
const char *settings_value(const struct settings *settings, const struct option_row *row);

/* Whether two values of an option say the same: 1e-3 is 0.001. */
bool settings_same_value(const struct option_row *row, const char *a, const char *b);

/* Whether settings of this option are common to all arms (it is of a plan's `options`). */
bool settings_is_common(const struct option_row *row);

/* The option that says the same otherwise, so that one of the two takes the place of the other: a job has one
 * length, --steps or --epochs. NULL: there is none. */
const char *settings_twin(const struct option_row *row);

/* The option of this name in which arms may differ; "mode" is modes. NULL: error says why there is none,
 * "it cannot differ between arms". */
const struct option_row *settings_find_differing(const char *name, size_t length,
                                                 struct error *error);

/* What follows the option where it stands last, "true" of a flag alone; NULL where it is not among the
 * arguments. Borrowed from these. */
const char *settings_argument(const struct option_row *row, int argc, char **argv);
/* The same before argument number *end, which becomes that of the option: for all that a list has. */
const char *settings_argument_before(const struct option_row *row, int argc, char **argv, int *end);

#endif
