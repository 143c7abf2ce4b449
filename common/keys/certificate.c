/* certificate.c - a parser for the little of ZPL that certificates need, line by line, and the
 * writer of the same. */

#include "common/keys/certificate.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/wording.h"
#include "common/file/disk.h"
#include "common/job/job.h"

#define PATH_ROOM (DISK_PATH_MAX + 16)
#define INDENT    4

/* --- reading text -------------------------------------------------------------------------- */

enum section { SECTION_NONE, SECTION_METADATA, SECTION_CURVE };

struct reader {
    struct certificate *certificate;
    struct error *error;
    unsigned line;
    enum section section;
    bool sections[3]; /* Those that have begun. */
    bool has_public;
};

static enum status fault(const struct reader *reader, const char *what)
{
    return error_set(reader->error, STATUS_INVALID, "line %u: %s", reader->line, what);
}

static bool is_blank(const char *text)
{
    text += strspn(text, " ");
    return *text == '\0' || *text == '#';
}

/* In place: `= "worker-3"` behind a name becomes worker-3. A '#' outside quotes would start a
 * comment in the middle of a key, so only quoted values have one. */
static char *take_value(char *text)
{
    text += strspn(text, " ");
    if (*text != '=')
        return NULL;
    text++;
    text += strspn(text, " ");
    if (*text == '"' || *text == '\'') {
        char *end = strchr(text + 1, *text);
        if (end == NULL || !is_blank(end + 1))
            return NULL;
        *end = '\0';
        return text + 1;
    }
    if (*text == '\0' || strpbrk(text, "#\"'") != NULL)
        return NULL;
    for (char *end = text + strlen(text); end > text && end[-1] == ' ';)
        *--end = '\0';
    return text;
}

static enum status take_key(struct reader *reader, const char *name, const char *value)
{
    struct certificate *certificate = reader->certificate;
    bool secret = strcmp(name, "secret-key") == 0;
    if (!secret && strcmp(name, "public-key") != 0)
        return fault(reader, "curve holds public-key and secret-key only");
    if (secret ? certificate->has_secret : reader->has_public)
        return fault(reader, "a key is there twice");
    uint8_t *key = secret ? certificate->secret_key : certificate->public_key;
    if (strlen(value) != KEY_TEXT - 1 || !key_parse(value, key))
        return fault(reader, "a key is not 40 characters of Z85");
    if (key_is_none(key))
        return fault(reader, "a key is all zeros");
    if (secret)
        certificate->has_secret = true;
    else
        reader->has_public = true;
    return STATUS_OK;
}

/* NULL when there is none of that name. */
static const char *find_metadata(const struct certificate *certificate, const char *name)
{
    for (uint32_t i = 0; i < certificate->metadata_count; i++)
        if (strcmp(certificate->metadata[i].name, name) == 0)
            return certificate->metadata[i].value;
    return NULL;
}

static enum status take_metadata(struct reader *reader, const char *name, const char *value)
{
    const struct certificate *certificate = reader->certificate;
    if (strlen(name) >= CERTIFICATE_NAME_MAX || strlen(value) >= CERTIFICATE_VALUE_MAX)
        return fault(reader, "metadata are too long");
    if (find_metadata(certificate, name) != NULL)
        return fault(reader, "metadata of one name are there twice");
    if (certificate->metadata_count == CERTIFICATE_METADATA_MAX)
        return fault(reader, "there are too many metadata");
    certificate_add(reader->certificate, name, value);
    return STATUS_OK;
}

static enum status begin_section(struct reader *reader, const char *line)
{
    size_t length = strcspn(line, " #");
    if (!is_blank(line + length))
        return fault(reader, "is neither a section nor indented by four spaces");
    if (length == strlen("metadata") && strncmp(line, "metadata", length) == 0)
        reader->section = SECTION_METADATA;
    else if (length == strlen("curve") && strncmp(line, "curve", length) == 0)
        reader->section = SECTION_CURVE;
    else
        return fault(reader, "a certificate has the sections metadata and curve only");
    if (reader->sections[reader->section])
        return fault(reader, "a section is there twice");
    reader->sections[reader->section] = true;
    return STATUS_OK;
}

/* The characters of names that czmq reads, too. */
static size_t name_length(const char *text)
{
    return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789$-_@.&+/");
}

static enum status take_line(struct reader *reader, char *line)
{
    size_t indent = strspn(line, " ");
    if (is_blank(line))
        return STATUS_OK;
    if (indent == 0)
        return begin_section(reader, line);
    char *name = line + indent;
    size_t length = name_length(name);
    if (indent != INDENT || length == 0 || reader->section == SECTION_NONE)
        return fault(reader, "is not name = \"value\", indented by four spaces, in a section");
    char *value = take_value(name + length);
    name[length] = '\0';
    if (value == NULL)
        return fault(reader, "a value is not in quotes");
    return reader->section == SECTION_CURVE ? take_key(reader, name, value)
                                            : take_metadata(reader, name, value);
}

static bool is_text(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (((unsigned char)text[i] < ' ' && text[i] != '\n') || text[i] == 0x7f)
            return false;
    return true;
}

static enum status take_lines(struct reader *reader, char *text)
{
    for (char *line; (line = strsep(&text, "\n")) != NULL;) {
        reader->line++;
        enum status status = take_line(reader, line);
        if (status != STATUS_OK)
            return status;
    }
    return reader->has_public ? STATUS_OK : fault(reader, "there is no public-key");
}

enum status certificate_parse(const char *text, size_t bytes, struct certificate *certificate,
                              struct error *error)
{
    char copy[CERTIFICATE_BYTES_MAX + 1];
    struct reader reader = {.certificate = certificate, .error = error};
    memset(certificate, 0, sizeof *certificate);
    if (bytes > CERTIFICATE_BYTES_MAX)
        return error_set(error, STATUS_INVALID, "is larger than a certificate");
    if (bytes == 0)
        return error_set(error, STATUS_INVALID, "is empty: is its disk full?");
    if (!is_text(text, bytes))
        return error_set(error, STATUS_INVALID, "has characters that no certificate has");
    if (bytes > 0)
        memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    enum status status = take_lines(&reader, copy);
    explicit_bzero(copy, sizeof copy);
    if (status != STATUS_OK)
        certificate_wipe(certificate);
    return status;
}

/* --- writing text -------------------------------------------------------------------------- */

static const char public_title[] =
    "#   ZeroMQ CURVE Public Certificate\n"
    "#   Exchange securely, or use a secure mechanism to verify the contents\n"
    "#   of this file after exchange.\n\n";
static const char secret_title[] =
    "#   ZeroMQ CURVE **Secret** Certificate\n"
    "#   DO NOT PROVIDE THIS FILE TO OTHER USERS nor change its permissions.\n\n";

/* The limits of metadata keep every certificate far below the limit of a file. */
static void append(char *text, const char *name, const char *value)
{
    char quote = strchr(value, '"') != NULL ? '\'' : '"';
    wording_append(text, CERTIFICATE_BYTES_MAX, "%*s%s = %c%s%c\n", INDENT, "", name, quote, value,
                   quote);
}

size_t certificate_format(const struct certificate *certificate, bool secret, char *text)
{
    char key[KEY_TEXT], stamp[32];
    struct tm utc;
    time_t now = time(NULL);
    gmtime_r(&now, &utc);
    strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S UTC", &utc);
    assert(!secret || certificate->has_secret);
    snprintf(text, CERTIFICATE_BYTES_MAX,
             "#   ****  Generated on %s by Syncopate  ****\n%smetadata\n", stamp,
             secret ? secret_title : public_title);
    for (uint32_t i = 0; i < certificate->metadata_count; i++)
        append(text, certificate->metadata[i].name, certificate->metadata[i].value);
    wording_append(text, CERTIFICATE_BYTES_MAX, "curve\n");
    key_format(certificate->public_key, key);
    append(text, "public-key", key);
    if (secret) {
        key_format(certificate->secret_key, key);
        append(text, "secret-key", key);
        explicit_bzero(key, sizeof key);
    }
    return strlen(text);
}

/* --- files --------------------------------------------------------------------------------- */

static enum status file_error(struct error *error, const char *verb, const char *path)
{
    int number = errno;
    enum status status = number == ENOENT   ? STATUS_NOT_FOUND
                         : number == EEXIST ? STATUS_EXISTS
                                            : STATUS_IO;
    return error_set(error, status, "cannot %s %.300s: %s", verb, path, strerror(number));
}

/* A file of root's that we may read through its group is lent to us alone: Kubernetes gives a Secret to
 * a process that is not root in no other way (fsGroup). PostgreSQL draws the same line. */
static bool is_ours_alone(const struct stat *file)
{
    mode_t others = file->st_mode & (S_IRWXG | S_IRWXO);
    return others == 0 || (others == S_IRGRP && file->st_uid == 0 && geteuid() != 0);
}

/* Of the open file, so that it cannot be another by the time it is read. */
static enum status check_owner_alone(int file, const char *path, struct error *error)
{
    struct stat state;
    if (fstat(file, &state) != 0)
        return file_error(error, "read", path);
    if (!is_ours_alone(&state))
        return error_set(error, STATUS_REFUSED,
                         "%.300s: holds a secret key and others may use the file; "
                         "chmod 600 makes it its owner's alone",
                         path);
    return STATUS_OK;
}

static enum status read_text(const char *path, bool secret, char *text, size_t size, size_t *bytes,
                             struct error *error)
{
    int file;
    enum status status = disk_open(path, O_RDONLY, &file, error);
    if (status != STATUS_OK)
        return status;
    if (secret)
        status = check_owner_alone(file, path, error);
    while (status == STATUS_OK && *bytes < size) {
        ssize_t got = read(file, text + *bytes, size - *bytes);
        if (got < 0 && errno != EINTR)
            status = file_error(error, "read", path);
        if (got == 0)
            break;
        if (got > 0)
            *bytes += (size_t)got;
    }
    close(file);
    return status;
}

static enum status read_certificate(const char *path, bool secret, struct certificate *certificate,
                                    struct error *error)
{
    char text[CERTIFICATE_BYTES_MAX + 1]; /* One more, to tell what is too long. */
    size_t bytes = 0;
    struct error why;
    memset(certificate, 0, sizeof *certificate);
    enum status status = read_text(path, secret, text, sizeof text, &bytes, error);
    if (status != STATUS_OK)
        return status;
    status = certificate_parse(text, bytes, certificate, &why);
    explicit_bzero(text, sizeof text);
    if (status != STATUS_OK)
        return error_set(error, status, "%.300s: %.150s", path, why.text);
    if (certificate->has_secret == secret)
        return STATUS_OK;
    certificate_wipe(certificate);
    return error_set(error, STATUS_INVALID,
                     secret ? "%.300s: holds no secret-key; the file wanted is NAME.key_secret"
                            : "%.300s: holds a secret key; a public certificate belongs there",
                     path);
}

enum status certificate_read_public(const char *path, struct certificate *certificate,
                                    struct error *error)
{
    return read_certificate(path, false, certificate, error);
}

enum status certificate_read_secret(const char *path, struct certificate *certificate,
                                    struct error *error)
{
    return read_certificate(path, true, certificate, error);
}

static enum status write_file(const char *path, const char *text, size_t bytes, mode_t mode,
                              struct error *error)
{
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (file < 0)
        return file_error(error, "write", path);
    size_t written = 0;
    bool whole = true;
    while (whole && written < bytes) {
        ssize_t put = write(file, text + written, bytes - written);
        whole = put > 0 || (put < 0 && errno == EINTR);
        written += put > 0 ? (size_t)put : 0;
    }
    whole = whole && fsync(file) == 0;
    enum status status = whole ? STATUS_OK : file_error(error, "write", path);
    close(file);
    if (status != STATUS_OK)
        unlink(path);
    return status;
}

enum status certificate_write(const char *path, const struct certificate *certificate,
                              struct error *error)
{
    char public_path[PATH_ROOM], secret_path[PATH_ROOM], text[CERTIFICATE_BYTES_MAX];
    if (strlen(path) >= DISK_PATH_MAX)
        return error_set(error, STATUS_INVALID, "path is too long: %.300s...", path);
    snprintf(public_path, sizeof public_path, "%s.key", path);
    snprintf(secret_path, sizeof secret_path, "%s.key_secret", path);
    size_t bytes = certificate_format(certificate, true, text);
    enum status status = write_file(secret_path, text, bytes, 0600, error);
    explicit_bzero(text, sizeof text);
    if (status != STATUS_OK)
        return status;
    bytes = certificate_format(certificate, false, text);
    status = write_file(public_path, text, bytes, 0644, error);
    if (status != STATUS_OK)
        unlink(secret_path);
    return status;
}

/* --- metadata ------------------------------------------------------------------------------ */

void certificate_add(struct certificate *certificate, const char *name, const char *value)
{
    assert(certificate->metadata_count < CERTIFICATE_METADATA_MAX);
    assert(strlen(name) < CERTIFICATE_NAME_MAX && strlen(value) < CERTIFICATE_VALUE_MAX);
    struct certificate_metadata *metadata = &certificate->metadata[certificate->metadata_count++];
    strcpy(metadata->name, name);
    strcpy(metadata->value, value);
}

enum status certificate_identity(const struct certificate *certificate, struct identity *identity,
                                 struct error *error)
{
    const char *role = find_metadata(certificate, "role");
    const char *index = find_metadata(certificate, "index");
    memset(identity, 0, sizeof *identity);
    if (role != NULL && !identity_role_parse(role, &identity->role))
        return error_set(error, STATUS_INVALID, "role is %s, not ps, worker or observer", role);
    if (index != NULL && role == NULL)
        return error_set(error, STATUS_INVALID, "has an index without a role");
    if (index != NULL && !identity_index_parse(index, JOB_WORKERS_MAX - 1, &identity->index))
        return error_set(error, STATUS_INVALID, "index is %s, not a number from 0 to %d", index,
                         JOB_WORKERS_MAX - 1);
    identity->has_index = index != NULL;
    memcpy(identity->key, certificate->public_key, KEY_BYTES);
    return STATUS_OK;
}

void certificate_wipe(struct certificate *certificate)
{
    explicit_bzero(certificate, sizeof *certificate);
}
