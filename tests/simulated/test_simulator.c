/* The simulator itself: its faults are as many as asked for, and its witness finds what is planted.
 */

#include <stdlib.h>
#include <string.h>

#include "deploy/history.h"
#include "tests/lib/suite.h"

/* --- the wire -------------------------------------------------------------------------------- */

#define MESSAGES 20000

struct wire {
    struct event_queue queue;
    struct simulated_network network;
};

static void wire_open(struct wire *wire, const struct network_faults *faults)
{
    memset(wire, 0, sizeof *wire);
    ck_assert_int_eq(simulated_network_init(&wire->network, faults, 7, 2, &wire->queue), STATUS_OK);
}

static void wire_close(struct wire *wire)
{
    event_queue_free(&wire->queue);
    simulated_network_free(&wire->network);
}

/* Send many pings, numbered, one every 10 us. */
static void send_pings(struct wire *wire)
{
    struct message message = {.kind = MESSAGE_PING, .role = ROLE_WORKER};
    for (uint64_t i = 0; i < MESSAGES; i++) {
        message.request = i;
        simulated_network_send(&wire->network, 10 * i, 0, 1, &message, NULL);
    }
}

/* Take all; how many there were, and how many came after a later one. */
static uint64_t take_pings(struct wire *wire, uint64_t *out_of_order)
{
    struct event event;
    struct packet packet;
    struct error error;
    uint64_t count = 0, highest = 0;
    *out_of_order = 0;
    while (event_queue_take(&wire->queue, &event)) {
        ck_assert_int_eq(simulated_network_open(&wire->network, event.parcel, &packet, &error),
                         STATUS_OK);
        *out_of_order += packet.message.request < highest;
        if (packet.message.request > highest)
            highest = packet.message.request;
        count++;
        event_free(&event);
    }
    return count;
}

START_TEST(a_wire_without_faults_keeps_count_order_and_bounds)
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
END_TEST

START_TEST(repeats_and_losses_are_as_many_as_asked_for)
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
END_TEST

START_TEST(messages_overtake_one_another_when_they_may)
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
END_TEST

START_TEST(a_frame_written_in_flight_is_noticed)
{
    const struct network_faults faults = {.share_frames = true};
    const struct message message = {.kind = MESSAGE_RESULT,
                                    .role = ROLE_PS,
                                    .result = {.parameters = true, .verdict = VERDICT_APPLIED}};
    struct wire wire;
    struct event event;
    struct packet packet;
    struct error error;
    wire_open(&wire, &faults);
    struct frame *frame = frame_create(64);
    memset(frame->data, 0, 64);
    simulated_network_send(&wire.network, 0, 0, 1, &message, frame_retain(frame));
    ((float *)frame->data)[9] = 1;
    ck_assert(event_queue_take(&wire.queue, &event));
    ck_assert_int_eq(simulated_network_open(&wire.network, event.parcel, &packet, &error),
                     STATUS_INVALID);
    event_free(&event);
    frame_release(frame);
    wire_close(&wire);
}
END_TEST

START_TEST(a_full_disk_keeps_what_it_held)
{
    struct simulated_disk disk;
    const struct disk_piece old = {"old", 3}, new = {"newer", 5};
    void *data;
    size_t bytes;
    simulated_disk_init(&disk, 1, 1);
    ck_assert_int_eq(disk.disk.write_file(&disk, "a/b", &old, 1, NULL), STATUS_OK);
    disk.failing = 1;
    ck_assert_int_eq(disk.disk.write_file(&disk, "a/b", &new, 1, NULL), STATUS_IO);
    ck_assert_int_eq(disk.disk.read_file(&disk, "a/b", 100, &data, &bytes, NULL), STATUS_OK);
    ck_assert_uint_eq(bytes, 3);
    free(data);
    ck_assert_int_eq(disk.disk.remove_tree(&disk, "a", NULL), STATUS_OK);
    ck_assert_int_eq(disk.disk.read_file(&disk, "a/b", 100, &data, &bytes, NULL), STATUS_NOT_FOUND);
    simulated_disk_free(&disk);
}
END_TEST

/* --- planted bugs ---------------------------------------------------------------------------- */

/* A bug: what it does to an item; false loses it. */
struct plant {
    enum simulated_place place;
    enum message_kind kind;
    bool (*spoil)(struct outgoing *item);
    unsigned wait; /* Items of the kind to leave alone before the one that is spoiled. */
    unsigned done;
};

static bool tamper(void *context, enum simulated_place place, uint32_t process,
                   struct outgoing *item)
{
    struct plant *plant = context;
    (void)process;
    if (place != plant->place || item->packet.message.kind != plant->kind || plant->done > 0)
        return true;
    if (plant->wait > 0) {
        plant->wait--;
        return true;
    }
    plant->done++;
    return plant->spoil(item);
}

static bool lose(struct outgoing *item)
{
    (void)item;
    return false;
}

static bool change_a_float(struct outgoing *item)
{
    struct frame *frame = item->packet.payload;
    if (frame == NULL)
        return true;
    struct frame *copy = frame_create(frame->bytes);
    memcpy(copy->data, frame->data, frame->bytes);
    ((float *)copy->data)[0] += 1;
    frame_release(frame);
    item->packet.payload = copy;
    return true;
}

static bool change_the_version(struct outgoing *item)
{
    item->packet.message.result.version++;
    return true;
}

static bool change_the_verdict(struct outgoing *item)
{
    item->packet.message.result.verdict = VERDICT_REJECTED;
    return true;
}

static bool change_the_base(struct outgoing *item)
{
    item->packet.message.exchange.base_version++;
    return true;
}

/* As if the batch before had come again and nobody had noticed. */
static bool change_the_batch(struct outgoing *item)
{
    struct message_exchange *exchange = &item->packet.message.exchange;
    exchange->step = exchange->step > 0 ? exchange->step - 1 : 1;
    return true;
}

/* The sibling leaf's place: one leaf twice, the other never. */
static bool change_the_node(struct outgoing *item)
{
    item->packet.message.exchange.node.first_leaf ^= 1;
    return true;
}

static bool change_the_step_of_work(struct outgoing *item)
{
    item->packet.message.work.batch++;
    return true;
}

/* Run an undisturbed job with the bug in it; it must be found. */
static void must_be_found(enum mode mode, struct plant plant)
{
    struct history_plan plan;
    struct history_result result;
    uint64_t seed = 1;
    for (;; seed++) {
        ck_assert_int_eq(history_draw(&plan, seed), STATUS_OK);
        if (plan.job.mode == mode && plan.kind == WORK_EXACT && plan.phase_count == 1 &&
            plan.job.batch == 4 && plan.job.steps > 6)
            break;
        history_free(&plan);
    }
    plan.faults = (struct network_faults){.delay_min_us = 100, .delay_max_us = 1000};
    plan.job.checkpoint_every = 0; /* Only the last checkpoint is compared. */
    plan.phases[0].workers = 4;    /* With 4 leaves: each worker's node is one leaf. */
    plan.time_limit_us = 60000000;
    history_run(&plan, &result);
    ck_assert_msg(!result.failed, "without a bug: %s", result.failure);
    plan.tamper.item = tamper;
    plan.tamper.context = &plant;
    history_run(&plan, &result);
    ck_assert_uint_eq(plant.done, 1);
    ck_assert_msg(result.failed, "a planted bug was not found");
    history_free(&plan);
}

static const struct planted {
    enum mode mode;
    struct plant plant;
} planted[] = {
    {MODE_SYNC, {ON_WIRE, MESSAGE_RESULT, lose, 9, 0}},
    {MODE_SYNC, {ON_WIRE, MESSAGE_EXCHANGE, lose, 9, 0}},
    {MODE_ASYNC, {ON_WIRE, MESSAGE_WORK, lose, 2, 0}},
    {MODE_SYNC, {ON_WIRE, MESSAGE_RESULT, change_a_float, 9, 0}},
    {MODE_ASYNC, {ON_WIRE, MESSAGE_RESULT, change_a_float, 9, 0}},
    {MODE_SYNC, {OUT_OF_OWNER, MESSAGE_RESULT, change_a_float, 9, 0}},
    {MODE_ASYNC, {OUT_OF_OWNER, MESSAGE_CHUNK_STATE, change_a_float, 0, 0}},
    {MODE_SYNC, {OUT_OF_OWNER, MESSAGE_CHUNK_STATE, change_a_float, 0, 0}},
    {MODE_SYNC, {INTO_OWNER, MESSAGE_EXCHANGE, change_a_float, 20, 0}},
    {MODE_ASYNC, {INTO_OWNER, MESSAGE_EXCHANGE, change_a_float, 20, 0}},
    {MODE_SYNC, {OUT_OF_OWNER, MESSAGE_RESULT, change_the_version, 9, 0}},
    {MODE_ASYNC, {OUT_OF_OWNER, MESSAGE_RESULT, change_the_version, 9, 0}},
    {MODE_ASYNC, {OUT_OF_OWNER, MESSAGE_RESULT, change_the_verdict, 9, 0}},
    /* Seen where nothing was applied between pull and push: a base that is not there yet. */
    {MODE_ASYNC, {ON_WIRE, MESSAGE_EXCHANGE, change_the_base, 40, 0}},
    {MODE_ASYNC, {INTO_OWNER, MESSAGE_EXCHANGE, change_the_batch, 20, 0}},
    {MODE_SYNC, {INTO_OWNER, MESSAGE_EXCHANGE, change_the_node, 20, 0}},
    {MODE_SYNC, {INTO_OWNER, MESSAGE_EXCHANGE, change_the_batch, 20, 0}},
    {MODE_ASYNC, {ON_WIRE, MESSAGE_WORK, change_the_step_of_work, 3, 0}},
};

START_TEST(a_planted_bug_is_found)
{
    must_be_found(planted[_i].mode, planted[_i].plant);
}
END_TEST

static void add_tests(TCase *tcase)
{
    tcase_add_test(tcase, a_wire_without_faults_keeps_count_order_and_bounds);
    tcase_add_test(tcase, repeats_and_losses_are_as_many_as_asked_for);
    tcase_add_test(tcase, messages_overtake_one_another_when_they_may);
    tcase_add_test(tcase, a_frame_written_in_flight_is_noticed);
    tcase_add_test(tcase, a_full_disk_keeps_what_it_held);
    tcase_add_loop_test(tcase, a_planted_bug_is_found, 0, sizeof planted / sizeof *planted);
}

int main(void)
{
    return suite_run("simulator", add_tests);
}
