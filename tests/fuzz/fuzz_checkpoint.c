/* fuzz_checkpoint.c - the parts of a checkpoint. A manifest that vouches for them is written by us,
 * since bytes that do not have their digest are refused at once.
 *
 *     input: settings (1 byte) | for each part but the last: length (2 bytes), part | last part
 *     settings: bits 0 and 1, parts less one; bit 2, adam instead of sgd */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/store/checkpoint.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/lib/samples.h"

#define OUT   "out"
#define STEP  10
#define PLACE OUT "/checkpoints/step-000000000010"

/* The disk with the parts, the parts as read, and their headers as JSON. */
const struct fuzz_bounds fuzz_bounds = {256u << 10, 128};

static struct job sgd, adam;

void fuzz_start(void)
{
    sgd = samples_job("sgd", MODE_SYNC);
    adam = samples_job("adam", MODE_ASYNC);
}

static void put_part(struct simulated_disk *disk, struct checkpoint_part *part,
                     struct fuzz_input *input, size_t length)
{
    char path[DISK_PATH_MAX];
    size_t bytes;
    const uint8_t *data = fuzz_take_bytes(input, length, &bytes);
    snprintf(path, sizeof path, PLACE "/%s", part->name);
    samples_put(disk, path, data, bytes);
    part->bytes = bytes;
    hash_bytes(data, bytes, part->digest);
}

static void look_at(const struct checkpoint_reader *reader)
{
    fuzz_must(reader->elements == SAMPLES_ELEMENTS, "a checkpoint holds the whole space");
    float sum = 0;
    for (uint32_t i = 0; i < reader->array_count; i++)
        for (uint64_t e = 0; e < reader->elements; e++)
            sum += reader->arrays[i][e];
    volatile float used = sum;
    (void)used;
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    unsigned settings = (unsigned)fuzz_take(&input, 1);
    struct checkpoint_part parts[4] = {0};
    struct manifest manifest = {.job = settings & 4 ? adam : sgd,
                                .run_id = 7,
                                .step = STEP,
                                .part_count = 1 + (settings & 3),
                                .parts = parts};
    struct simulated_disk disk;
    struct error error;
    simulated_disk_init(&disk, 1, 1);
    for (uint32_t i = 0; i < manifest.part_count; i++) {
        bool last = i + 1 == manifest.part_count;
        checkpoint_part_name(parts[i].name, i, manifest.part_count, 0);
        put_part(&disk, &parts[i], &input, last ? SIZE_MAX : fuzz_take(&input, 2));
    }
    fuzz_must(checkpoint_write_manifest(&disk.disk, OUT, &manifest, &error) == STATUS_OK,
              "a manifest can be written");

    struct checkpoint_reader reader;
    if (checkpoint_open(&reader, &disk.disk, PLACE, &error) == STATUS_OK)
        look_at(&reader);
    checkpoint_close(&reader);
    simulated_disk_free(&disk);
}
