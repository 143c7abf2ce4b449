/* report.c - puts the page together from table, figures and notes, and writes its parts beside it.
 * */

#include "deploy/report/report.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/base/wording.h"
#include "deploy/figures/figures.h"
#include "deploy/figures/svg.h"
#include "deploy/report/answer_table.h"
#include "deploy/report/arm.h"
#include "deploy/report/identity.h"
#include "deploy/report/methods.h"
#include "deploy/report/points.h"
#include "deploy/report/table.h"

#define TEXT_BYTES_MAX 65536 /* Of any one text that goes into the page. */

static const char page_style[] =
    ":root{color-scheme:light dark}"
    "body{font:16px/1.5 system-ui,-apple-system,'Segoe UI','DejaVu "
    "Sans',Helvetica,Arial,sans-serif;"
    "max-width:1000px;margin:2.5em auto;padding:0 1em;color:#222;background:#fff}"
    "h1{font-size:1.7em;line-height:1.2;margin-bottom:.3em}h2{font-size:1.2em;margin-top:2em}"
    ".lead{color:#555;margin-top:0}"
    ".wide{overflow-x:auto}table{border-collapse:collapse;font-size:.85em;width:100%;"
    "font-variant-numeric:tabular-nums}"
    "th,td{text-align:right;padding:.35em .5em;border-bottom:1px solid #ddd;white-space:nowrap}"
    "th{white-space:normal;vertical-align:bottom;border-bottom:2px solid #555}"
    "th:first-child,td:first-child{text-align:left}"
    "ul.notes{font-size:.85em;color:#555;padding-left:1.2em}"
    "ul.arms{padding-left:1.2em}code{white-space:nowrap}.wide svg{min-width:600px}"
    ".good,.bad{font-weight:700;padding:.6em .9em;border-left:4px solid #009e73;background:#eef7f3}"
    ".bad{border-color:#d55e00;background:#fdf1e8}"
    "p,dl,figure{max-width:800px}figure{margin:2.2em 0}figure "
    "svg{width:100%;height:auto;display:block}"
    "figcaption{font-size:.92em;color:#444;margin-top:.5em}"
    "pre{overflow-x:auto;background:#f4f4f4;padding:.8em;font-size:.85em;white-space:pre-wrap;"
    "overflow-wrap:anywhere}"
    "dt{font-weight:600}dd{margin:0 0 .6em 1.2em;overflow-wrap:anywhere}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#16181c}.lead,ul.notes{color:#"
    "aaa}"
    "figcaption{color:#bbb}th,td{border-color:#3a3f46}th{border-color:#999}pre{background:#22252b}"
    ".good{background:#17302a}.bad{background:#3a2618}}"
    "@media print{figure{break-inside:avoid}}";

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
        gibibytes = strtod(memory, NULL) / 1024 / 1024; /* It is in KiB. */
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    snprintf(text, bytes, "%s, %s, %.1f GiB of memory, %s %s", processor,
             wording_counted(online > 0 ? (uint64_t)online : 0, "processor", "processors").text,
             gibibytes, system.sysname, system.release);
}

/* Add text at *used; what does not fit is left out, and *used stays within bytes. */
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

/* --- the page ------------------------------------------------------------------------------ */

static void put(FILE *page, const char *text)
{
    svg_escape(page, text, TEXT_BYTES_MAX);
}

static void put_fact(FILE *page, const char *name, const char *value)
{
    if (value != NULL && value[0]) {
        fprintf(page, "<dt>%s</dt><dd>", name);
        put(page, value);
        fputs("</dd>\n", page);
    }
}

static void put_lead(FILE *page, const struct comparison *comparison)
{
    fputs("<p class=\"lead\">", page);
    if (comparison->record_count == 0) {
        fputs("No run has finished.</p>\n", page);
        return;
    }
    const struct record *record = comparison->records[0];
    fprintf(page,
            "%s of the same work: ", wording_counted(comparison->record_count, "run", "runs").text);
    put(page, record->data);
    fprintf(page, ", %s, %s a batch, ", wording_counted(record->epochs, "epoch", "epochs").text,
            wording_counted(record->global_batch, "example", "examples").text);
    put(page, record->optimizer);
    if (isfinite(record->learning_rate))
        fprintf(page, " with learning rate %g", record->learning_rate);
    fputs(".</p>\n", page);
}

static void put_table_remarks(FILE *page, const struct comparison *comparison)
{
    char text[TABLE_REMARK_MAX];
    for (size_t i = 0; table_remark(comparison, i, text, sizeof text); i++) {
        fputs("<p>", page);
        svg_escape(page, text, sizeof text);
        fputs(".</p>\n", page);
    }
}

/* See table_write_missing. */
static void put_missing(FILE *page, const struct comparison *comparison)
{
    struct progress_text progress = comparison_progress(comparison);
    if (progress.text[0] == '\0')
        return;
    fputs("<p class=\"bad\">", page);
    put(page, progress.text);
    fputs("</p>\n", page);
    if (comparison->failed_count == 0)
        return;
    fputs("<ul class=\"failed\">\n", page);
    for (size_t i = 0; i < comparison->failed_count; i++) {
        fputs("<li><code>", page);
        put(page, comparison->failed[i].name);
        fputs("</code>: ", page);
        put(page, comparison->failed[i].reason);
        fputs("</li>\n", page);
    }
    fputs("</ul>\n", page);
}

static void put_remarks(FILE *page, const struct comparison *comparison,
                        const struct report_facts *facts)
{
    struct bits_verdict bits;
    comparison_bits(comparison, &bits);
    put_missing(page, comparison);
    if (facts->remark != NULL && facts->remark[0]) {
        fputs("<p class=\"bad\">", page);
        put(page, facts->remark);
        fputs("</p>\n", page);
    }
    if (bits.seeds > 0) {
        fprintf(page, "<p class=\"%s\">", bits.equal ? "good" : "bad");
        put(page, bits.text);
        fputs("</p>\n", page);
    }
}

static void put_notes(FILE *page)
{
    fputs("<ul class=\"notes\">\n", page);
    for (size_t i = 0; table_note(i) != NULL; i++) {
        fputs("<li>", page);
        put(page, table_note(i));
        fputs("</li>\n", page);
    }
    fputs("</ul>\n", page);
}

static void put_figures(FILE *page, const struct comparison *comparison,
                        const struct figures *figures)
{
    for (size_t i = 0; i < FIGURE_COUNT; i++) {
        fprintf(page, "<figure id=\"%s\">\n<div class=\"wide\">%s</div><figcaption>",
                figures->items[i].name, figures->items[i].svg);
        put(page, figures->items[i].caption);
        fputs("</figcaption>\n</figure>\n", page);
        if (strcmp(figures->items[i].name, "staleness") == 0)
            identity_write_html(page, comparison);
    }
}

static void put_page(FILE *page, const struct answer *answer, const struct figures *figures,
                     const struct report_facts *facts)
{
    const struct comparison *comparison = answer->comparison;
    static const char title[] = "Syncopate: training runs compared";
    fprintf(page,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
            "<title>%s</title>\n<style>%s</style>\n</head>\n<body>\n<h1>%s</h1>\n",
            title, page_style, title);
    put_lead(page, comparison);
    put_remarks(page, comparison, facts);
    answer_write_html(page, answer);
    arms_write_html(page, comparison);
    table_write_html(page, comparison);
    put_table_remarks(page, comparison);
    arms_write_effects_html(page, comparison);
    put_notes(page);
    put_figures(page, comparison, figures);
    methods_write_html(page, answer, facts);
    fputs("<dl>\n", page);
    put_fact(page, "Machine", facts->machine);
    put_fact(page, "Model", comparison->record_count ? comparison->records[0]->model : NULL);
    put_fact(page, "Servers (--ps colocated)", facts->colocated ? "one beside each worker" : NULL);
    put_fact(page, "Time of a leaf (--compute)", facts->compute);
    put_fact(page, "Workers slowed down (worker:factor)", facts->slow);
    put_fact(page, "Stragglers (--straggle)", facts->straggle);
    put_fact(page, "Pauses (--pause)", facts->pause);
    put_fact(page, "Date", facts->date);
    fputs("</dl>\n", page);
    if (facts->command != NULL && facts->command[0]) {
        fputs("<h2>Command</h2>\n<pre>", page);
        put(page, facts->command);
        fputs("</pre>\n", page);
    }
    fputs("</body>\n</html>\n", page);
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

/* A text written by a stream: open, print, close, and it is in *text, malloc'd. */
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

/* Write what is on the sheet to OUT/name. */
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

void report_print(FILE *stream, const struct answer *answer)
{
    struct bits_verdict bits;
    comparison_bits(answer->comparison, &bits);
    table_write_missing(stream, answer->comparison);
    answer_write_text(stream, answer);
    fputc('\n', stream);
    table_write_text(stream, answer->comparison);
    arms_write_effects(stream, answer->comparison);
    table_write_bound(stream, answer->comparison);
    if (bits.seeds > 0)
        fprintf(stream, "\n%s\n", bits.text);
}

static enum status write_table(const struct disk *disk, const char *out,
                               const struct answer *answer, struct error *error)
{
    struct sheet sheet;
    if (!sheet_open(&sheet))
        return error_set(error, STATUS_MEMORY, "out of memory");
    report_print(sheet.stream, answer);
    fputc('\n', sheet.stream);
    for (size_t i = 0; answer_note(i) != NULL; i++)
        fprintf(sheet.stream, "%s\n", answer_note(i));
    for (size_t i = 0; table_note(i) != NULL; i++)
        fprintf(sheet.stream, "%s\n", table_note(i));
    return sheet_close(&sheet, disk, out, "table.txt", error);
}

/* One more file of a comparison, that a function fills. */
typedef void answer_write_fn(FILE *stream, const struct answer *answer);

static enum status write_by(const struct disk *disk, const char *out, const char *name,
                            const struct answer *answer, answer_write_fn *fill, struct error *error)
{
    struct sheet sheet;
    if (!sheet_open(&sheet))
        return error_set(error, STATUS_MEMORY, "out of memory");
    fill(sheet.stream, answer);
    return sheet_close(&sheet, disk, out, name, error);
}

static void fill_points(FILE *stream, const struct answer *answer)
{
    points_write(stream, answer->comparison);
}

static enum status write_methods(const struct disk *disk, const char *out,
                                 const struct answer *answer, const struct report_facts *facts,
                                 struct error *error)
{
    struct sheet sheet;
    if (!sheet_open(&sheet))
        return error_set(error, STATUS_MEMORY, "out of memory");
    methods_write(sheet.stream, answer, facts);
    return sheet_close(&sheet, disk, out, "methods.txt", error);
}

static enum status write_json(const struct disk *disk, const char *out, const struct answer *answer,
                              const char *command, struct error *error)
{
    char *text = table_json(answer, command != NULL ? command : "");
    if (text == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    enum status status = write_text(disk, out, "compare.json", text, error);
    free(text);
    return status;
}

static enum status write_figures(const struct disk *disk, const char *out,
                                 const struct figures *figures, struct error *error)
{
    char name[64];
    enum status status = STATUS_OK;
    for (size_t i = 0; i < FIGURE_COUNT && status == STATUS_OK; i++) {
        snprintf(name, sizeof(name), "%s.svg", figures->items[i].name);
        status = write_text(disk, out, name, figures->items[i].svg, error);
    }
    return status;
}

static enum status write_page(const struct disk *disk, const char *out, const struct answer *answer,
                              const struct figures *figures, const struct report_facts *facts,
                              struct error *error)
{
    struct sheet sheet;
    if (!sheet_open(&sheet))
        return error_set(error, STATUS_MEMORY, "out of memory");
    put_page(sheet.stream, answer, figures, facts);
    return sheet_close(&sheet, disk, out, "report.html", error);
}

enum status report_write(const struct disk *disk, const char *out, const struct answer *answer,
                         const struct report_facts *facts, struct error *error)
{
    struct figures figures;
    enum status status = figures_make(&figures, answer->comparison, error);
    if (status == STATUS_OK)
        status = write_table(disk, out, answer, error);
    if (status == STATUS_OK)
        status = write_json(disk, out, answer, facts->command, error);
    if (status == STATUS_OK)
        status = write_by(disk, out, "points.csv", answer, fill_points, error);
    if (status == STATUS_OK)
        status = write_by(disk, out, "table.md", answer, answer_write_markdown, error);
    if (status == STATUS_OK)
        status = write_by(disk, out, "table.tex", answer, answer_write_latex, error);
    if (status == STATUS_OK)
        status = write_methods(disk, out, answer, facts, error);
    if (status == STATUS_OK)
        status = write_figures(disk, out, &figures, error);
    if (status == STATUS_OK)
        status = write_page(disk, out, answer, &figures, facts, error);
    figures_free(&figures);
    return status;
}
