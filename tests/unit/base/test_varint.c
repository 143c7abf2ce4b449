/* test_varint.c - numbers there and back, in as many bytes as protobuf says, and no other spelling. */

#include "common/base/varint.h"

#include "tests/lib/suite.h"

static uint64_t take(const uint8_t *bytes, size_t count, bool *taken)
{
    struct varint_input input = {bytes, count, 0};
    uint64_t value = 77;
    *taken = varint_take(&input, &value);
    ck_assert_uint_eq(input.at, *taken ? count : 0);
    return value;
}

TEST_PLAIN(numbers_come_back_and_take_seven_bits_a_byte)
{
    static const struct {
        uint64_t value;
        size_t bytes;
    } cases[] = {{0, 1},          {1, 1},          {127, 1},
                 {128, 2},        {300, 2},        {16383, 2},
                 {16384, 3},      {UINT32_MAX, 5}, {UINT64_MAX >> 1, 9},
                 {UINT64_MAX, 10}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t bytes[VARINT_BYTES_MAX];
        bool taken;
        ck_assert_uint_eq(varint_put(bytes, cases[i].value), cases[i].bytes);
        ck_assert_uint_eq(take(bytes, cases[i].bytes, &taken), cases[i].value);
        ck_assert(taken);
        take(bytes, cases[i].bytes - 1, &taken);
        ck_assert(!taken);
    }
}

TEST_PLAIN(protobufs_example)
{
    uint8_t bytes[VARINT_BYTES_MAX];
    ck_assert_uint_eq(varint_put(bytes, 150), 2);
    ck_assert_uint_eq(bytes[0], 0x96);
    ck_assert_uint_eq(bytes[1], 0x01);
}

TEST_PLAIN(a_number_has_one_spelling_and_64_bits)
{
    static const uint8_t longer[] = {0x81, 0x00},
                         wide[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
    static const uint8_t endless[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                      0xff, 0xff, 0xff, 0xff, 0x01};
    bool taken;
    ck_assert_uint_eq(take(longer, sizeof longer, &taken), 77);
    ck_assert(!taken);
    take(wide, sizeof wide, &taken);
    ck_assert(!taken);
    take(endless, sizeof endless, &taken);
    ck_assert(!taken);
}

TEST_PLAIN(differences_are_short_in_both_directions)
{
    ck_assert_uint_eq(varint_from_difference(10, 10), 0);
    ck_assert_uint_eq(varint_from_difference(10, 9), 1);
    ck_assert_uint_eq(varint_from_difference(10, 11), 2);
    ck_assert_uint_eq(varint_from_difference(10, 12), 4);
    static const uint64_t numbers[] = {0,         1, 63, 64, UINT64_MAX / 2, UINT64_MAX / 2 + 1,
                                       UINT64_MAX};
    const size_t count = sizeof numbers / sizeof *numbers;
    for (size_t i = 0; i < count * count; i++) {
        uint64_t a = numbers[i / count], b = numbers[i % count];
        ck_assert_uint_eq(varint_add_difference(a, varint_from_difference(a, b)), b);
    }
}

int main(void)
{
    return suite_run("varint", NULL);
}
