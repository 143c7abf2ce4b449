/* axes.c - splits --vary's texts into options and values. */

#include "deploy/compare/axes.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SOURCE_CHARS 128
#define SEPARATORS   ",;+\\"

/* --- one by one ------------------------------------------------------------------------------- */

struct axis *axes_add(struct axes *axes)
{
    if (axes->count == AXES_MAX)
        return NULL;
    struct axis *axis = &axes->list[axes->count++];
    *axis = (struct axis){.option_count = 0};
    return axis;
}

const struct axis *axes_find(const struct axes *axes, const struct option_row *row)
{
    for (size_t i = 0; i < axes->count; i++)
        for (size_t j = 0; j < axes->list[i].option_count; j++)
            if (axes->list[i].options[j].row == row)
                return &axes->list[i];
    return NULL;
}

struct axis_option *axes_add_option(struct axes *axes, const struct option_row *row,
                                    const char *source, struct error *error)
{
    struct axis *axis = &axes->list[axes->count - 1];
    if (axes_find(axes, row) != NULL) {
        error_set(error, STATUS_INVALID, "%s: it is varied twice", source);
        return NULL;
    }
    if (axis->option_count == AXIS_OPTIONS_MAX) {
        error_set(error, STATUS_INVALID, "%s: more than %d options together", source,
                  AXIS_OPTIONS_MAX);
        return NULL;
    }
    struct axis_option *option = &axis->options[axis->option_count++];
    *option = (struct axis_option){.row = row};
    return option;
}

enum status axes_add_value(struct axis_option *option, const char *text, size_t length,
                           const char *source, struct error *error)
{
    if (length == 0)
        return error_set(error, STATUS_INVALID, "%s: a value is empty", source);
    if (option->count == AXIS_VALUES_MAX)
        return error_set(error, STATUS_INVALID, "%s: more than %d values", source, AXIS_VALUES_MAX);
    char *value = strndup(text, length);
    if (value == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    option->values[option->count++] = value;
    return STATUS_OK;
}

static bool same_values(const struct axis *axis, size_t a, size_t b)
{
    for (size_t i = 0; i < axis->option_count; i++) {
        const struct axis_option *option = &axis->options[i];
        if (!settings_same_value(option->row, option->values[a], option->values[b]))
            return false;
    }
    return true;
}

/* One option may have a value several times, if another that is taken with it differs. */
static enum status check_values(const struct axis *axis, const char *source, struct error *error)
{
    for (size_t i = 1; i < axis->count; i++)
        for (size_t j = 0; j < i; j++)
            if (same_values(axis, i, j))
                return error_set(error, STATUS_INVALID, "%s: %.100s is there twice%s", source,
                                 axis->options[0].values[i],
                                 axis->option_count > 1 ? ", with the same beside it" : "");
    return STATUS_OK;
}

enum status axes_close(struct axes *axes, const char *source, struct error *error)
{
    struct axis *axis = &axes->list[axes->count - 1];
    const struct axis_option *first = &axis->options[0];
    if (axis->option_count == 0)
        return error_set(error, STATUS_INVALID, "%s: needs an option and its values", source);
    for (size_t i = 0; i < axis->option_count; i++) {
        const struct axis_option *option = &axis->options[i];
        if (option->count == 0)
            return error_set(error, STATUS_INVALID, "%s: %s has no values", source,
                             option->row->name);
        if (option->count != first->count)
            return error_set(error, STATUS_INVALID,
                             "%s: %s has %zu values and %s %zu; taken in pairs they are as many",
                             source, first->row->name, first->count, option->row->name,
                             option->count);
    }
    axis->count = first->count;
    return check_values(axis, source, error);
}

/* --- modes and workers ----------------------------------------------------------------------- */

static const struct option_row *modes_row(void)
{
    return option_find(OPTION_COMPARE, "modes", 5);
}

static const struct option_row *workers_row(void)
{
    return option_find(OPTION_COMPARE, "workers", 7);
}

static enum status add_modes(struct axes *axes, const struct options *options, struct error *error)
{
    struct mode_setting modes[OPTIONS_MODES_MAX];
    uint32_t count;
    bool of_run = options->config.count > 0 && !options_given(options, OPTION_COMPARE, "modes");
    enum status status =
        options_modes(of_run ? option_find(OPTION_RUN, "mode", 4)->fallback : options->modes, modes,
                      OPTIONS_MODES_MAX, &count, error);
    if (status != STATUS_OK)
        return status;
    axes_add(axes);
    struct axis_option *option = axes_add_option(axes, modes_row(), "--modes", error);
    for (uint32_t i = 0; i < count && status == STATUS_OK; i++) {
        struct mode_text text = mode_text(modes[i]);
        status = axes_add_value(option, text.text, strlen(text.text), "--modes", error);
    }
    return status == STATUS_OK ? axes_close(axes, "--modes", error) : status;
}

static enum status add_workers(struct axes *axes, const struct options *options,
                               struct error *error)
{
    uint32_t counts[OPTIONS_COUNTS_MAX], count;
    char text[16];
    enum status status =
        options_counts(options->worker_counts, counts, OPTIONS_COUNTS_MAX, &count, error);
    if (status != STATUS_OK)
        return status;
    axes_add(axes);
    struct axis_option *option = axes_add_option(axes, workers_row(), "--workers", error);
    for (uint32_t i = 0; i < count && status == STATUS_OK; i++) {
        snprintf(text, sizeof text, "%u", counts[i]);
        status = axes_add_value(option, text, strlen(text), "--workers", error);
    }
    return status == STATUS_OK ? axes_close(axes, "--workers", error) : status;
}

/* --- --vary ----------------------------------------------------------------------------------- */

/* The first of these characters without a backslash before it, or the end. */
static const char *find_plain(const char *text, const char *end, const char *characters)
{
    for (; text < end && *text != '\0'; text++)
        if (*text == '\\' && text + 1 < end)
            text++;
        else if (strchr(characters, *text) != NULL)
            break;
    return text < end ? text : end;
}

/* The next "+name=" in text, or its end. */
static const char *part_end(const char *text)
{
    const char *end = text + strlen(text);
    for (const char *at = text; (at = find_plain(at, end, "+")) < end; at++) {
        size_t length = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz-_");
        if (length > 0 && at[1 + length] == '=')
            return at;
    }
    return end;
}

bool axes_text_has(const char *text, const struct option_row *row)
{
    for (const char *part = text; part[0] != '\0';) {
        const char *end = part_end(part);
        struct error unused;
        if (settings_find_differing(part, strcspn(part, "="), &unused) == row)
            return true;
        part = end + (end[0] == '+');
    }
    return false;
}

/* The option of this name, if it may be varied. */
static const struct option_row *find_row(const struct options *options, const char *name,
                                         size_t length, const char *source, struct error *error)
{
    struct error why;
    const struct option_row *row = settings_find_differing(name, length, &why);
    if (row == NULL)
        error_set(error, STATUS_INVALID, "%s: %s", source, why.text);
    else if (!options_given(options, OPTION_COMPARE, row->name))
        return row;
    else
        error_set(error, STATUS_INVALID, "--%s and %s: one of them is too much", row->name, source);
    return NULL;
}

/* One value, without the backslashes that kept it together. */
static enum status add_value(struct axis_option *option, const char *text, size_t length,
                             const char *source, struct error *error)
{
    char *value = malloc(length + 1);
    size_t bytes = 0;
    if (value == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < length; i++) {
        bool escape = text[i] == '\\' && i + 1 < length && strchr(SEPARATORS, text[i + 1]) != NULL;
        value[bytes++] = text[escape ? ++i : i];
    }
    enum status status = axes_add_value(option, value, bytes, source, error);
    free(value);
    return status;
}

static enum status add_values(struct axis_option *option, const char *text, const char *end,
                              const char *source, struct error *error)
{
    const char *separator = find_plain(text, end, ";") < end ? ";" : ",";
    for (;;) {
        const char *next = find_plain(text, end, separator);
        enum status status = add_value(option, text, (size_t)(next - text), source, error);
        if (status != STATUS_OK || next == end)
            return status;
        text = next + 1;
    }
}

static enum status refuse_many(struct error *error)
{
    return error_set(error, STATUS_INVALID,
                     "--vary: with --modes and --workers there are more than %d axes", AXES_MAX);
}

/* One --vary. */
static enum status add_axis(struct axes *axes, const struct options *options, const char *text,
                            struct error *error)
{
    char source[SOURCE_CHARS];
    if (axes_add(axes) == NULL)
        return refuse_many(error);
    for (const char *part = text; part[0] != '\0';) {
        const char *end = part_end(part);
        size_t length = strcspn(part, "=");
        if (part + length >= end)
            return error_set(error, STATUS_INVALID, "--vary=%.100s: needs NAME=VALUE,VALUE", text);
        snprintf(source, sizeof source, "--vary %.*s", (int)(length < 60 ? length : 60), part);
        const struct option_row *row = find_row(options, part, length, source, error);
        struct axis_option *option = row != NULL ? axes_add_option(axes, row, source, error) : NULL;
        if (option == NULL)
            return STATUS_INVALID;
        enum status status = add_values(option, part + length + 1, end, source, error);
        if (status != STATUS_OK)
            return status;
        part = end + (end[0] == '+');
    }
    snprintf(source, sizeof source, "--vary %.*s", (int)strcspn(text, "="), text);
    return axes_close(axes, source, error);
}

enum status axes_read(struct axes *axes, const struct options *options, struct error *error)
{
    struct axes varied = {.count = 0};
    enum status status = STATUS_OK;
    axes->count = 0;
    for (uint32_t i = 0; i < options->vary.count && status == STATUS_OK; i++)
        status = add_axis(&varied, options, options->vary.items[i], error);
    if (status == STATUS_OK && axes_find(&varied, modes_row()) == NULL)
        status = add_modes(axes, options, error);
    if (status == STATUS_OK && axes_find(&varied, workers_row()) == NULL)
        status = add_workers(axes, options, error);
    if (status == STATUS_OK && axes->count + varied.count > AXES_MAX)
        status = refuse_many(error);
    if (status != STATUS_OK) {
        axes_free(&varied);
        return status;
    }
    for (size_t i = 0; i < varied.count; i++)
        axes->list[axes->count++] = varied.list[i];
    return STATUS_OK;
}

void axes_free(struct axes *axes)
{
    for (size_t i = 0; i < axes->count; i++)
        for (size_t j = 0; j < axes->list[i].option_count; j++)
            for (size_t k = 0; k < axes->list[i].options[j].count; k++)
                free(axes->list[i].options[j].values[k]);
    axes->count = 0;
}

/* --- and back --------------------------------------------------------------------------------- */

static void put_value(FILE *stream, const char *value)
{
    for (; *value != '\0'; value++) {
        if (strchr(SEPARATORS, *value) != NULL)
            fputc('\\', stream);
        fputc(*value, stream);
    }
}

char *axes_text(const struct axis *axis, axes_leave_out_fn *leave_out, void *context)
{
    char *text = NULL;
    size_t bytes;
    bool any = false;
    FILE *stream = open_memstream(&text, &bytes);
    if (stream == NULL)
        return NULL;
    for (size_t i = 0; i < axis->option_count; i++) {
        const struct axis_option *option = &axis->options[i];
        if (leave_out(context, option->row))
            continue;
        fprintf(stream, "%s%s=", any ? "+" : "", option->row->name);
        for (size_t j = 0; j < option->count; j++) {
            fputs(j > 0 ? "," : "", stream);
            put_value(stream, option->values[j]);
        }
        any = true;
    }
    bool failed = ferror(stream) != 0;
    if (fclose(stream) != 0 || failed) {
        free(text);
        return NULL;
    }
    return text;
}

/* --- combinations ----------------------------------------------------------------------------- */

size_t axes_combinations(const struct axes *axes)
{
    size_t all = 1;
    for (size_t i = 0; i < axes->count; i++) {
        if (all > SIZE_MAX / axes->list[i].count)
            return SIZE_MAX;
        all *= axes->list[i].count;
    }
    return all;
}

size_t axes_value(const struct axes *axes, size_t combination, size_t axis)
{
    for (size_t i = axes->count - 1; i > axis; i--)
        combination /= axes->list[i].count;
    return combination % axes->list[axis].count;
}
