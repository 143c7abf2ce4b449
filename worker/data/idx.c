/* idx.c - zlib, which reads plain files too; sizes of the header are compared with the file's, and
 * memory doubles as bytes really come. */

#include "worker/data/idx.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "common/file/disk.h"
#include "common/file/foreign.h"

#define IDX_TYPE_BYTES 8
#define HEADER_MAX     (4 + 4 * IDX_DIMENSIONS_MAX)
#define IDX_PIECE      (1u << 20) /* First allocation, and the most that one gzread is asked for. */

/* Read up to count bytes; fewer only at the end of the file. Negative: an error. */
static int64_t read_all(gzFile file, uint8_t *bytes, uint64_t count)
{
    uint64_t done = 0;
    while (done < count) {
        uint64_t left = count - done;
        int got = gzread(file, bytes + done, left < IDX_PIECE ? (unsigned)left : IDX_PIECE);
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (uint64_t)got;
    }
    return (int64_t)done;
}

static enum status read_failure(const struct idx *idx, struct error *error)
{
    int number;
    const char *text = gzerror(idx->file, &number), *path = idx->path;
    if (number == Z_ERRNO)
        return error_set(error, STATUS_IO, "%s: cannot be read: %s", path, strerror(errno));
    if (number == Z_BUF_ERROR)
        return error_set(error, STATUS_INVALID, "%s: is cut off", path);
    return error_set(error, STATUS_INVALID, "%s: is damaged: %s", path, text);
}

static uint32_t big_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* A header of other bytes. */
static enum status refuse_foreign(const struct idx *idx, uint8_t header[HEADER_MAX], int64_t got,
                                  uint32_t expected, struct error *error)
{
    char what[FOREIGN_TEXT_MAX];
    int64_t more = read_all(idx->file, header + got, HEADER_MAX - (uint64_t)got);
    bool known = foreign_describe(header, (size_t)(got + (more > 0 ? more : 0)), what);
    const char *kind = expected % 256 == 1 ? "labels" : "images";
    if (known)
        return error_set(error, STATUS_INVALID, "%s: is %s, not IDX %s", idx->path, what, kind);
    return error_set(error, STATUS_INVALID, "%s: is not IDX %s: it starts with %u instead of %u",
                     idx->path, kind, big_endian(header), expected);
}

/* Fill idx->sizes and idx->total. */
static enum status header_read(struct idx *idx, uint32_t dimensions, struct error *error)
{
    uint8_t header[HEADER_MAX] = {0};
    uint64_t length = 4 + 4 * (uint64_t)dimensions;
    int64_t got = read_all(idx->file, header, length);
    if (got < 0)
        return read_failure(idx, error);
    uint32_t expected = IDX_TYPE_BYTES << 8 | dimensions;
    if (got >= 4 && big_endian(header) != expected)
        return refuse_foreign(idx, header, got, expected, error);
    if (got < (int64_t)length) {
        return error_set(error, STATUS_INVALID, "%s: is cut off: %lld bytes of a header of %llu",
                         idx->path, (long long)got, (unsigned long long)length);
    }
    idx->total = 1;
    for (uint32_t i = 0; i < dimensions; i++) {
        uint32_t size = idx->sizes[i] = big_endian(header + 4 + 4 * i);
        uint32_t limit = i == 0 ? UINT32_MAX : IDX_SIDE_MAX;
        if (size == 0 || size > limit || idx->total > IDX_BYTES_MAX / size) {
            return error_set(error, STATUS_INVALID, "%s: dimension %u has an impossible size, %u",
                             idx->path, i + 1, size);
        }
        idx->total *= size;
    }
    return STATUS_OK;
}

static enum status too_short(const struct idx *idx, uint64_t bytes, struct error *error)
{
    return error_set(error, STATUS_INVALID,
                     "%s: is cut off: %llu bytes where its header promises %llu", idx->path,
                     (unsigned long long)bytes, (unsigned long long)idx->total);
}

static enum status too_long(const struct idx *idx, struct error *error)
{
    return error_set(error, STATUS_INVALID, "%s: is longer than the %llu bytes its header promises",
                     idx->path, (unsigned long long)idx->total);
}

/* A file that is not compressed shows how many bytes there are to come. */
static enum status length_check(const struct idx *idx, uint32_t dimensions, struct error *error)
{
    struct stat about;
    if (!gzdirect(idx->file) || stat(idx->path, &about) != 0)
        return STATUS_OK;
    uint64_t header = 4 + 4 * (uint64_t)dimensions, bytes = (uint64_t)about.st_size;
    bytes = bytes > header ? bytes - header : 0;
    return bytes < idx->total   ? too_short(idx, bytes, error)
           : bytes > idx->total ? too_long(idx, error)
                                : STATUS_OK;
}

/* Read exactly idx->total bytes into idx->bytes, which doubles as long as bytes keep coming. */
static enum status body_read(struct idx *idx, struct error *error)
{
    uint64_t room = 0, done = 0, total = idx->total;
    while (done < total) {
        room = room ? 2 * room : IDX_PIECE;
        room = room < total ? room : total;
        uint8_t *bytes = realloc(idx->bytes, room);
        if (bytes == NULL)
            return error_set(error, STATUS_MEMORY, "%s: out of memory", idx->path);
        idx->bytes = bytes;
        int64_t got = read_all(idx->file, bytes + done, room - done);
        if (got < 0)
            return read_failure(idx, error);
        done += (uint64_t)got;
        if (done < room)
            return too_short(idx, done, error);
    }
    uint8_t more;
    int64_t got = read_all(idx->file, &more, 1);
    int number;
    gzerror(idx->file, &number);
    if (got < 0 || (got == 0 && number != Z_OK))
        return read_failure(idx, error); /* Its length and checksum come last in gzip. */
    return got == 0 ? STATUS_OK : too_long(idx, error);
}

enum status idx_open(struct idx *idx, const char *path, uint32_t dimensions, struct error *error)
{
    memset(idx, 0, sizeof *idx);
    snprintf(idx->path, sizeof idx->path, "%s", path);
    int file;
    enum status status = disk_open(path, O_RDONLY, &file, error);
    if (status)
        return status;
    idx->file = gzdopen(file, "rb"); /* Which closes it, too. */
    if (idx->file == NULL) {
        close(file);
        return error_set(error, STATUS_MEMORY, "%s: out of memory", path);
    }
    gzbuffer(idx->file, 1 << 17);
    status = header_read(idx, dimensions, error);
    status = status ? status : length_check(idx, dimensions, error);
    if (status)
        idx_free(idx);
    return status;
}

enum status idx_read(struct idx *idx, struct error *error)
{
    enum status status = body_read(idx, error);
    if (status) {
        idx_free(idx);
        return status;
    }
    gzclose(idx->file);
    idx->file = NULL;
    return STATUS_OK;
}

void idx_free(struct idx *idx)
{
    if (idx->file != NULL)
        gzclose(idx->file);
    free(idx->bytes);
    memset(idx, 0, sizeof *idx);
}
