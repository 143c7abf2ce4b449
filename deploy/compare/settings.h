/* settings.h - with which options a comparison was begun: OUT/plan.json, by which it is known whether the
 * same command, or one of more modes, workers or seeds, goes on with it.
 *
 *     {"format": "syncopate-plan-1", "settings": {"data": "synthetic", "epochs": "3"}}
 *
 * Settings are the options that were given, by flag or environment, as they were written; not those that
 * say which runs there are (modes, workers, vary, seeds), where they are, or what is printed.
 *
 * Ownership: settings own their texts. Threads: plain values. */

#ifndef DEPLOY_COMPARE_SETTINGS_H
#define DEPLOY_COMPARE_SETTINGS_H

#include <stddef.h>

#include "common/base/status.h"
#include "common/file/disk.h"
#include "common/options/options_table.h"

#define SETTINGS_FORMAT "syncopate-plan-1"
#define SETTINGS_FILE   "plan.json"

struct setting {
    const char *name; /* Of the option's row. */
    char *value;      /* malloc'd; "true" of a flag. */
};

struct settings {
    struct setting items[OPTION_ROWS_MAX];
    size_t count;
};

/* From a command that options_parse has taken. STATUS_MEMORY. */
enum status settings_take(struct settings *settings, const struct options *options, int argc,
                          char **argv, struct error *error);
void settings_free(struct settings *settings);

/* What follows the option where it stands last, "true" of a flag alone; NULL where it is not among the
 * arguments. Borrowed from these. */
const char *settings_argument(const struct option_row *row, int argc, char **argv);

/* OUT/plan.json. Errors: as disk.h. */
enum status settings_write(const struct settings *settings, const struct disk *disk,
                           const char *out, struct error *error);
/* Whether those in OUT/plan.json are the same. STATUS_NOT_FOUND: there is no such file; STATUS_MISMATCH:
 * error names the first that differs; STATUS_INVALID: it is not one of ours. */
enum status settings_check(const struct settings *settings, const struct disk *disk,
                           const char *out, struct error *error);

#endif
