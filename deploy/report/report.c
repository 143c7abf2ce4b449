/* report.c - writes every part into memory, and then to its file. */

#include "deploy/report/report.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/base/wording.h"
#include "common/file/json_writer.h"
#include "common/watch/page_text.h"
#include "deploy/page/page.h"
#include "deploy/report/conclusion_table.h"
#include "deploy/report/config.h"
#include "deploy/report/methods.h"
#include "deploy/report/notes.h"
#include "deploy/report/points.h"
#include "deploy/report/table.h"
#include "deploy/trace/trace.h"
#include "deploy/trace/windows.h"

/* --- facts --------------------------------------------------------------------------------- */

/* The value of the first line "name ...: value" of a file like /proc/cpuinfo. */
static bool proc_value(const char *path, const char *name, char *value, size_t bytes)
{
    char line[512];
    bool found = false;
    FILE *file = fopen(path, "re");
    while (file != NULL && !found && fgets(line, sizeof(line), file) != NULL) {
        char *colon = strchr(line, ':');
        if (colon != NULL && strncmp(line, name, strlen(name)) == 0) {
            colon[strcspn(colon, "\n")] = '\0';
            snprintf(value, bytes, "%s", colon + 1 + strspn(colon + 1, " \t"));
            found = true;
        }
    }
    if (file != NULL)
        fclose(file);
    return found;
}

void report_machine(char *text, size_t bytes)
{
    char processor[256];
    char memory[64];
    struct utsname system;
    memset(&system, 0, sizeof(system));
    uname(&system);
    if (!proc_value("/proc/cpuinfo", "model name", processor, sizeof(processor)))
        snprintf(processor, sizeof(processor), "%.64s processor", system.machine);
    double gibibytes = 0;
    if (proc_value("/proc/meminfo", "MemTotal", memory, sizeof(memory)))
        gibibytes = strtod(memory, NULL) / 1024 / 1024; /* In KiB. */
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    snprintf(text, bytes, "%s, %s, %.1f GiB of memory, %s %s", processor,
             wording_counted(online > 0 ? (uint64_t)online : 0, "processor", "processors").text,
             gibibytes, system.sysname, system.release);
}

/* Add text at *used; text without room is left out, and *used stays within bytes. */
static void add(char *text, size_t bytes, size_t *used, const char *piece, size_t length)
{
    if (*used + length < bytes) {
        memcpy(text + *used, piece, length);
        *used += length;
        text[*used] = '\0';
    }
}

static void add_quoted(char *text, size_t bytes, size_t *used, const char *argument)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,=+%@";
    if (argument[0] && argument[strspn(argument, plain)] == '\0') {
        add(text, bytes, used, argument, strlen(argument));
        return;
    }
    add(text, bytes, used, "'", 1);
    for (const char *at = argument; *at; at++)
        if (*at == '\'')
            add(text, bytes, used, "'\\''", 4);
        else
            add(text, bytes, used, at, 1);
    add(text, bytes, used, "'", 1);
}

void report_command(char *text, size_t bytes, int argc, char **argv)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < argc; i++) {
        if (used + 2 * strlen(argv[i]) + 8 > bytes) {
            add(text, bytes, &used, " ...", 4);
            return;
        }
        if (i > 0)
            add(text, bytes, &used, " ", 1);
        add_quoted(text, bytes, &used, argv[i]);
    }
}

/* --- files --------------------------------------------------------------------------------- */

static enum status write_text(const struct disk *disk, const char *out, const char *name,
                              const char *text, struct error *error)
{
    char path[DISK_PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s/%s", out, name);
    if (length < 0 || (size_t)length >= sizeof(path))
        return error_set(error, STATUS_INVALID, "path is too long: %.300s...", out);
    struct disk_piece piece = {text, strlen(text)};
    return disk->write_file(disk->context, path, &piece, 1, error);
}

/* A text written by a stream: open, print, close; then it is in *text, malloc'd. */
struct sheet {
    FILE *stream;
    char *text;
    size_t bytes;
};

static bool sheet_open(struct sheet *sheet)
{
    memset(sheet, 0, sizeof(*sheet));
    sheet->stream = open_memstream(&sheet->text, &sheet->bytes);
    return sheet->stream != NULL;
}

/* Write the sheet to OUT/name. */
static enum status sheet_close(struct sheet *sheet, const struct disk *disk, const char *out,
                               const char *name, struct error *error)
{
    bool failed = ferror(sheet->stream) != 0;
    failed |= fclose(sheet->stream) != 0;
    enum status status = failed ? error_set(error, STATUS_MEMORY, "out of memory")
                                : write_text(disk, out, name, sheet->text, error);
    free(sheet->text);
    return status;
}

void report_print(FILE *stream, const struct conclusion *conclusion, bool all)
{
    struct bits_verdict bits;
    char note[NOTE_TEXT_MAX];
    const struct comparison *comparison = conclusion->comparison;
    comparison_bits(comparison, &bits);
    table_write_missing(stream, comparison);
    conclusion_write_text(stream, conclusion);
    configs_write_text(stream, comparison);
    for (size_t i = 0; note_at(comparison, i, note); i++)
        wording_wrap(stream, note, 0, 0);
    if (bits.seeds > 0)
        fprintf(stream, "%s\n", bits.text);
    if (!all)
        return;
    fputc('\n', stream);
    conclusion_write_columns(stream, conclusion);
    fputc('\n', stream);
    table_write_text(stream, comparison);
}

static enum status write_table(const struct disk *disk, const char *out,
                               const struct conclusion *conclusion, struct error *error)
{
    struct sheet sheet;
    if (!sheet_open(&sheet))
        return error_set(error, STATUS_MEMORY, "out of memory");
    report_print(sheet.stream, conclusion, true);
    fputc('\n', sheet.stream);
    for (size_t i = 0; conclusion_note(i) != NULL; i++)
        fprintf(sheet.stream, "%s\n", conclusion_note(i));
    for (size_t i = 0; table_note(i) != NULL; i++)
        fprintf(sheet.stream, "%s\n", table_note(i));
    return sheet_close(&sheet, disk, out, "table.txt", error);
}

/* One more file of a comparison, that a function fills. */
typedef void conclusion_write_fn(FILE *stream, const struct conclusion *conclusion);

static enum status write_by(const struct disk *disk, const char *out, const char *name,
                            const struct conclusion *conclusion, conclusion_write_fn *fill,
                            struct error *error)
{
    struct sheet sheet;
    if (!sheet_open(&sheet))
        return error_set(error, STATUS_MEMORY, "out of memory");
    fill(sheet.stream, conclusion);
    return sheet_close(&sheet, disk, out, name, error);
}

static void fill_points(FILE *stream, const struct conclusion *conclusion)
{
    points_write(stream, conclusion->comparison);
}

static void fill_runs(FILE *stream, const struct conclusion *conclusion)
{
    points_write_runs(stream, conclusion->comparison);
}

static enum status write_methods(const struct disk *disk, const char *out,
                                 const struct methods_text *methods, struct error *error)
{
    struct sheet sheet;
    if (!sheet_open(&sheet))
        return error_set(error, STATUS_MEMORY, "out of memory");
    if (methods->text[0] != '\0')
        wording_wrap(sheet.stream, methods->text, 0, 0);
    return sheet_close(&sheet, disk, out, "methods.txt", error);
}

static enum status write_json(const struct disk *disk, const char *out,
                              const struct conclusion *conclusion, const char *command,
                              struct error *error)
{
    char *text = table_json(conclusion, command != NULL ? command : "");
    if (text == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    enum status status = write_text(disk, out, "compare.json", text, error);
    free(text);
    return status;
}

#define WARM_UP        "warm-up" /* See deploy/compare/warm_up.h. */
#define TRACE_PATH_MAX (DISK_PATH_MAX + 160)

/* --- the page --------------------------------------------------------------------------------- */

static void put_sheet(struct json_writer *writer, const char *name,
                      const struct conclusion *conclusion, conclusion_write_fn *fill)
{
    struct sheet sheet;
    if (!sheet_open(&sheet)) {
        writer->failed = true;
        return;
    }
    fill(sheet.stream, conclusion);
    writer->failed |= fclose(sheet.stream) != 0;
    json_writer_text(writer, name, sheet.text);
    free(sheet.text);
}

static void fill_drawn(FILE *stream, const struct conclusion *conclusion)
{
    points_write_drawn(stream, conclusion->comparison);
}

/* The trace of a group's first run that has one, or of its short run before. */
static bool find_trace(const struct disk *disk, const char *out, const struct group *group,
                       char path[TRACE_PATH_MAX])
{
    for (size_t i = 0; i < group->record_count; i++) {
        snprintf(path, TRACE_PATH_MAX, "%s/" TRACE_SPANS_NAME, group->records[i]->path);
        if (disk->look(disk->context, path) == DISK_FILE)
            return true;
    }
    snprintf(path, TRACE_PATH_MAX, "%s/" WARM_UP "/%s/" TRACE_SPANS_NAME, out, group->config.name);
    return disk->look(disk->context, path) == DISK_FILE;
}

/* Steps of one run of each configuration that has a trace: of the page, and for who asks for it live. */
static enum status write_steps(struct json_writer *writer, const struct disk *disk, const char *out,
                               const struct comparison *comparison, struct error *error)
{
    char path[TRACE_PATH_MAX];
    json_writer_init(writer, true);
    json_writer_object(writer, NULL);
    for (size_t i = 0; i < comparison->group_count; i++)
        if (find_trace(disk, out, &comparison->groups[i], path))
            windows_write_json_of(writer, comparison->groups[i].config.name, path);
    json_writer_end(writer);
    return writer->failed ? error_set(error, STATUS_MEMORY, "out of memory")
                          : write_text(disk, out, "steps.json", writer->text, error);
}

static enum status write_page(const struct disk *disk, const char *out,
                              const struct conclusion *conclusion, const struct report_facts *facts,
                              const struct methods_text *methods, const char *steps,
                              struct error *error)
{
    char path[DISK_PATH_MAX + 32];
    static const char before[] = ",\"steps.json\":";
    struct json_writer writer;
    json_writer_init(&writer, true);
    json_writer_object(&writer, NULL);
    json_writer_object(&writer, "compare.json");
    table_write_json(&writer, conclusion, facts->command != NULL ? facts->command : "");
    json_writer_text(&writer, "ended", facts->remark);
    json_writer_end(&writer);
    put_sheet(&writer, "points.csv", conclusion, fill_drawn);
    json_writer_text(&writer, "methods.txt", methods->text);
    json_writer_raw(&writer, before, sizeof before - 1);
    json_writer_raw(&writer, steps, strlen(steps));
    json_writer_end(&writer);
    snprintf(path, sizeof path, "%.*s/" PAGE_NAME, DISK_PATH_MAX - 1, out);
    enum status status = writer.failed ? error_set(error, STATUS_MEMORY, "out of memory")
                                       : page_write_file(disk, path, page_text, writer.text, error);
    json_writer_free(&writer);
    return status;
}

enum status report_write(const struct disk *disk, const char *out,
                         const struct conclusion *conclusion, const struct report_facts *facts,
                         struct error *error)
{
    struct methods_text methods;
    struct json_writer steps = {0};
    methods_make(&methods, conclusion, facts);
    enum status status = write_table(disk, out, conclusion, error);
    if (status == STATUS_OK)
        status = write_json(disk, out, conclusion, facts->command, error);
    if (status == STATUS_OK)
        status = write_by(disk, out, "points.csv", conclusion, fill_points, error);
    if (status == STATUS_OK)
        status = write_by(disk, out, "runs.csv", conclusion, fill_runs, error);
    if (status == STATUS_OK)
        status = write_by(disk, out, "table.md", conclusion, conclusion_write_markdown, error);
    if (status == STATUS_OK)
        status = write_by(disk, out, "table.tex", conclusion, conclusion_write_latex, error);
    if (status == STATUS_OK)
        status = write_methods(disk, out, &methods, error);
    if (status == STATUS_OK)
        status = write_steps(&steps, disk, out, conclusion->comparison, error);
    if (status == STATUS_OK)
        status = write_page(disk, out, conclusion, facts, &methods, steps.text, error);
    json_writer_free(&steps);
    return status;
}
