/* span_file.c - heads of fixed size before spans as they lie in memory. */

#include "common/trace/span_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/file/disk.h"

#define REGION_MARK  0x4e4f474552u /* "REGON": of another byte order it reads differently. */
#define SEGMENT_MARK 0x4d474553u   /* "SEGM" */
#define LAYOUT       1u
#define HEAD_BYTES   4096u

struct region_head {
    uint64_t mark;
    uint32_t layout, span_bytes, slots, role, index, nothing;
    uint64_t host, opened_ns, opened_unix_ns;
};

struct segment_head {
    uint32_t mark, count;
    uint64_t sequence, from_ns, to_ns;
    uint64_t nothing[4];
};

_Static_assert(sizeof(struct span) == 56, "spans have nothing between their members");
_Static_assert(sizeof(struct segment_head) + SEGMENT_SPANS * sizeof(struct span) <= SEGMENT_BYTES,
               "a segment fits");

static uint64_t region_bytes(uint32_t slots)
{
    return HEAD_BYTES + (uint64_t)slots * SEGMENT_BYTES;
}

static off_t slot_at(const struct region *region, uint32_t slot)
{
    return (off_t)(region->at + HEAD_BYTES + (uint64_t)slot * SEGMENT_BYTES);
}

/* --- whose clock ------------------------------------------------------------------------------- */

static uint64_t hash_line(uint64_t hash, const char *path)
{
    char line[256];
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        for (size_t i = 0; line[i] != '\0'; i++) /* Fowler, Noll and Vo's, FNV-1a. */
            hash = (hash ^ (unsigned char)line[i]) * UINT64_C(1099511628211);
    if (file != NULL)
        fclose(file);
    return hash;
}

uint64_t span_file_host(void)
{
    uint64_t hash = hash_line(UINT64_C(14695981039346656037), "/proc/sys/kernel/random/boot_id");
    return hash_line(hash, "/proc/self/timens_offsets") | 1;
}

/* --- writing ----------------------------------------------------------------------------------- */

/* Of a pipe a write would wait for its reader, and it has no places to write again. */
static enum status take_given(unsigned given, int *file, struct error *error)
{
    struct stat about;
    *file = fcntl((int)given, F_DUPFD_CLOEXEC, 0);
    if (*file >= 0 && fstat(*file, &about) == 0 && S_ISREG(about.st_mode))
        return STATUS_OK;
    int reason = *file < 0 ? errno : EINVAL;
    if (*file >= 0)
        close(*file);
    *file = -1;
    return error_set(error, STATUS_IO, "--trace: cannot write to descriptor %u: %s", given,
                     strerror(reason));
}

enum status span_file_open(const char *where, int *file, struct error *error)
{
    unsigned given;
    struct error why;
    *file = -1;
    if (sscanf(where, "fd:%u", &given) == 1)
        return take_given(given, file, error);
    enum status status = disk_open(where, O_RDWR | O_CREAT, file, &why);
    return status == STATUS_OK ? status : error_set(error, STATUS_IO, "--trace: %.400s", why.text);
}

static enum status write_at(int file, off_t at, const void *bytes, size_t count,
                            struct error *error)
{
    errno = 0;
    if (pwrite(file, bytes, count, at) == (ssize_t)count)
        return STATUS_OK;
    return error_set(error, STATUS_IO, "cannot write the trace: %s",
                     errno != 0 ? strerror(errno) : "no space is left");
}

/* Behind all that is there. A file of anything else is not added to. */
static enum status find_room(int file, struct region *region, struct error *error)
{
    struct stat about;
    uint64_t mark = 0;
    if (fstat(file, &about) != 0)
        return error_set(error, STATUS_IO, "cannot write the trace: %s", strerror(errno));
    if (about.st_size > 0 &&
        (pread(file, &mark, sizeof mark, 0) != (ssize_t)sizeof mark || mark != REGION_MARK))
        return error_set(error, STATUS_IO, "cannot write the trace: the file has something else");
    region->at = (uint64_t)about.st_size;
    if (ftruncate(file, about.st_size + (off_t)region_bytes(region->slots)) != 0)
        return error_set(error, STATUS_IO, "cannot write the trace: %s", strerror(errno));
    return STATUS_OK;
}

/* A lock of this process, and not of the descriptor, which children may share. */
static int lock(int file, short kind)
{
    struct flock about = {.l_type = kind, .l_whence = SEEK_SET};
    int code;
    do
        code = fcntl(file, F_SETLKW, &about);
    while (code != 0 && errno == EINTR);
    return code;
}

enum status span_file_claim(int file, struct region *region, struct error *error)
{
    assert(region->slots > 0 && region->slots <= REGION_SLOTS_MAX);
    const struct region_head head = {.mark = REGION_MARK,
                                     .layout = LAYOUT,
                                     .span_bytes = sizeof(struct span),
                                     .slots = region->slots,
                                     .role = (uint32_t)region->role,
                                     .index = region->index,
                                     .host = region->host,
                                     .opened_ns = region->opened_ns,
                                     .opened_unix_ns = region->opened_unix_ns};
    if (lock(file, F_WRLCK) != 0)
        return error_set(error, STATUS_IO, "cannot lock the trace: %s", strerror(errno));
    enum status status = find_room(file, region, error);
    if (status == STATUS_OK) /* Before another's is behind it: readers go from head to head. */
        status = write_at(file, (off_t)region->at, &head, sizeof head, error);
    lock(file, F_UNLCK);
    return status;
}

enum status span_file_put(int file, const struct region *region, const struct segment *segment,
                          uint32_t first, const struct span *spans, struct error *error)
{
    assert(segment->slot < region->slots && segment->count <= SEGMENT_SPANS &&
           first <= segment->count);
    const struct segment_head head = {.mark = SEGMENT_MARK,
                                      .count = segment->count,
                                      .sequence = segment->sequence,
                                      .from_ns = segment->from_ns,
                                      .to_ns = segment->to_ns};
    off_t at = slot_at(region, segment->slot);
    enum status status = write_at(file, at + (off_t)(sizeof head + first * sizeof *spans),
                                  spans + first, (segment->count - first) * sizeof *spans, error);
    return status == STATUS_OK ? write_at(file, at, &head, sizeof head, error) : status;
}

/* --- reading ----------------------------------------------------------------------------------- */

static bool head_fits(const struct region_head *head)
{
    return head->mark == REGION_MARK && head->layout == LAYOUT &&
           head->span_bytes == sizeof(struct span) && head->slots > 0 &&
           head->slots <= REGION_SLOTS_MAX && head->role < ROLE_COUNT && head->nothing == 0 &&
           head->opened_ns < UINT64_MAX / 2 && head->opened_unix_ns < UINT64_MAX / 2;
}

/* What is in a slot. False: nothing, or something damaged, which is counted. */
static bool take_segment(const uint8_t *bytes, uint32_t slot, struct segment *segment,
                         uint64_t *damaged)
{
    struct segment_head head;
    struct span span;
    memcpy(&head, bytes, sizeof head);
    if (head.mark == 0)
        return false;
    bool fits = head.mark == SEGMENT_MARK && head.count <= SEGMENT_SPANS &&
                head.from_ns <= head.to_ns && head.sequence < UINT64_MAX / 2;
    for (uint32_t i = 0; fits && i < head.count; i++) {
        memcpy(&span, bytes + sizeof head + i * sizeof span, sizeof span);
        fits = span_is_valid(&span) && span.from_ns >= head.from_ns && span.to_ns <= head.to_ns;
    }
    *damaged += !fits;
    *segment = (struct segment){slot, head.count, head.sequence, head.from_ns, head.to_ns};
    return fits;
}

/* What a file ends within is as if nothing had been written there. */
static enum status read_segments(int file, const struct region *region, uint64_t *bytes,
                                 const struct span_reader *reader, uint64_t *damaged,
                                 struct error *error)
{
    struct segment segment;
    enum status status = STATUS_OK;
    for (uint32_t slot = 0; slot < region->slots && status == STATUS_OK; slot++) {
        ssize_t count = pread(file, bytes, SEGMENT_BYTES, slot_at(region, slot));
        if (count < 0)
            return error_set(error, STATUS_IO, "cannot read the trace: %s", strerror(errno));
        memset((uint8_t *)bytes + count, 0, SEGMENT_BYTES - (size_t)count);
        if (count > 0 && take_segment((const uint8_t *)bytes, slot, &segment, damaged))
            status = reader->segment(
                reader->context, &segment,
                (const struct span *)(bytes + sizeof(struct segment_head) / sizeof *bytes), error);
    }
    return status;
}

static enum status read_region(int file, uint64_t at, struct region *region, struct error *error)
{
    struct region_head head;
    if (pread(file, &head, sizeof head, (off_t)at) != (ssize_t)sizeof head || !head_fits(&head))
        return error_set(error, STATUS_INVALID,
                         at == 0 ? "no trace of this version of syncopate"
                                 : "the trace is damaged at byte %llu",
                         (unsigned long long)at);
    *region = (struct region){.role = (enum role)head.role,
                              .index = head.index,
                              .slots = head.slots,
                              .host = head.host,
                              .opened_ns = head.opened_ns,
                              .opened_unix_ns = head.opened_unix_ns,
                              .at = at};
    return STATUS_OK;
}

enum status span_file_read(int file, const struct span_reader *reader, uint64_t *damaged,
                           struct error *error)
{
    struct stat about;
    struct region region;
    enum status status = STATUS_OK;
    uint64_t at = 0, *bytes = malloc(SEGMENT_BYTES);
    uint32_t regions = 0;
    *damaged = 0;
    if (bytes == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory for a trace");
    if (fstat(file, &about) != 0)
        status = error_set(error, STATUS_IO, "cannot read the trace: %s", strerror(errno));
    else if (about.st_size == 0)
        status = error_set(error, STATUS_INVALID, "the trace is empty");
    while (status == STATUS_OK && at < (uint64_t)about.st_size) {
        status = read_region(file, at, &region, error);
        if (status == STATUS_OK && ++regions > REGIONS_MAX)
            status = error_set(error, STATUS_INVALID, "the trace is of more than %u processes",
                               REGIONS_MAX);
        if (status == STATUS_OK)
            status = reader->region(reader->context, &region, error);
        if (status == STATUS_OK)
            status = read_segments(file, &region, bytes, reader, damaged, error);
        at += region_bytes(region.slots);
    }
    free(bytes);
    return status;
}
