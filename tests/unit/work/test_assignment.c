/* test_assignment.c - a START as it leaves. */

#include "ps/work/assignment.h"

#include <string.h>

#include "common/base/frame.h"
#include "common/transport/transport.h"
#include "tests/lib/suite.h"

/* In shared memory a payload with a place is written there, over what the worker computes from. */
TEST_PLAIN(the_sets_of_a_start_have_no_place_among_the_values)
{
    struct assignment assignment = {.number = 2, .members = 3};
    struct member worker = {.peer = 7, .dealt.position = 1};
    struct envelope envelope = {.generation = 4};
    const struct message_start from = {.step = 5, .stop_step = 9};
    struct outbox outbox = {0};
    struct outgoing sent;
    assignment_send(&assignment, &worker, &envelope, &from, frame_create(5), &outbox);
    ck_assert(outbox_take(&outbox, &sent));
    ck_assert_int_eq(sent.packet.message.kind, MESSAGE_START);
    ck_assert_uint_eq(sent.packet.message.start.position, 1);
    ck_assert_uint_eq(sent.packet.message.start.stop_step, 9);
    ck_assert_uint_eq(sent.packet.payload->bytes, 5);
    ck_assert_uint_eq(sent.packet.place, TRANSPORT_PLACE_NOWHERE);
    frame_release(sent.packet.payload);
    outbox_free(&outbox);
}

int main(void)
{
    return suite_run("assignment", NULL);
}
