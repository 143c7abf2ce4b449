/* command.c - shared functions of commands: errors, the exit code of a status, checks before the
 * start. */

#include "deploy/command/command.h"

#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "common/base/wording.h"
#include "common/file/disk.h"
#include "common/keys/keys.h"
#include "common/process/log.h"
#include "common/transport/transport.h"
#include "common/wire/message.h"

void command_say(const char *program, enum log_level level, const char *text)
{
    char line[LOG_LINE_MAX];
    bool plain = log_format_now() == LOG_FORMAT_TEXT;
    fflush(stdout); /* Earlier output stays first. */
    log_remark(level, text, line);
    fprintf(stderr, "%s%s%s\n", plain ? program : "", plain ? ": " : "", line);
}

int command_fail(const char *program, int code, const struct error *error)
{
    command_say(program, LOG_ERROR, error->text);
    return code;
}

static enum status check_pair(const char *directory, uint32_t role, uint32_t index,
                              struct error *error)
{
    struct keys keys;
    uint8_t public_key[KEY_BYTES];
    char name[CERTIFICATE_NAME_MAX];
    enum status status = keys_open(&keys, directory, NULL, role, index, error);
    keys_name(role, index, name);
    if (status == STATUS_OK &&
        (transport_public_key(keys.own.secret_key, public_key) != STATUS_OK ||
         !key_equal(public_key, keys.own.public_key)))
        status =
            error_set(error, STATUS_INVALID,
                      "%.300s/%s.key_secret: is damaged: its public-key does not belong to its "
                      "secret-key",
                      directory, name);
    keys_close(&keys);
    return status;
}

int command_check_keys(const char *directory, uint32_t workers, struct error *error)
{
    enum status status = keys_check(directory, workers, error);
    if (status == STATUS_OK)
        status = check_pair(directory, ROLE_PS, 0, error);
    for (uint32_t i = 0; i < workers && status == STATUS_OK; i++)
        status = check_pair(directory, ROLE_WORKER, i, error);
    return keys_exit_code(status);
}

void command_explain_comparison(const char *path, struct error *error)
{
    char name[DISK_PATH_MAX + 32];
    struct stat there;
    snprintf(name, sizeof name, "%s/compare.json", path);
    if (stat(name, &there) == 0)
        error_set(error, STATUS_INVALID,
                  "%.300s is a comparison; name one of its runs, which are folders in %.300s/runs",
                  path, path);
}

enum status command_print_json(struct json_writer *writer, struct error *error)
{
    bool whole = !writer->failed;
    if (whole)
        printf("%s\n", writer->text);
    json_writer_free(writer);
    return whole ? STATUS_OK : error_set(error, STATUS_MEMORY, "out of memory");
}

int command_exit_code(enum status status)
{
    switch (status) {
    case STATUS_OK:
        return EXIT_DONE;
    case STATUS_MISMATCH:
        return EXIT_MISMATCH;
    case STATUS_PROGRAM:
        return EXIT_PROGRAM;
    case STATUS_TIMEOUT: /* Later it may be otherwise. */
        return EXIT_CLUSTER_LOST;
    case STATUS_INVALID: /* A file that is damaged. */
    case STATUS_NOT_FOUND:
    case STATUS_EXISTS:
    case STATUS_IO:
    case STATUS_REFUSED: /* A file that others may use. */
    case STATUS_UNREACHABLE:
        return EXIT_CANNOT_OPEN;
    default:
        return EXIT_TRAINING_FAILED;
    }
}
