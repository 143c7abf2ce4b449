/* named_configs.h - configurations that the user named, each with the options that distinguish it:
 *
 *     --arm "slow-start=--mode async --learning-rate 0.01 --warmup-steps 100"
 *
 * After the first = come options as on a command line, separated by blanks. A word with blanks is
 * quoted by ' or ", and a backslash escapes the next character. Any option in which configurations
 * may differ is allowed (settings_find_differing); it overrides the shared options.
 *
 * A name is part of a folder's: letters, digits and ._+-, at most NAMED_CONFIG_MAX of them, the
 * first a letter or a digit; any derived name (configs.h) fits.
 *
 * Ownership: as settings; named_configs_free. Threads: plain values. */

#ifndef DEPLOY_COMPARE_NAMED_CONFIGS_H
#define DEPLOY_COMPARE_NAMED_CONFIGS_H

#include "deploy/compare/settings.h"
#include "deploy/conclusion/comparison.h"

#define NAMED_CONFIG_MAX  (CONFIG_TEXT_MAX - 2)
#define NAMED_CONFIGS_MAX OPTIONS_LIST_MAX

struct named_config {
    char name[NAMED_CONFIG_MAX + 1];
    struct settings own;
};

struct named_configs {
    struct named_config *list; /* [count], owned. */
    size_t count;
};

/* STATUS_INVALID: error names the configuration, the option and the fault. Call named_configs_free
 * in any case. */
enum status named_configs_read(struct named_configs *configs, const struct options *options,
                               struct error *error);
void named_configs_free(struct named_configs *configs);

/* Add one without options; it is borrowed until the next. NULL: error has the fault of its name,
 * without the name, or says that memory is exhausted. */
struct named_config *named_configs_add(struct named_configs *configs, const char *name,
                                       struct error *error);
/* Add one of its options, which errors call `source`: "--arm slow: --learning-rate".
 * STATUS_INVALID: error has the fault of the option or its value. STATUS_MEMORY. */
enum status named_config_set(struct named_config *config, const struct option_row *row,
                             const char *value, const char *source, struct error *error);

/* The name of an option in a configuration: "mode", for there is one. */
const char *named_config_option(const struct option_row *row);

/* "--mode async --learning-rate 0.01" into text; truncated with "..." when longer. */
void named_config_given(const struct named_config *config, char text[CONFIG_GIVEN_MAX]);
/* All of it in the form of --arm, "slow-start=--mode=async --learning-rate=0.01": malloc'd; NULL
 * without memory. */
char *named_config_text(const struct named_config *config);

/* The length of the name at the start of a text of --arm; 0: there is none. */
size_t named_config_name_length(const char *text);

#endif
