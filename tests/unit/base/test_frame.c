/* test_frame.c - frames, slices and what they wrap: released once, and written by nobody who is not
 * alone. */
/* test: tsan */

#include "common/base/frame.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/suite.h"

static void count_release(void *context)
{
    ++*(int *)context;
}

TEST_PLAIN(a_frame_is_aligned_whatever_its_size)
{
    for (size_t bytes = 0; bytes < 300; bytes++) {
        struct frame *frame = frame_create(bytes);
        ck_assert_ptr_nonnull(frame);
        ck_assert_uint_eq(frame->bytes, bytes);
        ck_assert_uint_eq((uintptr_t)frame->data % 64, 0);
        memset(frame->data, 1, bytes);
        ck_assert(frame_is_unique(frame));
        ck_assert(frame_is_writable(frame));
        frame_release(frame);
    }
}

TEST_PLAIN(what_a_frame_wraps_is_released_once_with_the_last_reference)
{
    int released = 0;
    char data[8];
    struct frame *frame = frame_wrap(data, sizeof data, true, count_release, &released);
    frame_retain(frame);
    frame_retain(frame);
    ck_assert(!frame_is_unique(frame));
    frame_release(frame);
    frame_release(frame);
    ck_assert_int_eq(released, 0);
    ck_assert(frame_is_unique(frame));
    frame_release(frame);
    ck_assert_int_eq(released, 1);
    frame_release(NULL);
}

TEST_PLAIN(bytes_that_others_see_under_another_frame_are_not_written)
{
    int released = 0;
    char data[8];
    struct frame *lent = frame_wrap(data, sizeof data, false, count_release, &released);
    ck_assert(frame_is_unique(lent));
    ck_assert(!frame_is_writable(lent));
    frame_release(lent);
    struct frame *frame = frame_create(64);
    frame_retain(frame);
    ck_assert(!frame_is_writable(frame));
    frame_release(frame);
    ck_assert(frame_is_writable(frame));
    frame_release(frame);
}

TEST_PLAIN(a_slice_keeps_its_parent_and_is_never_written)
{
    int released = 0;
    char data[8] = "abcdefg";
    struct frame *parent = frame_wrap(data, sizeof data, true, count_release, &released);
    struct frame *slice = frame_slice(parent, 2, 3);
    struct frame *inner = frame_slice(slice, 1, 2);
    ck_assert(memcmp(inner->data, "de", 2) == 0);
    ck_assert_uint_eq(inner->bytes, 2);
    ck_assert(!frame_is_writable(slice));
    ck_assert(!frame_is_writable(parent)); /* The slice looks at it. */
    frame_release(parent);
    frame_release(slice);
    ck_assert_int_eq(released, 0);
    frame_release(inner);
    ck_assert_int_eq(released, 1);
}

TEST_PLAIN(an_empty_slice_at_the_end_is_a_slice)
{
    struct frame *parent = frame_create(10);
    struct frame *slice = frame_slice(parent, 10, 0);
    ck_assert_uint_eq(slice->bytes, 0);
    frame_release(slice);
    frame_release(parent);
}

/* One thread writes whenever it is alone; others read and drop references that they were handed. */
enum { ROUNDS = 2000, READERS = 3 };

struct handover {
    pthread_barrier_t barrier;
    struct frame *frame;
};

static void *read_and_drop(void *argument)
{
    struct handover *handover = argument;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&handover->barrier);
        const int *values = handover->frame->data;
        for (int i = 0; i < 16; i++)
            if (values[i] != round)
                abort();
        frame_release(handover->frame);
        pthread_barrier_wait(&handover->barrier);
    }
    return NULL;
}

TEST_PLAIN(a_holder_that_finds_itself_alone_may_write)
{
    struct handover handover;
    pthread_t readers[READERS];
    pthread_barrier_init(&handover.barrier, NULL, READERS + 1);
    handover.frame = frame_create(64);
    for (int i = 0; i < READERS; i++)
        pthread_create(&readers[i], NULL, read_and_drop, &handover);
    for (int round = 0; round < ROUNDS; round++) {
        ck_assert(frame_is_writable(handover.frame));
        for (int i = 0; i < 16; i++)
            ((int *)handover.frame->data)[i] = round;
        for (int i = 0; i < READERS; i++)
            frame_retain(handover.frame);
        pthread_barrier_wait(&handover.barrier);
        /* The count alone says that all have read: no lock is between them and the next write. */
        while (!frame_is_writable(handover.frame))
            ;
        for (int i = 0; i < 16; i++)
            ((int *)handover.frame->data)[i] = -1;
        pthread_barrier_wait(&handover.barrier);
    }
    for (int i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    frame_release(handover.frame);
    pthread_barrier_destroy(&handover.barrier);
}

int main(void)
{
    return suite_run("frame", NULL);
}
