/* simulated_disk.h - a disk in memory for simulated servers: files by path, nothing else.
 *
 * Directories are what the paths of files say, so one without files is not there. A share of the
 * writes can be made to fail, as on a full disk; the file then holds what it held before.
 *
 * Threads: one. Ownership: owns the files' bytes. */

#ifndef DEPLOY_SIMULATED_DISK_H
#define DEPLOY_SIMULATED_DISK_H

#include <stddef.h>
#include <stdint.h>

#include "common/disk.h"
#include "common/random.h"

struct simulated_file {
    char path[DISK_PATH_MAX];
    uint8_t *data; /* [bytes] */
    size_t bytes;
};

struct simulated_disk {
    struct disk disk;             /* Its context is this struct, which therefore must not move. */
    struct simulated_file *files; /* [file_count] */
    size_t file_count, file_capacity;
    struct random_sequence random;
    double failing; /* Share of the writes that fail. */
    uint64_t writes, failed;
};

void simulated_disk_init(struct simulated_disk *disk, uint64_t seed, uint32_t sub);
void simulated_disk_free(struct simulated_disk *disk);

/* NULL when there is no such file. */
struct simulated_file *simulated_disk_find(struct simulated_disk *disk, const char *path);

#endif
