/* syncopate trace PATH: merges the files of --trace FILE into one trace, on one clock. */

#include <stdlib.h>
#include <string.h>

#include "common/base/wording.h"
#include "common/file/disk.h"
#include "deploy/command/command.h"
#include "deploy/figures/swim_lane.h"
#include "deploy/trace/trace.h"

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), end = strlen(ending);
    return length >= end && strcmp(text + length - end, ending) == 0;
}

/* The picture of one step. */
static enum status write_picture(const struct spans *spans, const char *path, struct error *error)
{
    const struct canvas canvas = canvas_wide();
    char *svg = swim_lane_svg(spans, &spans->steps[spans_typical(spans)], NULL, &canvas);
    if (svg == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory for a picture");
    const struct disk_piece piece = {svg, strlen(svg)};
    enum status status = disk_posix.write_file(disk_posix.context, path, &piece, 1, error);
    free(svg);
    return status;
}

static void say(const struct options *options, const struct spans *spans, const char *line)
{
    char text[SWIM_LANE_CAPTION_MAX];
    if (options->quiet)
        return;
    wording_wrap(stdout, line, 0, 0);
    swim_lane_caption(spans, &spans->steps[spans_typical(spans)], text, sizeof text);
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
    bool picture = ends_with(out, ".svg");
    if (status == STATUS_OK && picture)
        status = write_picture(&spans, out, error);
    else if (status == STATUS_OK)
        status = trace_write(&spans, &request, &written, error);
    if (status == STATUS_OK && picture)
        snprintf(line, sizeof line, "a picture of one step in %s", out);
    else if (status == STATUS_OK)
        trace_tell(&written, out, line, sizeof line);
    if (status == STATUS_OK)
        say(options, &spans, line);
    spans_free(&spans);
    return command_exit_code(status);
}
