/* settings.c - finds the source of each option's value in a command of compare. */

#include "deploy/compare/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TYPED_MAX 64

/* --- options --------------------------------------------------------------------------------- */

static bool is_among(const struct option_row *row, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(row->name, names[i]) == 0)
            return true;
    return false;
}

#define IS_AMONG(row, ...)                                                                         \
    is_among(row, (const char *const[]){__VA_ARGS__},                                              \
             sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* A command is in no plan: the folder of a comparison must not be able to start anything. */
bool settings_is_common(const struct option_row *row)
{
    return (row->users & OPTION_COMPARE) != 0 && row->kind != OPTION_KIND_LIST &&
           !IS_AMONG(row, "modes", "workers", "plan", "program", "out", "tensorboard", "json",
                     "quiet", "verbose", "log-every", "log-format");
}

const char *settings_twin(const struct option_row *row)
{
    static const char *const twins[][2] = {{"steps", "epochs"}, {"warmup-steps", "warmup-epochs"}};
    for (size_t i = 0; i < sizeof twins / sizeof twins[0]; i++)
        for (size_t j = 0; j < 2; j++)
            if (strcmp(row->name, twins[i][j]) == 0)
                return twins[i][1 - j];
    return NULL;
}

/* Runs of one seed are a pair, virtual and real seconds are not compared, and keys are in one
 * folder. */
static bool may_differ(const struct option_row *row)
{
    return row->kind != OPTION_KIND_LIST && row->group != OPTION_GROUP_FILES &&
           row->group != OPTION_GROUP_OUTPUT &&
           !IS_AMONG(row, "seed", "seeds", "virtual", "keys", "plan", "program", "warm-up");
}

const struct option_row *settings_find_differing(const char *name, size_t length,
                                                 struct error *error)
{
    bool mode = length == 4 && strncmp(name, "mode", length) == 0;
    const struct option_row *row =
        mode ? option_find(OPTION_COMPARE, "modes", 5) : option_find(OPTION_COMPARE, name, length);
    char typed[TYPED_MAX];
    snprintf(typed, sizeof typed, "%.*s", (int)(length < sizeof typed ? length : sizeof typed - 1),
             name);
    if (strcmp(typed, "backup-workers") == 0) {
        error_set(error, STATUS_INVALID, "here it is a mode of its own, sync+backup:B");
    } else if (row == NULL) {
        const char *meant = option_meant(OPTION_COMPARE, typed);
        error_set(error, STATUS_INVALID, "there is no such option%s%s%s",
                  meant != NULL ? " (did you mean " : "", meant != NULL ? meant : "",
                  meant != NULL ? "?)" : "");
    } else if (strcmp(row->name, "seed") == 0 || strcmp(row->name, "seeds") == 0) {
        error_set(error, STATUS_INVALID,
                  "it cannot differ between arms; --seeds repeats every run with several");
    } else if (!may_differ(row)) {
        error_set(error, STATUS_INVALID, "it cannot differ between arms");
    } else {
        return row;
    }
    return NULL;
}

/* --- where they are set ----------------------------------------------------------------------- */

const char *settings_argument_before(const struct option_row *row, int argc, char **argv, int *end)
{
    for (int i = *end - 1; i > 0; i--) {
        if (strncmp(argv[i], "--", 2) != 0)
            continue;
        size_t length = strcspn(argv[i] + 2, "=");
        if (option_find(OPTION_COMPARE, argv[i] + 2, length) != row)
            continue;
        *end = i;
        if (argv[i][2 + length] == '=')
            return argv[i] + 2 + length + 1;
        return row->kind == OPTION_KIND_FLAG || i + 1 >= argc ? "true" : argv[i + 1];
    }
    return NULL;
}

const char *settings_argument(const struct option_row *row, int argc, char **argv)
{
    int end = argc;
    return settings_argument_before(row, argc, argv, &end);
}

static const char *value_of(const struct option_row *row, int argc, char **argv)
{
    char variable[64];
    const char *value = settings_argument(row, argc, argv);
    option_environment_name(row, variable);
    return value != NULL ? value : getenv(variable);
}

enum status settings_add(struct settings *settings, const struct option_row *row, const char *value,
                         struct error *error)
{
    struct setting *items = realloc(settings->items, (settings->count + 1) * sizeof *items);
    char *copy = strdup(value);
    if (items != NULL)
        settings->items = items;
    if (items == NULL || copy == NULL) {
        free(copy);
        return error_set(error, STATUS_MEMORY, "out of memory");
    }
    settings->items[settings->count++] = (struct setting){row, copy};
    return STATUS_OK;
}

/* --loss of a model is not that of a link (options.c), and has the same row. */
static bool is_given(const struct option_row *row, const struct options *options)
{
    return options_given(options, OPTION_COMPARE, row->name) ||
           (IS_AMONG(row, "loss") && options->data_settings[DATA_SETTING_LOSS] != NULL);
}

enum status settings_take(struct settings *settings, const struct options *options, int argc,
                          char **argv, struct error *error)
{
    enum status status = STATUS_OK;
    *settings = (struct settings){.count = 0};
    for (size_t i = 0; i < option_row_count && status == STATUS_OK; i++) {
        const struct option_row *row = &option_rows[i];
        if (!settings_is_common(row) || !is_given(row, options))
            continue;
        const char *value = value_of(row, argc, argv);
        status = settings_add(settings, row, value != NULL ? value : "", error);
    }
    return status;
}

void settings_free(struct settings *settings)
{
    for (size_t i = 0; i < settings->count; i++)
        free(settings->items[i].value);
    free(settings->items);
    *settings = (struct settings){.count = 0};
}

/* --- looking ---------------------------------------------------------------------------------- */

const char *settings_value(const struct settings *settings, const struct option_row *row)
{
    for (size_t i = 0; i < settings->count; i++)
        if (settings->items[i].row == row)
            return settings->items[i].value;
    return NULL;
}

bool settings_same_value(const struct option_row *row, const char *a, const char *b)
{
    double real, other_real;
    bool flag, other_flag;
    if (strcmp(a, b) == 0)
        return true;
    if (row->kind == OPTION_KIND_REAL || row->kind == OPTION_KIND_FLOAT)
        return option_parse_real(a, &real) && option_parse_real(b, &other_real) &&
               real <= other_real && real >= other_real;
    return row->kind == OPTION_KIND_FLAG && option_parse_flag(a, &flag) &&
           option_parse_flag(b, &other_flag) && flag == other_flag;
}
