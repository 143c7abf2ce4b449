/* test_membership.c - who has a place, who gets it when two claim it, and who is told apart by
 * ticket, proof and key. */
/* promises: server-lost */

#include "ps/work/membership.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/suite.h"

static const uint8_t secret[HASH_BYTES] = {1, 2, 3};

static const struct job layers = {.model = "softmax"}, program = {.model = "program: p"};

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

/* What becomes of a JOIN; whoever may is taken in. */
static enum admission admit_at(struct membership *membership, struct packet join, uint64_t now_us)
{
    char text[MESSAGE_TEXT_MAX];
    enum refusal refusal;
    enum admission admission = membership_judge(membership, &join, &layers, now_us, &refusal, text);
    if (admission == ADMISSION_FREE || admission == ADMISSION_REPLACE)
        ck_assert_ptr_nonnull(membership_take(membership, &join, now_us));
    return admission;
}

static enum admission admit(struct membership *membership, struct packet join)
{
    return admit_at(membership, join, 1000);
}

/* The message as a member that has been welcomed would stamp it. */
static struct message welcomed(const struct membership *membership, struct packet join)
{
    join.message.ticket = membership_place(membership, &join.message)->ticket;
    join.message.proof = membership_place(membership, &join.message)->proof;
    return join.message;
}

static struct membership opened(void)
{
    struct membership membership;
    ck_assert(membership_init(&membership, 2, 3, secret) == STATUS_OK);
    return membership;
}

/* What tests begin with, and how they end. */
#define TEST(name) SUITE_TEST(name, struct membership, m, *m = opened(), membership_free(m))

TEST(a_place_is_the_process_s_with_the_right_incarnation_ticket_and_proof)
{
    struct packet first = join_of(ROLE_WORKER, 2, 5);
    ck_assert_ptr_null(membership_find(m, &first.message));
    ck_assert(admit(m, first) == ADMISSION_FREE);
    ck_assert(admit(m, first) == ADMISSION_REPEAT);
    struct message message = welcomed(m, first);
    ck_assert_uint_eq(message.ticket, 1);
    ck_assert_ptr_eq(membership_find(m, &message), &m->workers[2]);
    message.incarnation = 6;
    ck_assert_ptr_null(membership_find(m, &message));
    message.incarnation = 5;
    message.ticket = 2;
    ck_assert_ptr_null(membership_find(m, &message));
    message.ticket = 1;
    message.proof++;
    ck_assert_ptr_null(membership_find(m, &message));
    message.proof--;
    message.role = ROLE_PS; /* Neither is it a server, nor anything else. */
    ck_assert_ptr_null(membership_find(m, &message));
    message.role = ROLE_OBSERVER;
    ck_assert_ptr_null(membership_find(m, &message));
}

TEST(every_admission_has_a_greater_ticket)
{
    struct packet first = join_of(ROLE_WORKER, 1, 5);
    admit(m, first);
    admit(m, join_of(ROLE_PS, 1, 7));
    ck_assert_uint_eq(m->servers[1].ticket, 2);
    membership_free_place(&m->workers[1], DEPARTURE_NONE);
    ck_assert(admit(m, first) == ADMISSION_FREE);
    ck_assert_uint_eq(m->workers[1].ticket, 3);
}

TEST(a_claimant_gets_the_place_of_a_holder_that_has_been_silent)
{
    struct packet claimant = join_of(ROLE_WORKER, 2, 6);
    admit_at(m, join_of(ROLE_WORKER, 2, 5), 1000);
    ck_assert(admit_at(m, claimant, 2000) == ADMISSION_WAIT);
    ck_assert(admit_at(m, claimant, SUSPECT_US + 999) == ADMISSION_WAIT);
    ck_assert(admit_at(m, claimant, SUSPECT_US + 1000) == ADMISSION_REPLACE);
    ck_assert_uint_eq(m->workers[2].incarnation, 6);
}

TEST(a_claimant_is_refused_when_the_holder_speaks_again_and_again)
{
    struct packet claimant = join_of(ROLE_WORKER, 2, 6);
    struct member *holder = &m->workers[2];
    admit_at(m, join_of(ROLE_WORKER, 2, 5), 1000);
    ck_assert(admit_at(m, claimant, 2000) == ADMISSION_WAIT);
    for (uint64_t i = 1; i <= 8; i++) { /* What a connection had held up comes at once. */
        membership_hear(holder, 700000 + i);
        ck_assert(admit_at(m, claimant, 700000 + i) == ADMISSION_WAIT);
    }
    membership_hear(holder, 1100000);
    ck_assert(admit_at(m, claimant, 1100000) == ADMISSION_WAIT);
    membership_hear(holder, 1400000);
    ck_assert(admit_at(m, claimant, 1400000) == ADMISSION_REFUSE);
    ck_assert(admit_at(m, claimant, 1400001) == ADMISSION_WAIT); /* From the start. */
}

TEST(claimants_are_tried_one_after_the_other)
{
    struct packet first = join_of(ROLE_WORKER, 2, 6), second = join_of(ROLE_WORKER, 2, 7);
    unsigned refused[2] = {0, 0};
    admit_at(m, join_of(ROLE_WORKER, 2, 5), 0);
    for (uint64_t now_us = 0; now_us < 5000000; now_us += 50000) {
        if (now_us % 500000 == 0)
            membership_hear(&m->workers[2], now_us);
        if (refused[0] == 0)
            refused[0] = admit_at(m, first, now_us) == ADMISSION_REFUSE;
        if (refused[1] == 0)
            refused[1] = admit_at(m, second, now_us) == ADMISSION_REFUSE;
    }
    ck_assert(refused[0] && refused[1]);
    ck_assert_uint_eq(m->workers[2].incarnation, 5);
}

TEST(a_place_is_bound_to_the_key_that_came_for_it)
{
    struct packet first = join_of(ROLE_WORKER, 2, 5), other = join_of(ROLE_WORKER, 2, 5);
    first.key[3] = 1;
    other.key[3] = 2;
    ck_assert(admit(m, first) == ADMISSION_FREE);
    ck_assert(admit(m, other) == ADMISSION_REFUSE); /* Although it knows the incarnation. */
    ck_assert(membership_has_key(&m->workers[2], &first));
    ck_assert(!membership_has_key(&m->workers[2], &other));
    other.message.incarnation = 6; /* Nor is it the one's successor as long as that is there. */
    ck_assert(admit_at(m, other, 2 * SUSPECT_US) == ADMISSION_REFUSE);
    membership_free_place(&m->workers[2], DEPARTURE_NONE);
    ck_assert(admit(m, other) == ADMISSION_FREE);
    admit(m, join_of(ROLE_PS, 1, 5));
    m->servers[1].lost = true;
    first = join_of(ROLE_PS, 1, 5);
    first.key[3] = 1;
    ck_assert(admit_at(m, first, 2 * SUSPECT_US) == ADMISSION_REPLACE); /* It is another one. */
}

TEST(only_servers_and_workers_that_there_can_be_are_admitted)
{
    ck_assert(admit(m, join_of(ROLE_WORKER, JOB_WORKERS_MAX, 1)) == ADMISSION_REFUSE);
    ck_assert(admit(m, join_of(ROLE_PS, 2, 1)) == ADMISSION_REFUSE);
    ck_assert(admit(m, join_of(ROLE_PS, UINT32_MAX, 1)) == ADMISSION_REFUSE);
    ck_assert(admit(m, join_of(ROLE_OBSERVER, 0, 1)) == ADMISSION_REFUSE);
    ck_assert(admit(m, join_of(ROLE_NONE, 0, 1)) == ADMISSION_REFUSE);
    ck_assert(admit(m, join_of(ROLE_PS, 0, 1)) == ADMISSION_REFUSE); /* That is we ourselves. */
}

TEST(places_for_workers_grow_with_those_who_come)
{
    admit(m, join_of(ROLE_WORKER, 0, 1));
    ck_assert(admit(m, join_of(ROLE_WORKER, 700, 9)) == ADMISSION_FREE);
    ck_assert_uint_eq(m->worker_count, 701);
    ck_assert_uint_eq(m->declared_count, 3);
    ck_assert_uint_eq(membership_workers(m), 2);
    ck_assert_uint_eq(m->workers[0].incarnation, 1);
    ck_assert(!m->workers[350].present);
}

TEST(arithmetic_is_compared_within_a_role_but_not_with_who_is_replaced)
{
    char text[MESSAGE_TEXT_MAX];
    enum refusal refusal;
    struct packet odd = join_of(ROLE_WORKER, 1, 1), server = join_of(ROLE_PS, 1, 1);
    odd.message.join.probe_digest[0] = server.message.join.probe_digest[0] = 9;
    ck_assert(admit(m, join_of(ROLE_WORKER, 0, 1)) == ADMISSION_FREE);
    ck_assert(admit(m, server) == ADMISSION_FREE);
    ck_assert(membership_judge(m, &odd, &layers, 0, &refusal, text) == ADMISSION_REFUSE);
    ck_assert(refusal == REFUSAL_PROBE);
    ck_assert_ptr_nonnull(strstr(text, "arithmetic on "));
    ck_assert(membership_judge(m, &odd, &program, 0, &refusal, text) == ADMISSION_REFUSE);
    ck_assert_ptr_nonnull(strstr(text, "the program on "));
    ck_assert(membership_judge(m, &odd, NULL, 0, &refusal, text) == ADMISSION_FREE);
    odd.message.index = 0;
    odd.message.incarnation = 3;
    ck_assert(membership_judge(m, &odd, &layers, 2 * SUSPECT_US, &refusal, text) ==
              ADMISSION_REPLACE);
}

TEST(who_is_missing_is_listed_and_when_nobody_is_it_is_complete)
{
    char text[200];
    membership_list_missing(m, true, text, sizeof text);
    ck_assert_str_eq(text, "ps/0 (never seen), ps/1 (never seen), worker/0 (never seen), "
                           "worker/1 (never seen), worker/2 (never seen)");
    for (uint32_t i = 0; i < 3; i++)
        admit(m, join_of(ROLE_WORKER, i, 1));
    struct packet local = join_of(ROLE_PS, 0, 1);
    local.peer = PEER_LOCAL;
    admit(m, local);
    admit(m, join_of(ROLE_PS, 1, 1));
    m->servers[0].ready = true;
    ck_assert(membership_is_complete(m));
    ck_assert(!membership_is_served(m));
    membership_list_missing(m, true, text, sizeof text);
    ck_assert_str_eq(text, "ps/1 (loading)");
    m->servers[1].ready = true;
    ck_assert(membership_is_served(m));
    membership_list_missing(m, true, text, sizeof text);
    ck_assert_str_eq(text, "");
    m->servers[1].lost = true;
    ck_assert(!membership_is_served(m));
    membership_free_place(&m->workers[1], DEPARTURE_NONE);
    ck_assert(!membership_is_complete(m));
    membership_list_missing(m, true, text, sizeof text);
    ck_assert_str_eq(text, "ps/1 (lost), worker/1 (lost)");
    membership_list_missing(m, false, text, sizeof text);
    ck_assert_str_eq(text, "ps/1 (lost)");
    m->workers[1].missed = true;
    membership_list_missing(m, false, text, sizeof text);
    ck_assert_str_eq(text, "ps/1 (lost), worker/1 (lost)");
    enum role role;
    uint32_t index;
    ck_assert_ptr_eq(membership_awaited(m, &role, &index), &m->servers[1]);
    m->servers[1].lost = false;
    ck_assert_ptr_eq(membership_awaited(m, &role, &index), &m->workers[1]);
    ck_assert(role == ROLE_WORKER && index == 1);
    m->workers[1].missed = false;
    ck_assert_ptr_null(membership_awaited(m, &role, &index));
}

TEST_PLAIN(a_long_list_is_cut_to_its_place)
{
    struct membership m;
    char text[200];
    ck_assert(membership_init(&m, JOB_SERVERS_MAX, JOB_WORKERS_MAX, secret) == STATUS_OK);
    for (size_t size = 60; size <= sizeof text; size++) {
        memset(text, 'z', sizeof text);
        membership_list_missing(&m, true, text, size);
        ck_assert_uint_lt(strlen(text), size);
        ck_assert_ptr_nonnull(strstr(text, ", ..."));
    }
    membership_free(&m);
}

TEST(it_has_left_when_everybody_who_is_not_lost_has)
{
    ck_assert(membership_has_left(m));
    admit(m, join_of(ROLE_WORKER, 0, 1));
    admit(m, join_of(ROLE_WORKER, 1, 1));
    admit(m, join_of(ROLE_PS, 1, 1));
    ck_assert(!membership_has_left(m));
    m->workers[0].bye = true;
    membership_free_place(&m->workers[1], DEPARTURE_NONE);
    ck_assert(!membership_has_left(m));
    m->servers[1].bye = true;
    ck_assert(membership_has_left(m));
    m->servers[1].bye = false;
    m->servers[1].lost = true;
    ck_assert(membership_has_left(m));
}

TEST(the_silent_are_found_but_not_those_who_left_are_lost_or_live_here)
{
    enum role role;
    uint32_t index;
    struct packet local = join_of(ROLE_PS, 0, 1);
    local.peer = PEER_LOCAL;
    admit(m, local);
    admit(m, join_of(ROLE_PS, 1, 1));
    admit(m, join_of(ROLE_WORKER, 1, 1));
    admit(m, join_of(ROLE_WORKER, 2, 1));
    m->workers[2].bye = true;
    m->servers[1].lost = true;
    ck_assert_ptr_null(membership_silent(m, 3, 3001000, &role, &index));
    m->workers[1].heard_us = 3000000;
    ck_assert_ptr_null(membership_silent(m, 3, 6000000, &role, &index));
    ck_assert_ptr_eq(membership_silent(m, 3, 6500000, &role, &index), &m->workers[1]);
    ck_assert(role == ROLE_WORKER && index == 1);
    m->workers[1].heard_us = 6500000;
    m->servers[1].lost = false;
    ck_assert_ptr_eq(membership_silent(m, 3, 6500000, &role, &index), &m->servers[1]);
    ck_assert(role == ROLE_PS && index == 1);
}

TEST(what_a_place_did_is_kept_when_it_changes_hands)
{
    admit_at(m, join_of(ROLE_PS, 1, 1), 0);
    admit_at(m, join_of(ROLE_WORKER, 1, 1), 0);
    m->servers[1].counts.verdicts.applied = 5;
    m->servers[1].ready = m->servers[1].has_job = true;
    m->workers[1].counts.summary.batches = 7;
    ck_assert(admit_at(m, join_of(ROLE_PS, 1, 2), SUSPECT_US) == ADMISSION_REPLACE);
    ck_assert(admit_at(m, join_of(ROLE_WORKER, 1, 2), SUSPECT_US) == ADMISSION_REPLACE);
    ck_assert_uint_eq(m->servers[1].counts.verdicts.applied, 5);
    ck_assert(!m->servers[1].ready && !m->servers[1].has_job);
    ck_assert_uint_eq(m->workers[1].counts.summary.batches, 7);
}

/* Of two servers one is lost, and both go back: what is counted of an update is counted once. */
TEST(what_was_counted_after_the_checkpoint_is_taken_back)
{
    admit_at(m, join_of(ROLE_PS, 0, 1), 0);
    admit_at(m, join_of(ROLE_PS, 1, 1), 0);
    admit_at(m, join_of(ROLE_WORKER, 1, 1), 0);
    for (uint64_t round = 1; round < 4; round++) {
        m->workers[1].counts.summary.batches += 7;
        m->workers[1].counts.summary.examples += 70;
        m->workers[1].counts.summary.compute_seconds += 1;
        membership_mark_snapshot(m);
        m->workers[1].counts.summary.batches++; /* While it is written. */
        m->servers[0].counts.verdicts.applied = m->servers[1].counts.verdicts.applied = 5;
        membership_mark_whole(m);
        m->servers[0].counts.verdicts.applied = 6; /* Of a cut that is given up. */
        m->workers[1].counts.summary.batches++;
        membership_mark_snapshot(m);
        admit_at(m, join_of(ROLE_PS, 1, 1 + round), SUSPECT_US);
        membership_go_back(m, true);
        for (uint32_t i = 0; i < 2; i++) {
            ck_assert_uint_eq(m->servers[i].counts.earlier.applied, 5 * round);
            ck_assert_uint_eq(m->servers[i].counts.verdicts.applied, 0);
        }
        ck_assert_uint_eq(m->workers[1].counts.summary.batches, 7 * round);
        ck_assert_uint_eq(m->workers[1].counts.summary.examples, 70 * round);
        ck_assert(m->workers[1].counts.summary.compute_seconds ==
                  (double)round); /* They have passed. */
    }
}

TEST(without_a_checkpoint_nothing_remains_counted)
{
    admit_at(m, join_of(ROLE_PS, 1, 1), 0);
    admit_at(m, join_of(ROLE_WORKER, 1, 1), 0);
    m->servers[1].counts.verdicts.applied = 5;
    m->workers[1].counts.summary.batches = 7;
    membership_mark_snapshot(m);
    membership_go_back(m, true);
    ck_assert_uint_eq(m->servers[1].counts.earlier.applied + m->servers[1].counts.verdicts.applied,
                      0);
    ck_assert_uint_eq(m->workers[1].counts.summary.batches, 0);
}

int main(void)
{
    return suite_run("membership", NULL);
}
