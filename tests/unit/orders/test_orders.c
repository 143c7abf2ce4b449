/* test_orders.c - orders between cores travel as packets among messages, and neither is taken for
 * the other. */

#include "ps/orders/orders.h"

#include <math.h>
#include <string.h>

#include "common/file/json_writer.h"
#include "tests/lib/post.h"
#include "tests/lib/suite.h"

TEST_PLAIN(an_order_keeps_its_place_among_messages_and_comes_out_as_it_went_in)
{
    struct outbox outbox = {0};
    struct outgoing item;
    struct order order = {.kind = ORDER_LOAD,
                          .run_id = 5,
                          .generation = 6,
                          .load = {.restore = true, .step = 7, .out = "/tmp/run"}};
    outbox_add_to(&outbox, TO_OWNER, 3, MESSAGE_EXCHANGE);
    order_add(&outbox, TO_OWNER, 3, &order)->payload = frame_of(1, 4);
    outbox_add_to(&outbox, TO_OWNER, 3, MESSAGE_CUT);

    ck_assert(outbox_take(&outbox, &item) && order_of(&item.packet) == NULL);
    ck_assert(item.packet.message.kind == MESSAGE_EXCHANGE);
    ck_assert(outbox_take(&outbox, &item) && item.to == TO_OWNER && item.index == 3);
    const struct order *taken = order_of(&item.packet);
    ck_assert(taken != NULL && taken->kind == ORDER_LOAD);
    ck_assert(taken->run_id == 5 && taken->generation == 6);
    ck_assert(taken->load.restore && taken->load.step == 7);
    ck_assert_str_eq(taken->load.out, "/tmp/run");
    frame_release(item.packet.payload);
    ck_assert(outbox_take(&outbox, &item) && order_of(&item.packet) == NULL);
    ck_assert(item.packet.message.kind == MESSAGE_CUT);
    outbox_free(&outbox);
}

TEST_PLAIN(no_message_is_taken_for_an_order)
{
    for (unsigned kind = 1; kind < MESSAGE_KIND_COUNT; kind++) {
        const struct packet packet = {.message.kind = (enum message_kind)kind};
        ck_assert_ptr_null(order_of(&packet));
    }
}

TEST_PLAIN(an_event_that_is_recorded_is_a_line_and_an_order)
{
    struct post post = {0};
    order_event(&post.outbox, EVENT_LOST_WORKER, .role = "worker", .index = 4, .why = "silent",
                .text = "worker/4 is silent");
    const struct order *order = post_order(&post, TO_CHECKPOINTER, ORDER_EVENT);
    ck_assert_str_eq(order->event.name, "lost");
    ck_assert_str_eq(order->event.members,
                     "\"role\": \"worker\", \"index\": 4, \"why\": \"silent\"");
    ck_assert_str_eq(post_log(&post, "worker/4"), "worker/4 is silent");
    post_free(&post);
    order_event(&post.outbox, EVENT_EPOCH, .step = 3);
    ck_assert_ptr_null(post_log(&post, ""));
    post_free(&post);
}

static void note_kind(void *context, const struct event *event)
{
    *(enum event_kind *)context = event->kind;
}

TEST_PLAIN(a_listener_hears_what_is_recorded)
{
    enum event_kind heard = EVENT_KIND_COUNT;
    const struct listener listener = {
        .kinds = UINT64_C(1) << EVENT_LEFT, .take = note_kind, .context = &heard};
    struct post post = {.outbox.listener = &listener};
    order_event(&post.outbox, EVENT_JOINED, .role = "worker", .host = "a", .arithmetic = "b");
    ck_assert_int_eq(heard, EVENT_KIND_COUNT);
    order_event(&post.outbox, EVENT_LEFT, .role = "worker");
    ck_assert_int_eq(heard, EVENT_LEFT);
    post_free(&post);
}

int main(void)
{
    return suite_run("orders", NULL);
}
