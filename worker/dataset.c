#include "worker/dataset.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/hash.h"
#include "worker/idx.h"
#include "worker/synthetic.h"

_Static_assert(DIGEST_BYTES == HASH_BYTES, "a job's digest is a hash");

#define CLASSES                 10
#define FASHION_MNIST_DIRECTORY "/usr/share/datasets/fashion-mnist"
#define SYNTHETIC_MAX           10000000   /* Training examples: 8 GB. */
#define SYNTHETIC_TEST          (1u << 31) /* Where in the sequence the test set starts. */

/* --- files --------------------------------------------------------------------------------- */

/* Find directory/name, plain or compressed. */
static enum status file_find(const char *directory, const char *name, char *path, size_t path_size,
                             struct error *error)
{
    static const char *const endings[] = {"", ".gz"};
    struct stat about;
    for (int i = 0; i < 2; i++) {
        int length = snprintf(path, path_size, "%s/%s%s", directory, name, endings[i]);
        if (length < 0 || (size_t)length >= path_size) {
            return error_set(error, STATUS_INVALID, "%.200s...: the path is too long", directory);
        }
        if (stat(path, &about) == 0) {
            return STATUS_OK;
        }
    }
    return error_set(error, STATUS_NOT_FOUND, "there is neither %s nor %s.gz in %s", name, name,
                     directory);
}

static enum status labels_check(const struct idx *labels, const char *path, struct error *error)
{
    for (uint64_t i = 0; i < labels->sizes[0]; i++) {
        if (labels->bytes[i] >= CLASSES) {
            return error_set(error, STATUS_INVALID,
                             "%s: example %llu (from 0) has the label %u; labels are 0 to %d", path,
                             (unsigned long long)i, labels->bytes[i], CLASSES - 1);
        }
    }
    return STATUS_OK;
}

/* Read one set and hand its memory to `examples`; images->sizes stay for the caller to look at. */
static enum status set_read(struct examples *examples, const char *directory, const char *prefix,
                            struct idx *images, struct error *error)
{
    char name[64], images_path[512], labels_path[512];
    struct idx labels = {0};
    snprintf(name, sizeof name, "%s-images-idx3-ubyte", prefix);
    enum status status = file_find(directory, name, images_path, sizeof images_path, error);
    status = status ? status : idx_read(images, images_path, 3, error);
    examples->images = images->bytes;
    if (status) {
        return status;
    }
    snprintf(name, sizeof name, "%s-labels-idx1-ubyte", prefix);
    status = file_find(directory, name, labels_path, sizeof labels_path, error);
    status = status ? status : idx_read(&labels, labels_path, 1, error);
    examples->labels = labels.bytes;
    if (status) {
        return status;
    }
    if (images->sizes[0] != labels.sizes[0]) {
        return error_set(error, STATUS_INVALID, "%s has %u labels for the %u images of %s",
                         labels_path, labels.sizes[0], images->sizes[0], images_path);
    }
    examples->count = labels.sizes[0];
    return labels_check(&labels, labels_path, error);
}

static enum status directory_read(struct dataset *dataset, const char *directory,
                                  struct error *error)
{
    struct stat about;
    if (stat(directory, &about) != 0) {
        return error_set(error, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_IO, "no data in %s: %s",
                         directory, strerror(errno));
    }
    if (!S_ISDIR(about.st_mode)) {
        return error_set(error, STATUS_INVALID, "%s is not a folder", directory);
    }
    struct idx train = {0}, test = {0};
    enum status status = set_read(&dataset->train, directory, "train", &train, error);
    status = status ? status : set_read(&dataset->test, directory, "t10k", &test, error);
    if (status) {
        return status;
    }
    if (train.sizes[1] != test.sizes[1] || train.sizes[2] != test.sizes[2]) {
        return error_set(error, STATUS_INVALID,
                         "%s: training images are %ux%u and test images %ux%u", directory,
                         train.sizes[1], train.sizes[2], test.sizes[1], test.sizes[2]);
    }
    dataset->height = train.sizes[1];
    dataset->width = train.sizes[2];
    dataset->channels = 1;
    return STATUS_OK;
}

/* Debian's package; when it is not there, say what to do about it. */
static enum status fashion_mnist_read(struct dataset *dataset, struct error *error)
{
    struct error why = {0};
    enum status status = directory_read(dataset, FASHION_MNIST_DIRECTORY, &why);
    if (status == STATUS_NOT_FOUND) {
        return error_set(error, status,
                         "%.300s: run 'apt-get install dataset-fashion-mnist', or give --data DIR "
                         "or --data synthetic",
                         why.text);
    }
    return status ? error_set(error, status, "%s", why.text) : STATUS_OK;
}

/* --- made up ------------------------------------------------------------------------------- */

/* "synthetic" or "synthetic:N". Returns false when data is something else. */
static bool synthetic_parse(const char *data, uint64_t *count, enum status *status,
                            struct error *error)
{
    *status = STATUS_OK;
    *count = SYNTHETIC_TRAIN;
    size_t length = strlen("synthetic");
    if (strncmp(data, "synthetic", length) != 0 || (data[length] != '\0' && data[length] != ':')) {
        return false;
    }
    if (data[length] == '\0') {
        return true;
    }
    const char *digits = data + length + 1;
    char *end;
    unsigned long long number = strtoull(digits, &end, 10);
    if (*digits < '0' || *digits > '9' || *end || number < 5 || number > SYNTHETIC_MAX) {
        *status = error_set(error, STATUS_INVALID,
                            "'%.80s': write synthetic:N with N training examples, 5 to %d", data,
                            SYNTHETIC_MAX);
    }
    *count = number;
    return true;
}

static enum status synthetic_fill(struct examples *examples, uint64_t seed, uint64_t first,
                                  uint64_t count)
{
    examples->images = malloc(count * SYNTHETIC_SIDE * SYNTHETIC_SIDE);
    examples->labels = malloc(count);
    if (!examples->images || !examples->labels) {
        return STATUS_MEMORY;
    }
    examples->count = count;
    synthetic_make(seed, first, count, examples->images, examples->labels);
    return STATUS_OK;
}

static enum status synthetic_read(struct dataset *dataset, uint64_t seed, uint64_t count,
                                  struct error *error)
{
    dataset->height = dataset->width = SYNTHETIC_SIDE;
    dataset->channels = 1;
    enum status status = synthetic_fill(&dataset->train, seed, 0, count);
    status = status ? status : synthetic_fill(&dataset->test, seed, SYNTHETIC_TEST, count / 5);
    return status ? error_set(error, status, "out of memory for the synthetic data") : STATUS_OK;
}

/* --- both ---------------------------------------------------------------------------------- */

static void examples_digest(struct hash *hash, const struct examples *examples, uint64_t pixels)
{
    hash_update_u64(hash, examples->count);
    hash_update(hash, examples->images, examples->count * pixels);
    hash_update(hash, examples->labels, examples->count);
}

static void dataset_digest(struct dataset *dataset)
{
    struct hash hash;
    hash_init(&hash);
    hash_update_u64(&hash, dataset->height);
    hash_update_u64(&hash, dataset->width);
    hash_update_u64(&hash, dataset->channels);
    hash_update_u64(&hash, dataset->classes);
    uint64_t pixels = (uint64_t)dataset->height * dataset->width * dataset->channels;
    examples_digest(&hash, &dataset->train, pixels);
    examples_digest(&hash, &dataset->test, pixels);
    hash_final(&hash, dataset->digest);
}

enum status dataset_open(struct dataset *dataset, const char *data, uint64_t seed,
                         struct error *error)
{
    memset(dataset, 0, sizeof *dataset);
    if (strlen(data) == 0 || strlen(data) >= sizeof dataset->name) {
        return error_set(error, STATUS_INVALID,
                         "the data's name must have 1 to %zu characters, not %zu",
                         sizeof dataset->name - 1, strlen(data));
    }
    memcpy(dataset->name, data, strlen(data) + 1);
    dataset->classes = CLASSES;
    enum status status;
    uint64_t count;
    if (strcmp(data, "fashion-mnist") == 0) {
        status = fashion_mnist_read(dataset, error);
    } else if (synthetic_parse(data, &count, &status, error)) {
        status = status ? status : synthetic_read(dataset, seed, count, error);
    } else {
        status = directory_read(dataset, data, error);
    }
    if (status) {
        dataset_close(dataset);
        return status;
    }
    dataset_digest(dataset);
    return STATUS_OK;
}

void dataset_close(struct dataset *dataset)
{
    free(dataset->train.images);
    free(dataset->train.labels);
    free(dataset->test.images);
    free(dataset->test.labels);
    memset(dataset, 0, sizeof *dataset);
}
