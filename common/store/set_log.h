/* set_log.h - OUT/record/NNNN-sets.log: of which leaves each step was made (common/steps/leaf_set.h), where
 * a step does not wait for all its workers. One file a session, beside the session's record.
 *
 * A set is in the file before any process gets it. All files together hold the set of a step once:
 * after a rollback, sets are sent again from here. Therefore a file is never cut back to a
 * checkpoint, as a record is. The file is not flushed, because training waits for it: it survives
 * the end of every process, but no loss of power. The next session keeps its whole blocks.
 *
 *     "syncopate-sets", two zeros | u32 format, 1 | u32 length, 40 | u64 session | declaration [32]
 *     | u32 CRC-32C of all that
 *     then any number of times:
 *     u32 length | list (leaf_set.h) [length] | u32 CRC-32C of the block before and all that, chained
 *
 * Threads: one owner. Errors: STATUS_IO, STATUS_MEMORY, STATUS_INVALID, with a line. */

#ifndef COMMON_STORE_SET_LOG_H
#define COMMON_STORE_SET_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/file/disk.h"
#include "common/job/job.h"

#define SET_LOG_MAGIC  "syncopate-sets"
#define SET_LOG_FORMAT 1

struct set_log {
    const struct disk *disk; /* Borrowed; NULL: it is not open. */
    char path[DISK_PATH_MAX];
    uint64_t bytes; /* That are whole. */
    uint32_t chain; /* Their last checksum. */
};

/* The file of this session, which may have been begun by a process that was killed; those of later
 * sessions go. The folder is there. */
enum status set_log_open(struct set_log *log, const struct disk *disk, const char *out,
                         uint64_t session, const struct job *job, struct error *error);

/* One list more. After a failure the file is as it was. */
enum status set_log_append(struct set_log *log, const void *list, size_t count,
                           struct error *error);

/* What sessions 1 to `sessions` say of the steps from `first` on, as far as each is there: a list of
 * *count bytes (malloc'd, the caller's). A file that is not there, or is not of this job, says
 * nothing, and so does what is behind a damaged block: *damaged names the last such file, or is "". */
enum status set_log_read(const struct disk *disk, const char *out, uint64_t sessions,
                         const struct job *job, uint64_t first, void **list, size_t *count,
                         char damaged[DISK_PATH_MAX], struct error *error);

#endif
