/* job_keys.c - generates or reads certificates, and writes them as lines: "file NAME", the text's
 * lines after a colon each, and "end" after the last file. */

#include "deploy/hosts/job_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/keys/keys.h"
#include "common/transport/transport.h"
#include "common/wire/message.h"

/* --- making and reading -------------------------------------------------------------------- */

static enum status make(struct certificate *certificate, uint32_t role, int32_t index,
                        struct error *error)
{
    char digits[16];
    *certificate = (struct certificate){.has_secret = true};
    if (transport_keypair(certificate->public_key, certificate->secret_key) != STATUS_OK)
        return error_set(error, STATUS_IO, "this libzmq makes no CURVE keys: say --insecure");
    certificate_add(certificate, "role", role_name((enum role)role));
    snprintf(digits, sizeof digits, "%d", index);
    if (index >= 0)
        certificate_add(certificate, "index", digits);
    return STATUS_OK;
}

static enum status take_memory(struct job_keys *keys, uint32_t workers, struct error *error)
{
    *keys = (struct job_keys){.worker = calloc(workers + 1, sizeof *keys->worker)};
    if (keys->worker == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory");
    keys->workers = workers;
    return STATUS_OK;
}

enum status job_keys_make(struct job_keys *keys, uint32_t workers, struct error *error)
{
    enum status status = take_memory(keys, workers, error);
    if (status == STATUS_OK)
        status = make(&keys->servers, ROLE_PS, -1, error);
    if (status == STATUS_OK)
        status = make(&keys->observer, ROLE_OBSERVER, -1, error);
    for (uint32_t i = 0; i < workers && status == STATUS_OK; i++)
        status = make(&keys->worker[i], ROLE_WORKER, (int32_t)i, error);
    return status;
}

static enum status read_secret(struct certificate *certificate, const char *folder, uint32_t role,
                               uint32_t index, struct error *error)
{
    char name[CERTIFICATE_NAME_MAX], path[DISK_PATH_MAX + CERTIFICATE_NAME_MAX + 16];
    keys_name(role, index, name);
    snprintf(path, sizeof path, "%s/%s.key_secret", folder, name);
    return certificate_read_secret(path, certificate, error);
}

enum status job_keys_read(struct job_keys *keys, const char *folder, uint32_t workers,
                          struct error *error)
{
    enum status status = take_memory(keys, workers, error);
    if (status == STATUS_OK)
        status = read_secret(&keys->servers, folder, ROLE_PS, 0, error);
    if (status == STATUS_OK &&
        read_secret(&keys->observer, folder, ROLE_OBSERVER, 0, NULL) != STATUS_OK)
        certificate_wipe(&keys->observer); /* There is no observer then. */
    for (uint32_t i = 0; i < workers && status == STATUS_OK; i++)
        status = read_secret(&keys->worker[i], folder, ROLE_WORKER, i, error);
    return status;
}

void job_keys_free(struct job_keys *keys)
{
    certificate_wipe(&keys->servers);
    certificate_wipe(&keys->observer);
    for (uint32_t i = 0; i < keys->workers; i++)
        certificate_wipe(&keys->worker[i]);
    free(keys->worker);
    *keys = (struct job_keys){0};
}

/* --- writing ------------------------------------------------------------------------------- */

static void write_file(FILE *out, const struct certificate *certificate, uint32_t role,
                       uint32_t index, bool secret)
{
    char name[CERTIFICATE_NAME_MAX], text[CERTIFICATE_BYTES_MAX], *rest;
    if (!certificate->has_secret)
        return;
    keys_name(role, index, name);
    certificate_format(certificate, secret, text);
    fprintf(out, "file %s.key%s\n", name, secret ? "_secret" : "");
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        fprintf(out, ":%s\n", line);
    explicit_bzero(text, sizeof text);
}

static char *finish(FILE *out, char **text)
{
    fputs("end\n", out);
    if (fclose(out) == 0)
        return *text;
    free(*text);
    return NULL;
}

char *job_keys_for_server(const struct job_keys *keys)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL)
        return NULL;
    write_file(out, &keys->servers, ROLE_PS, 0, true);
    write_file(out, &keys->servers, ROLE_PS, 0, false);
    write_file(out, &keys->observer, ROLE_OBSERVER, 0, false);
    for (uint32_t i = 0; i < keys->workers; i++)
        write_file(out, &keys->worker[i], ROLE_WORKER, i, false);
    return finish(out, &text);
}

char *job_keys_for_worker(const struct job_keys *keys, uint32_t worker)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL)
        return NULL;
    write_file(out, &keys->worker[worker], ROLE_WORKER, worker, true);
    write_file(out, &keys->servers, ROLE_PS, 0, false);
    return finish(out, &text);
}
