/* test_sessions.c - which process may speak for which worker, and how much of it may be under
 * way. */

#include "ps/router/sessions.h"

#include "ps/work/proof.h"
#include "tests/lib/post.h"
#include "tests/lib/suite.h"

static const uint8_t secret[HASH_BYTES] = {1, 2, 3};

static struct sessions opened(void)
{
    struct sessions sessions;
    ck_assert(sessions_init(&sessions, 100, 200) == STATUS_OK);
    sessions_forget(&sessions, secret);
    return sessions;
}

static struct packet from(uint32_t index, uint64_t ticket, uint64_t incarnation)
{
    struct packet packet = {
        .message = {.role = ROLE_WORKER, .index = index, .incarnation = incarnation}};
    packet.message.ticket = ticket;
    packet.message.proof = proof_make(secret, &packet.message, ticket);
    return packet;
}

static bool know(struct sessions *sessions, uint32_t index, uint64_t ticket, uint64_t incarnation)
{
    struct packet packet = from(index, ticket, incarnation);
    return sessions_judge(sessions, &packet) == SENDER_WORKER;
}

TEST_PLAIN(the_header_s_picture_is_what_happens)
{
    struct sessions sessions = opened();
    ck_assert(know(&sessions, 5, 3, 'A'));
    ck_assert(know(&sessions, 5, 3, 'A'));
    ck_assert(know(&sessions, 5, 7, 'B'));
    ck_assert(!know(&sessions, 5, 3, 'A'));
    ck_assert(!know(&sessions, 5, 7, 'A'));
    ck_assert(know(&sessions, 5, 7, 'B'));
    ck_assert(know(&sessions, 5, 8, 'A')); /* Admitted once more. */
    ck_assert(!know(&sessions, 5, 7, 'B'));
    sessions_free(&sessions);
}

TEST_PLAIN(nobody_is_a_worker_without_a_proof)
{
    struct sessions sessions = opened();
    static const uint64_t tickets[] = {0, 1, 7, 8, 1000, UINT64_MAX};
    ck_assert(know(&sessions, 5, 7, 'B'));
    for (uint32_t index = 4; index < 7; index++) /* Whether or not the place is taken. */
        for (size_t i = 0; i < sizeof tickets / sizeof *tickets; i++)
            for (uint64_t proof = 0; proof < 4; proof++) {
                struct packet packet = from(index, tickets[i], proof == 3 ? 'B' : 'C');
                packet.message.proof = proof == 2 ? packet.message.proof ^ 1 : proof;
                ck_assert_int_eq(sessions_judge(&sessions, &packet), SENDER_NONE);
            }
    struct packet other = from(6, 9, 'C'); /* One that holds, for another place. */
    other.message.index = 5;
    ck_assert_int_eq(sessions_judge(&sessions, &other), SENDER_NONE);
    ck_assert(know(&sessions, 5, 7, 'B'));
    static const uint8_t later[HASH_BYTES] = {9}; /* Of another server 0. */
    sessions_forget(&sessions, later);
    ck_assert(!know(&sessions, 5, 7, 'B'));
    sessions_free(&sessions);
}

TEST_PLAIN(what_is_late_of_a_worker_is_told_from_what_others_say)
{
    struct sessions sessions = opened();
    ck_assert(know(&sessions, 5, 3, 'A') && know(&sessions, 5, 7, 'B') &&
              know(&sessions, 5, 8, 'B'));
    struct packet stale = from(5, 7, 'B'), zombie = from(5, 3, 'A'), keyed = from(5, 8, 'B');
    keyed.key[0] = 1;
    ck_assert_int_eq(sessions_judge(&sessions, &stale), SENDER_STALE);
    ck_assert_int_eq(sessions_judge(&sessions, &zombie), SENDER_SUPERSEDED);
    ck_assert_int_eq(sessions_judge(&sessions, &keyed), SENDER_SUPERSEDED);
    sessions_free(&sessions);
}

TEST_PLAIN(any_process_may_be_the_first_and_every_worker_has_its_own)
{
    struct sessions sessions = opened();
    for (uint32_t i = 0; i < JOB_WORKERS_MAX; i++)
        ck_assert(know(&sessions, i, i % 2, 1000 + i)); /* Also without a ticket. */
    for (uint32_t i = 0; i < JOB_WORKERS_MAX; i++)
        ck_assert(!know(&sessions, i, i % 2, 999));
    sessions_forget(&sessions, secret);
    for (uint32_t i = 0; i < JOB_WORKERS_MAX; i++)
        ck_assert(know(&sessions, i, 0, 999));
    sessions_free(&sessions);
}

TEST_PLAIN(a_window_is_a_worker_s_and_not_a_process_s)
{
    struct sessions sessions = opened();
    know(&sessions, 0, 1, 'A');
    ck_assert(sessions_let_in(&sessions, 0, 60));
    ck_assert(!sessions_let_in(&sessions, 0, 41));
    ck_assert(sessions_let_in(&sessions, 0, 40));
    ck_assert(!sessions_let_in(&sessions, 0, 1));
    ck_assert(sessions_let_in(&sessions, 1, 100));
    know(&sessions, 0, 2, 'B'); /* What A has sent is still there. */
    ck_assert(!sessions_let_in(&sessions, 0, 1));
    sessions_settle(&sessions, 0, 60);
    ck_assert(sessions_let_in(&sessions, 0, 60));
    ck_assert(!sessions_let_in(&sessions, 1, 1));
    sessions_forget(&sessions, secret);
    ck_assert(sessions_let_in(&sessions, 0, 1000)); /* One always fits. */
    ck_assert(!sessions_let_in(&sessions, 0, 1));
    sessions_settle(&sessions, 0, 1000);
    ck_assert(sessions_let_in(&sessions, 0, 100));
    sessions_free(&sessions);
}

TEST_PLAIN(a_process_that_does_not_read_is_given_no_more)
{
    struct sessions sessions = opened();
    struct frame *given[4];
    know(&sessions, 3, 1, 'A');
    for (int i = 0; i < 3; i++)
        ck_assert_ptr_nonnull(given[i] = sessions_give(&sessions, 3, frame_of(1, 16)));
    ck_assert_ptr_null(sessions_give(&sessions, 3, frame_of(1, 16)));
    frame_release(given[0]);
    ck_assert_ptr_nonnull(given[0] = sessions_give(&sessions, 3, frame_of(1, 16)));
    ck_assert_ptr_null(sessions_give(&sessions, 3, frame_of(1, 16)));
    know(&sessions, 3, 2, 'B'); /* The other one is stopped, and B is not. */
    ck_assert_ptr_nonnull(given[3] = sessions_give(&sessions, 3, frame_of(1, 16)));
    for (int i = 0; i < 4; i++)
        frame_release(given[i]);
    given[0] = sessions_give(&sessions, 3, frame_of(1, 16));
    sessions_free(&sessions);
    frame_release(given[0]); /* Later than all that. */
}

int main(void)
{
    return suite_run("sessions", NULL);
}
