/* axes.c - cuts --vary's texts into options and values. */

#include "deploy/compare/axes.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 64

static enum status add_value(struct axis_option *option, const char *text, size_t length,
                             struct error *error)
{
    if (length == 0)
        return error_set(error, STATUS_INVALID, "--vary %s: a value is empty", option->row->name);
    if (option->count == AXIS_VALUES_MAX)
        return error_set(error, STATUS_INVALID, "--vary %s: more than %d values", option->row->name,
                         AXIS_VALUES_MAX);
    char *value = strndup(text, length);
    if (value == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    option->values[option->count++] = value;
    return STATUS_OK;
}

/* --- modes and workers ----------------------------------------------------------------------- */

static struct axis_option *new_axis(struct axes *axes, const char *name)
{
    struct axis *axis = &axes->list[axes->count++];
    *axis = (struct axis){.option_count = 1};
    axis->options[0].row = option_find(OPTION_COMPARE, name, strlen(name));
    return &axis->options[0];
}

static enum status add_modes(struct axes *axes, const struct options *options, struct error *error)
{
    struct mode_setting modes[OPTIONS_MODES_MAX];
    uint32_t count;
    enum status status = options_modes(options->modes, modes, OPTIONS_MODES_MAX, &count, error);
    if (status != STATUS_OK)
        return status;
    struct axis_option *option = new_axis(axes, "modes");
    for (uint32_t i = 0; i < count && status == STATUS_OK; i++) {
        struct mode_text text = mode_text(modes[i]);
        status = add_value(option, text.text, strlen(text.text), error);
    }
    axes->list[axes->count - 1].count = count;
    return status;
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
    struct axis_option *option = new_axis(axes, "workers");
    for (uint32_t i = 0; i < count && status == STATUS_OK; i++) {
        snprintf(text, sizeof text, "%u", counts[i]);
        status = add_value(option, text, strlen(text), error);
    }
    axes->list[axes->count - 1].count = count;
    return status;
}

/* --- --vary ------------------------------------------------------------------------------------ */

/* The next "+name=" in text, or its end. */
static const char *part_end(const char *text)
{
    for (const char *at = text; (at = strchr(at, '+')) != NULL; at++) {
        size_t length = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz-_");
        if (length > 0 && at[1 + length] == '=')
            return at;
    }
    return text + strlen(text);
}

static bool is_varied(const struct axes *axes, const struct option_row *row)
{
    for (size_t i = 0; i < axes->count; i++)
        for (size_t j = 0; j < axes->list[i].option_count; j++)
            if (axes->list[i].options[j].row == row)
                return true;
    return false;
}

/* The option of this name, if it may be varied. */
static const struct option_row *find_row(const struct axes *axes, const struct options *options,
                                         const char *name, size_t length, struct error *error)
{
    bool mode = length == 4 && strncmp(name, "mode", length) == 0;
    const struct option_row *row =
        mode ? option_find(OPTION_COMPARE, "modes", 5) : option_find(OPTION_COMPARE, name, length);
    char typed[NAME_MAX_BYTES];
    snprintf(typed, sizeof typed, "%.*s", (int)length, name);
    if (row == NULL) {
        const char *meant = option_meant(OPTION_COMPARE, typed);
        error_set(error, STATUS_INVALID, "--vary %s: there is no such option%s%s%s", typed,
                  meant != NULL ? " (did you mean " : "", meant != NULL ? meant : "",
                  meant != NULL ? "?)" : "");
        return NULL;
    }
    bool not_one_run = strcmp(row->name, "seeds") == 0 || row->kind == OPTION_KIND_LIST ||
                       row->group == OPTION_GROUP_FILES || row->group == OPTION_GROUP_OUTPUT;
    if (strcmp(row->name, "seed") == 0)
        error_set(error, STATUS_INVALID, "--vary seed: --seeds repeats every run with several");
    else if (not_one_run)
        error_set(error, STATUS_INVALID, "--vary %s: it cannot differ between arms", row->name);
    else if (options_given(options, OPTION_COMPARE, row->name))
        error_set(error, STATUS_INVALID, "--%s and --vary %s: one of them is too much", row->name,
                  typed);
    else if (is_varied(axes, row))
        error_set(error, STATUS_INVALID, "--vary %s: it is varied twice", row->name);
    else
        return row;
    return NULL;
}

static enum status add_values(struct axis_option *option, const char *text, size_t length,
                              struct error *error)
{
    char separator = memchr(text, ';', length) != NULL ? ';' : ',';
    enum status status = STATUS_OK;
    while (status == STATUS_OK) {
        const char *end = memchr(text, separator, length);
        size_t bytes = end != NULL ? (size_t)(end - text) : length;
        status = add_value(option, text, bytes, error);
        if (end == NULL)
            break;
        text += bytes + 1;
        length -= bytes + 1;
    }
    return status;
}

static bool same_value(const struct axis *axis, size_t a, size_t b)
{
    for (size_t i = 0; i < axis->option_count; i++)
        if (strcmp(axis->options[i].values[a], axis->options[i].values[b]) != 0)
            return false;
    return true;
}

/* One option may have a value several times, if another that is taken with it differs. */
static enum status check_values(const struct axis *axis, struct error *error)
{
    for (size_t i = 1; i < axis->count; i++)
        for (size_t j = 0; j < i; j++)
            if (same_value(axis, i, j))
                return error_set(error, STATUS_INVALID, "--vary %s: %.100s is there twice%s",
                                 axis->options[0].row->name, axis->options[0].values[i],
                                 axis->option_count > 1 ? ", with the same beside it" : "");
    return STATUS_OK;
}

/* One --vary. */
static enum status add_axis(struct axes *axes, const struct options *options, const char *text,
                            struct error *error)
{
    struct axis *axis = &axes->list[axes->count++];
    *axis = (struct axis){.option_count = 0};
    for (const char *part = text; part[0] != '\0';) {
        const char *end = part_end(part);
        size_t length = strcspn(part, "=");
        if (part + length >= end)
            return error_set(error, STATUS_INVALID, "--vary=%.100s: needs NAME=VALUE,VALUE", text);
        if (axis->option_count == AXIS_OPTIONS_MAX)
            return error_set(error, STATUS_INVALID, "--vary=%.100s: more than %d options together",
                             text, AXIS_OPTIONS_MAX);
        const struct option_row *row = find_row(axes, options, part, length, error);
        if (row == NULL)
            return STATUS_INVALID;
        struct axis_option *option = &axis->options[axis->option_count++];
        *option = (struct axis_option){.row = row};
        enum status status =
            add_values(option, part + length + 1, (size_t)(end - part) - length - 1, error);
        if (status != STATUS_OK)
            return status;
        if (option->count != axis->options[0].count)
            return error_set(error, STATUS_INVALID,
                             "--vary=%.100s: %s has %zu values and %s %zu; taken in pairs they are "
                             "as many",
                             text, axis->options[0].row->name, axis->options[0].count, row->name,
                             option->count);
        axis->count = option->count;
        part = end + (end[0] == '+');
    }
    return axis->count > 0 ? check_values(axis, error)
                           : error_set(error, STATUS_INVALID, "--vary: needs NAME=VALUE,VALUE");
}

enum status axes_read(struct axes *axes, const struct options *options, struct error *error)
{
    struct axes varied = {.count = 0};
    enum status status = STATUS_OK;
    axes->count = 0;
    for (uint32_t i = 0; i < options->vary.count && status == STATUS_OK; i++)
        status = add_axis(&varied, options, options->vary.items[i], error);
    if (status == STATUS_OK && !is_varied(&varied, option_find(OPTION_COMPARE, "modes", 5)))
        status = add_modes(axes, options, error);
    if (status == STATUS_OK && !is_varied(&varied, option_find(OPTION_COMPARE, "workers", 7)))
        status = add_workers(axes, options, error);
    for (size_t i = 0; i < varied.count; i++)
        axes->list[axes->count++] = varied.list[i];
    return status;
}

void axes_free(struct axes *axes)
{
    for (size_t i = 0; i < axes->count; i++)
        for (size_t j = 0; j < axes->list[i].option_count; j++)
            for (size_t k = 0; k < axes->list[i].options[j].count; k++)
                free(axes->list[i].options[j].values[k]);
    axes->count = 0;
}

/* --- combinations ------------------------------------------------------------------------------ */

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
