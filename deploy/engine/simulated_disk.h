/* simulated_disk.h - a disk in memory for simulated servers: files by path. It is slow, full,
 * read-only or failing on demand, and models the state after a kill.
 *
 * Directories exist through the paths of files: one without files does not exist.
 *
 * Time. A call returns at once, but its change is durable only after the virtual time of a slow
 * disk, one change of a writer after the other:
 *
 *     simulated_disk_turn(disk, server, now_us);            later calls are this server's
 *     checkpointer_handle(checkpointer, packet, &outbox);
 *     deliver outbox at simulated_disk_done_us(disk, server)  not before: its messages are about
 *                                                             files that are durable
 *     ...
 *     simulated_disk_crash(disk, server, now_us);           killed: pending changes are undone
 *
 * Of the pending change a crash leaves the old file or the new one, or the old one and a torn file
 * aside (disk.h), by seed; later ones in the queue never happened. Files of other servers on the
 * same disk stay. Without these calls, and with latency_us and bytes_a_second 0, every change is
 * durable at once.
 *
 * Logs are files that stay empty; only the process that has them open is known. A kill releases the
 * writer's lock; other ends have to be reported to the disk.
 *
 * Failures are plain fields, to be set and reset at any time between calls. A failed write leaves
 * the file as it was.
 *
 * Units: virtual microseconds. Threads: one. Ownership: owns the files' bytes. */

#ifndef DEPLOY_ENGINE_SIMULATED_DISK_H
#define DEPLOY_ENGINE_SIMULATED_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/random.h"
#include "common/file/disk.h"

struct simulated_file {
    char path[DISK_PATH_MAX];
    bool locked;     /* A log that is open, */
    uint32_t locker; /* by this writer. */
    uint8_t *data;   /* [bytes] */
    size_t bytes;
};

struct simulated_change; /* A change that is not durable yet, with its undo. */

struct simulated_disk {
    struct disk disk;             /* Its context is this struct, which therefore must not move. */
    struct simulated_file *files; /* [file_count] */
    size_t file_count, file_capacity;
    struct random_sequence random;

    double failing;          /* The part of the writes that fail, independently. */
    bool full;               /* All writes fail; files can be removed. */
    bool read_only;          /* All changes fail. */
    uint64_t latency_us;     /* The time of a change, */
    uint64_t bytes_a_second; /* and the rate of its bytes; 0: no time. */
    uint64_t fail_at;        /* The n-th change from now fails; 0: none. */
    /* The n-th change is interrupted by a kill; from then on every call fails. */
    uint64_t crash_at;
    bool crashed; /* Until it is reset: another process takes over. */

    uint64_t writes, failed; /* Counts. */

    uint32_t writer; /* The current writer. */
    uint64_t now_us;
    struct simulated_change *changes; /* [change_count] in order of their calls. */
    size_t change_count, change_capacity;
};

void simulated_disk_init(struct simulated_disk *disk, uint64_t seed, uint32_t sub);
void simulated_disk_free(struct simulated_disk *disk);

/* NULL when there is no such file. */
struct simulated_file *simulated_disk_find(struct simulated_disk *disk, const char *path);

void simulated_disk_turn(struct simulated_disk *disk, uint32_t writer, uint64_t now_us);

/* The time when all changes of the writer are durable; the time of the last turn if they are
 * already. */
uint64_t simulated_disk_done_us(const struct simulated_disk *disk, uint32_t writer);

/* Whether all that is new under a path that begins so is durable then. */
bool simulated_disk_is_durable(const struct simulated_disk *disk, const char *prefix, uint64_t us);

/* The writer is killed now. Its successor may take a turn from now_us on. */
void simulated_disk_crash(struct simulated_disk *disk, uint32_t writer, uint64_t now_us);

/* Release the locks of its open logs (SIMULATED_ANYBODY: of all): it has ended, or its host has
 * been silent for too long for the disk's server. */
#define SIMULATED_ANYBODY UINT32_MAX
void simulated_disk_unlock(struct simulated_disk *disk, uint32_t writer);

#endif
