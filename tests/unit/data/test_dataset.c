/* Data sets: what is read, what is made up, and what every kind of broken file is answered with. */
/* promises: data */

#include "worker/data/dataset.h"

#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "tests/lib/made_data.h"
#include "tests/lib/suite.h"
#include "worker/data/synthetic.h"

#define TRAIN_IMAGES "train-images-idx3-ubyte"
#define TRAIN_LABELS "train-labels-idx1-ubyte"
#define TEST_IMAGES  "t10k-images-idx3-ubyte"
#define TEST_LABELS  "t10k-labels-idx1-ubyte"

/* --- a folder of small files to break ------------------------------------------------------ */

static char folder[64];

static void path_of(const char *name, char path[256])
{
    snprintf(path, 256, "%s/%s", folder, name);
}

static void file_write(const char *name, const uint8_t *bytes, size_t count)
{
    char path[256];
    path_of(name, path);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, count, file), count);
    fclose(file);
}

static size_t number_put(uint8_t *bytes, uint32_t number)
{
    for (int i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(number >> (24 - 8 * i));
    return 4;
}

/* A file of images as its header says, with pixels that count up. */
static size_t idx_images(uint8_t *bytes, uint32_t count, uint32_t height, uint32_t width)
{
    size_t at = number_put(bytes, 2051);
    at += number_put(bytes + at, count);
    at += number_put(bytes + at, height);
    at += number_put(bytes + at, width);
    for (uint32_t i = 0; i < count * height * width; i++)
        bytes[at++] = (uint8_t)i;
    return at;
}

static size_t idx_labels(uint8_t *bytes, uint32_t count)
{
    size_t at = number_put(bytes, 2049);
    at += number_put(bytes + at, count);
    for (uint32_t i = 0; i < count; i++)
        bytes[at++] = (uint8_t)(i % 10);
    return at;
}

static void folder_make(void)
{
    uint8_t bytes[1000];
    strcpy(folder, "/tmp/syncopate-dataset-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    file_write(TRAIN_IMAGES, bytes, idx_images(bytes, 7, 4, 5));
    file_write(TRAIN_LABELS, bytes, idx_labels(bytes, 7));
    file_write(TEST_IMAGES, bytes, idx_images(bytes, 3, 4, 5));
    file_write(TEST_LABELS, bytes, idx_labels(bytes, 3));
}

static int unlink_one(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about;
    (void)kind;
    (void)place;
    return remove(path);
}

static void folder_remove(void)
{
    nftw(folder, unlink_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Opening fails, with one line in which all the words are. */
static void expect_error(enum status expected, const char *word, const char *other)
{
    struct dataset dataset;
    struct error error = {0};
    enum status status = dataset_open(&dataset, folder, 1, &error);
    ck_assert_msg(status == expected, "status %d: %s", status, error.text);
    ck_assert_msg(strstr(error.text, word) != NULL && strstr(error.text, other) != NULL,
                  "'%s' lacks '%s' or '%s'", error.text, word, other);
    ck_assert_ptr_null(strchr(error.text, '\n'));
    ck_assert_ptr_null(dataset.train.inputs);
    ck_assert_int_eq(dataset_open(&dataset, folder, 1, NULL), expected);
}

/* --- reading ------------------------------------------------------------------------------- */

TEST_PLAIN(a_folder_of_plain_files_is_read)
{
    struct dataset dataset;
    struct error error = {0};
    ck_assert_msg(dataset_open(&dataset, folder, 1, &error) == STATUS_OK, "%s", error.text);
    ck_assert_uint_eq(dataset.height, 4);
    ck_assert_uint_eq(dataset.width, 5);
    ck_assert_uint_eq(dataset.channels, 1);
    ck_assert_uint_eq(dataset.classes, 7);
    ck_assert_uint_eq(dataset.train.count, 7);
    ck_assert_uint_eq(dataset.test.count, 3);
    ck_assert_uint_eq(((uint8_t *)dataset.train.inputs)[7 * 20 - 1], 139);
    ck_assert_uint_eq(dataset.test.labels[2].class, 2);
    ck_assert_str_eq(dataset.name, folder);
    dataset_close(&dataset);
    ck_assert_ptr_null(dataset.train.inputs);
}

TEST_PLAIN(a_compressed_file_is_the_same_data)
{
    uint8_t bytes[1000], digest[DIGEST_BYTES];
    char path[256];
    struct dataset dataset;
    ck_assert_int_eq(dataset_open(&dataset, folder, 1, NULL), STATUS_OK);
    memcpy(digest, dataset.digest, sizeof digest);
    dataset_close(&dataset);
    path_of(TRAIN_IMAGES, path);
    unlink(path);
    path_of(TRAIN_IMAGES ".gz", path);
    gzFile file = gzopen(path, "wb");
    int count = (int)idx_images(bytes, 7, 4, 5);
    ck_assert_int_eq(gzwrite(file, bytes, (unsigned)count), count);
    gzclose(file);
    ck_assert_int_eq(dataset_open(&dataset, folder, 1, NULL), STATUS_OK);
    ck_assert_mem_eq(dataset.digest, digest, sizeof digest);
    dataset_close(&dataset);
}

TEST_PLAIN(the_digest_sees_every_byte_and_size)
{
    uint8_t bytes[1000], digest[DIGEST_BYTES];
    struct dataset dataset;
    dataset_open(&dataset, folder, 1, NULL);
    memcpy(digest, dataset.digest, sizeof digest);
    dataset_close(&dataset);
    size_t count = idx_labels(bytes, 3);
    bytes[count - 1] = 9;
    file_write(TEST_LABELS, bytes, count);
    dataset_open(&dataset, folder, 2, NULL);
    ck_assert_mem_ne(dataset.digest, digest, sizeof digest);
    dataset_close(&dataset);
    /* The same pixels as images of 5x4. */
    file_write(TEST_LABELS, bytes, idx_labels(bytes, 3));
    file_write(TRAIN_IMAGES, bytes, idx_images(bytes, 7, 5, 4));
    file_write(TEST_IMAGES, bytes, idx_images(bytes, 3, 5, 4));
    ck_assert_int_eq(dataset_open(&dataset, folder, 2, NULL), STATUS_OK);
    ck_assert_mem_ne(dataset.digest, digest, sizeof digest);
    dataset_close(&dataset);
}

/* --- broken files -------------------------------------------------------------------------- */

TEST_PLAIN(a_missing_folder_is_named)
{
    struct dataset dataset;
    struct error error = {0};
    ck_assert_int_eq(dataset_open(&dataset, "/nowhere/data", 1, &error), STATUS_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error.text, "/nowhere/data"));
    ck_assert_int_eq(dataset_open(&dataset, "", 1, &error), STATUS_INVALID);
}

TEST_PLAIN(a_missing_file_is_named)
{
    char path[256];
    path_of(TEST_LABELS, path);
    unlink(path);
    expect_error(STATUS_NOT_FOUND, TEST_LABELS, folder);
}

TEST_PLAIN(a_folder_or_a_pipe_in_the_place_of_a_file_is_named)
{
    char path[256];
    path_of(TEST_LABELS, path);
    unlink(path);
    mkdir(path, 0700);
    expect_error(STATUS_IO, TEST_LABELS, "a folder");
    rmdir(path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    expect_error(STATUS_IO, TEST_LABELS, "a pipe"); /* And is not waited for. */
}

TEST_PLAIN(a_truncated_image_file_is_named)
{
    uint8_t bytes[1000];
    size_t whole = idx_images(bytes, 7, 4, 5);
    for (size_t count = 0; count < whole; count += count < 20 ? 1 : 17) {
        file_write(TRAIN_IMAGES, bytes, count);
        expect_error(STATUS_INVALID, TRAIN_IMAGES, "cut off");
    }
}

TEST_PLAIN(a_truncated_or_damaged_compressed_file_is_named)
{
    uint8_t bytes[1000], packed[2000];
    char path[256];
    path_of(TRAIN_IMAGES, path);
    unlink(path);
    path_of(TRAIN_IMAGES ".gz", path);
    gzFile file = gzopen(path, "wb");
    gzwrite(file, bytes, (unsigned)idx_images(bytes, 7, 4, 5));
    gzclose(file);
    FILE *stream = fopen(path, "rb");
    size_t whole = fread(packed, 1, sizeof packed, stream);
    fclose(stream);
    for (size_t count = 2; count < whole; count += 3) {
        file_write(TRAIN_IMAGES ".gz", packed, count);
        expect_error(STATUS_INVALID, TRAIN_IMAGES ".gz", "");
    }
    packed[whole - 6] ^= 1; /* In the checksum at the end. */
    file_write(TRAIN_IMAGES ".gz", packed, whole);
    expect_error(STATUS_INVALID, TRAIN_IMAGES ".gz", "damaged");
}

TEST_PLAIN(bytes_too_many_are_noticed)
{
    uint8_t bytes[1000];
    size_t whole = idx_labels(bytes, 3);
    file_write(TEST_LABELS, bytes, whole + 1);
    expect_error(STATUS_INVALID, TEST_LABELS, "longer");
}

TEST_PLAIN(a_wrong_magic_number_is_named)
{
    uint8_t bytes[1000];
    file_write(TRAIN_IMAGES, bytes, idx_labels(bytes, 7));
    expect_error(STATUS_INVALID, TRAIN_IMAGES, "is (7) uint8: inputs have 2 to 4 dimensions");
    memset(bytes, 'x', 100);
    memcpy(bytes, "<!DOCTYPE html>", 15);
    file_write(TRAIN_IMAGES, bytes, 100);
    expect_error(STATUS_INVALID, TRAIN_IMAGES, "is text ('<!DOCTYPE'), not IDX or .npy");
    bytes[0] = 1;
    file_write(TRAIN_IMAGES, bytes, 100);
    expect_error(STATUS_INVALID, TRAIN_IMAGES,
                 "is neither IDX nor .npy: it starts with 01 21 44 4f");
}

TEST_PLAIN(files_are_found_as_they_are_named_in_the_world)
{
    static const char *const names[][2] = {{TRAIN_IMAGES, "train-images.idx3-ubyte"},
                                           {TRAIN_LABELS, "emnist-letters-train-labels-idx1-ubyte"},
                                           {TEST_IMAGES, "emnist-letters-test-images-idx3-ubyte"},
                                           {TEST_LABELS, "test-labels.idx1-ubyte"}};
    uint8_t bytes[1000], digest[DIGEST_BYTES];
    char path[256], other[256];
    struct dataset dataset;
    ck_assert_int_eq(dataset_open(&dataset, folder, 1, NULL), STATUS_OK);
    memcpy(digest, dataset.digest, sizeof digest);
    dataset_close(&dataset);
    for (int i = 0; i < 4; i++) {
        path_of(names[i][0], path);
        path_of(names[i][1], other);
        ck_assert_int_eq(rename(path, other), 0);
    }
    ck_assert_int_eq(dataset_open(&dataset, folder, 1, NULL), STATUS_OK);
    ck_assert_mem_eq(dataset.digest, digest, sizeof digest);
    dataset_close(&dataset);
    /* One folder down. */
    path_of("raw", path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    for (int i = 0; i < 4; i++) {
        path_of(names[i][1], path);
        snprintf(other, sizeof other, "%s/raw/%s", folder, names[i][1]);
        ck_assert_int_eq(rename(path, other), 0);
    }
    ck_assert_int_eq(dataset_open(&dataset, folder, 1, NULL), STATUS_OK);
    ck_assert_mem_eq(dataset.digest, digest, sizeof digest);
    dataset_close(&dataset);
    /* Two that may be meant. */
    file_write("raw/emnist-digits-test-images-idx3-ubyte", bytes, idx_images(bytes, 3, 4, 5));
    expect_error(STATUS_INVALID, "emnist-digits-test-images-idx3-ubyte",
                 "a folder has one data set");
}

TEST_PLAIN(images_and_labels_must_be_as_many)
{
    uint8_t bytes[1000];
    file_write(TRAIN_LABELS, bytes, idx_labels(bytes, 6));
    expect_error(STATUS_INVALID, "6 labels for the 7 examples", TRAIN_LABELS);
}

/* The folder, with settings behind it. */
static struct dataset opened(const char *settings)
{
    struct dataset dataset;
    struct error error = {0};
    char data[256];
    snprintf(data, sizeof data, "%s%s", folder, settings);
    enum status status = dataset_open(&dataset, data, 1, &error);
    ck_assert_msg(status == STATUS_OK, "%s: %s", data, error.text);
    return dataset;
}

static void refused(const char *settings, const char *word)
{
    struct dataset dataset;
    struct error error = {0};
    char data[256];
    snprintf(data, sizeof data, "%s%s", folder, settings);
    ck_assert_int_eq(dataset_open(&dataset, data, 1, &error), STATUS_INVALID);
    ck_assert_msg(strstr(error.text, word) != NULL, "'%s' lacks '%s'", error.text, word);
}

TEST_PLAIN(a_label_out_of_range_is_named_with_its_example)
{
    uint8_t bytes[1000];
    size_t count = idx_labels(bytes, 7);
    bytes[count - 2] = 10;
    file_write(TRAIN_LABELS, bytes, count);
    refused(" --classes 10", "example 5 (from 0) has the label 10; labels are 0 to 9");
}

TEST_PLAIN(classes_follow_from_the_labels_of_both_sets)
{
    uint8_t bytes[1000];
    static const uint8_t letters[] = {1, 2, 26, 3, 9, 1, 4}, few[] = {1, 5, 7};
    struct dataset dataset = opened(" --classes 12");
    ck_assert_uint_eq(dataset.classes, 12);
    dataset_close(&dataset);
    file_write(TRAIN_LABELS, bytes, made_idx(bytes, 8, 1, (uint32_t[]){7}, letters, 7));
    file_write(TEST_LABELS, bytes, made_idx(bytes, 8, 1, (uint32_t[]){3}, few, 3));
    dataset = opened("");
    ck_assert_uint_eq(dataset.classes * 10 + dataset.first_class, 261);
    ck_assert_uint_eq(dataset.train.labels[2].class, 25);
    ck_assert_uint_eq(dataset.test.labels[0].class, 0);
    dataset_close(&dataset);
    dataset = opened(" --classes 27"); /* They begin with 0, and no example has it. */
    ck_assert_uint_eq(dataset.classes, 27);
    ck_assert_uint_eq(dataset.train.labels[2].class, 26);
    dataset_close(&dataset);
    refused(" --classes 25", "has the label 26; labels are 0 to 24, as --classes 25 says");
}

TEST_PLAIN(labels_may_be_wide_or_one_hot_or_targets)
{
    uint8_t bytes[1000];
    static const uint8_t wide[] = {0, 0, 4, 0, 0xff, 0xff}, hot[] = {0, 1, 1, 0, 0, 1},
                         two[] = {0, 1, 1, 1, 0, 1};
    static const uint8_t real[] = {0x3f, 0, 0, 0, 0xbf, 0x80, 0, 0, 0, 0, 0, 0};
    for (int set = 0; set < 2; set++) {
        const char *images = set == 0 ? TRAIN_IMAGES : TEST_IMAGES;
        file_write(images, bytes, idx_images(bytes, 3, 4, 5));
    }
    file_write(TEST_LABELS, bytes,
               made_idx(bytes, 0x0C, 1, (uint32_t[]){3}, "\0\0\0\7\0\0\0\7\0\1\0\0", 12));
    file_write(TRAIN_LABELS, bytes, made_idx(bytes, 0x0B, 1, (uint32_t[]){3}, wide, 6));
    refused("", "example 2 (from 0) has the label -1; classes are whole numbers");
    file_write(TRAIN_LABELS, bytes, made_idx(bytes, 0x0B, 1, (uint32_t[]){3}, wide, 4));
    file_write(TRAIN_LABELS, bytes, idx_labels(bytes, 3));
    refused("", "labels up to 65536; at most 65536 classes");
    for (int set = 0; set < 2; set++)
        file_write(set == 0 ? TRAIN_LABELS : TEST_LABELS, bytes,
                   made_idx(bytes, 8, 2, (uint32_t[]){3, 2}, hot, 6));
    struct dataset dataset = opened("");
    ck_assert_uint_eq(dataset.classes, 2);
    ck_assert_uint_eq(dataset.train.labels[0].class * 4 + dataset.train.labels[1].class * 2 +
                          dataset.train.labels[2].class,
                      5);
    dataset_close(&dataset);
    file_write(TRAIN_LABELS, bytes, made_idx(bytes, 8, 2, (uint32_t[]){3, 2}, two, 6));
    refused("", "is (3, 2) uint8: labels are one whole number an example, or a row of zeros");
    for (int set = 0; set < 2; set++)
        file_write(set == 0 ? TRAIN_LABELS : TEST_LABELS, bytes,
                   made_idx(bytes, 0x0D, 1, (uint32_t[]){3}, real, 12));
    refused(
        "",
        "has the label 0.5; classes are whole numbers from 0; for real targets give --loss mse");
    refused(" --loss mse --classes 2", "--classes: there are none where targets are real");
    refused(" --label 1", "is no CSV file: labels are ");
    dataset = opened(" --loss mse");
    ck_assert(dataset.real && dataset.classes == 1);
    ck_assert_float_eq(dataset.train.labels[1].target, -1.0f);
    dataset_close(&dataset);
}

TEST_PLAIN(inputs_may_be_vectors_or_have_channels_and_be_floats)
{
    uint8_t bytes[1000];
    static const uint8_t half[] = {0x3f, 0, 0, 0, 0x7f, 0xc0, 0, 0};
    static const uint8_t zeros[300];
    file_write(TRAIN_IMAGES, bytes, made_idx(bytes, 8, 4, (uint32_t[]){7, 2, 2, 3}, zeros, 84));
    file_write(TEST_IMAGES, bytes, made_idx(bytes, 8, 4, (uint32_t[]){3, 2, 2, 3}, zeros, 36));
    struct dataset dataset = opened("");
    ck_assert_uint_eq(dataset.height * 100 + dataset.width * 10 + dataset.channels, 223);
    ck_assert(!dataset.floats);
    dataset_close(&dataset);
    file_write(TRAIN_IMAGES, bytes, made_idx(bytes, 8, 4, (uint32_t[]){1, 3, 9, 9}, zeros, 243));
    file_write(TRAIN_LABELS, bytes, idx_labels(bytes, 1));
    refused("", "channels come last: np.save(\"x.npy\", x.transpose(0, 2, 3, 1))");
    file_write(TRAIN_IMAGES, bytes, made_idx(bytes, 0x0D, 2, (uint32_t[]){1, 1}, half, 4));
    refused("", "is (1, 1) float32, but ");
    file_write(TEST_IMAGES, bytes, made_idx(bytes, 0x0D, 2, (uint32_t[]){1, 1}, half, 4));
    file_write(TEST_LABELS, bytes, idx_labels(bytes, 1));
    dataset = opened("");
    ck_assert_uint_eq(dataset.height * 100 + dataset.width * 10 + dataset.channels, 111);
    ck_assert(dataset.floats);
    ck_assert_float_eq(*(float *)dataset.train.inputs, 0.5f);
    dataset_close(&dataset);
    file_write(TEST_IMAGES, bytes, made_idx(bytes, 0x0D, 2, (uint32_t[]){1, 1}, half + 4, 4));
    refused("", "number 0 of example 0 (both from 0) is not finite");
    refused(" --scale bytes",
            "is (1, 1) float32: --scale bytes is for whole numbers from 0 to 255");
}

TEST_PLAIN(a_part_is_put_aside_for_testing_the_same_for_every_seed)
{
    char path[256];
    uint8_t seen[7] = {0};
    path_of(TEST_IMAGES, path);
    unlink(path);
    path_of(TEST_LABELS, path);
    unlink(path);
    expect_error(STATUS_NOT_FOUND, TEST_IMAGES, "or give --test-part 0.2");
    struct dataset dataset = opened(" --test-part 0.4");
    ck_assert_uint_eq(dataset.train.count, 4);
    ck_assert_uint_eq(dataset.test.count, 3);
    for (int i = 0; i < 7; i++) { /* Images and labels stay together. */
        const struct examples *set = i < 4 ? &dataset.train : &dataset.test;
        int at = i < 4 ? i : i - 4;
        seen[set->labels[at].class]++;
        ck_assert_uint_eq(((uint8_t *)set->inputs)[at * 20], set->labels[at].class * 20);
    }
    for (int i = 0; i < 7; i++)
        ck_assert_uint_eq(seen[i], 1);
    struct dataset other;
    char data[256];
    snprintf(data, sizeof data, "%s --test-part 0.4", folder);
    ck_assert_int_eq(dataset_open(&other, data, 99, NULL), STATUS_OK);
    ck_assert_mem_eq(dataset.digest, other.digest, DIGEST_BYTES);
    dataset_close(&other);
    dataset_close(&dataset);
}

/* --- files and archives ------------------------------------------------------------------------ */

TEST_PLAIN(arrays_may_be_named_one_by_one_or_be_members_of_an_archive)
{
    uint8_t bytes[2000], x[500], y[500];
    char path[256], data[256];
    static const float numbers[] = {0, .5f, 1, 1.5f};
    struct dataset dataset;
    struct error error;
    size_t nx = made_npy(x, "<f4", "(2, 2)", numbers, sizeof numbers),
           ny = made_npy(y, "|u1", "(2,)", "\0\1", 2);
    file_write("x.npy", x, nx);
    file_write("y.npy", y, ny);
    path_of("", path);
    snprintf(data, sizeof data, "%sx.npy,%sy.npy --test-part 0.5", path, path);
    ck_assert_int_eq(dataset_open(&dataset, data, 1, NULL), STATUS_OK);
    ck_assert_uint_eq(dataset.train.count * 10 + dataset.test.count, 11);
    ck_assert_uint_eq(dataset.channels, 2);
    dataset_close(&dataset);
    snprintf(data, sizeof data, "%sx.npy,%sy.npy,%sx.npy", path, path, path);
    ck_assert_int_eq(dataset_open(&dataset, data, 1, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "X,Y or X,Y,TX,TY"));
    const struct made_member members[] = {{"x_train.npy", x, nx, true},
                                          {"y_train.npy", y, ny, true},
                                          {"x_test.npy", x, nx, true},
                                          {"y_test.npy", y, ny, true}};
    for (unsigned count = 1; count <= 4; count++) {
        file_write("data.npz", bytes, made_zip(bytes, members, count, false));
        snprintf(data, sizeof data, "%sdata.npz", path);
        enum status status = dataset_open(&dataset, data, 1, &error);
        ck_assert_int_eq(status, count % 2 == 0 ? STATUS_OK : STATUS_INVALID);
        if (status == STATUS_OK)
            ck_assert_uint_eq(dataset.train.count * 10 + dataset.test.count, count == 2 ? 11 : 22);
        else
            ck_assert_ptr_nonnull(strstr(error.text, "np.savez(\"data.npz\", x_train=x"));
        dataset_close(&dataset);
    }
}

TEST_PLAIN(training_and_test_images_must_have_one_size)
{
    uint8_t bytes[1000];
    file_write(TEST_IMAGES, bytes, idx_images(bytes, 3, 5, 4));
    expect_error(STATUS_INVALID, "is (7, 4, 5) uint8", "is (3, 5, 4) uint8");
}

TEST_PLAIN(impossible_sizes_are_refused_before_any_memory_is_taken)
{
    static const uint32_t sizes[][3] = {
        {0, 4, 5},          {7, 0, 5},
        {7, 4, 0},          {7, 65537, 5},
        {7, 4, UINT32_MAX}, {UINT32_MAX, 4096, 4096},
        {1025, 4096, 4096}, {UINT32_MAX, UINT32_MAX, UINT32_MAX},
    };
    uint8_t bytes[16];
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        number_put(bytes, 2051);
        for (int d = 0; d < 3; d++)
            number_put(bytes + 4 + 4 * d, sizes[i][d]);
        file_write(TRAIN_IMAGES, bytes, sizeof bytes);
        expect_error(STATUS_INVALID, TRAIN_IMAGES, "impossible size");
    }
}

TEST_PLAIN(a_header_that_promises_gigabytes_takes_no_memory)
{
    uint8_t bytes[100] = {0};
    number_put(bytes, 2051);
    number_put(bytes + 4, 1024);
    number_put(bytes + 8, 4096);
    number_put(bytes + 12, 4096);
    file_write(TRAIN_IMAGES, bytes, sizeof bytes);
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    expect_error(STATUS_INVALID, TRAIN_IMAGES, "cut off");
    getrusage(RUSAGE_SELF, &after);
    ck_assert_int_lt(after.ru_maxrss - before.ru_maxrss, 16 * 1024);
}

/* --- tables ----------------------------------------------------------------------------------- */

static struct dataset table(const char *text, const char *settings)
{
    struct dataset dataset;
    struct error error = {0};
    char data[256];
    file_write("t.csv", (const uint8_t *)text, strlen(text));
    snprintf(data, sizeof data, "%s/t.csv%s", folder, settings);
    enum status status = dataset_open(&dataset, data, 1, &error);
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    return dataset;
}

TEST_PLAIN(columns_of_a_table_are_standardised_by_the_training_set)
{
    struct dataset dataset =
        table("a,b,c\n1,5,x\n3.5,5,y\n6,5,x\n100,7,y\n", " --label c --test-part 0.25");
    ck_assert(dataset.standard && dataset.floats && dataset.classes == 2);
    const float *rows = dataset.train.inputs, *test = dataset.test.inputs;
    double sum = 0, squares = 0;
    for (int i = 0; i < 3; i++) {
        sum += (double)rows[2 * i];
        squares += (double)rows[2 * i] * (double)rows[2 * i];
    }
    ck_assert_double_eq_tol(sum, 0, 1e-6);
    ck_assert_double_eq_tol(squares, 3, 1e-5);
    ck_assert(isfinite(test[0]) && isfinite(test[1]));
    dataset_close(&dataset);
    dataset = table("a,b,c\n1,5,x\n3.5,5,y\n", " --label c --scale none --test-part 0");
    ck_assert_uint_eq(dataset.train.count * 10 + dataset.test.count, 20);
    ck_assert_float_eq(((float *)dataset.train.inputs)[2], 3.5f);
    dataset_close(&dataset);
    dataset = table("a,b,c\n1,5,x\n3,5,y\n", " --label c");
    ck_assert(!dataset.floats); /* Pixels. */
    dataset_close(&dataset);
    dataset = table("a,b,c\n1,5,x\n3,5,y\n9,5,y\n", " --label c --scale standard --test-part 0");
    ck_assert_float_eq(((float *)dataset.train.inputs)[1], 0); /* A constant column. */
    dataset_close(&dataset);
    dataset = table("a,b\n1,5\n3,-7.25\n", " --label b --loss mse --test-part 0");
    ck_assert_float_eq(dataset.train.labels[1].target, -7.25f);
    dataset_close(&dataset);
    refused(" --scale standard", "--scale standard is for vectors, column by column");
}

/* --- made up ------------------------------------------------------------------------------- */

TEST_PLAIN(synthetic_data_follow_from_the_seed)
{
    struct dataset a, b, c;
    ck_assert_int_eq(dataset_open(&a, "synthetic:500", 1, NULL), STATUS_OK);
    ck_assert_int_eq(dataset_open(&b, "synthetic:500", 1, NULL), STATUS_OK);
    ck_assert_int_eq(dataset_open(&c, "synthetic:500", 2, NULL), STATUS_OK);
    ck_assert_mem_eq(a.digest, b.digest, DIGEST_BYTES);
    ck_assert_mem_ne(a.digest, c.digest, DIGEST_BYTES);
    ck_assert_uint_eq(a.train.count, 500);
    ck_assert_uint_eq(a.test.count, 100);
    ck_assert_uint_eq(a.height * a.width * a.channels, 784);
    dataset_close(&a);
    dataset_close(&b);
    dataset_close(&c);
}

TEST_PLAIN(synthetic_data_have_ten_classes_about_as_often)
{
    struct dataset dataset;
    uint32_t seen[10] = {0};
    ck_assert_int_eq(dataset_open(&dataset, "synthetic", 1, NULL), STATUS_OK);
    ck_assert_uint_eq(dataset.train.count, 10000);
    ck_assert_uint_eq(dataset.test.count, 2000);
    for (uint64_t i = 0; i < dataset.train.count; i++) {
        ck_assert_uint_lt(dataset.train.labels[i].class, 10);
        seen[dataset.train.labels[i].class]++;
    }
    for (int i = 0; i < 10; i++)
        ck_assert(seen[i] > 850 && seen[i] < 1150);
    dataset_close(&dataset);
}

TEST_PLAIN(an_example_depends_on_its_number_alone)
{
    static uint8_t images[20 * 784], labels[20], image[784], label;
    synthetic_make(9, 0, 20, images, labels);
    for (uint64_t i = 0; i < 20; i++) {
        synthetic_make(9, i, 1, image, &label);
        ck_assert_mem_eq(image, images + i * 784, 784);
        ck_assert_uint_eq(label, labels[i]);
    }
}

TEST_PLAIN(synthetic_with_a_wrong_number_is_refused)
{
    static const char *const wrong[] = {"synthetic:",        "synthetic:4",
                                        "synthetic:1x",      "synthetic:-20",
                                        "synthetic: 9",      "synthetic:99999999999999",
                                        "synthetic:10000001"};
    struct dataset dataset;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct error error = {0};
        ck_assert_int_eq(dataset_open(&dataset, wrong[i], 1, &error), STATUS_INVALID);
        ck_assert_ptr_nonnull(strstr(error.text, "write synthetic:N"));
    }
}

/* --- looking only -------------------------------------------------------------------------- */

TEST_PLAIN(a_look_tells_what_reading_will_find)
{
    static const char *const data[] = {folder, "synthetic", "synthetic:500"};
    for (size_t i = 0; i < sizeof data / sizeof data[0]; i++) {
        struct dataset seen, read;
        ck_assert_int_eq(dataset_look(&seen, data[i], NULL), STATUS_OK);
        ck_assert_int_eq(dataset_open(&read, data[i], 1, NULL), STATUS_OK);
        ck_assert_str_eq(seen.name, read.name);
        ck_assert_uint_eq(seen.height, read.height);
        ck_assert_uint_eq(seen.width, read.width);
        ck_assert_uint_eq(seen.channels, read.channels);
        ck_assert_uint_eq(seen.classes, read.classes);
        ck_assert_uint_eq(seen.train.count, read.train.count);
        ck_assert_uint_eq(seen.test.count, read.test.count);
        ck_assert_ptr_null(seen.train.inputs);
        dataset_close(&read);
    }
}

TEST_PLAIN(a_look_finds_what_headers_and_lengths_tell)
{
    uint8_t bytes[1000];
    struct dataset dataset;
    struct error error = {0};
    ck_assert_int_eq(dataset_look(&dataset, folder, NULL), STATUS_OK);
    file_write(TRAIN_IMAGES, bytes, idx_images(bytes, 7, 4, 5) - 1);
    ck_assert_int_eq(dataset_look(&dataset, folder, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "cut off: 139 bytes where its header promises 140"));
    file_write(TRAIN_IMAGES, bytes, idx_images(bytes, 6, 4, 5));
    ck_assert_int_eq(dataset_look(&dataset, folder, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "7 labels for the 6 examples"));
    file_write(TRAIN_IMAGES, bytes, idx_images(bytes, 7, 5, 4));
    ck_assert_int_eq(dataset_look(&dataset, folder, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "images-idx3-ubyte is (7, 5, 4) uint8, but "));
}

/* Who opens a pipe for reading waits until somebody writes to it. */
TEST_PLAIN(a_pipe_in_the_place_of_a_file_is_named)
{
    char path[256];
    path_of(TEST_LABELS, path);
    unlink(path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    expect_error(STATUS_IO, TEST_LABELS, "not a file");
}

/* --- names --------------------------------------------------------------------------------- */

TEST_PLAIN(a_word_that_is_no_data_set_and_no_folder_is_told_what_may_stand_there)
{
    static const char *const words[][2] = {
        {"mnist", "(did you mean fashion-mnist?)"},
        {"Fashion_MNIST", "(did you mean fashion-mnist?)"},
        {"syntetic", "(did you mean synthetic?)"},
        {"synthetics", "(did you mean synthetic?)"},
        {"cifar10", "give fashion-mnist, synthetic, synthetic:N, a folder of IDX files, FILE.npz"},
    };
    struct error error;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        ck_assert_int_eq(dataset_check_name(words[i][0], &error), STATUS_INVALID);
        ck_assert_msg(strstr(error.text, words[i][1]) != NULL, "%s", error.text);
    }
    ck_assert_int_eq(dataset_check_name("fashion-mnist", NULL), STATUS_OK);
    ck_assert_int_eq(dataset_check_name("synthetic:5", NULL), STATUS_OK);
    ck_assert_int_eq(dataset_check_name("/nowhere/mnist", NULL), STATUS_OK); /* A path is opened. */
    ck_assert_int_eq(dataset_check_name(folder, NULL), STATUS_OK);
}

/* --- Debian's package ---------------------------------------------------------------------- */

TEST_PLAIN(fashion_mnist_is_read_or_the_remedy_is_named)
{
    struct dataset dataset;
    struct error error = {0};
    enum status status = dataset_open(&dataset, "fashion-mnist", 1, &error);
    if (status == STATUS_NOT_FOUND) {
        ck_assert_ptr_nonnull(strstr(error.text, "apt-get install dataset-fashion-mnist"));
        ck_assert_ptr_nonnull(strstr(error.text, "--data synthetic"));
        suite_skip("reading Fashion-MNIST: it is not on this machine");
        return;
    }
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    ck_assert_uint_eq(dataset.train.count, 60000);
    ck_assert_uint_eq(dataset.test.count, 10000);
    ck_assert_uint_eq(dataset.height, 28);
    ck_assert_uint_eq(dataset.width, 28);
    ck_assert_uint_eq(dataset.train.labels[0].class, 9); /* An ankle boot. */
    dataset_close(&dataset);
}

static void add_tests(TCase *tcase)
{
    tcase_add_checked_fixture(tcase, folder_make, folder_remove);
}

int main(void)
{
    return suite_run("dataset", add_tests);
}
