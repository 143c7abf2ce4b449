/* options_table.h - the one table of options; internal to options*.c.
 *
 * A row drives the flag, the environment variable, the default, the bounds and the help of one
 * option. A row whose programs share a name but not a meaning (--workers is a count for run and a
 * list for compare) is two rows with disjoint users.
 *
 * Threads: constant. */

#ifndef COMMON_OPTIONS_TABLE_H
#define COMMON_OPTIONS_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/options.h"

enum option_kind {
    OPTION_KIND_FLAG,  /* bool */
    OPTION_KIND_I32,   /* int32_t */
    OPTION_KIND_U32,   /* uint32_t */
    OPTION_KIND_U64,   /* uint64_t */
    OPTION_KIND_BYTES, /* uint64_t; K, KiB, M, MiB, G, GiB may follow the number. */
    OPTION_KIND_REAL,  /* double */
    OPTION_KIND_MODE,  /* enum mode */
    OPTION_KIND_TEXT,  /* const char * */
};

enum option_group {
    OPTION_GROUP_JOB,
    OPTION_GROUP_OPTIMIZER,
    OPTION_GROUP_CLUSTER,
    OPTION_GROUP_DEADLINES,
    OPTION_GROUP_FILES,
    OPTION_GROUP_OUTPUT,
    OPTION_GROUP_COUNT
};

/* A text that must be one of several (or a list of such): who decides, and what to say. */
struct option_choice {
    bool (*accepts)(const char *value);
    const char *(*expected)(void); /* "sync, async" */
};

struct option_row {
    const char *name; /* With dashes, without the leading two. */
    enum option_group group;
    enum option_kind kind;
    size_t offset; /* Of the field in struct options. */
    unsigned users;
    const char *metavar;
    const char *fallback; /* The default as text; NULL when help says what happens instead. */
    double min, max;      /* Of numbers. */
    const struct option_choice *choice; /* Of texts; NULL for any text. */
    const char *only_with; /* "optimizer=adam|rmsprop": setting it otherwise is an error. */
    const char *help;      /* What it means, with its unit. */
};

extern const struct option_row option_rows[];
extern const size_t option_row_count;

/* The row that `user` has under this name (`-` and `_` alike), or NULL. length: of the name. */
const struct option_row *option_find(unsigned user, const char *name, size_t length);

/* The name nearest to one that is none of theirs, or NULL when none is near. */
const char *option_nearest(unsigned users, const char *name);

/* "SYNCOPATE_GLOBAL_BATCH" of a row into text[64]. */
void option_environment_name(const struct option_row *row, char text[64]);
/* Whether "NAME=value" sets an option of any program. */
bool option_environment_is(const char *entry);
/* STATUS_INVALID when the environment has a variable that looks like an option's and is none. */
enum status option_environment_check(struct error *error);

/* "syncopate run" of one user bit. */
const char *option_user_program(enum option_user user);

/* The whole of --help for one program. */
void options_help(FILE *out, enum option_user user, const char *program);

/* One value from the whole of text; false when it is anything but that. */
bool option_parse_u64(const char *text, uint64_t *value);
bool option_parse_real(const char *text, double *value);
bool option_parse_bytes(const char *text, uint64_t *value); /* "64KiB" */
bool option_parse_flag(const char *text, bool *value);

/* Whether every item of a --slow list is right. */
bool option_slow_valid(const char *list);

#endif
