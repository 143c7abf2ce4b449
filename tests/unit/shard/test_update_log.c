/* test_update_log.c - what a chunk has had: noted in order, handed over, dropped when it is recorded. */

#include "ps/shard/update_log.h"

#include "tests/lib/suite.h"

static void add(struct update_log *log, uint64_t computation, unsigned flags)
{
    ck_assert_int_eq(update_log_reserve(log), STATUS_OK);
    update_log_add(log, computation, flags);
}

TEST_PLAIN(entries_are_handed_over_in_order_and_dropped_from_their_beginning)
{
    struct update_log log = {0};
    const uint32_t *list;
    uint32_t count;
    update_log_begin(&log, 10);
    for (uint64_t i = 0; i < 100; i++)
        add(&log, 1000 + i, i % 2 ? LOGGED_SKIPPED : 0);
    update_log_drop(&log, 5); /* They were before it. */
    update_log_drop(&log, 40);
    ck_assert_uint_eq(log.from, 40);
    struct frame *frame = update_log_pack(&log);
    ck_assert(update_log_unpack(frame, &list, &count));
    ck_assert_uint_eq(count, 70);
    for (uint32_t i = 0; i < count; i++) {
        ck_assert_uint_eq(update_log_number(list[i], 1000), 1030 + i);
        ck_assert_uint_eq(list[i] & LOGGED_SKIPPED, i % 2);
    }
    frame_release(frame);
    update_log_drop(&log, 1000);
    ck_assert_uint_eq(log.count, 0);
    ck_assert_uint_eq(log.from, 110);
    update_log_free(&log);
}

TEST_PLAIN(numbers_of_any_size_come_back_from_their_lowest_bits)
{
    const uint64_t bases[] = {1, (UINT64_C(1) << LOGGED_NUMBER_BITS) - 3, UINT64_C(1) << 45};
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
        for (uint64_t more = 0; more < 10; more++) {
            struct update_log log = {0};
            add(&log, bases[i] + more, LOGGED_CLOSES);
            ck_assert_uint_eq(update_log_number(log.list[0], bases[i]), bases[i] + more);
            update_log_free(&log);
        }
}

TEST_PLAIN(a_frame_of_another_size_is_none_of_these)
{
    const uint32_t *list;
    uint32_t count;
    struct frame *frame = frame_create(3 * sizeof(uint32_t));
    uint32_t *words = frame->data;
    words[0] = 2;
    ck_assert(update_log_unpack(frame, &list, &count));
    words[0] = 3;
    ck_assert(!update_log_unpack(frame, &list, &count));
    frame_release(frame);
}

TEST_PLAIN(more_entries_than_are_kept_are_none_until_it_begins_anew)
{
    struct update_log log = {0};
    const uint32_t *list;
    uint32_t count;
    update_log_begin(&log, 10);
    for (uint64_t i = 0; i <= UPDATE_LOG_MAX; i++)
        add(&log, i, LOGGED_CLOSES);
    ck_assert(log.over && log.count == 0 && log.list == NULL);
    ck_assert_uint_eq(log.from, 10 + UPDATE_LOG_MAX + 1); /* Batches that it had, all the same. */
    update_log_take_back(&log);
    ck_assert_uint_eq(log.from, 10 + UPDATE_LOG_MAX);
    update_log_drop(&log, 11);
    struct frame *frame = update_log_pack(&log);
    ck_assert(update_log_unpack(frame, &list, &count));
    ck_assert_uint_eq(count, 0);
    frame_release(frame);
    update_log_begin(&log, 20);
    add(&log, 1, LOGGED_CLOSES);
    ck_assert_uint_eq(log.count, 1);
    update_log_free(&log);
}

int main(void)
{
    return suite_run("entries", NULL);
}
