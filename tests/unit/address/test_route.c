/* test_route.c - the way to a server with several addresses: which is tried when, in made-up
 * time. */
/* promises: names */

#include "common/address/route.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/address/silence.h"
#include "tests/lib/suite.h"

#define SECOND 1000000u

static struct route route;
static uint64_t now;

static struct places places_of(const char *const *addresses)
{
    struct places places = {.status = STATUS_OK};
    for (; *addresses != NULL; addresses++) {
        struct place *place = &places.at[places.count++];
        snprintf(place->address, sizeof place->address, "%s", *addresses);
        place->loopback = strncmp(*addresses, "127.", 4) == 0;
        place->reason = PLACE_UNKNOWN;
    }
    return places;
}
#define PLACES(...) places_of((const char *const[]){__VA_ARGS__, NULL})

/* A route whose name has been asked about. */
static void begin(struct places places)
{
    bool probe;
    now = 5 * SECOND;
    route_init(&route, now);
    ck_assert(route_asks(&route, now, &probe));
    ck_assert(!probe);
    ck_assert(!route_asks(&route, now, &probe)); /* One question at a time. */
    route_answer(&route, &places, now);
}

/* Nothing happens for us; then this does. */
static bool after(uint64_t us, struct route_news news)
{
    now += us;
    return route_moves(&route, &news, now);
}
static const struct route_news nothing = {false, false, false}, refused = {.failed = true},
                               connected = {.connected = true}, reached = {.reached = true};

TEST_PLAIN(the_first_place_is_tried_at_once_and_kept_when_it_answers)
{
    begin(PLACES("10.0.0.5:7000", "10.0.0.6:7000"));
    ck_assert(after(0, nothing));
    ck_assert_str_eq(route.at, "10.0.0.5:7000");
    ck_assert(!after(1000, connected));
    for (int i = 0; i < 100; i++)
        ck_assert(!after(SECOND, connected));
    ck_assert_str_eq(route.at, "10.0.0.5:7000");
}

TEST_PLAIN(a_place_that_refuses_gives_way_to_the_next_at_once)
{
    begin(PLACES("127.0.1.1:7000", "10.0.0.5:7000"));
    ck_assert(after(0, nothing));
    ck_assert(!after(1000, refused)); /* Not a thousand times a second. */
    ck_assert(after(SECOND / 10, nothing));
    ck_assert_str_eq(route.at, "10.0.0.5:7000");
    ck_assert(!after(1000, connected));
}

TEST_PLAIN(a_place_that_says_nothing_gives_way_after_a_second_and_one_that_accepts_after_five)
{
    begin(PLACES("10.0.0.5:7000", "10.0.0.6:7000"));
    ck_assert(after(0, nothing));
    ck_assert(!after(SECOND - 1, nothing));
    ck_assert(after(1, nothing));
    ck_assert_str_eq(route.at, "10.0.0.6:7000");
    ck_assert(!after(1000, reached));
    ck_assert(!after(4 * SECOND, nothing));
    ck_assert(after(SECOND, nothing));
    ck_assert_str_eq(route.at, "10.0.0.5:7000");
}

TEST_PLAIN(all_are_tried_again_and_again_ever_slower)
{
    uint64_t began, first = 0, last = 0;
    begin(PLACES("10.0.0.5:1", "10.0.0.6:1", "[fd00::5]:1"));
    ck_assert(after(0, nothing));
    for (int move = 0; move < 40; move++) {
        began = now;
        while (!after(10000, refused))
            continue;
        last = now - began;
        first = move == 0 ? last : first;
        ck_assert_str_eq(route.at, route.places.at[(move + 1) % 3].address);
        ck_assert(route_is_exhausted(&route) == (move >= 1));
    }
    ck_assert_uint_le(first, SECOND / 5);
    ck_assert(last >= SECOND && last <= 3 * SECOND);
}

TEST_PLAIN(a_lost_connection_is_made_again_where_it_was_before_anywhere_else)
{
    bool probe;
    begin(PLACES("10.0.0.5:1", "10.0.0.6:1"));
    ck_assert(after(0, nothing));
    ck_assert(after(2 * SECOND, nothing));
    ck_assert(!after(1000, connected));
    now += 60 * SECOND;
    ck_assert(!route_asks(&route, now, &probe)); /* Nobody asks while all is well. */
    ck_assert(!after(1000, nothing));
    ck_assert_str_eq(route.at, "10.0.0.6:1");
    ck_assert(route_asks(&route, now, &probe)); /* It may have moved. */
    ck_assert(!probe);
    ck_assert(after(2 * SECOND, nothing));
    ck_assert_str_eq(route.at, "10.0.0.5:1");
}

TEST_PLAIN(a_name_that_comes_to_mean_another_place_is_followed_when_there_is_no_connection)
{
    bool probe;
    struct places moved = PLACES("10.0.0.31:1");
    begin(PLACES("10.0.0.5:1"));
    ck_assert(after(0, nothing));
    ck_assert(!after(1000, connected));
    ck_assert(!after(1000, nothing));
    ck_assert(route_asks(&route, now, &probe));
    route_answer(&route, &moved, now);
    ck_assert(after(1000, nothing));
    ck_assert_str_eq(route.at, "10.0.0.31:1");
    ck_assert_ptr_nonnull(route_place(&route));
}

TEST_PLAIN(a_connection_that_stands_is_not_left_whatever_the_name_says)
{
    struct places moved = PLACES("10.0.0.31:1");
    begin(PLACES("10.0.0.5:1"));
    ck_assert(after(0, nothing));
    ck_assert(!after(1000, connected));
    route_answer(&route, &moved, now);
    for (int i = 0; i < 20; i++)
        ck_assert(!after(SECOND, connected));
    ck_assert_str_eq(route.at, "10.0.0.5:1");
    ck_assert_ptr_null(route_place(&route));
}

TEST_PLAIN(a_name_server_that_fails_takes_no_place_away)
{
    struct places none = {.status = STATUS_NOT_FOUND, .why = "try again"};
    begin(PLACES("10.0.0.5:1", "10.0.0.6:1"));
    ck_assert(after(0, nothing));
    route_answer(&route, &none, now);
    ck_assert(after(2 * SECOND, nothing));
    ck_assert_str_eq(route.at, "10.0.0.6:1");
}

TEST_PLAIN(one_place_is_left_to_whoever_connects)
{
    begin(PLACES("10.0.0.5:1"));
    ck_assert(after(0, nothing));
    for (int i = 0; i < 50; i++)
        ck_assert(!after(SECOND, i % 2 == 0 ? refused : nothing));
    ck_assert(route_is_exhausted(&route));
}

TEST_PLAIN(a_name_is_asked_about_until_it_is_known_and_why_only_after_a_while)
{
    bool probe = true;
    int asked = 0, probed = 0;
    struct places none = {.status = STATUS_NOT_FOUND, .why = "no such name"};
    begin(none);
    for (int i = 0; i < 1000; i++) {
        ck_assert(!after(10000, nothing));
        if (!route_asks(&route, now, &probe))
            continue;
        asked++;
        probed += probe;
        route_answer(&route, &none, now);
    }
    ck_assert_int_ge(asked, 4);
    ck_assert_int_le(asked, 8);
    ck_assert_int_eq(probed, asked);
}

TEST_PLAIN(a_place_where_somebody_else_is_gives_way_and_is_tried_again)
{
    begin(PLACES("127.0.1.1:7000", "10.0.0.5:7000"));
    ck_assert(after(0, nothing));
    ck_assert(!after(1000, connected));
    route_shun(&route, "ps/1, not ps/0", now);
    ck_assert(!after(1000, connected)); /* It takes a moment to end. */
    ck_assert(after(SECOND / 10, connected));
    ck_assert_str_eq(route.at, "10.0.0.5:7000");
    ck_assert(!after(1000, connected));
    ck_assert(!after(60 * SECOND, connected));
}

TEST_PLAIN(somebody_else_at_the_only_place_is_looked_up_again_ever_slower_and_the_name_too)
{
    bool probe;
    unsigned moves = 0, asked = 0;
    struct places same = PLACES("127.0.1.1:7000");
    begin(same);
    ck_assert(after(0, nothing));
    for (int i = 0; i < 3000; i++) { /* Half a minute. */
        if (!route.shunned) {
            ck_assert(!after(5000, connected));
            route_shun(&route, "ps/1, not ps/0", now);
        }
        moves += after(5000, nothing);
        if (route_asks(&route, now, &probe)) {
            asked++;
            route_answer(&route, &same, now);
        }
    }
    ck_assert(moves >= 10 && moves <= 30);
    ck_assert(asked >= 5 && asked <= 12);
    same = PLACES("10.0.0.5:7000");
    route_answer(&route, &same, now);
    ck_assert(after(3 * SECOND, nothing));
    ck_assert_str_eq(route.at, "10.0.0.5:7000");
}

/* --- in words ------------------------------------------------------------------------------ */

static void expect_words(const char *address, const char *expected)
{
    char text[400];
    silence_describe(address, &route, text, sizeof text);
    ck_assert_str_eq(text, expected);
}

static void probed(uint32_t place, int reason)
{
    route.places.at[place].reason = reason;
}

TEST_PLAIN(a_refusal_is_told_with_the_place_and_what_to_look_at)
{
    begin(PLACES("10.0.0.5:7000"));
    after(0, nothing);
    expect_words("alpha:7000", "no connection yet to alpha:7000 (10.0.0.5:7000)");
    probed(0, ECONNREFUSED);
    expect_words("alpha:7000",
                 "connection refused by alpha:7000 (10.0.0.5:7000): nothing listens there; is "
                 "syncopate-ps running on alpha, and does its log say that it listens on that "
                 "address?");
    probed(0, ETIMEDOUT);
    expect_words("alpha:7000",
                 "no answer from alpha:7000 (10.0.0.5:7000): is alpha up, and does no firewall "
                 "keep port 7000 from this host?");
    probed(0, EHOSTUNREACH);
    expect_words("10.0.0.5:7000", "No route to host: 10.0.0.5:7000");
    after(0, reached);
    expect_words("alpha:7000",
                 "alpha:7000 (10.0.0.5:7000) accepts connections, but does not answer");
}

TEST_PLAIN(a_name_that_is_loopback_here_is_told_so)
{
    begin(PLACES("127.0.1.1:7000"));
    after(0, nothing);
    probed(0, ECONNREFUSED);
    expect_words("alpha:7000",
                 "connection refused by alpha:7000 (127.0.1.1:7000): alpha is a loopback address "
                 "on this host, and nothing listens there; if the server is on another host, put "
                 "its address for alpha into /etc/hosts here");
    expect_words("localhost:7000",
                 "connection refused by localhost:7000 (127.0.1.1:7000): nothing listens there; is "
                 "syncopate-ps running on this host, and does its log say that it listens on that "
                 "address?");
}

TEST_PLAIN(several_places_are_all_told)
{
    begin(PLACES("127.0.1.1:7000", "10.0.0.5:7000"));
    after(0, nothing);
    probed(0, ECONNREFUSED);
    probed(1, ETIMEDOUT);
    expect_words("alpha:7000",
                 "alpha:7000: connection refused by 127.0.1.1:7000, no answer from "
                 "10.0.0.5:7000; is syncopate-ps running on alpha, and does its log say that it "
                 "listens on one of these?");
}

TEST_PLAIN(somebody_else_is_told_by_name)
{
    begin(PLACES("127.0.1.1:7000"));
    after(0, nothing);
    route_shun(&route, "ps/1, not ps/0", now);
    expect_words("alpha:7000",
                 "alpha:7000 (127.0.1.1:7000) is ps/1, not ps/0: alpha is a loopback address on "
                 "this host; if the server is on another host, put its address for alpha into "
                 "/etc/hosts here");
    after(SECOND, nothing);
    after(1000, connected); /* Until it says otherwise. */
    ck_assert(route.connected);
    expect_words("127.0.1.1:7000",
                 "127.0.1.1:7000 is ps/1, not ps/0: do all processes have the same --ps-hosts, and "
                 "each server its own --task-index?");
    after(1000, nothing);
    after(1000, refused); /* It has gone. */
    probed(0, ECONNREFUSED);
    expect_words("localhost:7000",
                 "connection refused by localhost:7000 (127.0.1.1:7000): nothing listens there; is "
                 "syncopate-ps running on this host, and does its log say that it listens on that "
                 "address?");

    begin(PLACES("127.0.1.1:7000", "10.0.0.5:7000"));
    after(0, nothing);
    route_shun(&route, "ps/1, not ps/0", now);
    after(SECOND, nothing);
    probed(1, ETIMEDOUT);
    expect_words("alpha:7000",
                 "alpha:7000: 127.0.1.1:7000 is ps/1, not ps/0, no answer from 10.0.0.5:7000; is "
                 "syncopate-ps running on alpha, and does its log say that it listens on one of "
                 "these?");
}

TEST_PLAIN(a_name_that_nobody_knows_is_told_so)
{
    struct places none = {.status = STATUS_NOT_FOUND, .why = "Name or service not known"};
    now = 0;
    route_init(&route, now);
    expect_words("alpha:7000", "alpha:7000: no name server has said yet what address that is");
    begin(none);
    ck_assert(!after(0, nothing));
    expect_words("alpha:7000",
                 "alpha:7000: host name does not resolve (Name or service not known)");
}

int main(void)
{
    return suite_run("route", NULL);
}
