#include "ps/membership.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/suite.h"

static struct packet join_of(enum role role, uint32_t index, uint64_t incarnation)
{
    struct packet packet = {.peer = 10 * role + index};
    packet.message.kind = MESSAGE_JOIN;
    packet.message.role = role;
    packet.message.index = index;
    packet.message.incarnation = incarnation;
    strcpy(packet.message.join.host, "there");
    return packet;
}

static enum refusal admit(struct membership *membership, struct packet join)
{
    char text[MESSAGE_TEXT_MAX];
    return membership_admit(membership, &join, true, 1000, text);
}

static struct membership opened(void)
{
    struct membership membership;
    ck_assert(membership_init(&membership, 2, 3) == STATUS_OK);
    return membership;
}

START_TEST(a_place_belongs_to_the_first_who_takes_it)
{
    struct membership m = opened();
    struct packet first = join_of(ROLE_WORKER, 2, 5), other = join_of(ROLE_WORKER, 2, 6);
    ck_assert_ptr_null(membership_find(&m, &first.message));
    ck_assert(admit(&m, first) == REFUSAL_NONE);
    ck_assert(admit(&m, first) == REFUSAL_NONE);
    ck_assert(admit(&m, other) == REFUSAL_MEMBER);
    ck_assert_ptr_eq(membership_find(&m, &first.message), &m.workers[2]);
    ck_assert_ptr_null(membership_find(&m, &other.message));
    first.message.role = ROLE_PS; /* Neither is it a server, nor anything else. */
    ck_assert_ptr_null(membership_find(&m, &first.message));
    first.message.role = ROLE_OBSERVER;
    ck_assert_ptr_null(membership_find(&m, &first.message));
    membership_free(&m);
}
END_TEST

START_TEST(a_place_is_bound_to_the_key_that_came_for_it)
{
    struct membership m = opened();
    struct packet first = join_of(ROLE_WORKER, 2, 5), other = join_of(ROLE_WORKER, 2, 5);
    first.key[3] = 1;
    other.key[3] = 2;
    ck_assert(admit(&m, first) == REFUSAL_NONE);
    ck_assert(admit(&m, other) == REFUSAL_KEY); /* Although it knows the incarnation. */
    ck_assert(membership_has_key(&m.workers[2], &first));
    ck_assert(!membership_has_key(&m.workers[2], &other));
    other.message.index = 1;
    ck_assert(admit(&m, other) == REFUSAL_NONE);
    ck_assert(admit(&m, first) == REFUSAL_NONE);
    membership_free(&m);
}
END_TEST

START_TEST(only_servers_and_workers_that_the_job_has_are_admitted)
{
    struct membership m = opened();
    ck_assert(admit(&m, join_of(ROLE_WORKER, 3, 1)) == REFUSAL_MEMBER);
    ck_assert(admit(&m, join_of(ROLE_PS, 2, 1)) == REFUSAL_MEMBER);
    ck_assert(admit(&m, join_of(ROLE_PS, UINT32_MAX, 1)) == REFUSAL_MEMBER);
    ck_assert(admit(&m, join_of(ROLE_OBSERVER, 0, 1)) == REFUSAL_MEMBER);
    ck_assert(admit(&m, join_of(ROLE_NONE, 0, 1)) == REFUSAL_MEMBER);
    membership_free(&m);
}
END_TEST

START_TEST(arithmetic_is_compared_within_a_role)
{
    struct membership m = opened();
    struct packet odd = join_of(ROLE_WORKER, 1, 1), server = join_of(ROLE_PS, 0, 1);
    odd.message.join.probe_digest[0] = server.message.join.probe_digest[0] = 9;
    ck_assert(admit(&m, join_of(ROLE_WORKER, 0, 1)) == REFUSAL_NONE);
    ck_assert(admit(&m, server) == REFUSAL_NONE);
    ck_assert(admit(&m, odd) == REFUSAL_PROBE);
    char text[MESSAGE_TEXT_MAX];
    ck_assert(membership_admit(&m, &odd, false, 0, text) == REFUSAL_NONE);
    membership_free(&m);
}
END_TEST

START_TEST(who_is_missing_is_listed_and_when_nobody_is_it_is_gathered)
{
    struct membership m = opened();
    char text[200];
    membership_list_missing(&m, text, sizeof text);
    ck_assert_str_eq(text, "ps/0 (never seen), ps/1 (never seen), worker/0 (never seen), "
                           "worker/1 (never seen), worker/2 (never seen)");
    for (uint32_t i = 0; i < 3; i++)
        admit(&m, join_of(ROLE_WORKER, i, 1));
    for (uint32_t i = 0; i < 2; i++)
        admit(&m, join_of(ROLE_PS, i, 1));
    m.servers[0].ready = true;
    ck_assert(!membership_is_gathered(&m));
    membership_list_missing(&m, text, sizeof text);
    ck_assert_str_eq(text, "ps/1 (loading)");
    m.servers[1].ready = true;
    ck_assert(membership_is_gathered(&m));
    membership_list_missing(&m, text, sizeof text);
    ck_assert_str_eq(text, "");
    membership_free(&m);
}
END_TEST

START_TEST(a_long_list_is_cut_to_its_place)
{
    struct membership m;
    char text[200];
    ck_assert(membership_init(&m, JOB_SERVERS_MAX, JOB_WORKERS_MAX) == STATUS_OK);
    for (size_t size = 60; size <= sizeof text; size++) {
        memset(text, 'z', sizeof text);
        membership_list_missing(&m, text, size);
        ck_assert_uint_lt(strlen(text), size);
        ck_assert_ptr_nonnull(strstr(text, ", ..."));
    }
    membership_free(&m);
}
END_TEST

START_TEST(it_has_left_when_everybody_who_ever_came_has)
{
    struct membership m = opened();
    ck_assert(membership_has_left(&m));
    admit(&m, join_of(ROLE_WORKER, 0, 1));
    admit(&m, join_of(ROLE_PS, 1, 1));
    ck_assert(!membership_has_left(&m));
    m.workers[0].bye = true;
    ck_assert(!membership_has_left(&m));
    m.servers[1].bye = true;
    ck_assert(membership_has_left(&m));
    membership_free(&m);
}
END_TEST

START_TEST(the_silent_are_found_but_not_those_who_left_or_live_here)
{
    struct membership m = opened();
    char text[MESSAGE_TEXT_MAX];
    struct packet local = join_of(ROLE_PS, 0, 1);
    local.peer = PEER_LOCAL;
    admit(&m, local);
    admit(&m, join_of(ROLE_WORKER, 1, 1));
    admit(&m, join_of(ROLE_WORKER, 2, 1));
    m.workers[2].bye = true;
    ck_assert(!membership_has_silent(&m, 3, 3001000, text, sizeof text));
    m.workers[1].heard_us = 3000000;
    ck_assert(!membership_has_silent(&m, 3, 6000000, text, sizeof text));
    ck_assert(membership_has_silent(&m, 3, 6500000, text, sizeof text));
    ck_assert_str_eq(text, "lost worker/1 (on there): nothing heard for 3.5 s");
    membership_free(&m);
}
END_TEST

static void add(TCase *t)
{
    tcase_add_test(t, a_place_belongs_to_the_first_who_takes_it);
    tcase_add_test(t, a_place_is_bound_to_the_key_that_came_for_it);
    tcase_add_test(t, only_servers_and_workers_that_the_job_has_are_admitted);
    tcase_add_test(t, arithmetic_is_compared_within_a_role);
    tcase_add_test(t, who_is_missing_is_listed_and_when_nobody_is_it_is_gathered);
    tcase_add_test(t, a_long_list_is_cut_to_its_place);
    tcase_add_test(t, it_has_left_when_everybody_who_ever_came_has);
    tcase_add_test(t, the_silent_are_found_but_not_those_who_left_or_live_here);
}

int main(void)
{
    return suite_run("membership", add);
}
