/* plan_file.c - reads a plan and tracks line and path of each member, for error messages. */

#include "deploy/compare/plan_file.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/wording.h"
#include "common/file/json.h"
#include "common/file/json_line.h"

#define LEVELS_MAX  4
#define PATH_CHARS  160
#define VALUE_CHARS 4096

struct reader {
    struct plan *plan;
    const char *text;
    size_t bytes;
    const char *file;
    struct error *error;
    /* The path to the value being read, see json_line.h; its name: */
    size_t way[LEVELS_MAX], levels;
    char path[PATH_CHARS];
};

/* --- errors ----------------------------------------------------------------------------------- */

static enum status refuse_as(const struct reader *reader, enum status status, const char *format,
                             ...) __attribute__((format(printf, 3, 4)));

static enum status refuse_as(const struct reader *reader, enum status status, const char *format,
                             ...)
{
    char why[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    return error_set(reader->error, status, "%.120s: line %u: %s", reader->file,
                     json_line(reader->text, reader->bytes, reader->way, reader->levels), why);
}

#define refuse(reader, ...) refuse_as(reader, STATUS_INVALID, __VA_ARGS__)

/* Down to a member or an item; go_up returns to an earlier length of the path. A name may have any
 * bytes: those that would break the line are not shown. */
static size_t go_down(struct reader *reader, size_t number, const char *name)
{
    size_t length = strlen(reader->path);
    assert(reader->levels < LEVELS_MAX);
    reader->way[reader->levels++] = number;
    if (name != NULL)
        wording_append(reader->path, PATH_CHARS, "%s%.40s", length > 0 ? "." : "", name);
    else
        wording_append(reader->path, PATH_CHARS, "[%zu]", number);
    for (char *c = reader->path + length; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    return length;
}

static void go_up(struct reader *reader, size_t length)
{
    reader->path[length] = '\0';
    reader->levels--;
}

/* --- values ----------------------------------------------------------------------------------- */

/* In the form of a command line. */
static enum status value_text(const struct reader *reader, const struct json *value,
                              char text[VALUE_CHARS])
{
    const char *words = json_text(value, "");
    struct json_writer writer;
    if (words != NULL) {
        int length = snprintf(text, VALUE_CHARS, "%s", words);
        return length < VALUE_CHARS ? STATUS_OK
                                    : refuse(reader, "%s is longer than %d characters",
                                             reader->path, VALUE_CHARS - 1);
    }
    json_writer_init(&writer, true);
    json_write(value, &writer, NULL);
    bool failed = writer.failed;
    snprintf(text, VALUE_CHARS, "%s", failed ? "" : writer.text);
    json_writer_free(&writer);
    if (failed)
        return error_set(reader->error, STATUS_MEMORY, "out of memory");
    if (json_is_a_list(value) || json_is_a_record(value) || strcmp(text, "null") == 0)
        return refuse(reader, "%s needs a text, a number, true or false, not %.40s%s", reader->path,
                      text, strlen(text) > 40 ? "..." : "");
    return STATUS_OK;
}

/* Options about files and output are not part of a plan. */
static const struct option_row *find_common(const struct reader *reader, const char *name)
{
    const struct option_row *row = option_find(OPTION_COMPARE, name, strlen(name));
    const char *meant = option_meant(OPTION_COMPARE, name);
    if (row == NULL)
        refuse(reader, "%s: there is no such option of compare%s%s%s", reader->path,
               meant != NULL ? " (did you mean " : "", meant != NULL ? meant : "",
               meant != NULL ? "?)" : "");
    else if (strcmp(row->name, "modes") == 0 || strcmp(row->name, "workers") == 0)
        refuse(reader, "%s belongs in vary: [{\"%s\": [...]}]", reader->path, row->name);
    else if (!settings_is_common(row))
        refuse(reader, "%s is not for a plan, but for the command line", reader->path);
    else
        return row;
    return NULL;
}

static enum status try_value(const struct reader *reader, const struct option_row *row,
                             const char *text)
{
    struct options *scratch = calloc(1, sizeof *scratch);
    struct error why = {0};
    if (scratch == NULL)
        return error_set(reader->error, STATUS_MEMORY, "out of memory");
    enum status status = option_store(row, reader->path, text, scratch, &why);
    free(scratch);
    return status == STATUS_OK ? status : refuse_as(reader, status, "%.290s", why.text);
}

/* --- members ---------------------------------------------------------------------------------- */

static enum status read_option(struct reader *reader, const char *name, const struct json *value)
{
    char text[VALUE_CHARS];
    const struct option_row *row = find_common(reader, name);
    if (row == NULL)
        return STATUS_INVALID;
    if (settings_value(&reader->plan->common, row) != NULL)
        return refuse(reader, "%s is there twice", reader->path);
    enum status status = value_text(reader, value, text);
    if (status == STATUS_OK)
        status = try_value(reader, row, text);
    return status == STATUS_OK ? settings_add(&reader->plan->common, row, text, reader->error)
                               : status;
}

static enum status read_config_option(struct reader *reader, struct named_config *config,
                                      const char *name, const struct json *value)
{
    char text[VALUE_CHARS];
    struct error why = {0};
    const struct option_row *row = settings_find_differing(name, strlen(name), &why);
    if (row == NULL)
        return refuse(reader, "%s: %.250s", reader->path, why.text);
    enum status status = value_text(reader, value, text);
    if (status != STATUS_OK)
        return status;
    status = named_config_set(config, row, text, reader->path, &why);
    return status == STATUS_OK ? status : refuse_as(reader, status, "%.290s", why.text);
}

static enum status read_config(struct reader *reader, const char *name, const struct json *value)
{
    struct json_member member = {0};
    struct error why = {0};
    enum status status = STATUS_OK;
    struct named_config *config = named_configs_add(&reader->plan->configs, name, &why);
    if (config == NULL)
        return refuse_as(reader, why.status, "%s: %.200s", reader->path, why.text);
    if (!json_is_a_record(value))
        return refuse(reader, "%s needs an object, {...}", reader->path);
    for (size_t i = 0; status == STATUS_OK && json_next_member(value, &member); i++) {
        size_t length = go_down(reader, i, member.name);
        status = read_config_option(reader, config, member.name, member.value);
        go_up(reader, length);
    }
    return status;
}

static enum status read_values(struct reader *reader, struct axis_option *option,
                               const struct json *list)
{
    enum status status = STATUS_OK;
    struct error why = {0};
    if (!json_is_a_list(list))
        return refuse(reader, "%s needs a list of values, [...]", reader->path);
    for (size_t i = 0; status == STATUS_OK && json_item(list, i) != NULL; i++) {
        char text[VALUE_CHARS];
        size_t length = go_down(reader, i, NULL);
        status = value_text(reader, json_item(list, i), text);
        if (status == STATUS_OK)
            status = try_value(reader, option->row, text);
        if (status == STATUS_OK &&
            axes_add_value(option, text, strlen(text), reader->path, &why) != STATUS_OK)
            status = refuse_as(reader, why.status, "%.250s", why.text);
        go_up(reader, length);
    }
    return status;
}

static enum status read_axis_option(struct reader *reader, const char *name,
                                    const struct json *value)
{
    struct error why = {0};
    const struct option_row *row = settings_find_differing(name, strlen(name), &why);
    if (row == NULL)
        return refuse(reader, "%s: %.250s", reader->path, why.text);
    if (settings_value(&reader->plan->common, row) != NULL)
        return refuse(reader, "%s is in options, too: one of them is too much", reader->path);
    struct axis_option *option = axes_add_option(&reader->plan->axes, row, reader->path, &why);
    if (option == NULL)
        return refuse(reader, "%.250s", why.text);
    return read_values(reader, option, value);
}

static enum status read_axis(struct reader *reader, const struct json *axis)
{
    struct json_member member = {0};
    struct error why = {0};
    enum status status = STATUS_OK;
    if (!json_is_a_record(axis))
        return refuse(reader, "%s needs an object, {\"OPTION\": [...]}", reader->path);
    if (axes_add(&reader->plan->axes) == NULL)
        return refuse(reader, "%s is one more than there may be, %d", reader->path, AXES_MAX);
    for (size_t i = 0; status == STATUS_OK && json_next_member(axis, &member); i++) {
        size_t length = go_down(reader, i, member.name);
        status = read_axis_option(reader, member.name, member.value);
        go_up(reader, length);
    }
    if (status == STATUS_OK && axes_close(&reader->plan->axes, reader->path, &why) != STATUS_OK)
        status = refuse(reader, "%.250s", why.text);
    return status;
}

static enum status read_axes(struct reader *reader, const struct json *list)
{
    enum status status = STATUS_OK;
    if (!json_is_a_list(list))
        return refuse(reader, "%s needs a list, [{...}, ...]", reader->path);
    for (size_t i = 0; status == STATUS_OK && json_item(list, i) != NULL; i++) {
        size_t length = go_down(reader, i, NULL);
        status = read_axis(reader, json_item(list, i));
        go_up(reader, length);
    }
    return status;
}

typedef enum status read_entry_fn(struct reader *reader, const char *name,
                                  const struct json *value);

static enum status read_object(struct reader *reader, const struct json *object,
                               read_entry_fn *read)
{
    struct json_member member = {0};
    enum status status = STATUS_OK;
    if (!json_is_a_record(object))
        return refuse(reader, "%s needs an object, {...}", reader->path);
    for (size_t i = 0; status == STATUS_OK && json_next_member(object, &member); i++) {
        size_t length = go_down(reader, i, member.name);
        status = read(reader, member.name, member.value);
        go_up(reader, length);
    }
    return status;
}

static enum status read_about(struct reader *reader, const struct json *value)
{
    const char *text = json_text(value, "");
    bool line = text != NULL && strlen(text) < PLAN_ABOUT_MAX;
    for (const char *c = text; line && *c != '\0'; c++)
        line = (unsigned char)*c >= ' ';
    if (!line)
        return refuse(reader, "%s needs a line of text, of %d characters at most", reader->path,
                      PLAN_ABOUT_MAX - 1);
    snprintf(reader->plan->about, sizeof reader->plan->about, "%s", text);
    return STATUS_OK;
}

static enum status read_format(struct reader *reader, const struct json *value)
{
    const char *text = json_text(value, "");
    return text != NULL && strcmp(text, PLAN_FORMAT) == 0
               ? STATUS_OK
               : refuse(reader, "%s needs to be \"" PLAN_FORMAT "\", which this program reads",
                        reader->path);
}

/* Options first, wherever they are in the file: an option there is not varied. */
static enum status read_member(struct reader *reader, const char *name, const struct json *value)
{
    if (strcmp(name, "format") == 0)
        return read_format(reader, value);
    if (strcmp(name, "about") == 0)
        return read_about(reader, value);
    if (strcmp(name, "vary") == 0)
        return read_axes(reader, value);
    if (strcmp(name, "arms") == 0)
        return read_object(reader, value, read_config);
    return strcmp(name, "options") == 0 ? STATUS_OK
                                        : refuse(reader, "%s does not belong there", reader->path);
}

static enum status read_options(struct reader *reader, const char *name, const struct json *value)
{
    return strcmp(name, "options") == 0 ? read_object(reader, value, read_option) : STATUS_OK;
}

enum status plan_read(struct plan *plan, const char *text, size_t bytes, const char *path,
                      struct error *error)
{
    struct reader reader = {
        .plan = plan, .text = text, .bytes = bytes, .file = path, .error = error};
    struct json *root = NULL;
    memset(plan, 0, sizeof *plan);
    enum status status = json_parse(text, bytes, path, &root, error);
    if (status == STATUS_OK && json_at(root, "format") == NULL)
        status = refuse(&reader, "it has no \"format\": \"" PLAN_FORMAT "\"");
    if (status == STATUS_OK)
        status = read_object(&reader, root, read_options);
    if (status == STATUS_OK)
        status = read_object(&reader, root, read_member);
    json_release(&root);
    return status;
}

enum status plan_read_file(struct plan *plan, const struct disk *disk, const char *path,
                           struct error *error)
{
    void *text;
    size_t bytes;
    memset(plan, 0, sizeof *plan);
    enum status status =
        disk->read_file(disk->context, path, PLAN_FILE_BYTES_MAX, &text, &bytes, error);
    if (status != STATUS_OK)
        return status;
    status = plan_read(plan, text, bytes, path, error);
    free(text);
    return status;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* A number of an option of numbers as such, if it reads back as the same text: 1e-3 does not. */
static bool is_plain_number(const struct option_row *row, const char *text)
{
    static const char digits[] = "0123456789";
    bool number = row->kind == OPTION_KIND_I32 || row->kind == OPTION_KIND_U32 ||
                  row->kind == OPTION_KIND_U64 || row->kind == OPTION_KIND_REAL ||
                  row->kind == OPTION_KIND_FLOAT || strcmp(row->name, "workers") == 0;
    size_t whole = strspn(text, digits);
    size_t part = text[whole] == '.' ? strspn(text + whole + 1, digits) : 0;
    bool ends = text[whole] == '\0' ||
                (part > 0 && text[whole + 1 + part] == '\0' && text[whole + part] != '0');
    return number && whole > 0 && whole + part < 15 && ends && (text[0] != '0' || whole == 1);
}

static void write_value(struct json_writer *writer, const char *name, const struct option_row *row,
                        const char *value)
{
    bool flag;
    if (row->kind == OPTION_KIND_FLAG && option_parse_flag(value, &flag))
        json_writer_bool(writer, name, flag);
    else if (is_plain_number(row, value) && strchr(value, '.') == NULL)
        json_writer_u64(writer, name, strtoull(value, NULL, 10));
    else if (is_plain_number(row, value))
        json_writer_real(writer, name, strtod(value, NULL));
    else
        json_writer_text(writer, name, value);
}

static void write_settings(struct json_writer *writer, const char *name,
                           const struct settings *settings)
{
    json_writer_object(writer, name);
    for (size_t i = 0; i < settings->count; i++)
        write_value(writer, named_config_option(settings->items[i].row), settings->items[i].row,
                    settings->items[i].value);
    json_writer_end(writer);
}

static void write_axis(struct json_writer *writer, const struct axis *axis)
{
    json_writer_object_line(writer, NULL);
    for (size_t i = 0; i < axis->option_count; i++) {
        const struct axis_option *option = &axis->options[i];
        json_writer_array_line(writer, named_config_option(option->row));
        for (size_t j = 0; j < option->count; j++)
            write_value(writer, NULL, option->row, option->values[j]);
        json_writer_end(writer);
    }
    json_writer_end(writer);
}

void plan_write(const struct plan *plan, struct json_writer *writer)
{
    json_writer_object(writer, NULL);
    json_writer_text(writer, "format", PLAN_FORMAT);
    if (plan->about[0] != '\0')
        json_writer_text(writer, "about", plan->about);
    write_settings(writer, "options", &plan->common);
    json_writer_array(writer, "vary");
    for (size_t i = 0; i < plan->axes.count; i++)
        write_axis(writer, &plan->axes.list[i]);
    json_writer_end(writer);
    json_writer_object(writer, "arms");
    for (size_t i = 0; i < plan->configs.count; i++)
        write_settings(writer, plan->configs.list[i].name, &plan->configs.list[i].own);
    json_writer_end(writer);
    json_writer_end(writer);
}

static enum status file_path(char path[DISK_PATH_MAX], const char *folder, struct error *error)
{
    int length = snprintf(path, DISK_PATH_MAX, "%s/" PLAN_FILE, folder);
    if (length < 0 || length >= DISK_PATH_MAX)
        return error_set(error, STATUS_INVALID, "path is too long: %.300s...", folder);
    return STATUS_OK;
}

enum status plan_write_file(const struct plan *plan, const struct disk *disk, const char *folder,
                            struct error *error)
{
    char path[DISK_PATH_MAX];
    struct json_writer writer;
    enum status status = file_path(path, folder, error);
    if (status != STATUS_OK)
        return status;
    json_writer_init(&writer, false);
    plan_write(plan, &writer);
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

/* --- going on --------------------------------------------------------------------------------- */

/* The number of seeds and the questions may change when resuming; in virtual time there is no
 * warm-up. */
static bool decides(const struct option_row *row, const struct settings *settings)
{
    bool cold = settings_value(settings, option_find(OPTION_COMPARE, "virtual", 7)) != NULL &&
                strcmp(row->name, "warm-up") == 0;
    return row->group != OPTION_GROUP_OUTPUT && strcmp(row->name, "seeds") != 0 && !cold;
}

struct going_on {
    const char *folder;
    const char *config; /* The owner of these settings; NULL: all configurations. */
    struct error *error;
};

static enum status differs(const struct going_on *what, const struct option_row *row,
                           const char *now, const char *then)
{
    const char *name = what->config != NULL ? named_config_option(row) : row->name;
    return error_set(what->error, STATUS_MISMATCH,
                     "%.150s holds a comparison that was begun %s--%s%s%.100s%s%s, and this one is "
                     "%s--%s%s%.100s; choose another --out",
                     what->folder, then != NULL ? "with " : "without ", name,
                     then != NULL ? " " : "", then != NULL ? then : "",
                     what->config != NULL ? " in arm " : "",
                     what->config != NULL ? what->config : "", now != NULL ? "with " : "without ",
                     name, now != NULL ? " " : "", now != NULL ? now : "");
}

static enum status compare_settings(const struct going_on *what, const struct settings *now,
                                    const struct settings *then)
{
    for (size_t i = 0; i < now->count; i++) {
        const struct setting *item = &now->items[i];
        const char *other = settings_value(then, item->row);
        if (decides(item->row, now) &&
            (other == NULL || !settings_same_value(item->row, item->value, other)))
            return differs(what, item->row, item->value, other);
    }
    for (size_t i = 0; i < then->count; i++)
        if (decides(then->items[i].row, then) && settings_value(now, then->items[i].row) == NULL)
            return differs(what, then->items[i].row, NULL, then->items[i].value);
    return STATUS_OK;
}

static enum status compare_plans(const struct plan *now, const struct plan *then,
                                 const char *folder, struct error *error)
{
    struct going_on what = {folder, NULL, error};
    enum status status = compare_settings(&what, &now->common, &then->common);
    for (size_t i = 0; i < now->configs.count && status == STATUS_OK; i++) {
        what.config = now->configs.list[i].name;
        for (size_t j = 0; j < then->configs.count && status == STATUS_OK; j++)
            if (strcmp(what.config, then->configs.list[j].name) == 0)
                status =
                    compare_settings(&what, &now->configs.list[i].own, &then->configs.list[j].own);
    }
    return status;
}

enum status plan_check(const struct plan *plan, const struct disk *disk, const char *folder,
                       struct error *error)
{
    char path[DISK_PATH_MAX];
    struct plan then;
    enum status status = file_path(path, folder, error);
    if (status != STATUS_OK)
        return status;
    status = plan_read_file(&then, disk, path, error);
    if (status == STATUS_OK)
        status = compare_plans(plan, &then, folder, error);
    plan_free(&then);
    return status;
}
