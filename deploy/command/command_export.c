/* syncopate export PATH --out FILE: a checkpoint's parts merged into one model.safetensors; or the values that
 * a program begins with. */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/wording.h"
#include "common/options/options.h"
#include "common/store/checkpoint.h"
#include "deploy/command/command.h"
#include "deploy/run/program_values.h"

#define DEFAULT_OUT "model.safetensors"

/* The folder that the file is to come into. */
static enum status check_folder(const char *out, struct error *error)
{
    char folder[DISK_PATH_MAX];
    const char *slash = strrchr(out, '/');
    size_t length = slash == NULL ? 0 : slash == out ? 1 : (size_t)(slash - out);
    if (length >= sizeof folder)
        return error_set(error, STATUS_IO, "--out: the path is too long");
    memcpy(folder, slash == NULL ? "." : out, length > 0 ? length : 1);
    folder[length > 0 ? length : 1] = '\0';
    if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) != 0)
        return error_set(error, STATUS_IO, "--out: cannot write to the folder %.300s: %s", folder,
                         strerror(errno));
    return STATUS_OK;
}

/* Before the checkpoint is read, which takes longer than the answer is worth waiting for. */
static enum status check_free(const char *out, struct error *error)
{
    struct stat there;
    if (lstat(out, &there) == 0)
        return error_set(error, STATUS_EXISTS,
                         "--out=%.300s: is there already and is not overwritten", out);
    if (errno != ENOENT)
        return error_set(error, STATUS_IO, "--out=%.300s: %s", out, strerror(errno));
    return check_folder(out, error);
}

static enum status export_model(const char *path, const char *out, bool quiet, struct error *error)
{
    struct model_file file = {0};
    char sha256[65];
    enum status status = check_free(out, error);
    if (status != STATUS_OK)
        return status;
    status = model_file_open(&file, &disk_posix, path, error);
    if (status != STATUS_OK) {
        command_explain_comparison(path, error);
        return status;
    }
    status = model_file_check_whole(&file, path, error);
    if (status == STATUS_OK)
        status = model_file_write(&disk_posix, out, file.model, file.variables, file.variable_count,
                                  file.parameters, sha256, error);
    /* In the format of sha256sum, which can check it. */
    if (status == STATUS_OK && !quiet)
        printf("%s  %s\n", sha256, out);
    struct stat written;
    if (status == STATUS_OK && !quiet && stat(out, &written) == 0) {
        int column = fprintf(stderr, "%s, %s,",
                             wording_counted(file.variable_count, "variable", "variables").text,
                             wording_bytes((uint64_t)written.st_size).text);
        wording_wrap(stderr, file.model, column, 4);
    }
    model_file_close(&file);
    return status;
}

int command_export(const struct command_call *call, struct error *error)
{
    const struct options *options = &call->options;
    const char *out = options->out != NULL ? options->out : DEFAULT_OUT;
    const char *ending = strrchr(out, '.');
    if (ending == NULL || strcmp(ending, ".safetensors") != 0) {
        error_set(error, STATUS_INVALID,
                  "--out=%.300s: a model is written as safetensors alone: NAME.safetensors", out);
        return EXIT_USAGE;
    }
    if ((options->path == NULL) == (options->program == NULL)) {
        error_set(error, STATUS_INVALID,
                  "needs the path of a run's folder or a checkpoint, or --program");
        return EXIT_USAGE;
    }
    if (options->program != NULL) {
        bool any = false;
        enum status status = check_free(out, error);
        if (status == STATUS_OK)
            status = program_values_write(options, out, &any, error);
        if (status == STATUS_OK && !any)
            status = error_set(error, STATUS_INVALID, "the program gives no values");
        return command_exit_code(status);
    }
    return command_exit_code(export_model(options->path, out, options->quiet, error));
}
