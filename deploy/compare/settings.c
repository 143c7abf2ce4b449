/* settings.c - looks for each option of compare where it was set. */

#include "deploy/compare/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file/json.h"
#include "common/file/json_writer.h"
#include "common/options/options_table.h"

#define FILE_BYTES_MAX 65536

/* Which runs, where, and what is printed. */
static bool is_left_out(const struct option_row *row)
{
    static const char *const names[] = {"modes", "workers", "seeds", "out", "vary"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(row->name, names[i]) == 0)
            return true;
    return row->group == OPTION_GROUP_OUTPUT;
}

const char *settings_argument(const struct option_row *row, int argc, char **argv)
{
    for (int i = argc - 1; i > 0; i--) {
        if (strncmp(argv[i], "--", 2) != 0)
            continue;
        size_t length = strcspn(argv[i] + 2, "=");
        if (option_find(OPTION_COMPARE, argv[i] + 2, length) != row)
            continue;
        if (argv[i][2 + length] == '=')
            return argv[i] + 2 + length + 1;
        return row->kind == OPTION_KIND_FLAG || i + 1 == argc ? "true" : argv[i + 1];
    }
    return NULL;
}

static const char *value_of(const struct option_row *row, int argc, char **argv)
{
    char variable[64];
    const char *value = settings_argument(row, argc, argv);
    option_environment_name(row, variable);
    return value != NULL ? value : getenv(variable);
}

enum status settings_take(struct settings *settings, const struct options *options, int argc,
                          char **argv, struct error *error)
{
    settings->count = 0;
    for (size_t i = 0; i < option_row_count; i++) {
        const struct option_row *row = &option_rows[i];
        if ((row->users & OPTION_COMPARE) == 0 || is_left_out(row) ||
            !options_given(options, OPTION_COMPARE, row->name))
            continue;
        const char *value = value_of(row, argc, argv);
        struct setting *item = &settings->items[settings->count];
        *item = (struct setting){row->name, strdup(value != NULL ? value : "")};
        if (item->value == NULL) {
            settings_free(settings);
            return error_set(error, STATUS_MEMORY, "out of memory");
        }
        settings->count++;
    }
    return STATUS_OK;
}

void settings_free(struct settings *settings)
{
    for (size_t i = 0; i < settings->count; i++)
        free(settings->items[i].value);
    settings->count = 0;
}

/* --- the file ------------------------------------------------------------------------------ */

static enum status file_path(char path[DISK_PATH_MAX], const char *out, struct error *error)
{
    int length = snprintf(path, DISK_PATH_MAX, "%s/" SETTINGS_FILE, out);
    if (length < 0 || length >= DISK_PATH_MAX)
        return error_set(error, STATUS_INVALID, "path is too long: %.300s...", out);
    return STATUS_OK;
}

enum status settings_write(const struct settings *settings, const struct disk *disk,
                           const char *out, struct error *error)
{
    char path[DISK_PATH_MAX];
    struct json_writer writer;
    enum status status = file_path(path, out, error);
    if (status != STATUS_OK)
        return status;
    json_writer_init(&writer, false);
    json_writer_object(&writer, NULL);
    json_writer_text(&writer, "format", SETTINGS_FORMAT);
    json_writer_object(&writer, "settings");
    for (size_t i = 0; i < settings->count; i++)
        json_writer_text(&writer, settings->items[i].name, settings->items[i].value);
    json_writer_end(&writer);
    json_writer_end(&writer);
    json_writer_raw(&writer, "\n", 1);
    if (writer.failed) {
        status = error_set(error, STATUS_MEMORY, "out of memory");
    } else {
        struct disk_piece piece = {writer.text, strlen(writer.text)};
        status = disk->write_file(disk->context, path, &piece, 1, error);
    }
    json_writer_free(&writer);
    return status;
}

static const char *value_among(const struct settings *settings, const char *name)
{
    for (size_t i = 0; i < settings->count; i++)
        if (strcmp(settings->items[i].name, name) == 0)
            return settings->items[i].value;
    return NULL;
}

static enum status differs(const char *out, const char *name, const char *now, const char *then,
                           struct error *error)
{
    return error_set(
        error, STATUS_MISMATCH,
        "%.150s holds a comparison that was begun %s--%s%s%.100s, and this one is %s--%s%s%.100s; "
        "choose another --out",
        out, then != NULL ? "with " : "without ", name, then != NULL ? " " : "",
        then != NULL ? then : "", now != NULL ? "with " : "without ", name, now != NULL ? " " : "",
        now != NULL ? now : "");
}

static enum status compare_to(const struct settings *settings, const struct json *earlier,
                              const char *out, struct error *error)
{
    for (size_t i = 0; i < settings->count; i++) {
        const struct setting *item = &settings->items[i];
        const char *then = json_text(earlier, item->name);
        if (then == NULL || strcmp(then, item->value) != 0)
            return differs(out, item->name, item->value, then, error);
    }
    struct json_member member = {0};
    while (json_next_member(earlier, &member))
        if (value_among(settings, member.name) == NULL)
            return differs(out, member.name, NULL, json_text(member.value, ""), error);
    return STATUS_OK;
}

enum status settings_check(const struct settings *settings, const struct disk *disk,
                           const char *out, struct error *error)
{
    char path[DISK_PATH_MAX];
    struct json *root = NULL;
    enum status status = file_path(path, out, error);
    if (status == STATUS_OK)
        status = json_read_file(disk, path, FILE_BYTES_MAX, &root, error);
    if (status != STATUS_OK)
        return status;
    const char *format = json_text(root, "format");
    const struct json *earlier = json_at(root, "settings");
    if (format == NULL || strcmp(format, SETTINGS_FORMAT) != 0 || !json_is_a_record(earlier))
        status = error_set(error, STATUS_INVALID, "%s is not of the kind " SETTINGS_FORMAT, path);
    else
        status = compare_to(settings, earlier, out, error);
    json_release(&root);
    return status;
}
