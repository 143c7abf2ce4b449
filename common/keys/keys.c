/* keys.c - names the certificates of one process, reads them from the folder, and finds what is
 * missing or does not fit. */

#include "common/keys/keys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/keys/allow_list.h"
#include "common/wire/message.h"

#define PATH_ROOM (DISK_PATH_MAX + CERTIFICATE_NAME_MAX + 16)

void keys_name(uint32_t role, uint32_t index, char name[CERTIFICATE_NAME_MAX])
{
    if (role == ROLE_PS)
        snprintf(name, CERTIFICATE_NAME_MAX, "servers");
    else if (role == ROLE_WORKER)
        snprintf(name, CERTIFICATE_NAME_MAX, "worker-%u", index);
    else
        snprintf(name, CERTIFICATE_NAME_MAX, "observer");
}

static enum status check_identity(const struct keys *keys, const char *path, uint32_t role,
                                  uint32_t index, struct error *error)
{
    char may[IDENTITY_TEXT], is[IDENTITY_TEXT];
    if (identity_may_be(&keys->identity, role, index))
        return STATUS_OK;
    struct identity wanted = {.role = role, .has_index = true, .index = index};
    identity_describe(&keys->identity, may, sizeof may);
    identity_describe(&wanted, is, sizeof is);
    return error_set(error, STATUS_MISMATCH, "%.300s: is the certificate of %s, and this is %s",
                     path, may, is);
}

static enum status open_own(struct keys *keys, const char *path, uint32_t role, uint32_t index,
                            struct error *error)
{
    struct error why;
    enum status status = certificate_read_secret(path, &keys->own, error);
    if (status != STATUS_OK)
        return status;
    status = certificate_identity(&keys->own, &keys->identity, &why);
    if (status != STATUS_OK)
        return error_set(error, status, "%.300s: %.150s", path, why.text);
    return check_identity(keys, path, role, index, error);
}

static enum status open_server(struct keys *keys, uint32_t role, struct error *error)
{
    char path[PATH_ROOM];
    struct certificate servers;
    if (role == ROLE_PS) { /* All servers have one. */
        memcpy(keys->server, keys->own.public_key, KEY_BYTES);
        return STATUS_OK;
    }
    snprintf(path, sizeof path, "%s/servers.key", keys->directory);
    enum status status = certificate_read_public(path, &servers, error);
    if (status == STATUS_OK)
        memcpy(keys->server, servers.public_key, KEY_BYTES);
    return status;
}

static enum status check_folder(const char *directory, struct error *error)
{
    struct stat about;
    if (strlen(directory) >= DISK_PATH_MAX)
        return error_set(error, STATUS_INVALID, "--keys: the path is too long");
    if (stat(directory, &about) != 0)
        return error_set(error, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_IO, "--keys=%.300s: %s",
                         directory, strerror(errno));
    if (!S_ISDIR(about.st_mode))
        return error_set(error, STATUS_IO, "--keys=%.300s: is not a folder", directory);
    return STATUS_OK;
}

enum status keys_open(struct keys *keys, const char *directory, const char *certificate,
                      uint32_t role, uint32_t index, struct error *error)
{
    char path[PATH_ROOM], name[CERTIFICATE_NAME_MAX];
    memset(keys, 0, sizeof *keys);
    enum status status = check_folder(directory, error);
    if (status != STATUS_OK)
        return status;
    snprintf(keys->directory, sizeof keys->directory, "%s", directory);
    keys_name(role, index, name);
    snprintf(path, sizeof path, "%s/%s.key_secret", directory, name);
    status = open_own(keys, certificate != NULL ? certificate : path, role, index, error);
    if (status == STATUS_OK)
        status = open_server(keys, role, error);
    if (status != STATUS_OK)
        keys_close(keys);
    return status;
}

void keys_close(struct keys *keys)
{
    explicit_bzero(keys, sizeof *keys);
}

/* Whether the servers, whose public key and list these are, would let a worker in, and it them. */
static enum status check_worker(const char *directory, uint32_t worker,
                                const uint8_t servers[KEY_BYTES], const struct allow_list *list,
                                struct error *error)
{
    struct keys keys;
    char name[CERTIFICATE_NAME_MAX], may[IDENTITY_TEXT];
    keys_name(ROLE_WORKER, worker, name);
    enum status status = keys_open(&keys, directory, NULL, ROLE_WORKER, worker, error);
    if (status != STATUS_OK)
        return status;
    const struct identity *listed = allow_list_find(list, keys.own.public_key);
    if (!key_equal(keys.server, servers))
        status =
            error_set(error, STATUS_MISMATCH,
                      "%.300s/servers.key: is not the public half of servers.key_secret, so that "
                      "every worker would refuse the servers",
                      directory);
    else if (listed == NULL)
        status =
            error_set(error, STATUS_MISMATCH,
                      "%.300s: no *.key has the public half of %s.key_secret, so that the servers "
                      "would refuse worker/%u",
                      directory, name, worker);
    else if (!identity_may_be(listed, ROLE_WORKER, worker)) {
        identity_describe(listed, may, sizeof may);
        status =
            error_set(error, STATUS_MISMATCH,
                      "%.300s: the *.key of %s.key_secret is for %s, so that the servers would "
                      "refuse worker/%u",
                      directory, name, may, worker);
    }
    keys_close(&keys);
    return status;
}

static enum status check_all(const char *directory, uint32_t workers, struct allow_list *list,
                             struct error *error)
{
    struct keys keys;
    uint8_t servers[KEY_BYTES];
    enum status status = keys_open(&keys, directory, NULL, ROLE_PS, 0, error);
    memcpy(servers, keys.own.public_key, sizeof servers);
    keys_close(&keys);
    if (status == STATUS_OK)
        status = allow_list_load(list, directory, error);
    for (uint32_t i = 0; i < workers && status == STATUS_OK; i++)
        status = check_worker(directory, i, servers, list, error);
    return status;
}

enum status keys_check(const char *directory, uint32_t workers, struct error *error)
{
    struct allow_list list = {0};
    struct error why = {0};
    enum status status = check_all(directory, workers, &list, &why);
    allow_list_free(&list);
    if (status == STATUS_NOT_FOUND)
        return error_set(error, status,
                         "%.250s (syncopate keygen %.150s --workers %u makes what is missing)",
                         why.text, directory, workers);
    return status != STATUS_OK ? error_set(error, status, "%s", why.text) : STATUS_OK;
}

int keys_exit_code(enum status status)
{
    return status == STATUS_OK         ? EXIT_DONE
           : status == STATUS_MISMATCH ? EXIT_UNAUTHENTICATED
           : status == STATUS_MEMORY   ? EXIT_TRAINING_FAILED
                                       : EXIT_CANNOT_OPEN;
}
