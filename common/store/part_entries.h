/* part_entries.h - the update logs of one server's chunks, and the descriptions of the gradients
 * in them, on their way to server 0:
 *
 *     OUT/checkpoints/step-000000000938/entries-0-of-2.g3.bin
 *
 * The file lies beside the server's part until server 0 has put it into the record
 * (run_record.h), just before it writes the manifest. It is removed with all else that the
 * manifest does not name.
 *
 * Bytes, little-endian: for each chunk u64 first element, u32 count, u32 entries [count], u32
 * words, and a page of descriptions [words]; then BLAKE2b-256 of all that.
 *
 * Threads: no shared state. Errors: STATUS_INVALID, STATUS_IO, STATUS_MEMORY, with a line. */

#ifndef COMMON_STORE_PART_ENTRIES_H
#define COMMON_STORE_PART_ENTRIES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/file/disk.h"
#include "common/store/checkpoint.h"

/* For a part of checkpoint_write_part; chunks have their entries. */
enum status part_entries_write(const struct disk *disk, const char *out, uint64_t step,
                               uint64_t generation, uint32_t server, uint32_t server_count,
                               const struct checkpoint_chunk *chunks, uint32_t chunk_count,
                               struct error *error);

struct part_entries {
    uint8_t *data; /* [bytes] The file's, owned. */
    size_t bytes, at;
};

enum status part_entries_open(struct part_entries *entries, const struct disk *disk,
                              const char *out, uint64_t step, uint64_t generation, uint32_t server,
                              uint32_t server_count, struct error *error);
void part_entries_close(struct part_entries *entries);

/* The next chunk, by its first element: its entries, and its page from the number of words on;
 * false after the last. */
bool part_entries_next(struct part_entries *entries, uint64_t *first, const uint32_t **list,
                       uint32_t *count, const uint32_t **page);

#endif
