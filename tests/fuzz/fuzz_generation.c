/* fuzz_generation.c - the file that says which generation a run directory is in. What is read is
 * what would be written, byte for byte. */

#include <string.h>

#include "common/store/generation.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/lib/samples.h"

/* The disk with two files, and one of them as read. */
const struct fuzz_bounds fuzz_bounds = {64u << 10, 8};

void fuzz_start(void)
{
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct simulated_disk disk;
    struct generation generation;
    struct error error;
    simulated_disk_init(&disk, 1, 1);
    samples_put(&disk, "a/" GENERATION_NAME, data, size);
    if (generation_read(&generation, &disk.disk, "a", &error) == STATUS_OK) {
        fuzz_must(generation_write(&generation, &disk.disk, "b", &error) == STATUS_OK,
                  "what was read can be written");
        const struct simulated_file *written = simulated_disk_find(&disk, "b/" GENERATION_NAME);
        fuzz_must(written->bytes == size && memcmp(written->data, data, size) == 0,
                  "it stays the same");
        fuzz_must(generation.exit_code <= 255 && generation.number + 1 > generation.number,
                  "there is a next one");
    }
    simulated_disk_free(&disk);
}
