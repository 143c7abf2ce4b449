/* disk.h - the file system as a small table of functions, so that the cores can run on a simulated
 * one that tears writes.
 *
 * A file is written aside (path + DISK_ASIDE), flushed, renamed, and its directory flushed: after
 * write_file returns STATUS_OK the whole file is durable under its name; until then, and after a
 * failure or a crash, the name holds the old file or the new one, whole (the new one only when the
 * directory could not be flushed). A writer that was killed may leave the file aside behind, torn;
 * the next write to the same path starts it anew. Who may read files and directories, the umask
 * decides.
 *
 * Anything may stand where a file is expected: a pipe, a device, a directory, a symbolic link.
 * Nothing here waits for what is not a regular file, or takes it for one, and nothing is written
 * through a symbolic link in a file's place: what is at the path is replaced. Links are followed
 * for reading.
 *
 * Threads: any. Errors: STATUS_IO, STATUS_NOT_FOUND, STATUS_EXISTS, STATUS_MEMORY, with a line
 * naming the path and, behind its last ": ", the system's reason. */

#ifndef COMMON_FILE_DISK_H
#define COMMON_FILE_DISK_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/status.h"

#define DISK_PATH_MAX 1024
#define DISK_ASIDE    ".tmp"

struct disk_piece {
    const void *data;
    size_t bytes;
};

/* Bytes that are made while they are written: pieces, one after the other, until one has no bytes. A
 * piece stays as it is until the next is asked for. Whatever else than STATUS_OK comes, nothing is left of
 * the file, and the name holds what it held, unless it is the folder that cannot be flushed in the end; that can be the answer in place of the last piece, too. */
struct disk_source {
    void *context;
    enum status (*next)(void *context, struct disk_piece *piece, struct error *error);
};

enum disk_kind {
    DISK_NOTHING,
    DISK_FILE,
    DISK_FOLDER,
    DISK_LINK,
    DISK_PIPE,
    DISK_DEVICE,
    DISK_OTHER
};

/* "a symbolic link" */
const char *disk_kind_name(enum disk_kind kind);

struct disk {
    void *context;
    enum status (*write_file)(void *context, const char *path, const struct disk_piece *pieces,
                              size_t piece_count, struct error *error);
    /* The same of what a source makes, `bytes` in all. */
    enum status (*write_from)(void *context, const char *path, uint64_t bytes,
                              const struct disk_source *source, struct error *error);
    /* The file has its first `offset` bytes and these behind them, durably; it is created when it is
     * not there and `offset` is 0. After a failure or a crash the first are as they were, and what
     * is behind them may be anything. STATUS_INVALID: it is shorter than that. */
    enum status (*put_behind)(void *context, const char *path, uint64_t offset,
                              const struct disk_piece *pieces, size_t piece_count,
                              struct error *error);
    /* As put_behind, of a file that is there, without waiting for the device: what is written outlives
     * this process, and not a loss of power. */
    enum status (*append)(void *context, const char *path, uint64_t offset,
                          const struct disk_piece *pieces, size_t piece_count, struct error *error);
    /* The whole file in *data (malloc'd, the caller's) with *bytes; at most max_bytes. */
    enum status (*read_file)(void *context, const char *path, size_t max_bytes, void **data,
                             size_t *bytes, struct error *error);
    /* Its first bytes into start[most], *count of them, and how many it has in all. */
    enum status (*read_start)(void *context, const char *path, void *start, size_t most,
                              size_t *count, uint64_t *bytes, struct error *error);
    /* `count` bytes behind the first `offset` of a file into to[count]; STATUS_IO when it has fewer. */
    enum status (*read_range)(void *context, const char *path, uint64_t offset, void *to,
                              size_t count, struct error *error);
    /* What stands at a path; a symbolic link is not followed. */
    enum disk_kind (*look)(void *context, const char *path);
    /* How long a file is. */
    enum status (*file_bytes)(void *context, const char *path, uint64_t *bytes,
                              struct error *error);
    /* Create a directory and its parents, durably; not an error when it is there. */
    enum status (*make_directory)(void *context, const char *path, struct error *error);
    /* Call each(name) for every entry of a directory but "." and "..". */
    enum status (*list_directory)(void *context, const char *path,
                                  void (*each)(void *argument, const char *name), void *argument,
                                  struct error *error);
    /* A file, or a directory with the files in it. */
    enum status (*remove_tree)(void *context, const char *path, struct error *error);
    /* Whether a directory can be written to, or made (folder.h). */
    enum status (*check_folder)(void *context, const char *path, struct error *error);
    /* Open a log as disk_open_log does, and lock it (file_lock.h) until close_log or the end of the
     * process; `what` names for people what the lock stands for. *file is -1 on a disk that knows
     * who has a log open, but keeps no lines. */
    enum status (*open_log)(void *context, const char *path, const char *what, int *file,
                            char *aside, struct error *said);
    void (*close_log)(void *context, const char *path, int file);
    /* STATUS_OK unless another process has it open at this moment. */
    enum status (*look_at_log)(void *context, const char *path, const char *what,
                               struct error *error);
    /* What time it is for what is written, as clock_now_seconds has it. */
    double (*seconds)(void *context);
};

/* The real one. */
extern const struct disk disk_posix;

/* On the real one: open a regular file, with the flags of open(2); one that is created is created
 * as the umask says. Anything else is refused with words for what it is. */
enum status disk_open(const char *path, int flags, int *file, struct error *error);

/* Rename what stands at a path to path + ".damaged-1", or the first such number that is free:
 * nothing is thrown away. The new name into aside[DISK_PATH_MAX]. */
enum status disk_set_aside(const char *path, char *aside, struct error *error);

/* Open a log: for reading and appending, created when it is not there. A log never stops the work:
 * what stands in its place and is none, or not ours to write, is set aside for a new one. Then
 * aside[DISK_PATH_MAX] has its new name, else ""; and a line in *remark says so, or why the log
 * could not be opened all the same, else "". */
enum status disk_open_log(const char *path, int *file, char *aside, struct error *remark);

/* On the real one, for another process of this host: whole or not there at all, but not durable.
 * Its reader may take it away at once, with its directory. */
enum status disk_put_note(const char *path, const char *text, struct error *error);

#endif
