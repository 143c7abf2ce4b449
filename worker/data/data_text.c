/* data_text.c - files first, then " --name value" for each setting, in any order. */

#include "worker/data/data_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum status read_label(struct data_text *data, const char *value)
{
    snprintf(data->label, sizeof data->label, "%s", value);
    return value[0] != '\0' && strlen(value) < sizeof data->label ? STATUS_OK : STATUS_INVALID;
}

static enum status read_test_part(struct data_text *data, const char *value)
{
    char *end;
    data->test_part = strtod(value, &end);
    bool sound = end != value && *end == '\0' && data->test_part >= 0 && data->test_part <= 0.9;
    return sound ? STATUS_OK : STATUS_INVALID;
}

static enum status read_classes(struct data_text *data, const char *value)
{
    char *end;
    unsigned long classes = strtoul(value, &end, 10);
    data->classes = (uint32_t)classes;
    return *value >= '0' && *value <= '9' && *end == '\0' && classes >= 1 &&
                   classes <= DATA_CLASSES_MAX
               ? STATUS_OK
               : STATUS_INVALID;
}

static enum status read_scale(struct data_text *data, const char *value)
{
    static const char *const words[] = {"auto", "bytes", "standard", "none"};
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(value, words[i]) == 0) {
            data->scale = (enum data_scale)i;
            return STATUS_OK;
        }
    }
    return STATUS_INVALID;
}

static enum status read_loss(struct data_text *data, const char *value)
{
    data->real = strcmp(value, "mse") == 0;
    return data->real || strcmp(value, "softmax") == 0 ? STATUS_OK : STATUS_INVALID;
}

static const struct setting {
    const char *start; /* With the blanks around it. */
    enum status (*read)(struct data_text *data, const char *value);
    const char *needs;
} settings[] = {
    {" --label ", read_label, "the name or the number of a column"},
    {" --test-part ", read_test_part, "a number from 0 to 0.9"},
    {" --classes ", read_classes, "a whole number from 1 to 65536"},
    {" --scale ", read_scale, "auto, bytes, standard or none"},
    {" --loss ", read_loss, "softmax or mse"},
};
#define SETTINGS (sizeof settings / sizeof *settings)

/* Where the first setting begins at or behind `at`; NULL: there is none. */
static const char *next_setting(const char *at, const struct setting **which)
{
    const char *first = NULL;
    for (size_t i = 0; i < SETTINGS; i++) {
        const char *here = strstr(at, settings[i].start);
        if (here != NULL && (first == NULL || here < first)) {
            first = here;
            *which = &settings[i];
        }
    }
    return first;
}

enum status data_text_read(struct data_text *data, const char *text, struct error *error)
{
    const struct setting *which = NULL, *next = NULL;
    *data = (struct data_text){.test_part = -1};
    if (text[0] == '\0' || strlen(text) >= DATA_TEXT_MAX)
        return error_set(error, STATUS_INVALID, "--data=%.80s...: needs 1 to %d characters", text,
                         DATA_TEXT_MAX - 1);
    const char *at = next_setting(text, &which);
    size_t length = at != NULL ? (size_t)(at - text) : strlen(text);
    memcpy(data->files, text, length);
    while (at != NULL) {
        char value[DATA_TEXT_MAX];
        const char *start = at + strlen(which->start);
        at = next_setting(start, &next);
        length = at != NULL ? (size_t)(at - start) : strlen(start);
        memcpy(value, start, length);
        value[length] = '\0';
        if (which->read(data, value) != STATUS_OK)
            return error_set(error, STATUS_INVALID, "%.*s=%.80s: needs %s",
                             (int)strlen(which->start) - 2, which->start + 1, value, which->needs);
        which = next;
    }
    return STATUS_OK;
}

void data_text_join(char text[DATA_TEXT_MAX], const char *other)
{
    const struct setting *which = NULL, *next = NULL;
    for (const char *at = next_setting(other, &which), *end; at != NULL; at = end, which = next) {
        end = next_setting(at + strlen(which->start), &next);
        size_t length = end != NULL ? (size_t)(end - at) : strlen(at), used = strlen(text);
        if (strstr(text, which->start) == NULL && used + length < DATA_TEXT_MAX) {
            memcpy(text + used, at, length);
            text[used + length] = '\0';
        }
    }
}
