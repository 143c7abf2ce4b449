/* set_log.c - writes blocks one after another, and reads up to the first damaged one. */

#include "common/store/set_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "common/steps/leaf_set.h"
#include "common/store/run_record.h"

#define MAGIC_BYTES  16
#define HEADER_BYTES (MAGIC_BYTES + 8 + 8 + DIGEST_BYTES + 4)
#define BLOCK_ENDS   8 /* The length and the checksum. */
#define LIST_MAX     (UINT32_C(64) << 20)

/* "OUT/record/0001-sets.log" into path[DISK_PATH_MAX]. */
static void set_log_path(char *path, const char *out, uint64_t session)
{
    snprintf(path, DISK_PATH_MAX, "%s/" RUN_RECORD_FOLDER "/%04" PRIu64 "-sets.log", out, session);
}

static void put_u32(uint8_t *bytes, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t get_u32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

/* header[HEADER_BYTES]; its checksum. */
static uint32_t make_header(uint8_t *header, uint64_t session, const struct job *job)
{
    memset(header, 0, HEADER_BYTES);
    memcpy(header, SET_LOG_MAGIC, sizeof SET_LOG_MAGIC - 1);
    put_u32(header + MAGIC_BYTES, SET_LOG_FORMAT);
    put_u32(header + MAGIC_BYTES + 4, 8 + DIGEST_BYTES);
    put_u32(header + MAGIC_BYTES + 8, (uint32_t)session);
    put_u32(header + MAGIC_BYTES + 12, (uint32_t)(session >> 32));
    job_hash(job, JOB_SCOPE_RESUME, header + MAGIC_BYTES + 16);
    uint32_t chain = crc32c(0, header, HEADER_BYTES - 4);
    put_u32(header + HEADER_BYTES - 4, chain);
    return chain;
}

/* --- reading ------------------------------------------------------------------------------- */

/* A file as far as it is whole. */
struct scan {
    const uint8_t *bytes;
    size_t count, at; /* The next block is at `at`. */
    uint32_t chain;
};

static bool scan_open(struct scan *scan, const void *bytes, size_t count, uint64_t session,
                      const struct job *job)
{
    uint8_t header[HEADER_BYTES];
    *scan = (struct scan){.bytes = bytes, .count = count, .at = HEADER_BYTES};
    scan->chain = make_header(header, session, job);
    return count >= HEADER_BYTES && memcmp(bytes, header, HEADER_BYTES) == 0;
}

/* The next whole list; false at the end, and where the rest is damaged. */
static bool scan_next(struct scan *scan, const struct job *job, const uint8_t **list, size_t *count)
{
    size_t left = scan->count - scan->at;
    if (left < BLOCK_ENDS)
        return false;
    uint32_t length = get_u32(scan->bytes + scan->at);
    if (length > LIST_MAX || length > left - BLOCK_ENDS)
        return false;
    uint32_t chain = crc32c(scan->chain, scan->bytes + scan->at, 4 + (size_t)length);
    *list = scan->bytes + scan->at + 4;
    *count = length;
    if (get_u32(*list + length) != chain || !leaf_sets_fit(*list, length, job))
        return false;
    scan->chain = chain;
    scan->at += length + BLOCK_ENDS;
    return true;
}

/* A step may stand in several blocks, if a host failed and lost blocks of an earlier session: the
 * last block counts. */
struct found {
    uint64_t first;
    struct piece {
        uint8_t *bytes; /* [count] of one set; NULL: none. Owned. */
        size_t count;
    } * pieces; /* [piece_count] by step - first. Owned. */
    size_t piece_count, piece_capacity;
};

static void found_free(struct found *found)
{
    for (size_t i = 0; i < found->piece_count; i++)
        free(found->pieces[i].bytes);
    free(found->pieces);
}

static bool put_piece(struct found *found, uint64_t step, const struct leaf_set *set)
{
    uint8_t bytes[LEAF_SET_BYTES_MAX];
    size_t index = (size_t)(step - found->first), count = leaf_set_put(bytes, set);
    if (index >= found->piece_capacity) {
        size_t capacity = 2 * index + 64;
        struct piece *pieces = realloc(found->pieces, capacity * sizeof *pieces);
        if (pieces == NULL)
            return false;
        memset(pieces + found->piece_capacity, 0,
               (capacity - found->piece_capacity) * sizeof *pieces);
        found->pieces = pieces;
        found->piece_capacity = capacity;
    }
    found->piece_count = index >= found->piece_count ? index + 1 : found->piece_count;
    struct piece *piece = &found->pieces[index];
    free(piece->bytes);
    piece->bytes = malloc(count);
    piece->count = count;
    if (piece->bytes != NULL)
        memcpy(piece->bytes, bytes, count);
    return piece->bytes != NULL;
}

static bool take_list(struct found *found, const uint8_t *bytes, size_t count)
{
    struct leaf_sets list;
    struct leaf_set set;
    if (!leaf_sets_open(&list, bytes, count))
        return true;
    while (leaf_sets_next(&list, &set))
        if (list.step - 1 >= found->first && !put_piece(found, list.step - 1, &set))
            return false;
    return true;
}

static enum status read_session(struct found *found, const struct disk *disk, const char *path,
                                uint64_t session, const struct job *job, bool *damaged,
                                struct error *error)
{
    void *bytes;
    size_t count, list_bytes;
    struct scan scan;
    const uint8_t *list;
    *damaged = false;
    enum status status =
        disk->read_file(disk->context, path, RUN_RECORD_BYTES_MAX, &bytes, &count, error);
    if (status != STATUS_OK)
        return status == STATUS_NOT_FOUND ? STATUS_OK : status;
    bool there = scan_open(&scan, bytes, count, session, job);
    while (there && status == STATUS_OK && scan_next(&scan, job, &list, &list_bytes))
        if (!take_list(found, list, list_bytes))
            status = error_set(error, STATUS_MEMORY, "out of memory for %.300s", path);
    *damaged = !there || (status == STATUS_OK && scan.at < count);
    free(bytes);
    return status;
}

/* As far as step follows step. */
static enum status make_list(const struct found *found, void **list, size_t *count,
                             struct error *error)
{
    size_t steps = 0, room = LEAF_SETS_START_MAX;
    while (steps < found->piece_count && found->pieces[steps].bytes != NULL)
        room += found->pieces[steps++].count;
    uint8_t *bytes = malloc(room);
    if (bytes == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory for what steps are made of");
    *count = leaf_sets_put_start(bytes, found->first, steps);
    for (size_t i = 0; i < steps; i++) {
        memcpy(bytes + *count, found->pieces[i].bytes, found->pieces[i].count);
        *count += found->pieces[i].count;
    }
    *list = bytes;
    return STATUS_OK;
}

enum status set_log_read(const struct disk *disk, const char *out, uint64_t sessions,
                         const struct job *job, uint64_t first, void **list, size_t *count,
                         char damaged[DISK_PATH_MAX], struct error *error)
{
    struct found found = {.first = first};
    char path[DISK_PATH_MAX];
    enum status status = STATUS_OK;
    *list = NULL;
    *count = 0;
    damaged[0] = '\0';
    for (uint64_t session = 1; session <= sessions && status == STATUS_OK; session++) {
        bool broken;
        set_log_path(path, out, session);
        status = read_session(&found, disk, path, session, job, &broken, error);
        if (broken)
            snprintf(damaged, DISK_PATH_MAX, "%s", path);
    }
    if (status == STATUS_OK)
        status = make_list(&found, list, count, error);
    found_free(&found);
    return status;
}

/* --- writing ------------------------------------------------------------------------------- */

struct clearing {
    const struct disk *disk;
    const char *out;
    uint64_t session;
    enum status status;
    struct error *error;
};

static void clear_entry(void *argument, const char *name)
{
    struct clearing *clearing = argument;
    char path[DISK_PATH_MAX], *end;
    uint64_t session = strtoull(name, &end, 10);
    if (end == name || strcmp(end, "-sets.log") != 0 || session <= clearing->session ||
        clearing->status != STATUS_OK)
        return;
    set_log_path(path, clearing->out, session);
    clearing->status = clearing->disk->remove_tree(clearing->disk->context, path, clearing->error);
}

static enum status clear_later(const struct set_log *log, const char *out, uint64_t session,
                               struct error *error)
{
    char folder[DISK_PATH_MAX];
    struct clearing clearing = {log->disk, out, session, STATUS_OK, error};
    snprintf(folder, sizeof folder, "%s/" RUN_RECORD_FOLDER, out);
    enum status status =
        log->disk->list_directory(log->disk->context, folder, clear_entry, &clearing, error);
    return status == STATUS_OK || status == STATUS_NOT_FOUND ? clearing.status : status;
}

/* How much of what is there is whole; none of what is not there, or of another job. */
static enum status find_end(struct set_log *log, uint64_t session, const struct job *job,
                            struct error *error)
{
    void *bytes;
    size_t count, list_bytes;
    struct scan scan;
    const uint8_t *list;
    enum status status = log->disk->read_file(log->disk->context, log->path, RUN_RECORD_BYTES_MAX,
                                              &bytes, &count, error);
    if (status == STATUS_NOT_FOUND)
        return STATUS_OK;
    if (status != STATUS_OK)
        return status;
    if (scan_open(&scan, bytes, count, session, job)) {
        while (scan_next(&scan, job, &list, &list_bytes))
            continue;
        log->bytes = scan.at;
        log->chain = scan.chain;
    }
    free(bytes);
    return STATUS_OK;
}

enum status set_log_open(struct set_log *log, const struct disk *disk, const char *out,
                         uint64_t session, const struct job *job, struct error *error)
{
    uint8_t header[HEADER_BYTES];
    memset(log, 0, sizeof *log);
    log->disk = disk;
    set_log_path(log->path, out, session);
    enum status status = clear_later(log, out, session, error);
    if (status == STATUS_OK)
        status = find_end(log, session, job, error);
    if (status == STATUS_OK && log->bytes > 0)
        return disk->put_behind(disk->context, log->path, log->bytes, NULL, 0, error);
    if (status != STATUS_OK)
        return status;
    log->chain = make_header(header, session, job);
    const struct disk_piece piece = {header, sizeof header};
    status = disk->write_file(disk->context, log->path, &piece, 1, error);
    log->bytes = status == STATUS_OK ? sizeof header : 0;
    return status;
}

enum status set_log_append(struct set_log *log, const void *list, size_t count, struct error *error)
{
    uint8_t length[4], checksum[4];
    if (count > LIST_MAX)
        return error_set(error, STATUS_INVALID, "%.300s: too much at once", log->path);
    put_u32(length, (uint32_t)count);
    uint32_t chain = crc32c(crc32c(log->chain, length, sizeof length), list, count);
    put_u32(checksum, chain);
    const struct disk_piece pieces[] = {
        {length, sizeof length}, {list, count}, {checksum, sizeof checksum}};
    enum status status =
        log->disk->append(log->disk->context, log->path, log->bytes, pieces, 3, error);
    if (status != STATUS_OK)
        return status;
    log->bytes += count + BLOCK_ENDS;
    log->chain = chain;
    return STATUS_OK;
}
