/* run_noise.c - reads and writes a small object. */

#include "common/progress/run_noise.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/file/json.h"
#include "common/file/json_writer.h"

#define FORMAT         "syncopate-machine-1"
#define FILE_BYTES_MAX 65536

double run_noise_share(const struct run_noise *noise)
{
    double all = noise->seconds * noise->processors;
    return all > 0 ? (noise->others + noise->stolen) / all : NAN;
}

bool run_noise_is_much(const struct run_noise *noise)
{
    return run_noise_share(noise) > RUN_NOISY; /* Not of NaN. */
}

static bool file_path(char path[DISK_PATH_MAX], const char *folder)
{
    int length = snprintf(path, DISK_PATH_MAX, "%s/" RUN_NOISE_FILE, folder);
    return length >= 0 && length < DISK_PATH_MAX;
}

static double positive(const struct json *root, const char *name)
{
    double value = json_number(root, name);
    return value > 0 && isfinite(value) ? value : 0;
}

void run_noise_read(struct run_noise *noise, const struct disk *disk, const char *path)
{
    char file[DISK_PATH_MAX];
    struct json *root = NULL;
    struct error unused;
    *noise = (struct run_noise){.processors = 0};
    if (!file_path(file, path) ||
        json_read_file(disk, file, FILE_BYTES_MAX, &root, &unused) != STATUS_OK)
        return;
    const char *format = json_text(root, "format"), *machine = json_text(root, "machine");
    uint64_t processors = json_u64(root, "processors", 0);
    if (format != NULL && strcmp(format, FORMAT) == 0 && processors <= UINT32_MAX) {
        noise->processors = (uint32_t)processors;
        noise->seconds = positive(root, "seconds");
        noise->own = positive(root, "own_cpu_seconds");
        noise->others = positive(root, "others_cpu_seconds");
        noise->stolen = positive(root, "stolen_cpu_seconds");
        snprintf(noise->machine, sizeof noise->machine, "%s", machine != NULL ? machine : "");
    }
    json_release(&root);
}

static void write_noise(struct json_writer *writer, const struct run_noise *noise)
{
    json_writer_object(writer, NULL);
    json_writer_text(writer, "format", FORMAT);
    json_writer_text(writer, "machine", noise->machine);
    json_writer_u64(writer, "processors", noise->processors);
    json_writer_real(writer, "seconds", noise->seconds);
    json_writer_real(writer, "own_cpu_seconds", noise->own);
    json_writer_real(writer, "others_cpu_seconds", noise->others);
    json_writer_real(writer, "stolen_cpu_seconds", noise->stolen);
    json_writer_real(writer, "others_share", run_noise_share(noise));
    json_writer_end(writer);
    json_writer_raw(writer, "\n", 1);
}

enum status run_noise_add(const struct run_noise *noise, const struct disk *disk, const char *path,
                          struct error *error)
{
    char file[DISK_PATH_MAX];
    struct run_noise sum;
    struct json_writer writer;
    enum status status = STATUS_OK;
    if (!file_path(file, path))
        return error_set(error, STATUS_INVALID, "path is too long: %.300s...", path);
    run_noise_read(&sum, disk, path);
    sum.seconds += noise->seconds;
    sum.own += noise->own;
    sum.others += noise->others;
    sum.stolen += noise->stolen;
    sum.processors = noise->processors;
    snprintf(sum.machine, sizeof sum.machine, "%s", noise->machine);
    json_writer_init(&writer, false);
    write_noise(&writer, &sum);
    if (writer.failed) {
        status = error_set(error, STATUS_MEMORY, "out of memory");
    } else {
        struct disk_piece piece = {writer.text, strlen(writer.text)};
        status = disk->write_file(disk->context, file, &piece, 1, error);
    }
    json_writer_free(&writer);
    return status;
}
