/* test_address.c - addresses and host names as text. */

#include "common/address/address.h"

#include <stdio.h>

#include "tests/lib/suite.h"

TEST_PLAIN(an_address_is_a_host_and_a_port)
{
    static const struct {
        const char *address, *host;
        unsigned port;
    } cases[] = {
        {"alpha:7000", "alpha", 7000},
        {"10.0.0.5:0", "10.0.0.5", 0},
        {"[fd00::5]:65535", "fd00::5", 65535},
        {"fd00::5:1", "fd00::5", 1},
        {":7000", "", 7000},
        {"*:7000", "*", 7000},
        {"tcp://alpha:7000", "alpha", 7000},
        {"TCP://[::1]:1", "::1", 1},
        {"[]:1", "", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char host[ADDRESS_MAX];
        uint16_t port;
        ck_assert_msg(address_split(cases[i].address, host, &port), "%s", cases[i].address);
        ck_assert_str_eq(host, cases[i].host);
        ck_assert_uint_eq(port, cases[i].port);
    }
    static const char *const bad[] = {
        "",         "alpha",  "alpha:", "alpha:x", "alpha:-1", "alpha:65536", "alpha:70000000000",
        "alpha:1 ", "tcp://", "a:+1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char host[ADDRESS_MAX];
        uint16_t port;
        ck_assert_msg(!address_split(bad[i], host, &port), "%s", bad[i]);
    }
}

TEST_PLAIN(a_host_that_does_not_fit_is_no_host)
{
    char address[ADDRESS_MAX + 8], host[ADDRESS_MAX];
    uint16_t port;
    snprintf(address, sizeof address, "%0*d:1", ADDRESS_MAX - 1, 0);
    ck_assert(address_split(address, host, &port));
    snprintf(address, sizeof address, "%0*d:1", ADDRESS_MAX, 0);
    ck_assert(!address_split(address, host, &port));
}

TEST_PLAIN(what_means_every_host_itself_is_told_from_names)
{
    static const char *const yes[] = {
        "127.0.0.1",      "127.0.1.1", "127.1",        "127.255.0.9",   "::1",
        "localhost",      "LocalHost", "db.localhost", "ip6-localhost", "localhost.localdomain",
        "0:0:0:0:0:0:0:1"};
    static const char *const no[] = {"alpha",
                                     "10.0.0.5",
                                     "0.0.0.0",
                                     "*",
                                     "",
                                     "fd00::1",
                                     "128.0.0.1",
                                     "localhost.example.org",
                                     "mylocalhost",
                                     "127.example.org"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        ck_assert_msg(address_is_loopback(yes[i]), "%s", yes[i]);
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        ck_assert_msg(!address_is_loopback(no[i]), "%s", no[i]);
    ck_assert(address_is_any("") && address_is_any("*"));
    ck_assert(!address_is_any("0.0.0.0") && !address_is_any("alpha"));
}

TEST_PLAIN(names_are_equal_whatever_their_case)
{
    ck_assert(address_equal("alpha:7000", "tcp://Alpha:7000"));
    ck_assert(!address_equal("alpha:7000", "alpha:7001"));
    ck_assert(!address_equal("alpha:7000", "alph:7000"));
}

int main(void)
{
    return suite_run("address", NULL);
}
