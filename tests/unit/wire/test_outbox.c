/* test_outbox.c - what a core wants sent comes out in order, or is released. */

#include "common/wire/outbox.h"

#include <string.h>

#include "tests/lib/post.h"
#include "tests/lib/suite.h"

TEST_PLAIN(packets_come_out_in_order_with_their_destination)
{
    struct outbox outbox = {0};
    struct outgoing item;
    uint64_t in = 0, out = 0;
    ck_assert(!outbox_take(&outbox, &item));
    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < 3 * round; i++, in++)
            outbox_add_to(&outbox, TO_OWNER, (uint32_t)in, MESSAGE_PING)->peer = in;
        for (int i = 0; i < 2 * round; i++, out++) {
            ck_assert(outbox_take(&outbox, &item));
            ck_assert(item.to == TO_OWNER);
            ck_assert_uint_eq(item.index, out);
            ck_assert_uint_eq(item.packet.peer, out);
            ck_assert(item.packet.message.kind == MESSAGE_PING);
        }
    }
    while (outbox_take(&outbox, &item))
        ck_assert_uint_eq(item.packet.peer, out++);
    ck_assert_uint_eq(in, out);
    outbox_free(&outbox);
}

TEST_PLAIN(a_packet_is_empty_but_for_its_kind_although_its_place_was_used)
{
    struct outbox outbox = {0};
    struct outgoing item;
    struct packet clean = {.message.kind = MESSAGE_BYE};
    for (int i = 0; i < 200; i++) {
        struct packet *packet = outbox_add(&outbox, TO_PEER, MESSAGE_BYE);
        ck_assert_str_eq(packet->origin.function, __func__);
        clean.origin = packet->origin;
        ck_assert(memcmp(packet, &clean, sizeof clean) == 0);
        memset(&packet->message.join, 0xff, sizeof packet->message.join);
        ck_assert(outbox_take(&outbox, &item));
    }
    outbox_free(&outbox);
}

TEST_PLAIN(what_is_left_behind_is_released)
{
    struct outbox outbox = {0};
    struct frame *frame = frame_of(1, 4);
    for (int i = 0; i < 100; i++)
        outbox_add(&outbox, TO_PEER, MESSAGE_RESULT)->payload = frame_retain(frame);
    outbox_free(&outbox);
    ck_assert(frame_is_unique(frame));
    frame_release(frame);
    outbox_free(&outbox); /* Twice is fine. */
}

TEST_PLAIN(a_line_for_people_is_cut_to_its_place)
{
    struct outbox outbox = {0};
    struct outgoing item;
    char text[2 * MESSAGE_TEXT_MAX];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    outbox_log(&outbox, "%s", text);
    outbox_log(&outbox, "step=%d", 7);
    ck_assert(outbox_take(&outbox, &item));
    ck_assert(item.to == TO_LOG);
    ck_assert_uint_eq(strlen(item.packet.message.waiting.text), MESSAGE_TEXT_MAX - 1);
    ck_assert(outbox_take(&outbox, &item));
    ck_assert_str_eq(item.packet.message.waiting.text, "step=7");
    outbox_free(&outbox);
}

int main(void)
{
    return suite_run("outbox", NULL);
}
