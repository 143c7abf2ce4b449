#include "deploy/inspect_facts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/hash.h"

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
