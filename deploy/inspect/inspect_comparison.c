/* inspect_comparison.c - reads the comparison back and asks its question again. */

#include "deploy/inspect/inspect_comparison.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "common/file/disk.h"
#include "deploy/conclusion/reopened.h"
#include "deploy/report/report.h"
#include "deploy/report/table.h"

bool inspect_is_comparison(const char *path)
{
    char file[DISK_PATH_MAX + 32];
    struct stat there;
    snprintf(file, sizeof file, "%s/" REOPENED_FILE, path);
    return stat(file, &there) == 0;
}

typedef void show_fn(void *to, const struct conclusion *conclusion, const char *command);

static enum status tell(show_fn *show, void *to, const char *path, struct error *error)
{
    struct conclusion conclusion = {.configs = NULL};
    struct reopened *reopened = malloc(sizeof *reopened); /* Large. */
    if (reopened == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    enum status status = reopened_read(reopened, path, error);
    if (status == STATUS_OK)
        status = conclusion_make(&conclusion, &reopened->comparison, &reopened->question, error);
    if (status == STATUS_OK)
        show(to, &conclusion, reopened->command);
    conclusion_free(&conclusion);
    reopened_free(reopened);
    free(reopened);
    return status;
}

static void tell_people(void *to, const struct conclusion *conclusion, const char *command)
{
    (void)command;
    report_print(to, conclusion, false);
}

static void tell_programs(void *to, const struct conclusion *conclusion, const char *command)
{
    table_write_json(to, conclusion, command);
}

enum status inspect_comparison(FILE *stream, const char *path, struct error *error)
{
    return tell(tell_people, stream, path, error);
}

enum status inspect_json_comparison(struct json_writer *writer, const char *path,
                                    struct error *error)
{
    json_writer_object(writer, NULL);
    json_writer_text(writer, "kind", "comparison");
    json_writer_text(writer, "path", path);
    enum status status = tell(tell_programs, writer, path, error);
    json_writer_end(writer);
    return status;
}
