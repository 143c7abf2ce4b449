/* test_in_flight.c - bytes on their way are counted until the last reference is dropped, on any
 * thread. */
/* test: tsan */

#include "ps/router/in_flight.h"

#include <pthread.h>
#include <stdlib.h>

#include "tests/lib/post.h"
#include "tests/lib/suite.h"

TEST_PLAIN(what_is_on_its_way_counts_until_the_last_reference_is_dropped)
{
    struct in_flight *in_flight = in_flight_create();
    ck_assert_ptr_nonnull(in_flight);
    struct frame *values = frame_of(3, 16);
    struct frame *first = in_flight_watch(in_flight, frame_retain(values));
    struct frame *second = in_flight_watch(in_flight, frame_retain(values));
    ck_assert_ptr_eq(first->data, values->data);
    ck_assert_uint_eq(first->bytes, 64);
    ck_assert_uint_eq(in_flight_bytes(in_flight), 128);
    ck_assert(!frame_is_writable(values)); /* Nor is what looks like the only reference. */
    ck_assert(!frame_is_writable(first));
    frame_release(frame_retain(first));
    ck_assert_uint_eq(in_flight_bytes(in_flight), 128);
    frame_release(first);
    ck_assert_uint_eq(in_flight_bytes(in_flight), 64);
    frame_release(second);
    ck_assert_uint_eq(in_flight_bytes(in_flight), 0);
    ck_assert(frame_is_writable(values));
    frame_release(values);
    in_flight_drop(&in_flight);
    ck_assert_ptr_null(in_flight);
    in_flight_drop(&in_flight);
}

TEST_PLAIN(it_outlives_its_maker_while_something_is_on_its_way)
{
    struct in_flight *in_flight = in_flight_create();
    struct frame *late = in_flight_watch(in_flight, frame_of(3, 16));
    in_flight_drop(&in_flight);
    ck_assert(((float *)late->data)[15] == 3.0f);
    frame_release(late);
}

static void *drop_all(void *frames)
{
    for (struct frame **frame = frames; *frame != NULL; frame++)
        frame_release(*frame);
    return NULL;
}

TEST_PLAIN(frames_are_dropped_on_any_thread)
{
    enum { COUNT = 1000 };
    static struct frame *frames[2][COUNT + 1];
    struct in_flight *in_flight = in_flight_create();
    pthread_t threads[2];
    for (int i = 0; i < 2 * COUNT; i++)
        frames[i % 2][i / 2] = in_flight_watch(in_flight, frame_of(1, 16));
    ck_assert_uint_eq(in_flight_bytes(in_flight), 2 * COUNT * 64);
    for (int i = 0; i < 2; i++)
        ck_assert(pthread_create(&threads[i], NULL, drop_all, frames[i]) == 0);
    in_flight_drop(&in_flight);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

int main(void)
{
    return suite_run("in_flight", NULL);
}
