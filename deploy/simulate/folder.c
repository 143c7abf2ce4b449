/* folder.c - disk_posix with counted writes. */

#include "deploy/simulate/folder.h"

static void count(struct folder *folder, const struct disk_piece *pieces, size_t piece_count)
{
    folder->writes++;
    for (size_t i = 0; i < piece_count; i++)
        folder->bytes += pieces[i].bytes;
}

static enum status write_file(void *context, const char *path, const struct disk_piece *pieces,
                              size_t piece_count, struct error *error)
{
    count(context, pieces, piece_count);
    return disk_posix.write_file(disk_posix.context, path, pieces, piece_count, error);
}

static enum status write_from(void *context, const char *path, uint64_t bytes,
                              const struct disk_source *source, struct error *error)
{
    struct folder *folder = context;
    folder->writes++;
    folder->bytes += bytes;
    return disk_posix.write_from(disk_posix.context, path, bytes, source, error);
}

static enum status put_behind(void *context, const char *path, uint64_t offset,
                              const struct disk_piece *pieces, size_t piece_count,
                              struct error *error)
{
    count(context, pieces, piece_count);
    return disk_posix.put_behind(disk_posix.context, path, offset, pieces, piece_count, error);
}

static double seconds(void *context)
{
    const struct folder *folder = context;
    return (double)folder->now_us * 1e-6;
}

static const struct disk *find_disk(void *context, const struct simulated_process *process)
{
    const struct folder *folder = context;
    (void)process;
    return &folder->disk;
}

static void begin(void *context, const struct simulated_process *process, uint64_t now_us)
{
    struct folder *folder = context;
    (void)process;
    folder->now_us = now_us;
    folder->writes = folder->bytes = 0;
}

static struct stored end(void *context, const struct simulated_process *process, uint64_t now_us)
{
    const struct folder *folder = context;
    (void)process;
    (void)now_us;
    return (struct stored){.took_us = folder->writes * FOLDER_LATENCY_US +
                                      folder->bytes * 1000000 / FOLDER_BYTES_A_SECOND,
                           .wrote = folder->writes > 0};
}

struct storage folder_storage(struct folder *folder, const char *out)
{
    *folder = (struct folder){.out = out, .disk = disk_posix};
    folder->disk.context = folder;
    folder->disk.write_file = write_file;
    folder->disk.write_from = write_from;
    folder->disk.put_behind = put_behind;
    folder->disk.seconds = seconds;
    return (struct storage){
        .context = folder, .out = out, .disk = find_disk, .begin = begin, .end = end};
}
