/* The simulator itself: its faults are as many as asked for, and do what they say. */
/* promises: cut-off histories */

#include <stdlib.h>
#include <string.h>

#include "deploy/verify/history.h"
#include "tests/lib/suite.h"

/* --- the wire -------------------------------------------------------------------------------- */

#define MESSAGES 20000
#define MS       1000000u /* In nanoseconds. */
#define SERVERS  3
#define CLIENT   3 /* Processes 0 to 2 are the servers. */
#define OTHER    4

struct wire {
    struct event_queue queue;
    struct simulated_network network;
    struct network_faults faults;
    uint64_t now_ns;
};

static void wire_open(struct wire *wire, const struct network_faults *faults)
{
    memset(wire, 0, sizeof *wire);
    wire->faults = *faults;
    struct channel channel = random_wires(&wire->faults);
    ck_assert_int_eq(simulated_network_init(&wire->network, &channel, faults->share_frames, false,
                                            7, SERVERS, &wire->queue),
                     STATUS_OK);
    for (uint32_t i = 0; i < SERVERS + 2; i++)
        simulated_network_add(&wire->network, i, i >= SERVERS);
    for (uint32_t i = 0; i < SERVERS; i++)
        simulated_network_bind(&wire->network, i, i);
}

static void wire_close(struct wire *wire)
{
    event_queue_free(&wire->queue);
    simulated_network_free(&wire->network);
}

static void send_up(struct wire *wire, uint32_t process, uint32_t server, enum message_kind kind,
                    uint64_t request)
{
    const struct message message = {.kind = kind, .role = ROLE_WORKER, .request = request};
    simulated_network_send_up(&wire->network, wire->now_ns, process, server, &message, NULL);
}

static void send_down(struct wire *wire, uint32_t process, uint64_t peer, uint64_t request)
{
    const struct message message = {.kind = MESSAGE_PONG, .role = ROLE_PS, .request = request};
    simulated_network_send_down(&wire->network, wire->now_ns, process, peer, &message, NULL);
}

/* Somebody gets the next message that arrives anywhere; NETWORK_NO_PROCESS when there is none left. */
static uint32_t take(struct wire *wire, struct packet *packet)
{
    struct due event;
    struct error error;
    while (event_queue_take(&wire->queue, &event)) {
        uint64_t peer;
        wire->now_ns = event.time_ns;
        uint32_t process = simulated_network_arrive(&wire->network, &event, &peer);
        if (process == NETWORK_NO_PROCESS) {
            event_free(&event);
            continue;
        }
        ck_assert_int_eq(simulated_network_open(&wire->network, event.parcel, packet, &error),
                         STATUS_OK);
        packet->peer = peer;
        event_free(&event);
        return process;
    }
    return NETWORK_NO_PROCESS;
}

/* Send many pings, numbered, one every 10 us. */
static void send_pings(struct wire *wire)
{
    for (uint64_t i = 0; i < MESSAGES; i++) {
        wire->now_ns = 10000 * i;
        send_up(wire, CLIENT, 1, MESSAGE_PING, i);
    }
}

/* Take all; how many there were, and how many came after a later one. */
static uint64_t take_pings(struct wire *wire, uint64_t *out_of_order)
{
    struct packet packet;
    uint64_t count = 0, highest = 0;
    uint32_t process;
    *out_of_order = 0;
    while ((process = take(wire, &packet)) != NETWORK_NO_PROCESS) {
        ck_assert_uint_eq(process, 1);
        *out_of_order += packet.message.request < highest;
        if (packet.message.request > highest)
            highest = packet.message.request;
        count++;
    }
    return count;
}

TEST_PLAIN(a_wire_without_faults_keeps_count_order_and_bounds)
{
    const struct network_faults faults = {.delay_min_us = 100, .delay_max_us = 500};
    struct wire wire;
    uint64_t out_of_order;
    wire_open(&wire, &faults);
    send_pings(&wire);
    ck_assert_uint_eq(take_pings(&wire, &out_of_order), MESSAGES);
    ck_assert_uint_eq(out_of_order, 0);
    ck_assert_uint_ge(wire.network.counts.delay_min_us, 100);
    ck_assert_uint_le(wire.network.counts.delay_max_us, 500);
    wire_close(&wire);
}

TEST_PLAIN(repeats_and_losses_are_as_many_as_asked_for)
{
    const struct network_faults faults = {
        .delay_max_us = 100, .repeat = 0.2, .repeat_late_us = 50, .lose = 0.1};
    struct wire wire;
    uint64_t out_of_order;
    wire_open(&wire, &faults);
    send_pings(&wire);
    /* Standard deviations are 57 and 42. */
    ck_assert_uint_ge(wire.network.counts.repeated, 3600 - 300);
    ck_assert_uint_le(wire.network.counts.repeated, 3600 + 300);
    ck_assert_uint_ge(wire.network.counts.lost, 2000 - 250);
    ck_assert_uint_le(wire.network.counts.lost, 2000 + 250);
    ck_assert_uint_eq(take_pings(&wire, &out_of_order),
                      MESSAGES + wire.network.counts.repeated - wire.network.counts.lost);
    wire_close(&wire);
}

TEST_PLAIN(messages_overtake_one_another_when_they_may)
{
    const struct network_faults faults = {.delay_max_us = 1000, .overtake = 0.5};
    struct wire wire;
    uint64_t out_of_order;
    wire_open(&wire, &faults);
    send_pings(&wire);
    ck_assert_uint_eq(take_pings(&wire, &out_of_order), MESSAGES);
    ck_assert_uint_gt(out_of_order, MESSAGES / 10);
    ck_assert_uint_le(wire.network.counts.delay_max_us, 1000);
    wire_close(&wire);
}

TEST_PLAIN(a_frame_written_in_flight_is_noticed)
{
    const struct network_faults faults = {.share_frames = true};
    const struct message message = {.kind = MESSAGE_RESULT,
                                    .role = ROLE_PS,
                                    .result = {.parameters = true, .verdict = VERDICT_APPLIED}};
    struct wire wire;
    struct due event;
    struct packet packet;
    struct error error;
    uint64_t peer;
    wire_open(&wire, &faults);
    struct frame *frame = frame_create(64);
    memset(frame->data, 0, 64);
    simulated_network_send_up(&wire.network, 0, CLIENT, 1, &message, frame_retain(frame));
    ((float *)frame->data)[9] = 1;
    ck_assert(event_queue_take(&wire.queue, &event));
    ck_assert_uint_eq(simulated_network_arrive(&wire.network, &event, &peer), 1);
    ck_assert_int_eq(simulated_network_open(&wire.network, event.parcel, &packet, &error),
                     STATUS_INVALID);
    event_free(&event);
    frame_release(frame);
    wire_close(&wire);
}

static uint32_t part(struct wire *wire, uint32_t from, uint32_t to, bool hold)
{
    struct host_set here = host_set_of(from), there = host_set_of(to);
    uint32_t partition = simulated_network_part(&wire->network, &here, &there, hold);
    host_set_free(&here);
    host_set_free(&there);
    return partition;
}

static const struct network_faults plain = {.delay_min_us = 100, .delay_max_us = 100};

#define TEST(name, ...)                                                                            \
    SUITE_TEST(name, struct wire, wire, wire_open(wire, __VA_ARGS__), wire_close(wire))

TEST(an_answer_goes_back_over_the_connection_of_its_request, &plain)
{
    struct packet packet;
    send_up(wire, OTHER, 2, MESSAGE_PING, 5);
    ck_assert_uint_eq(take(wire, &packet), 2);
    ck_assert_uint_eq(simulated_network_client(&wire->network, packet.peer), OTHER);
    send_down(wire, 2, packet.peer, 6);
    send_down(wire, 1, packet.peer, 7); /* Not a peer of that server's. */
    ck_assert_uint_eq(take(wire, &packet), OTHER);
    ck_assert_uint_eq(packet.message.request, 6);
    ck_assert_uint_eq(take(wire, &packet), NETWORK_NO_PROCESS);
}

/* Whether a ping of a client's gets through now, and the answer back. */
static bool gets_through(struct wire *wire, uint32_t process, uint32_t server)
{
    struct packet packet;
    send_up(wire, process, server, MESSAGE_PING, 1);
    uint32_t reached = take(wire, &packet);
    if (reached == NETWORK_NO_PROCESS)
        return false;
    send_down(wire, reached, packet.peer, 2);
    return take(wire, &packet) == process;
}

TEST_PLAIN(a_cut_loses_what_is_in_flight_and_only_there)
{
    uint64_t lost = 0;
    struct host_set client = host_set_of(CLIENT), server = host_set_of(1);
    for (uint32_t i = 0; i < 200; i++) {
        struct wire wire;
        struct packet packet;
        uint64_t out_of_order;
        wire_open(&wire, &plain);
        send_up(&wire, CLIENT, 1, MESSAGE_PING, 0);
        ck_assert_uint_eq(take(&wire, &packet), 1);
        for (uint32_t j = 0; j < 10; j++)
            send_up(&wire, CLIENT, 1, MESSAGE_PING, 1 + j);
        for (uint32_t j = 0; j <= i; j++) /* What is left to chance is different every time. */
            random_next(&wire.network.random);
        simulated_network_cut(&wire.network, wire.now_ns, &client, &server, MS, 0);
        send_down(&wire, 1, packet.peer, 9); /* To a connection that is no more. */
        uint64_t came = take_pings(&wire, &out_of_order);
        ck_assert_uint_eq(wire.network.counts.broken, 10 - came);
        ck_assert_uint_eq(wire.network.counts.unsent, 1);
        lost += 10 - came;
        ck_assert(gets_through(&wire, CLIENT, 2));
        ck_assert(gets_through(&wire, OTHER, 1));
        ck_assert(!gets_through(&wire, CLIENT, 1)); /* Not connected again yet. */
        wire.now_ns += MS;
        ck_assert(gets_through(&wire, CLIENT, 1));
        wire_close(&wire);
    }
    host_set_free(&client);
    host_set_free(&server);
    ck_assert_uint_gt(lost, 500);
    ck_assert_uint_lt(lost, 1500);
}

/* Who connects knows of it first. */
TEST_PLAIN(who_listens_speaks_into_a_cut_until_its_own_deadline)
{
    struct host_set client = host_set_of(CLIENT), server = host_set_of(1);
    struct wire wire;
    struct packet packet, next;
    const struct network_counts *counts = &wire.network.counts;
    wire_open(&wire, &plain);
    send_up(&wire, CLIENT, 1, MESSAGE_PING, 0);
    ck_assert_uint_eq(take(&wire, &packet), 1);
    simulated_network_cut(&wire.network, wire.now_ns, &client, &server, MS, 3 * MS);
    uint64_t sent = counts->sent;
    send_down(&wire, 1, packet.peer, 9);
    ck_assert_uint_eq(take(&wire, &next), NETWORK_NO_PROCESS);
    ck_assert(counts->partitioned == 1 && counts->unsent == 0 && counts->sent == sent + 1);
    wire.now_ns += 2 * MS;
    ck_assert(
        gets_through(&wire, CLIENT, 1)); /* Over another, beside which the old one is there. */
    send_down(&wire, 1, packet.peer, 10);
    ck_assert_uint_eq(take(&wire, &next), NETWORK_NO_PROCESS);
    ck_assert(counts->partitioned == 2 && counts->unsent == 0);
    wire.now_ns += MS;
    send_down(&wire, 1, packet.peer, 11);
    ck_assert(counts->partitioned == 2 && counts->unsent == 1);
    wire_close(&wire);
    host_set_free(&client);
    host_set_free(&server);
}

TEST(a_worker_keeps_what_it_cannot_send, &plain)
{
    struct packet packet;
    simulated_network_bind(&wire->network, 1, NETWORK_NO_PROCESS);
    send_up(wire, CLIENT, 1, MESSAGE_DONE, 1);
    send_up(wire, CLIENT, 1, MESSAGE_JOIN, 2); /* Said again anyway. */
    send_up(wire, CLIENT, 1, MESSAGE_DONE, 3);
    send_up(wire, 2, 1, MESSAGE_DONE, 4); /* A server does not keep anything. */
    simulated_network_connect(&wire->network, wire->now_ns, CLIENT);
    ck_assert_uint_eq(take(wire, &packet), NETWORK_NO_PROCESS);
    simulated_network_bind(&wire->network, 1, 0); /* Somebody else answers there. */
    simulated_network_connect(&wire->network, wire->now_ns, CLIENT);
    ck_assert_uint_eq(take(wire, &packet), 0);
    ck_assert_uint_eq(packet.message.request, 1);
    ck_assert_uint_eq(take(wire, &packet), 0);
    ck_assert_uint_eq(packet.message.request, 3);
    ck_assert_uint_eq(take(wire, &packet), NETWORK_NO_PROCESS);
}

TEST_PLAIN(a_partition_cuts_exactly_what_it_says)
{
    for (uint64_t hosts = 1; hosts < 31; hosts++) {
        struct wire wire;
        wire_open(&wire, &plain);
        for (uint32_t client = CLIENT; client <= OTHER; client++)
            for (uint32_t server = 0; server < SERVERS; server++)
                ck_assert(gets_through(&wire, client, server));
        struct host_set some = host_set_of_bits(hosts), others = host_set_copy(&some);
        host_set_invert(&others);
        uint32_t there = simulated_network_part(&wire.network, &some, &others, false);
        uint32_t back = simulated_network_part(&wire.network, &others, &some, false);
        host_set_free(&some);
        host_set_free(&others);
        for (uint32_t client = CLIENT; client <= OTHER; client++)
            for (uint32_t server = 0; server < SERVERS; server++)
                ck_assert(gets_through(&wire, client, server) ==
                          ((hosts >> client & 1) == (hosts >> server & 1)));
        simulated_network_heal(&wire.network, wire.now_ns, there);
        simulated_network_heal(&wire.network, wire.now_ns, back);
        for (uint32_t client = CLIENT; client <= OTHER; client++)
            for (uint32_t server = 0; server < SERVERS; server++)
                ck_assert(gets_through(&wire, client, server));
        wire_close(&wire);
    }
}

TEST(what_is_held_up_arrives_later_and_in_order, &plain)
{
    struct packet packet;
    ck_assert(gets_through(wire, CLIENT, 1));
    uint32_t there = part(wire, CLIENT, 1, true);
    for (uint32_t i = 0; i < 100; i++)
        send_up(wire, CLIENT, 1, MESSAGE_PING, i);
    ck_assert_uint_eq(take(wire, &packet), NETWORK_NO_PROCESS);
    ck_assert_uint_eq(wire->network.counts.held, 100);
    simulated_network_heal(&wire->network, 1000 * MS, there);
    for (uint32_t i = 0; i < 100; i++) {
        ck_assert_uint_eq(take(wire, &packet), 1);
        ck_assert_uint_eq(packet.message.request, i);
        ck_assert_uint_ge(wire->now_ns, 1000 * MS);
    }
}

TEST(one_way_is_lost_and_the_other_is_not, &plain)
{
    struct packet packet;
    send_up(wire, CLIENT, 1, MESSAGE_PING, 1);
    ck_assert_uint_eq(take(wire, &packet), 1);
    part(wire, CLIENT, 1, false);
    send_down(wire, 1, packet.peer, 2);
    send_up(wire, CLIENT, 1, MESSAGE_PING, 3);
    ck_assert_uint_eq(take(wire, &packet), CLIENT);
    ck_assert_uint_eq(take(wire, &packet), NETWORK_NO_PROCESS);
    ck_assert_uint_eq(wire->network.counts.partitioned, 1);
}

TEST_PLAIN(a_killed_process_is_not_reached_and_its_last_words_may_be)
{
    uint64_t came = 0;
    for (uint32_t i = 0; i < 200; i++) {
        struct wire wire;
        struct packet packet;
        wire_open(&wire, &plain);
        send_up(&wire, CLIENT, 1, MESSAGE_PING, 1);
        ck_assert_uint_eq(take(&wire, &packet), 1);
        send_up(&wire, OTHER, 1, MESSAGE_PING, 2);
        send_down(&wire, 1, packet.peer, 3);
        send_down(&wire, 1, packet.peer, 4);
        for (uint32_t j = 0; j <= i; j++)
            random_next(&wire.network.random);
        simulated_network_end(&wire.network, 1, true, wire.now_ns, MS);
        uint32_t words = 0, process;
        while ((process = take(&wire, &packet)) != NETWORK_NO_PROCESS)
            if (process == CLIENT) /* Not something that reached the dead one. */
                ck_assert_uint_eq(packet.message.request, 3 + words++);
        came += words;
        ck_assert(!gets_through(&wire, OTHER, 1));
        wire_close(&wire);
    }
    ck_assert_uint_gt(came, 100);
    ck_assert_uint_lt(came, 300);
}

/* --- faults of whole clusters ---------------------------------------------------------------- */

TEST_PLAIN(the_same_seed_is_the_same_history_to_the_last_message)
{
    uint64_t different = 0;
    uint8_t before[HASH_BYTES] = {0};
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct history_plan plan;
        struct history_result first, again;
        ck_assert_int_eq(history_draw(&plan, seed), STATUS_OK);
        history_run(&plan, &first);
        history_free(&plan);
        ck_assert_int_eq(history_draw(&plan, seed), STATUS_OK);
        history_run(&plan, &again);
        history_free(&plan);
        ck_assert_mem_eq(first.digest, again.digest, HASH_BYTES);
        ck_assert_uint_eq(first.events, again.events);
        ck_assert_uint_eq(first.virtual_us, again.virtual_us);
        ck_assert_uint_eq(first.counts.gradients, again.counts.gradients);
        ck_assert_uint_eq(first.network.delivered, again.network.delivered);
        ck_assert_str_eq(first.failure, again.failure);
        different += memcmp(first.digest, before, HASH_BYTES) != 0;
        memcpy(before, first.digest, HASH_BYTES);
    }
    ck_assert_uint_eq(different, 20);
}

int main(void)
{
    return suite_run("simulator", NULL);
}
