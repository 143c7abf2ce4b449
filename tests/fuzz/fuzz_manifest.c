/* fuzz_manifest.c - manifests, taken as they are and again with the checksum that they would need:
 * without it nothing behind the checksum would ever be reached. What is read is written again, and
 * reads the same. */

#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/store/manifest.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/lib/samples.h"

/* The file twice, its JSON, and the job's variables and servers; a server takes 256 bytes. */
const struct fuzz_bounds fuzz_bounds = {256u << 10, 256};

void fuzz_start(void)
{
}

static void check_again(struct manifest *manifest, struct simulated_disk *disk)
{
    struct manifest again;
    struct error error;
    for (uint32_t i = 0; i < manifest->part_count; i++) {
        bool ours = checkpoint_is_part_name(manifest->parts[i].name, i, manifest->part_count);
        fuzz_must(ours && strchr(manifest->parts[i].name, '/') == NULL,
                  "parts have the names we give them");
    }
    fuzz_must(manifest_write(&disk->disk, "b", manifest, &error) == STATUS_OK,
              "what was read can be written");
    fuzz_must(manifest_read(&again, &disk->disk, "b", &error) == STATUS_OK,
              "what was written can be read");
    fuzz_must(manifest_write(&disk->disk, "c", &again, &error) == STATUS_OK,
              "and be written again");
    const struct simulated_file *b = simulated_disk_find(disk, "b");
    const struct simulated_file *c = simulated_disk_find(disk, "c");
    fuzz_must(b->bytes == c->bytes && memcmp(b->data, c->data, b->bytes) == 0, "it stays the same");
    manifest_free(&again);
}

static void read_one(struct simulated_disk *disk, const void *text, size_t bytes)
{
    struct manifest manifest;
    struct error error;
    samples_put(disk, "a", text, bytes);
    if (manifest_read(&manifest, &disk->disk, "a", &error) == STATUS_OK) {
        check_again(&manifest, disk);
        manifest_free(&manifest);
    }
}

/* The text with the last member, as manifest_write ends it. */
static char *completed(const uint8_t *data, size_t size, size_t *bytes)
{
    static const char start[] = ",\n  \"blake2b\": \"", end[] = "\"\n}\n";
    char digits[HASH_HEX_LENGTH];
    uint8_t digest[HASH_BYTES];
    hash_bytes(data, size, digest);
    hash_hex(digest, sizeof digest, digits);
    *bytes = size + strlen(start) + strlen(digits) + strlen(end);
    char *text = malloc(*bytes + 1);
    fuzz_must(text != NULL, "there is memory for a manifest");
    if (size > 0)
        memcpy(text, data, size);
    stpcpy(stpcpy(stpcpy(text + size, start), digits), end);
    return text;
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct simulated_disk disk;
    size_t bytes;
    char *text = completed(data, size, &bytes);
    simulated_disk_init(&disk, 1, 1);
    read_one(&disk, data, size);
    read_one(&disk, text, bytes);
    simulated_disk_free(&disk);
    free(text);
}
