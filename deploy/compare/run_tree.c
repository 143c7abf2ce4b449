/* run_tree.c - walks a folder by open directories: no link is followed. */

#include "deploy/compare/run_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file/disk.h"

#define DEPTH_MAX    8
#define BUFFER_BYTES 65536

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* The action for an entry; `name` is in the folder `from`, and goes into `to`. */
struct walk {
    enum status (*file)(const struct walk *walk, int from, const char *name, int to,
                        struct error *error);
    enum status (*enter)(const struct walk *walk, int to, const char *name, int *inner,
                         struct error *error);
    enum status (*leave)(const struct walk *walk, int from, const char *name, int inner,
                         struct error *error);
    const char *path; /* For people: the folder that was asked for. */
    bool any_kind;    /* Links and other kinds count as files. */
};

static enum status fails(const struct walk *walk, const char *what, const char *name,
                         struct error *error)
{
    return error_set(error, STATUS_IO, "cannot %s %.250s: %.60s: %s", what, walk->path, name,
                     strerror(errno));
}

static enum status walk_folder(const struct walk *walk, int from, int to, unsigned depth,
                               struct error *error);

static enum status walk_entry(const struct walk *walk, int from, const char *name, int to,
                              unsigned depth, struct error *error)
{
    struct stat about;
    int inner = -1;
    if (fstatat(from, name, &about, AT_SYMLINK_NOFOLLOW) != 0)
        return fails(walk, "look at", name, error);
    if (!S_ISDIR(about.st_mode)) {
        if (!S_ISREG(about.st_mode) && !walk->any_kind)
            return error_set(
                error, STATUS_INVALID, "%.250s: %.60s in it is %s, and not a file or a folder",
                walk->path, name,
                S_ISLNK(about.st_mode) ? disk_kind_name(DISK_LINK) : disk_kind_name(DISK_OTHER));
        return walk->file(walk, from, name, to, error);
    }
    if (depth == DEPTH_MAX)
        return error_set(error, STATUS_INVALID, "%.250s: there are too many folders in folders",
                         walk->path);
    int folder = openat(from, name, FOLDER_FLAGS);
    if (folder < 0)
        return fails(walk, "open", name, error);
    enum status status = walk->enter(walk, to, name, &inner, error);
    if (status == STATUS_OK)
        status = walk_folder(walk, folder, inner, depth + 1, error);
    if (status == STATUS_OK)
        status = walk->leave(walk, from, name, inner, error);
    if (inner >= 0)
        close(inner);
    close(folder);
    return status;
}

/* All that is in it. */
static enum status walk_folder(const struct walk *walk, int from, int to, unsigned depth,
                               struct error *error)
{
    enum status status = STATUS_OK;
    int again = dup(from);
    DIR *entries = again >= 0 ? fdopendir(again) : NULL;
    struct dirent *entry;
    if (entries == NULL) {
        status = fails(walk, "read", ".", error);
        if (again >= 0)
            close(again);
        return status;
    }
    while (status == STATUS_OK && (errno = 0, entry = readdir(entries)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            status = walk_entry(walk, from, entry->d_name, to, depth, error);
    if (status == STATUS_OK && errno != 0)
        status = fails(walk, "read", ".", error);
    closedir(entries);
    return status;
}

/* --- copying --------------------------------------------------------------------------------- */

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), bytes = strlen(end);
    return length >= bytes && strcmp(name + length - bytes, end) == 0;
}

static bool copy_bytes(int from, int to)
{
    static const size_t most = BUFFER_BYTES;
    char *buffer = malloc(most);
    ssize_t got = buffer != NULL ? 1 : -1;
    while (got > 0 && (got = read(from, buffer, most)) > 0)
        for (ssize_t done = 0, part; done < got; done += part)
            if ((part = write(to, buffer + done, (size_t)(got - done))) < 0) {
                free(buffer);
                return false;
            }
    free(buffer);
    return got == 0 && fsync(to) == 0;
}

static enum status copy_contents(const struct walk *walk, int from, const char *name, int to,
                                 struct error *error)
{
    enum status status = STATUS_OK;
    int source = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int copy = source >= 0 ? openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;
    if (copy < 0 || !copy_bytes(source, copy))
        status = fails(walk, "copy", name, error);
    if (copy >= 0 && close(copy) != 0 && status == STATUS_OK)
        status = fails(walk, "copy", name, error);
    if (source >= 0)
        close(source);
    return status;
}

/* A file that cannot be linked, across disks or without hard links, is copied. */
static enum status copy_file(const struct walk *walk, int from, const char *name, int to,
                             struct error *error)
{
    if (ends_with(name, DISK_ASIDE)) /* A partial file of a killed process. */
        return STATUS_OK;
    if (ends_with(name, ".safetensors") && linkat(from, name, to, name, 0) == 0)
        return STATUS_OK;
    return copy_contents(walk, from, name, to, error);
}

static enum status make_folder(const struct walk *walk, int to, const char *name, int *inner,
                               struct error *error)
{
    if (mkdirat(to, name, 0777) != 0 || (*inner = openat(to, name, FOLDER_FLAGS)) < 0)
        return fails(walk, "copy", name, error);
    return STATUS_OK;
}

static enum status flush_folder(const struct walk *walk, int from, const char *name, int inner,
                                struct error *error)
{
    (void)from;
    return fsync(inner) == 0 ? STATUS_OK : fails(walk, "flush", name, error);
}

/* Into a folder that was just made. */
static enum status copy_into(const char *from, const char *to, struct error *error)
{
    const struct walk walk = {copy_file, make_folder, flush_folder, from, false};
    enum status status = STATUS_OK;
    int source = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int copy = source >= 0 ? open(to, FOLDER_FLAGS) : -1;
    if (copy < 0)
        status = fails(&walk, "open", ".", error);
    if (status == STATUS_OK)
        status = walk_folder(&walk, source, copy, 0, error);
    if (status == STATUS_OK)
        status = flush_folder(&walk, source, ".", copy, error);
    if (copy >= 0)
        close(copy);
    if (source >= 0)
        close(source);
    return status;
}

static bool flush_parent(const char *path)
{
    char parent[DISK_PATH_MAX];
    const char *slash = strrchr(path, '/');
    snprintf(parent, sizeof parent, "%.*s", slash != NULL ? (int)(slash - path) : 1,
             slash != NULL ? path : ".");
    int folder = open(parent[0] != '\0' ? parent : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool flushed = folder >= 0 && fsync(folder) == 0;
    if (folder >= 0)
        close(folder);
    return flushed;
}

enum status run_tree_copy(const char *from, const char *to, struct error *error)
{
    char part[DISK_PATH_MAX];
    struct stat there;
    int length = snprintf(part, sizeof part, "%s" RUN_TREE_PART, to);
    if (length < 0 || (size_t)length >= sizeof part)
        return error_set(error, STATUS_INVALID, "path is too long: %.300s...", to);
    if (lstat(to, &there) == 0)
        return error_set(error, STATUS_EXISTS, "%.300s: something is there already", to);
    enum status status = run_tree_remove(part, error);
    if (status != STATUS_OK)
        return status;
    if (mkdir(part, 0777) != 0)
        return error_set(error, STATUS_IO, "cannot make %.300s: %s", part, strerror(errno));
    status = copy_into(from, part, error);
    if (status == STATUS_OK && (rename(part, to) != 0 || !flush_parent(to)))
        status = error_set(error, STATUS_IO, "cannot rename %.200s to %.200s: %s", part, to,
                           strerror(errno));
    if (status != STATUS_OK)
        run_tree_remove(part, NULL);
    return status;
}

/* --- removing -------------------------------------------------------------------------------- */

static enum status remove_file(const struct walk *walk, int from, const char *name, int to,
                               struct error *error)
{
    (void)to;
    return unlinkat(from, name, 0) == 0 ? STATUS_OK : fails(walk, "remove", name, error);
}

static enum status enter_nothing(const struct walk *walk, int to, const char *name, int *inner,
                                 struct error *error)
{
    (void)walk;
    (void)to;
    (void)name;
    (void)error;
    *inner = -1;
    return STATUS_OK;
}

static enum status remove_folder(const struct walk *walk, int from, const char *name, int inner,
                                 struct error *error)
{
    (void)inner;
    return unlinkat(from, name, AT_REMOVEDIR) == 0 ? STATUS_OK : fails(walk, "remove", name, error);
}

enum status run_tree_remove(const char *path, struct error *error)
{
    const struct walk walk = {remove_file, enter_nothing, remove_folder, path, true};
    struct stat about;
    if (lstat(path, &about) != 0)
        return errno == ENOENT ? STATUS_OK : fails(&walk, "look at", ".", error);
    if (!S_ISDIR(about.st_mode))
        return unlink(path) == 0 ? STATUS_OK : fails(&walk, "remove", ".", error);
    int folder = open(path, FOLDER_FLAGS);
    if (folder < 0)
        return fails(&walk, "open", ".", error);
    enum status status = walk_folder(&walk, folder, -1, 0, error);
    close(folder);
    if (status == STATUS_OK && rmdir(path) != 0)
        status = fails(&walk, "remove", ".", error);
    return status;
}
