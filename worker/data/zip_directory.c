/* zip_directory.c - the end record, the directory before it, and the member's own header, which alone
 * says where its bytes begin. Sizes are the directory's: writers leave the header's open. */

#include "worker/data/zip_directory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define END_BYTES       22u
#define END64_BYTES     56u
#define LOCATOR_BYTES   20u
#define ENTRY_BYTES     46u
#define HEADER_BYTES    30u
#define COMMENT_MAX     65535u
#define DIRECTORY_MAX   (1u << 20) /* Bytes: some ten thousand members. */
#define SIGNATURE_END   0x06054b50u
#define SIGNATURE_END64 0x06064b50u
#define SIGNATURE_64    0x07064b50u
#define SIGNATURE_ENTRY 0x02014b50u
#define SIGNATURE_LOCAL 0x04034b50u
#define FIELD_64        1u /* The extra field with what does not fit 32 bits. */

static uint64_t little(const uint8_t *bytes, unsigned count)
{
    uint64_t number = 0;
    while (count-- > 0)
        number = number << 8 | bytes[count];
    return number;
}

static enum status read_at(int file, const char *path, uint64_t at, void *to, size_t count,
                           struct error *error)
{
    for (size_t done = 0; done < count;) {
        ssize_t got = pread(file, (char *)to + done, count - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set(error, STATUS_IO, "%s: cannot be read: %s", path, strerror(errno));
        if (got == 0)
            return error_set(error, STATUS_INVALID, "%s: is cut off", path);
        done += (size_t)got;
    }
    return STATUS_OK;
}

static enum status damaged(const char *path, const char *what, struct error *error)
{
    return error_set(error, STATUS_INVALID, "%s: is a zip archive cut off or damaged: %s", path,
                     what);
}

struct directory {
    uint64_t at, bytes;
};

/* The same record for archives above 4 GiB. */
static enum status find_end64(int file, const char *path, uint64_t end_at,
                              struct directory *directory, struct error *error)
{
    uint8_t locator[LOCATOR_BYTES], end[END64_BYTES];
    if (end_at < LOCATOR_BYTES)
        return damaged(path, "its directory is nowhere", error);
    enum status status = read_at(file, path, end_at - LOCATOR_BYTES, locator, LOCATOR_BYTES, error);
    if (status == STATUS_OK && little(locator, 4) != SIGNATURE_64)
        return damaged(path, "its directory is nowhere", error);
    uint64_t at = status == STATUS_OK ? little(locator + 8, 8) : 0;
    if (status == STATUS_OK && at > end_at)
        return damaged(path, "its directory is behind its end", error);
    status = status ? status : read_at(file, path, at, end, END64_BYTES, error);
    if (status == STATUS_OK && little(end, 4) != SIGNATURE_END64)
        return damaged(path, "its directory is nowhere", error);
    *directory = (struct directory){little(end + 48, 8), little(end + 40, 8)};
    return status;
}

static enum status find_directory(int file, const char *path, struct directory *directory,
                                  struct error *error)
{
    struct stat about;
    static const uint8_t signature[] = {'P', 'K', 5, 6};
    if (fstat(file, &about) != 0)
        return error_set(error, STATUS_IO, "%s: %s", path, strerror(errno));
    uint64_t bytes = (uint64_t)about.st_size;
    size_t tail = (size_t)(bytes < END_BYTES + COMMENT_MAX ? bytes : END_BYTES + COMMENT_MAX);
    uint8_t *end = malloc(END_BYTES + COMMENT_MAX);
    if (end == NULL)
        return error_set(error, STATUS_MEMORY, "%s: out of memory", path);
    enum status status = read_at(file, path, bytes - tail, end, tail, error);
    size_t at = tail >= END_BYTES ? tail - END_BYTES + 1 : 0;
    while (status == STATUS_OK && at > 0 && memcmp(end + at - 1, signature, 4) != 0)
        at--;
    if (status == STATUS_OK && at == 0)
        status = damaged(path, "it has no directory at its end", error);
    if (status == STATUS_OK) {
        uint64_t end_at = bytes - tail + at - 1;
        *directory = (struct directory){little(end + at + 15, 4), little(end + at + 11, 4)};
        if (directory->at == UINT32_MAX || directory->bytes == UINT32_MAX)
            status = find_end64(file, path, end_at, directory, error);
        if (status == STATUS_OK && (directory->bytes > DIRECTORY_MAX || directory->at > end_at ||
                                    directory->bytes > end_at - directory->at))
            status = damaged(path, "its directory has an impossible size", error);
    }
    free(end);
    return status;
}

/* What does not fit the entry's 32 bits is in an extra field, in this order. */
static void widen(struct zip_member *member, const uint8_t *extra, size_t count)
{
    uint64_t *const wide[] = {&member->bytes, &member->packed, &member->at};
    while (count >= 4) {
        size_t field = (size_t)little(extra + 2, 2);
        if (field > count - 4)
            return;
        const uint8_t *value = extra + 4, *end = value + field;
        for (int i = 0; little(extra, 2) == FIELD_64 && i < 3; i++) {
            if (*wide[i] == UINT32_MAX && end - value >= 8) {
                *wide[i] = little(value, 8);
                value += 8;
            }
        }
        count -= 4 + field;
        extra = end;
    }
}

/* From its place in the directory to the place of its bytes. */
static enum status locate(int file, const char *path, const char *name, struct zip_member *member,
                          uint16_t flags, uint64_t directory_at, struct error *error)
{
    uint8_t header[HEADER_BYTES];
    if ((flags & 1) != 0)
        return error_set(error, STATUS_INVALID, "%s: %s is encrypted", path, name);
    if (member->method != ZIP_STORED && member->method != ZIP_DEFLATED)
        return error_set(
            error, STATUS_INVALID,
            "%s: %s is packed by method %u: numpy.savez_compressed writes what is read", path, name,
            member->method);
    if (member->at > directory_at || directory_at - member->at < HEADER_BYTES)
        return damaged(path, "a member is behind its directory", error);
    enum status status = read_at(file, path, member->at, header, sizeof header, error);
    if (status != STATUS_OK)
        return status;
    uint64_t at = member->at + HEADER_BYTES + little(header + 26, 2) + little(header + 28, 2);
    if (little(header, 4) != SIGNATURE_LOCAL || at > directory_at ||
        member->packed > directory_at - at)
        return damaged(path, "a member is not where its directory says", error);
    member->at = at;
    return STATUS_OK;
}

static enum status search(int file, const char *path, const uint8_t *entries,
                          const struct directory *directory, const char *name,
                          struct zip_member *member, struct error *error)
{
    char seen[160] = "";
    size_t left = (size_t)directory->bytes, wanted = strlen(name);
    for (const uint8_t *entry = entries; left >= ENTRY_BYTES;) {
        size_t length = (size_t)little(entry + 28, 2), extra = (size_t)little(entry + 30, 2);
        size_t all = ENTRY_BYTES + length + extra + (size_t)little(entry + 32, 2);
        if (little(entry, 4) != SIGNATURE_ENTRY || all > left)
            return damaged(path, "its directory is not one", error);
        if (length == wanted && memcmp(entry + ENTRY_BYTES, name, length) == 0) {
            *member = (struct zip_member){.at = little(entry + 42, 4),
                                          .packed = little(entry + 20, 4),
                                          .bytes = little(entry + 24, 4),
                                          .checksum = (uint32_t)little(entry + 16, 4),
                                          .method = (uint16_t)little(entry + 10, 2)};
            widen(member, entry + ENTRY_BYTES + length, extra);
            return locate(file, path, name, member, (uint16_t)little(entry + 8, 2), directory->at,
                          error);
        }
        size_t said = strlen(seen);
        snprintf(seen + said, sizeof seen - said, "%s%.*s", said > 0 ? ", " : "", (int)length,
                 (const char *)entry + ENTRY_BYTES);
        entry += all;
        left -= all;
    }
    return error_set(error, STATUS_NOT_FOUND, "%s: has no %s, but %s", path, name,
                     seen[0] != '\0' ? seen : "nothing");
}

enum status zip_find(int file, const char *path, const char *name, struct zip_member *member,
                     struct error *error)
{
    struct directory directory = {0};
    enum status status = find_directory(file, path, &directory, error);
    if (status != STATUS_OK)
        return status;
    uint8_t *entries = malloc(directory.bytes + 1);
    if (entries == NULL)
        return error_set(error, STATUS_MEMORY, "%s: out of memory", path);
    status = read_at(file, path, directory.at, entries, (size_t)directory.bytes, error);
    if (status == STATUS_OK)
        status = search(file, path, entries, &directory, name, member, error);
    free(entries);
    return status;
}
