/* Arrays of files: IDX of every type, .npy, and members of zip archives; what is refused says why. */
/* promises: data */

#include "worker/data/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/lib/made_data.h"
#include "tests/lib/suite.h"

static int file;
static char path[64];
static uint8_t bytes[100000];

static void open_file(void)
{
    file = memfd_create("test_array", 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
}

static void close_file(void)
{
    close(file);
}

static void write_bytes(size_t count)
{
    ck_assert_int_eq(ftruncate(file, 0), 0);
    ck_assert_int_eq(pwrite(file, bytes, count, 0), (ssize_t)count);
}

/* The array of the file, read; member: NULL without. */
static struct array opened(const char *member)
{
    struct array array;
    struct error error = {0};
    enum status status = member != NULL ? array_open_member(&array, path, member, &error)
                                        : array_open(&array, path, &error);
    status = status ? status : array_read(&array, &error);
    ck_assert_msg(status == STATUS_OK, "%s", error.text);
    return array;
}

static void refused(const char *member, enum status expected, const char *word)
{
    struct array array;
    struct error error = {0};
    enum status status = member != NULL ? array_open_member(&array, path, member, &error)
                                        : array_open(&array, path, &error);
    status = status ? status : array_read(&array, &error);
    ck_assert_msg(status == expected && strstr(error.text, word) != NULL,
                  "status %d: '%s' for '%s'", status, error.text, word);
    ck_assert_ptr_nonnull(strstr(error.text, path));
}

/* --- IDX -------------------------------------------------------------------------------------- */

TEST_PLAIN(every_type_of_idx_is_read)
{
    static const struct {
        uint8_t code, bytes[8];
        const char *text;
        double number;
    } types[] = {
        {0x08, {200}, "(1, 1) uint8", 200},
        {0x09, {0xff}, "(1, 1) int8", -1},
        {0x0B, {0xff, 0xfe}, "(1, 1) int16", -2},
        {0x0C, {0, 1, 0, 0}, "(1, 1) int32", 65536},
        {0x0D, {0x3f, 0xc0, 0, 0}, "(1, 1) float32", 1.5},
        {0x0E, {0xc0, 0x04, 0, 0, 0, 0, 0, 0}, "(1, 1) float64", -2.5},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        static const size_t widths[] = {1, 1, 2, 4, 4, 8};
        char text[120];
        write_bytes(
            made_idx(bytes, types[i].code, 2, (uint32_t[]){1, 1}, types[i].bytes, widths[i]));
        struct array array = opened(NULL);
        ck_assert_str_eq(array_describe(&array, text), types[i].text);
        ck_assert_double_eq(array_number(&array, 0), types[i].number);
        array_free(&array);
    }
    write_bytes(made_idx(bytes, 0x0A, 1, (uint32_t[]){1}, "x", 1));
    refused(NULL, STATUS_INVALID, "is IDX of a type that there is not, 10");
    write_bytes(made_idx(bytes, 0x08, 5, (uint32_t[]){1, 1, 1, 1, 1}, "x", 1));
    refused(NULL, STATUS_INVALID, "has 5 dimensions; 1 to 4 can be read");
}

/* --- .npy ------------------------------------------------------------------------------------- */

TEST_PLAIN(a_npy_file_is_read)
{
    static const float floats[] = {1, 2, 3, 4, 5, 6};
    static const int64_t wide[] = {-3, INT64_C(1) << 40};
    write_bytes(made_npy(bytes, "<f4", "(2, 3)", floats, sizeof floats));
    struct array array = opened(NULL);
    ck_assert_uint_eq(array.rank, 2);
    ck_assert_uint_eq(array.sizes[0] * 100 + array.sizes[1] * 10 + array.sizes[2], 231);
    ck_assert_uint_eq(array_row(&array), 3);
    ck_assert_double_eq(array_number(&array, 5), 6);
    array_free(&array);
    write_bytes(made_npy(bytes, "<i8", "(2,)", wide, sizeof wide));
    array = opened(NULL);
    ck_assert_double_eq(array_number(&array, 0), -3);
    ck_assert_double_eq(array_number(&array, 1), 1099511627776.0);
    array_free(&array);
    write_bytes(made_npy(bytes, "|b1", "(2, 1)", "\0\1", 2));
    array = opened(NULL);
    ck_assert_int_eq(array.kind, ARRAY_SIGNED); /* Which is no byte of an image. */
    array_free(&array);
}

TEST_PLAIN(a_npy_file_that_cannot_be_taken_is_refused_with_what_to_type)
{
    static const struct {
        const char *descr, *shape, *said;
    } cases[] = {
        {">f4", "(1,)", "is big-endian; with NumPy: np.save(\"new.npy\", x.astype("},
        {"<f2", "(1,)", "holds numbers of type f2; with NumPy: np.save(\"new.npy\", x.astype("},
        {"<U5", "(1,)", "holds numbers of type U5"},
        {"|O", "(1,)", "not numbers of one type"},
        {"<f4", "()", "is one number, not an array"},
        {"<f4", "(1, 1, 1, 1, 1)", "has more than 4 dimensions"},
        {"<f4", "(-1,)", "has a shape that cannot be read: -1"},
        {"<f4", "(99999999999999999999,)", "has an impossible size"},
        {"<f4", "(1, 70000)", "dimension 2 has an impossible size, 70000"},
        {"<f4", "(0,)", "dimension 1 has an impossible size, 0"},
        {"<f4", "(2,)", "is cut off: 4 bytes where its header promises 8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_bytes(made_npy(bytes, cases[i].descr, cases[i].shape, "1234", 4));
        refused(NULL, STATUS_INVALID, cases[i].said);
    }
    size_t count = made_npy(bytes, "<f4", "(1, 1)", "1234", 4);
    memcpy(strstr((char *)bytes + 10, "False"), "True ", 5);
    write_bytes(count);
    refused(NULL, STATUS_INVALID, "Fortran's order; with NumPy: np.save(\"new.npy\", np.asc");
    for (size_t cut = 4; cut < count; cut++) {
        made_npy(bytes, "<f4", "(1, 1)", "1234", 4);
        write_bytes(cut);
        refused(NULL, STATUS_INVALID, "is cut off");
    }
}

/* --- zip -------------------------------------------------------------------------------------- */

static size_t make_archive(bool deflated, bool wide)
{
    static uint8_t x[5000], y[200];
    static float numbers[1000];
    for (int i = 0; i < 1000; i++)
        numbers[i] = (float)i;
    size_t nx = made_npy(x, "<f4", "(10, 100)", numbers, sizeof numbers);
    size_t ny = made_npy(y, "|u1", "(10,)", "0123456789", 10);
    const struct made_member members[] = {{"x_train.npy", x, nx, deflated},
                                          {"y_train.npy", y, ny, deflated}};
    return made_zip(bytes, members, 2, wide);
}

TEST_TIMES(members_of_an_archive_are_read, 4)
{
    write_bytes(make_archive(_i % 2 == 1, _i / 2 == 1));
    struct array array = opened("x_train.npy");
    ck_assert_uint_eq(array_row(&array), 100);
    ck_assert_double_eq(array_number(&array, 999), 999);
    array_free(&array);
    array = opened("y_train.npy");
    ck_assert_double_eq(array_number(&array, 9), '9');
    array_free(&array);
    refused("z.npy", STATUS_NOT_FOUND, "has no z.npy, but x_train.npy, y_train.npy");
}

TEST_TIMES(a_damaged_archive_is_named_and_harms_nothing, 4)
{
    size_t whole = make_archive(_i % 2 == 1, _i / 2 == 1);
    for (size_t cut = 0; cut < whole; cut += 1 + cut / 20) {
        make_archive(_i % 2 == 1, _i / 2 == 1);
        write_bytes(cut);
        refused("x_train.npy", STATUS_INVALID, "");
    }
    /* One byte of the member's: its checksum knows. */
    make_archive(_i % 2 == 1, _i / 2 == 1);
    bytes[30 + 11 + 200] ^= 4;
    write_bytes(whole);
    refused("x_train.npy", STATUS_INVALID, "damaged");
    /* Any byte: an answer, whatever it is. */
    for (size_t at = 0; at < whole; at += 1 + (at > 60 && at < whole - 500) * 37) {
        struct array array;
        make_archive(_i % 2 == 1, _i / 2 == 1);
        bytes[at] ^= 0x81;
        write_bytes(whole);
        if (array_open_member(&array, path, "x_train.npy", NULL) == STATUS_OK &&
            array_read(&array, NULL) == STATUS_OK)
            array_free(&array);
    }
}

TEST_PLAIN(a_member_that_swells_takes_no_more_than_it_says)
{
    static uint8_t x[90000], zeros[80000];
    size_t count = made_npy(x, "|u1", "(16,)", zeros, sizeof zeros);
    const struct made_member member = {"x_train.npy", x, count, true};
    write_bytes(made_zip(bytes, &member, 1, false));
    refused("x_train.npy", STATUS_INVALID, "is longer than the 16 bytes its header promises");
}

static void add_tests(TCase *tcase)
{
    tcase_add_checked_fixture(tcase, open_file, close_file);
}

int main(void)
{
    return suite_run("array", add_tests);
}
