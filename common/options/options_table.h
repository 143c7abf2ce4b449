/* options_table.h - the one table of options; internal to options*.c and to what is made of the
 * table elsewhere, the manual and the completion of shells (deploy/).
 *
 * A row drives the flag, the environment variable, the default, the bounds and the help of one
 * option. A row whose programs share a name but not a meaning (--workers is a count for run and a
 * list for compare) is two rows with disjoint users.
 *
 * Threads: constant. */

#ifndef COMMON_OPTIONS_OPTIONS_TABLE_H
#define COMMON_OPTIONS_OPTIONS_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/options/options.h"

enum option_kind {
    OPTION_KIND_FLAG,  /* bool */
    OPTION_KIND_I32,   /* int32_t */
    OPTION_KIND_U32,   /* uint32_t */
    OPTION_KIND_U64,   /* uint64_t */
    OPTION_KIND_BYTES, /* uint64_t; K, KiB, M, MiB, G, GiB may follow the number. */
    OPTION_KIND_REAL,  /* double */
    OPTION_KIND_FLOAT, /* float */
    OPTION_KIND_WORD,  /* An enum whose numbers choice->numbered has words for. */
    OPTION_KIND_NAME,  /* char[OPTIMIZER_NAME_MAX] */
    OPTION_KIND_TEXT,  /* const char * */
    OPTION_KIND_LIST,  /* struct options_list; each time it is given adds an item. */
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

#define OPTION_WORDS_MAX 128

/* What a value may be, where its kind and bounds do not say it: one of these members. */
struct option_choice {
    /* One of these words, in whatever case: number `index`, and NULL after the last. */
    const char *(*word)(unsigned index);
    /* The same words by their number in the enum, of OPTION_KIND_WORD. */
    const char *(*numbered)(unsigned number);
    /* A list; STATUS_INVALID says which item of it is wrong. */
    enum status (*check)(const char *list, struct error *error);
    /* A word with more behind it, "ssp:3": read into the options, and written as it is read. */
    bool (*read)(const char *text, struct options *options);
    void (*write)(const struct options *options, char *text, size_t size);
    /* A number: what it needs to be, "0, to train alone"; a word with more behind it: what that is. */
    const char *expected;
    /* Words that a list or any other text may begin with, for those who complete it. */
    const char *(*known)(unsigned index);
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
    const struct option_choice *choice; /* NULL: any text, or any number within the bounds. */
    /* "optimizer=adam|rmsprop": setting it otherwise is an error. "mode=leases": modes of that kind
     * (mode_is). */
    const char *only_with;
    const char *help; /* What it means, with its unit. */
};

extern const struct option_row option_rows[];
extern const size_t option_row_count;

/* The row that `user` has under this name (`-` and `_` alike), or NULL. length: of the name. */
const struct option_row *option_find(unsigned user, const char *name, size_t length);

/* The option by whose value it is decided whether this one means anything (the mode, the optimizer, ...),
 * into name; false when there is none. And whether it does with this value of it. */
bool option_governor(const struct option_row *row, char name[32]);
bool option_has_use(const struct option_row *row, const char *value);
/* The values of it with which this one does, "adam|rmsprop", of a row that has only_with. */
const char *option_wanted(const struct option_row *row, char text[OPTION_WORDS_MAX]);

/* The name most likely meant by one that is none of theirs, or NULL. */
const char *option_meant(unsigned users, const char *word);

/* Whether a word (without dashes) is what other programs call an option: *name is what it is called
 * here, NULL when there is no such, and *remark what else there is to say, or NULL. */
bool option_synonym(const char *word, const char **name, const char **remark);

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

/* Set the row's field from text. STATUS_INVALID: error says "SOURCE=TEXT: needs ...", what was
 * found and what may stand there. Words of a choice are stored as the table writes them. */
enum status option_store(const struct option_row *row, const char *source, const char *text,
                         struct options *options, struct error *error);

/* "sync, async" of a choice of words, into text, which is returned. */
const char *option_choice_words(const struct option_choice *choice, char text[OPTION_WORDS_MAX]);

/* One value from the whole of text; false when it is anything but that. */
bool option_parse_u64(const char *text, uint64_t *value);
bool option_parse_real(const char *text, double *value);
bool option_parse_bytes(const char *text, uint64_t *value); /* "64KiB" */
bool option_parse_flag(const char *text, bool *value);

/* "20000-20127": first is not above last, and they are ports. STATUS_INVALID. */
enum status option_ports_read(const char *text, uint16_t *first, uint16_t *last);
enum status option_ports_check(const char *text, struct error *error);

/* Whether text is a value of --keep. */
enum status option_keep_check(const char *text, struct error *error);
/* Folders below one: "sync/seed-1", and nothing that leads out of it. */
enum status option_place_check(const char *text, struct error *error);

/* What a job may be called: see message_join. */
enum status option_job_id_check(const char *text, struct error *error);

/* Whether text names instructions that this processor has. */
enum status option_instructions_check(const char *text, struct error *error);

/* Whether every item of a --slow list is right, whatever workers there are. */
enum status option_slow_check(const char *list, struct error *error);

/* Whether text is a value of --compute, of --straggle, of --pause. */
enum status option_compute_check(const char *text, struct error *error);
enum status option_straggle_check(const char *text, struct error *error);
enum status option_pause_check(const char *text, struct error *error);

#endif
