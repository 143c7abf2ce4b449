/* part_entries.c - writes the entries from memory in pieces, with a checksum behind them. */

#include "common/store/part_entries.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"

#define ENTRIES_BYTES_MAX ((size_t)4 << 30)

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers lie in memory as in the file");

static void entries_path(char path[DISK_PATH_MAX], const char *out, uint64_t step,
                         uint64_t generation, uint32_t server, uint32_t server_count)
{
    char directory[DISK_PATH_MAX];
    checkpoint_path(directory, out, step);
    snprintf(path, DISK_PATH_MAX, "%.*s/entries-%" PRIu32 "-of-%" PRIu32 ".g%" PRIu64 ".bin",
             DISK_PATH_MAX - 80, directory, server, server_count, generation);
}

/* The count stands before the words in memory, too. */
static struct disk_piece counted(const uint32_t *words)
{
    return (struct disk_piece){words, (1 + (size_t)words[0]) * sizeof *words};
}

enum status part_entries_write(const struct disk *disk, const char *out, uint64_t step,
                               uint64_t generation, uint32_t server, uint32_t server_count,
                               const struct checkpoint_chunk *chunks, uint32_t chunk_count,
                               struct error *error)
{
    char path[DISK_PATH_MAX];
    uint8_t digest[HASH_BYTES];
    struct hash hash;
    size_t count = 0;
    struct disk_piece *pieces = calloc(3 * (size_t)chunk_count + 1, sizeof *pieces);
    if (pieces == NULL)
        return error_set(error, STATUS_MEMORY, "out of memory for the record");
    hash_init(&hash);
    for (uint32_t i = 0; i < chunk_count; i++) {
        pieces[count++] = (struct disk_piece){&chunks[i].first, sizeof chunks[i].first};
        pieces[count++] = counted(chunks[i].entries);
        pieces[count++] = counted(chunks[i].descriptions);
    }
    for (size_t i = 0; i < count; i++)
        hash_update(&hash, pieces[i].data, pieces[i].bytes);
    hash_final(&hash, digest);
    pieces[count++] = (struct disk_piece){digest, sizeof digest};
    entries_path(path, out, step, generation, server, server_count);
    enum status status = disk->write_file(disk->context, path, pieces, count, error);
    free(pieces);
    return status;
}

enum status part_entries_open(struct part_entries *entries, const struct disk *disk,
                              const char *out, uint64_t step, uint64_t generation, uint32_t server,
                              uint32_t server_count, struct error *error)
{
    char path[DISK_PATH_MAX];
    uint8_t digest[HASH_BYTES];
    void *data;
    memset(entries, 0, sizeof *entries);
    entries_path(path, out, step, generation, server, server_count);
    enum status status =
        disk->read_file(disk->context, path, ENTRIES_BYTES_MAX, &data, &entries->bytes, error);
    if (status != STATUS_OK)
        return status;
    entries->data = data;
    if (entries->bytes >= HASH_BYTES) {
        entries->bytes -= HASH_BYTES;
        hash_bytes(entries->data, entries->bytes, digest);
        if (memcmp(digest, entries->data + entries->bytes, HASH_BYTES) == 0)
            return STATUS_OK;
    }
    part_entries_close(entries);
    return error_set(error, STATUS_INVALID, "%.300s: damaged or cut off", path);
}

void part_entries_close(struct part_entries *entries)
{
    free(entries->data);
    memset(entries, 0, sizeof *entries);
}

/* From their number on. All before them are whole words, and so is malloc's alignment. */
static bool take_counted(struct part_entries *entries, const uint32_t **words)
{
    size_t left = (entries->bytes - entries->at) / sizeof **words;
    *words = (const uint32_t *)(const void *)(entries->data + entries->at);
    if (left == 0 || left - 1 < **words)
        return false;
    entries->at += (1 + (size_t) * *words) * sizeof **words;
    return true;
}

bool part_entries_next(struct part_entries *entries, uint64_t *first, const uint32_t **list,
                       uint32_t *count, const uint32_t **page)
{
    if (entries->bytes - entries->at < sizeof *first)
        return false;
    memcpy(first, entries->data + entries->at, sizeof *first);
    entries->at += sizeof *first;
    if (!take_counted(entries, list) || !take_counted(entries, page))
        return false;
    *count = *(*list)++;
    return true;
}
