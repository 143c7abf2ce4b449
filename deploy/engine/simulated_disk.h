/* simulated_disk.h - a disk in memory for simulated servers: files by path, nothing else; slow,
 * full, read-only or failing as it is told, and with a notion of what a kill leaves behind.
 *
 * Directories are what the paths of files say, so one without files is not there.
 *
 * Time. A call returns at once, but what it changed is durable only after the virtual time that a
 * slow disk takes, one change of a writer after the other:
 *
 *     simulated_disk_turn(disk, server, now_us);            calls from here on are this server's
 *     checkpointer_handle(checkpointer, packet, &outbox);
 *     deliver outbox at simulated_disk_done_us(disk, server)  not before: it speaks of files
 *                                                             that are durable
 *     ...
 *     simulated_disk_crash(disk, server, now_us);           killed: what was under way is undone
 *
 * Of the change under way a crash leaves the old file or the new one, or the old one and a torn
 * file aside (disk.h); those behind it in the queue never happened; by seed. What other servers
 * wrote to the same disk stays. Without these calls, and with latency_us and bytes_a_second 0,
 * every change is durable at once.
 *
 * Logs are files that stay empty: what is known of them is who has them open. The lock goes with its
 * writer when that is killed; of other ends the disk has to be told.
 *
 * Faults are plain fields, to be set and taken back at any time between calls. A write that fails
 * leaves the file as it was.
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
    bool locked;     /* A log that is open ... */
    uint32_t locker; /* ... by this writer. */
    uint8_t *data;   /* [bytes] */
    size_t bytes;
};

struct simulated_change; /* One that is not durable yet, and how to undo it. */

struct simulated_disk {
    struct disk disk;             /* Its context is this struct, which therefore must not move. */
    struct simulated_file *files; /* [file_count] */
    size_t file_count, file_capacity;
    struct random_sequence random;

    double failing;          /* Share of the writes that fail, each for itself. */
    bool full;               /* No write succeeds; files can be removed. */
    bool read_only;          /* Nothing can be changed. */
    uint64_t latency_us;     /* A change takes this ... */
    uint64_t bytes_a_second; /* ... and its bytes at this rate; 0: no time. */
    uint64_t fail_at;        /* The so-manieth change from now fails; 0: none. */
    uint64_t crash_at;       /* It is interrupted by a kill; from then on every call fails. */
    bool crashed;            /* Until it is taken back: another process takes over. */

    uint64_t writes, failed; /* Counted. */

    uint32_t writer; /* Whose turn it is. */
    uint64_t now_us;
    struct simulated_change *changes; /* [change_count] in order of their calls. */
    size_t change_count, change_capacity;
};

void simulated_disk_init(struct simulated_disk *disk, uint64_t seed, uint32_t sub);
void simulated_disk_free(struct simulated_disk *disk);

/* NULL when there is no such file. */
struct simulated_file *simulated_disk_find(struct simulated_disk *disk, const char *path);

void simulated_disk_turn(struct simulated_disk *disk, uint32_t writer, uint64_t now_us);

/* When all that the writer has changed is durable; the time of the last turn if it is already. */
uint64_t simulated_disk_done_us(const struct simulated_disk *disk, uint32_t writer);

/* The writer is killed now. It may take a turn again, as its successor, from now_us on. */
void simulated_disk_crash(struct simulated_disk *disk, uint32_t writer, uint64_t now_us);

/* The logs that it has open (SIMULATED_ANYBODY: all) are not locked any more: it has ended, or what
 * serves the disk to its host has heard nothing of that for too long. */
#define SIMULATED_ANYBODY UINT32_MAX
void simulated_disk_unlock(struct simulated_disk *disk, uint32_t writer);

#endif
