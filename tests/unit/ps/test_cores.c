/* test_cores.c - the cores of a server joined: what one gives to another comes out signed, sealed
 * and at the right door. */

#include "ps/cores.h"

#include <stdlib.h>
#include <string.h>

#include "common/wire/pages.h"
#include "ps/work/proof.h"
#include "tests/lib/post.h"
#include "tests/lib/suite.h"

static const uint8_t secret[HASH_BYTES] = {5, 3};

enum { RUN = 77, PEER = 5, NOW = 1000000 };

/* Server 1 of 2, and what it puts out; its own cores are given what is for them. */
struct fixture {
    struct cores cores;
    struct job job;
    struct outbox outbox;
    struct post wire;
};

static void open_fixture(struct fixture *f)
{
    const struct cores_options options = {
        .router = {.self.index = 1,
                   .self.incarnation = 9,
                   .owner_count = 2,
                   .self.deadlines = {.start = 20, .silence = 5, .recovery = 60}},
        .checkpointer = {.server = 1},
    };
    memset(f, 0, sizeof *f);
    f->job = small_job(MODE_SYNC, 2, 2);
    ck_assert(cores_init(&f->cores, &options, NOW) == STATUS_OK);
}

static void close_fixture(struct fixture *f)
{
    outbox_free(&f->outbox);
    post_free(&f->wire);
    cores_free(&f->cores);
    job_free(&f->job);
}

/* What tests begin with, and how they end. */
#define TEST(name) SUITE_TEST(name, struct fixture, f, open_fixture(f), close_fixture(f))

static void from_server_0(struct fixture *f, const struct message *message)
{
    struct packet packet = {.message = *message};
    cores_receive(&f->cores, &packet, true, NOW, &f->outbox);
}

/* Until nothing is left but what is for the wire; orders to the checkpointer, which has no disk
 * here, are looked at and dropped. */
static void settle(struct fixture *f)
{
    struct outgoing item;
    while (outbox_take(&f->outbox, &item)) {
        if (item.to == TO_OWNER && f->cores.owners == NULL)
            ck_assert(cores_make_owners(&f->cores, NULL) == STATUS_OK);
        if (item.to == TO_LOG)
            continue;
        if (item.to == TO_CHECKPOINTER || cores_deliver(&f->cores, &item, NOW, &f->outbox))
            *outbox_add_to(&f->wire.outbox, item.to, item.index, item.packet.message.kind) =
                item.packet;
    }
}

static void begin(struct fixture *f, uint64_t generation)
{
    uint8_t *bytes;
    uint32_t count;
    struct message page = {.kind = MESSAGE_JOB_PAGE};
    ck_assert(job_encode(&f->job, &bytes, &count) == STATUS_OK);
    for (uint32_t i = 0; pages_cut(bytes, count, i, &page.job_page); i++)
        from_server_0(f, &page);
    free(bytes);
    struct message welcome = {.kind = MESSAGE_WELCOME, .run_id = RUN, .generation = generation};
    welcome.welcome.ticket = 40 + generation;
    welcome.welcome.proof = 900 + generation;
    memcpy(welcome.welcome.secret, secret, sizeof secret);
    from_server_0(f, &welcome);
    settle(f);
    order_add(&f->outbox, TO_ROUTER, 0,
              &(struct order){
                  .kind = ORDER_LOADED, .from = ORDER_FROM_CHECKPOINTER, .generation = generation});
    settle(f);
    ck_assert(router_state(f->cores.router) == ROUTER_SERVING);
    ck_assert_uint_eq(post_find(&f->wire, TO_SERVER, MESSAGE_READY)->message.generation,
                      generation);
    post_clear(&f->wire);
}

TEST(what_a_server_says_is_signed)
{
    begin(f, 3);
    cores_stop(&f->cores, EXIT_INTERRUPTED, &f->outbox);
    settle(f);
    const struct message *stop = &post_find(&f->wire, TO_SERVER, MESSAGE_STOP)->message;
    ck_assert(stop->role == ROLE_PS && stop->index == 1 && stop->incarnation == 9);
    ck_assert(stop->run_id == RUN && stop->generation == 3 && stop->ticket == 43 &&
              stop->proof == 903);
    ck_assert_str_eq(stop->stop.reason, "ps/1 was asked to");
    ck_assert_uint_eq(stop->stop.exit_code, EXIT_INTERRUPTED);
}

TEST(what_a_generation_has_left_behind_does_not_leave_the_server)
{
    begin(f, 1);
    begin(f, 2);
    const enum message_kind kinds[] = {MESSAGE_STOP, MESSAGE_PART_WRITTEN, MESSAGE_CHUNK_STATE};
    for (uint64_t generation = 0; generation < 4; generation++) {
        for (int i = 0; i < 3; i++) {
            struct packet *packet = outbox_add(&f->outbox, TO_COORDINATOR, kinds[i]);
            packet->message.generation = generation;
            packet->payload = kinds[i] == MESSAGE_CHUNK_STATE ? frame_of(1, 16) : NULL;
        }
        settle(f);
        ck_assert_uint_eq(post_count_all(&f->wire), generation == 2 ? 3 : 0);
        post_clear(&f->wire);
    }
}

TEST(a_whole_exchange_is_answered_in_the_end)
{
    begin(f, 1);
    begin(f, 2);
    for (uint32_t worker = 0; worker < 2; worker++) {
        struct packet packet = {.peer = PEER + worker, .payload = frame_of(8, 16)};
        packet.message = (struct message){.kind = MESSAGE_EXCHANGE,
                                          .role = ROLE_WORKER,
                                          .index = worker,
                                          .incarnation = 100 + worker,
                                          .ticket = 1 + worker,
                                          .run_id = RUN,
                                          .generation = 2,
                                          .request = 31 + worker};
        packet.message.exchange = (struct message_exchange){.chunk = 1,
                                                            .gradient = true,
                                                            .node = {2 * worker, 2},
                                                            .examples = 4,
                                                            .want = true,
                                                            .want_version = 1};
        packet.message.proof = proof_make(secret, &packet.message, packet.message.ticket);
        cores_receive(&f->cores, &packet, false, NOW, &f->outbox);
        ck_assert(packet.member);
        settle(f);
    }
    ck_assert_uint_eq(post_count(&f->wire, TO_PEER, MESSAGE_RESULT), 2);
    ck_assert_uint_eq(post_count_all(&f->wire), 2);
    for (size_t i = 0; i < f->wire.taken_count; i++) {
        const struct packet *result = &f->wire.taken[i].packet;
        ck_assert(result->message.role == ROLE_PS && result->message.index == 1);
        ck_assert(result->message.run_id == RUN && result->message.generation == 2);
        ck_assert(result->message.ticket == 0 && result->message.proof == 0); /* For servers. */
        ck_assert_uint_eq(result->message.request, 31 + result->peer - PEER);
        ck_assert(*(float *)result->payload->data == -2.0f);
    }
}

/* What members know each other by, anybody could say back. */
TEST(strangers_are_told_who_answers_and_no_more)
{
    begin(f, 3);
    for (unsigned kind = 1; kind < MESSAGE_KIND_COUNT; kind++) {
        struct packet packet = {.peer = PEER, .message = {.kind = (enum message_kind)kind}};
        packet.message.role = ROLE_WORKER;
        packet.message.run_id = kind % 2 == 0 ? RUN : 0;
        packet.message.generation = 3;
        packet.message.request = 8;
        cores_receive(&f->cores, &packet, false, NOW, &f->outbox);
        ck_assert(!packet.member);
        settle(f);
        const struct packet *answer = post_find(&f->wire, TO_PEER, MESSAGE_REFUSED);
        ck_assert_msg(answer != NULL, "%s", message_kind_name((enum message_kind)kind));
        const struct message *message = &answer->message;
        ck_assert(message->role == ROLE_PS && message->index == 1 && message->request == 8);
        ck_assert(message->run_id == 0 && message->generation == 0 && message->incarnation == 0);
        ck_assert(message->ticket == 0 && message->proof == 0);
        post_clear(&f->wire);
    }
}

TEST(scores_that_come_by_themselves_are_refused)
{
    begin(f, 0);
    struct packet packet = {.peer = PEER, .message = {.kind = MESSAGE_REPORT, .run_id = RUN}};
    packet.message.role = ROLE_WORKER;
    cores_receive(&f->cores, &packet, false, NOW, &f->outbox);
    settle(f);
    ck_assert(post_find(&f->wire, TO_PEER, MESSAGE_REFUSED)->message.refused.reason ==
              REFUSAL_MALFORMED);
    ck_assert_uint_eq(post_count_all(&f->wire), 1);
}

/* Server 0's coordinator knows of a generation before its router does, and says so itself. */
TEST(what_is_sealed_leaves_as_it_is)
{
    begin(f, 2);
    const struct envelope from = {
        .role = ROLE_PS, .incarnation = 9, .run_id = RUN + 1, .generation = 3};
    envelope_to_peer(&from, PEER, MESSAGE_WELCOME, &f->outbox);
    settle(f);
    const struct message *message = &post_find(&f->wire, TO_PEER, MESSAGE_WELCOME)->message;
    ck_assert(message->run_id == RUN + 1 && message->generation == 3);
    ck_assert(message->role == ROLE_PS && message->index == 0 && message->incarnation == 9);
}

/* Server 0 stops a job by its own router alone. Whoever says STOP in its name must not bring
 * another server to say back what no message is. */
TEST(a_stop_that_is_for_server_0s_router_goes_no_further_elsewhere)
{
    begin(f, 2);
    from_server_0(f, &(struct message){.kind = MESSAGE_STOP, .run_id = RUN, .generation = 2});
    settle(f);
    ck_assert_uint_eq(post_count_all(&f->wire), 0);
}

int main(void)
{
    return suite_run("cores", NULL);
}
