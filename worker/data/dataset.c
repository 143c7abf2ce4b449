/* dataset.c - finds the files, or makes the examples up, and digests what came out, so that workers
 * with different data are distinguished. */

#include "worker/data/dataset.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "common/base/hash.h"
#include "common/base/spelling.h"
#include "common/file/disk.h"
#include "worker/data/idx.h"
#include "worker/data/synthetic.h"

_Static_assert(DIGEST_BYTES == HASH_BYTES, "a job's digest is a hash");

#define CLASSES                 10
#define FASHION_MNIST_DIRECTORY "/usr/share/datasets/fashion-mnist"
#define SYNTHETIC_MIN           5          /* Training examples to one for testing; at least. */
#define SYNTHETIC_MAX           10000000   /* Training examples: 8 GB. */
#define SYNTHETIC_TEST          (1u << 31) /* Where in the sequence the test set starts. */

/* --- files --------------------------------------------------------------------------------- */

/* The two files of one set. */
struct set {
    struct idx images, labels;
};

static void set_free(struct set *set)
{
    idx_free(&set->images);
    idx_free(&set->labels);
}

/* A file that is most likely the one looked for under another name, as data sets are handed round:
 * "train-images.idx3-ubyte", "emnist-letters-test-labels-idx1-ubyte.gz". */
struct likeness {
    const char *set, *other, *kind; /* "t10k", "test", "idx1" */
    char name[200];                 /* The first by name; "": none. */
};

static void note_likeness(void *argument, const char *name)
{
    struct likeness *likeness = argument;
    bool like = strstr(name, likeness->kind) != NULL &&
                (strstr(name, likeness->set) != NULL || strstr(name, likeness->other) != NULL);
    if (like && (likeness->name[0] == '\0' || strcmp(name, likeness->name) < 0))
        snprintf(likeness->name, sizeof likeness->name, "%s", name);
}

static enum status refuse_missing(const char *directory, const char *name, struct error *error)
{
    bool train = strncmp(name, "train", 5) == 0;
    struct likeness likeness = {.set = train ? "train" : "t10k",
                                .other = train ? "train" : "test",
                                .kind = strstr(name, "idx3") != NULL ? "idx3" : "idx1"};
    struct error why;
    disk_posix.list_directory(disk_posix.context, directory, note_likeness, &likeness, &why);
    return error_set(error, STATUS_NOT_FOUND, "there is neither %s nor %s.gz in %s%s%s%s", name,
                     name, directory, likeness.name[0] != '\0' ? ", but " : "", likeness.name,
                     likeness.name[0] != '\0' ? ": rename it" : "");
}

/* Find directory/name, plain or compressed. */
static enum status file_find(const char *directory, const char *name, char path[IDX_PATH_MAX],
                             struct error *error)
{
    static const char *const endings[] = {"", ".gz"};
    struct stat about;
    for (int i = 0; i < 2; i++) {
        int length = snprintf(path, IDX_PATH_MAX, "%s/%s%s", directory, name, endings[i]);
        if (length < 0 || length >= IDX_PATH_MAX)
            return error_set(error, STATUS_INVALID, "%.200s...: the path is too long", directory);
        if (stat(path, &about) == 0)
            return STATUS_OK;
    }
    return refuse_missing(directory, name, error);
}

static enum status file_open(struct idx *idx, const char *directory, const char *prefix,
                             const char *rest, uint32_t dimensions, struct error *error)
{
    char name[64], path[IDX_PATH_MAX];
    snprintf(name, sizeof name, "%s-%s", prefix, rest);
    enum status status = file_find(directory, name, path, error);
    return status ? status : idx_open(idx, path, dimensions, error);
}

/* Open both files and look at their headers. */
static enum status set_open(struct set *set, struct examples *examples, const char *directory,
                            const char *prefix, struct error *error)
{
    enum status status = file_open(&set->images, directory, prefix, "images-idx3-ubyte", 3, error);
    status =
        status ? status : file_open(&set->labels, directory, prefix, "labels-idx1-ubyte", 1, error);
    if (status)
        return status;
    if (set->images.sizes[0] != set->labels.sizes[0]) {
        return error_set(error, STATUS_INVALID, "%s has %u labels for the %u images of %s",
                         set->labels.path, set->labels.sizes[0], set->images.sizes[0],
                         set->images.path);
    }
    examples->count = set->labels.sizes[0];
    return STATUS_OK;
}

static enum status labels_check(const struct idx *labels, struct error *error)
{
    for (uint64_t i = 0; i < labels->sizes[0]; i++) {
        if (labels->bytes[i] >= CLASSES) {
            return error_set(error, STATUS_INVALID,
                             "%s: example %llu (from 0) has the label %u; labels are 0 to %d",
                             labels->path, (unsigned long long)i, labels->bytes[i], CLASSES - 1);
        }
    }
    return STATUS_OK;
}

/* Read both files and hand their memory to `examples`. */
static enum status set_read(struct set *set, struct examples *examples, struct error *error)
{
    enum status status = idx_read(&set->images, error);
    status = status ? status : idx_read(&set->labels, error);
    status = status ? status : labels_check(&set->labels, error);
    examples->images = set->images.bytes;
    examples->labels = set->labels.bytes;
    set->images.bytes = set->labels.bytes = NULL;
    return status;
}

struct folder {
    struct set train, test;
};

static enum status folder_open(struct folder *folder, struct dataset *dataset,
                               const char *directory, struct error *error)
{
    struct stat about;
    if (stat(directory, &about) != 0) {
        return error_set(
            error, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_IO, "no data in %s: %s%s", directory,
            strerror(errno),
            errno == ENOENT
                ? "; give fashion-mnist, synthetic, synthetic:N or a folder of IDX files"
                : "");
    }
    if (!S_ISDIR(about.st_mode))
        return error_set(error, STATUS_INVALID, "%s is not a folder", directory);
    enum status status = set_open(&folder->train, &dataset->train, directory, "train", error);
    status = status ? status : set_open(&folder->test, &dataset->test, directory, "t10k", error);
    if (status)
        return status;
    const uint32_t *train = folder->train.images.sizes, *test = folder->test.images.sizes;
    if (train[1] != test[1] || train[2] != test[2]) {
        return error_set(error, STATUS_INVALID,
                         "%s: training images are %ux%u and test images %ux%u", directory, train[1],
                         train[2], test[1], test[2]);
    }
    dataset->height = train[1];
    dataset->width = train[2];
    return STATUS_OK;
}

/* Debian's package; when it is not there, say what to do about it. */
static enum status fashion_mnist_open(struct folder *folder, struct dataset *dataset,
                                      struct error *error)
{
    struct error why = {0};
    enum status status = folder_open(folder, dataset, FASHION_MNIST_DIRECTORY, &why);
    if (status == STATUS_NOT_FOUND) {
        return error_set(error, status,
                         "%.300s: run 'apt-get install dataset-fashion-mnist', or give --data DIR "
                         "or --data synthetic",
                         why.text);
    }
    return status ? error_set(error, status, "%s", why.text) : STATUS_OK;
}

/* --- made up ------------------------------------------------------------------------------- */

bool dataset_is_synthetic(const char *data)
{
    size_t length = strlen("synthetic");
    return strncmp(data, "synthetic", length) == 0 && (data[length] == '\0' || data[length] == ':');
}

/* Training examples of "synthetic" or "synthetic:N"; 0: no number that can be. */
static uint64_t synthetic_count(const char *data)
{
    const char *digits = data + strlen("synthetic");
    if (*digits++ == '\0')
        return SYNTHETIC_TRAIN;
    char *end;
    unsigned long long number = strtoull(digits, &end, 10);
    bool sound = *digits >= '0' && *digits <= '9' && *end == '\0';
    return sound && number >= SYNTHETIC_MIN && number <= SYNTHETIC_MAX ? number : 0;
}

static void synthetic_look(struct dataset *dataset)
{
    dataset->height = dataset->width = SYNTHETIC_SIDE;
    dataset->train.count = synthetic_count(dataset->name);
    dataset->test.count = dataset->train.count / SYNTHETIC_MIN;
}

static enum status synthetic_fill(struct examples *examples, uint64_t seed, uint64_t first)
{
    examples->images = malloc(examples->count * SYNTHETIC_SIDE * SYNTHETIC_SIDE);
    examples->labels = malloc(examples->count);
    if (examples->images == NULL || examples->labels == NULL)
        return STATUS_MEMORY;
    synthetic_make(seed, first, examples->count, examples->images, examples->labels);
    return STATUS_OK;
}

static enum status synthetic_read(struct dataset *dataset, uint64_t seed, struct error *error)
{
    enum status status = synthetic_fill(&dataset->train, seed, 0);
    status = status ? status : synthetic_fill(&dataset->test, seed, SYNTHETIC_TEST);
    return status ? error_set(error, status, "out of memory for the synthetic data") : STATUS_OK;
}

/* --- names --------------------------------------------------------------------------------- */

/* A word that names neither a data set nor anything that is here. */
static enum status unknown_word(const char *data, struct error *error)
{
    char hint[SPELLING_HINT_MAX];
    struct spelling spelling;
    spelling_begin(&spelling, data);
    spelling_try(&spelling, "fashion-mnist");
    spelling_try(&spelling, "synthetic");
    return error_set(error, STATUS_INVALID,
                     "--data=%.80s: there is no data set and no folder of this name; give "
                     "fashion-mnist, synthetic, synthetic:N or a folder of IDX files%s",
                     data, spelling_hint(&spelling, "", hint));
}

enum status dataset_check_name(const char *data, struct error *error)
{
    struct stat about;
    if (data[0] == '\0' || strlen(data) >= sizeof((struct dataset *)NULL)->name) {
        return error_set(error, STATUS_INVALID, "--data=%.80s...: needs 1 to %zu characters", data,
                         sizeof((struct dataset *)NULL)->name - 1);
    }
    if (dataset_is_synthetic(data) && synthetic_count(data) == 0) {
        return error_set(error, STATUS_INVALID,
                         "--data=%.80s: write synthetic:N with N training examples, %d to %d", data,
                         SYNTHETIC_MIN, SYNTHETIC_MAX);
    }
    bool known = dataset_is_synthetic(data) || strcmp(data, "fashion-mnist") == 0;
    if (!known && strchr(data, '/') == NULL && stat(data, &about) != 0 && errno == ENOENT)
        return unknown_word(data, error);
    return STATUS_OK;
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

/* Everything but the examples; folder: what they are to be read from, unless they are made up. */
static enum status look(struct dataset *dataset, struct folder *folder, const char *data,
                        struct error *error)
{
    memset(dataset, 0, sizeof *dataset);
    memset(folder, 0, sizeof *folder);
    enum status status = dataset_check_name(data, error);
    if (status)
        return status;
    memcpy(dataset->name, data, strlen(data) + 1);
    dataset->channels = 1;
    dataset->classes = CLASSES;
    if (dataset_is_synthetic(data)) {
        synthetic_look(dataset);
        return STATUS_OK;
    }
    return strcmp(data, "fashion-mnist") == 0 ? fashion_mnist_open(folder, dataset, error)
                                              : folder_open(folder, dataset, data, error);
}

static enum status fill(struct dataset *dataset, struct folder *folder, uint64_t seed,
                        struct error *error)
{
    if (dataset_is_synthetic(dataset->name))
        return synthetic_read(dataset, seed, error);
    enum status status = set_read(&folder->train, &dataset->train, error);
    return status ? status : set_read(&folder->test, &dataset->test, error);
}

static void folder_free(struct folder *folder)
{
    set_free(&folder->train);
    set_free(&folder->test);
}

enum status dataset_look(struct dataset *dataset, const char *data, struct error *error)
{
    struct folder folder;
    enum status status = look(dataset, &folder, data, error);
    folder_free(&folder);
    if (status)
        dataset_close(dataset);
    return status;
}

enum status dataset_open(struct dataset *dataset, const char *data, uint64_t seed,
                         struct error *error)
{
    struct folder folder;
    enum status status = look(dataset, &folder, data, error);
    status = status ? status : fill(dataset, &folder, seed, error);
    folder_free(&folder);
    if (status) {
        dataset_close(dataset);
        return status;
    }
    dataset_digest(dataset);
    return STATUS_OK;
}

void dataset_close(struct dataset *dataset)
{
    if (dataset->shared != NULL) {
        munmap(dataset->shared, dataset->shared_bytes);
    } else {
        free(dataset->train.images);
        free(dataset->train.labels);
        free(dataset->test.images);
        free(dataset->test.labels);
    }
    memset(dataset, 0, sizeof *dataset);
}
