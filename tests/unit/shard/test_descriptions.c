/* test_descriptions.c - numbers for what workers describe: once for each, for nothing that is not
 * all there, and all of it handed over. */
/* promises: record */

#include "ps/shard/descriptions.h"

#include <string.h>

#include "common/job/bases.h"
#include "tests/lib/suite.h"

#define CHUNKS      4
#define VERSION_MAX 6

struct fixture {
    struct descriptions descriptions;
};

static void open_fixture(struct fixture *f)
{
    descriptions_init(&f->descriptions, CHUNKS, VERSION_MAX);
}

static void close_fixture(struct fixture *f)
{
    descriptions_check(&f->descriptions);
    descriptions_free(&f->descriptions);
}

/* What tests begin with, and how they end. */
#define TEST(name) SUITE_TEST(name, struct fixture, f, open_fixture(f), close_fixture(f))

static struct message gradient(uint32_t worker, uint64_t ticket, uint64_t count, uint64_t version)
{
    const uint64_t versions[CHUNKS] = {version, version, version, version};
    struct message message = {
        .kind = MESSAGE_GRADIENT,
        .index = worker,
        .ticket = ticket,
        .gradient = {.count = count, .ticket = ticket, .batch = count + 20, .clock = 5}};
    message.gradient.total = message.gradient.bytes =
        (uint32_t)bases_encode(versions, CHUNKS, message.gradient.bases);
    return message;
}

static enum status describe(struct fixture *f, uint32_t worker, uint64_t ticket, uint64_t count,
                            uint64_t version)
{
    const struct message message = gradient(worker, ticket, count, version);
    return descriptions_hear(&f->descriptions, &message);
}

static uint64_t find(const struct fixture *f, uint32_t worker, uint64_t ticket, uint64_t count)
{
    return descriptions_find(&f->descriptions, worker, ticket, count);
}

TEST(what_is_described_gets_the_next_number_once)
{
    ck_assert_int_eq(describe(f, 0, 7, 10, 1), STATUS_OK);
    ck_assert_int_eq(describe(f, 1, 8, 10, 1), STATUS_OK);
    ck_assert_int_eq(describe(f, 0, 7, 10, 1), STATUS_OK); /* Again. */
    ck_assert_uint_eq(find(f, 0, 7, 10), 1);
    ck_assert_uint_eq(find(f, 1, 8, 10), 2);
    ck_assert_uint_eq(f->descriptions.count, 2);
    ck_assert_int_eq(describe(f, 0, 7, 11, 2), STATUS_OK);
    ck_assert_uint_eq(find(f, 0, 7, 11), 3);
    ck_assert_uint_eq(find(f, 0, 7, 10), 0); /* It is over. */
}

TEST(a_gradient_from_before_a_welcome_keeps_its_name)
{
    struct message message = gradient(0, 7, 10, 1);
    message.gradient.ticket = 5;
    ck_assert_int_eq(descriptions_hear(&f->descriptions, &message), STATUS_OK);
    ck_assert_uint_eq(find(f, 0, 7, 10), 1); /* As its sender speaks. */
    ck_assert_uint_eq(f->descriptions.latest[0].named, 5);
}

TEST(another_process_and_another_gradient_have_no_number)
{
    ck_assert_int_eq(describe(f, 0, 7, 10, 1), STATUS_OK);
    ck_assert_uint_eq(find(f, 0, 9, 10), 0);
    ck_assert_uint_eq(find(f, 0, 7, 9), 0);
    ck_assert_uint_eq(find(f, 1, 7, 10), 0);
    ck_assert_uint_eq(find(f, 0, 0, 0), 0);
}

TEST(what_was_described_before_the_latest_is_late)
{
    ck_assert_int_eq(describe(f, 0, 7, 10, 1), STATUS_OK);
    ck_assert_int_eq(describe(f, 0, 7, 9, 1), STATUS_OK);
    ck_assert_uint_eq(f->descriptions.count, 1);
    ck_assert_int_eq(describe(f, 0, 9, 2, 1), STATUS_OK); /* Another process counts anew. */
    ck_assert_uint_eq(find(f, 0, 9, 2), 2);
}

TEST(a_description_is_there_when_all_its_pages_are)
{
    const struct message whole = gradient(0, 7, 10, 3);
    struct message first = whole, second = whole;
    first.gradient.bytes = 2;
    second.gradient.offset = 2;
    second.gradient.bytes -= 2;
    memmove(second.gradient.bases, whole.gradient.bases + 2, second.gradient.bytes);
    ck_assert_int_eq(descriptions_hear(&f->descriptions, &second), STATUS_OK); /* First was lost. */
    ck_assert_int_eq(descriptions_hear(&f->descriptions, &first), STATUS_OK);
    ck_assert_uint_eq(find(f, 0, 7, 10), 0);
    ck_assert_int_eq(descriptions_hear(&f->descriptions, &first), STATUS_OK); /* Said again. */
    ck_assert_int_eq(descriptions_hear(&f->descriptions, &second), STATUS_OK);
    ck_assert_uint_eq(find(f, 0, 7, 10), 1);
    ck_assert(bases_decode(f->descriptions.bases, f->descriptions.bases_bytes, 3, NULL, CHUNKS));
}

TEST(bases_that_cannot_be_change_nothing)
{
    ck_assert_int_eq(describe(f, 0, 7, 10, VERSION_MAX + 1), STATUS_INVALID);
    struct message few = gradient(0, 7, 10, 1);
    few.gradient.bytes = few.gradient.total = 2;
    ck_assert_int_eq(descriptions_hear(&f->descriptions, &few), STATUS_INVALID);
    few.gradient.offset = 1; /* Beyond the whole. */
    ck_assert_int_eq(descriptions_hear(&f->descriptions, &few), STATUS_INVALID);
    ck_assert_uint_eq(f->descriptions.count, 0);
    ck_assert_uint_eq(find(f, 0, 7, 10), 0);
}

TEST(what_is_in_the_record_is_dropped_and_what_came_since_stays)
{
    ck_assert_int_eq(describe(f, 0, 7, 10, 1), STATUS_OK); /* Of batch 30. */
    ck_assert_int_eq(describe(f, 1, 8, 11, 2), STATUS_OK);
    descriptions_drop(&f->descriptions, 31);
    ck_assert_uint_eq(f->descriptions.count, 1);
    ck_assert_uint_eq(f->descriptions.all[0].number, 2);
    ck_assert(bases_decode(f->descriptions.bases, f->descriptions.bases_bytes, 2, NULL, CHUNKS));
}

TEST(numbers_go_on_in_another_generation)
{
    ck_assert_int_eq(describe(f, 0, 7, 10, 1), STATUS_OK);
    descriptions_forget(&f->descriptions);
    ck_assert_uint_eq(find(f, 0, 7, 10), 0);
    ck_assert_int_eq(describe(f, 0, 7, 10, 1), STATUS_OK);
    ck_assert_uint_eq(find(f, 0, 7, 10), 2);
}

TEST(pages_together_have_all_of_it)
{
    uint64_t number = 0;
    for (uint64_t count = 1; count <= 7; count++)
        ck_assert_int_eq(describe(f, 3, 9, count, count % VERSION_MAX), STATUS_OK);
    for (uint32_t i = 0; i < 3; i++) {
        struct frame *frame = descriptions_pack(&f->descriptions, i, 3);
        struct descriptions_page page;
        struct description one;
        const uint8_t *bases;
        ck_assert(descriptions_is_page(frame));
        descriptions_page_open(&page, frame->data);
        ck_assert(!page.over);
        while (descriptions_page_next(&page, &one, &bases)) {
            uint64_t versions[CHUNKS];
            ck_assert_uint_eq(one.number, ++number);
            ck_assert(one.worker == 3 && one.ticket == 9 && one.count == number);
            ck_assert(one.batch == number + 20 && one.clock == 5);
            ck_assert(bases_decode(bases, one.bases_bytes, VERSION_MAX, versions, CHUNKS));
            ck_assert_uint_eq(versions[CHUNKS - 1], number % VERSION_MAX);
        }
        frame_release(frame);
    }
    ck_assert_uint_eq(number, 7);
}

TEST(a_frame_of_another_length_is_no_page)
{
    struct frame *frame = descriptions_pack(&f->descriptions, 0, 1);
    ck_assert(descriptions_is_page(frame));
    ((uint32_t *)frame->data)[0]++;
    ck_assert(!descriptions_is_page(frame));
    frame_release(frame);
}

/* No cut can be written. Training is not to wait for one. */
TEST(more_than_can_be_remembered_are_numbered_and_forgotten_until_all_go_back)
{
    for (uint32_t i = 1; i <= DESCRIPTIONS_MAX; i++)
        ck_assert_int_eq(describe(f, 0, 7, i, 1), STATUS_OK);
    ck_assert(!f->descriptions.over && f->descriptions.count == DESCRIPTIONS_MAX);
    ck_assert_int_eq(describe(f, 0, 7, DESCRIPTIONS_MAX + 1, 1), STATUS_OK);
    ck_assert(f->descriptions.over && f->descriptions.count == 0 && f->descriptions.all == NULL);
    ck_assert_uint_eq(find(f, 0, 7, DESCRIPTIONS_MAX + 1), DESCRIPTIONS_MAX + 1);
    descriptions_drop(&f->descriptions, 30); /* Of a cut that was written after all. */
    struct descriptions_page page;
    struct frame *frame = descriptions_pack(&f->descriptions, 0, 1);
    descriptions_page_open(&page, frame->data);
    ck_assert(page.over);
    frame_release(frame);
    descriptions_forget(&f->descriptions);
    ck_assert_int_eq(describe(f, 1, 8, 11, 1), STATUS_OK);
    ck_assert_uint_eq(f->descriptions.all[0].number, DESCRIPTIONS_MAX + 2);
}

int main(void)
{
    return suite_run("descriptions", NULL);
}
