/* test_listening.c - where a server listens, by its own name, --insecure and keys, and what is
 * refused with which remedy. */

#include "ps/router/listening.h"

#include <stdio.h>
#include <string.h>

#include "tests/lib/suite.h"

static struct places places_of(const char *first, const char *second)
{
    struct places places = {.status = STATUS_OK};
    const char *both[] = {first, second};
    for (int i = 0; i < 2 && both[i] != NULL; i++) {
        struct place *place = &places.at[places.count++];
        snprintf(place->address, sizeof place->address, "%s", both[i]);
        place->loopback = strncmp(both[i], "127.", 4) == 0 || strncmp(both[i], "[::1]", 5) == 0;
    }
    return places;
}

/* What is chosen for an address with these places; "" for a remark when there is to be none, else a
 * part of it. */
static void expect(const char *address, struct places places, bool others_connect,
                   const char *addresses, const char *remark)
{
    struct listening listening;
    struct error error = {STATUS_OK, ""};
    ck_assert_msg(listening_choose(address, &places, others_connect, &listening, &error) ==
                      STATUS_OK,
                  "%s: %s", address, error.text);
    ck_assert_str_eq(listening.addresses, addresses);
    if (remark[0] == '\0')
        ck_assert_str_eq(listening.remark, "");
    else
        ck_assert_msg(strstr(listening.remark, remark) != NULL, "%s", listening.remark);
}

static void expect_refused(const char *address, struct places places, const char *text)
{
    struct listening listening;
    struct error error = {STATUS_OK, ""};
    ck_assert_int_eq(listening_choose(address, &places, false, &listening, &error), STATUS_REFUSED);
    ck_assert_str_eq(error.text, text);
}

TEST_PLAIN(a_server_listens_on_all_that_its_name_stands_for)
{
    expect("alpha:7000", places_of("10.0.0.5:7000", "[fd00::5]:7000"), true,
           "10.0.0.5:7000,[fd00::5]:7000", "");
    expect("alpha:7000", places_of("127.0.1.1:7000", "10.0.0.5:7000"), true,
           "127.0.1.1:7000,10.0.0.5:7000", "");
    expect("10.0.0.5:0", places_of("10.0.0.5:0", NULL), true, "10.0.0.5:0", "");
    expect(":7000", places_of(NULL, NULL), true, "*:7000", "");
    expect("*:0", places_of(NULL, NULL), true, "*:0", "");
}

TEST_PLAIN(whose_own_name_is_loopback_listens_everywhere_if_others_may_come)
{
    expect("alpha:7000", places_of("127.0.1.1:7000", NULL), true, "*:7000",
           "on all addresses, since alpha is 127.0.1.1:7000 on this host, which no other");
    expect("alpha:7000", places_of("[::1]:7000", "127.0.1.1:7000"), true, "*:7000",
           "alpha is [::1]:7000, 127.0.1.1:7000 on this host");
}

TEST_PLAIN(who_is_told_to_be_on_loopback_stays_there)
{
    expect("127.0.0.1:7000", places_of("127.0.0.1:7000", NULL), true, "127.0.0.1:7000", "");
    expect("[::1]:7000", places_of("[::1]:7000", NULL), true, "[::1]:7000", "");
    expect("localhost:7000", places_of("[::1]:7000", "127.0.0.1:7000"), true,
           "[::1]:7000,127.0.0.1:7000", "");
}

TEST_PLAIN(without_keys_a_server_stays_on_loopback)
{
    expect("127.0.0.1:7000", places_of("127.0.0.1:7000", NULL), false, "127.0.0.1:7000", "");
    expect("localhost:0", places_of("127.0.0.1:0", NULL), false, "127.0.0.1:0", "");
    expect("alpha:7000", places_of("127.0.1.1:7000", NULL), false, "127.0.1.1:7000",
           "which no other host reaches; with --keys or --insecure");
    expect_refused("10.0.0.5:7000", places_of("10.0.0.5:7000", NULL),
                   "will not listen on 10.0.0.5:7000 without keys, since anyone who reaches it "
                   "could join; make some (syncopate keygen, --keys), or, where the network is "
                   "trusted, add --insecure");
    expect_refused("alpha:7000", places_of("127.0.1.1:7000", "10.0.0.5:7000"),
                   "will not listen on alpha:7000 (127.0.1.1:7000, 10.0.0.5:7000) without keys, "
                   "since anyone who reaches it could join; make some (syncopate keygen, --keys), "
                   "or, where the network is trusted, add --insecure");
    expect_refused(":7000", places_of(NULL, NULL),
                   "will not listen on :7000 without keys, since anyone who reaches it could join; "
                   "make some (syncopate keygen, --keys), or, where the network is trusted, add "
                   "--insecure");
}

TEST_PLAIN(a_name_that_nobody_knows_is_named_with_the_remedy)
{
    struct listening listening;
    struct error error;
    struct places none = {.status = STATUS_NOT_FOUND, .why = "Name or service not known"};
    ck_assert_int_eq(listening_choose("alpha:7000", &none, true, &listening, &error),
                     STATUS_NOT_FOUND);
    ck_assert_str_eq(error.text,
                     "the host name alpha does not resolve: Name or service not known; --bind "
                     ":7000 listens on all addresses of this host");
    ck_assert_int_eq(listening_choose("alpha", &none, true, &listening, &error), STATUS_INVALID);
}

TEST_PLAIN(as_many_places_as_there_may_be_fit)
{
    struct places places = {.status = STATUS_OK, .count = PLACES_MAX};
    struct listening listening;
    struct error error;
    for (uint32_t i = 0; i < PLACES_MAX; i++)
        memset(places.at[i].address, 'f', PLACE_BYTES - 1);
    ck_assert_int_eq(listening_choose("alpha:7000", &places, true, &listening, &error), STATUS_OK);
    ck_assert_uint_eq(strlen(listening.addresses), LISTENING_BYTES - 1);
    ck_assert_int_eq(listening_choose("alpha:7000", &places, false, &listening, &error),
                     STATUS_REFUSED);
}

int main(void)
{
    return suite_run("listening", NULL);
}
