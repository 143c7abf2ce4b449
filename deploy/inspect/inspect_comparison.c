/* inspect_comparison.c - reads the comparison back and asks its question again. */

#include "deploy/inspect/inspect_comparison.h"

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

enum status inspect_comparison(FILE *stream, const char *path, struct error *error)
{
    struct reopened *reopened;
    enum status status = reopened_open(&reopened, path, error);
    if (status == STATUS_OK)
        report_print(stream, &reopened->conclusion, false);
    reopened_close(&reopened);
    return status;
}

enum status inspect_json_comparison(struct json_writer *writer, const char *path,
                                    struct error *error)
{
    struct reopened *reopened;
    enum status status = reopened_open(&reopened, path, error);
    json_writer_object(writer, NULL);
    json_writer_text(writer, "kind", "comparison");
    json_writer_text(writer, "path", path);
    if (status == STATUS_OK)
        table_write_json(writer, &reopened->conclusion, reopened->command);
    json_writer_end(writer);
    reopened_close(&reopened);
    return status;
}
