#include "deploy/simulated_disk.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct simulated_file *simulated_disk_find(struct simulated_disk *disk, const char *path)
{
    for (size_t i = 0; i < disk->file_count; i++)
        if (strcmp(disk->files[i].path, path) == 0)
            return &disk->files[i];
    return NULL;
}

static struct simulated_file *add_file(struct simulated_disk *disk, const char *path)
{
    if (disk->file_count == disk->file_capacity) {
        size_t capacity = 2 * disk->file_capacity + 16;
        struct simulated_file *files = realloc(disk->files, capacity * sizeof *files);
        if (files == NULL)
            return NULL;
        disk->files = files;
        disk->file_capacity = capacity;
    }
    struct simulated_file *file = &disk->files[disk->file_count++];
    memset(file, 0, sizeof *file);
    snprintf(file->path, sizeof file->path, "%s", path);
    return file;
}

static bool fails(struct simulated_disk *disk)
{
    disk->writes++;
    if (disk->failing <= 0 || random_unit_float(random_next(&disk->random)) >= (float)disk->failing)
        return false;
    disk->failed++;
    return true;
}

static enum status write_file(void *context, const char *path, const struct disk_piece *pieces,
                              size_t piece_count, struct error *error)
{
    struct simulated_disk *disk = context;
    size_t bytes = 0, at = 0;
    if (fails(disk))
        return error_set(error, STATUS_IO, "%.300s: no space left on the simulated disk", path);
    for (size_t i = 0; i < piece_count; i++)
        bytes += pieces[i].bytes;
    uint8_t *data = malloc(bytes > 0 ? bytes : 1);
    struct simulated_file *file = simulated_disk_find(disk, path);
    if (file == NULL)
        file = add_file(disk, path);
    if (data == NULL || file == NULL) {
        free(data);
        return error_set(error, STATUS_MEMORY, "%.300s: out of memory", path);
    }
    for (size_t i = 0; i < piece_count; i++) {
        if (pieces[i].bytes > 0)
            memcpy(data + at, pieces[i].data, pieces[i].bytes);
        at += pieces[i].bytes;
    }
    free(file->data);
    file->data = data;
    file->bytes = bytes;
    return STATUS_OK;
}

static enum status read_file(void *context, const char *path, size_t max_bytes, void **data,
                             size_t *bytes, struct error *error)
{
    const struct simulated_file *file = simulated_disk_find(context, path);
    if (file == NULL)
        return error_set(error, STATUS_NOT_FOUND, "%.300s: no such file", path);
    if (file->bytes > max_bytes)
        return error_set(error, STATUS_INVALID, "%.300s: too large", path);
    *data = malloc(file->bytes > 0 ? file->bytes : 1);
    if (*data == NULL)
        return error_set(error, STATUS_MEMORY, "%.300s: out of memory", path);
    memcpy(*data, file->data, file->bytes);
    *bytes = file->bytes;
    return STATUS_OK;
}

static enum status make_directory(void *context, const char *path, struct error *error)
{
    (void)context;
    (void)path;
    (void)error;
    return STATUS_OK; /* It is there as soon as it holds a file. */
}

/* The part of a file's path below directory, or NULL. */
static const char *below(const char *path, const char *directory)
{
    size_t length = strlen(directory);
    bool inside = strncmp(path, directory, length) == 0 && path[length] == '/';
    return inside ? path + length + 1 : NULL;
}

/* Whether an earlier file has shown the same entry: directories hold several. */
static bool seen_before(const struct simulated_disk *disk, size_t index, const char *directory,
                        const char *name, size_t length)
{
    for (size_t i = 0; i < index; i++) {
        const char *rest = below(disk->files[i].path, directory);
        if (rest != NULL && strncmp(rest, name, length) == 0 &&
            (rest[length] == '/' || rest[length] == '\0'))
            return true;
    }
    return false;
}

static enum status list_directory(void *context, const char *path,
                                  void (*each)(void *argument, const char *name), void *argument,
                                  struct error *error)
{
    const struct simulated_disk *disk = context;
    bool any = false;
    for (size_t i = 0; i < disk->file_count; i++) {
        const char *rest = below(disk->files[i].path, path);
        if (rest == NULL)
            continue;
        any = true;
        char name[DISK_PATH_MAX];
        size_t length = strcspn(rest, "/");
        if (seen_before(disk, i, path, rest, length))
            continue;
        snprintf(name, sizeof name, "%.*s", (int)length, rest);
        each(argument, name);
    }
    if (!any)
        return error_set(error, STATUS_NOT_FOUND, "%.300s: no such directory", path);
    return STATUS_OK;
}

static enum status remove_tree(void *context, const char *path, struct error *error)
{
    struct simulated_disk *disk = context;
    (void)error;
    for (size_t i = 0; i < disk->file_count;) {
        struct simulated_file *file = &disk->files[i];
        if (strcmp(file->path, path) != 0 && below(file->path, path) == NULL) {
            i++;
            continue;
        }
        free(file->data);
        disk->file_count--;
        memmove(file, file + 1, (disk->file_count - i) * sizeof *file);
    }
    return STATUS_OK;
}

void simulated_disk_init(struct simulated_disk *disk, uint64_t seed, uint32_t sub)
{
    memset(disk, 0, sizeof *disk);
    random_sequence_init(&disk->random, seed, RANDOM_STREAM_SIMULATOR, sub);
    disk->disk = (struct disk){.context = disk,
                               .write_file = write_file,
                               .read_file = read_file,
                               .make_directory = make_directory,
                               .list_directory = list_directory,
                               .remove_tree = remove_tree};
}

void simulated_disk_free(struct simulated_disk *disk)
{
    for (size_t i = 0; i < disk->file_count; i++)
        free(disk->files[i].data);
    free(disk->files);
    memset(disk, 0, sizeof *disk);
}
