/* syncopate figure COMPARISON...: a page with one figure, and its numbers beside it. */

#include <stdlib.h>
#include <string.h>

#include "common/file/disk.h"
#include "deploy/command/command.h"
#include "deploy/page/page.h"
#include "deploy/report/chart.h"

static void put_list(struct json_writer *writer, const char *name, const struct options_list *list)
{
    json_writer_array(writer, name);
    for (uint32_t i = 0; i < list->count; i++)
        json_writer_text(writer, NULL, list->items[i]);
    json_writer_end(writer);
}

static enum status write_page(const struct options *options, struct chart *chart, const char *out,
                              const char *csv, struct error *error)
{
    struct json_writer writer;
    json_writer_init(&writer, true);
    json_writer_object(&writer, NULL);
    json_writer_object(&writer, "figure.json");
    json_writer_text(&writer, "title", options->title != NULL ? options->title : "");
    json_writer_text(&writer, "csv", strrchr(csv, '/') != NULL ? strrchr(csv, '/') + 1 : csv);
    json_writer_text(&writer, "x", chart->question.x);
    json_writer_text(&writer, "y", chart->question.y);
    json_writer_text(&writer, "by", chart->question.by);
    json_writer_bool(&writer, "ratio", chart->question.ratio);
    json_writer_text(&writer, "log", options->log_axes);
    json_writer_bool(&writer, "map", options->map);
    json_writer_text(&writer, "virtual", chart->cluster);
    put_list(&writer, "ideal", &options->ideal);
    put_list(&writer, "notes", &options->notes);
    chart_write_json(&writer, chart);
    json_writer_end(&writer);
    json_writer_end(&writer);
    enum status status = writer.failed
                             ? error_set(error, STATUS_MEMORY, "out of memory for a page")
                             : page_write_file(&disk_posix, out, page_figure, writer.text, error);
    json_writer_free(&writer);
    return status;
}

static enum status write_csv(struct chart *chart, const char *path, struct error *error)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    if (stream == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    chart_write_csv(stream, chart);
    bool failed = fclose(stream) != 0;
    const struct disk_piece piece = {text, bytes};
    enum status status = failed ? error_set(error, STATUS_MEMORY, "out of memory")
                                : disk_posix.write_file(disk_posix.context, path, &piece, 1, error);
    free(text);
    return status;
}

static bool are_points(const char *text)
{
    double x, y;
    int length = 0;
    for (; sscanf(text, "%lf:%lf%n", &x, &y, &length) == 2; text += length + 1)
        if (text[length] == '\0')
            return true;
        else if (text[length] != ',')
            return false;
    return false;
}

int command_figure(const struct command_call *call, struct error *error)
{
    const struct options *options = &call->options;
    const char *out = options->out != NULL ? options->out : "figure.html";
    const struct chart_question question = {options->figure_x, options->figure_y,
                                            options->figure_by, options->ratio};
    struct chart chart = {.question = question};
    char csv[DISK_PATH_MAX + 8];
    const char *dot = strrchr(out, '.');
    bool ends = dot != NULL && strchr(dot, '/') == NULL;
    snprintf(csv, sizeof csv, "%.*s.csv", (int)(ends ? dot - out : (long)strlen(out)), out);
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < options->ideal.count; i++)
        if (!are_points(options->ideal.items[i]))
            status = error_set(error, STATUS_INVALID, "--ideal=%.60s: no points such as 1:1,30:30",
                               options->ideal.items[i]);
    for (uint32_t i = 0; status == STATUS_OK && i < options->comparisons.count; i++)
        status = chart_add(&chart, options->comparisons.items[i], error);
    if (status == STATUS_OK && chart.count == 0)
        status = error_set(error, STATUS_INVALID, "--y=%.60s: no run there has it", question.y);
    if (status == STATUS_OK)
        status = write_page(options, &chart, out, csv, error);
    if (status == STATUS_OK)
        status = write_csv(&chart, csv, error);
    if (status == STATUS_OK && !options->quiet)
        printf("%s, and its numbers in %s\n", out, csv);
    chart_free(&chart);
    return status == STATUS_INVALID ? EXIT_USAGE : command_exit_code(status);
}
