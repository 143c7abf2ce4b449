/* named_configs.c - splits the texts of --arm into words, and parses these as options. */

#include "deploy/compare/named_configs.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/wording.h"

#define BLANKS       " \t\r\n"
#define SHOWN_CHARS  60
#define SOURCE_CHARS (NAMED_CONFIG_MAX + SHOWN_CHARS + 16)

void named_configs_free(struct named_configs *configs)
{
    for (size_t i = 0; i < configs->count; i++)
        settings_free(&configs->list[i].own);
    free(configs->list);
    *configs = (struct named_configs){.count = 0};
}

/* --- names ------------------------------------------------------------------------------------ */

static bool is_name(const char *name)
{
    static const char others[] = "._+-";
    bool valid = isalnum((unsigned char)name[0]) != 0;
    for (const char *c = name; *c != '\0'; c++)
        valid = valid && (isalnum((unsigned char)*c) || strchr(others, *c) != NULL);
    return valid;
}

struct named_config *named_configs_add(struct named_configs *configs, const char *name,
                                       struct error *error)
{
    struct named_config *list = NULL;
    if (!is_name(name) || strlen(name) > NAMED_CONFIG_MAX)
        error_set(error, STATUS_INVALID,
                  "a name is of letters, digits and ._+-, %d at most, and begins with a letter or "
                  "a digit",
                  NAMED_CONFIG_MAX);
    else if (configs->count == NAMED_CONFIGS_MAX)
        error_set(error, STATUS_INVALID, "it is one more than there may be, %d", NAMED_CONFIGS_MAX);
    else if ((list = realloc(configs->list, (configs->count + 1) * sizeof *list)) == NULL)
        error_set(error, STATUS_MEMORY, "out of memory");
    else
        configs->list = list;
    for (size_t i = 0; i < configs->count && list != NULL; i++) {
        if (strcmp(configs->list[i].name, name) != 0)
            continue;
        error_set(error, STATUS_INVALID, "there are two of this name");
        list = NULL;
    }
    if (list == NULL)
        return NULL;
    struct named_config *config = &list[configs->count++];
    *config = (struct named_config){.own = {.count = 0}};
    snprintf(config->name, sizeof config->name, "%s", name);
    return config;
}

/* --- options ---------------------------------------------------------------------------------- */

/* Of an axis a single value: a configuration has one mode and one number of workers. */
static enum status check_single(const struct option_row *row, const char *value, const char *source,
                                struct error *error)
{
    struct mode_setting modes[OPTIONS_MODES_MAX];
    uint32_t counts[OPTIONS_COUNTS_MAX], count = 1;
    struct error why = {0};
    enum status status = STATUS_OK;
    if (strcmp(row->name, "modes") == 0)
        status = options_modes(value, modes, OPTIONS_MODES_MAX, &count, &why);
    else if (strcmp(row->name, "workers") == 0)
        status = options_counts(value, counts, OPTIONS_COUNTS_MAX, &count, &why);
    if (status == STATUS_OK && count != 1)
        status = error_set(&why, STATUS_INVALID, "an arm has one, and this is a list of %u", count);
    return status == STATUS_OK
               ? status
               : error_set(error, status, "%s=%.100s: %.200s", source, value, why.text);
}

enum status named_config_set(struct named_config *config, const struct option_row *row,
                             const char *value, const char *source, struct error *error)
{
    struct options *read = calloc(1, sizeof *read); /* Large, and only to try it. */
    enum status status = STATUS_OK;
    if (read == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    if (settings_value(&config->own, row) != NULL)
        status = error_set(error, STATUS_INVALID, "%s: it is there twice", source);
    if (status == STATUS_OK)
        status = option_store(row, source, value, read, error);
    free(read);
    if (status == STATUS_OK)
        status = check_single(row, value, source, error);
    return status == STATUS_OK ? settings_add(&config->own, row, value, error) : status;
}

/* --- words ------------------------------------------------------------------------------------ */

/* The next word of *text, with quotes and backslashes resolved, into word, which has room for all
 * of the text; *text is then after it. False when there is none, or, with *open, when a quote is
 * not closed. */
static bool next_word(const char **text, char *word, bool *open)
{
    const char *at = *text + strspn(*text, BLANKS);
    char quote = '\0';
    bool any = *at != '\0';
    size_t length = 0;
    for (; *at != '\0' && (quote != '\0' || strchr(BLANKS, *at) == NULL); at++)
        if (quote == '\0' && (*at == '\'' || *at == '"'))
            quote = *at;
        else if (*at == quote)
            quote = '\0';
        else if (*at == '\\' && quote != '\'' && at[1] != '\0')
            word[length++] = *++at;
        else
            word[length++] = *at;
    word[length] = '\0';
    *text = at;
    *open = quote != '\0';
    return any && !*open;
}

size_t named_config_name_length(const char *text)
{
    size_t length = strcspn(text, "=" BLANKS);
    return text[length] == '=' ? length : 0;
}

/* One option, in one word or two; `word` and `more` have room for all of the text. */
static enum status take_option(struct named_config *config, const char **text, char *word,
                               char *more, struct error *error)
{
    char source[SOURCE_CHARS];
    struct error why;
    bool open = false;
    size_t length = strcspn(word, "=");
    const char *value = word + length + 1;
    snprintf(source, sizeof source, "--arm %s: %.*s", config->name,
             (int)(length < SHOWN_CHARS ? length : SHOWN_CHARS), word);
    if (strncmp(word, "--", 2) != 0)
        return error_set(error, STATUS_INVALID, "%s: options begin with --", source);
    const struct option_row *row = settings_find_differing(word + 2, length - 2, &why);
    if (row == NULL)
        return error_set(error, STATUS_INVALID, "%s: %.300s", source, why.text);
    if (word[length] == '\0' && row->kind == OPTION_KIND_FLAG) {
        value = "true";
    } else if (word[length] == '\0') {
        const char *next = *text + strspn(*text, BLANKS);
        bool missing = strncmp(next, "--", 2) == 0 || !next_word(text, more, &open);
        value = missing ? "" : more;
    }
    if (open)
        return error_set(error, STATUS_INVALID, "%s: a quote is not closed", source);
    return named_config_set(config, row, value, source, error);
}

static enum status read_options(struct named_config *config, const char *text, struct error *error)
{
    enum status status = STATUS_OK;
    bool open = false;
    char *word = malloc(strlen(text) + 1), *more = malloc(strlen(text) + 1);
    if (word == NULL || more == NULL)
        status = error_set(error, STATUS_MEMORY, "out of memory");
    while (status == STATUS_OK && next_word(&text, word, &open))
        status = take_option(config, &text, word, more, error);
    if (status == STATUS_OK && open)
        status = error_set(error, STATUS_INVALID, "--arm %s: a quote is not closed", config->name);
    free(word);
    free(more);
    return status;
}

enum status named_configs_read(struct named_configs *configs, const struct options *options,
                               struct error *error)
{
    enum status status = STATUS_OK;
    *configs = (struct named_configs){.count = 0};
    for (uint32_t i = 0; i < options->config.count && status == STATUS_OK; i++) {
        const char *text = options->config.items[i];
        size_t length = named_config_name_length(text);
        char name[NAMED_CONFIG_MAX + 2];
        struct error why = {0};
        if (length == 0)
            return error_set(error, STATUS_INVALID, "--arm=%.100s: needs NAME=OPTIONS", text);
        snprintf(name, sizeof name, "%.*s",
                 (int)(length > NAMED_CONFIG_MAX ? NAMED_CONFIG_MAX + 1 : length), text);
        struct named_config *config = named_configs_add(configs, name, &why);
        if (config == NULL)
            return error_set(error, why.status, "--arm %s: %s", name, why.text);
        status = read_options(config, text + length + 1, error);
    }
    return status;
}

/* --- and back --------------------------------------------------------------------------------- */

const char *named_config_option(const struct option_row *row)
{
    return strcmp(row->name, "modes") == 0 ? "mode" : row->name;
}

void named_config_given(const struct named_config *config, char text[CONFIG_GIVEN_MAX])
{
    text[0] = '\0';
    for (size_t i = 0; i < config->own.count; i++) {
        const struct setting *item = &config->own.items[i];
        bool flag = item->row->kind == OPTION_KIND_FLAG && strcmp(item->value, "true") == 0;
        const char *quote = strpbrk(item->value, BLANKS) != NULL ? "'" : "";
        wording_append(text, CONFIG_GIVEN_MAX, "%s--%s", i > 0 ? " " : "",
                       named_config_option(item->row));
        if (!flag)
            wording_append(text, CONFIG_GIVEN_MAX, " %s%s%s", quote, item->value, quote);
    }
    if (strlen(text) + 1 == CONFIG_GIVEN_MAX)
        memcpy(text + CONFIG_GIVEN_MAX - 4, "...", 4);
}

/* A word that next_word reads as value. */
static void put_quoted(FILE *stream, const char *value)
{
    fputc('\'', stream);
    for (; *value != '\0'; value++)
        if (*value == '\'')
            fputs("'\\''", stream);
        else
            fputc(*value, stream);
    fputc('\'', stream);
}

char *named_config_text(const struct named_config *config)
{
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    if (stream == NULL)
        return NULL;
    fprintf(stream, "%s=", config->name);
    for (size_t i = 0; i < config->own.count; i++) {
        fprintf(stream, "%s--%s=", i > 0 ? " " : "", named_config_option(config->own.items[i].row));
        put_quoted(stream, config->own.items[i].value);
    }
    bool failed = ferror(stream) != 0;
    if (fclose(stream) != 0 || failed) {
        free(text);
        return NULL;
    }
    return text;
}
