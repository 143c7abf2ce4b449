/* test_crc32c.c - RFC 3720's examples, and pieces. */

#include "common/base/crc32c.h"

#include <string.h>

#include "tests/lib/suite.h"

TEST_PLAIN(it_gives_the_published_checksums)
{
    uint8_t bytes[32] = {0};
    ck_assert_uint_eq(crc32c(0, "123456789", 9), 0xe3069283);
    ck_assert_uint_eq(crc32c(0, bytes, 32), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    ck_assert_uint_eq(crc32c(0, bytes, 32), 0x62a8ab43);
    for (uint8_t i = 0; i < 32; i++)
        bytes[i] = i;
    ck_assert_uint_eq(crc32c(0, bytes, 32), 0x46dd794e);
}

TEST_PLAIN(pieces_do_not_matter)
{
    ck_assert_uint_eq(crc32c(crc32c(0, "1234", 4), "56789", 5), 0xe3069283);
    ck_assert_uint_eq(crc32c(0xe3069283, "", 0), 0xe3069283);
    ck_assert_uint_eq(crc32c(0, "", 0), 0);
}

int main(void)
{
    return suite_run("crc32c", NULL);
}
