/* dataset.c - opens the files, or makes the examples up, gives them their form, and digests what came out,
 * so that workers with different data are distinguished. */

#include "worker/data/dataset.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "common/base/hash.h"
#include "common/base/spelling.h"
#include "worker/data/data_files.h"
#include "worker/data/order.h"
#include "worker/data/synthetic.h"

_Static_assert(DIGEST_BYTES == HASH_BYTES, "a job's digest is a hash");

#define FASHION_MNIST_DIRECTORY "/usr/share/datasets/fashion-mnist"
#define SYNTHETIC_MIN           5          /* Training examples to one for testing; at least. */
#define SYNTHETIC_MAX           10000000   /* Training examples: 8 GB. */
#define SYNTHETIC_TEST          (1u << 31) /* Where in the sequence the test set starts. */
#define SPLIT_SEED              29         /* Of the examples that are put aside for testing. */

#define CAN_STAND                                                                                  \
    "fashion-mnist, synthetic, synthetic:N, a folder of IDX files, FILE.npz, X.npy,Y.npy or "      \
    "FILE.csv"

/* --- the form of arrays ---------------------------------------------------------------------- */

/* What look learns for reading. */
struct plan {
    struct data_text text;
    struct data_files files;
    struct label_rules rules;
    bool split; /* The test set is a part of the training set. */
};

static void plan_free(struct plan *plan)
{
    data_files_free(&plan->files);
}

static bool is_bytes(const struct array *array)
{
    return array->kind == ARRAY_UNSIGNED && array->width == 1;
}

static enum status refuse_shape(const struct array *array, const char *rule, struct error *error)
{
    char shape[120];
    return error_set(error, STATUS_INVALID, "%s: is %s: %s", array->packed.path,
                     array_describe(array, shape), rule);
}

/* Vectors, grey images, or images with their channels last. */
static enum status inputs_check(const struct array *inputs, struct error *error)
{
    if (inputs->rank < 2)
        return refuse_shape(inputs, "inputs have 2 to 4 dimensions, examples first", error);
    bool channels_first = inputs->rank == 4 && (inputs->sizes[1] == 1 || inputs->sizes[1] == 3) &&
                          inputs->sizes[2] > 4 && inputs->sizes[3] > 4;
    if (channels_first)
        return refuse_shape(
            inputs, "channels come last: np.save(\"x.npy\", x.transpose(0, 2, 3, 1))", error);
    return STATUS_OK;
}

static enum status part_check(const struct data_part *part, struct error *error)
{
    if (part->inputs.sizes[0] != part->labels.sizes[0])
        return error_set(error, STATUS_INVALID, "%s has %llu labels for the %llu examples of %s",
                         part->labels.packed.path, (unsigned long long)part->labels.sizes[0],
                         (unsigned long long)part->inputs.sizes[0], part->inputs.packed.path);
    return inputs_check(&part->inputs, error);
}

/* Of one form, so that one model reads both. */
static enum status parts_check(const struct data_files *files, struct error *error)
{
    char a[120], b[120];
    const struct array *train = &files->train.inputs, *test = &files->test.inputs;
    enum status status = part_check(&files->train, error);
    if (status != STATUS_OK || !files->has_test)
        return status;
    status = part_check(&files->test, error);
    if (status == STATUS_OK &&
        (memcmp(train->sizes + 1, test->sizes + 1, 3 * sizeof *test->sizes) ||
         is_bytes(train) != is_bytes(test)))
        return error_set(error, STATUS_INVALID, "%s is %s, but %s is %s", train->packed.path,
                         array_describe(train, a), test->packed.path, array_describe(test, b));
    return status;
}

static enum status scale_check(struct dataset *dataset, const struct plan *plan,
                               struct error *error)
{
    const struct array *inputs = &plan->files.train.inputs;
    enum data_scale scale = plan->text.scale;
    if (scale == DATA_SCALE_BYTES && !is_bytes(inputs))
        return refuse_shape(inputs, "--scale bytes is for whole numbers from 0 to 255", error);
    if (scale == DATA_SCALE_STANDARD && inputs->rank > 2)
        return refuse_shape(inputs, "--scale standard is for vectors, column by column", error);
    dataset->floats = !is_bytes(inputs) || scale > DATA_SCALE_BYTES;
    dataset->standard = scale == DATA_SCALE_STANDARD ||
                        (scale == DATA_SCALE_AUTO && plan->files.is_table && dataset->floats);
    return STATUS_OK;
}

static void shape_take(struct dataset *dataset, const struct array *inputs)
{
    bool vector = inputs->rank == 2;
    dataset->height = vector ? 1 : (uint32_t)inputs->sizes[1];
    dataset->width = vector ? 1 : (uint32_t)inputs->sizes[2];
    dataset->channels = (uint32_t)inputs->sizes[vector ? 1 : 3];
}

/* Examples that are put aside for testing: at least one, and not all. */
static uint64_t split_count(const struct data_text *text, uint64_t count)
{
    double part = text->test_part < 0 ? DATA_TEST_PART : text->test_part;
    uint64_t test = (uint64_t)llround((double)count * part);
    test = test == 0 && part > 0 ? 1 : test;
    return test < count ? test : count - 1;
}

static void counts_take(struct dataset *dataset, const struct plan *plan)
{
    uint64_t count = plan->files.train.inputs.sizes[0];
    dataset->test.count =
        plan->split ? split_count(&plan->text, count) : plan->files.test.inputs.sizes[0];
    dataset->train.count = plan->split ? count - dataset->test.count : count;
}

/* Labels tell how many classes there are, so they are read at once. */
static enum status labels_take(struct dataset *dataset, struct plan *plan, struct error *error)
{
    struct array *const arrays[] = {&plan->files.train.labels, &plan->files.test.labels};
    const struct array *const seen[] = {arrays[0], arrays[1]};
    unsigned count = plan->files.has_test ? 2 : 1;
    enum status status = STATUS_OK;
    for (unsigned i = 0; i < count && status == STATUS_OK; i++)
        status = array_read(arrays[i], error);
    status = status ? status : labels_look(&plan->rules, &plan->text, seen, count, error);
    dataset->classes = plan->rules.classes;
    dataset->labels_each = plan->rules.each;
    dataset->first_class = plan->rules.first;
    dataset->real = plan->rules.real;
    return status;
}

static enum status files_look(struct dataset *dataset, struct plan *plan, struct error *error)
{
    if (plan->text.label[0] != '\0' && !plan->files.is_table)
        return error_set(error, STATUS_INVALID, "--label: %.200s is no CSV file: labels are %.200s",
                         plan->text.files, plan->files.train.labels.packed.path);
    enum status status = parts_check(&plan->files, error);
    status = status ? status : scale_check(dataset, plan, error);
    status = status ? status : labels_take(dataset, plan, error);
    if (status != STATUS_OK)
        return status;
    plan->split = !plan->files.has_test;
    if (plan->files.has_test && plan->text.test_part >= 0)
        return error_set(error, STATUS_INVALID, "--test-part: the data have a test set, %s",
                         plan->files.test.inputs.packed.path);
    shape_take(dataset, &plan->files.train.inputs);
    counts_take(dataset, plan);
    return STATUS_OK;
}

/* --- reading --------------------------------------------------------------------------------- */

/* Each column of the training set to mean 0 and deviation 1, a constant one to 0; the test set by the same
 * numbers. */
static void standardise(struct dataset *dataset)
{
    uint32_t columns = dataset->channels;
    const struct examples *const sets[] = {&dataset->train, &dataset->test};
    float *train = dataset->train.inputs;
    uint64_t count = dataset->train.count;
    for (uint32_t c = 0; c < columns; c++) {
        double sum = 0, squares = 0;
        for (uint64_t i = 0; i < count; i++)
            sum += (double)train[i * columns + c];
        double mean = sum / (double)count;
        for (uint64_t i = 0; i < count; i++) {
            double off = (double)train[i * columns + c] - mean;
            squares += off * off;
        }
        double deviation = sqrt(squares / (double)count);
        for (int set = 0; set < 2; set++) {
            float *number = (float *)sets[set]->inputs + c;
            for (uint64_t i = 0; i < sets[set]->count; i++, number += columns)
                *number = deviation > 0 ? (float)(((double)*number - mean) / deviation) : 0.0f;
        }
    }
}

/* As floats, in memory of their own unless they are already. */
static enum status floats_make(float **floats, struct array *array, struct error *error)
{
    uint64_t row = array_row(array), count = array->sizes[0] * row;
    bool are = array->kind == ARRAY_FLOAT && array->width == 4;
    float *made = *floats = are ? (float *)(void *)array->data : malloc(count * sizeof *made);
    if (are)
        array->data = NULL;
    if (made == NULL)
        return error_set(error, STATUS_MEMORY, "%s: out of memory", array->packed.path);
    for (uint64_t i = 0; i < count; i++) {
        if (!are)
            made[i] = (float)array_number(array, i);
        if (!isfinite(made[i]))
            return error_set(error, STATUS_INVALID,
                             "%s: number %llu of example %llu (both from 0) is not finite, or too "
                             "large for 32 bits",
                             array->packed.path, (unsigned long long)(i % row),
                             (unsigned long long)(i / row));
    }
    return STATUS_OK;
}

static enum status part_read(struct dataset *dataset, struct examples *examples,
                             const struct label_rules *rules, struct data_part *part,
                             struct error *error)
{
    enum status status = array_read(&part->inputs, error);
    if (status == STATUS_OK && dataset->floats) {
        float *floats;
        status = floats_make(&floats, &part->inputs, error);
        examples->inputs = floats;
    } else if (status == STATUS_OK) {
        examples->inputs = part->inputs.data;
        part->inputs.data = NULL;
    }
    status = status ? status : labels_make(&examples->labels, rules, &part->labels, error);
    array_free(&part->inputs);
    return status;
}

/* Row i of a set to row `at` of another. */
static void move_row(const struct dataset *dataset, struct examples *to, uint64_t at,
                     const struct examples *from, uint64_t i)
{
    uint64_t bytes = dataset_input_bytes(dataset), labels = dataset->labels_each;
    memmove((char *)to->inputs + at * bytes, (const char *)from->inputs + i * bytes, bytes);
    memmove(to->labels + at * labels, from->labels + i * labels, labels * sizeof *to->labels);
}

/* Of all examples, in dataset->train, the same ones for every seed of a job. */
static enum status split(struct dataset *dataset)
{
    struct examples *train = &dataset->train, *test = &dataset->test;
    uint64_t all = train->count + test->count, kept = 0, aside = 0;
    struct example_order order;
    uint8_t *is_test = calloc(all, 1);
    enum status status = order_init(&order, SPLIT_SEED, all);
    test->inputs = malloc(test->count * dataset_input_bytes(dataset) + 1);
    test->labels = malloc(test->count * dataset->labels_each * sizeof *test->labels + 1);
    if (status == STATUS_OK && is_test != NULL && test->inputs != NULL && test->labels != NULL) {
        const uint32_t *places = order_places(&order, 0, 0, (uint32_t)test->count);
        for (uint64_t i = 0; i < test->count; i++)
            is_test[places[i]] = 1;
        for (uint64_t i = 0; i < all; i++)
            move_row(dataset, is_test[i] ? test : train, is_test[i] ? aside++ : kept++, train, i);
    } else {
        status = STATUS_MEMORY;
    }
    order_free(&order);
    free(is_test);
    return status;
}

static enum status files_read(struct dataset *dataset, struct plan *plan, struct error *error)
{
    enum status status =
        part_read(dataset, &dataset->train, &plan->rules, &plan->files.train, error);
    if (status == STATUS_OK && plan->split && split(dataset) != STATUS_OK)
        return error_set(error, STATUS_MEMORY, "out of memory for the data");
    if (status == STATUS_OK && !plan->split)
        status = part_read(dataset, &dataset->test, &plan->rules, &plan->files.test, error);
    if (status == STATUS_OK && dataset->standard)
        standardise(dataset);
    return status;
}

static enum status path_open(struct plan *plan, const struct data_text *text, struct error *error)
{
    struct stat about;
    const char *data = text->files;
    if (strchr(data, ',') == NULL && stat(data, &about) != 0)
        return error_set(error, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_IO,
                         "no data in %s: %s%s", data, strerror(errno),
                         errno == ENOENT ? "; give " CAN_STAND : "");
    return data_files_open(&plan->files, text, error);
}

/* Debian's package; when it is not there, say what to do about it. */
static enum status files_open(struct plan *plan, struct error *error)
{
    struct error why = {0};
    struct data_text text = plan->text;
    if (strcmp(text.files, "fashion-mnist") != 0)
        return path_open(plan, &text, error);
    snprintf(text.files, sizeof text.files, "%s", FASHION_MNIST_DIRECTORY);
    enum status status = path_open(plan, &text, &why);
    if (status == STATUS_NOT_FOUND)
        return error_set(error, status,
                         "no data in %s: run 'apt-get install dataset-fashion-mnist', or give "
                         "--data DIR or --data synthetic",
                         text.files);
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
    dataset->channels = dataset->labels_each = 1;
    dataset->classes = SYNTHETIC_CLASSES;
    dataset->train.count = synthetic_count(dataset->name);
    dataset->test.count = dataset->train.count / SYNTHETIC_MIN;
}

static enum status synthetic_fill(struct examples *examples, uint64_t seed, uint64_t first)
{
    uint8_t *labels = malloc(examples->count);
    examples->inputs = malloc(examples->count * SYNTHETIC_SIDE * SYNTHETIC_SIDE);
    examples->labels = malloc(examples->count * sizeof *examples->labels);
    bool room = labels != NULL && examples->inputs != NULL && examples->labels != NULL;
    if (room)
        synthetic_make(seed, first, examples->count, examples->inputs, labels);
    for (uint64_t i = 0; room && i < examples->count; i++)
        examples->labels[i].class = labels[i];
    free(labels);
    return room ? STATUS_OK : STATUS_MEMORY;
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
    return error_set(
        error, STATUS_INVALID,
        "--data=%.80s: there is no data set, no folder and no file of this name; give " CAN_STAND
        "%s",
        data, spelling_hint(&spelling, "", hint));
}

static enum status name_check(const struct data_text *text, struct error *error)
{
    struct stat about;
    const char *data = text->files;
    bool synthetic = dataset_is_synthetic(data);
    if (synthetic && synthetic_count(data) == 0) {
        return error_set(error, STATUS_INVALID,
                         "--data=%.80s: write synthetic:N with N training examples, %d to %d", data,
                         SYNTHETIC_MIN, SYNTHETIC_MAX);
    }
    if (synthetic && (text->label[0] != '\0' || text->test_part >= 0 || text->classes > 0 ||
                      text->scale != DATA_SCALE_AUTO || text->real))
        return error_set(error, STATUS_INVALID,
                         "--data=%.80s: synthetic data have no --label, --test-part, --classes, "
                         "--scale and --loss",
                         data);
    bool known = synthetic || strcmp(data, "fashion-mnist") == 0;
    if (!known && strpbrk(data, "/,") == NULL && stat(data, &about) != 0 && errno == ENOENT)
        return unknown_word(data, error);
    return STATUS_OK;
}

enum status dataset_check_name(const char *data, struct error *error)
{
    struct data_text text;
    enum status status = data_text_read(&text, data, error);
    return status ? status : name_check(&text, error);
}

/* --- both ---------------------------------------------------------------------------------- */

static void examples_digest(struct hash *hash, const struct dataset *dataset,
                            const struct examples *examples)
{
    hash_update_u64(hash, examples->count);
    hash_update(hash, examples->inputs, examples->count * dataset_input_bytes(dataset));
    hash_update(hash, examples->labels,
                examples->count * dataset->labels_each * sizeof *examples->labels);
}

static void dataset_digest(struct dataset *dataset)
{
    struct hash hash;
    hash_init(&hash);
    hash_update_u64(&hash, dataset->height);
    hash_update_u64(&hash, dataset->width);
    hash_update_u64(&hash, dataset->channels);
    hash_update_u64(&hash, dataset->classes);
    hash_update_u64(&hash, dataset->floats | dataset->real << 1);
    examples_digest(&hash, dataset, &dataset->train);
    examples_digest(&hash, dataset, &dataset->test);
    hash_final(&hash, dataset->digest);
}

/* Everything but the examples; plan: how they are to be read, unless they are made up. */
static enum status look(struct dataset *dataset, struct plan *plan, const char *data,
                        struct error *error)
{
    memset(dataset, 0, sizeof *dataset);
    memset(plan, 0, sizeof *plan);
    enum status status = data_text_read(&plan->text, data, error);
    status = status ? status : name_check(&plan->text, error);
    if (status)
        return status;
    memcpy(dataset->name, data, strlen(data) + 1);
    if (dataset_is_synthetic(data)) {
        synthetic_look(dataset);
        return STATUS_OK;
    }
    status = files_open(plan, error);
    return status ? status : files_look(dataset, plan, error);
}

enum status dataset_look(struct dataset *dataset, const char *data, struct error *error)
{
    struct plan plan;
    enum status status = look(dataset, &plan, data, error);
    plan_free(&plan);
    if (status)
        dataset_close(dataset);
    return status;
}

enum status dataset_open(struct dataset *dataset, const char *data, uint64_t seed,
                         struct error *error)
{
    struct plan plan;
    enum status status = look(dataset, &plan, data, error);
    if (status == STATUS_OK)
        status = dataset_is_synthetic(data) ? synthetic_read(dataset, seed, error)
                                            : files_read(dataset, &plan, error);
    plan_free(&plan);
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
        free(dataset->train.inputs);
        free(dataset->train.labels);
        free(dataset->test.inputs);
        free(dataset->test.labels);
    }
    memset(dataset, 0, sizeof *dataset);
}
