/* Sets of hosts, on both sides of a word's end and beyond all that were ever named. */

#include "deploy/engine/host_set.h"
#include "tests/lib/suite.h"

static const uint32_t some[] = {0, 1, 63, 64, 65, 127, 128, 1000};
#define SOME (sizeof some / sizeof *some)

TEST_PLAIN(it_has_what_was_added_and_nothing_else)
{
    struct host_set set = {0};
    for (unsigned i = 0; i < SOME; i++) {
        ck_assert(!host_set_has(&set, some[i]));
        host_set_add(&set, some[i]);
        ck_assert(host_set_has(&set, some[i]));
    }
    uint32_t count = 0;
    for (uint32_t host = 0; host < 5000; host++)
        count += host_set_has(&set, host);
    ck_assert_uint_eq(count, SOME);
    host_set_free(&set);
    ck_assert(!host_set_has(&set, 0));
}

TEST_PLAIN(inverted_it_has_all_others_also_those_to_come)
{
    struct host_set set = host_set_of(64);
    host_set_invert(&set);
    ck_assert(!host_set_has(&set, 64));
    ck_assert(host_set_has(&set, 63));
    ck_assert(host_set_has(&set, UINT32_MAX));
    host_set_add(&set, 1000); /* It grows, and what it grows by stays in it. */
    for (uint32_t host = 0; host < 5000; host++)
        ck_assert(host_set_has(&set, host) == (host != 64));
    host_set_invert(&set);
    for (uint32_t host = 0; host < 5000; host++)
        ck_assert(host_set_has(&set, host) == (host == 64));
    host_set_free(&set);
}

TEST_PLAIN(a_copy_is_one_of_its_own)
{
    struct host_set set = host_set_of_bits(0x8000000000000005u);
    struct host_set copy = host_set_copy(&set);
    host_set_add(&set, 1);
    ck_assert(host_set_has(&copy, 0) && host_set_has(&copy, 2) && host_set_has(&copy, 63));
    ck_assert(!host_set_has(&copy, 1));
    host_set_free(&set);
    struct host_set empty = {0}, none = host_set_copy(&empty);
    ck_assert(!host_set_has(&none, 0) && !host_set_has(&none, 64));
    host_set_free(&copy);
    host_set_free(&none);
}

int main(void)
{
    return suite_run("host_set", NULL);
}
