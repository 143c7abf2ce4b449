/* plan_words.c - writes the options, axes and configurations of a plan as words, before the typed
 * ones. */

#include "deploy/compare/plan_words.h"

#include <stdlib.h>
#include <string.h>

#include "deploy/compare/plan_file.h"

struct typed {
    int argc;
    char **argv;
};

static const struct option_row *find(const char *name)
{
    return option_find(OPTION_COMPARE, name, strlen(name));
}

static bool asks_for_help(const struct typed *typed)
{
    static const char *const words[] = {"--help", "-h", "--version", "-V"};
    for (int i = 1; i < typed->argc; i++)
        for (size_t j = 0; j < sizeof words / sizeof *words; j++)
            if (strcmp(typed->argv[i], words[j]) == 0)
                return true;
    return false;
}

static bool is_typed(const struct typed *typed, const struct option_row *row)
{
    const char *text;
    int end = typed->argc;
    if (settings_argument(row, typed->argc, typed->argv) != NULL)
        return true;
    while ((text = settings_argument_before(find("vary"), typed->argc, typed->argv, &end)) != NULL)
        if (axes_text_has(text, row))
            return true;
    return false;
}

static bool is_overruled(void *context, const struct option_row *row)
{
    const struct typed *typed = context;
    const char *twin = settings_twin(row);
    return is_typed(typed, row) || (twin != NULL && is_typed(typed, find(twin)));
}

static bool config_is_typed(const struct typed *typed, const char *name)
{
    const char *text;
    int end = typed->argc;
    while ((text = settings_argument_before(find("arm"), typed->argc, typed->argv, &end)) != NULL)
        if (named_config_name_length(text) == strlen(name) &&
            strncmp(text, name, strlen(name)) == 0)
            return true;
    return false;
}

/* text is freed; NULL: there was no memory for it, which the list of words then has, too. */
static enum status add_text(struct arguments *words, const char *option, char *text,
                            struct error *error)
{
    if (text == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    if (text[0] != '\0')
        arguments_add(words, option, "%s", text);
    free(text);
    return STATUS_OK;
}

static enum status add_plan(struct arguments *words, const struct plan *plan, struct typed *typed,
                            struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < plan->common.count; i++)
        if (!is_overruled(typed, plan->common.items[i].row))
            arguments_add(words, plan->common.items[i].row->name, "%s",
                          plan->common.items[i].value);
    for (size_t i = 0; i < plan->axes.count && status == STATUS_OK; i++)
        status =
            add_text(words, "vary", axes_text(&plan->axes.list[i], is_overruled, typed), error);
    for (size_t i = 0; i < plan->configs.count && status == STATUS_OK; i++)
        if (!config_is_typed(typed, plan->configs.list[i].name))
            status = add_text(words, "arm", named_config_text(&plan->configs.list[i]), error);
    return status;
}

static enum status add_file(struct arguments *words, const char *path, struct typed *typed,
                            struct error *error)
{
    struct plan *plan = calloc(1, sizeof *plan); /* Large. */
    if (plan == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    enum status status = plan_read_file(plan, &disk_posix, path, error);
    if (status == STATUS_OK)
        status = add_plan(words, plan, typed, error);
    plan_free(plan);
    free(plan);
    return status;
}

enum status plan_words(struct arguments *words, int argc, char **argv, struct error *error)
{
    struct typed typed = {argc, argv};
    char variable[64];
    enum status status = STATUS_OK;
    arguments_init(words, argc > 0 ? argv[0] : "compare");
    option_environment_name(find("plan"), variable);
    const char *path = settings_argument(find("plan"), argc, argv);
    if (path == NULL)
        path = getenv(variable);
    if (path != NULL && path[0] != '\0' && !asks_for_help(&typed))
        status = add_file(words, path, &typed, error);
    for (int i = 1; i < argc; i++)
        arguments_add_word(words, argv[i]);
    if (status == STATUS_OK && arguments_list(words) == NULL)
        status = error_set(error, STATUS_MEMORY, "out of memory");
    return status;
}
