/* test_entries.c - what a chunk has had: noted in order, handed over, dropped when it is recorded. */

#include "ps/shard/entries.h"

#include "tests/lib/suite.h"

static void add(struct entries *entries, uint64_t computation, unsigned flags)
{
    ck_assert_int_eq(entries_reserve(entries), STATUS_OK);
    entries_add(entries, computation, flags);
}

TEST_PLAIN(entries_are_handed_over_in_order_and_dropped_from_their_beginning)
{
    struct entries entries = {0};
    const uint32_t *list;
    uint32_t count;
    entries_begin(&entries, 10);
    for (uint64_t i = 0; i < 100; i++)
        add(&entries, 1000 + i, i % 2 ? ENTRY_SKIPPED : 0);
    entries_drop(&entries, 5); /* They were before it. */
    entries_drop(&entries, 40);
    ck_assert_uint_eq(entries.from, 40);
    struct frame *frame = entries_pack(&entries);
    ck_assert(entries_unpack(frame, &list, &count));
    ck_assert_uint_eq(count, 70);
    for (uint32_t i = 0; i < count; i++) {
        ck_assert_uint_eq(entries_number(list[i], 1000), 1030 + i);
        ck_assert_uint_eq(list[i] & ENTRY_SKIPPED, i % 2);
    }
    frame_release(frame);
    entries_drop(&entries, 1000);
    ck_assert_uint_eq(entries.count, 0);
    ck_assert_uint_eq(entries.from, 110);
    entries_free(&entries);
}

TEST_PLAIN(numbers_of_any_size_come_back_from_their_lowest_bits)
{
    const uint64_t bases[] = {1, (UINT64_C(1) << ENTRY_NUMBER_BITS) - 3, UINT64_C(1) << 45};
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
        for (uint64_t more = 0; more < 10; more++) {
            struct entries entries = {0};
            add(&entries, bases[i] + more, ENTRY_CLOSES);
            ck_assert_uint_eq(entries_number(entries.list[0], bases[i]), bases[i] + more);
            entries_free(&entries);
        }
}

TEST_PLAIN(a_frame_of_another_size_is_none_of_these)
{
    const uint32_t *list;
    uint32_t count;
    struct frame *frame = frame_create(3 * sizeof(uint32_t));
    uint32_t *words = frame->data;
    words[0] = 2;
    ck_assert(entries_unpack(frame, &list, &count));
    words[0] = 3;
    ck_assert(!entries_unpack(frame, &list, &count));
    frame_release(frame);
}

TEST_PLAIN(more_entries_than_are_kept_are_none_until_it_begins_anew)
{
    struct entries entries = {0};
    const uint32_t *list;
    uint32_t count;
    entries_begin(&entries, 10);
    for (uint64_t i = 0; i <= ENTRIES_MAX; i++)
        add(&entries, i, ENTRY_CLOSES);
    ck_assert(entries.over && entries.count == 0 && entries.list == NULL);
    ck_assert_uint_eq(entries.from, 10 + ENTRIES_MAX + 1); /* Batches that it had, all the same. */
    entries_take_back(&entries);
    ck_assert_uint_eq(entries.from, 10 + ENTRIES_MAX);
    entries_drop(&entries, 11);
    struct frame *frame = entries_pack(&entries);
    ck_assert(entries_unpack(frame, &list, &count));
    ck_assert_uint_eq(count, 0);
    frame_release(frame);
    entries_begin(&entries, 20);
    add(&entries, 1, ENTRY_CLOSES);
    ck_assert_uint_eq(entries.count, 1);
    entries_free(&entries);
}

int main(void)
{
    return suite_run("entries", NULL);
}
