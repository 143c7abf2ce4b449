/* json_value FILE [PATH]: the member at "a.b.c" of the JSON object in FILE, of each object where
 * there is one a line; without PATH, whether the file is nothing but such objects. Exit code 1 when
 * it is not. */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/file/json.h"
#include "common/file/json_writer.h"

#define BYTES_MAX (64u << 20)

/* A text as it is, anything else as JSON. */
static void print_value(const struct json *value)
{
    struct json_writer writer;
    const char *text = json_text(value, "");
    json_writer_init(&writer, true);
    json_write(value, &writer, NULL);
    puts(text != NULL ? text : writer.text);
    json_writer_free(&writer);
}

static bool show(const char *text, size_t bytes, const char *file, const char *path)
{
    struct json *root = NULL;
    struct error error;
    if (json_parse(text, bytes, file, &root, &error) != STATUS_OK) {
        fprintf(stderr, "json_value: %s\n", error.text);
        return false;
    }
    const struct json *value = json_at(root, path != NULL ? path : "");
    bool found = json_is_a_record(root) && value != NULL;
    if (!found)
        fprintf(stderr, "json_value: %s: no %s\n", file, path != NULL ? path : "object");
    if (found && path != NULL)
        print_value(value);
    json_release(&root);
    return found;
}

/* Objects that are indented begin with "{" alone on its line. */
static bool show_lines(const char *text, size_t bytes, const char *file, const char *path)
{
    if (bytes == 0 || text[bytes - 1] != '\n' || strncmp(text, "{\n", 2) == 0)
        return show(text, bytes, file, path);
    for (const char *end; bytes > 0; bytes -= (size_t)(end - text) + 1, text = end + 1) {
        end = memchr(text, '\n', bytes);
        if (!show(text, (size_t)(end - text), file, path))
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    void *text = NULL;
    size_t bytes = 0;
    struct error error = {0};
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: json_value FILE [PATH]\n");
        return EXIT_USAGE;
    }
    if (disk_posix.read_file(disk_posix.context, argv[1], BYTES_MAX, &text, &bytes, &error) !=
        STATUS_OK) {
        fprintf(stderr, "json_value: %s\n", error.text);
        return EXIT_FAILURE;
    }
    bool good = show_lines(text, bytes, argv[1], argc == 3 ? argv[2] : NULL);
    free(text);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
