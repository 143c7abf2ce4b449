/* test_board_event.c - the bytes of events in their frames, against those that were made elsewhere; and what
 * of a value is not there when it is 0. */

#include "common/tensorboard/board_event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/tensorboard/tfrecord.h"
#include "tests/lib/suite.h"

#define DIGITS_MAX 1024

/* The record of an event, in hexadecimal digits. */
static void record_of(const struct board_event *event, char digits[DIGITS_MAX])
{
    uint8_t *record;
    size_t count;
    ck_assert_int_eq(board_event_pack(event, TFRECORD_HEAD, TFRECORD_FOOT, &record, &count),
                     STATUS_OK);
    tfrecord_frame(record, count);
    size_t bytes = TFRECORD_HEAD + count + TFRECORD_FOOT;
    ck_assert_uint_lt(2 * bytes, DIGITS_MAX);
    for (size_t i = 0; i < bytes; i++)
        sprintf(digits + 2 * i, "%02x", record[i]);
    free(record);
}

/* These were worked out by another program, with Python's protobuf and a table for the checksum. */
TEST_PLAIN(records_have_the_bytes_that_tensorflow_writes)
{
    char digits[DIGITS_MAX];
    record_of(&(struct board_event){.wall_time = 1700000000.0, .kind = BOARD_FILE}, digits);
    ck_assert_str_eq(digits, "1800000000000000a37f4b22"
                             "0900000040fc54d9411a0d627261696e2e4576656e743a32"
                             "eced8f9d");

    const struct board_value loss = board_scalar("loss", 0.5);
    record_of(&(struct board_event){.wall_time = 1700000001.0,
                                    .step = 7,
                                    .kind = BOARD_VALUES,
                                    .values = &loss,
                                    .count = 1},
              digits);
    ck_assert_str_eq(digits, "1a00000000000000129bd82d"
                             "0900004040fc54d94110072a0d0a0b0a046c6f7373150000003f"
                             "368fc084");
}

/* A value that is 0 is told; a step that is 0 is what is not told. */
TEST_PLAIN(a_number_that_is_0_is_told)
{
    char digits[DIGITS_MAX];
    const struct board_value nothing = board_scalar("x", 0);
    record_of(&(struct board_event){.kind = BOARD_VALUES, .values = &nothing, .count = 1}, digits);
    ck_assert_ptr_nonnull(strstr(digits, "2a0a0a080a0178"
                                         "1500000000"));
}

TEST_PLAIN(a_session_says_what_it_does)
{
    static const struct {
        enum board_event_kind kind;
        const char *log; /* Field 7, of the one field 1. */
    } kinds[] = {
        {BOARD_START, "3a020801"}, {BOARD_STOP, "3a020802"}, {BOARD_CHECKPOINT, "3a020803"}};
    char digits[DIGITS_MAX];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        record_of(&(struct board_event){.step = 5, .kind = kinds[i].kind}, digits);
        ck_assert_ptr_nonnull(strstr(digits, kinds[i].log));
        ck_assert_ptr_nonnull(strstr(digits, "1005"));
    }
}

/* Of 3, 5, 5: the buckets 3, 4 and 5, each up to half a number behind it. */
TEST_PLAIN(a_histogram_begins_and_ends_with_what_was_seen)
{
    char digits[DIGITS_MAX];
    struct histogram histogram = {0};
    histogram_add(&histogram, 3);
    histogram_add(&histogram, 5);
    histogram_add(&histogram, 5);
    const struct board_value value = board_histogram("s", &histogram);
    record_of(&(struct board_event){.kind = BOARD_VALUES, .values = &value, .count = 1}, digits);
    ck_assert_ptr_nonnull(strstr(digits, "09"
                                         "0000000000000840" /* min 3 */
                                         "11"
                                         "0000000000001440" /* max 5 */
                                         "19"
                                         "0000000000000840" /* num 3 */
                                         "21"
                                         "0000000000002a40" /* sum 13 */
                                         "29"
                                         "0000000000804d40")); /* sum of squares 59 */
    ck_assert_ptr_nonnull(strstr(digits, "3218"
                                         "0000000000000c40"    /* up to 3.5 */
                                         "0000000000001240"    /* 4.5 */
                                         "0000000000001640")); /* 5.5 */
    ck_assert_ptr_nonnull(strstr(digits, "3a18"
                                         "000000000000f03f"    /* one */
                                         "0000000000000000"    /* none */
                                         "0000000000000040")); /* two */
}

/* Up to more than is counted singly; and of nothing no bucket. */
TEST_PLAIN(a_histogram_may_be_as_large_as_it_gets_or_empty)
{
    struct histogram histogram = {0};
    uint8_t *bytes;
    size_t count;
    const struct board_value value = board_histogram("s", &histogram);
    const struct board_event event = {.kind = BOARD_VALUES, .values = &value, .count = 1};
    ck_assert_int_eq(board_event_pack(&event, 0, 0, &bytes, &count), STATUS_OK);
    free(bytes);
    histogram_add(&histogram, 0);
    histogram_add(&histogram, UINT64_MAX);
    ck_assert_int_eq(board_event_pack(&event, 0, 0, &bytes, &count), STATUS_OK);
    ck_assert_uint_gt(count, 2 * 8 * HISTOGRAM_BUCKETS);
    free(bytes);
}

int main(void)
{
    return suite_run("board_event", NULL);
}
