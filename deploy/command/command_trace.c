/* syncopate trace PATH: merges the files of --trace FILE into one trace, on one clock. */

#include <string.h>

#include "common/base/wording.h"
#include "common/file/disk.h"
#include "common/watch/page_text.h"
#include "deploy/command/command.h"
#include "deploy/page/page.h"
#include "deploy/trace/trace.h"
#include "deploy/trace/windows.h"

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), end = strlen(ending);
    return length >= end && strcmp(text + length - end, ending) == 0;
}

/* Its typical and its slowest step. */
static enum status write_page(const struct spans *spans, const char *path, struct error *error)
{
    struct json_writer writer;
    json_writer_init(&writer, true);
    json_writer_object(&writer, NULL);
    windows_write_json(&writer, "spans.json", spans);
    json_writer_end(&writer);
    enum status status = writer.failed
                             ? error_set(error, STATUS_MEMORY, "out of memory for a page")
                             : page_write_file(&disk_posix, path, page_text, writer.text, error);
    json_writer_free(&writer);
    return status;
}

static void say(const struct options *options, const struct spans *spans, const char *line)
{
    char text[WINDOW_TEXT_MAX];
    if (options->quiet)
        return;
    wording_wrap(stdout, line, 0, 0);
    window_describe(spans, &spans->steps[spans_typical(spans)], text, sizeof text);
    if (text[0] != '\0')
        wording_wrap(stdout, text, 0, 0);
}

int command_trace(const struct command_call *call, struct error *error)
{
    const struct options *options = &call->options;
    const char *out = options->out != NULL ? options->out : TRACE_JSON_NAME;
    char line[DISK_PATH_MAX + 400] = "";
    struct trace_written written;
    struct spans spans;
    const struct trace_request request = {out, NULL, options->trace_steps, TRACE_BYTES_MAX};
    spans_init(&spans);
    enum status status = spans_read(&spans, options->path, options->trace_steps, error);
    bool page = ends_with(out, ".html");
    if (status == STATUS_OK && page)
        status = write_page(&spans, out, error);
    else if (status == STATUS_OK)
        status = trace_write(&spans, &request, &written, error);
    if (status == STATUS_OK && page)
        snprintf(line, sizeof line, "a page of two steps in %s", out);
    else if (status == STATUS_OK)
        trace_tell(&written, out, line, sizeof line);
    if (status == STATUS_OK)
        say(options, &spans, line);
    spans_free(&spans);
    return command_exit_code(status);
}
