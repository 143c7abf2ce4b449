/* fuzz_run_directory.c - a run directory that somebody left: run.json and events.jsonl, read to
 * resume it and read to report on it.
 *
 *     input: length of run.json (2 bytes) | run.json | events.jsonl */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/progress/record.h"
#include "common/store/run_directory.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/lib/samples.h"

/* The files, their JSON, and a growing series of which each event takes 20 bytes or more. */
const struct fuzz_bounds fuzz_bounds = {192u << 10, 384};

static char folder[] = "/dev/shm/fuzz-run-XXXXXX", run_path[64], events_path[64];
static int run_file, events_file;
static struct job sample;

static void remove_folder(void)
{
    unlink(run_path);
    unlink(events_path);
    rmdir(folder);
}

static int create(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    fuzz_must(file >= 0, "there is a place for files");
    return file;
}

void fuzz_start(void)
{
    sample = samples_job("adam", MODE_SYNC);
    fuzz_must(mkdtemp(folder) != NULL, "there is a place for a folder");
    snprintf(run_path, sizeof run_path, "%s/run.json", folder);
    snprintf(events_path, sizeof events_path, "%s/events.jsonl", folder);
    run_file = create(run_path);
    events_file = create(events_path);
    atexit(remove_folder);
}

static void fill(int file, struct fuzz_input *input, size_t length)
{
    size_t bytes;
    const uint8_t *data = fuzz_take_bytes(input, length, &bytes);
    fuzz_must(ftruncate(file, 0) == 0 && pwrite(file, data, bytes, 0) == (ssize_t)bytes,
              "a file takes bytes");
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    struct error error;
    struct record record;
    fill(run_file, &input, fuzz_take(&input, 2));
    fill(events_file, &input, SIZE_MAX);
    run_directory_check(&disk_posix, folder, &sample, NULL, &error);
    if (record_read(&record, folder, &error) == STATUS_OK)
        fuzz_must(record.summary.worker_count <= RECORD_WORKERS_MAX, "workers are bounded");
    record_free(&record);
}
