/* test_envelope.c - what a sender is stamped with, and how its requests are numbered and
 * answered. */

#include "common/wire/envelope.h"
#include "tests/lib/post.h"
#include "tests/lib/suite.h"

static const struct envelope server = {.role = ROLE_PS,
                                       .index = 3,
                                       .incarnation = 5,
                                       .run_id = 6,
                                       .generation = 7,
                                       .ticket = 8,
                                       .proof = 9};

static void check_unknown_peer(const struct packet *packet)
{
    const struct message *message = &packet->message;
    ck_assert(!packet->member && message->role == ROLE_PS && message->index == 3);
    ck_assert(message->incarnation == 0 && message->run_id == 0 && message->generation == 0);
    ck_assert(message->ticket == 0 && message->proof == 0);
}

static void check_member(const struct packet *packet)
{
    const struct message *message = &packet->message;
    ck_assert(packet->member && message->role == ROLE_PS && message->index == 3);
    ck_assert(message->incarnation == 5 && message->run_id == 6 && message->generation == 7);
    ck_assert(message->ticket == 0 && message->proof == 0);
}

TEST_PLAIN(a_server_sees_the_admission_a_member_the_run_and_a_stranger_neither)
{
    struct post post = {0};
    struct envelope worker = server;
    worker.role = ROLE_WORKER;
    const struct packet *packet = envelope_to_server(&worker, 2, MESSAGE_PING, &post.outbox);
    const struct message *message = &packet->message;
    ck_assert(message->kind == MESSAGE_PING && message->role == ROLE_WORKER);
    ck_assert(message->index == 3 && message->incarnation == 5 && message->run_id == 6);
    ck_assert(message->generation == 7 && message->ticket == 8 && message->proof == 9);
    ck_assert_ptr_nonnull(post_find_to(&post, TO_SERVER, 2, MESSAGE_PING));

    packet = envelope_to_peer(&server, 40, MESSAGE_CUT, &post.outbox);
    ck_assert_uint_eq(packet->peer, 40);
    check_member(packet);
    packet = envelope_to_unknown_peer(&server, 41, MESSAGE_STATUS_ANSWER, &post.outbox);
    ck_assert_uint_eq(packet->peer, 41);
    check_unknown_peer(packet);
    post_free(&post);
}

TEST_PLAIN(requests_are_numbered_from_1_and_can_be_repeated)
{
    struct post post = {0};
    struct envelope worker = {.role = ROLE_WORKER};
    for (uint64_t i = 1; i <= 3; i++)
        ck_assert_uint_eq(
            envelope_to_server(&worker, 0, MESSAGE_PING, &post.outbox)->message.request, i);
    const struct packet *again = envelope_to_server_as(&worker, 0, MESSAGE_PING, 2, &post.outbox);
    ck_assert_uint_eq(again->message.request, 2);
    ck_assert_uint_eq(worker.last_request, 3);
    post_free(&post);
}

TEST_PLAIN(answers_go_back_under_their_number_to_members_and_strangers_each_as_they_are)
{
    struct post post = {0};
    struct packet asked = {.peer = 77, .message = {.request = 12}};
    envelope_refuse(&server, &asked, REFUSAL_REJOIN, &post.outbox, "not a %s", "member");
    asked.member = true;
    envelope_ask_to_wait(&server, &asked, "for others", &post.outbox);

    const struct packet *refused = post_find(&post, TO_PEER, MESSAGE_REFUSED);
    check_unknown_peer(refused);
    ck_assert(refused->peer == 77 && refused->message.request == 12);
    ck_assert(refused->message.refused.reason == REFUSAL_REJOIN);
    ck_assert_str_eq(refused->message.refused.text, "not a member");
    const struct packet *waiting = post_find(&post, TO_PEER, MESSAGE_WAITING);
    check_member(waiting);
    ck_assert(waiting->peer == 77 && waiting->message.request == 12);
    ck_assert_str_eq(waiting->message.waiting.text, "for others");
    post_free(&post);
}

TEST_PLAIN(sealing_changes_the_sender_and_nothing_else)
{
    struct packet to_member = {.member = true, .message = {.kind = MESSAGE_RESULT, .request = 4}};
    to_member.message.ticket = to_member.message.proof = 99;
    struct message to_server = to_member.message;
    envelope_seal_to_member(&server, &to_member.message);
    check_member(&to_member);
    ck_assert(to_member.message.kind == MESSAGE_RESULT && to_member.message.request == 4);
    envelope_seal_to_server(&server, &to_server);
    ck_assert(to_server.ticket == 8 && to_server.proof == 9 && to_server.request == 4);
}

int main(void)
{
    return suite_run("envelope", NULL);
}
