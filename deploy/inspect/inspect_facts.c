/* inspect_facts.c - reads manifests, sizes, digests and values; prints nothing. */

#include "deploy/inspect/inspect_facts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/hash.h"

struct statistics statistics_of(const float *values, uint64_t count)
{
    struct statistics result = {0, INFINITY, -INFINITY, 0};
    for (uint64_t i = 0; i < count; i++) {
        double value = (double)values[i];
        if (!isfinite(value)) {
            result.not_finite++;
            continue;
        }
        result.norm += value * value;
        result.min = fmin(result.min, value);
        result.max = fmax(result.max, value);
    }
    result.norm = sqrt(result.norm);
    return result;
}

const char *inspect_part_fault(const char *directory, const struct checkpoint_part *part)
{
    char path[DISK_PATH_MAX + CHECKPOINT_PART_NAME_MAX];
    struct stat there;
    snprintf(path, sizeof path, "%s/%s", directory, part->name);
    if (stat(path, &there) != 0)
        return errno == ENOENT ? "MISSING" : "CANNOT BE READ";
    if ((uint64_t)there.st_size != part->bytes)
        return "WRONG SIZE";

    void *data = NULL;
    size_t bytes = 0;
    if (disk_posix.read_file(disk_posix.context, path, part->bytes, &data, &bytes, NULL) !=
        STATUS_OK)
        return "CANNOT BE READ";
    struct hash hash;
    uint8_t digest[HASH_BYTES];
    hash_init(&hash);
    hash_update(&hash, data, bytes);
    hash_final(&hash, digest);
    free(data);
    return memcmp(digest, part->digest, sizeof digest) == 0 ? NULL : "DAMAGED: checksum differs";
}

size_t inspect_list(const char *run, uint64_t **steps)
{
    size_t count = checkpoint_list(&disk_posix, run, NULL, 0);
    *steps = calloc(count + 1, sizeof **steps);
    if (*steps == NULL)
        return 0;
    size_t again = checkpoint_list(&disk_posix, run, *steps, count);
    return again < count ? again : count; /* There may be more by now. */
}

static void check_sizes(struct checkpoint_facts *facts, const struct manifest *manifest)
{
    char path[DISK_PATH_MAX + CHECKPOINT_PART_NAME_MAX];
    for (uint32_t i = 0; i < manifest->part_count; i++) {
        const struct checkpoint_part *part = &manifest->parts[i];
        uint64_t bytes;
        snprintf(path, sizeof path, "%s/%s", facts->path, part->name);
        if (disk_posix.file_bytes(disk_posix.context, path, &bytes, &facts->fault) != STATUS_OK)
            return;
        if (bytes != part->bytes)
            error_set(&facts->fault, STATUS_INVALID, "%s is damaged: it has not the size it had",
                      part->name);
        facts->bytes += part->bytes;
    }
}

void inspect_glance(struct checkpoint_facts *facts, const char *run, uint64_t step)
{
    char file[DISK_PATH_MAX + 16];
    struct manifest manifest = {0};
    memset(facts, 0, sizeof *facts);
    checkpoint_path(facts->path, run, step);
    snprintf(file, sizeof file, "%s/manifest.json", facts->path);
    if (manifest_read(&manifest, &disk_posix, file, &facts->fault) != STATUS_OK)
        return;
    facts->parts = manifest.part_count;
    check_sizes(facts, &manifest);
    manifest_free(&manifest);
}
