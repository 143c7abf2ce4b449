/* What waits for a thread comes out as it went in. */

#include "deploy/engine/simulated_thread.h"

#include <stdlib.h>

#include "tests/lib/suite.h"

static struct due numbered(uint64_t number)
{
    return (struct due){.number = number, .parcel = calloc(1, sizeof(struct parcel))};
}

TEST_PLAIN(what_waits_keeps_its_order_however_much_there_is)
{
    struct simulated_thread thread = {.busy = true};
    struct due event;
    uint64_t in = 0, out = 0;
    for (unsigned round = 1; round < 40;
         round++) { /* More comes than goes, from any place of the ring. */
        for (unsigned i = 0; i < round % 7 + 2; i++) {
            event = numbered(in++);
            thread_wait(&thread, &event);
            ck_assert_ptr_null(event.parcel); /* It has been taken over. */
        }
        for (unsigned i = 0; i < round % 5; i++) {
            ck_assert(thread_next(&thread, &event));
            ck_assert_uint_eq(event.number, out++);
            ck_assert_ptr_nonnull(event.parcel);
            event_free(&event);
        }
    }
    ck_assert_uint_gt(in, out + 50);
    while (out < in - 10) {
        ck_assert(thread_next(&thread, &event));
        ck_assert_uint_eq(event.number, out++);
        event_free(&event);
    }
    ck_assert_uint_eq(thread.count, 10);
    thread_free(&thread); /* With what is in it. */
}

TEST_PLAIN(nothing_waits_for_one_to_whom_nobody_came)
{
    struct simulated_thread thread = {.busy = false};
    struct due event;
    ck_assert(!thread_next(&thread, &event));
    thread_free(&thread);
}

int main(void)
{
    return suite_run("simulated_thread", NULL);
}
