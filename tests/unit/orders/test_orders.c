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

TEST_PLAIN(an_event_is_a_name_and_members)
{
    struct post post = {0};
    const struct event_member *members = EVENT_MEMBERS(
        event_count("index", 4), event_text("why", "it said \"no\"\n"), event_real("epoch", 1.5, 4),
        event_real("loss", (double)INFINITY, 6), event_real("seconds", 0.1, JSON_EXACT));
    order_event(&post.outbox, "lost", members);
    const struct order *order = post_order(&post, TO_CHECKPOINTER, ORDER_EVENT);
    ck_assert_ptr_nonnull(order);
    ck_assert_str_eq(order->event.name, "lost");
    ck_assert_str_eq(order->event.members, "\"index\": 4, \"why\": \"it said \\\"no\\\"\\u000a\", "
                                           "\"epoch\": 1.5000, \"loss\": null, \"seconds\": 0.1");
    post_free(&post);
}

TEST_PLAIN(half_an_event_is_never_written)
{
    struct post post = {0};
    char text[EVENT_MEMBERS_MAX];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    order_event(&post.outbox, "waiting", EVENT_MEMBERS(event_text("text", text)));
    const struct order *order = post_order(&post, TO_CHECKPOINTER, ORDER_EVENT);
    ck_assert_str_eq(order->event.name, "waiting");
    ck_assert_str_eq(order->event.members, "");
    text[sizeof text - 1 - strlen("\"text\": \"\"")] = '\0'; /* What just fits. */
    post_free(&post);
    order_event(&post.outbox, "waiting", EVENT_MEMBERS(event_text("text", text)));
    order = post_order(&post, TO_CHECKPOINTER, ORDER_EVENT);
    ck_assert_uint_eq(strlen(order->event.members), sizeof text - 1);
    post_free(&post);
}

int main(void)
{
    return suite_run("orders", NULL);
}
