/* test_generation.c - the file that says whose run it is: written, read back, cut off and torn. */

#include "common/store/generation.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/scratch.h"
#include "tests/lib/suite.h"

#define HEAD "syncopate-generation-1\n"
#define RUN  "run_id 00c0ffee00c0ffee\n"

static const struct disk *const disk = &disk_posix;

static enum status read_text(const void *text, size_t bytes, struct generation *generation)
{
    char out[DISK_PATH_MAX], path[DISK_PATH_MAX];
    struct error error;
    scratch_path(out, "");
    scratch_path(path, GENERATION_NAME);
    scratch_write(path, text, bytes);
    enum status status = generation_read(generation, disk, out, &error);
    ck_assert(status == STATUS_OK || strstr(error.text, GENERATION_NAME) != NULL);
    return status;
}

static enum status read_line(const char *text)
{
    struct generation generation;
    return read_text(text, strlen(text), &generation);
}

TEST_PLAIN(what_is_written_reads_back)
{
    static const struct generation samples[] = {
        {.run_id = 0x00C0FFEE00C0FFEE, .number = 3},
        {.run_id = UINT64_MAX, .number = INT64_MAX, .ended = true, .exit_code = 255},
        {.run_id = 1, .number = 0, .ended = true, .exit_code = 0},
        {0},
    };
    char out[DISK_PATH_MAX];
    scratch_path(out, "");
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        struct generation found;
        ck_assert_int_eq(generation_write(&samples[i], disk, out, NULL), STATUS_OK);
        ck_assert_int_eq(generation_read(&found, disk, out, NULL), STATUS_OK);
        ck_assert(generation_equal(&found, &samples[i]));
        for (size_t other = 0; other < sizeof samples / sizeof *samples; other++)
            ck_assert(generation_equal(&found, &samples[other]) == (i == other));
    }
}

TEST_PLAIN(nothing_else_is_read)
{
    static const char *const bad[] = {
        "",
        "\n",
        (HEAD RUN "generation 3\nstate open"),
        (HEAD RUN "generation 3\nstate open\n\n"),
        (HEAD "run_id c0ffee00c0ffee\ngeneration 3\nstate open\n"),
        (HEAD "run_id 00C0FFEE00C0FFEE\ngeneration 3\nstate open\n"),
        (HEAD RUN "generation 03\nstate open\n"),
        (HEAD RUN "generation -3\nstate open\n"),
        (HEAD RUN "generation 99999999999999999999\nstate open\n"),
        (HEAD RUN "generation 9223372036854775808\nstate open\n"),
        (HEAD RUN "generation 3\nstate ended\n"),
        (HEAD RUN "generation 3\nstate ended 256\n"),
        (HEAD RUN "generation 3\nstate ended 4294967296\n"),
        ("syncopate-generation-2\n" RUN "generation 3\nstate open\n"),
        (HEAD "generation 3\n" RUN "state open\n"),
    };
    ck_assert_int_eq(read_line(HEAD RUN "generation 3\nstate open\n"), STATUS_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(read_line(bad[i]) == STATUS_INVALID, "%s", bad[i]);
}

TEST_PLAIN(a_cut_off_or_torn_file_is_damaged)
{
    static const char good[] = HEAD RUN "generation 300\nstate ended 195\n";
    char text[sizeof good + 200];
    struct generation generation;
    for (size_t bytes = 0; bytes < strlen(good); bytes++)
        ck_assert_int_eq(read_text(good, bytes, &generation), STATUS_INVALID);
    for (size_t at = 0; at < strlen(good); at++) { /* A block that never reached the disk. */
        memcpy(text, good, sizeof good);
        text[at] = '\0';
        ck_assert_int_eq(read_text(text, strlen(good), &generation), STATUS_INVALID);
        ck_assert(generation.run_id == 0 && generation.number == 0 && !generation.ended);
    }
    memset(text, 'x', sizeof text);
    ck_assert_int_eq(read_text(text, sizeof text, &generation), STATUS_INVALID);
}

TEST_PLAIN(no_file_is_not_a_damaged_one)
{
    char out[DISK_PATH_MAX], long_path[2 * DISK_PATH_MAX];
    struct generation generation;
    struct error error;
    scratch_path(out, "nothing");
    ck_assert_int_eq(generation_read(&generation, disk, out, &error), STATUS_NOT_FOUND);
    ck_assert_int_eq(generation_write(&generation, disk, out, &error), STATUS_NOT_FOUND);
    memset(long_path, 'x', sizeof long_path);
    long_path[sizeof long_path - 1] = '\0';
    ck_assert_int_eq(generation_read(&generation, disk, long_path, &error), STATUS_INVALID);
    ck_assert_int_eq(generation_write(&generation, disk, long_path, &error), STATUS_INVALID);
}

int main(void)
{
    return suite_run("generation", scratch_add);
}
