/* http_token.c - makes the file, or reads it. */

#include "common/watch/http_token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/hash.h"
#include "common/file/disk.h"

static void make_token(char token[HTTP_TOKEN_DIGITS + 1])
{
    uint8_t bytes[HASH_BYTES];
    hash_random(bytes);
    for (size_t i = 0; i < HTTP_TOKEN_DIGITS / 2; i++)
        snprintf(token + 2 * i, 3, "%02x", bytes[i]);
}

static bool is_secret(int file)
{
    struct stat status;
    return fstat(file, &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & 077) == 0 &&
           status.st_uid == geteuid();
}

enum status http_token_open(const char *out, char token[HTTP_TOKEN_DIGITS + 1], struct error *error)
{
    char path[DISK_PATH_MAX + 8];
    snprintf(path, sizeof path, "%.1000s.token", out);
    make_token(token);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool made = file >= 0;
    if (!made && errno == EEXIST)
        file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return error_set(error, STATUS_IO, "cannot make %.300s: %s", path, strerror(errno));
    ssize_t bytes = made              ? write(file, token, HTTP_TOKEN_DIGITS)
                    : is_secret(file) ? read(file, token, HTTP_TOKEN_DIGITS)
                                      : 0;
    close(file);
    if (bytes == HTTP_TOKEN_DIGITS && strspn(token, "0123456789abcdef") == HTTP_TOKEN_DIGITS)
        return STATUS_OK;
    if (made)
        unlink(path);
    return error_set(error, made ? STATUS_IO : STATUS_REFUSED,
                     made ? "cannot write %.300s" : "%.300s is not a token that only you may read",
                     path);
}
