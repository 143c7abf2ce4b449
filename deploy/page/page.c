/* page.c - puts the data into the page, and reads that of a run from its folder. */

#include "deploy/page/page.h"

#include <stdlib.h>
#include <string.h>

#include "common/file/json.h"
#include "common/store/event_log.h"
#include "common/watch/page_text.h"
#include "deploy/trace/trace.h"
#include "deploy/trace/windows.h"

#define FILE_BYTES_MAX (UINT64_C(256) << 20)
#define PROGRESS_MAX   1000 /* Events of progress in a page; of more every second, third, ... */

const char page_figure[] = {
#include "deploy/page/page_figure.inc"
    0};

void page_write(FILE *stream, const char *page, const char *data)
{
    const char *mark = strstr(page, PAGE_DATA_MARK);
    fwrite(page, 1, (size_t)(mark - page), stream);
    for (; *data != '\0'; data++) /* No text in it ends the element that it is in. */
        if (*data == '<')
            fputs("\\u003c", stream);
        else
            fputc(*data, stream);
    fputs(mark + sizeof PAGE_DATA_MARK - 1, stream);
}

enum status page_write_file(const struct disk *disk, const char *path, const char *page,
                            const char *data, struct error *error)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    if (stream == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory for a page");
    page_write(stream, page, data);
    bool failed = ferror(stream) != 0;
    failed |= fclose(stream) != 0;
    const struct disk_piece piece = {text, bytes};
    enum status status = failed ? error_set(error, STATUS_MEMORY, "out of memory for a page")
                                : disk->write_file(disk->context, path, &piece, 1, error);
    free(text);
    return status;
}

/* --- a run ------------------------------------------------------------------------------------ */

struct folder {
    const struct disk *disk;
    const char *path;
    struct json_writer *writer;
};

static void path_of(const struct folder *folder, const char *name, char path[DISK_PATH_MAX + 32])
{
    snprintf(path, DISK_PATH_MAX + 32, "%.*s/%s", DISK_PATH_MAX - 1, folder->path, name);
}

/* Whether it is there, and JSON. */
static bool put_json(const struct folder *folder, const char *name)
{
    char path[DISK_PATH_MAX + 32];
    struct json *root = NULL;
    path_of(folder, name, path);
    bool there = json_read_file(folder->disk, path, FILE_BYTES_MAX, &root, NULL) == STATUS_OK;
    if (there)
        json_write(root, folder->writer, name);
    json_release(&root);
    return there;
}

static bool is_progress(const char *line, size_t bytes)
{
    static const char word[] = "\"event\": \"progress\"";
    return memmem(line, bytes, word, sizeof word - 1) != NULL;
}

/* What a line holds, unless it is damaged. */
static void put_event(const struct folder *folder, const char *line, size_t bytes)
{
    struct json *root = NULL;
    if (json_parse(line, bytes, EVENT_LOG_NAME, &root, NULL) == STATUS_OK)
        json_write(root, folder->writer, NULL);
    json_release(&root);
}

/* Each line, with its number among those of progress; 0: it is another. */
static size_t each_line(const struct folder *folder, const char *text, size_t bytes, size_t every)
{
    size_t progress = 0;
    for (const char *line = text, *end; bytes > 0; line = end) {
        end = memchr(line, '\n', bytes);
        if (end == NULL)
            break;
        size_t length = (size_t)(end++ - line);
        bytes -= length + 1;
        bool counted = is_progress(line, length);
        progress += counted;
        if (every > 0 && (!counted || progress % every == 0))
            put_event(folder, line, length);
    }
    return progress;
}

static void put_events(const struct folder *folder)
{
    char path[DISK_PATH_MAX + 32];
    void *text = NULL;
    size_t bytes = 0;
    path_of(folder, EVENT_LOG_NAME, path);
    if (folder->disk->read_file(folder->disk->context, path, FILE_BYTES_MAX, &text, &bytes, NULL) !=
        STATUS_OK)
        return;
    size_t every = each_line(folder, text, bytes, 0) / PROGRESS_MAX + 1;
    json_writer_array(folder->writer, EVENT_LOG_NAME);
    each_line(folder, text, bytes, every);
    json_writer_end(folder->writer);
    free(text);
}

enum status page_write_run(const struct disk *disk, const char *out, struct error *error)
{
    char path[DISK_PATH_MAX + 32];
    struct json_writer writer;
    const struct folder folder = {disk, out, &writer};
    enum status status = STATUS_OK;
    json_writer_init(&writer, true);
    json_writer_object(&writer, NULL);
    const char *slash = strrchr(out, '/');
    json_writer_text(&writer, "name", slash != NULL ? slash + 1 : out);
    bool there = put_json(&folder, "run.json");
    put_json(&folder, "virtual.json");
    put_events(&folder);
    path_of(&folder, TRACE_SPANS_NAME, path);
    windows_write_json_of(&writer, "spans.json", path);
    json_writer_end(&writer);
    path_of(&folder, PAGE_NAME, path);
    if (writer.failed)
        status = error_set(error, STATUS_MEMORY, "out of memory for a page");
    else if (there)
        status = page_write_file(disk, path, page_text, writer.text, error);
    json_writer_free(&writer);
    return status;
}
