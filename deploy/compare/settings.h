/* settings.h - options of compare with their given values: those shared by all configurations, and
 * those of one.
 *
 * Values are texts, as given; "true" for a flag.
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

/* From a command that options_parse has taken: the options that all runs share, by flag or
 * environment. Lists (vary, arm), modes and workers, which are axes (axes.h), and options
 * about output are left out. STATUS_MEMORY; call settings_free in any case. */
enum status settings_take(struct settings *settings, const struct options *options, int argc,
                          char **argv, struct error *error);
/* value is copied. STATUS_MEMORY. */
enum status settings_add(struct settings *settings, const struct option_row *row, const char *value,
                         struct error *error);
void settings_free(struct settings *settings);

/* The value of an option; NULL without one. */
const char *settings_value(const struct settings *settings, const struct option_row *row);

/* Whether two values of an option are equal: 1e-3 is 0.001. */
bool settings_same_value(const struct option_row *row, const char *a, const char *b);

/* Whether this option is shared by all configurations (in a plan's `options`). */
bool settings_is_common(const struct option_row *row);

/* The equivalent option, which it replaces: a job has one length, --steps or --epochs. NULL: there
 * is none. */
const char *settings_twin(const struct option_row *row);

/* The option of this name in which configurations may differ; "mode" is modes. NULL: error has the
 * reason, "it cannot differ between arms". */
const struct option_row *settings_find_differing(const char *name, size_t length,
                                                 struct error *error);

/* The option's last value among the arguments, "true" for a flag alone; NULL when it is absent.
 * Borrowed from these. */
const char *settings_argument(const struct option_row *row, int argc, char **argv);
/* The same before argument number *end, which becomes that of the option: to iterate over a
 * list. */
const char *settings_argument_before(const struct option_row *row, int argc, char **argv, int *end);

#endif
