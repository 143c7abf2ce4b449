#include "ps/orders/orders.h"

#include <signal.h>
#include <stdio.h>

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
    ck_assert(taken->load.restore && !taken->load.keep && taken->load.step == 7);
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
    order_event(&post.outbox, "lost", "\"index\": %d", 4);
    const struct order *order = post_order(&post, TO_CHECKPOINTER, ORDER_EVENT);
    ck_assert_ptr_nonnull(order);
    ck_assert_str_eq(order->event.name, "lost");
    ck_assert_str_eq(order->event.members, "\"index\": 4");
    post_free(&post);
}

START_TEST(half_an_event_is_never_written)
{
    struct outbox outbox = {0};
    ck_assert_ptr_nonnull(freopen("/dev/null", "w", stderr)); /* The assertion's line. */
    order_event(&outbox, "long", "\"text\": \"%*d\"", MESSAGE_TEXT_MAX, 1);
}
END_TEST

static void add(TCase *t)
{
    tcase_add_test_raise_signal(t, half_an_event_is_never_written, SIGABRT);
}

int main(void)
{
    return suite_run("orders", add);
}
