/* dataset.h - labelled images in memory, from IDX files or made up.
 *
 * `data` is one of
 *   fashion-mnist   Debian's package dataset-fashion-mnist, found by itself
 *   synthetic       10 classes of noisy 28x28 patterns drawn from the seed; needs no file;
 *                   10,000 training and 2,000 test examples
 *   synthetic:N     the same with N training and N / 5 test examples
 *   DIR             a folder with {train,t10k}-{images-idx3,labels-idx1}-ubyte, plain or .gz
 *
 * Pixels stay bytes; leaves are turned into floats (pixel / 255) when they are computed.
 * Sizes that an IDX file claims are checked against the file before memory is taken (idx.h).
 *
 * Threads: read-only after dataset_open. */

#ifndef WORKER_DATA_DATASET_H
#define WORKER_DATA_DATASET_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/job/job.h"

struct examples {
    uint8_t *images; /* [count][height][width][channels], owned unless they are shared. */
    uint8_t *labels; /* [count], each < classes, as well. */
    uint64_t count;
};

struct dataset {
    char name[256];
    uint32_t height, width, channels, classes;
    struct examples train, test;
    uint8_t digest[DIGEST_BYTES]; /* Of sizes, pixels and labels of both sets. */
    void *shared;                 /* [shared_bytes] mapped for reading, with all examples in it
                                     (shared_dataset.h), owned; NULL: each array is its own. */
    uint64_t shared_bytes;
};

/* STATUS_INVALID when `data` can be none of these: a number of examples that cannot be, or a mere
 * word that is no folder here. The line says what may stand there. Opens nothing. */
enum status dataset_check_name(const char *data, struct error *error);

/* Fill in name, sizes, classes and counts as dataset_open would, and nothing else: of a folder the
 * files' headers are read, so that it takes no time. dataset_close may be left out. */
enum status dataset_look(struct dataset *dataset, const char *data, struct error *error);

/* Whether the data follow from a seed. */
bool dataset_is_synthetic(const char *data);

/* classes is 10; a label of 10 or more is an error that names the file and the example. */
enum status dataset_open(struct dataset *dataset, const char *data, uint64_t seed,
                         struct error *error);
void dataset_close(struct dataset *dataset);

#endif
