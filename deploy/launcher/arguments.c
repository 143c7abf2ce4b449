/* arguments.c - walks the table of options and keeps those that were set and that the program
 * has. */

#include "deploy/launcher/arguments.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/options/options_table.h"

/* Takes text over, NULL included. */
static void arguments_push(struct arguments *arguments, char *text)
{
    /* And for the NULL behind it. */
    char **items =
        array_room(arguments->items, arguments->count + 1, &arguments->capacity, sizeof *items);
    if (items != NULL)
        arguments->items = items;
    if (text == NULL || items == NULL || arguments->failed) {
        arguments->failed = true;
        free(text);
        return;
    }
    arguments->items[arguments->count++] = text;
    arguments->items[arguments->count] = NULL;
}

void arguments_init(struct arguments *arguments, const char *program)
{
    *arguments = (struct arguments){0};
    arguments_push(arguments, strdup(program));
}

void arguments_free(struct arguments *arguments)
{
    for (size_t i = 0; i < arguments->count; i++)
        free(arguments->items[i]);
    free(arguments->items);
    *arguments = (struct arguments){0};
}

/* "--name=value" is one word: a value that starts with a dash is not taken for an option. */
void arguments_add(struct arguments *arguments, const char *name, const char *format, ...)
{
    char *value = NULL, *word = NULL;
    va_list list;
    va_start(list, format);
    int length = vasprintf(&value, format, list);
    va_end(list);
    if (length < 0)
        value = NULL;
    if (value != NULL && asprintf(&word, "--%s=%s", name, value) < 0)
        word = NULL;
    free(value);
    arguments_push(arguments, word);
}

void arguments_add_word(struct arguments *arguments, const char *word)
{
    arguments_push(arguments, strdup(word));
}

/* Options that distinguish the processes of a job, and the numbers of these. */
static const char *const identity[] = {"ps",       "workers",    "ps-hosts", "worker-hosts",
                                       "job-name", "task-index", NULL};
/* Options of the launcher itself, or added by it in another form. */
static const char *const of_launcher[] = {"bind",  "out",  "log-every", "port-file",
                                          "serve", "tell", NULL};
/* The files that a worker leaves to its servers. */
static const char *const files[] = {"restore", "keep", "tensorboard", "tensorboard-run", NULL};

static bool row_is_among(const struct option_row *row, const char *const names[])
{
    for (size_t i = 0; names[i] != NULL; i++)
        if (strcmp(row->name, names[i]) == 0)
            return true;
    return false;
}

/* Options that a worker leaves to its servers, if there are any. */
static bool row_is_for_servers(const struct option_row *row, const struct options *options,
                               enum option_user user)
{
    return user == OPTION_WORKER && options->ps > 0 && row_is_among(row, files);
}

/* A number that was never set has no default in the table and lies outside its bounds. */
static bool number_is_set(const struct option_row *row, double value, bool all_ones)
{
    return row->fallback != NULL || (!all_ones && value >= row->min && value <= row->max);
}

/* The value of a row as text of at most `size` bytes; false when it was never set. */
static bool row_text(const struct option_row *row, const struct options *options, char *text,
                     size_t size)
{
    const void *field = (const char *)options + row->offset;
    if (row->choice != NULL && row->choice->write != NULL) {
        row->choice->write(options, text, size);
        return text[0] != '\0';
    }
    switch (row->kind) {
    case OPTION_KIND_FLAG:
        snprintf(text, size, "true");
        return *(const bool *)field;
    case OPTION_KIND_I32:
        snprintf(text, size, "%" PRId32, *(const int32_t *)field);
        return number_is_set(row, *(const int32_t *)field, false);
    case OPTION_KIND_U32:
        snprintf(text, size, "%" PRIu32, *(const uint32_t *)field);
        return number_is_set(row, *(const uint32_t *)field, false);
    case OPTION_KIND_U64:
    case OPTION_KIND_BYTES:
        snprintf(text, size, "%" PRIu64, *(const uint64_t *)field);
        return number_is_set(row, (double)*(const uint64_t *)field,
                             *(const uint64_t *)field == UINT64_MAX);
    case OPTION_KIND_REAL: /* Seventeen digits give the same double back. */
        snprintf(text, size, "%.17g", *(const double *)field);
        return !isnan(*(const double *)field);
    case OPTION_KIND_FLOAT: /* Nine, the same float. */
        snprintf(text, size, "%.9g", (double)*(const float *)field);
        return !isnan(*(const float *)field);
    case OPTION_KIND_WORD:
        snprintf(text, size, "%s", row->choice->numbered(*(const uint32_t *)field));
        return true;
    case OPTION_KIND_NAME:
        snprintf(text, size, "%s", (const char *)field);
        return true;
    case OPTION_KIND_LIST: /* Of a command of many runs; the runs do not get it. */
        return false;
    case OPTION_KIND_TEXT:
        snprintf(text, size, "%s",
                 *(const char *const *)field != NULL ? *(const char *const *)field : "");
        return *(const char *const *)field != NULL;
    }
    return false;
}

/* Whether the option that decides whether this one means anything lets it; "ssp:3" is ssp. */
static bool has_use(const struct option_row *row, const struct options *options, unsigned user)
{
    char name[32], value[64];
    if (!option_governor(row, name))
        return true;
    const struct option_row *governor = option_find(user, name, strlen(name));
    return governor != NULL && row_text(governor, options, value, sizeof value) &&
           option_has_use(row, value);
}

/* --steps takes the place of --epochs, and --program of --model and --data; that both are known is no
 * news to a child. */
static bool row_is_replaced(const struct option_row *row, const struct options *options)
{
    bool layers = strcmp(row->name, "model") == 0 || strcmp(row->name, "data") == 0;
    return (options->job.steps > 0 && strcmp(row->name, "epochs") == 0) ||
           (options->program != NULL && layers);
}

void arguments_add_options(struct arguments *arguments, const struct options *options,
                           enum option_user user)
{
    for (size_t i = 0; i < option_row_count; i++) {
        const struct option_row *row = &option_rows[i];
        char text[4096];
        if (!(row->users & user) || row_is_among(row, identity) || row_is_among(row, of_launcher) ||
            row_is_for_servers(row, options, user) || !row_text(row, options, text, sizeof text))
            continue;
        if (row_is_replaced(row, options))
            continue;
        if (!has_use(row, options, user))
            continue;
        arguments_add(arguments, row->name, "%s", text);
    }
}

void arguments_add_given(struct arguments *arguments, const struct options *options,
                         enum option_user given_to, enum option_user user, bool alone)
{
    for (size_t i = 0; i < option_row_count; i++) {
        const struct option_row *row = &option_rows[i];
        char text[4096];
        if (!(row->users & user) || option_find(given_to, row->name, strlen(row->name)) == NULL ||
            !options_given(options, given_to, row->name) || row_is_among(row, identity) ||
            !row_text(row, options, text, sizeof text) ||
            (user != OPTION_PS && !alone &&
             (strcmp(row->name, "out") == 0 || row_is_among(row, files))))
            continue;
        arguments_add(arguments, row->name, "%s", text);
    }
}

bool arguments_environment_is_option(const char *entry)
{
    return option_environment_is(entry);
}

char *const *arguments_list(const struct arguments *arguments)
{
    return arguments->failed ? NULL : arguments->items;
}
