/* syncopate keygen PATH: a key pair in two certificates; or, with --workers N, those of a whole
 * job. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/wording.h"
#include "common/keys/keys.h"
#include "common/options/options.h"
#include "common/transport/transport.h"
#include "common/wire/message.h"
#include "deploy/command/command.h"

#define PATH_ROOM (DISK_PATH_MAX + CERTIFICATE_NAME_MAX + 16)

/* role ROLE_NONE: anything; index negative: any of the role. */
static enum status make(const char *path, uint32_t role, int32_t index, bool quiet,
                        struct error *error)
{
    char digits[16], key[KEY_TEXT];
    struct certificate certificate = {.has_secret = true};
    if (transport_keypair(certificate.public_key, certificate.secret_key) != STATUS_OK)
        return error_set(error, STATUS_IO, "this libzmq makes no CURVE keys");
    if (role != ROLE_NONE)
        certificate_add(&certificate, "role", role_name((enum role)role));
    snprintf(digits, sizeof digits, "%d", index);
    if (index >= 0)
        certificate_add(&certificate, "index", digits);
    enum status status = certificate_write(path, &certificate, error);
    key_format(certificate.public_key, key);
    certificate_wipe(&certificate);
    if (status == STATUS_OK && !quiet)
        printf("%s  %s.key\n", key, path);
    return status;
}

/* One of a job's certificates, unless it exists. */
static enum status make_missing(const char *folder, uint32_t role, uint32_t index, bool quiet,
                                bool *made, struct error *error)
{
    char path[PATH_ROOM], secret[PATH_ROOM + 16], name[CERTIFICATE_NAME_MAX];
    struct stat there;
    keys_name(role, index, name);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(secret, sizeof secret, "%s.key_secret", path);
    if (lstat(secret, &there) == 0)
        return STATUS_OK;
    *made = true;
    return make(path, role, role == ROLE_WORKER ? (int32_t)index : -1, quiet, error);
}

static enum status make_job(const char *folder, uint32_t workers, bool quiet, struct error *error)
{
    if (strlen(folder) >= DISK_PATH_MAX)
        return error_set(error, STATUS_INVALID, "the path is too long");
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return error_set(error, STATUS_IO, "cannot make the folder %.300s: %s", folder,
                         strerror(errno));
    bool made = false;
    enum status status = make_missing(folder, ROLE_PS, 0, quiet, &made, error);
    if (status == STATUS_OK)
        status = make_missing(folder, ROLE_OBSERVER, 0, quiet, &made, error);
    for (uint32_t i = 0; i < workers && status == STATUS_OK; i++)
        status = make_missing(folder, ROLE_WORKER, i, quiet, &made, error);
    if (status == STATUS_OK && !made && !quiet)
        printf("nothing to make: %s has the keys of %s\n", folder,
               wording_counted(workers, "worker", "workers").text);
    return status;
}

static enum status make_one(const struct options *options, struct error *error)
{
    uint32_t role = ROLE_NONE;
    if (options->role != NULL)
        identity_role_parse(options->role, &role);
    return make(options->path, role, options->index, options->quiet, error);
}

int command_keygen(const struct command_call *call, struct error *error)
{
    const struct options *options = &call->options;
    return command_exit_code(options->workers > 0
                                 ? make_job(options->path, options->workers, options->quiet, error)
                                 : make_one(options, error));
}
