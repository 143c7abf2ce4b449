/* fuzz_array.c - data files: IDX, .npy, plain, compressed, and members of zip archives.
 *
 *     input: kind (1 byte; 0 a file by itself, else the member "x_train.npy") | the file */

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "worker/data/array.h"

/* zlib's buffers, an archive's directory and a first piece of 1 MiB. Deflate makes at most 1032 bytes of
 * one, and memory doubles as they arrive, old and new side by side. */
const struct fuzz_bounds fuzz_bounds = {4u << 20, 3 * 1032};

static int file;
static char path[64];

void fuzz_start(void)
{
    file = memfd_create("fuzz_array", MFD_CLOEXEC);
    fuzz_must(file >= 0, "there is a file in memory");
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    bool member = fuzz_take(&input, 1) != 0;
    fuzz_must(ftruncate(file, 0) == 0 &&
                  pwrite(file, input.data, input.left, 0) == (ssize_t)input.left,
              "a file in memory takes bytes");
    struct array array;
    struct error error;
    char text[120];
    enum status status = member ? array_open_member(&array, path, "x_train.npy", &error)
                                : array_open(&array, path, &error);
    if (status != STATUS_OK || array_read(&array, &error) != STATUS_OK)
        return;
    double sum = (double)strlen(array_describe(&array, text));
    for (uint64_t i = 0; i < array.sizes[0] * array_row(&array); i++)
        sum += array_number(&array, i);
    volatile double used = sum;
    (void)used;
    array_free(&array);
}
