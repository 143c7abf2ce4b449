/* zip_directory.h - where the members of a zip archive are, from the directory at its end.
 *
 * Pure but for reading the file. Threads: any. Errors: one line that names the file. */

#ifndef WORKER_DATA_ZIP_DIRECTORY_H
#define WORKER_DATA_ZIP_DIRECTORY_H

#include <stdint.h>

#include "common/base/status.h"

enum zip_method { ZIP_STORED = 0, ZIP_DEFLATED = 8 };

struct zip_member {
    uint64_t at;            /* Of its first packed byte in the file. */
    uint64_t packed, bytes; /* How many it has in the file, and once unpacked. */
    uint32_t checksum;
    uint16_t method; /* ZIP_STORED or ZIP_DEFLATED. */
};

/* STATUS_NOT_FOUND: there is no member of this name, and the line names some that there are. */
enum status zip_find(int file, const char *path, const char *name, struct zip_member *member,
                     struct error *error);

#endif
