/* Data sets: what is read, what is made up, and what every kind of broken file is answered with. */
/* promises: data */

#include "worker/data/dataset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

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
static size_t images_make(uint8_t *bytes, uint32_t count, uint32_t height, uint32_t width)
{
    size_t at = number_put(bytes, 2051);
    at += number_put(bytes + at, count);
    at += number_put(bytes + at, height);
    at += number_put(bytes + at, width);
    for (uint32_t i = 0; i < count * height * width; i++)
        bytes[at++] = (uint8_t)i;
    return at;
}

static size_t labels_make(uint8_t *bytes, uint32_t count)
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
    file_write(TRAIN_IMAGES, bytes, images_make(bytes, 7, 4, 5));
    file_write(TRAIN_LABELS, bytes, labels_make(bytes, 7));
    file_write(TEST_IMAGES, bytes, images_make(bytes, 3, 4, 5));
    file_write(TEST_LABELS, bytes, labels_make(bytes, 3));
}

static void folder_remove(void)
{
    static const char *const names[] = {TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS,
                                        TRAIN_IMAGES ".gz"};
    char path[256];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        path_of(names[i], path);
        unlink(path);
    }
    rmdir(folder);
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
    ck_assert_ptr_null(dataset.train.images);
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
    ck_assert_uint_eq(dataset.classes, 10);
    ck_assert_uint_eq(dataset.train.count, 7);
    ck_assert_uint_eq(dataset.test.count, 3);
    ck_assert_uint_eq(dataset.train.images[7 * 20 - 1], 139);
    ck_assert_uint_eq(dataset.test.labels[2], 2);
    ck_assert_str_eq(dataset.name, folder);
    dataset_close(&dataset);
    ck_assert_ptr_null(dataset.train.images);
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
    int count = (int)images_make(bytes, 7, 4, 5);
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
    size_t count = labels_make(bytes, 3);
    bytes[count - 1] = 9;
    file_write(TEST_LABELS, bytes, count);
    dataset_open(&dataset, folder, 2, NULL);
    ck_assert_mem_ne(dataset.digest, digest, sizeof digest);
    dataset_close(&dataset);
    /* The same pixels as images of 5x4. */
    file_write(TEST_LABELS, bytes, labels_make(bytes, 3));
    file_write(TRAIN_IMAGES, bytes, images_make(bytes, 7, 5, 4));
    file_write(TEST_IMAGES, bytes, images_make(bytes, 3, 5, 4));
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
    ck_assert_int_eq(dataset_open(&dataset, "/etc/passwd", 1, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "/etc/passwd is not a folder"));
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
    size_t whole = images_make(bytes, 7, 4, 5);
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
    gzwrite(file, bytes, (unsigned)images_make(bytes, 7, 4, 5));
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
    size_t whole = labels_make(bytes, 3);
    file_write(TEST_LABELS, bytes, whole + 1);
    expect_error(STATUS_INVALID, TEST_LABELS, "longer");
}

TEST_PLAIN(a_wrong_magic_number_is_named)
{
    uint8_t bytes[1000];
    file_write(TRAIN_IMAGES, bytes, labels_make(bytes, 7));
    expect_error(STATUS_INVALID, TRAIN_IMAGES, "is labels of a data set (IDX), not IDX images");
    memset(bytes, 'x', 100);
    memcpy(bytes, "<!DOCTYPE html>", 15);
    file_write(TRAIN_IMAGES, bytes, 100);
    expect_error(STATUS_INVALID, TRAIN_IMAGES, "is text ('<!DOCTYPE'), not IDX images");
    bytes[0] = 1;
    file_write(TRAIN_IMAGES, bytes, 100);
    expect_error(STATUS_INVALID, TRAIN_IMAGES, "it starts with 18957391 instead of 2051");
}

TEST_PLAIN(a_file_by_another_name_is_named)
{
    static const char *const names[][2] = {{TRAIN_IMAGES, "train-images.idx3-ubyte"},
                                           {TEST_LABELS, "emnist-letters-test-labels-idx1-ubyte"}};
    for (int i = 0; i < 2; i++) {
        char path[256], other[256], said[256];
        path_of(names[i][0], path);
        path_of(names[i][1], other);
        ck_assert_int_eq(rename(path, other), 0);
        snprintf(said, sizeof said, ", but %s: rename it", names[i][1]);
        expect_error(STATUS_NOT_FOUND, names[i][0], said);
        ck_assert_int_eq(rename(other, path), 0);
    }
}

TEST_PLAIN(images_and_labels_must_be_as_many)
{
    uint8_t bytes[1000];
    file_write(TRAIN_LABELS, bytes, labels_make(bytes, 6));
    expect_error(STATUS_INVALID, "6 labels for the 7 images", TRAIN_LABELS);
}

TEST_PLAIN(a_label_out_of_range_is_named_with_its_example)
{
    uint8_t bytes[1000];
    size_t count = labels_make(bytes, 7);
    bytes[count - 2] = 10;
    file_write(TRAIN_LABELS, bytes, count);
    expect_error(STATUS_INVALID, "example 5 (from 0) has the label 10", TRAIN_LABELS);
}

TEST_PLAIN(training_and_test_images_must_have_one_size)
{
    uint8_t bytes[1000];
    file_write(TEST_IMAGES, bytes, images_make(bytes, 3, 5, 4));
    expect_error(STATUS_INVALID, "4x5", "5x4");
}

TEST_PLAIN(impossible_sizes_are_refused_before_any_memory_is_taken)
{
    static const uint32_t sizes[][3] = {
        {0, 4, 5},          {7, 0, 5},
        {7, 4, 0},          {7, 4097, 5},
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
        ck_assert_uint_lt(dataset.train.labels[i], 10);
        seen[dataset.train.labels[i]]++;
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
        ck_assert_ptr_null(seen.train.images);
        dataset_close(&read);
    }
}

TEST_PLAIN(a_look_finds_what_headers_and_lengths_tell)
{
    uint8_t bytes[1000];
    struct dataset dataset;
    struct error error = {0};
    ck_assert_int_eq(dataset_look(&dataset, folder, NULL), STATUS_OK);
    file_write(TRAIN_IMAGES, bytes, images_make(bytes, 7, 4, 5) - 1);
    ck_assert_int_eq(dataset_look(&dataset, folder, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "cut off: 139 bytes where its header promises 140"));
    file_write(TRAIN_IMAGES, bytes, images_make(bytes, 6, 4, 5));
    ck_assert_int_eq(dataset_look(&dataset, folder, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "7 labels for the 6 images"));
    file_write(TRAIN_IMAGES, bytes, images_make(bytes, 7, 5, 4));
    ck_assert_int_eq(dataset_look(&dataset, folder, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "training images are 5x4 and test images 4x5"));
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
        {"cifar10", "give fashion-mnist, synthetic, synthetic:N or a folder of IDX files"},
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
    ck_assert_uint_eq(dataset.train.labels[0], 9); /* An ankle boot. */
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
