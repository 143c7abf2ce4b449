/* named_configs.h - arms that whoever asked has named, each with what it has that others have not:
 *
 *     --arm "slow-start=--mode async --learning-rate 0.01 --warmup-steps 100"
 *
 * Behind the first = stand options as on a command line, parted by blanks; what has blanks in it goes
 * between ' or ", and a backslash takes the meaning from what follows it. They may be any in which arms may
 * differ (settings_find_differing), and they stand over what is common to all arms.
 *
 * A name is part of a folder's: letters, digits and ._+-, at most NAMED_CONFIG_MAX of them, the first a letter
 * or a digit; long enough for what any arm is called by what it has (configs.h).
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

/* STATUS_INVALID: error names the arm, the option and what is wrong with it. named_configs_free in any case. */
enum status named_configs_read(struct named_configs *configs, const struct options *options,
                               struct error *error);
void named_configs_free(struct named_configs *configs);

/* One more, without options yet, which is borrowed until the next; NULL: error says what is wrong with its
 * name, without it, or that there is no memory. */
struct named_config *named_configs_add(struct named_configs *configs, const char *name,
                                       struct error *error);
/* One more option of it, which errors call `source`: "--arm slow: --learning-rate". STATUS_INVALID: error
 * says what is wrong with the option or its value. STATUS_MEMORY. */
enum status named_config_set(struct named_config *config, const struct option_row *row,
                             const char *value, const char *source, struct error *error);

/* What an option is called in an arm: "mode", for there is one. */
const char *named_config_option(const struct option_row *row);

/* "--mode async --learning-rate 0.01" into text; cut, with "...", where it is longer. */
void named_config_given(const struct named_config *config, char text[CONFIG_GIVEN_MAX]);
/* The whole as --arm has it, "slow-start=--mode=async --learning-rate=0.01": malloc'd; NULL without
 * memory. */
char *named_config_text(const struct named_config *config);

/* How long the name is that begins a text of --arm; 0: there is none. */
size_t named_config_name_length(const char *text);

#endif
