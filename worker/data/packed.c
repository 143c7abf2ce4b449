/* packed.c - zlib, which reads plain files too; a member's raw deflate by hand, with its checksum. */

#include "worker/data/packed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "common/file/disk.h"
#include "worker/data/zip_directory.h"

#define PIECE     (1u << 20) /* The most that zlib is asked for at once. */
#define PACKED_IN (1u << 16) /* Packed bytes read at once. */

static enum status out_of_memory(struct packed *packed, struct error *error)
{
    packed_close(packed);
    return error_set(error, STATUS_MEMORY, "%s: out of memory", packed->path);
}

enum status packed_open(struct packed *packed, const char *path, struct error *error)
{
    struct stat about;
    int file;
    *packed = (struct packed){.bytes = UINT64_MAX};
    snprintf(packed->path, sizeof packed->path, "%s", path);
    enum status status = disk_open(path, O_RDONLY, &file, error);
    if (status != STATUS_OK)
        return status;
    packed->gz = gzdopen(file, "rb"); /* Which closes it, too. */
    if (packed->gz == NULL) {
        close(file);
        return out_of_memory(packed, error);
    }
    gzbuffer(packed->gz, 1 << 17);
    if (gzdirect(packed->gz) && fstat(file, &about) == 0)
        packed->bytes = (uint64_t)about.st_size;
    return STATUS_OK;
}

enum status packed_open_member(struct packed *packed, const char *path, const char *member,
                               struct error *error)
{
    struct zip_member found;
    memset(packed, 0, sizeof *packed);
    snprintf(packed->path, sizeof packed->path, "%.400s: %.100s", path, member);
    enum status status = disk_open(path, O_RDONLY, &packed->file, error);
    packed->is_member = status == STATUS_OK;
    if (status == STATUS_OK)
        status = zip_find(packed->file, path, member, &found, error);
    if (status == STATUS_OK && lseek(packed->file, (off_t)found.at, SEEK_SET) < 0)
        status = error_set(error, STATUS_IO, "%s: %s", packed->path, strerror(errno));
    if (status != STATUS_OK) {
        packed_close(packed);
        return status;
    }
    packed->packed_left = found.packed;
    packed->bytes = found.bytes;
    packed->promised_checksum = found.checksum;
    packed->checksum = (uint32_t)crc32(0, NULL, 0);
    if (found.method == ZIP_STORED)
        return STATUS_OK;
    packed->in = malloc(PACKED_IN);
    packed->inflate = calloc(1, sizeof *packed->inflate);
    if (packed->in == NULL || packed->inflate == NULL ||
        inflateInit2(packed->inflate, -MAX_WBITS) != Z_OK)
        return out_of_memory(packed, error);
    return STATUS_OK;
}

void packed_close(struct packed *packed)
{
    if (packed->gz != NULL)
        gzclose(packed->gz);
    if (packed->is_member)
        close(packed->file);
    if (packed->inflate != NULL)
        inflateEnd(packed->inflate);
    free(packed->inflate);
    free(packed->in);
    packed->gz = NULL;
    packed->inflate = NULL;
    packed->in = NULL;
    packed->is_member = false;
}

/* --- a file by itself ------------------------------------------------------------------------- */

static enum status gz_failure(const struct packed *packed, struct error *error)
{
    int number;
    const char *text = gzerror(packed->gz, &number), *path = packed->path;
    if (number == Z_ERRNO)
        return error_set(error, STATUS_IO, "%s: cannot be read: %s", path, strerror(errno));
    if (number == Z_BUF_ERROR)
        return error_set(error, STATUS_INVALID, "%s: is cut off", path);
    return error_set(error, STATUS_INVALID, "%s: is damaged: %s", path, text);
}

static enum status read_gz(struct packed *packed, uint8_t *bytes, uint32_t count, uint32_t *got,
                           struct error *error)
{
    int number, done = gzread(packed->gz, bytes, count);
    gzerror(packed->gz, &number); /* Length and checksum come last in gzip. */
    if (done < 0 || (done == 0 && number != Z_OK))
        return gz_failure(packed, error);
    *got = (uint32_t)done;
    return STATUS_OK;
}

/* --- a member of an archive ------------------------------------------------------------------- */

/* Of the member as it is in the file. */
static enum status read_stored(struct packed *packed, uint8_t *bytes, uint32_t count, uint32_t *got,
                               struct error *error)
{
    size_t most = packed->packed_left < count ? (size_t)packed->packed_left : count;
    ssize_t done;
    do
        done = read(packed->file, bytes, most);
    while (done < 0 && errno == EINTR);
    if (done < 0)
        return error_set(error, STATUS_IO, "%s: cannot be read: %s", packed->path, strerror(errno));
    if (done == 0 && most > 0)
        return error_set(error, STATUS_INVALID, "%s: is cut off", packed->path);
    packed->packed_left -= (uint64_t)done;
    *got = (uint32_t)done;
    return STATUS_OK;
}

static enum status read_deflated(struct packed *packed, uint8_t *bytes, uint32_t count,
                                 uint32_t *got, struct error *error)
{
    z_stream *z = packed->inflate;
    z->next_out = bytes;
    z->avail_out = count;
    int result = Z_OK;
    while (z->avail_out > 0 && result != Z_STREAM_END) {
        if (z->avail_in == 0) {
            enum status status = read_stored(packed, packed->in, PACKED_IN, &z->avail_in, error);
            if (status != STATUS_OK)
                return status;
            z->next_in = packed->in;
        }
        result = inflate(z, Z_NO_FLUSH);
        if (result != Z_OK && result != Z_STREAM_END)
            return error_set(error, STATUS_INVALID, "%s: is %s", packed->path,
                             result == Z_BUF_ERROR ? "cut off" : "damaged");
    }
    *got = count - z->avail_out;
    return STATUS_OK;
}

static enum status read_member(struct packed *packed, uint8_t *bytes, uint32_t count, uint32_t *got,
                               struct error *error)
{
    enum status status = packed->inflate != NULL ? read_deflated(packed, bytes, count, got, error)
                                                 : read_stored(packed, bytes, count, got, error);
    if (status != STATUS_OK)
        return status;
    packed->checksum = (uint32_t)crc32(packed->checksum, bytes, *got);
    if (*got == 0 && count > 0 && packed->checksum != packed->promised_checksum)
        return error_set(error, STATUS_INVALID, "%s: is damaged: its checksum does not fit",
                         packed->path);
    return STATUS_OK;
}

enum status packed_read(struct packed *packed, void *bytes, uint64_t count, uint64_t *got,
                        struct error *error)
{
    for (*got = 0; *got < count;) {
        uint64_t left = count - *got;
        uint32_t most = left < PIECE ? (uint32_t)left : PIECE, more = 0;
        uint8_t *to = (uint8_t *)bytes + *got;
        enum status status = packed->gz != NULL ? read_gz(packed, to, most, &more, error)
                                                : read_member(packed, to, most, &more, error);
        if (status != STATUS_OK)
            return status;
        if (more == 0)
            break;
        *got += more;
    }
    return STATUS_OK;
}
