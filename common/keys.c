#include "common/keys.h"

#include <stdio.h>
#include <string.h>

#include "common/allow_list.h"
#include "common/message.h"

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
    return error_set(error, STATUS_INVALID, "%.300s: is the certificate of %s, and this is %s",
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

enum status keys_open(struct keys *keys, const char *directory, const char *certificate,
                      uint32_t role, uint32_t index, struct error *error)
{
    char path[PATH_ROOM], name[CERTIFICATE_NAME_MAX];
    memset(keys, 0, sizeof *keys);
    if (strlen(directory) >= DISK_PATH_MAX)
        return error_set(error, STATUS_INVALID, "--keys: the path is too long");
    snprintf(keys->directory, sizeof keys->directory, "%s", directory);
    keys_name(role, index, name);
    snprintf(path, sizeof path, "%s/%s.key_secret", directory, name);
    enum status status =
        open_own(keys, certificate != NULL ? certificate : path, role, index, error);
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

enum status keys_check(const char *directory, uint32_t workers, struct error *error)
{
    struct keys keys;
    struct allow_list list = {0};
    enum status status = keys_open(&keys, directory, NULL, ROLE_PS, 0, error);
    keys_close(&keys);
    for (uint32_t i = 0; i < workers && status == STATUS_OK; i++) {
        status = keys_open(&keys, directory, NULL, ROLE_WORKER, i, error);
        keys_close(&keys);
    }
    if (status == STATUS_NOT_FOUND) {
        struct error why = *error;
        error_set(error, status, "%.320s (syncopate keygen makes what is missing)", why.text);
    }
    if (status == STATUS_OK)
        status = allow_list_load(&list, directory, error);
    allow_list_free(&list);
    return status;
}
