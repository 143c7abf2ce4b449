/* dataset.h - labelled examples in memory, from files or made up.
 *
 * `data` is one of
 *   fashion-mnist   Debian's package dataset-fashion-mnist, found by itself
 *   synthetic       10 classes of noisy 28x28 patterns drawn from the seed; needs no file;
 *                   10,000 training and 2,000 test examples
 *   synthetic:N     the same with N training and N / 5 test examples
 *   files           see data_files.h
 * and settings may follow, see data_text.h.
 *
 * Examples are vectors (height and width 1), grey images or images of several channels. Bytes stay bytes;
 * leaves are turned into floats (byte / 255) when they are computed. All other numbers become floats.
 * Sizes that a file claims are checked against the file before memory is taken (array.h).
 *
 * Threads: read-only after dataset_open. */

#ifndef WORKER_DATA_DATASET_H
#define WORKER_DATA_DATASET_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/status.h"
#include "common/job/job.h"
#include "worker/data/labels.h"

struct examples {
    void *
        inputs; /* [count][height][width][channels], bytes or floats, owned unless they are shared. */
    union label *labels; /* [count][labels_each], classes below `classes`, or targets; as well. */
    uint64_t count;
};

struct dataset {
    char name[DATA_TEXT_MAX]; /* `data` as it was given. */
    uint32_t height, width, channels;
    uint32_t classes;     /* Or the targets of an example. */
    uint32_t labels_each; /* 1, or the targets of an example. */
    uint32_t first_class; /* As the files count them: 0 or 1; labels here are from 0. */
    bool floats;          /* Inputs are; else they are bytes. */
    bool real;            /* Labels are targets. */
    bool standard; /* Each column of inputs has mean 0 and deviation 1 in the training set. */
    struct examples train, test;
    uint8_t digest[DIGEST_BYTES]; /* Of sizes, inputs and labels of both sets. */
    void *shared;                 /* [shared_bytes] mapped for reading, with all examples in it
                                     (shared_dataset.h), owned; NULL: each array is its own. */
    uint64_t shared_bytes;
};

/* Of one example's inputs. */
static inline uint64_t dataset_input_bytes(const struct dataset *dataset)
{
    return (uint64_t)dataset->height * dataset->width * dataset->channels *
           (dataset->floats ? sizeof(float) : 1);
}

static inline struct model_input dataset_model_input(const struct dataset *dataset)
{
    return (struct model_input){dataset->height,  dataset->width,  dataset->channels,
                                dataset->classes, dataset->floats, dataset->real};
}

/* STATUS_INVALID when `data` can be none of these: a number of examples that cannot be, a mere word
 * that is nothing here, or a setting that is none. The line says what may stand there. Opens nothing. */
enum status dataset_check_name(const char *data, struct error *error);

/* Fill in name, sizes, classes and counts as dataset_open would, and nothing else: headers and labels
 * are read, so that it takes next to no time; only a CSV file is read whole. dataset_close may be left
 * out. */
enum status dataset_look(struct dataset *dataset, const char *data, struct error *error);

/* Whether the data follow from a seed. */
bool dataset_is_synthetic(const char *data);

enum status dataset_open(struct dataset *dataset, const char *data, uint64_t seed,
                         struct error *error);
void dataset_close(struct dataset *dataset);

#endif
