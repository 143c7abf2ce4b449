/* fuzz_idx.c - data files, plain or compressed.
 *
 *     input: dimensions (1 byte; 3, or else 1) | the file */

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "worker/data/idx.h"

/* zlib's buffers and a first piece of 1 MiB. Deflate makes at most 1032 bytes of one, and memory
 * doubles as they arrive, old and new side by side. */
const struct fuzz_bounds fuzz_bounds = {3u << 20, 3 * 1032};

static int file;
static char path[64];

void fuzz_start(void)
{
    file = memfd_create("fuzz_idx", MFD_CLOEXEC);
    fuzz_must(file >= 0, "there is a file in memory");
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    uint32_t dimensions = fuzz_take(&input, 1) == 3 ? 3 : 1;
    fuzz_must(ftruncate(file, 0) == 0 &&
                  pwrite(file, input.data, input.left, 0) == (ssize_t)input.left,
              "a file in memory takes bytes");
    struct idx idx;
    struct error error;
    if (idx_open(&idx, path, dimensions, &error) != STATUS_OK ||
        idx_read(&idx, &error) != STATUS_OK)
        return;
    uint64_t bytes = 1;
    unsigned sum = 0;
    for (uint32_t i = 0; i < dimensions; i++)
        bytes *= idx.sizes[i];
    for (uint64_t i = 0; i < bytes; i++)
        sum += idx.bytes[i];
    volatile unsigned used = sum;
    (void)used;
    idx_free(&idx);
}
