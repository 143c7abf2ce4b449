/* disk.c - the real disk: every file is written aside, flushed, renamed and its directory flushed,
 * and what stands in the way of one is looked at before it is opened. */

#include "common/file/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/file/file_lock.h"
#include "common/file/folder.h"

#define WRITE_PIECES 64 /* Pieces handed to one writev; a part may have a hundred thousand. */
#define WRITE_BEHIND (1u << 20) /* Bytes that the device may begin to write before all are there. */
#define ASIDE_MAX    1000       /* Names tried for what is set aside. */
#define OPENINGS_MAX 10         /* Tries to open a log, while others replace it. */

static enum status status_of_errno(int number)
{
    switch (number) {
    case ENOENT:
        return STATUS_NOT_FOUND;
    case EEXIST:
        return STATUS_EXISTS;
    case ENOMEM:
        return STATUS_MEMORY;
    default:
        return STATUS_IO;
    }
}

/* "cannot read runs/x/run.json: Permission denied" from errno. */
static enum status report(struct error *error, const char *verb, const char *path)
{
    int number = errno;
    return error_set(error, status_of_errno(number), "cannot %s %.300s: %s", verb, path,
                     strerror(number));
}

/* --- system calls that a signal may interrupt ----------------------------------------------- */

static int open_file(const char *path, int flags)
{
    int file;
    do
        file = open(path, flags | O_CLOEXEC, 0666);
    while (file < 0 && errno == EINTR);
    return file;
}

static bool flush_file(int file)
{
    int result;
    do
        result = fsync(file);
    while (result != 0 && errno == EINTR);
    return result == 0;
}

/* On Linux the file is closed whatever close says, so it is not to be closed again. */
static bool close_file(int file)
{
    return close(file) == 0 || errno == EINTR;
}

/* --- what is there ------------------------------------------------------------------------- */

const char *disk_kind_name(enum disk_kind kind)
{
    static const char *const names[] = {
        [DISK_NOTHING] = "not there",    [DISK_FILE] = "a file", [DISK_FOLDER] = "a folder",
        [DISK_LINK] = "a symbolic link", [DISK_PIPE] = "a pipe", [DISK_DEVICE] = "a device",
        [DISK_OTHER] = "something else",
    };
    return names[kind];
}

static enum disk_kind kind_of(const struct stat *about)
{
    switch (about->st_mode & S_IFMT) {
    case S_IFREG:
        return DISK_FILE;
    case S_IFDIR:
        return DISK_FOLDER;
    case S_IFLNK:
        return DISK_LINK;
    case S_IFIFO:
        return DISK_PIPE;
    case S_IFCHR:
    case S_IFBLK:
        return DISK_DEVICE;
    default: /* A socket. */
        return DISK_OTHER;
    }
}

static enum disk_kind posix_look(void *context, const char *path)
{
    (void)context;
    struct stat about;
    return lstat(path, &about) == 0 ? kind_of(&about) : DISK_NOTHING;
}

/* --- opening ------------------------------------------------------------------------------- */

static const char *verb_of(int flags)
{
    return (flags & O_ACCMODE) == O_RDONLY ? "read" : "write";
}

static enum status refuse_kind(struct error *error, int flags, const char *path,
                               const struct stat *about)
{
    return error_set(error, STATUS_IO, "cannot %s %.300s: it is %s, not a file", verb_of(flags),
                     path, disk_kind_name(kind_of(about)));
}

enum status disk_open(const char *path, int flags, int *file, struct error *error)
{
    struct stat about;
    bool writing = (flags & O_ACCMODE) != O_RDONLY;
    *file = -1;
    /* Looked at first because opening a device or a pipe can have effects of its own, and again
     * below because it may be another by then. */
    if ((writing ? lstat(path, &about) : stat(path, &about)) == 0 && !S_ISREG(about.st_mode))
        return refuse_kind(error, flags, path, &about);
    int opened = open_file(path, flags | O_NONBLOCK | O_NOCTTY | (writing ? O_NOFOLLOW : 0));
    if (opened < 0)
        return report(error, verb_of(flags), path);
    enum status status = STATUS_OK;
    if (fstat(opened, &about) != 0)
        status = report(error, verb_of(flags), path);
    else if (!S_ISREG(about.st_mode))
        status = refuse_kind(error, flags, path, &about);
    if (status == STATUS_OK)
        *file = opened;
    else
        close_file(opened);
    return status;
}

/* --- logs ---------------------------------------------------------------------------------- */

enum status disk_set_aside(const char *path, char *aside, struct error *error)
{
    for (int number = 1; number < ASIDE_MAX; number++) {
        snprintf(aside, DISK_PATH_MAX, "%.*s.damaged-%d", DISK_PATH_MAX - 32, path, number);
        if (posix_look(NULL, aside) != DISK_NOTHING)
            continue;
        return rename(path, aside) == 0 ? STATUS_OK : report(error, "set aside", path);
    }
    return error_set(error, STATUS_EXISTS, "cannot set aside %.300s: it was %d times before", path,
                     ASIDE_MAX - 1);
}

/* Whether it is what stands there that keeps it from being opened, and not the disk or this
 * process. */
static bool is_in_the_way(const char *path)
{
    enum disk_kind kind = posix_look(NULL, path);
    if (kind != DISK_FILE)
        return kind != DISK_NOTHING;
    return faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) != 0 && errno == EACCES;
}

enum status disk_open_log(const char *path, int *file, char *aside, struct error *remark)
{
    static const int flags = O_RDWR | O_CREAT | O_APPEND;
    struct error why, error;
    aside[0] = remark->text[0] = '\0';
    enum status status = disk_open(path, flags, file, &why);
    if (status == STATUS_OK)
        return status;
    if (!is_in_the_way(path))
        return error_set(remark, status, "%s", why.text);
    status = disk_set_aside(path, aside, &error);
    if (status == STATUS_OK)
        status = disk_open(path, flags, file, &error);
    if (status != STATUS_OK)
        return error_set(remark, status, "%.200s, and %.280s", why.text, error.text);
    error_set(remark, STATUS_OK, "%.200s; it is now %.200s, and a new one was begun", why.text,
              aside);
    return STATUS_OK;
}

/* Whether the file is still the one at the path: the last holder of the lock may have set it
 * aside. */
static bool is_at(int file, const char *path)
{
    struct stat ours, there;
    return fstat(file, &ours) == 0 && lstat(path, &there) == 0 && ours.st_dev == there.st_dev &&
           ours.st_ino == there.st_ino;
}

static enum status posix_open_log(void *context, const char *path, const char *what, int *file,
                                  char *aside, struct error *said)
{
    (void)context;
    for (int opening = 0; opening < OPENINGS_MAX; opening++) {
        struct error refusal;
        enum status status = disk_open_log(path, file, aside, said);
        if (status != STATUS_OK)
            return status;
        status = file_lock(*file, what, &refusal);
        if (status == STATUS_OK && is_at(*file, path))
            return STATUS_OK;
        close_file(*file);
        *file = -1;
        if (status != STATUS_OK)
            return error_set(said, status, "%s", refusal.text);
    }
    return error_set(said, STATUS_EXISTS, "%.300s is being replaced time and again", path);
}

static void posix_close_log(void *context, const char *path, int file)
{
    (void)context;
    (void)path;
    close_file(file);
}

static enum status posix_look_at_log(void *context, const char *path, const char *what,
                                     struct error *error)
{
    (void)context;
    int file;
    if (disk_open(path, O_RDONLY, &file, NULL) != STATUS_OK)
        return STATUS_OK; /* No process can have locked it. */
    enum status status = file_lock_look(file, what, error);
    close_file(file);
    return status;
}

/* --- writing ------------------------------------------------------------------------------- */

/* Take `written` bytes off the front of pieces; *done counts the pieces that are wholly written. */
static void advance(struct iovec *vector, int count, size_t written, int *done)
{
    *done = 0;
    while (*done < count && written >= vector[*done].iov_len) {
        written -= vector[*done].iov_len;
        ++*done;
    }
    if (*done < count) {
        vector[*done].iov_base = (char *)vector[*done].iov_base + written;
        vector[*done].iov_len -= written;
    }
}

static bool write_vector(int file, struct iovec *vector, int count)
{
    while (count > 0) {
        ssize_t written = writev(file, vector, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        int done;
        advance(vector, count, (size_t)written, &done);
        if (written == 0 && done == 0) { /* Nothing moves, without an error. */
            errno = EIO;
            return false;
        }
        vector += done;
        count -= done;
    }
    return true;
}

/* at: where in the file that begins. The device gets to work meanwhile, so that flushing finds less to do. */
static bool write_pieces(int file, uint64_t at, const struct disk_piece *pieces, size_t piece_count,
                         bool lasting)
{
    struct iovec vector[WRITE_PIECES];
    for (size_t first = 0; first < piece_count; first += WRITE_PIECES) {
        uint64_t bytes = 0;
        int count = 0;
        for (size_t i = first; i < piece_count && count < WRITE_PIECES; i++, count++) {
            /* writev only reads; its type has no const. */
            vector[count].iov_base = (void *)(uintptr_t)pieces[i].data;
            vector[count].iov_len = pieces[i].bytes;
            bytes += pieces[i].bytes;
        }
        if (!write_vector(file, vector, count))
            return false;
        if (lasting && bytes >= WRITE_BEHIND)
            sync_file_range(file, (off_t)at, (off_t)bytes, SYNC_FILE_RANGE_WRITE);
        at += bytes;
    }
    return true;
}

/* A name is durable only when the directory that holds it is. */
static bool flush_directory_of(const char *path)
{
    char directory[DISK_PATH_MAX + 8];
    const char *slash = strrchr(path, '/');
    int length = slash == NULL ? 0 : slash == path ? 1 : (int)(slash - path);
    snprintf(directory, sizeof directory, "%.*s", length ? length : 1, length ? path : ".");
    int file = open_file(directory, O_RDONLY | O_DIRECTORY);
    if (file < 0)
        return false;
    /* Some file systems cannot flush directories and say EINVAL: then there is nothing to do. */
    bool flushed = flush_file(file) || errno == EINVAL;
    int number = errno;
    close_file(file);
    errno = number;
    return flushed;
}

/* Write, flush if it is to last, and close; on false errno tells why and the file is closed. */
static bool fill_file(int file, uint64_t at, const struct disk_piece *pieces, size_t piece_count,
                      bool lasting)
{
    bool filled =
        write_pieces(file, at, pieces, piece_count, lasting) && (!lasting || flush_file(file));
    int number = errno;
    bool closed = close_file(file);
    if (!filled)
        errno = number;
    return filled && closed;
}

/* A new file, never what stands there: a killed writer's, or a pipe or a link, goes. */
static int create_aside(const char *aside)
{
    static const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
    int file = open_file(aside, flags);
    if (file < 0 && errno == EEXIST && unlink(aside) == 0)
        file = open_file(aside, flags);
    return file;
}

/* Its name in aside[DISK_PATH_MAX + 8]. */
static enum status open_aside(const char *path, char *aside, int *file, struct error *error)
{
    if (path[0] == '\0' || strlen(path) >= DISK_PATH_MAX)
        return error_set(error, STATUS_INVALID, "not a usable path: '%.300s'", path);
    snprintf(aside, DISK_PATH_MAX + 8, "%s" DISK_ASIDE, path);
    *file = create_aside(aside);
    return *file < 0 ? report(error, "write", aside) : STATUS_OK;
}

static enum status put_file(const char *path, const struct disk_piece *pieces, size_t piece_count,
                            bool lasting, struct error *error)
{
    int file;
    char aside[DISK_PATH_MAX + 8];
    enum status opened = open_aside(path, aside, &file, error);
    if (opened != STATUS_OK)
        return opened;
    if (!fill_file(file, 0, pieces, piece_count, lasting) || rename(aside, path) != 0) {
        enum status status = report(error, "write", path);
        unlink(aside);
        return status;
    }
    if (lasting && !flush_directory_of(path))
        return report(error, "flush the directory of", path);
    return STATUS_OK;
}

static bool write_behind(int file, uint64_t offset, const struct disk_piece *pieces,
                         size_t piece_count, bool lasting)
{
    if (ftruncate(file, (off_t)offset) == 0 &&
        lseek(file, (off_t)offset, SEEK_SET) == (off_t)offset)
        return fill_file(file, offset, pieces, piece_count, lasting);
    int number = errno;
    close_file(file);
    errno = number;
    return false;
}

static enum status posix_put_behind(void *context, const char *path, uint64_t offset,
                                    const struct disk_piece *pieces, size_t piece_count,
                                    struct error *error)
{
    (void)context;
    int file;
    struct stat about;
    bool created = posix_look(NULL, path) == DISK_NOTHING;
    if (created && offset > 0)
        return error_set(error, STATUS_INVALID, "%.300s: is not there", path);
    enum status status = disk_open(path, O_RDWR | O_CREAT, &file, error);
    if (status != STATUS_OK)
        return status;
    if (fstat(file, &about) != 0 || (uint64_t)about.st_size < offset) {
        close_file(file);
        return error_set(error, STATUS_INVALID, "%.300s: is shorter than the %llu bytes it had",
                         path, (unsigned long long)offset);
    }
    if (!write_behind(file, offset, pieces, piece_count, true)) /* Which closes it. */
        return report(error, "write", path);
    if (created && !flush_directory_of(path))
        return report(error, "flush the directory of", path);
    return STATUS_OK;
}

static enum status posix_append(void *context, const char *path, uint64_t offset,
                                const struct disk_piece *pieces, size_t piece_count,
                                struct error *error)
{
    (void)context;
    int file;
    struct stat about;
    enum status status = disk_open(path, O_RDWR, &file, error);
    if (status != STATUS_OK)
        return status;
    if (fstat(file, &about) != 0 || (uint64_t)about.st_size < offset) {
        close_file(file);
        return error_set(error, STATUS_INVALID, "%.300s: is shorter than the %llu bytes it had",
                         path, (unsigned long long)offset);
    }
    return write_behind(file, offset, pieces, piece_count, false) ? STATUS_OK
                                                                  : report(error, "write", path);
}

static enum status posix_write_file(void *context, const char *path,
                                    const struct disk_piece *pieces, size_t piece_count,
                                    struct error *error)
{
    (void)context;
    return put_file(path, pieces, piece_count, true, error);
}

static enum status write_source(int file, const char *path, const struct disk_source *source,
                                struct error *error)
{
    struct disk_piece piece;
    uint64_t at = 0;
    while (true) {
        enum status status = source->next(source->context, &piece, error);
        if (status != STATUS_OK || piece.bytes == 0)
            return status;
        if (!write_pieces(file, at, &piece, 1, true))
            return report(error, "write", path);
        at += piece.bytes;
    }
}

static enum status posix_write_from(void *context, const char *path, uint64_t bytes,
                                    const struct disk_source *source, struct error *error)
{
    int file;
    char aside[DISK_PATH_MAX + 8];
    (void)context;
    (void)bytes;
    enum status status = open_aside(path, aside, &file, error);
    if (status != STATUS_OK)
        return status;
    status = write_source(file, path, source, error);
    if (status == STATUS_OK && !flush_file(file))
        status = report(error, "write", path);
    if (!close_file(file) && status == STATUS_OK)
        status = report(error, "write", path);
    if (status == STATUS_OK && rename(aside, path) != 0)
        status = report(error, "write", path);
    if (status != STATUS_OK)
        unlink(aside);
    else if (!flush_directory_of(path))
        status = report(error, "flush the directory of", path);
    return status;
}

enum status disk_put_note(const char *path, const char *text, struct error *error)
{
    struct disk_piece piece = {text, strlen(text)};
    return put_file(path, &piece, 1, false, error);
}

/* --- reading ------------------------------------------------------------------------------- */

/* Exactly `bytes` bytes; false with errno, or with errno 0 when the file ended early. */
static bool read_all(int file, char *data, size_t bytes)
{
    while (bytes > 0) {
        ssize_t got = read(file, data, bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0)
            errno = 0;
        if (got <= 0)
            return false;
        data += got;
        bytes -= (size_t)got;
    }
    return true;
}

static enum status read_open_file(int file, const char *path, size_t max_bytes, void **data,
                                  size_t *bytes, struct error *error)
{
    struct stat about;
    if (fstat(file, &about) != 0)
        return report(error, "read", path);
    if ((uint64_t)about.st_size > max_bytes)
        return error_set(error, STATUS_INVALID, "%.300s has %lld bytes, more than the %zu expected",
                         path, (long long)about.st_size, max_bytes);
    size_t size = (size_t)about.st_size;
    char *buffer = malloc(size + 1); /* Never of no bytes, so that NULL means failure. */
    if (buffer == NULL)
        return error_set(error, STATUS_MEMORY, "no memory for the %zu bytes of %.300s", size, path);
    if (!read_all(file, buffer, size)) {
        free(buffer);
        if (errno == 0)
            return error_set(error, STATUS_IO, "%.300s became shorter while it was read", path);
        return report(error, "read", path);
    }
    *data = buffer;
    *bytes = size;
    return STATUS_OK;
}

static enum status posix_read_file(void *context, const char *path, size_t max_bytes, void **data,
                                   size_t *bytes, struct error *error)
{
    (void)context;
    *data = NULL;
    *bytes = 0;
    int file;
    enum status status = disk_open(path, O_RDONLY, &file, error);
    if (status != STATUS_OK)
        return status;
    status = read_open_file(file, path, max_bytes, data, bytes, error);
    close_file(file);
    return status;
}

static enum status posix_read_start(void *context, const char *path, void *start, size_t most,
                                    size_t *count, uint64_t *bytes, struct error *error)
{
    (void)context;
    int file;
    struct stat about;
    *count = 0;
    *bytes = 0;
    enum status status = disk_open(path, O_RDONLY, &file, error);
    if (status != STATUS_OK)
        return status;
    if (fstat(file, &about) == 0) {
        *bytes = (uint64_t)about.st_size;
        *count = *bytes < most ? (size_t)*bytes : most;
    }
    if (!read_all(file, start, *count))
        status = errno != 0
                     ? report(error, "read", path)
                     : error_set(error, STATUS_IO, "%.300s became shorter while it was read", path);
    close_file(file);
    return status;
}

static enum status posix_read_range(void *context, const char *path, uint64_t offset, void *to,
                                    size_t count, struct error *error)
{
    (void)context;
    int file;
    enum status status = disk_open(path, O_RDONLY, &file, error);
    if (status != STATUS_OK)
        return status;
    if (lseek(file, (off_t)offset, SEEK_SET) != (off_t)offset)
        status = report(error, "read", path);
    else if (!read_all(file, to, count))
        status = errno != 0
                     ? report(error, "read", path)
                     : error_set(error, STATUS_IO, "%.300s became shorter while it was read", path);
    close_file(file);
    return status;
}

static enum status posix_file_bytes(void *context, const char *path, uint64_t *bytes,
                                    struct error *error)
{
    (void)context;
    struct stat about;
    *bytes = 0;
    if (stat(path, &about) != 0)
        return report(error, "look at", path);
    if (!S_ISREG(about.st_mode))
        return refuse_kind(error, O_RDONLY, path, &about);
    *bytes = (uint64_t)about.st_size;
    return STATUS_OK;
}

/* --- directories --------------------------------------------------------------------------- */

static bool is_directory(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* One level; its parent is there. What could not be made durable is taken back, so that the next
 * try does not find it and take it for durable. */
static enum status make_one(const char *path, struct error *error)
{
    if (mkdir(path, 0777) == 0) {
        if (flush_directory_of(path))
            return STATUS_OK;
        enum status status = report(error, "flush the directory of", path);
        rmdir(path);
        return status;
    }
    if (errno == EEXIST && is_directory(path))
        return STATUS_OK;
    return report(error, "create", path);
}

static enum status posix_make_directory(void *context, const char *path, struct error *error)
{
    (void)context;
    char prefix[DISK_PATH_MAX];
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    if (length == 0 || length >= sizeof prefix)
        return error_set(error, STATUS_INVALID, "not a usable path: '%.300s'", path);
    memcpy(prefix, path, length);
    prefix[length] = '\0';
    if (is_directory(prefix)) {
        /* Its maker may have been killed before it was durable. Where its parent may not be
         * looked into, that was its maker's care. */
        flush_directory_of(prefix);
        return STATUS_OK;
    }
    for (size_t i = 1; i < length; i++) {
        if (prefix[i] != '/' || prefix[i - 1] == '/')
            continue;
        prefix[i] = '\0';
        enum status status = is_directory(prefix) ? STATUS_OK : make_one(prefix, error);
        prefix[i] = '/';
        if (status != STATUS_OK)
            return status;
    }
    return make_one(prefix, error);
}

static enum status posix_list_directory(void *context, const char *path,
                                        void (*each)(void *argument, const char *name),
                                        void *argument, struct error *error)
{
    (void)context;
    DIR *directory = opendir(path);
    if (directory == NULL)
        return report(error, "list", path);
    struct dirent *entry;
    while ((errno = 0, entry = readdir(directory)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            each(argument, entry->d_name);
    enum status status = errno ? report(error, "list", path) : STATUS_OK;
    closedir(directory);
    return status;
}

struct removal {
    int directory; /* The open directory. */
    int failed;    /* The first errno, or 0. */
};

static void remove_entry(void *argument, const char *name)
{
    struct removal *removal = argument;
    if (unlinkat(removal->directory, name, 0) != 0 && errno != ENOENT && removal->failed == 0)
        removal->failed = errno;
}

/* The files in a directory, and it. A directory inside it makes that fail. */
static enum status remove_directory(const char *path, struct error *error)
{
    struct removal removal = {.directory = open_file(path, O_RDONLY | O_DIRECTORY)};
    if (removal.directory < 0)
        return report(error, "remove", path);
    enum status status = posix_list_directory(NULL, path, remove_entry, &removal, error);
    close_file(removal.directory);
    if (status != STATUS_OK)
        return status;
    errno = removal.failed;
    if (errno != 0 || rmdir(path) != 0)
        return report(error, "remove", path);
    return STATUS_OK;
}

static enum status posix_remove_tree(void *context, const char *path, struct error *error)
{
    (void)context;
    struct stat about;
    if (lstat(path, &about) != 0)
        return report(error, "remove", path);
    if (S_ISDIR(about.st_mode)) {
        enum status status = remove_directory(path, error);
        if (status != STATUS_OK)
            return status;
    } else if (unlink(path) != 0) {
        return report(error, "remove", path);
    }
    if (!flush_directory_of(path))
        return report(error, "flush the directory of", path);
    return STATUS_OK;
}

static enum status posix_check_folder(void *context, const char *path, struct error *error)
{
    (void)context;
    return folder_check("--out", path, error);
}

static double posix_seconds(void *context)
{
    (void)context;
    return clock_now_seconds();
}

const struct disk disk_posix = {
    .write_file = posix_write_file,
    .write_from = posix_write_from,
    .put_behind = posix_put_behind,
    .append = posix_append,
    .read_file = posix_read_file,
    .read_start = posix_read_start,
    .read_range = posix_read_range,
    .look = posix_look,
    .file_bytes = posix_file_bytes,
    .make_directory = posix_make_directory,
    .list_directory = posix_list_directory,
    .remove_tree = posix_remove_tree,
    .check_folder = posix_check_folder,
    .open_log = posix_open_log,
    .close_log = posix_close_log,
    .look_at_log = posix_look_at_log,
    .seconds = posix_seconds,
};
